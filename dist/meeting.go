package dist

import (
	"context"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dist/internal/control"
)

// meeting is where the ranks of a Comm that one process holds wait for each other before each call, and compare their
// calls. The last one to come compares, and releases the others. No other goroutine takes part.
type meeting struct {
	ended atomic.Uint64 // the number of gatherings that have ended

	mu       sync.Mutex
	headings []*heading // of the ranks that have come to the next gathering
	come     int
	err      error          // of the first gathering whose calls differ, and of all later ones
	woken    control.Signal // a gathering has ended
}

// meetings has the meetings of the ranks of a process, by the names of their Comms, until all of the ranks have theirs.
type meetings struct {
	mu   sync.Mutex
	list map[string]*opened
}

type opened struct {
	meeting
	taken int
}

// of returns the meeting of a Comm, of which the process holds n ranks. Each of them calls it once.
func (m *meetings) of(name string, n int) *meeting {
	m.mu.Lock()
	defer m.mu.Unlock()
	o := m.list[name]
	if o == nil {
		if m.list == nil {
			m.list = map[string]*opened{}
		}
		o = &opened{meeting: meeting{headings: make([]*heading, n)}}
		m.list[name] = o
	}
	if o.taken++; o.taken == n {
		delete(m.list, name)
	}
	return &o.meeting
}

var errTwice = fmt.Errorf("%w: two goroutines make calls of one Comm", gpk.ErrUnsupported)

// arrive tells the call of a rank, the rank's index among those of the process, and returns the number of the gathering.
// difference says how calls that are not equal differ.
func (m *meeting) arrive(place int, h *heading, difference func(headings []*heading) error) (gathering uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.headings[place] != nil {
		return 0, errTwice
	}
	m.headings[place] = h
	gathering = m.ended.Load() + 1
	if m.come++; m.come < len(m.headings) {
		return gathering, nil
	}
	if m.err == nil && !compatible(m.headings) {
		m.err = difference(m.headings)
	}
	clear(m.headings)
	m.come = 0
	m.ended.Store(gathering)
	m.woken.Send()
	return gathering, nil
}

// compatible reports whether all calls are equal, or none of them can take part, so that no rank starts work.
func compatible(headings []*heading) bool {
	equal, failed := true, true
	for _, h := range headings {
		equal = equal && h.Error == "" && headings[0].differs(h) == nil
		failed = failed && h.Error != ""
	}
	return equal || failed
}

// spins is how often a rank looks for the others before it sleeps: some 20 us. The ranks of a process usually come within
// a few microseconds of each other, and waking a goroutine takes longer.
const spins = 200

// wait waits until a gathering has ended, and returns its error.
func (m *meeting) wait(ctx context.Context, node *control.Node, gathering uint64) error {
	for range spins {
		if m.ended.Load() >= gathering {
			return m.result()
		}
		runtime.Gosched()
	}
	m.mu.Lock()
	if m.ended.Load() >= gathering {
		defer m.mu.Unlock()
		return m.err
	}
	woken := m.woken.Wait()
	m.mu.Unlock()
	select {
	case <-woken:
		return m.result()
	case <-ctx.Done():
		return context.Cause(ctx)
	case <-node.Done():
		return node.Err()
	}
}

func (m *meeting) result() error {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.err
}
