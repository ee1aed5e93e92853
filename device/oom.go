package device

import (
	"fmt"
	"slices"
	"strings"

	"github.com/gpk-go/gpk/internal/bytesize"
)

// OutOfMemoryError reports that there is no room for a request. It wraps ErrOutOfMemory.
// gpk remains usable after it.
type OutOfMemoryError struct {
	Device string
	Bytes  int64        // size of the request
	Pool   PoolStats    // at the time of the request
	Live   []LiveBuffer // the largest live buffers, largest first
	Err    error        // the driver's error if it refused; otherwise ErrOutOfMemory
}

func (e *OutOfMemoryError) Error() string {
	if e == nil {
		return ErrOutOfMemory.Error()
	}
	var b strings.Builder
	fmt.Fprintf(&b, "%v: cannot allocate %s on %s: %s of its limit of %s are in use",
		ErrOutOfMemory, bytesize.Format(e.Bytes), e.Device, bytesize.Format(e.Pool.InUse), bytesize.Format(e.Pool.Limit))
	if e.Err != nil && e.Err != ErrOutOfMemory {
		fmt.Fprintf(&b, " (%v)", e.Err)
	}
	for i, l := range e.Live {
		if i == 0 {
			b.WriteString("; the largest live arrays: ")
		} else {
			b.WriteString(", ")
		}
		b.WriteString(bytesize.Format(l.Bytes))
		if l.Label != "" {
			b.WriteString(" " + l.Label)
		}
	}
	b.WriteString("; Free what is no longer needed, or raise GPK_MEMORY_LIMIT")
	return b.String()
}

// Unwrap returns ErrOutOfMemory and the driver's error.
func (e *OutOfMemoryError) Unwrap() []error {
	if e == nil || e.Err == nil {
		return []error{ErrOutOfMemory}
	}
	return []error{ErrOutOfMemory, e.Err}
}

// largest is the number of live buffers that an error lists.
const largest = 5

func (d *Device) outOfMemory(n int64, cause error) error {
	var top []liveEntry
	d.mu.Lock()
	stats := d.pool.stats
	for a := d.live.first; a != nil; a = a.next {
		if len(top) == largest && a.size <= top[largest-1].bytes {
			continue
		}
		i, _ := slices.BinarySearchFunc(top, a.size, func(e liveEntry, size int64) int {
			if e.bytes >= size {
				return -1
			}
			return 1
		})
		top = slices.Insert(top, i, liveEntry{a.size, a.state.Label()})
		top = top[:min(len(top), largest)]
	}
	d.mu.Unlock()
	e := &OutOfMemoryError{Device: d.name, Bytes: n, Pool: stats, Err: cause}
	for _, t := range top {
		e.Live = append(e.Live, t.describe())
	}
	return e
}
