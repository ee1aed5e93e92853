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
	ErrRunning = errors.New("a profile is running")          // Start, before Stop
	ErrStopped = errors.New("the profile does not run")      // Stop, for the second time
	ErrNil     = errors.New("a nil Profile, Report or Diff") // what Start, Stop or Compare has not made
)

// Options says what a profile records. The zero value has defaults for everything.
type Options struct {
	Name      string // of the report
	MaxEvents int    // operations, transfers and spans that are kept, some 500 bytes each; 0: 1 << 20
}

// DefaultMaxEvents is Options.MaxEvents where that is 0.
const DefaultMaxEvents = 1 << 20

// Profile records what the devices do, from Start to Stop.
type Profile struct {
	options       Options
	started       time.Time
	stopObserving func()
	stopping      atomic.Bool

	mu         sync.Mutex
	stopped    bool
	events     int   // kept
	dropped    int64 // beyond Options.MaxEvents
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

// running is the profile under way; nil for none.
var running atomic.Pointer[Profile]

// Start records every operation, copy and allocation of the program on all devices, until
// Stop. One profile runs at a time: a second Start is ErrRunning. Negative MaxEvents
// is an error.
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

// Stop ends the recording. It waits for the work that was recorded, reads its times and
// returns them. Operations that other goroutines have not ended by then are left out, spans
// end here. A second Stop is ErrStopped.
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

// take counts an event that is about to be kept, and reports whether there is room. mu is
// held.
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

// maxSites bounds the call paths whose lines are remembered.
const maxSites = 1 << 14

// site returns the line of the program that a call path begins at: finding it takes
// microseconds, so it is remembered. mu is held.
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

// since returns a time as the report counts it.
func (p *Profile) since(t time.Time) time.Duration { return t.Sub(p.started) }

func host() Host {
	return Host{GoVersion: runtime.Version(), OS: runtime.GOOS, Arch: runtime.GOARCH, CPUs: runtime.GOMAXPROCS(0)}
}
