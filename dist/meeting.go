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

// meeting synchronizes the ranks of a Comm that are in one process: they wait for each other before each call, and
// compare their calls. The last rank to arrive compares, and releases the others. No other goroutine is involved.
type meeting struct {
	ended atomic.Uint64 // the number of gatherings that have ended

	mu       sync.Mutex
	headings []*heading     // headings of the ranks that have arrived for the next gathering
	arrived  int            // number of ranks that have arrived for the next gathering
	err      error          // error of the first gathering with different calls, and of all later ones
	woken    control.Signal // a gathering has ended
}

// meetings holds the meetings of a process, by the names of their Comms. A meeting is removed when all its ranks have
// it.
type meetings struct {
	mu   sync.Mutex
	list map[string]*opened
}

type opened struct {
	meeting
	fetched int // number of ranks that have it
}

// of returns the meeting of a Comm of which this process holds n ranks. Each of these ranks calls it once.
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
	if o.fetched++; o.fetched == n {
		delete(m.list, name)
	}
	return &o.meeting
}

var errTwice = fmt.Errorf("%w: two goroutines use one Comm at the same time", gpk.ErrUnsupported)

// arrive registers the call of a rank, and returns the number of the gathering. place is the rank's index among those
// of the process. difference returns the error of calls that differ.
func (m *meeting) arrive(place int, h *heading, difference func(headings []*heading) error) (gathering uint64, err error) {
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.headings[place] != nil {
		return 0, errTwice
	}
	m.headings[place] = h
	gathering = m.ended.Load() + 1
	if m.arrived++; m.arrived < len(m.headings) {
		return gathering, nil
	}
	if m.err == nil && !compatible(m.headings) {
		m.err = difference(m.headings)
	}
	clear(m.headings)
	m.arrived = 0
	m.ended.Store(gathering)
	m.woken.Send()
	return gathering, nil
}

// compatible reports whether all calls are equal, or all of them carry an error, so that no rank starts work.
func compatible(headings []*heading) bool {
	equal, failed := true, true
	for _, h := range headings {
		equal = equal && h.Error == "" && headings[0].differs(h) == nil
		failed = failed && h.Error != ""
	}
	return equal || failed
}

// spins is the number of times that a rank checks for the others before it sleeps, which takes about 20 us. The ranks
// of a process usually arrive within a few microseconds of each other, and waking a goroutine takes longer.
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
