package device

import "time"

// timing reads, without waiting, how long the work of a GPU takes. It brackets each piece
// of work by two events. Guarded by the device's mutex.
//
// An anchor says when events were, by the host's clock: it is an event on a stream that
// nothing else uses, so that it takes place within microseconds of the call that records
// it. The driver tells the time between events as a float32 of milliseconds, which has
// steps of 0.06 us at one second and of 1 us at 16. The two clocks drift apart by some
// millionths. A new anchor each second keeps both errors at about a microsecond.
type timing struct {
	dev     *Device
	stream  uint64  // of the anchors; 0: there is none, and no time is taken
	anchor  *anchor // the newest
	idle    []uint64
	pending map[*Stream][]*Measurement // by stream the oldest first
	live    int                        // events that exist
	closed  bool
}

// anchor is an event whose time is known by the host's clock.
type anchor struct {
	event uint64
	at    time.Time
	over  bool // it took place
	users int  // measurements that are not read, and timing while it is the newest
}

const (
	anchorLife    = time.Second
	maxLiveEvents = 1 << 14 // the driver queues some thousand launches; what finds no event has no time
	keptPending   = 64      // measurements a stream that are not looked at: the GPU is at work on them
	readAtOnce    = 4       // measurements read by a call that starts work, at most
)

func newTiming(d *Device) *timing {
	t := &timing{dev: d, pending: map[*Stream][]*Measurement{}}
	if h, err := d.backend.newStream(); err == nil {
		t.stream = h
	}
	return t
}

// begin records the first event of a measurement, if there is one to be had.
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
	if t.closed { // since the first event
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

// record records an event of the pool; 0 where that fails.
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

// read fills in the oldest measurements of a stream as far as the GPU is done with them.
// It looks at most at so many, and leaves the newest ones.
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
		m.anchor.over, _ = b.eventDone(m.anchor.event) // an error shows below
	}
	done, err := b.eventDone(m.to)
	return done && err == nil && m.anchor.over
}

// fill reads the events of a measurement and gives them back.
func (t *timing) fill(m *Measurement) {
	took, err := t.dev.backend.elapsed(m.from, m.to)
	since, err2 := t.dev.backend.elapsed(m.anchor.event, m.from)
	if err == nil && err2 == nil {
		m.Time, m.Started, m.Measured = took, m.anchor.at.Add(since), true
		if m.Started.Before(m.called) { // by less than the anchor is exact
			m.Started = m.called
		}
	}
	t.release(m)
}

// release gives the events of a measurement back.
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

// stop waits for the work that is measured, reads its events and gives them back. mu is
// not held.
func (t *timing) stop() {
	d := t.dev
	d.mu.Lock()
	t.closed = true // from here on nobody else changes pending
	d.mu.Unlock()
	for _, list := range t.pending {
		for _, m := range list {
			// What fails here has no time: the device is broken, as others will say.
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

// closeIdle closes the events that nothing uses.
func (t *timing) closeIdle() {
	for _, e := range t.idle {
		_ = t.dev.backend.closeEvent(e) // fails only where the driver is gone
	}
	t.idle = nil
}
