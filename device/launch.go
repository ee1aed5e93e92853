package device

import (
	"context"
	"fmt"
	"runtime"
	"slices"
)

// Work is a piece of work that LaunchWork starts.
type Work interface {
	// Start puts the work on a stream, given as the driver's numbers for device and stream,
	// and returns without waiting. On the CPU it does the work. It must not call methods of
	// the device or its buffers other than Addr, Ptr, Size, Info, Kind and Library. On the
	// CPU it runs without the device's lock, and may also allocate and free its own memory.
	Start(ordinal int, stream uint64) error
}

// work adapts a function to Work.
type work func(ordinal int, stream uint64) error

func (f work) Start(ordinal int, stream uint64) error {
	if f == nil {
		return errNoWork
	}
	return f(ordinal, stream)
}

// Launch starts f; see LaunchWork and Work.Start.
func (d *Device) Launch(s *Stream, reads, writes []*Buffer, f func(ordinal int, stream uint64) error) error {
	return d.LaunchWork(s, reads, writes, work(f))
}

// LaunchWork starts work on s (nil: the default stream) that reads and writes the given
// buffers. A buffer may be in both lists, and nil entries are ignored. All work is started
// here. LaunchWork orders the work after conflicting uses of the buffers on other streams,
// refuses freed buffers (ErrFreed) and failed ones (with their error), keeps them alive,
// and records the use. It allocates nothing.
func (d *Device) LaunchWork(s *Stream, reads, writes []*Buffer, w Work) error {
	if !observed() {
		return d.launchMeasured(nil, s, reads, writes, w)
	}
	m := d.observe(Computing, s, 0)
	err := d.launchMeasured(m, s, reads, writes, w)
	m.done(err)
	return err
}

// launchMeasured is LaunchWork with a measurement m (nil: none).
func (d *Device) launchMeasured(m *Measurement, s *Stream, reads, writes []*Buffer, w Work) error {
	s, err := d.own(s)
	if err != nil {
		return err
	}
	if w == nil {
		return errNoWork
	}
	if d.info.Kind == CPU {
		err = d.launchHost(m, s, reads, writes, w)
	} else {
		err = d.launch(m, s, reads, writes, w)
	}
	runtime.KeepAlive(reads)
	runtime.KeepAlive(writes)
	return err
}

// failLaunches makes launches on d fail with the error that f returns, if it is not nil,
// before they have an effect. failLaunches(nil) ends this. It is for tests. f runs under the
// device's lock and must not call the device's methods.
func (d *Device) failLaunches(f func() error) {
	if d == nil {
		return
	}
	d.mu.Lock()
	d.refuse = f
	d.mu.Unlock()
}

func (d *Device) launch(m *Measurement, s *Stream, reads, writes []*Buffer, w Work) error {
	d.mu.Lock()
	if d.refuse != nil {
		if err := d.refuse(); err != nil {
			d.mu.Unlock()
			return err
		}
	}
	if d.submission.queue.Failed() {
		d.takeFailure()
	}
	if d.simple(s, reads, writes) {
		defer d.mu.Unlock()
		return d.start(m, s, w)
	}
	d.mu.Unlock()
	inherited, err := d.inherit(s, reads, writes)
	if err != nil {
		return err
	}
	d.mu.Lock()
	defer d.mu.Unlock()
	if err := d.begin(s, reads, writes); err != nil {
		return err
	}
	// The use is recorded even if the launch fails: part of the work may have started.
	d.note(s, reads, writes)
	if inherited != nil {
		for _, b := range writes {
			if b != nil {
				b.a.state.Inherit(inherited)
			}
		}
	}
	return d.start(m, s, w)
}

// simple is the fast path of most work: if the buffers carry no errors and s alone uses
// them, it records the use and reports true. mu is held.
func (d *Device) simple(s *Stream, reads, writes []*Buffer) bool {
	if s.capture != nil || s.closing {
		return false
	}
	for _, b := range reads {
		if b != nil && (!b.a.own(d) || b.a.write.stream != s && b.a.write.stream != nil) {
			return false
		}
	}
	for _, b := range writes {
		if b != nil && !(b.a.own(d) && b.a.usedBy(s)) {
			return false
		}
	}
	d.note(s, reads, writes)
	return true
}

// own reports whether an allocation belongs to d, is live and not part of a capture, and
// carries no errors, known or deferred; mu is held.
func (a *allocation) own(d *Device) bool {
	return a != nil && a.dev == d && a.capture == nil && !a.freed.Load() && a.state.Clean()
}

// usedBy reports whether no stream but s uses an allocation; mu is held.
func (a *allocation) usedBy(s *Stream) bool {
	if a.write.stream != s && a.write.stream != nil {
		return false
	}
	for i := range a.reads {
		if a.reads[i].stream != s {
			return false
		}
	}
	return true
}

// freedError is ErrFreed with the label of the buffer, if it has one.
func (b *Buffer) freedError() error {
	what := fmt.Sprintf("%d bytes", b.a.size)
	if label := b.a.state.Label(); label != nil {
		holds, origin := label()
		what = holds + " of " + origin
	}
	if b.a.capture != nil {
		what += ", made by a captured sequence"
	}
	return fmt.Errorf("%w: %s", ErrFreed, what)
}

// admit checks that the buffers can be used on s; mu is held.
func (d *Device) admit(s *Stream, buffers []*Buffer) error {
	for _, b := range buffers {
		if b == nil {
			continue
		}
		switch err := b.Err(); {
		case b.a == nil:
			return err
		case b.a.dev != d:
			return errorf("a buffer of %v cannot be used on %v", b.a.dev, d)
		case b.a.freed.Load():
			return b.freedError()
		case b.a.capture != nil && b.a.capture != s.capture && b.a.capture.recording():
			return errorf("a result of a captured sequence cannot be used outside the sequence before the sequence has run")
		case err != nil:
			return err
		}
	}
	return nil
}

// begin checks the operands and makes s wait for conflicting work on other streams; mu is
// held.
func (d *Device) begin(s *Stream, reads, writes []*Buffer) error {
	if err := s.check(); err != nil {
		return err
	}
	d.caughtUp()
	if err := d.admit(s, reads); err != nil {
		return err
	}
	if err := d.admit(s, writes); err != nil {
		return err
	}
	if s.capture != nil {
		return nil // ordered when the graph is launched
	}
	for _, b := range reads {
		if b != nil {
			if err := d.order(s, b.a.write); err != nil {
				return err
			}
		}
	}
	for _, b := range writes {
		if b == nil {
			continue
		}
		if err := d.order(s, b.a.write); err != nil {
			return err
		}
		for _, u := range b.a.reads {
			if err := d.order(s, u); err != nil {
				return err
			}
		}
	}
	return nil
}

// note records a piece of work on s that uses the buffers; mu is held.
func (d *Device) note(s *Stream, reads, writes []*Buffer) {
	if s.capture != nil {
		s.capture.note(reads, writes)
		return
	}
	s.seq++
	now := use{s, s.seq}
	for _, b := range reads {
		if b != nil {
			b.a.noteRead(now)
		}
	}
	for _, b := range writes {
		if b != nil {
			b.a.write, b.a.reads = now, b.a.reads[:0]
		}
	}
}

func (a *allocation) noteRead(now use) {
	for i := range a.reads {
		if a.reads[i].stream == now.stream {
			a.reads[i].seq = now.seq
			return
		}
	}
	// The work of closed streams is complete, so their entries can be removed.
	a.reads = slices.DeleteFunc(a.reads, func(u use) bool { return u.stream.closed })
	a.reads = append(a.reads, now)
}

// behind reports whether s has to wait for u: u is on another stream, is not known to be
// complete, and s does not already wait for it.
func (s *Stream) behind(u use) bool {
	return u.stream != nil && u.stream != s && u.seq > u.stream.done && !u.stream.closed && u.seq > s.passed[u.stream]
}

// order makes later work of s wait for u; mu is held. An event that is recorded on the other
// stream covers all work on it so far, so one event serves many uses.
func (d *Device) order(s *Stream, u use) error {
	if !s.behind(u) {
		return nil
	}
	if err := u.stream.markUpTo(u.seq); err != nil {
		return err
	}
	if err := d.backend.wait(s.handle, u.stream.mark); err != nil {
		return err
	}
	if s.passed == nil {
		s.passed = map[*Stream]uint64{}
	}
	s.passed[u.stream] = u.stream.marked
	return nil
}

// markUpTo makes the stream's mark cover its first seq pieces of work; dev.mu is held.
func (s *Stream) markUpTo(seq uint64) error {
	if s.mark != 0 && s.marked >= seq {
		return nil
	}
	b := s.dev.backend
	if s.mark == 0 {
		e, err := b.newEvent(eventOrder)
		if err != nil {
			return err
		}
		s.mark = e
	}
	if err := b.record(s.mark, s.handle); err != nil {
		return err
	}
	s.marked = s.seq
	return nil
}

// pin keeps the memory of buffers valid while a call uses it without the mutex; mu is held.
func pin(buffers []*Buffer) {
	for _, b := range buffers {
		if b != nil {
			b.a.pins++
		}
	}
}

// unpin reverts pin, and returns memory that was freed in between to the pool.
func (d *Device) unpin(lists ...[]*Buffer) {
	var g garbage
	d.mu.Lock()
	for _, buffers := range lists {
		for _, b := range buffers {
			if b == nil {
				continue
			}
			if b.a.pins--; b.a.pins == 0 && b.a.freed.Load() {
				d.giveBack(b.a, &g)
			}
		}
	}
	d.mu.Unlock()
	d.dispose(g)
}

// settle waits for all work that uses an allocation. mu is not held.
func (d *Device) settle(a *allocation) {
	d.mu.Lock()
	uses := append([]use{a.write}, a.reads...)
	d.mu.Unlock()
	for _, u := range uses {
		if u.stream != nil {
			_ = d.waitFor(context.Background(), u.stream)
		}
	}
}

// launchHost runs work of the CPU in this goroutine. Readers of a buffer run
// side by side, writers alone.
func (d *Device) launchHost(m *Measurement, s *Stream, reads, writes []*Buffer, w Work) error {
	var err error
	d.mu.Lock()
	if d.refuse != nil {
		err = d.refuse()
	}
	if err == nil {
		err = d.admit(s, reads)
	}
	if err == nil {
		err = d.admit(s, writes)
	}
	if err == nil && s.capture != nil {
		s.capture.record(reads, writes, w)
		d.mu.Unlock()
		return nil
	}
	if err != nil {
		d.mu.Unlock()
		return err
	}
	pin(reads)
	pin(writes)
	d.mu.Unlock()
	defer d.unpin(reads, writes)

	var room [8]access
	list := accesses(room[:0], reads, writes)
	for _, x := range list {
		x.lock()
	}
	defer func() {
		for _, x := range list {
			x.unlock()
		}
	}()
	// A buffer may have failed while this call waited for its lock.
	for _, x := range list {
		if err := x.a.state.Failed(); err != nil {
			return err
		}
	}
	if m == nil {
		return w.Start(d.info.Index, 0)
	}
	m.startHost()
	defer m.stopHost()
	return w.Start(d.info.Index, 0)
}
