package array

import (
	"errors"
	"fmt"
	"runtime"
	"strings"
	"sync/atomic"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// probe returns a pending copy of x on whose computation f is called first.
func probe(x *Array, f func() error) *Array {
	o := NewOperation("Probe", []*Array{x})
	return o.Result(x.dt, x.lay.Shape, "", []*Array{x}, func(s *device.Stream, dst device.View, reads []device.View) error {
		if err := f(); err != nil {
			return err
		}
		return ops.Concat(s, dst, 0, reads)
	})
}

// TestFreeDuringWrite checks that Free returns the memory that a write has put into the storage while Free
// computed a reader of the old elements.
func TestFreeDuringWrite(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	const n = 1 << 16
	dev := device.Default()
	deviceapi.Collect(dev)
	before := dev.Pool().InUse
	x := FromSlice(make([]float32, n))
	data := make([]float32, n)
	for i := range data {
		data[i] = 7
	}
	y := probe(x, func() error { return FromSliceInto(x, data) })
	x.Free()
	if err := Eval(x); !errors.Is(err, device.ErrFreed) {
		t.Errorf("an array that was freed: %v", err)
	}
	checkInvariants(t, y)
	if held := dev.Pool().InUse - before; held > 4*n+4096 {
		t.Errorf("%d bytes are in use, of which the reader has %d", held, 4*n)
	}
	wants(t, y.Slice(0, 0, 2), 0, 0)
	runtime.KeepAlive(x)
	y.Free()
}

// TestCloseDuringFailure: a reader in a newer scope that runs while Close waits for it, and fails for lack of
// memory, is computed by Close or stays pending: a later try succeeds.
func TestCloseDuringFailure(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	dev := device.Default()
	for name, fails := range map[string]int{"computed by Close": 1, "stays pending": 2} {
		t.Run(name, func(t *testing.T) {
			s, newer := NewScope(), NewScope()
			x := s.Own(FromSlice([]float32{3, 4}))
			begun, fail := make(chan bool), make(chan bool)
			runs := 0
			y := newer.Own(probe(newer.In(x), func() error {
				if runs++; runs == 1 {
					begun <- true
					<-fail
				}
				if runs <= fails {
					return fmt.Errorf("%w: a test", device.ErrOutOfMemory)
				}
				return nil
			}))
			first, closed := make(chan error), make(chan error)
			go func() { first <- Eval(y) }()
			<-begun
			go func() { closed <- s.Close() }()
			for !s.isClosed() {
				runtime.Gosched()
			}
			for range 1000 { // most often until Close waits; with any other order the result is the same
				runtime.Gosched()
			}
			fail <- true
			if err := <-first; !errors.Is(err, device.ErrOutOfMemory) {
				t.Errorf("the reader: %v", err)
			}
			must(t, <-closed)
			checkInvariants(t, y)
			wants(t, y, 3, 4)
			if runs != fails+1 {
				t.Errorf("the reader ran %d times, want %d", runs, fails+1)
			}
			before := dev.Pool().InUse
			must(t, newer.Close())
			if after := dev.Pool().InUse; after >= before {
				t.Errorf("%d bytes are in use after Close, %d before", after, before)
			}
			runtime.KeepAlive(x)
		})
	}
}

// TestFreesWaiting: calls that free arrays start pending readers once nothing else reads the memory, and each
// reader once if there is no memory for it. They do not wake each other to try again.
func TestFreesWaiting(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	var x, y [3]*Array
	var runs [3]atomic.Int64
	var fails atomic.Bool
	fails.Store(true)
	scope := NewScope()
	newer := NewScope()
	var release [3]func()
	for i := range x {
		x[i] = FromSlice([]float32{3, 4})
		read := x[i]
		if i == 2 {
			scope.Own(x[i])
			read = newer.In(x[i])
		}
		y[i] = probe(read, func() error {
			runs[i].Add(1)
			if fails.Load() {
				return fmt.Errorf("%w: a test", device.ErrOutOfMemory)
			}
			return nil
		})
		var err error
		if _, release[i], err = x[i].acquire(); err != nil {
			t.Fatal(err)
		}
	}
	done := make(chan error)
	for _, f := range []func() error{func() error { x[0].Free(); return nil }, func() error { x[1].Free(); return nil }, scope.Close} {
		go func() { done <- f() }()
	}
	for range 1000 { // most often until all wait; with any other order the result is the same
		runtime.Gosched()
	}
	for i := range release {
		release[i]()
	}
	for range x {
		must(t, <-done)
	}
	for i := range y {
		if n := runs[i].Load(); n != 1 {
			t.Errorf("reader %d ran %d times, want once", i, n)
		}
	}
	fails.Store(false)
	for i := range y {
		wants(t, y[i], 3, 4)
		checkInvariants(t, y[i])
	}
	must(t, newer.Close())
	runtime.KeepAlive(x)
}

// TestFreedNamed: an intermediate result whose operand was freed after the last pending reader of older
// elements names the line of Free.
func TestFreedNamed(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	forgetRereads()
	const n = 1 << 20
	x := FromSlice(make([]float32, n))
	y := x.Add(1)
	must(t, x.Slice(0, 0, n/2).AddInPlace(1))
	u := x.Add(1)
	must(t, Eval(u.Sum()))
	restore := limited(t, 1)
	x.Free()
	restore()
	wants(t, y.Slice(0, 0, 1), 1)
	checkInvariants(t, y)
	if err := Eval(u); !errors.Is(err, device.ErrFreed) || !strings.Contains(err.Error(), "Free at ") {
		t.Errorf("%v: not %v, and Free", err, device.ErrFreed)
	}
}

// TestFreedOutput: an output that another goroutine frees when its capture ends is ErrFreed.
func TestFreedOutput(t *testing.T) {
	s := device.Default().DefaultStream()
	r := &recording{sched: schedulerOf(s.Device()), stream: s, cur: map[*storage]*contents{}}
	a := newArray(newNode(call{"Probe", here()}).out, layout.Dense([]int{2}), dtype.Float32, s)
	a.st.rec = r
	a.Free()
	if g := r.graph(nil, []*Array{a}, s); len(g.written) != 0 || !errors.Is(g.outs[0].Err(), device.ErrFreed) {
		t.Errorf("%d outputs are written, %v", len(g.written), g.outs[0].Err())
	}
}
