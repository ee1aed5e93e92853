package device

import (
	"bytes"
	"context"
	"errors"
	"maps"
	"runtime"
	"slices"
	"strings"
	"testing"
	"time"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestStagingLate makes random copies and fetches on a GPU that runs as late as possible.
// Events are recorded after copies, reused elsewhere and freed at any time. No memory is
// reused before the GPU is done with it, and no wait returns too early.
func TestStagingLate(t *testing.T) {
	rng := testrand.New(t)
	for range 20 {
		d, b := laterDevice(t)
		streams := []*Stream{d.main, stream(t, d, ""), stream(t, d, "")}
		const size = 256
		bufs, want := make([]*Buffer, len(streams)), make([][]byte, len(streams))
		for i, s := range streams {
			bufs[i], want[i] = alloc(t, d, size, s), make([]byte, size)
			if err := d.CopyFromHost(bufs[i], 0, want[i], s); err != nil {
				t.Fatal(err)
			}
		}
		type fetched struct {
			f    *hostCopy
			want []byte
		}
		var fetches []fetched
		var events []*Event
		event := func() *Event {
			switch rng.IntN(4) {
			case 0:
				return nil
			case 1:
				if len(events) > 0 {
					return events[rng.IntN(len(events))]
				}
			}
			list, err := d.newEvents(1 + rng.IntN(3))
			if err != nil {
				t.Fatal(err)
			}
			for i := range list {
				events = append(events, &list[i])
			}
			return events[len(events)-1]
		}
		for range 300 {
			i := rng.IntN(len(streams))
			s := streams[i]
			switch rng.IntN(9) {
			case 0, 1, 2:
				src, off := randomBytes(rng, 1+rng.IntN(64)), rng.IntN(size-64)
				if err := d.copyFromHostUntil(bufs[i], int64(off), src, s, event()); err != nil {
					t.Fatal(err)
				}
				copy(want[i][off:], src)
				clear(src) // it may be used again
			case 3, 4:
				f, err := d.fetchUntil(bufs[i], 0, size, s, event())
				if err != nil {
					t.Fatal(err)
				}
				fetches = append(fetches, fetched{f, bytes.Clone(want[i])})
			case 5, 6:
				if len(fetches) == 0 {
					continue
				}
				k := rng.IntN(len(fetches))
				f := fetches[k]
				fetches = slices.Delete(fetches, k, k+1)
				if rng.IntN(3) > 0 {
					got, err := f.f.Wait(context.Background())
					if err != nil {
						t.Fatal(err)
					}
					if !bytes.Equal(got, f.want) {
						t.Fatal("a Fetch has other bytes than were there")
					}
				}
				f.f.Free()
			case 7:
				if len(events) == 0 {
					continue
				}
				k := rng.IntN(len(events))
				var err error
				switch e := events[k]; rng.IntN(3) {
				case 0:
					err = s.Record(e)
				case 1:
					err = e.Synchronize(context.Background())
				case 2:
					e.Free()
					events = slices.Delete(events, k, k+1)
				}
				if err != nil {
					t.Fatal(err)
				}
			case 8:
				if rng.IntN(4) > 0 {
					continue
				}
				if err := s.Synchronize(context.Background()); err != nil {
					t.Fatal(err)
				}
			}
			for _, s := range streams {
				d.mu.Lock()
				over := s.seq == s.done
				d.mu.Unlock()
				if over && b.copying(s.handle) {
					t.Fatal("a copy that is under way counts as done")
				}
			}
		}
		for i, s := range streams {
			got := make([]byte, size)
			if err := d.CopyToHost(got, bufs[i], 0, s); err != nil {
				t.Fatal(err)
			}
			if !bytes.Equal(got, want[i]) {
				t.Fatal("a buffer has other bytes than were copied to it")
			}
		}
	}
}

// TestStagingCalls counts calls of the driver: staging memory whose copy was waited for is
// reused without any.
func TestStagingCalls(t *testing.T) {
	const rounds = 2 * smallSlots
	for name, c := range map[string]struct {
		until, waits bool
		want         map[string]int
	}{
		"waited for":           {true, true, map[string]int{"copyIn": rounds, "copyOut": rounds, "syncEvent": rounds}},
		"marked by the slots":  {false, true, map[string]int{"copyIn": rounds, "copyOut": rounds, "syncEvent": rounds}},
		"not waited for":       {false, false, map[string]int{"copyIn": rounds, "syncEvent": rounds - smallSlots}},
		"with events, and not": {true, false, map[string]int{"copyIn": rounds, "record": rounds - smallSlots, "syncEvent": rounds - smallSlots}},
	} {
		d, b := laterDevice(t)
		buf := alloc(t, d, 64, nil)
		events, err := d.newEvents(2)
		if err != nil {
			t.Fatal(err)
		}
		sent, got := &events[0], &events[1]
		if !c.until {
			sent, got = nil, nil
		}
		for i := range rounds {
			if err := d.copyFromHostUntil(buf, 0, []byte{byte(i)}, nil, sent); err != nil {
				t.Fatal(err)
			}
			if !c.waits {
				continue
			}
			f, err := d.fetchUntil(buf, 0, 1, nil, got)
			if err != nil {
				t.Fatal(err)
			}
			v, err := f.Wait(context.Background())
			if err != nil || v[0] != byte(i) {
				t.Fatalf("%s: %v, %v", name, v, err)
			}
			f.Free()
		}
		if calls := b.take(); !maps.Equal(calls, c.want) {
			t.Errorf("%s: %v, want %v", name, calls, c.want)
		}
	}
}

// TestUntil checks that events are recorded after copies of any size, on any device.
func TestUntil(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		other := cpu(t, 0)
		foreign := event(t, other)
		for _, n := range []int{0, 1, smallSlot, smallSlot + 1} {
			buf := alloc(t, d, int64(n), nil)
			events, err := d.newEvents(3)
			if err != nil {
				t.Fatal(err)
			}
			if err := d.main.Record(&events[0]); err != nil {
				t.Fatal(err)
			}
			if err := d.copyFromHostUntil(buf, 0, make([]byte, n), nil, &events[1]); err != nil {
				t.Fatal(err)
			}
			f, err := d.fetchUntil(buf, 0, n, nil, &events[2])
			if err != nil {
				t.Fatal(err)
			}
			for i := range 2 {
				if dt, err := events[i+1].Elapsed(&events[i]); err != nil || dt < 0 || dt > time.Hour {
					t.Errorf("%d bytes: %v between events, %v", n, dt, err)
				}
			}
			f.Free()
			events[1].Free()
			is(t, d.copyFromHostUntil(buf, 0, make([]byte, n), nil, &events[1]), ErrDevice)
			_, err = d.fetchUntil(buf, 0, n, nil, &events[1])
			is(t, err, ErrDevice)
			is(t, d.copyFromHostUntil(buf, 0, make([]byte, n), nil, foreign), ErrDevice)
			_, err = d.fetchUntil(buf, 0, n, nil, foreign)
			is(t, err, ErrDevice)
			buf.Free()
		}
	})
}

// TestEventElsewhere checks that a wait for an event that is recorded again on another stream
// meanwhile does not count as a wait for the first record.
func TestEventElsewhere(t *testing.T) {
	synchronize := func(e *Event, _ *hostCopy) error { return e.Synchronize(context.Background()) }
	for name, wait := range map[string]func(*Event, *hostCopy) error{
		"Synchronize": synchronize, "early Synchronize": synchronize,
		"Wait": func(_ *Event, f *hostCopy) error {
			b, err := f.Wait(context.Background())
			if err == nil && b[0] != 7 {
				err = errors.New("a Fetch came before its bytes")
			}
			return err
		},
	} {
		d, b := laterDevice(t)
		b.early = strings.HasPrefix(name, "early")
		other := stream(t, d, "")
		buf, aside := alloc(t, d, 64, nil), alloc(t, d, 64, other)
		e := event(t, d)
		if err := d.CopyFromHost(buf, 0, []byte{7}, nil); err != nil {
			t.Fatal(err)
		}
		f, err := d.fetchUntil(buf, 0, 1, nil, e)
		if err != nil {
			t.Fatal(err)
		}
		gate := make(chan struct{})
		b.late.Lock()
		b.on[e.handle] = gate
		b.late.Unlock()
		ended := make(chan error)
		go func() { ended <- wait(e, f) }()
		<-gate
		b.late.Lock()
		delete(b.on, e.handle)
		b.late.Unlock()
		if err := d.copyFromHostUntil(aside, 0, []byte{1}, other, e); err != nil {
			t.Fatal(err)
		}
		gate <- struct{}{}
		if err := <-ended; err != nil {
			t.Errorf("%s: %v", name, err)
		}
		d.mu.Lock()
		for _, s := range []*Stream{d.main, other} {
			if s.done == s.seq && b.copying(s.handle) {
				t.Errorf("%s: copies that are under way count as done", name)
			}
		}
		d.mu.Unlock()
	}
}

// TestEventFreedWhileWaited checks that an event that is freed while a goroutine waits for it
// is not reused before that wait ends.
func TestEventFreedWhileWaited(t *testing.T) {
	for name, wait := range map[string]func(*Event, *hostCopy) error{
		"Synchronize": func(e *Event, _ *hostCopy) error { return e.Synchronize(context.Background()) },
		"Wait": func(_ *Event, f *hostCopy) error {
			b, err := f.Wait(context.Background())
			if err == nil && b[0] != 7 {
				err = errors.New("a Fetch came before its bytes")
			}
			return err
		},
	} {
		for _, full := range []bool{false, true} {
			d, b := laterDevice(t)
			other := stream(t, d, "")
			buf, aside := alloc(t, d, 64, nil), alloc(t, d, 64, other)
			idle, err := d.newEvents(maxIdleEvents)
			if err != nil {
				t.Fatal(err)
			}
			e := event(t, d)
			for i := range idle {
				if full { // nobody keeps another
					idle[i].Free()
				}
			}
			if err := d.CopyFromHost(buf, 0, []byte{7}, nil); err != nil {
				t.Fatal(err)
			}
			f, err := d.fetchUntil(buf, 0, 1, nil, e)
			if err != nil {
				t.Fatal(err)
			}
			h := e.handle
			held := b.hold(h)
			ended := make(chan error)
			go func() { ended <- wait(e, f) }()
			<-held
			e.Free()
			again := event(t, d)
			if again.handle == h {
				t.Errorf("%s, full %v: the event is another one while it is waited for", name, full)
			}
			if err := d.copyFromHostUntil(aside, 0, []byte{1}, other, again); err != nil {
				t.Fatal(err)
			}
			if full { // no place for another
				again.Free()
			}
			b.release(h, held)
			if err := <-ended; err != nil {
				t.Errorf("%s, full %v: %v", name, full, err)
			}
			d.mu.Lock()
			for _, s := range []*Stream{d.main, other} {
				if s.done == s.seq && b.copying(s.handle) {
					t.Errorf("%s, full %v: copies that are under way count as done", name, full)
				}
			}
			if len(b.torn) > 0 || full != slices.Contains(b.ended, h) || full == slices.Contains(d.events, h) {
				t.Errorf("%s, full %v: %v closed while waited for, %v afterwards, %v kept; it was %d", name, full, b.torn, b.ended, d.events, h)
			}
			d.mu.Unlock()
		}
	}
}

// TestStagingFault checks that work on a stream that failed and was closed does not count as
// done: Wait for a Fetch on it returns an error, and the staging memory of its copies is not
// reused.
func TestStagingFault(t *testing.T) {
	for _, name := range []string{"no event", "an event", "an event that is freed"} {
		d, b := laterDevice(t)
		s := stream(t, d, "")
		buf, aside := alloc(t, d, 64, s), alloc(t, d, 64, nil)
		var e *Event
		if name != "no event" {
			e = event(t, d)
		}
		if err := d.copyFromHostUntil(buf, 0, []byte{7}, s, e); err != nil {
			t.Fatal(err)
		}
		f, err := d.fetchUntil(buf, 0, 1, s, e)
		if err != nil {
			t.Fatal(err)
		}
		if name == "an event that is freed" {
			e.Free()
		}
		b.fault = errorf("an illegal address")
		is(t, s.Close(), ErrDevice)
		if v, err := f.Wait(context.Background()); !errors.Is(err, ErrDevice) {
			t.Errorf("%s: a Fetch of a stream that failed is %v, %v", name, v, err)
		}
		for i := range smallSlots {
			err := d.CopyFromHost(aside, 0, []byte{1}, nil)
			if used := i == smallSlots-1; used != errors.Is(err, ErrDevice) {
				t.Errorf("%s: copy %d on another stream: %v", name, i, err)
			}
		}
	}
}

// TestStagingAside checks that a copy that waits for another copy's staging memory waits only
// for that copy, not for long work launched on its stream since.
func TestStagingAside(t *testing.T) {
	for _, until := range []bool{false, true} {
		d, b := laterDevice(t)
		s := stream(t, d, "")
		buf, aside := alloc(t, d, 64, s), alloc(t, d, 64, nil)
		var e *Event
		if until {
			e = event(t, d)
		}
		if err := d.copyFromHostUntil(buf, 0, []byte{7}, s, e); err != nil {
			t.Fatal(err)
		}
		ran := false
		if err := d.Launch(s, nil, []*Buffer{buf}, func(_ int, h uint64) error {
			b.put("long", h, 0, func() { ran = true })
			return nil
		}); err != nil {
			t.Fatal(err)
		}
		for range smallSlots {
			if err := d.CopyFromHost(aside, 0, []byte{1}, nil); err != nil {
				t.Fatal(err)
			}
		}
		b.late.Lock()
		first := b.done[s.handle] > 0
		b.late.Unlock()
		if ran || !first {
			t.Errorf("with an event %v: long work has run %v, the copy before it %v", until, ran, first)
		}
	}
}

// TestStagingElsewhere checks that a copy that waits for staging memory, through an event
// that is freed or recorded again meanwhile, gets the memory when the earlier copy is done,
// and not before.
func TestStagingElsewhere(t *testing.T) {
	for _, freed := range []bool{false, true} {
		d, b := laterDevice(t)
		s, other := stream(t, d, ""), stream(t, d, "")
		buf, aside := alloc(t, d, 64, s), alloc(t, d, 64, nil)
		e := event(t, d)
		if err := d.copyFromHostUntil(buf, 0, []byte{7}, s, e); err != nil {
			t.Fatal(err)
		}
		h := e.handle
		held := b.hold(h)
		copied := make(chan error)
		go func() {
			var err error
			for range smallSlots {
				err = errors.Join(err, d.CopyFromHost(aside, 0, []byte{1}, nil))
			}
			copied <- err
		}()
		<-held
		if freed {
			e.Free()
		} else if err := other.Record(e); err != nil {
			t.Fatal(err)
		}
		b.release(h, held)
		if err := <-copied; err != nil {
			t.Fatal(err)
		}
		if b.copying(s.handle) {
			t.Errorf("freed %v: the memory of a copy is used again while it is under way", freed)
		}
	}
}

// TestStagingExposed checks that copies on one stream put nothing on a stream that is shared
// with other libraries, even if it was not shared when its copies were made.
func TestStagingExposed(t *testing.T) {
	for _, wrapped := range []bool{false, true} {
		d, b := laterDevice(t)
		s := stream(t, d, "")
		if wrapped {
			var err error
			if s, err = d.WrapStream(s.Handle()); err != nil {
				t.Fatal(err)
			}
		}
		buf, aside := alloc(t, d, 64, s), alloc(t, d, 64, nil)
		e := event(t, d)
		for range 2 { // the event is the second's
			if err := d.copyFromHostUntil(buf, 0, []byte{1}, s, e); err != nil {
				t.Fatal(err)
			}
		}
		h := s.Handle()
		b.late.Lock()
		before := len(b.work[h])
		b.late.Unlock()
		for range smallSlots {
			if err := d.CopyFromHost(aside, 0, []byte{1}, nil); err != nil {
				t.Fatal(err)
			}
		}
		b.late.Lock()
		after := len(b.work[h])
		b.late.Unlock()
		if after != before || b.copying(h) {
			t.Errorf("wrapped %v: %d calls on the stream for other copies; under way on it: %v", wrapped, after-before, b.copying(h))
		}
	}
}

// TestStagingMark checks that the mark of a stream stays while a goroutine waits for a copy
// that was made before the stream was captured, even if the stream is closed meanwhile.
func TestStagingMark(t *testing.T) {
	d, b := laterDevice(t)
	s := stream(t, d, "")
	buf, aside := alloc(t, d, 64, s), alloc(t, d, 64, nil)
	e := event(t, d)
	for range 2 {
		if err := d.copyFromHostUntil(buf, 0, []byte{1}, s, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.BeginCapture(); err != nil {
		t.Fatal(err)
	}
	mark := s.mark
	held := b.hold(mark)
	copied, closed := make(chan error), make(chan error)
	go func() {
		var err error
		for range smallSlots - 1 {
			err = errors.Join(err, d.CopyFromHost(aside, 0, []byte{1}, nil))
		}
		copied <- err
	}()
	<-held
	g, err := s.EndCapture()
	if err != nil {
		t.Fatal(err)
	}
	if err := g.Close(); err != nil {
		t.Fatal(err)
	}
	go func() { closed <- s.Close() }()
	eventually(t, "the stream to close", func() bool {
		d.mu.Lock()
		defer d.mu.Unlock()
		return s.closing
	})
	time.Sleep(time.Millisecond) // it closes, if it does
	b.release(mark, held)
	if err := errors.Join(<-copied, <-closed); err != nil {
		t.Error(err)
	}
	if len(b.torn) > 0 || !slices.Contains(b.ended, mark) {
		t.Errorf("%v closed while waited for, %v at last; the mark is %d", b.torn, b.ended, mark)
	}
}

// TestStagingCapture checks that staging memory is reused while its stream is being captured,
// and that this adds nothing to the captured sequence.
func TestStagingCapture(t *testing.T) {
	d, b := laterDevice(t)
	s := stream(t, d, "")
	a, c := alloc(t, d, 64, s), alloc(t, d, 64, d.main)
	e := event(t, d)
	for range smallSlots {
		if err := d.copyFromHostUntil(a, 0, []byte{1}, s, e); err != nil {
			t.Fatal(err)
		}
	}
	if err := s.BeginCapture(); err != nil {
		t.Fatal(err)
	}
	n := len(b.work[s.handle])
	for range smallSlots {
		if err := d.CopyFromHost(c, 0, []byte{2}, d.main); err != nil {
			t.Fatal(err)
		}
	}
	if more := len(b.work[s.handle]) - n; more != 0 || b.copying(s.handle) {
		t.Errorf("%d calls are part of the sequence, copies under way: %v", more, b.copying(s.handle))
	}
	is(t, d.copyFromHostUntil(a, 0, []byte{1}, s, e), ErrDevice)
	if _, err := s.EndCapture(); err != nil {
		t.Fatal(err)
	}
}

// TestEventsDropped checks that events that were made together and not freed are returned to
// the driver once all of them are dropped.
func TestEventsDropped(t *testing.T) {
	d, b := gpu(t, 0)
	list, err := d.newEvents(5)
	if err != nil {
		t.Fatal(err)
	}
	list[1].Free()
	list[3].Free()
	last := &list[4]
	runtime.GC()
	if err := d.main.Record(last); err != nil {
		t.Fatal(err)
	}
	count := func() int {
		d.drain()
		b.mu2.Lock()
		defer b.mu2.Unlock()
		return len(b.events)
	}
	if n := count(); n != 5 {
		t.Errorf("%d events while one is in use, want 5", n)
	}
	runtime.KeepAlive(last)
	list = nil
	eventually(t, "the end of dropped events", func() bool {
		runtime.GC()
		return count() == 2 // the two that are reused
	})
	for _, n := range []int{-1, maxEvents + 1} {
		_, err := d.newEvents(n)
		is(t, err, ErrDevice)
	}
}
