package profile

import (
	"errors"
	"fmt"
	"runtime"
	"sync"
	"sync/atomic"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/observe"
)

// The errors of recording, for errors.Is.
var (
	ErrRunning = errors.New("a profile is running")          // a Start before the Stop of another profile
	ErrStopped = errors.New("the profile does not run")      // a second Stop
	ErrNil     = errors.New("a nil Profile, Report or Diff") // a value that was not made by Start, Stop or Compare
)

// Options are the options of a profile. The zero value has defaults for everything.
type Options struct {
	Name      string // name of the report
	MaxEvents int    // maximum number of recorded operations, transfers and spans, about 500 bytes each; 0: 1 << 20
}

// DefaultMaxEvents is the default of Options.MaxEvents.
const DefaultMaxEvents = 1 << 20

// Profile records the work of the devices from Start to Stop.
type Profile struct {
	options       Options
	started       time.Time
	stopObserving func()
	stopping      atomic.Bool

	mu         sync.Mutex
	stopped    bool
	events     int   // number of recorded events
	dropped    int64 // number of events beyond Options.MaxEvents
	operations []*operation
	transfers  []*transfer
	spans      []*span
	goroutines map[uint64]*goroutineState
	memory     map[*device.Device]*memoryUse
	allocated  map[allocationKey]*Allocation
	buffers    map[bufferKey]buffer
	kernels    map[kernelKey]string
	sites      map[fmt.Stringer]string
	graphs     Graphs
	compiled   Kernels
}

// running is the profile in progress, or nil.
var running atomic.Pointer[Profile]

// Start starts recording every operation, copy and allocation of the program on all
// devices. Stop ends it. Only one profile can run at a time: a second Start is ErrRunning.
// A negative MaxEvents is an error.
func Start(o Options) (*Profile, error) {
	if o.MaxEvents < 0 {
		return nil, fmt.Errorf("profile: Options.MaxEvents is %d; 0 stands for %d", o.MaxEvents, DefaultMaxEvents)
	}
	if o.MaxEvents == 0 {
		o.MaxEvents = DefaultMaxEvents
	}
	p := &Profile{
		options: o, started: time.Now(),
		goroutines: map[uint64]*goroutineState{}, memory: map[*device.Device]*memoryUse{},
		allocated: map[allocationKey]*Allocation{}, sites: map[fmt.Stringer]string{}, buffers: map[bufferKey]buffer{}, kernels: map[kernelKey]string{},
	}
	stop, err := observe.Start(observer{p})
	if err != nil {
		return nil, fmt.Errorf("profile: %w; Stop it before the next Start", ErrRunning)
	}
	p.stopObserving = stop
	running.Store(p)
	return p, nil
}

// Stop ends the recording. It waits for the recorded work, reads its times and returns the
// report. Operations that are still in progress in other goroutines are left out, and open
// spans end at this time. A second Stop is ErrStopped.
func (p *Profile) Stop() (*Report, error) {
	if p == nil || p.stopObserving == nil {
		return nil, fmt.Errorf("profile: Stop: %w", ErrNil)
	}
	if !p.stopping.CompareAndSwap(false, true) {
		return nil, fmt.Errorf("profile: Stop: %w", ErrStopped)
	}
	running.CompareAndSwap(p, nil)
	p.stopObserving()
	p.mu.Lock()
	defer p.mu.Unlock()
	p.stopped = true
	return p.report(time.Since(p.started)), nil
}

// take counts an event that is about to be recorded, and reports whether there is room for
// it. mu is held.
func (p *Profile) take() bool {
	switch {
	case p.stopped:
		return false
	case p.events >= p.options.MaxEvents:
		p.dropped++
		return false
	}
	p.events++
	return true
}

// maxSites is the maximum number of call paths whose lines are cached.
const maxSites = 1 << 14

// site returns the line of the program at which a call path begins. Finding it takes
// microseconds, so it is cached. mu is held.
func (p *Profile) site(path fmt.Stringer) string {
	if path == nil {
		return ""
	}
	line, ok := p.sites[path]
	if !ok {
		if len(p.sites) >= maxSites {
			clear(p.sites)
		}
		line = path.String()
		p.sites[path] = line
	}
	return line
}

// since returns a time relative to the profile's start.
func (p *Profile) since(t time.Time) time.Duration { return t.Sub(p.started) }

func host() Host {
	return Host{GoVersion: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0)}
}
