//go:build cgo && linux && (amd64 || arm64) && !nocuda

package device

import (
	"context"
	"encoding/binary"
	"errors"
	"math/rand/v2"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"
	"unsafe"

	"github.com/gpk-go/gpk/internal/submit"
	"github.com/gpk-go/gpk/internal/submit/submittest"
)

// queuedDevice returns a GPU of the test's driver whose launches all go through its queue, and a function of it,
// which makes thirty-one times the word at its first parameter and adds its handle.
func queuedDevice(t *testing.T, mode string) *Device {
	t.Helper()
	t.Setenv("GPK_SUBMIT", mode)
	path := testLibrary(t)
	if err := bindModulesFrom(path); err != nil {
		t.Fatal(err)
	}
	_, b := openDriver(t, path)
	if cb := b.(*cudaBackend); cb.calls == nil {
		cb.calls = submit.New(submit.InRows) // there may be too few processors here
	}
	d, err := newDevice(h200(1), b, nil, &ranges{}, newCollector(), 0)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		d.submission.queue.Close()
		d.submission.queue = nil
		b.(*cudaBackend).calls = nil
	})
	return d
}

func functionOf(d *Device, name string, handle uint64) *Function {
	return &Function{dev: d, name: name, handle: handle, info: functionInfo{maxThreads: 1024}}
}

// startedMix returns a function that was launched once: the first launch is started at once, later ones are queued.
func startedMix(t *testing.T, d *Device) *Function {
	t.Helper()
	f := functionOf(d, "mix", 5)
	if err := mix(d.main, f, alloc(t, d, 8, nil), 0, 0); err != nil {
		t.Fatal(err)
	}
	return f
}

// launched is one launch of a function of the test's driver.
type launched struct {
	f      *Function
	params []byte
}

func (w *launched) launch() Launch { return Launch{Grid: [3]int{7, 1, 1}, Block: [3]int{32, 1, 1}} }

func (w *launched) Start(_ int, stream uint64) error { return w.f.Start(stream, w.launch(), w.params) }

func (w *launched) Enqueue(_ int, stream uint64) (bool, error) {
	return true, w.f.Enqueue(stream, w.launch(), w.params)
}

// mix launches the function on b. micros is the time that the launch takes, code its result.
func mix(s *Stream, f *Function, b *Buffer, micros, code uint64) error {
	w := &launched{f: f}
	for _, word := range []uint64{b.Addr(), micros, code} {
		w.params = binary.LittleEndian.AppendUint64(w.params, word)
	}
	return s.dev.LaunchWork(s, nil, []*Buffer{b}, w)
}

// holdQueue queues a call that waits until the returned function is called. Later calls of the queue are not made
// before.
func holdQueue(t *testing.T, q *submit.Queue) (release func()) {
	t.Helper()
	submittest.Open(0)
	release = func() { submittest.Open(1) }
	t.Cleanup(release) // before Close, which waits for the call
	r := q.Next()
	r.Function, r.Args[0] = submittest.Gate, 1
	q.Push()
	return release
}

func word(v uint64) []byte { return binary.LittleEndian.AppendUint64(nil, v) }

// at returns the first word of a buffer: the test driver uses host memory.
func at(b *Buffer) *uint64 {
	addr := b.Addr()
	return *(**uint64)(unsafe.Pointer(&addr))
}

// TestQueuedDrains calls every function of the driver that is ordered after launches, while a slow launch is
// queued.
func TestQueuedDrains(t *testing.T) {
	d := queuedDevice(t, "always")
	s, b := d.main, d.backend.(*cudaBackend)
	f := functionOf(d, "mix", 5)
	x, y := alloc(t, d, 8, nil), alloc(t, d, 8, nil)
	*at(x) = 1
	event, err := b.newEvent(eventOrder)
	if err != nil {
		t.Fatal(err)
	}
	if err := b.beginCapture(s.handle); err != nil {
		t.Fatal(err)
	}
	graph, err := b.endCapture(s.handle)
	if err != nil {
		t.Fatal(err)
	}
	exec, err := b.newExec(graph)
	if err != nil {
		t.Fatal(err)
	}
	host, err := b.allocHost(8)
	if err != nil {
		t.Fatal(err)
	}
	var got [8]byte
	spare, err := b.newStream()
	if err != nil {
		t.Fatal(err)
	}
	more, err := b.alloc(8)
	if err != nil {
		t.Fatal(err)
	}
	if err := mix(s, f, x, 0, 0); err != nil { // the first is started at once
		t.Fatal(err)
	}
	want := uint64(36)
	try := func(calls map[string]func() error) {
		for name, call := range calls {
			if err := mix(s, f, x, 1000, 0); err != nil {
				t.Fatal(err)
			}
			want = want*31 + 5
			if err := call(); err != nil {
				t.Errorf("%s: %v", name, err)
			}
			if v := *at(x); v != want {
				t.Errorf("%s went before a launch", name)
				d.submission.queue.Flush()
			}
		}
	}
	try(map[string]func() error{
		"record":      func() error { return b.record(event, s.handle) },
		"wait":        func() error { return b.wait(s.handle, event) },
		"syncStream":  func() error { return b.syncStream(s.handle) },
		"copyIn":      func() error { return b.copyIn(y.a.mem, 0, host, 8, s.handle, 0) },
		"copyOut":     func() error { return b.copyOut(host, y.a.mem, 0, 8, s.handle, 0) },
		"syncCopyOut": func() error { return b.syncCopyOut(unsafe.Pointer(&got), y.a.mem, 0, 8, s.handle) },
		"copyWithin":  func() error { return b.copyWithin(y.a.mem, 0, more, 0, 8, s.handle) },
		"launchExec":  func() error { return b.launchExec(exec, s.handle) },
		"beginCapture": func() error {
			return errors.Join(b.beginCapture(spare), func() error { _, err := b.endCapture(spare); return err }())
		},
		"Event":       func() error { return s.Record(&Event{dev: d, handle: event}) },
		"Synchronize": func() error { return d.Synchronize(context.Background()) },
		"Occupancy":   func() error { _, _, err := f.launchSize(64 << 10); return err }, // it changes an attribute of the function
		"CopyToHost":  func() error { return d.CopyToHost(got[:], y, 0, nil) },
		"Launch":      func() error { return d.Launch(nil, nil, nil, func(int, uint64) error { return nil }) },
	})
	try(map[string]func() error{ // these end objects that the calls above use
		"freeHost":    func() error { return b.freeHost(host) },
		"free":        func() error { return b.free(more) },
		"closeStream": func() error { return b.closeStream(spare) },
	})
}

// TestQueuedOrder mixes launches through the queue with all other ordered calls, in several goroutines: transfers,
// copies, events, closed streams, memory that is freed and reused. Every launch takes some time before it writes,
// so that the test finds any call that overtakes it.
func TestQueuedOrder(t *testing.T) {
	for _, mode := range []string{"always", ""} {
		t.Run("mode="+mode, func(t *testing.T) {
			d := queuedDevice(t, mode)
			seed := rand.Uint64()
			t.Logf("seed %#x", seed)
			var group sync.WaitGroup
			for g := range 4 {
				group.Go(func() { queuedOrder(t, d, rand.New(rand.NewPCG(seed, uint64(g)))) })
			}
			group.Wait()
		})
	}
}

func queuedOrder(t *testing.T, d *Device, rng *rand.Rand) {
	f := functionOf(d, "mix", 5)
	const n = 3
	var streams [n]*Stream
	var buffers [n]*Buffer
	var want [n]uint64
	check := func(err error) {
		if err != nil {
			t.Error(err)
		}
	}
	for i := range streams {
		s, err := d.NewStream()
		check(err)
		streams[i] = s
		buffers[i] = alloc(t, d, 8, s)
		check(d.CopyFromHost(buffers[i], 0, word(uint64(i)), s))
		want[i] = uint64(i)
	}
	for range 1500 {
		i, j := rng.IntN(n), rng.IntN(n)
		s := streams[rng.IntN(n)]
		switch rng.IntN(40) {
		case 0:
			got := make([]byte, 8)
			check(d.CopyToHost(got, buffers[i], 0, s))
			if v := binary.LittleEndian.Uint64(got); v != want[i] {
				t.Errorf("%d is %#x, want %#x", i, v, want[i])
				return
			}
		case 1:
			want[i] = rng.Uint64()
			check(d.CopyFromHost(buffers[i], 0, word(want[i]), s))
		case 2:
			if i != j {
				check(d.Copy(buffers[i], 0, buffers[j], 0, 8, s))
				want[i] = want[j]
			}
		case 3: // freed behind its last launch, and the memory used again
			buffers[i].Free()
			buffers[i] = alloc(t, d, 8, s)
			want[i] = rng.Uint64()
			check(d.CopyFromHost(buffers[i], 0, word(want[i]), s))
		case 4:
			e, err := d.NewEvent()
			check(err)
			check(streams[i].Record(e))
			check(streams[j].Wait(e))
		case 5:
			check(s.Synchronize(context.Background()))
		case 7: // work that is started by its caller
			check(d.Launch(s, nil, []*Buffer{buffers[i]}, func(int, uint64) error {
				at := at(buffers[i])
				*at = *at*31 + 7
				return nil
			}))
			want[i] = want[i]*31 + 7
		case 6:
			s, err := d.NewStream()
			check(err)
			check(streams[i].Close())
			streams[i] = s
		default:
			check(mix(s, f, buffers[i], uint64(rng.IntN(3)), 0))
			want[i] = want[i]*31 + 5
		}
	}
	for i, b := range buffers {
		got := make([]byte, 8)
		check(d.CopyToHost(got, b, 0, nil))
		if v := binary.LittleEndian.Uint64(got); v != want[i] {
			t.Errorf("at the end %d is %#x, want %#x", i, v, want[i])
		}
		b.Free()
		check(streams[i].Close())
	}
}

// TestQueuedFailure makes the driver refuse a queued launch. Earlier results are right. The outputs of this launch
// and of later ones have the error, which Synchronize returns once. Overwritten memory is valid again.
func TestQueuedFailure(t *testing.T) {
	d := queuedDevice(t, "always")
	other := stream(t, d, "other")
	f := startedMix(t, d)
	before, failing, after, beside := alloc(t, d, 8, nil), alloc(t, d, 8, nil), alloc(t, d, 8, nil), alloc(t, d, 8, other)
	for _, b := range []*Buffer{before, failing, after} {
		if err := d.CopyFromHost(b, 0, word(1), nil); err != nil {
			t.Fatal(err)
		}
	}
	if err := d.CopyFromHost(beside, 0, word(1), other); err != nil {
		t.Fatal(err)
	}
	s := d.main
	release := holdQueue(t, d.submission.queue) // until all are queued
	for i, err := range []error{
		mix(s, f, before, 0, 0), mix(s, f, failing, 0, 700), mix(s, f, after, 0, 0), mix(other, f, beside, 0, 0),
	} {
		if err != nil {
			t.Fatalf("launch %d: %v", i, err)
		}
	}
	release()
	got := make([]byte, 8)
	if err := d.CopyToHost(got, before, 0, nil); err != nil || binary.LittleEndian.Uint64(got) != 36 {
		t.Errorf("what was written before: %v, %v", got, err)
	}
	for i, b := range []*Buffer{failing, after, beside} {
		err := d.CopyToHost(got, b, 0, nil)
		var queued *submit.Error
		if !errors.As(err, &queued) || !errors.Is(err, ErrDevice) || !strings.Contains(err.Error(), "cuLaunchKernelEx") || !strings.Contains(err.Error(), "(700)") {
			t.Errorf("%d: %v", i, err)
		}
		if err := mix(d.main, f, b, 0, 0); !errors.As(err, &queued) {
			t.Errorf("work on %d: %v", i, err)
		}
	}
	if err := d.Synchronize(context.Background()); err != nil {
		t.Errorf("an error that was returned is returned again: %v", err)
	}
	failing.State().Heal()
	if err := d.CopyFromHost(failing, 0, word(9), nil); err != nil {
		t.Error(err)
	}
	if err := mix(s, f, failing, 0, 0); err != nil {
		t.Error(err)
	}
	if err := d.CopyToHost(got, failing, 0, nil); err != nil || binary.LittleEndian.Uint64(got) != 9*31+5 {
		t.Errorf("what was healed: %v, %v", got, err)
	}
	if err := mix(s, f, before, 0, 701); err != nil {
		t.Error(err)
	}
	if err := d.Synchronize(context.Background()); err == nil || !strings.Contains(err.Error(), "(701)") {
		t.Errorf("Synchronize after a launch that failed: %v", err)
	}
	if err := d.Synchronize(context.Background()); err != nil {
		t.Errorf("Synchronize once more: %v", err)
	}
}

// TestQueuedFailureOfHandle makes a launch fail on a stream whose handle the driver has given to another stream
// before: the results of the latter are valid.
func TestQueuedFailureOfHandle(t *testing.T) {
	d := queuedDevice(t, "always")
	f := startedMix(t, d)
	old := stream(t, d, "old")
	well := alloc(t, d, 8, nil)
	if err := d.CopyFromHost(well, 0, word(1), nil); err != nil {
		t.Fatal(err)
	}
	want := uint64(1)
	for range 20 { // its count of work is ahead of what the new stream's will be
		if err := mix(old, f, well, 0, 0); err != nil {
			t.Fatal(err)
		}
		want = want*31 + 5
	}
	handle := old.handle
	if err := old.Close(); err != nil {
		t.Fatal(err)
	}
	s, err := d.NewStream()
	if err != nil || s.handle != handle {
		t.Fatalf("the new stream's handle is %#x, not the old one's %#x; %v", s.handle, handle, err)
	}
	failing := alloc(t, d, 8, s)
	if err := mix(s, f, failing, 0, 700); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 8)
	if err := d.CopyToHost(got, well, 0, nil); err != nil || binary.LittleEndian.Uint64(got) != want {
		t.Errorf("what the old stream wrote: %v, %v", got, err)
	}
	var queued *submit.Error
	if err := d.CopyToHost(got, failing, 0, nil); !errors.As(err, &queued) {
		t.Errorf("what the new stream was to write: %v", err)
	}
}

// manyLaunches is Work of n launches.
type manyLaunches struct {
	launched
	n int
}

func (w *manyLaunches) Enqueue(_ int, stream uint64) (bool, error) {
	for range w.n {
		if err := w.f.Enqueue(stream, w.launch(), w.params); err != nil {
			return true, err
		}
	}
	return true, nil
}

// TestQueuedFailureOfMany makes a launch fail while a piece of work with more launches than the queue has records
// is queued after it.
func TestQueuedFailureOfMany(t *testing.T) {
	d := queuedDevice(t, "always")
	f := startedMix(t, d)
	other := stream(t, d, "other")
	first, second, before := alloc(t, d, 8, nil), alloc(t, d, 8, other), alloc(t, d, 8, other)
	if err := mix(other, f, before, 0, 0); err != nil {
		t.Fatal(err)
	}
	q := d.submission.queue
	release := holdQueue(t, q)
	if err := mix(d.main, f, first, 0, 700); err != nil {
		t.Fatal(err)
	}
	half := q.Calls() + 100
	go func() {
		for q.Calls() < half {
			time.Sleep(time.Millisecond)
		}
		release()
	}()
	w := &manyLaunches{launched{f: f}, 1000}
	for _, word := range []uint64{second.Addr(), 0, 0} {
		w.params = binary.LittleEndian.AppendUint64(w.params, word)
	}
	if err := d.LaunchWork(other, nil, []*Buffer{second}, w); err != nil {
		t.Fatal(err)
	}
	got := make([]byte, 8)
	for i, b := range []*Buffer{first, second} {
		var queued *submit.Error
		if err := d.CopyToHost(got, b, 0, nil); !errors.As(err, &queued) || !strings.Contains(err.Error(), "(700)") {
			t.Errorf("%d: what was not written: %v", i, err)
		}
	}
	if err := d.CopyToHost(got, before, 0, nil); err != nil {
		t.Errorf("what was written before: %v", err)
	}
}

// launches is Work of several.
type launches []*launched

func (l launches) Start(_ int, stream uint64) error { return nil }

func (l launches) Enqueue(ordinal int, stream uint64) (bool, error) {
	for _, w := range l {
		if _, err := w.Enqueue(ordinal, stream); err != nil {
			return true, err
		}
	}
	return true, nil
}

// TestQueuedFailureBeforeFirst makes a launch fail before the first launch of another function, which is not
// queued. That function reads the missing result, so it is not started.
func TestQueuedFailureBeforeFirst(t *testing.T) {
	d := queuedDevice(t, "always")
	f := functionOf(d, "mix", 5)
	b := alloc(t, d, 8, nil)
	if err := d.CopyFromHost(b, 0, word(1), nil); err != nil {
		t.Fatal(err)
	}
	if err := mix(d.main, f, b, 0, 0); err != nil { // the first launch bypasses the queue
		t.Fatal(err)
	}
	g := functionOf(d, "other", 6)
	var work launches
	for _, w := range []launched{{f: f, params: word(b.Addr())}, {f: g, params: word(b.Addr())}} {
		code := uint64(700)
		if w.f == g {
			code = 0
		}
		w.params = append(append(w.params, word(0)...), word(code)...)
		work = append(work, &w)
	}
	err := d.LaunchWork(nil, nil, []*Buffer{b}, work)
	var queued *submit.Error
	if !errors.As(err, &queued) || !strings.Contains(err.Error(), "(700)") {
		t.Errorf("a launch behind one that failed: %v", err)
	}
	if v := *at(b); v != 36 {
		t.Errorf("the word is %d: a launch behind one that failed was made", v)
	}
	if err := d.CopyToHost(make([]byte, 8), b, 0, nil); !errors.As(err, &queued) {
		t.Errorf("what was not written: %v", err)
	}
}

// releasing is the first launch of a function, which is not queued. It first releases the queued calls, whose
// failure the device has not seen by then.
type releasing struct {
	launched
	release func()
}

func (w *releasing) Enqueue(ordinal int, stream uint64) (bool, error) {
	w.release()
	return w.launched.Enqueue(ordinal, stream)
}

// TestQueuedFailureReachesBoundary: Synchronize returns a failure once, also one that a
// launch has returned: an array that is started on behalf of another drops it.
func TestQueuedFailureReachesBoundary(t *testing.T) {
	var queued *submit.Error
	for name, launch := range map[string]func(d *Device, f *Function, failed, other *Buffer, release func()) error{
		"of what was not written": func(d *Device, f *Function, failed, _ *Buffer, release func()) error {
			release()
			d.submission.queue.Flush()
			return mix(d.main, f, failed, 0, 0)
		},
		"beside the queue": func(d *Device, _ *Function, _, other *Buffer, release func()) error {
			g := functionOf(d, "other", 6)
			w := &releasing{launched{f: g, params: slices.Concat(word(other.Addr()), word(0), word(0))}, release}
			return d.LaunchWork(d.main, nil, []*Buffer{other}, w)
		},
	} {
		t.Run(name, func(t *testing.T) {
			d := queuedDevice(t, "always")
			f := functionOf(d, "mix", 5)
			failed, other := alloc(t, d, 8, nil), alloc(t, d, 8, nil)
			if err := mix(d.main, f, other, 0, 0); err != nil { // started at once: the first
				t.Fatal(err)
			}
			release := holdQueue(t, d.submission.queue)
			if err := mix(d.main, f, failed, 0, 700); err != nil {
				t.Fatal(err)
			}
			if err := launch(d, f, failed, other, release); !errors.As(err, &queued) {
				t.Fatalf("the launch: %v", err)
			}
			if err := d.Synchronize(context.Background()); !errors.As(err, &queued) || !strings.Contains(err.Error(), "(700)") {
				t.Errorf("Synchronize after a launch that returned the failure: %v", err)
			}
			if err := d.Synchronize(context.Background()); err != nil {
				t.Errorf("Synchronize again: %v", err)
			}
			if err := mix(d.main, f, alloc(t, d, 8, nil), 0, 701); err != nil {
				t.Fatal(err)
			}
			if err := d.Synchronize(context.Background()); !errors.As(err, &queued) || !strings.Contains(err.Error(), "(701)") {
				t.Errorf("Synchronize after another failure: %v", err)
			}
			if err := d.Synchronize(context.Background()); err != nil {
				t.Errorf("Synchronize once more: %v", err)
			}
		})
	}
}

// TestNewDeviceFails: a device that cannot be made leaves neither its queue nor its
// context.
func TestNewDeviceFails(t *testing.T) {
	t.Setenv("GPK_SUBMIT", "always")
	_, b := openDriver(t, testLibrary(t))
	if _, _, err := b.memory(); err != nil {
		t.Fatal(err)
	}
	t.Setenv("GPK_TEST_NO_STREAM", "1")
	if _, err := newDevice(h200(1), b, nil, &ranges{}, newCollector(), 0); err == nil {
		t.Fatal("a device without a stream")
	}
	if b.(*cudaBackend).calls != nil {
		t.Error("the queue is still there")
	}
	if _, _, err := b.memory(); err == nil || !strings.Contains(err.Error(), "(201)") {
		t.Errorf("the context is still there: %v", err)
	}
}

// TestQueuedRows checks that launches in close succession go through the queue by themselves, and launches between
// waits do not.
func TestQueuedRows(t *testing.T) {
	d := queuedDevice(t, "")
	q := d.submission.queue
	f := functionOf(d, "mix", 5)
	b := alloc(t, d, 8, nil)
	for range 200 {
		if err := mix(d.main, f, b, 0, 0); err != nil {
			t.Fatal(err)
		}
		if err := d.Synchronize(context.Background()); err != nil {
			t.Fatal(err)
		}
	}
	if n := q.Calls(); n != 0 {
		t.Errorf("%d of 200 launches between waits were queued", n)
	}
	// Launches are queued only while they follow each other quickly. A busy machine interrupts some
	// of the sequences, so try many.
	tries := 0
	for end := time.Now().Add(time.Minute); q.Calls() < 100 && time.Now().Before(end); tries++ {
		for range 5000 {
			if err := mix(d.main, f, b, 0, 0); err != nil {
				t.Fatal(err)
			}
		}
	}
	if n := q.Calls(); n < 100 {
		t.Errorf("%d launches were queued in %d times 5000 in a row", n, tries)
	}
	if err := d.Synchronize(context.Background()); err != nil {
		t.Fatal(err)
	}
}

// TestQueuedHandle checks that a stream whose handle is shared with other libraries does not use the queue.
func TestQueuedHandle(t *testing.T) {
	d := queuedDevice(t, "always")
	f := functionOf(d, "mix", 5)
	b := alloc(t, d, 8, nil)
	if err := d.CopyFromHost(b, 0, word(1), nil); err != nil {
		t.Fatal(err)
	}
	at := at(b)
	want := uint64(1)
	for i := range 5 {
		if err := mix(d.main, f, b, 300, 0); err != nil {
			t.Fatal(err)
		}
		want = want*31 + 5
		if i == 1 {
			d.main.Handle()
		}
		if i >= 1 {
			if got := *at; got != want { // past the device, as another library would
				t.Errorf("launch %d: %d, want %d", i, got, want)
			}
		}
	}
}
