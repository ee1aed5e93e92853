package device

import "time"

// WorkKind is the kind of a piece of work.
type WorkKind uint8

// The kinds of work.
const (
	Computing WorkKind = iota
	Replaying          // replays of a graph
	HostToDevice
	DeviceToHost
	DeviceToDevice
)

// Measurement is one piece of work, as passed to an Observer.
type Measurement struct {
	Kind       WorkKind
	Stream     *Stream
	Bytes      int64     // size of a copy; otherwise 0
	Begin, End time.Time // when the host's call began and ended
	Err        error
	Data       any // for the observer's own use

	// Started and Time are the begin and the duration of the work. On the CPU they are
	// measured by the host's clock and known at EndWork. On a GPU they are measured by
	// events and known when the observer is stopped. The end of a copy that the host waits
	// for is when the host has seen it.
	Started  time.Time
	Time     time.Duration
	Measured bool // otherwise Started and Time are unknown

	by       *observerSession
	ran      bool // false if it was recorded for a graph
	called   time.Time
	timing   *timing
	anchor   *anchor
	from, to uint64 // events, 0 for none
}

// observe begins the measurement of a call that starts work on s (nil: the default stream).
// It returns nil without an observer and for empty copies.
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

// start records the time before the next work on the stream; dev.mu is held.
func (m *Measurement) start(s *Stream) {
	if m == nil || s.capture != nil {
		return
	}
	m.ran, m.called = true, time.Now()
	if t := m.by.timing(s.dev); t != nil {
		t.begin(s, m)
	}
}

// stop records the time after the last work on the stream; dev.mu is held.
func (m *Measurement) stop(s *Stream) {
	if m == nil || m.from == 0 {
		return
	}
	m.timing.end(s, m)
}
