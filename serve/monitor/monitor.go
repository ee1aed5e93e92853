package monitor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/operror"
)

// Options are the options of a Monitor. The zero value selects the defaults.
type Options struct {
	Interval time.Duration // time between the snapshots of Start; 0: a second
	Window   time.Duration // time over which growth counts as a leak; 0: 300 s
	Growth   float64       // growth of the bytes in use above which it is a leak; 0: 0.2, a fifth
	Keep     int           // number of snapshots that History keeps; 0: 3600

	// Trace makes arrays of every size record the line that made them, until Close. Without
	// it, Leaks names only the lines of arrays of at least 64 KiB. It costs an allocation in
	// Go's heap for each array.
	Trace bool

	Now    func() time.Time // the clock; nil: time.Now
	Source Source           // source of the figures; nil: the device
}

// Snapshot holds the figures of a Monitor at one moment.
type Snapshot struct {
	Memory
	Time     time.Time
	Pressure Pressure
	Trimmed  bool  // the pool was trimmed because of these figures; they are those before it
	Err      error // the reason why there are no figures, or why the pool could not be trimmed

	buffers uint64 // number of buffers made so far
}

// ErrClosed is the error of Start after Close.
var ErrClosed = errors.New("the monitor is closed; New makes another")

// Monitor watches the memory of one device. It is safe for use by many goroutines.
//
// When 85 % of the memory are used, the pool is trimmed once. It can be trimmed again after
// less than 80 % were used.
type Monitor struct {
	o         Options
	source    Source
	stopTrace func()

	mu       sync.Mutex // never held during a call of the source or of a callback
	history  history
	pressure Pressure // level of the newest snapshot
	told     Pressure // level that the callbacks were last called with
	telling  bool     // callbacks are running
	disarmed bool     // the pool was trimmed, and since then at least 80 % were used
	watchers []*watcher
	closed   bool
	cancel   context.CancelFunc // ends the goroutine of Start; nil if there is none
	done     chan struct{}      // closed when that goroutine has ended
}

// watcher is one callback.
type watcher struct{ f func(Snapshot) }

// New returns a monitor of d's memory. With Options.Source, d may be nil. Before Start it
// takes no snapshots by itself. If a device does not work, its snapshots carry its error.
func New(d *device.Device, o Options) *Monitor {
	if o.Interval <= 0 {
		o.Interval = time.Second
	}
	if o.Window <= 0 {
		o.Window = 300 * time.Second
	}
	if !(o.Growth > 0) {
		o.Growth = 0.2
	}
	if o.Keep <= 0 {
		o.Keep = 3600
	}
	if o.Now == nil {
		o.Now = time.Now
	}
	m := &Monitor{o: o, source: o.Source, stopTrace: func() {}, history: history{keep: o.Keep, window: o.Window}}
	if m.source == nil {
		m.source = deviceSource{d}
	}
	if o.Trace {
		m.stopTrace = d.TraceAllocations()
	}
	return m
}

// Snapshot takes a snapshot. If there are no figures, its Err gives the reason; otherwise
// History keeps it. If the figures require it, Snapshot trims the pool and calls callbacks.
func (m *Monitor) Snapshot() Snapshot {
	s := m.measure()
	if s.Err != nil {
		return s
	}
	used := s.Used()
	m.mu.Lock()
	switch {
	case used < armedBelow:
		m.disarmed = false
	case used >= trimFrom && !m.disarmed:
		m.disarmed, s.Trimmed = true, true
	}
	m.mu.Unlock()
	if s.Trimmed {
		if err := m.source.Trim(); err != nil {
			s.Err = fmt.Errorf("trim at %.0f %% used: %w", 100*used, err)
		}
	}
	m.mu.Lock()
	m.history.add(s)
	m.pressure = s.Pressure
	m.mu.Unlock()
	m.tell(s)
	return s
}

// measure reads the figures from the source.
func (m *Monitor) measure() Snapshot {
	s := Snapshot{buffers: m.source.Buffers()}
	s.Memory, s.Err = m.source.Memory()
	s.Time = m.o.Now()
	s.Pressure = pressureOf(s.Used())
	return s
}

// OnPressure registers a callback: f is called with the snapshot that changed the level of
// pressure, in the goroutine that took it. The first level is Low. Callbacks run one after
// another and may use the Monitor. A change while they run is reported with the next snapshot.
// remove removes the callback, and may be called more than once.
func (m *Monitor) OnPressure(f func(Snapshot)) (remove func()) {
	w := &watcher{f}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watchers = append(m.watchers, w)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		var left []*watcher // a new slice, because tell may be iterating over the old one
		for _, x := range m.watchers {
			if x != w {
				left = append(left, x)
			}
		}
		m.watchers = left
	}
}

// tell calls the callbacks if the level has changed since their last call, unless they are
// running.
func (m *Monitor) tell(s Snapshot) {
	m.mu.Lock()
	if m.telling || s.Pressure == m.told {
		m.mu.Unlock()
		return
	}
	m.telling, m.told = true, s.Pressure
	watchers := m.watchers
	m.mu.Unlock()
	defer func() {
		m.mu.Lock()
		m.telling = false
		m.mu.Unlock()
	}()
	for _, w := range watchers {
		w.f(s)
	}
}

// Pressure returns the level of the newest snapshot. Before the first one it is Low.
func (m *Monitor) Pressure() Pressure {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pressure
}

// History returns the last n snapshots, the oldest first, or fewer if fewer were kept. A
// negative n returns all.
func (m *Monitor) History(n int) []Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.history.last(n)
}

// CanAllocate reports whether a number of bytes plus a margin fit into the free memory and the
// memory that the pool keeps for reuse. The margin is a fraction of the bytes: with 0.1, 500
// bytes need 550. CanAllocate queries the source. It reports false if there are no figures, if
// bytes is negative, and if margin is negative or NaN. An allocation can still fail, because
// other goroutines and programs may allocate first.
func (m *Monitor) CanAllocate(bytes int64, margin float64) bool {
	if bytes < 0 || !(margin >= 0) {
		return false
	}
	now, err := m.source.Memory()
	if err != nil {
		return false
	}
	room := now.Free + now.Cached
	extra := math.Round(float64(bytes) * margin)
	return bytes <= room && extra <= float64(room-bytes)
}

// called wraps err in an OpError with the name of a method of Monitor and the line outside this package that called it.
func called(method string, err error) error {
	return operror.Outside("github.com/gpk-go/gpk/serve/monitor", method, err)
}

// Start takes a snapshot now and then one every Options.Interval, in a goroutine that runs
// until ctx ends or Close is called. If that goroutine is already running, Start does nothing.
// A nil ctx is gpk.ErrUnsupported.
func (m *Monitor) Start(ctx context.Context) error {
	if ctx == nil {
		return called("Start", fmt.Errorf("%w: a nil context", expr.ErrUnsupported))
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return called("Start", ErrClosed)
	}
	if m.done != nil {
		select {
		case <-m.done:
		default:
			return nil
		}
	}
	ctx, m.cancel = context.WithCancel(ctx)
	m.done = make(chan struct{})
	go m.run(ctx, m.cancel, m.done)
	return nil
}

func (m *Monitor) run(ctx context.Context, cancel context.CancelFunc, done chan struct{}) {
	defer close(done)
	defer cancel()
	ticks := time.NewTicker(m.o.Interval)
	defer ticks.Stop()
	for ctx.Err() == nil {
		m.Snapshot()
		select {
		case <-ctx.Done():
		case <-ticks.C:
		}
	}
}

// Close ends the goroutine of Start, and Options.Trace. Snapshots can still be taken. Close
// waits until the goroutine has ended, unless callbacks are running, because one of them may
// be its caller. Closing again does nothing. The error is always nil.
func (m *Monitor) Close() error {
	m.mu.Lock()
	first := !m.closed
	m.closed = true
	cancel, done, telling := m.cancel, m.done, m.telling
	m.mu.Unlock()
	if first {
		m.stopTrace()
	}
	if cancel == nil {
		return nil
	}
	cancel()
	if !telling {
		<-done
	}
	return nil
}
