package gpktest

import (
	"context"
	"errors"
	"fmt"
	"testing"
	"time"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// testOverlap checks that a GPU runs copies and kernels of different streams at the same
// time, as events show, and that no stream waits because two of them use the same array.
// On a busy machine, the work to overlap may be submitted after the kernel's end. Then
// the test repeats with a longer kernel, until only a wait explains the order.
func testOverlap(t *testing.T, s *suite) {
	if s.dev.Kind() != device.CUDA {
		t.Skip("the CPU's streams do everything at once")
	}
	streams, events := make([]*device.Stream, 2), make([]*device.Event, 5)
	var err error
	for i := range streams {
		if streams[i], err = s.dev.NewStream(); err != nil {
			t.Fatal(err)
		}
		defer streams[i].Close()
	}
	for i := range events {
		if events[i], err = s.dev.NewEvent(); err != nil {
			t.Fatal(err)
		}
	}
	spin := func(on *device.Stream, a *gpk.Array, micros int64) {
		buf, err := a.Buffer()
		if err == nil {
			err = s.dev.Launch(on, nil, []*device.Buffer{buf}, func(ordinal int, stream uint64) error {
				return s.dev.Library().Spin(ordinal, stream, micros)
			})
		}
		if err != nil {
			t.Fatal(err)
		}
	}
	elapsed := func(to, since int) time.Duration {
		d, err := events[to].Elapsed(events[since])
		if err != nil {
			t.Fatal(err)
		}
		return d
	}
	// beside calls f with kernels of up to 40 seconds, until f reports that its work
	// overlapped the kernel.
	beside := func(f func(busy time.Duration) (ok bool, seen string)) {
		for busy := 40 * time.Millisecond; ; busy *= 10 {
			ok, seen := f(busy)
			t.Logf("beside a kernel of %v: %s", busy, seen)
			if ok {
				return
			}
			if busy > 10*time.Second {
				t.Errorf("nothing was done beside a kernel of %v: %s", busy, seen)
				return
			}
		}
	}
	const n = 64 << 20
	host, free, err := gpk.Pinned[uint8](n)
	if err != nil {
		t.Fatal(err)
	}
	defer free()
	for i := range host {
		host[i] = uint8(i * 7)
	}
	a, b := gpk.Ones(gpk.Float32, 64), gpk.Zeros(gpk.Uint8, n).On(streams[1])
	if err := errors.Join(gpk.Eval(a, b), gpk.Synchronize(context.Background())); err != nil {
		t.Fatal(err)
	}
	// A kernel on one stream, a copy to the device and a copy from it on another.
	beside(func(busy time.Duration) (bool, string) {
		if err := streams[0].Record(events[0]); err != nil {
			t.Fatal(err)
		}
		spin(streams[0], a, busy.Microseconds())
		if err := errors.Join(streams[0].Record(events[1]), streams[1].Record(events[2]), gpk.FromSliceInto(b, host), streams[1].Record(events[3]),
			gpk.ToSliceInto(host, b), streams[1].Record(events[4])); err != nil {
			t.Fatal(err)
		}
		kernel, in, out := elapsed(1, 0), elapsed(3, 0), elapsed(4, 0)
		if kernel < busy/2 {
			t.Errorf("a kernel of %v took %v", busy, kernel)
		}
		return in < kernel && out < kernel, fmt.Sprintf("64 MiB were copied in %v and out %v after its start, and its end was %v after it", in, out, kernel)
	})
	for i, v := range host {
		if v != uint8(i*7) {
			t.Fatalf("byte %d is %d", i, v)
		}
	}
	// a is written on one stream until the kernel's end, and read on the other.
	var c *gpk.Array
	beside(func(busy time.Duration) (bool, string) {
		begun := time.Now()
		spin(streams[0], a, busy.Microseconds())
		c = a.On(streams[1]).Add(1)
		if err := errors.Join(gpk.Eval(c), streams[0].Record(events[0]), streams[1].Record(events[1])); err != nil {
			t.Fatal(err)
		}
		took := time.Since(begun)
		if late := elapsed(1, 0); late < 0 {
			t.Errorf("the reader ended %v before the writer", -late)
		}
		return took < busy/2, fmt.Sprintf("meeting another stream's array held the program up for %v", took)
	})
	if v := read(t, c).values; v[63] != 2 {
		t.Error(v[63])
	}
}
