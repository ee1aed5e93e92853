package array

import (
	"context"
	"errors"
	"fmt"
	"runtime"
	"slices"
	"strings"
	"sync"
	"testing"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// captured fails the test if f cannot be recorded.
func captured(t *testing.T, in []*Array, f func(in []*Array) []*Array) *Graph {
	t.Helper()
	g, err := Capture(in, f)
	if err != nil {
		t.Fatal(err)
	}
	return g
}

func replay(t *testing.T, g *Graph) {
	t.Helper()
	if err := g.Replay(); err != nil {
		t.Fatal(err)
	}
}

// TestCapturePending checks that operations that are pending when a recording ends are not
// started later, and that those pending before it start outside of the recording.
func TestCapturePending(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	x := FromSlice([]float32{1, 2}).Mul(10)
	var inner, kept *Array
	g := captured(t, []*Array{x}, func(in []*Array) []*Array {
		inner = in[0].Add(1)
		kept = in[0].Sub(1)
		if err := Eval(kept); err != nil {
			t.Error(err)
		}
		return []*Array{in[0].Mul(2)}
	})
	out := g.Outputs()[0]
	if _, err := ToSlice[float32](out); !errors.Is(err, expr.ErrUnsupported) || !strings.Contains(err.Error(), "before its first Replay") {
		t.Error(err)
	}
	replay(t, g)
	wants(t, out, 20, 40)
	for name, a := range map[string]*Array{"pending": inner, "stored": kept} {
		if err := Eval(a.Add(1)); !errors.Is(err, expr.ErrUnsupported) {
			t.Errorf("%s array of the sequence used after it: %v", name, err)
		}
	}
	// A pending reader of the output keeps the old elements.
	reader := out.Add(0)
	must(t, x.AddInPlace(1))
	replay(t, g)
	wants(t, reader, 20, 40)
	wants(t, out, 22, 42)
	// So is one that was computed into another array before the Replay.
	sum, dst := out.Add(1), FromSlice([]float32{0, 0})
	must(t, Into(dst, sum))
	must(t, x.AddInPlace(1))
	replay(t, g)
	wants(t, sum, 23, 43)
	wants(t, dst, 23, 43)
	wants(t, out, 24, 44)
}

// TestCaptureReduction checks that a recorded reduction keeps its own state, whichever
// reductions follow.
func TestCaptureReduction(t *testing.T) {
	x := FromSlice([]float32{1, 2, 3})
	g := captured(t, []*Array{x}, func(in []*Array) []*Array {
		return []*Array{in[0].Sum(), in[0].Max(), in[0].ArgMax(0)}
	})
	if _, err := Item[float32](Ones(dtype.Float32, 5).Sum()); err != nil {
		t.Fatal(err)
	}
	replay(t, g)
	out := g.Outputs()
	wants(t, out[0], 6)
	wants(t, out[1], 3)
	if at, err := Item[int64](out[2]); err != nil || at != 2 {
		t.Errorf("%d, %v", at, err)
	}
}

// TestCaptureWrites checks that an array that the recorded function writes is written by
// each Replay, and is an output.
func TestCaptureWrites(t *testing.T) {
	x, total, constant := FromSlice([]float32{1, 2}), FromSlice([]float32{0, 0}), FromSlice([]float32{5, 7})
	g := captured(t, []*Array{x}, func(in []*Array) []*Array {
		must(t, total.AddInPlace(in[0]))
		must(t, in[0].Slice(0, 1, 2).CopyFrom(constant.Slice(0, 0, 1)))
		must(t, in[0].MulInPlace(2))
		return []*Array{total, in[0]}
	})
	wants(t, total, 0, 0)
	wants(t, x, 1, 2)
	replay(t, g)
	wants(t, total, 1, 2)
	wants(t, x, 2, 10)
	reader := total.Add(0)
	replay(t, g)
	wants(t, reader, 1, 2)
	wants(t, total, 3, 12)
	wants(t, x, 4, 10)
	if outs := g.Outputs(); len(outs) != 2 {
		t.Error(len(outs))
	} else {
		wants(t, outs[0], 3, 12)
		wants(t, outs[1], 4, 10)
	}
	// Nothing to compute and nothing to return.
	replay(t, captured(t, nil, func([]*Array) []*Array { return nil }))
}

// TestCaptureErrors checks that the error of an operation that cannot be recorded names the
// operation.
func TestCaptureErrors(t *testing.T) {
	x, y := FromSlice([]float32{1, 2}), FromSlice([]float32{1, 2, 3})
	far := onFake(t, 1)[0]
	elsewhere := far.Device()
	held := func(f func(a *Array)) func([]*Array) []*Array {
		return func(in []*Array) []*Array {
			f(in[0])
			return []*Array{in[0].Add(1)}
		}
	}
	for name, c := range map[string]struct {
		f    func(in []*Array) []*Array
		want error
		text string
	}{
		"ToSlice":       {held(func(a *Array) { _, _ = ToSlice[float32](a.Mul(2)) }), expr.ErrUnsupported, "ToSlice"},
		"Item":          {held(func(a *Array) { _, _ = Item[float32](a.Sum()) }), expr.ErrUnsupported, "Item"},
		"FromSliceInto": {held(func(a *Array) { _ = FromSliceInto(a, []float32{3, 4}) }), expr.ErrUnsupported, "FromSliceInto"},
		"ToSliceInto":   {held(func(a *Array) { _ = ToSliceInto(make([]float32, 2), a.Mul(2)) }), expr.ErrUnsupported, "ToSliceInto"},
		"To":            {held(func(a *Array) { _ = a.To(elsewhere) }), expr.ErrUnsupported, "To("},
		"Into":          {held(func(a *Array) { _ = Into(far.Slice(0, 0, 2), a.Add(1)) }), expr.ErrUnsupported, "Into("},
		"Into, of far":  {held(func(a *Array) { _ = Into(a, far.Slice(0, 0, 2)) }), expr.ErrUnsupported, "Into("},
		"String":        {held(func(a *Array) { _ = strings.TrimSpace(fmt.Sprint(a)) }), expr.ErrUnsupported, ""},
		"Capture": {held(func(a *Array) {
			_, _ = Capture([]*Array{a}, func(in []*Array) []*Array { return in })
		}), expr.ErrUnsupported, "a capture within a capture"},
		"an error":    {func(in []*Array) []*Array { return []*Array{in[0], in[0].Add(y)} }, nil, "output 1"},
		"nil":         {func([]*Array) []*Array { return []*Array{nil} }, nil, "output 0"},
		"a stranger":  {func([]*Array) []*Array { return []*Array{y.Add(1)} }, expr.ErrUnsupported, "output 0 is not computed from"},
		"no function": {nil, expr.ErrUnsupported, ""},
		"outside": {held(func(a *Array) {
			b := a.Mul(2)
			_ = Eval(b)
			outside(t, Eval(b.On(y.Stream()).Add(1)))
		}), nil, ""},
		"a bad reader": {func(in []*Array) []*Array { return []*Array{in[0].MatMul(y)} }, nil, "MatMul"},
	} {
		_, err := Capture([]*Array{x}, c.f)
		if name == "outside" { // its own error, not the capture's
			if err != nil {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		var oe *OpError
		if !errors.As(err, &oe) || c.want != nil && !errors.Is(err, c.want) || !strings.Contains(err.Error(), c.text) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if _, err := Capture([]*Array{x, x.Add(y)}, func(in []*Array) []*Array { return in }); err == nil {
		t.Error("an input that carries an error")
	}
	func() {
		defer func() {
			if recover() == nil {
				t.Error("f's panic was swallowed")
			}
		}()
		_, _ = Capture([]*Array{x}, func([]*Array) []*Array { panic("f") })
	}()
	if n := recorded.Load(); n != 0 {
		t.Errorf("%d captures are still under way", n)
	}
	wants(t, x, 1, 2)
}

// outside wants the error of work that reads a sequence's memory from outside.
func outside(t *testing.T, err error) {
	if !errors.Is(err, expr.ErrUnsupported) {
		t.Errorf("a captured array read on another stream: %v", err)
	}
}

// TestCaptureFree checks that using freed arrays and freed graphs is an error, and that no
// memory remains in use.
func TestCaptureFree(t *testing.T) {
	dev := device.Default()
	bytes := func() int64 { return dev.Pool().InUse }
	runtime.GC()
	before := bytes()
	x := Full(dtype.Float32, 1, 1000)
	if err := Eval(x); err != nil {
		t.Fatal(err)
	}
	g := captured(t, []*Array{x}, func(in []*Array) []*Array {
		a := in[0].Add(1)
		b := a.Softmax(0)
		c := b.Mul(a.BroadcastTo(3, 1000))
		out := []*Array{c.Sum(0), c}
		if err := Eval(out...); err != nil {
			t.Error(err)
		}
		a.Free()
		b.Free()
		return out
	})
	for range 3 {
		replay(t, g)
	}
	if err := Synchronize(context.Background()); err != nil {
		t.Fatal(err)
	}
	outs := g.Outputs()
	want, err := ToSlice[float32](x.Add(1).Softmax(0).Mul(6))
	if err != nil {
		t.Fatal(err)
	}
	got, err := ToSlice[float32](outs[0])
	if err != nil || len(got) != len(want) || got[7] < want[7]*0.99999 || got[7] > want[7]*1.00001 {
		t.Errorf("%v, want %v, %v", got[7], want[7], err)
	}
	g.Free()
	g.Free()
	if err := g.Replay(); !errors.Is(err, device.ErrFreed) {
		t.Error(err)
	}
	if after, err := ToSlice[float32](outs[0]); err != nil || !slices.Equal(after, got) {
		t.Errorf("the outputs did not outlive the graph: %v", err)
	}
	g2 := captured(t, []*Array{x}, func(in []*Array) []*Array { return []*Array{in[0].Add(1)} })
	for _, a := range append(outs, x) {
		a.Free()
	}
	if err := g2.Replay(); !errors.Is(err, device.ErrFreed) {
		t.Error(err)
	}
	g2.Outputs()[0].Free()
	g2.Free()
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) { // what the test dropped on its way
		runtime.GC()
		if bytes() <= before {
			break
		}
	}
	if now := bytes(); now > before {
		t.Errorf("%d bytes stayed", now-before)
	}
}

// TestCaptureGoroutines checks that other goroutines can work on the same arrays, and
// replay, during a capture.
func TestCaptureGoroutines(t *testing.T) {
	x := Full(dtype.Float32, 3, 64)
	var group sync.WaitGroup
	stop := make(chan struct{})
	group.Go(func() {
		for {
			select {
			case <-stop:
				return
			default:
			}
			if got, err := Item[float32](x.Mul(2).Sum()); err != nil || got != 384 {
				t.Errorf("beside a capture: %v, %v", got, err)
				return
			}
		}
	})
	for range 20 {
		g := captured(t, []*Array{x}, func(in []*Array) []*Array { return []*Array{in[0].Add(1).Sum()} })
		var replays sync.WaitGroup
		for range 3 {
			replays.Go(func() {
				if err := g.Replay(); err != nil {
					t.Error(err)
				}
			})
		}
		replays.Wait()
		if got, err := Item[float32](g.Outputs()[0]); err != nil || got != 256 {
			t.Errorf("%v, %v", got, err)
		}
		g.Free()
	}
	close(stop)
	group.Wait()
}

// TestCaptureMeets checks that an operation on an array of the sequence and one from outside
// belongs to the sequence, in either order of the operands.
func TestCaptureMeets(t *testing.T) {
	c, m := FromSlice([]float32{10, 20}), FromSlice([]float32{1, 0, 0, 1}, 2, 2)
	x := FromSlice([]float32{1, 2})
	g := captured(t, []*Array{x}, func(in []*Array) []*Array {
		return []*Array{
			c.Sub(in[0]), Binary(expr.Sub, 1, in[0]), where(c.Gt(0), c, in[0].Add(1)), m.MatMul(in[0]), Concat(0, c, in[0]),
			c.Add(1).Mul(in[0].Add(0)),
		}
	})
	for round := range 3 {
		k := float32(round)
		must(t, x.AddInPlace(1))
		must(t, c.MulInPlace(2))
		replay(t, g)
		a, b := 2+k, 3+k
		p, q := 10*float32(int(2)<<round), 20*float32(int(2)<<round)
		outs := g.Outputs()
		wants(t, outs[0], p-a, q-b)
		wants(t, outs[1], 1-a, 1-b)
		wants(t, outs[2], p, q)
		wants(t, outs[3], a, b)
		wants(t, outs[4], p, q, a, b)
		wants(t, outs[5], 11*a, 21*b) // c.Add(1) is a constant
	}
	g.Free()
}

func TestReplayOfHealedOutput(t *testing.T) {
	x := FromSlice([]float32{1, 2, 3})
	g, err := Capture([]*Array{x}, func(in []*Array) []*Array { return []*Array{in[0].Add(1)} })
	if err != nil {
		t.Fatal(err)
	}
	defer g.Free()
	out := g.Outputs()[0]
	if err := Into(out, FromSlice([]float32{7, 8, 9})); err != nil {
		t.Fatal(err)
	}
	x.Free()
	if err := g.Replay(); !errors.Is(err, device.ErrFreed) {
		t.Fatalf("Replay with a freed input: %v", err)
	}
	got, err := ToSlice[float32](out.Add(5))
	if err != nil || !slices.Equal(got, []float32{12, 13, 14}) {
		t.Errorf("what was written before a Replay that failed: %v, %v", got, err)
	}
}

func TestCaptureOfConstantFirst(t *testing.T) {
	x, c := FromSlice([]float32{1, 2, 3}), FromSlice([]float32{10, 20, 30})
	at := FromSlice([]int64{2, 0})
	takes := x.on().Kind() == device.CPU // a GPU refuses Take in a captured sequence: it cannot check the indices before
	capture := func(take bool) (*Graph, error) {
		return Capture([]*Array{x, at}, func(in []*Array) []*Array {
			written := in[0].Add(1)
			must(t, written.AddInPlace(1))
			outs := []*Array{Stack(0, c, in[0]), Norm(expr.RMSNorm, c, in[0], nil, 0), written}
			if take {
				outs = append(outs, Take(c, in[1], 0))
			}
			return outs
		})
	}
	if !takes {
		if _, err := capture(true); !errors.Is(err, expr.ErrUnsupported) {
			t.Errorf("Take in a captured sequence: %v", err)
		}
	}
	g, err := capture(takes)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Free()
	outs := g.Outputs()
	for i, a := range outs {
		if _, err := ToSlice[float32](a); !errors.Is(err, expr.ErrUnsupported) {
			t.Errorf("output %d before the first Replay: %v", i, err)
		}
	}
	for _, v := range []float32{1, 5} {
		if err := FromSliceInto(x, []float32{v, v, v}); err != nil {
			t.Fatal(err)
		}
		if err := FromSliceInto(at, []int64{int64(v) % 3, 1}); err != nil {
			t.Fatal(err)
		}
		if err := g.Replay(); err != nil {
			t.Fatal(err)
		}
		norm, err := ToSlice[float32](Norm(expr.RMSNorm, c, x, nil, 0))
		if err != nil {
			t.Fatal(err)
		}
		want := [][]float32{{10, 20, 30, v, v, v}, norm, {v + 2, v + 2, v + 2}, {[]float32{10, 20, 30}[int(v)%3], 20}}
		for i, want := range want[:len(outs)] {
			got, err := ToSlice[float32](outs[i].Reshape(-1))
			if err != nil || !slices.Equal(got, want) {
				t.Errorf("output %d for %v: %v, want %v, %v", i, v, got, want, err)
			}
		}
	}
}

// TestReplayOfBadIndices checks that an index outside its axis is the error of the Replay
// that reads it. This Replay writes nothing, also not by later operations of the sequence;
// the next one works again.
func TestReplayOfBadIndices(t *testing.T) {
	host, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	defer device.SetDefault(device.SetDefault(host))
	x, ix, total := FromSlice([]float32{1, 2, 3}), FromSlice([]int32{2, 0}), FromSlice([]float32{100, 100})
	g := captured(t, []*Array{x, ix}, func(in []*Array) []*Array {
		r := Take(in[0], in[1], 0).Mul(2)
		must(t, total.AddInPlace(r))
		return []*Array{r}
	})
	replay(t, g)
	wants(t, g.Outputs()[0], 6, 2)
	wants(t, total, 106, 102)
	if err := FromSliceInto(ix, []int32{1, 7}); err != nil {
		t.Fatal(err)
	}
	var oe *OpError
	if err := g.Replay(); !errors.Is(err, layout.ErrShape) || !errors.As(err, &oe) || oe.Op != "Take" || !strings.Contains(err.Error(), "index 7 ") {
		t.Errorf("index 7 of 3: %v", err)
	}
	wants(t, g.Outputs()[0], 6, 2)
	wants(t, total, 106, 102)
	if err := FromSliceInto(ix, []int32{1, -1}); err != nil {
		t.Fatal(err)
	}
	replay(t, g)
	wants(t, g.Outputs()[0], 4, 6)
	wants(t, total, 110, 108)
}

// TestIntermediateFreedBehindCapture checks that the copies that a sequence saves of its own
// intermediate results belong to the graph, even if the intermediate results are freed.
func TestIntermediateFreedBehindCapture(t *testing.T) {
	x := FromSlice([]float32{1, 2, 3, 4}, 4)
	var leaked *Array
	g, err := Capture([]*Array{x}, func(in []*Array) []*Array {
		leaked = in[0].Add(10) // pending: the write saves what it reads
		if err := in[0].Slice(0, 0, 2).AddInPlace(1); err != nil {
			t.Error(err)
		}
		return []*Array{in[0].Mul(2)}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Free()
	leaked.Free()
	for i := range 3 {
		if err := g.Replay(); err != nil {
			t.Fatal(err)
		}
		first := float32(2 + i)
		for what, c := range map[string]struct {
			a    *Array
			want []float32
		}{
			"x":      {x, []float32{first, first + 1, 3, 4}},
			"output": {g.Outputs()[0], []float32{2 * first, 2 * (first + 1), 6, 8}},
		} {
			got, err := ToSlice[float32](c.a)
			if err != nil || !slices.Equal(got, c.want) {
				t.Errorf("replay %d: %s is %v, %v; want %v", i, what, got, err, c.want)
			}
		}
	}
}
