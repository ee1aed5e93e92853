package monitor

import (
	"cmp"
	"fmt"
	"maps"
	"slices"
	"strings"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/bytesize"
)

// Leak says that the bytes in use grew by more than Options.Growth in a window.
type Leak struct {
	From, To Snapshot // the beginning and the end of the window
	Growth   float64  // growth of the bytes in use: 0.21 is 21 %
	Sites    []Site   // the memory that was allocated in the window and is still in use, by operation, the most bytes first
}

// Site is an operation on a line of the program, with the memory that it allocated and that
// is still in use.
type Site struct {
	Origin  string // such as "Add at main/main.go:17"; "" for buffers without a label
	Bytes   int64
	Buffers int
}

// String describes the leak in one line.
func (l Leak) String() string {
	var b strings.Builder
	fmt.Fprintf(&b, "the bytes in use grew by %.0f %% in %v, from %s to %s", 100*l.Growth,
		l.To.Time.Sub(l.From.Time).Round(time.Second), bytesize.Format(l.From.InUse), bytesize.Format(l.To.InUse))
	for i, s := range l.Sites[:min(len(l.Sites), 5)] {
		b.WriteString([]string{": ", ", "}[min(i, 1)])
		b.WriteString(s.String())
	}
	return b.String()
}

// String returns a text such as "21 MiB in 3 buffers of Add at main/main.go:17".
func (s Site) String() string {
	return fmt.Sprintf("%s in %d buffers of %s", bytesize.Format(s.Bytes), s.Buffers, cmp.Or(s.Origin, "unknown origin"))
}

// Leaks compares the newest snapshot with the one a window before it. It returns a Leak if
// the bytes in use have grown by more than Options.Growth. It returns nothing if the
// snapshots do not reach back a window, or if nothing was in use at that time, for example
// when a program starts. Buffers that the program has dropped are not a leak: before a leak
// is reported, a garbage collection runs and a new snapshot is taken.
func (m *Monitor) Leaks() []Leak {
	if _, found := m.growth(); !found {
		return nil
	}
	m.source.Collect()
	if s := m.Snapshot(); s.Err != nil && !s.Trimmed {
		return nil
	}
	l, found := m.growth()
	if !found {
		return nil
	}
	l.Sites = sitesOf(m.source.LiveBuffers(l.From.buffers))
	return []Leak{l}
}

// growth returns the leak in the window that ends with the newest snapshot, without sites.
func (m *Monitor) growth() (l Leak, found bool) {
	m.mu.Lock()
	defer m.mu.Unlock()
	i, ok := m.history.begin()
	if !ok {
		return l, false
	}
	l.From, l.To = m.history.marks[i], m.history.newest()
	if l.From.InUse <= 0 {
		return l, false
	}
	l.Growth = float64(l.To.InUse-l.From.InUse) / float64(l.From.InUse)
	return l, l.Growth > m.o.Growth
}

// sitesOf sums the buffers by their origin.
func sitesOf(list []device.LiveBuffer) []Site {
	sites := map[string]Site{}
	for _, b := range list {
		s := sites[b.Origin]
		sites[b.Origin] = Site{b.Origin, s.Bytes + b.Bytes, s.Buffers + 1}
	}
	return slices.SortedFunc(maps.Values(sites), func(a, b Site) int {
		return cmp.Or(cmp.Compare(b.Bytes, a.Bytes), cmp.Compare(a.Origin, b.Origin))
	})
}
