package nn_test

import (
	"errors"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/nn"
)

// TestGatedMLP compares with the operations that it consists of.
func TestGatedMLP(t *testing.T) {
	for name, f := range activations {
		act, err := nn.ParseActivation(name)
		if err != nil {
			t.Fatal(err)
		}
		for _, bias := range []string{"none", "all", "gate"} {
			m := nn.NewGatedMLP(5, 7, act, bias == "all")
			if bias == "gate" {
				m.Gate.Bias = nn.NewParameter(7)
			}
			if err := nn.Load(m, random(m, ""), nn.LoadOptions{}); err != nil {
				t.Fatal(err)
			}
			nn.SetPrecision(m, gpk.FullPrecision)
			x := gpk.NewRNG(3).Normal(gpk.Float32, 0, 1, 2, 3, 5)
			want := plainLinear(f(plainLinear(x, m.Gate)).Mul(plainLinear(x, m.Up)), m.Down)
			near(t, name+", bias of "+bias, m.Forward(x), want, 2e-5)
			nn.Free(m)
			if m.Forward(x).Err() == nil {
				t.Error("a layer that was freed computes")
			}
		}
	}
	var names []string
	for name := range nn.Parameters(nn.NewGatedMLP(2, 3, nn.SiLU, true)) {
		names = append(names, name)
	}
	if want := []string{"gate.weight", "gate.bias", "up.weight", "up.bias", "down.weight", "down.bias"}; !slices.Equal(names, want) {
		t.Errorf("%q, want %q", names, want)
	}
}

func plainLinear(x *gpk.Array, l *nn.Linear) *gpk.Array {
	y := x.MatMul(l.Weight.Array().T(), gpk.FullPrecision)
	if l.Bias != nil {
		y = y.Add(l.Bias.Array())
	}
	return y
}

// TestRMSNormResidual compares with a sum and a norm.
func TestRMSNormResidual(t *testing.T) {
	l := nn.NewRMSNorm(5, 1e-6)
	if err := nn.Load(l, random(l, ""), nn.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	rng := gpk.NewRNG(5)
	x, residual := rng.Normal(gpk.Float32, 0, 1, 2, 3, 5), rng.Normal(gpk.Float32, 0, 1, 2, 3, 5)
	sum, normed := l.ForwardResidual(x, residual)
	near(t, "the sum", sum, x.Add(residual), 0)
	near(t, "the norm", normed, l.Forward(sum), 0)
}

func TestPositions(t *testing.T) {
	for _, c := range []struct {
		offsets, want []int32
	}{
		{[]int32{0, 3, 3, 5}, []int32{0, 1, 2, 0, 1}},
		{[]int32{0, 0, 4}, []int32{0, 1, 2, 3}},
		{[]int32{0, 2, 2}, []int32{0, 1}},
		{[]int32{0}, []int32{}},
	} {
		got, err := gpk.ToSlice[int32](nn.Positions(gpk.FromSlice(c.offsets), len(c.want)))
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%v: %v (%v), want %v", c.offsets, got, err, c.want)
		}
	}
	if err := nn.Positions(nil, 3).Err(); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("%v", err)
	}
}

// TestRotaryAttention compares attention with rotary positions with plain operations, one
// head at a time: in a batch, packed, and at positions of the program's own.
func TestRotaryAttention(t *testing.T) {
	const heads, kvHeads, dim, width = 4, 2, 6, 10
	for _, rotary := range []gpk.RoPEOptions{{}, {Base: 100}, {Dim: 4}} {
		m := nn.NewMultiHeadAttention(width, heads, kvHeads, dim, false)
		m.Rotary = &rotary
		if err := nn.Load(m, random(m, ""), nn.LoadOptions{}); err != nil {
			t.Fatal(err)
		}
		nn.SetPrecision(m, gpk.FullPrecision)
		rng := gpk.NewRNG(9)
		plain := func(x *gpk.Array, first int) *gpk.Array { // x is [seq, width]
			q, k, v := plainLinear(x, m.Query), plainLinear(x, m.Key), plainLinear(x, m.Value)
			var out []*gpk.Array
			for h := range heads {
				cut := func(a *gpk.Array, i int) *gpk.Array { return a.Slice(1, i*dim, (i+1)*dim) }
				kv := h / (heads / kvHeads)
				scores := turned(cut(q, h), first, rotary).MatMul(turned(cut(k, kv), first, rotary).T(), gpk.FullPrecision).Mul(1 / math.Sqrt(dim))
				out = append(out, scores.Softmax(1).MatMul(cut(v, kv), gpk.FullPrecision))
			}
			return plainLinear(gpk.Concat(1, out...), m.Output)
		}
		batch := rng.Normal(gpk.Float32, 0, 0.3, 2, 7, width)
		y := m.Forward(batch, gpk.AttentionOptions{})
		shifted := m.ForwardAt(batch, gpk.Arange(gpk.Int64, 7).Add(5), gpk.AttentionOptions{})
		for i := range 2 {
			at := func(a *gpk.Array) *gpk.Array { return a.Slice(0, i, i+1).Squeeze(0) }
			near(t, fmt.Sprintf("%+v, sequence %d", rotary, i), at(y), plain(at(batch), 0), 5e-5)
			near(t, fmt.Sprintf("%+v, sequence %d shifted", rotary, i), at(shifted), plain(at(batch), 5), 5e-5)
		}
		packed := m.Forward(batch.Reshape(14, width).Slice(0, 0, 12), gpk.AttentionOptions{Offsets: gpk.FromSlice([]int32{0, 7, 7, 12})})
		near(t, "packed, first", packed.Slice(0, 0, 7), plain(batch.Slice(0, 0, 1).Squeeze(0), 0), 5e-5)
		near(t, "packed, last", packed.Slice(0, 7, 12), plain(batch.Slice(0, 1, 2).Squeeze(0).Slice(0, 0, 5), 0), 5e-5)
		nn.Free(m)
	}
	m := nn.NewMultiHeadAttention(8, 2, 2, 4, false)
	m.Rotary = &gpk.RoPEOptions{Dim: 3}
	if err := nn.Load(m, random(m, ""), nn.LoadOptions{}); err != nil {
		t.Fatal(err)
	}
	if err := m.Forward(gpk.Ones(gpk.Float32, 1, 2, 8), gpk.AttentionOptions{}).Err(); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("an odd Dim: %v", err)
	}
}

// turned returns x, [seq, dim], rotated by positions from first on, by plain operations.
func turned(x *gpk.Array, first int, o gpk.RoPEOptions) *gpk.Array {
	seq, dim := x.Shape()[0], x.Shape()[1]
	n, base := dim, 10000.0
	if o.Dim > 0 {
		n = o.Dim
	}
	if o.Base > 0 {
		base = o.Base
	}
	cos, sin := make([]float32, seq*n/2), make([]float32, seq*n/2)
	for i := range cos {
		s, c := math.Sincos(float64(first+i/(n/2)) * math.Pow(base, -2*float64(i%(n/2))/float64(n)))
		sin[i], cos[i] = float32(s), float32(c)
	}
	c, s := gpk.FromSlice(cos, seq, n/2), gpk.FromSlice(sin, seq, n/2)
	a, b := x.Slice(1, 0, n/2), x.Slice(1, n/2, n)
	return gpk.Concat(1, a.Mul(c).Sub(b.Mul(s)), b.Mul(c).Add(a.Mul(s)), x.Slice(1, n, dim))
}
