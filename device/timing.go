package device

import "time"

// timing measures the duration of GPU work without waiting. It brackets each piece of work
// by two events. Guarded by the device's mutex.
//
// An anchor relates events to the host's clock: it is an event on a stream without other
// work, so that it completes within microseconds of the call that records it. The driver
// returns the time between events as a float32 in milliseconds, whose resolution is 0.06 us
// at one second and 1 us at 16. The two clocks drift apart by some millionths. A new anchor
// every second keeps both errors at about a microsecond.
type timing struct {
	dev     *Device
	stream  uint64  // stream of the anchors; 0: there is none, and nothing is measured
	anchor  *anchor // the newest
	idle    []uint64
	pending map[*Stream][]*Measurement // per stream, the oldest first
	live    int                        // number of events
	closed  bool
}

// anchor is an event whose host time is known.
type anchor struct {
	event uint64
	at    time.Time
	over  bool // it has completed
	users int  // measurements not yet read, and timing while it is the newest
}

const (
	anchorLife    = time.Second
	maxLiveEvents = 1 << 14 // the driver queues some thousand launches; work for which no event is left is not measured
	keptPending   = 64      // measurements per stream that are not queried: the GPU is working on them
	readAtOnce    = 4       // maximum number of measurements that a call reads before it starts work
)

func newTiming(d *Device) *timing {
	t := &timing{dev: d, pending: map[*Stream][]*Measurement{}}
	if h, err := d.backend.newStream(); err == nil {
		t.stream = h
	}
	return t
}

// begin records the first event of a measurement, if one is available.
func (t *timing) begin(s *Stream, m *Measurement) {
	if t.closed || t.stream == 0 {
		return
	}
	t.read(s, keptPending, readAtOnce)
	if t.anchor == nil || time.Since(t.anchor.at) > anchorLife {
		t.renew()
	}
	if t.anchor == nil {
		return
	}
	if m.from = t.record(s.handle); m.from != 0 {
		m.timing, m.anchor = t, t.anchor
		t.anchor.users++
	}
}

// end records the second event of a measurement.
func (t *timing) end(s *Stream, m *Measurement) {
	if !t.closed {
		m.to = t.record(s.handle)
	}
	if m.to != 0 {
		t.pending[s] = append(t.pending[s], m)
		return
	}
	t.release(m)
	if t.closed { // it was closed after the first event
		t.closeIdle()
	}
}

// renew makes a new anchor.
func (t *timing) renew() {
	e := t.record(t.stream)
	if e == 0 {
		return
	}
	old := t.anchor
	t.anchor = &anchor{event: e, at: time.Now(), users: 1}
	t.leave(old)
}

// record records an event of the pool; it returns 0 if that fails.
func (t *timing) record(stream uint64) (event uint64) {
	b := t.dev.backend
	switch n := len(t.idle); {
	case n > 0:
		event, t.idle = t.idle[n-1], t.idle[:n-1]
	case t.live >= maxLiveEvents:
		return 0
	default:
		var err error
		if event, err = b.newEvent(eventTiming); err != nil {
			return 0
		}
		t.live++
	}
	if b.record(event, stream) != nil {
		t.idle = append(t.idle, event)
		return 0
	}
	return event
}

// read fills in the oldest completed measurements of a stream. It queries at most `most` of
// them, and skips the newest `leave`.
func (t *timing) read(s *Stream, leave, most int) {
	list := t.pending[s]
	n := 0
	for n < most && len(list)-n > leave && t.over(list[n]) {
		t.fill(list[n])
		n++
	}
	if n > 0 {
		clear(list[:n])
		t.pending[s] = list[n:]
	}
}

// over reports whether a measurement can be read.
func (t *timing) over(m *Measurement) bool {
	b := t.dev.backend
	if !m.anchor.over {
		m.anchor.over, _ = b.eventDone(m.anchor.event) // fill reports the error
	}
	done, err := b.eventDone(m.to)
	return done && err == nil && m.anchor.over
}

// fill reads the events of a measurement and releases them.
func (t *timing) fill(m *Measurement) {
	took, err := t.dev.backend.elapsed(m.from, m.to)
	since, err2 := t.dev.backend.elapsed(m.anchor.event, m.from)
	if err == nil && err2 == nil {
		m.Time, m.Started, m.Measured = took, m.anchor.at.Add(since), true
		if m.Started.Before(m.called) { // by less than the accuracy of the anchor
			m.Started = m.called
		}
	}
	t.release(m)
}

// release returns the events of a measurement to the pool.
func (t *timing) release(m *Measurement) {
	for _, e := range []*uint64{&m.from, &m.to} {
		if *e != 0 {
			t.idle = append(t.idle, *e)
			*e = 0
		}
	}
	t.leave(m.anchor)
	m.anchor = nil
}

// leave ends a use of an anchor.
func (t *timing) leave(a *anchor) {
	if a == nil {
		return
	}
	if a.users--; a.users == 0 {
		t.idle = append(t.idle, a.event)
	}
}

// stop waits for the measured work, reads its events and releases them. mu is not held.
func (t *timing) stop() {
	d := t.dev
	d.mu.Lock()
	t.closed = true // from here on no other call changes pending
	d.mu.Unlock()
	for _, list := range t.pending {
		for _, m := range list {
			// After a failure there is no time: the device is broken, and other calls
			// report that.
			_ = d.backend.syncEvent(m.to)
			_ = d.backend.syncEvent(m.anchor.event)
		}
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	for _, list := range t.pending {
		for _, m := range list {
			t.fill(m)
		}
	}
	t.pending = nil
	t.leave(t.anchor)
	t.closeIdle()
	if t.stream != 0 {
		_ = d.backend.closeStream(t.stream)
	}
}

// closeIdle closes unused events.
func (t *timing) closeIdle() {
	for _, e := range t.idle {
		_ = t.dev.backend.closeEvent(e) // fails only if the driver is gone
	}
	t.idle = nil
}
