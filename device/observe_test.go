package device

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"
)

func sleep(t testing.TB, d *Device, s *Stream, took time.Duration) {
	t.Helper()
	if err := d.Launch(s, nil, nil, func(int, uint64) error { time.Sleep(took); return nil }); err != nil {
		t.Error(err)
	}
}

// TestObserveWork checks that the time of each piece of work is recorded, on the CPU and
// on a GPU.
func TestObserveWork(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		s := stream(t, d, "second")
		o, x := observing(t)
		begin := time.Now()
		const took = 3 * time.Millisecond
		sleep(t, d, nil, took)
		sleep(t, d, s, 2*took)
		buf, host := alloc(t, d, 100_000, nil), make([]byte, 100_000)
		err := errors.Join(
			d.CopyFromHost(buf, 0, host[:10], nil), d.CopyFromHost(buf, 0, host, nil), d.CopyToHost(host, buf, 0, s),
			d.Copy(buf, 0, buf, 500, 500, nil), d.CopyFromHost(buf, 0, nil, nil))
		f, err2 := d.fetch(buf, 0, 16, nil)
		if err := errors.Join(err, err2); err != nil {
			t.Fatal(err)
		}
		f.Free()
		x.Stop()
		x.Stop()
		sleep(t, d, nil, 0) // is not observed
		end := time.Now()
		want := []Measurement{
			{Kind: Computing, Stream: d.main},
			{Kind: Computing, Stream: s},
			{Kind: HostToDevice, Stream: d.main, Bytes: 10},
			{Kind: HostToDevice, Stream: d.main, Bytes: 100_000},
			{Kind: DeviceToHost, Stream: s, Bytes: 100_000},
			{Kind: DeviceToDevice, Stream: d.main, Bytes: 500},
			{Kind: DeviceToHost, Stream: d.main, Bytes: 16},
		}
		if len(o.work) != len(want) || o.begun != len(want) {
			t.Fatalf("%d pieces of work, begun %d, want %d", len(o.work), o.begun, len(want))
		}
		for i, m := range o.work {
			w := &want[i]
			if m.Kind != w.Kind || m.Stream != w.Stream || m.Bytes != w.Bytes || m.Err != nil {
				t.Errorf("work %d: %+v, want %+v", i, m, w)
			}
			if !m.Measured || m.Time < 0 || m.Started.Before(m.Begin) || m.Started.Add(m.Time).After(end) || m.Begin.Before(begin) || m.End.Before(m.Begin) {
				t.Errorf("work %d: times %+v", i, m)
			}
		}
		for i, least := range []time.Duration{took, 2 * took} {
			if m := o.work[i]; m.Time < least || m.Time > m.End.Sub(m.Begin) {
				t.Errorf("%v of a call of %v that sleeps %v", m.Time, m.End.Sub(m.Begin), least)
			}
		}
	})
}

// TestObserveDoesNotWait checks that no call waits for the GPU before Stop, and that every
// event and stream is returned.
func TestObserveDoesNotWait(t *testing.T) {
	d, b := waitingGPU(t)
	s := stream(t, d, "second")
	streams, events := b.streams.Load(), b.liveEvents()
	_, x := observing(t)
	for i := range 1000 {
		sleep(t, d, []*Stream{nil, s}[i%2], 0)
		if i == 500 { // all that was read by then goes back to the pool of events
			if n := b.liveEvents(); n > 2*(2*keptPending+2)+2 {
				t.Errorf("%d events exist", n)
			}
		}
	}
	if n := b.waits.Load(); n != 0 {
		t.Errorf("%d waits before Stop", n)
	}
	x.Stop()
	if n := b.liveEvents(); n != events {
		t.Errorf("%d events after, %d before", n, events)
	}
	if n := b.streams.Load(); n != streams {
		t.Errorf("%d streams after, %d before", n, streams)
	}
}

// TestObserveSlowGPU checks that if the GPU is far behind, the number of events is
// bounded, no call waits, and work without an event has no time.
func TestObserveSlowGPU(t *testing.T) {
	d, b := waitingGPU(t)
	b.pending = true
	o, x := observing(t)
	for range maxLiveEvents {
		sleep(t, d, nil, 0)
	}
	if n := b.liveEvents(); n > maxLiveEvents {
		t.Errorf("%d events", n)
	}
	if n := b.waits.Load(); n != 0 {
		t.Errorf("%d waits before Stop", n)
	}
	x.Stop()
	measured := 0
	for _, m := range o.work {
		if m.Measured {
			measured++
		}
	}
	if len(o.work) != maxLiveEvents || measured != (maxLiveEvents-1)/2 {
		t.Errorf("%d of %d pieces of work are measured", measured, len(o.work))
	}
	noEvents(t, b)
}

// TestObserveFailures checks that if the driver makes no event, or the work fails, the
// work has no time and nothing is leaked.
func TestObserveFailures(t *testing.T) {
	d, b := waitingGPU(t)
	o, x := observing(t)
	sleep(t, d, nil, 0)
	b.failNext("record", errBus)
	sleep(t, d, nil, 0)
	b.failNext("record", nil)
	is(t, d.Launch(nil, nil, nil, func(int, uint64) error { return errBus }), errBus)
	x.Stop()
	var got []bool
	for _, m := range o.work {
		got = append(got, m.Measured)
	}
	if want := []bool{true, false, true}; !slices.Equal(got, want) || !errors.Is(o.work[2].Err, errBus) {
		t.Errorf("measured %v, want %v", got, want)
	}
	noEvents(t, b)
}

// TestObserveAnchors: times are the same whichever anchor they are counted from, and old
// anchors go back.
func TestObserveAnchors(t *testing.T) {
	d, b := waitingGPU(t)
	o, x := observing(t)
	sleep(t, d, nil, 0)
	for range 10 {
		d.mu.Lock()
		a := x.timings[d].anchor
		x.timings[d].anchor.at = a.at.Add(-2 * anchorLife) // it is too old
		d.mu.Unlock()
		b.mu2.Lock()
		b.pending = true // and read at the end
		b.mu2.Unlock()
		sleep(t, d, nil, time.Millisecond)
		if x.timings[d].anchor == a {
			t.Fatal("the anchor was kept")
		}
	}
	x.Stop()
	for _, m := range o.work[2:] {
		if late := m.Started.Sub(m.Begin); !m.Measured || late < 0 || late > 100*time.Millisecond && m.anchor != nil {
			t.Errorf("work begins %v after its call", late)
		}
	}
	noEvents(t, b)
}

// TestObserveCapture checks that nothing is recorded on a stream that is being captured,
// and that its replay is one piece of work.
func TestObserveCapture(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		s := stream(t, d, "second")
		o, x := observing(t)
		if err := s.BeginCapture(); err != nil {
			t.Fatal(err)
		}
		if b, ok := d.backend.(*testBackend); ok {
			b.take()
		}
		sleep(t, d, s, 0)
		if b, ok := d.backend.(*testBackend); ok && slices.ContainsFunc(b.take(), func(l string) bool { return l == "record second" }) {
			t.Error("an event was recorded in the sequence")
		}
		g, err := s.EndCapture()
		if err != nil {
			t.Fatal(err)
		}
		err = errors.Join(g.Launch(nil), g.Launch(nil), g.Close())
		x.Stop()
		if err != nil || len(o.work) != 2 || o.captures != 1 {
			t.Fatalf("%d pieces of work, %d captures, error %v", len(o.work), o.captures, err)
		}
		for _, m := range o.work {
			if m.Kind != Replaying || !m.Measured {
				t.Errorf("%+v", m)
			}
		}
	})
}

// TestObserveStopMeanwhile checks that a copy that is under way when the observation stops
// leaks no event.
func TestObserveStopMeanwhile(t *testing.T) {
	d, b := waitingGPU(t)
	buf := alloc(t, d, 8, nil)
	_, x := observing(t)
	sleep(t, d, nil, 0)
	err := d.transfer(d.observe(HostToDevice, nil, 8), nil, nil, []*Buffer{buf}, false, func(*Stream) error {
		x.Stop()
		return nil
	})
	if err != nil || observed() {
		t.Fatal(err, observed())
	}
	noEvents(t, b)
}

// TestObserveMemory checks that the observer is called for each allocation and each free
// of a buffer, with the pool's counters.
func TestObserveMemory(t *testing.T) {
	bothKinds(t, func(t *testing.T, d *Device) {
		kept := alloc(t, d, 1000, nil)
		o, x := observing(t)
		a, b := alloc(t, d, 5000, nil), alloc(t, d, 7, nil)
		empty := alloc(t, d, 0, nil)
		if want := d.Pool(); o.last.InUse != want.InUse || o.last.Held != want.InUse+want.Cached || o.last.Device != d {
			t.Errorf("%+v, the pool has %+v", o.last, want)
		}
		a.Free()
		if want := d.Pool(); o.last.InUse != want.InUse || o.last.Held != want.InUse+want.Cached {
			t.Errorf("%+v, the pool has %+v", o.last, want)
		}
		b.Free()
		empty.Free()
		x.Stop()
		if len(o.inUse) != 2 {
			t.Errorf("%d buffers", len(o.inUse))
		}
		for id, n := range o.inUse {
			if n != 0 {
				t.Errorf("buffer %d: %d bytes", id, n)
			}
		}
		kept.Free()
	})
}

// TestObserveOnce: there is one observer at a time.
func TestObserveOnce(t *testing.T) {
	o, x := observing(t)
	_, err := observe(o)
	is(t, err, ErrDevice)
	x.Stop()
	if observed() {
		t.Error("an observer after Stop")
	}
}

// TestObserveAllocates checks that launches do not allocate after an observer was removed.
func TestObserveAllocates(t *testing.T) {
	d, _ := gpu(t, 0)
	_, x := observing(t)
	x.Stop()
	w := work(func(int, uint64) error { return nil })
	least := math.Inf(1) // the least of several rounds, because AllocsPerRun also counts other goroutines
	for range 5 {
		least = min(least, testing.AllocsPerRun(100, func() { _ = d.LaunchWork(nil, nil, nil, w) }))
	}
	if least != 0 {
		t.Errorf("%v allocations a launch", least)
	}
}

func BenchmarkLaunchUnobserved(b *testing.B) {
	d, _ := gpu(b, 0)
	w := work(func(int, uint64) error { return nil })
	b.ReportAllocs()
	for b.Loop() {
		_ = d.LaunchWork(nil, nil, nil, w)
	}
}
