package gpktest

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"runtime"
	"slices"
	"sync"
	"testing"
	"time"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// testGraphs records sequences and replays them on inputs that change in between. The
// results have the same bits as the operations started one by one.
func testGraphs(t *testing.T, s *suite) {
	for _, dt := range []gpk.DType{gpk.Float32, gpk.BFloat16} {
		t.Run(dt.String(), func(t *testing.T) { s.graphOfLayers(t, dt) })
	}
	t.Run("complex64", s.graphOfProducts)
	t.Run("order", s.graphOrder)
	t.Run("refusals", s.graphRefusals)
	t.Run("memory", s.graphMemory)
}

// bitsEqual fails the test if two arrays differ in a bit.
func bitsEqual(t *testing.T, what string, got, want *gpk.Array) {
	t.Helper()
	g, w := read(t, got), read(t, want)
	if !slices.Equal(g.shape, w.shape) || g.dt != w.dt {
		t.Fatalf("%s: %v %v, want %v %v", what, g.shape, g.dt, w.shape, w.dt)
	}
	for i, v := range w.values {
		if g.values[i] != v && !(cmplx.IsNaN(v) && cmplx.IsNaN(g.values[i])) {
			t.Fatalf("%s: element %d is %v, want %v", what, i, g.values[i], v)
		}
	}
}

// graphOfLayers: products with a packed weight and a bias, chains, lines and
// reductions with their workspaces.
func (s *suite) graphOfLayers(t *testing.T, dt gpk.DType) {
	x := s.random(dt, 37, 65).array()
	w, b := gpk.Pack(s.random(dt, 129, 65).array()), s.random(dt, 129).array()
	v := s.random(dt, 129, 31).array()
	layers := func(in []*gpk.Array) []*gpk.Array {
		h := gpk.LinearBiasGELU(in[0], w, b)
		y := h.MatMul(v).Mul(0.25).Add(1).Softmax(-1)
		return []*gpk.Array{y, h.Sum(0), y.Max(), gpk.LayerNorm(h, nil, nil, 1e-5).T()}
	}
	g, err := gpk.Capture([]*gpk.Array{x}, layers)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Free()
	for round := range 4 {
		if err := gpk.Into(x, s.random(dt, 37, 65).array()); err != nil {
			t.Fatal(err)
		}
		if round == 2 { // the second Replay of two counts
			if err := g.Replay(); err != nil {
				t.Fatal(err)
			}
			noError(t, x.MulInPlace(0.5))
		}
		if err := g.Replay(); err != nil {
			t.Fatal(err)
		}
		for i, want := range layers([]*gpk.Array{x}) {
			bitsEqual(t, fmt.Sprintf("round %d, output %d", round, i), g.Outputs()[i], want)
		}
	}
}

// graphOfProducts: products with prepare passes, workspaces and several kernels.
func (s *suite) graphOfProducts(t *testing.T) {
	a, b := s.random(gpk.Complex64, 130, 257).array(), s.random(gpk.Float32, 257, 70).array()
	f := func(in []*gpk.Array) []*gpk.Array {
		return []*gpk.Array{
			in[0].MatMul(in[0].Conj().T()), in[1].MatMul(in[1].T(), gpk.FullPrecision), in[1].T().MatMul(in[1], gpk.TF32),
			gpk.Concat(0, in[1], in[1].Mul(2)),
		}
	}
	in := []*gpk.Array{a, b}
	g, err := gpk.Capture(in, f)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Free()
	for round := range 3 {
		noError(t, a.MulInPlace(complex(0, 1.5)))
		noError(t, b.AddInPlace(0.25))
		if err := g.Replay(); err != nil {
			t.Fatal(err)
		}
		for i, want := range f(in) {
			bitsEqual(t, fmt.Sprintf("round %d, output %d", round, i), g.Outputs()[i], want)
		}
	}
}

// graphOrder: writes to inputs, replays and reads of outputs follow each other
// without a wait, on three streams.
func (s *suite) graphOrder(t *testing.T) {
	s1, err := s.dev.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer s1.Close()
	const n, rounds = 1 << 20, 50
	x, total := gpk.Zeros(gpk.Float32, n), gpk.Zeros(gpk.Float32, n)
	if err := gpk.Eval(x, total); err != nil {
		t.Fatal(err)
	}
	g, err := gpk.Capture([]*gpk.Array{x.On(s1)}, func(in []*gpk.Array) []*gpk.Array {
		y := in[0].Add(1)
		for range 5 {
			y = y.Mul(2)
		}
		noError(t, total.AddInPlace(in[0]))
		return []*gpk.Array{y}
	})
	if err != nil {
		t.Fatal(err)
	}
	defer g.Free()
	want := float32(0)
	var sums []*gpk.Array
	for i := range rounds {
		noError(t, x.AddInPlace(1)) // on the default stream
		if err := g.Replay(); err != nil {
			t.Fatal(err)
		}
		sums = append(sums, g.Outputs()[0].Slice(0, n-4, n).Clone())
		if err := gpk.Eval(sums[i]); err != nil {
			t.Fatal(err)
		}
		want += float32(i + 1)
	}
	for i, a := range sums {
		for _, v := range read(t, a).values {
			if real(v) != float64(32*(i+2)) {
				t.Fatalf("round %d: %v, want %v", i, v, 32*(i+2))
			}
		}
	}
	for i, v := range read(t, total).values {
		if real(v) != float64(want) {
			t.Fatalf("element %d of the total: %v, want %v", i, v, want)
		}
	}
	// Others use the inputs meanwhile; they are not recorded.
	var group sync.WaitGroup
	group.Go(func() {
		for range 50 {
			if v, err := gpk.Item[float32](x.Slice(0, 0, 8).Sum()); err != nil || v != 8*rounds {
				t.Errorf("beside a capture: %v, %v", v, err)
				return
			}
		}
	})
	for range 5 {
		h, err := gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array { return []*gpk.Array{in[0].Sub(1).Max()} })
		if err == nil {
			err = h.Replay()
		}
		if err != nil {
			t.Fatal(err)
		}
		if v, err := gpk.Item[float32](h.Outputs()[0]); err != nil || v != rounds-1 {
			t.Errorf("%v, %v", v, err)
		}
		h.Free()
	}
	group.Wait()
}

func (s *suite) graphRefusals(t *testing.T) {
	x := gpk.Ones(gpk.Float32, 4)
	refused := map[string]func(a *gpk.Array){
		"ToSlice":       func(a *gpk.Array) { _, _ = gpk.ToSlice[float32](a.Add(1)) },
		"ToSliceInto":   func(a *gpk.Array) { _ = gpk.ToSliceInto(make([]float32, 4), a) },
		"Item":          func(a *gpk.Array) { _, _ = gpk.Item[float32](a.Sum()) },
		"FromSliceInto": func(a *gpk.Array) { _ = gpk.FromSliceInto(a, make([]float32, 4)) },
		"Capture": func(a *gpk.Array) {
			_, _ = gpk.Capture([]*gpk.Array{a}, func(in []*gpk.Array) []*gpk.Array { return in })
		},
	}
	if s.dev.Kind() == device.CUDA {
		host := devicetest.CPU(t)
		there := gpk.Ones(gpk.Float32, 4).To(host)
		refused["To"] = func(a *gpk.Array) { _ = a.Mul(2).To(host) }
		refused["Into"] = func(a *gpk.Array) { _ = gpk.Into(there, a.Mul(2)) }
	}
	for what, f := range refused {
		_, err := gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array {
			f(in[0])
			return []*gpk.Array{in[0].Add(1)}
		})
		var oe *gpk.OpError
		if !errors.Is(err, gpk.ErrUnsupported) || !errors.As(err, &oe) || oe.Op != what {
			t.Errorf("%s while a sequence is recorded: %v", what, err)
		}
	}
	if _, err := gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array { return []*gpk.Array{in[0].Add(gpk.Ones(gpk.Float32, 3))} }); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("a mistake of the function's: %v", err)
	}
	g, err := gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array { return []*gpk.Array{in[0].Add(1)} })
	if err != nil {
		t.Fatal(err)
	}
	if _, err := gpk.ToSlice[float32](g.Outputs()[0]); !errors.Is(err, gpk.ErrUnsupported) {
		t.Errorf("an output before the first Replay: %v", err)
	}
	x.Free()
	if err := g.Replay(); !errors.Is(err, gpk.ErrFreed) {
		t.Errorf("an input that was freed: %v", err)
	}
	g.Free()
	if err := g.Replay(); !errors.Is(err, gpk.ErrFreed) {
		t.Errorf("a graph that was freed: %v", err)
	}
}

// graphMemory checks that no memory remains in use after a graph is freed or dropped.
func (s *suite) graphMemory(t *testing.T) {
	inUse := func() int64 { runtime.GC(); return s.dev.Pool().InUse }
	x := gpk.Full(gpk.Float32, 1, 1<<20)
	if err := gpk.Eval(x); err != nil {
		t.Fatal(err)
	}
	graph := func() *gpk.Graph {
		g, err := gpk.Capture([]*gpk.Array{x}, func(in []*gpk.Array) []*gpk.Array {
			y := in[0].Add(1)
			if err := gpk.Eval(y); err != nil {
				t.Error(err)
			}
			return []*gpk.Array{y.Mul(in[0]).Sum(), y}
		})
		if err == nil {
			err = g.Replay()
		}
		if err != nil {
			t.Fatal(err)
		}
		return g
	}
	graph().Free()
	for range 20 {
		inUse()
	}
	before := inUse()
	for range 5 {
		g := graph()
		outs := g.Outputs()
		g.Free()
		if v, err := gpk.Item[float32](outs[0]); err != nil || v != 2<<20 {
			t.Errorf("an output after its graph: %v, %v", v, err)
		}
		for _, a := range outs {
			a.Free()
		}
	}
	now := int64(math.MaxInt64)
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) { // what f dropped
		if now = inUse(); now <= before {
			break
		}
	}
	if now > before {
		t.Errorf("%d bytes stayed with graphs that were freed", now-before)
	}
	for range 5 {
		graph()
	}
	for end := time.Now().Add(time.Minute); time.Now().Before(end); time.Sleep(time.Millisecond) {
		if now = inUse(); now <= before {
			break
		}
	}
	if now > before {
		t.Errorf("%d bytes stayed with graphs that were dropped", now-before)
	}
}
