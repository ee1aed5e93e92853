package device

import "time"

// WorkKind says what a piece of work does.
type WorkKind uint8

// The kinds of work.
const (
	Computing WorkKind = iota
	Replaying          // a graph
	HostToDevice
	DeviceToHost
	DeviceToDevice
)

// Measurement is one piece of work, as an Observer sees it.
type Measurement struct {
	Kind       WorkKind
	Stream     *Stream
	Bytes      int64     // of a copy
	Begin, End time.Time // of the host's call
	Err        error
	Data       any // the observer's

	// When the work began and how long it took: on the CPU by the clock around it, known at
	// EndWork; on a GPU by events, known when the observer was stopped. A copy that the
	// host waits for ends, by its event, when the host has seen its end.
	Started  time.Time
	Time     time.Duration
	Measured bool // else neither is known

	by       *observerSession
	ran      bool // it was not recorded for a graph
	called   time.Time
	timing   *timing
	anchor   *anchor
	from, to uint64 // events
}

// observe begins the measurement of a call that starts work on s (nil: the default stream);
// nil where nobody observes, and for copies of nothing.
func (d *Device) observe(kind WorkKind, s *Stream, bytes int64) *Measurement {
	x := observation.Load()
	if x == nil || kind >= HostToDevice && bytes == 0 {
		return nil
	}
	s, err := d.own(s)
	if err != nil {
		return nil
	}
	m := &Measurement{Kind: kind, Stream: s, Bytes: bytes, Begin: time.Now(), by: x}
	x.observer.BeginWork(m)
	return m
}

// done ends the measurement of a call.
func (m *Measurement) done(err error) {
	if m == nil || !m.ran {
		return
	}
	m.End, m.Err = time.Now(), err
	m.by.observer.EndWork(m)
}

// startHost and stopHost surround work of the CPU; m is not nil.
func (m *Measurement) startHost() {
	m.ran, m.Started = true, time.Now()
}

func (m *Measurement) stopHost() {
	m.Time, m.Measured = time.Since(m.Started), true
}

// start has the time taken before what is put on the stream next; dev.mu is held.
func (m *Measurement) start(s *Stream) {
	if m == nil || s.capture != nil {
		return
	}
	m.ran, m.called = true, time.Now()
	if t := m.by.timing(s.dev); t != nil {
		t.begin(s, m)
	}
}

// stop has the time taken behind what was put on the stream last; dev.mu is held.
func (m *Measurement) stop(s *Stream) {
	if m == nil || m.from == 0 {
		return
	}
	m.timing.end(s, m)
}
