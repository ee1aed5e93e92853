package monitor

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"time"

	"github.com/gpk-go/gpk/device"
)

// Options are a Monitor's. The zero value has the defaults.
type Options struct {
	Interval time.Duration // between the snapshots that Start takes; 0: a second
	Window   time.Duration // over which growth counts as a leak; 0: 300 s
	Growth   float64       // of the bytes in use, beyond which it is a leak; 0: 0.2, a fifth
	Keep     int           // snapshots that History keeps; 0: 3600

	// Trace has arrays of every size name the line that made them, until Close. Without
	// it Leaks names the lines of arrays from 64 KiB on. It costs an allocation of Go an
	// array.
	Trace bool

	Now    func() time.Time // the clock; nil: time.Now
	Source Source           // of the figures; nil: the device
}

// Snapshot is what a Monitor saw at one moment.
type Snapshot struct {
	Memory
	Time     time.Time
	Pressure Pressure
	Trimmed  bool  // the pool was trimmed because of it; the figures are those before
	Err      error // why there are no figures, or why the pool could not be trimmed

	buffers uint64 // made by then
}

// ErrClosed is the answer of Start after Close.
var ErrClosed = errors.New("the monitor is closed")

// Monitor watches the memory of one device. It is safe for use by many goroutines.
//
// When 85 % of the memory are used, the pool is trimmed, once; after less than 80 % were
// used, it can happen again.
type Monitor struct {
	o         Options
	source    Source
	stopTrace func()

	mu       sync.Mutex // never held during a call of the source or of a callback
	history  history
	pressure Pressure // of the newest snapshot
	told     Pressure // of the last one that callbacks were told of
	telling  bool     // callbacks are running
	disarmed bool     // the pool was trimmed, and 80 % were used ever since
	watchers []*watcher
	closed   bool
	cancel   context.CancelFunc // ends the goroutine of Start; nil: there is none
	done     chan struct{}      // closed when that goroutine has ended
}

// watcher is one callback.
type watcher struct{ f func(Snapshot) }

// New returns a monitor of d's memory; with Options.Source d may be nil. It does nothing by
// itself until Start. A device that does not work gives snapshots that carry its error.
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

// Snapshot takes a snapshot and keeps it for History, unless there are no figures: then its
// Err says why. It trims the pool and calls callbacks where the figures call for it.
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

// measure asks the source.
func (m *Monitor) measure() Snapshot {
	s := Snapshot{buffers: m.source.Buffers()}
	s.Memory, s.Err = m.source.Memory()
	s.Time = m.o.Now()
	s.Pressure = pressureOf(s.Used())
	return s
}

// OnPressure has f called with the snapshot that changed the level of pressure, in the
// goroutine that took it. The first level is Low. Callbacks run one after another and may
// use the Monitor. A change that happens while they run is told with the next snapshot.
// remove ends it, and may be called more than once.
func (m *Monitor) OnPressure(f func(Snapshot)) (remove func()) {
	w := &watcher{f}
	m.mu.Lock()
	defer m.mu.Unlock()
	m.watchers = append(m.watchers, w)
	return func() {
		m.mu.Lock()
		defer m.mu.Unlock()
		var left []*watcher // a new slice: tell may be walking the old one
		for _, x := range m.watchers {
			if x != w {
				left = append(left, x)
			}
		}
		m.watchers = left
	}
}

// tell calls the callbacks where the level has changed since they were called last, unless
// they are running.
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

// Pressure returns the level of the newest snapshot; Low before the first.
func (m *Monitor) Pressure() Pressure {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.pressure
}

// History returns the last n snapshots, the oldest first. Fewer are returned where fewer
// were kept; n < 0 returns all.
func (m *Monitor) History(n int) []Snapshot {
	m.mu.Lock()
	defer m.mu.Unlock()
	return m.history.last(n)
}

// CanAllocate reports whether bytes more, and a margin of so large a part of them, fit into
// what is free and what the pool keeps for reuse: with a margin of 0.1, 500 bytes need 550.
// It asks the source. Without figures, for negative bytes and for a margin that is negative or
// no number it reports false. The answer is no promise: others may be faster.
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

// Start begins to take a snapshot now and then one every Options.Interval, in a goroutine
// that runs until ctx ends or Close is called. Where it runs already, Start does nothing.
func (m *Monitor) Start(ctx context.Context) error {
	if ctx == nil {
		return errors.New("a nil context")
	}
	m.mu.Lock()
	defer m.mu.Unlock()
	if m.closed {
		return ErrClosed
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

// Close ends the goroutine of Start and Options.Trace; snapshots can still be taken. It
// waits until the goroutine has ended, unless callbacks are running, one of which may be
// its caller. Closing again does nothing. The error is always nil.
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
