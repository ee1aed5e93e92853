package nn_test

import (
	"errors"
	"fmt"
	"maps"
	"slices"
	"strings"
	"sync"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/nn"
)

// stored are weights in memory.
type stored map[string]*gpk.Array

func (w stored) Names() []string { return slices.Sorted(maps.Keys(w)) }

func (w stored) Load(name string) (*gpk.Array, error) {
	a := w[name].Clone()
	return a, a.Err()
}

// block is a module of modules.
type block struct {
	attention *nn.MultiHeadAttention
	mlp       *nn.MLP
	norm      *nn.RMSNorm
}

func (b *block) Parts() []nn.Part {
	return []nn.Part{{Name: "attention", Module: b.attention}, {Module: b.mlp}, {Name: "norm", Module: b.norm}}
}

func newBlock() *block {
	return &block{nn.NewMultiHeadAttention(8, 4, 2, 2, false), nn.NewMLP(8, 12, nn.SiLU, true), nn.NewRMSNorm(8, 1e-6)}
}

// random returns weights for a module.
func random(m nn.Module, prefix string) stored {
	rng, w := gpk.NewRNG(7), stored{}
	for name, p := range nn.Parameters(m) {
		w[prefix+name] = rng.Normal(gpk.Float32, 0, 1, p.Shape()...)
	}
	return w
}

func TestNames(t *testing.T) {
	var got []string
	for name, p := range nn.Parameters(newBlock()) {
		got = append(got, fmt.Sprint(name, p.Shape()))
	}
	want := []string{
		"attention.query.weight[8 8]", "attention.key.weight[4 8]", "attention.value.weight[4 8]", "attention.output.weight[8 8]",
		"up.weight[12 8]", "up.bias[12]", "down.weight[8 12]", "down.bias[8]", "norm.weight[8]",
	}
	if !slices.Equal(got, want) {
		t.Errorf("%q, want %q", got, want)
	}
}

// TestLoad fills a module, and then gives it weights that do not fit.
func TestLoad(t *testing.T) {
	b, w := newBlock(), random(newBlock(), "model.")
	o := nn.LoadOptions{Prefix: "model.", Ignore: []string{"head"}, DType: gpk.Float16}
	w["head"] = gpk.Ones(gpk.Float32, 1)
	if err := nn.Load(b, w, o); err != nil {
		t.Fatal(err)
	}
	if dt := b.norm.Weight.Array().DType(); dt != gpk.Float16 {
		t.Errorf("the parameters are %v", dt)
	}
	before := b.norm.Weight.Array()
	delete(w, "model.up.bias")
	w["model.extra"], w["model.norm.weight"] = gpk.Ones(gpk.Float32, 2), gpk.Ones(gpk.Float32, 9)
	w["model.down.bias"] = gpk.Ones(gpk.Int64, 8)
	err := nn.Load(b, w, o)
	var wrong *nn.LoadError
	if !errors.As(err, &wrong) || !errors.Is(err, gpk.ErrShape) {
		t.Fatalf("%v", err)
	}
	for _, want := range []string{"missing: model.up.bias [12]", "unexpected: model.extra", "model.norm.weight is [9], not [8]", "model.down.bias is int64, which is not a floating-point type"} {
		if !strings.Contains(err.Error(), want) {
			t.Errorf("%v lacks %q", err, want)
		}
	}
	if err := nn.Load(b, random(b, ""), nn.LoadOptions{DType: gpk.Int32}); !errors.Is(err, gpk.ErrDType) {
		t.Errorf("weights as int32: %v", err)
	}
	if b.norm.Weight.Array() != before {
		t.Error("weights that do not fit have set a parameter")
	}
}

// TestUnset uses a layer whose parameters were not set.
func TestUnset(t *testing.T) {
	l := nn.NewLinear(3, 2, true)
	if err := l.Forward(gpk.Ones(gpk.Float32, 1, 3)).Err(); !errors.Is(err, gpk.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	if err := l.Weight.Set(gpk.Ones(gpk.Float32, 3, 2)); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("%v", err)
	}
	if err := nn.Cast(l, gpk.Float16); !errors.Is(err, gpk.ErrUnsupported) {
		t.Errorf("%v", err)
	}
	if err := nn.Cast(l, gpk.Int8); !errors.Is(err, gpk.ErrDType) {
		t.Errorf("%v", err)
	}
}

// TestChangedParameter sets and casts parameters that a layer has packed.
func TestChangedParameter(t *testing.T) {
	l := nn.NewLinear(3, 2, false)
	x := gpk.FromSlice([]float32{1, 2, 3}, 1, 3)
	for _, k := range []float32{1, 2} {
		if err := l.Weight.Set(gpk.Full(gpk.Float32, k, 2, 3)); err != nil {
			t.Fatal(err)
		}
		want(t, l.Forward(x), 6*k, 6*k)
	}
	if err := nn.Cast(l, gpk.Float16); err != nil {
		t.Fatal(err)
	}
	want(t, l.Forward(x.Cast(gpk.Float16)).Cast(gpk.Float32), 12, 12)
	nn.Free(l)
	if err := l.Forward(x).Err(); err == nil {
		t.Error("a layer that was freed computes")
	}
}

// TestWrittenParameter writes weights in place that layers have packed.
func TestWrittenParameter(t *testing.T) {
	l := nn.NewLinear(3, 2, false)
	if err := l.Weight.Set(gpk.Ones(gpk.Float32, 2, 3)); err != nil {
		t.Fatal(err)
	}
	x := gpk.FromSlice([]float32{1, 2, 3}, 1, 3)
	want(t, l.Forward(x), 6, 6)
	want(t, l.Forward(x), 6, 6)
	if err := l.Weight.Array().Slice(0, 1, 2).MulInPlace(3); err != nil {
		t.Fatal(err)
	}
	want(t, l.Forward(x), 6, 18)
	if err := gpk.FromSliceInto(l.Weight.Array(), []float32{1, 0, 0, 0, 0, 1}); err != nil {
		t.Fatal(err)
	}
	want(t, l.Forward(x), 1, 3)
}

// TestWrittenPanels writes a weight in place whose panels a product of many rows has kept.
// 300 is longer than a stretch of k: such a product packs its operands.
func TestWrittenPanels(t *testing.T) {
	const rows, in, out = 8, 300, 40
	l := nn.NewLinear(in, out, false)
	if err := l.Weight.Set(gpk.Ones(gpk.Float32, out, in)); err != nil {
		t.Fatal(err)
	}
	x := gpk.Ones(gpk.Float32, rows, in)
	for _, factor := range []float32{1, 3, 2} {
		if err := l.Weight.Array().MulInPlace(factor); err != nil {
			t.Fatal(err)
		}
		w, err := gpk.Item[float32](l.Weight.Array().Slice(0, 0, 1).Slice(1, 0, 1))
		if err != nil {
			t.Fatal(err)
		}
		for range 2 { // packs, and reads what is packed
			want(t, l.Forward(x), slices.Repeat([]float32{in * w}, rows*out)...)
			want(t, l.Forward(x.Slice(0, 0, 1)), slices.Repeat([]float32{in * w}, out)...)
		}
	}
}

// tied is a module that lists a parameter twice.
type tied struct{ a, b *nn.Embedding }

func (m *tied) Parts() []nn.Part {
	return []nn.Part{{Name: "a", Module: m.a}, {Name: "b", Module: m.b}}
}

// TestTied loads a parameter with two names from weights that have one or both of them.
func TestTied(t *testing.T) {
	for _, names := range [][]string{{"a.weight"}, {"b.weight"}, {"a.weight", "b.weight"}} {
		e := nn.NewEmbedding(2, 1)
		m, w := &tied{e, e}, stored{}
		for _, name := range names {
			w[name] = gpk.Ones(gpk.Float32, 2, 1)
		}
		if err := nn.Load(m, w, nn.LoadOptions{}); err != nil {
			t.Errorf("%v: %v", names, err)
			continue
		}
		want(t, m.b.Forward(gpk.Zeros(gpk.Int32, 1)), 1)
	}
	e := nn.NewEmbedding(2, 1)
	if err := nn.Load(&tied{e, e}, stored{}, nn.LoadOptions{}); err == nil || !strings.Contains(err.Error(), "missing: a.weight [2 1]") {
		t.Errorf("%v", err)
	}
}

// TestConcurrent uses a layer from several goroutines, the first of which packs its weight.
func TestConcurrent(t *testing.T) {
	m := nn.NewMLP(4, 4, nn.GELU, true)
	if err := nn.Load(m, random(m, ""), nn.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	x := gpk.Ones(gpk.Float32, 2, 4)
	y := make([]*gpk.Array, 8)
	var wg sync.WaitGroup
	for i := range y {
		wg.Go(func() { y[i] = m.Forward(x) })
	}
	wg.Wait()
	for _, a := range y {
		near(t, "a layer used by many", a, y[0], 0)
	}
}

func want(t *testing.T, a *gpk.Array, values ...float32) {
	t.Helper()
	got, err := gpk.ToSlice[float32](a)
	if err != nil || !slices.Equal(got, values) {
		t.Errorf("%v (%v), want %v", got, err, values)
	}
}

// activations maps each name that ParseActivation accepts to its operation.
var activations = map[string]func(*gpk.Array) *gpk.Array{
	"linear": func(x *gpk.Array) *gpk.Array { return x }, "relu": (*gpk.Array).ReLU, "gelu": (*gpk.Array).GELU,
	"gelu_new": (*gpk.Array).GELUTanh, "silu": (*gpk.Array).SiLU,
}

// TestMLP compares with the operations that it consists of.
func TestMLP(t *testing.T) {
	for name, f := range activations {
		act, err := nn.ParseActivation(name)
		if err != nil {
			t.Fatal(err)
		}
		m := nn.NewMLP(5, 7, act, true)
		if err := nn.Load(m, random(m, ""), nn.LoadOptions{}); err != nil {
			t.Fatal(err)
		}
		nn.SetPrecision(m, gpk.FullPrecision)
		x := gpk.NewRNG(3).Normal(gpk.Float32, 0, 1, 2, 3, 5)
		near(t, name, m.Forward(x), plainLinear(f(plainLinear(x, m.Up)), m.Down), 1e-5)
	}
	if _, err := nn.ParseActivation("tanh"); !errors.Is(err, gpk.ErrUnsupported) {
		t.Errorf("%v", err)
	}
}

func near(t *testing.T, what string, a, b *gpk.Array, bound float32) {
	t.Helper()
	if !slices.Equal(a.Shape(), b.Shape()) {
		t.Fatalf("%s has shape %v (%v), want %v", what, a.Shape(), a.Err(), b.Shape())
	}
	d, err := gpk.Item[float32](a.Sub(b).Abs().Max())
	if err != nil || !(d <= bound) {
		t.Errorf("%s is %v off (%v)", what, d, err)
	}
}

// TestScope computes a layer in a scope: nothing is left of it.
func TestScope(t *testing.T) {
	m := nn.NewMLP(4, 4, nn.GELU, true)
	if err := nn.Load(m, random(m, ""), nn.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	x := gpk.Ones(gpk.Float32, 2, 4)
	var kept, lost *gpk.Array
	if err := gpk.Scoped(func(s *gpk.Scope) error {
		lost = m.Up.Forward(s.In(x))
		kept = s.Keep(m.Down.Forward(lost))
		return nil
	}); err != nil {
		t.Fatal(err)
	}
	if err := gpk.Eval(lost); !errors.Is(err, gpk.ErrFreed) {
		t.Errorf("what was computed in the scope: %v", err)
	}
	near(t, "what was kept", kept, m.Forward(x), 0)
}
