package fused

import (
	"errors"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/layout"
)

// TestRoPEPaths compares both paths on the CPU, which supports plain operations too: in one
// part, and in parts of few rows.
func TestRoPEPaths(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	llama := &RoPEScaling{Factor: 8, LowFreqFactor: 1, HighFreqFactor: 4, OriginalPositions: 64}
	for _, c := range []struct {
		shape     []int
		positions []int // shape; nil: none
		opts      RoPEOptions
	}{
		{[]int{2, 3, 5, 8}, []int{5}, RoPEOptions{}},
		{[]int{2, 3, 5, 8}, []int{2, 5}, RoPEOptions{Interleaved: true, Base: 500000}},
		{[]int{3, 7, 9}, []int{7}, RoPEOptions{Dim: 6, Scaling: llama}},
		{[]int{3, 7, 9}, nil, RoPEOptions{Dim: 4, Interleaved: true}},
		{[]int{1, 1, 33, 64}, nil, RoPEOptions{Scaling: llama}},
		{[]int{1, 2, 3, 0}, nil, RoPEOptions{}},
		{[]int{1, 2, 0, 4}, []int{0}, RoPEOptions{}},
	} {
		n := layout.Dense(c.shape).Size()
		nan := make([]float32, n)
		for i := range nan {
			nan[i] = float32(math.NaN())
		}
		r := RoPE{X: hostOf(t, dtype.Float32, normals(rng, n), c.shape...), Dst: hostOf(t, dtype.Float32, nan, c.shape...), RoPEOptions: c.opts}
		if c.positions != nil {
			p := make([]int32, layout.Dense(c.positions).Size())
			for i := range p {
				p[i] = int32(rng.IntN(2000) - 1000)
			}
			r.Positions = hostOf(t, dtype.Int32, p, c.positions...)
		}
		if err := r.Check(); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		s := r.X.Buffer.Device().DefaultStream()
		if err := r.Run(s); err != nil {
			t.Fatalf("%+v: %v", c, err)
		}
		if n == 0 {
			continue
		}
		for _, table := range []int{composedTable, 3 * c.shape[len(c.shape)-1], 1} {
			b := r
			b.Dst = hostOf(t, dtype.Float32, nan, c.shape...)
			before := devicetest.InUse(t, b.Dst.Buffer.Device())
			if err := b.compose(s, table); err != nil {
				t.Fatalf("%+v: %v", c, err)
			}
			if after := b.Dst.Buffer.Device().Pool().InUse; after != before {
				t.Errorf("%+v: %d bytes in use, %d before", c, after, before)
			}
			x, y := unsafe.Slice((*float32)(r.Dst.Ptr()), n), unsafe.Slice((*float32)(b.Dst.Ptr()), n)
			for i := range x {
				if !(math.Abs(float64(x[i]-y[i])) < 2e-6) {
					t.Fatalf("%+v, tables of %d: element %d is %v in one pass, and %v of plain operations", c, table, i, x[i], y[i])
				}
			}
		}
	}
}

func TestRoPEOptions(t *testing.T) {
	scaling := func(f, low, high float64, n int) RoPEOptions {
		return RoPEOptions{Scaling: &RoPEScaling{f, low, high, n}}
	}
	for _, c := range []struct {
		opts RoPEOptions
		want error
	}{
		{RoPEOptions{}, nil},
		{RoPEOptions{Base: -1}, expr.ErrUnsupported},
		{RoPEOptions{Base: math.NaN()}, expr.ErrUnsupported},
		{RoPEOptions{Base: math.Inf(1)}, expr.ErrUnsupported},
		{RoPEOptions{Dim: 3}, layout.ErrShape},
		{RoPEOptions{Dim: 10}, layout.ErrShape},
		{RoPEOptions{Dim: -2}, layout.ErrShape},
		{scaling(8, 1, 4, 8192), nil},
		{scaling(0, 1, 4, 8192), expr.ErrUnsupported},
		{scaling(math.NaN(), 1, 4, 8192), expr.ErrUnsupported},
		{scaling(8, 4, 4, 8192), expr.ErrUnsupported},
		{scaling(8, 1, math.Inf(1), 8192), expr.ErrUnsupported},
		{scaling(8, 1, 4, 0), expr.ErrUnsupported},
	} {
		if err := c.opts.check(8); !errors.Is(err, c.want) {
			t.Errorf("%+v: %v, want %v", c.opts, err, c.want)
		}
	}
}

// TestLlamaFrequencies compares with the three cases of the rule that Llama 3.1 was
// published with: high frequencies stay, low ones are divided, those between are mixed.
func TestLlamaFrequencies(t *testing.T) {
	o := RoPEOptions{Base: 500000, Scaling: &RoPEScaling{Factor: 8, LowFreqFactor: 1, HighFreqFactor: 4, OriginalPositions: 8192}}
	var kinds [3]int
	for i, got := range o.Frequencies(128) {
		f := 1 / math.Pow(500000, float64(2*i)/128)
		wavelength, want := 2*math.Pi/f, f
		switch {
		case wavelength < 8192/4.0:
			kinds[0]++
		case wavelength > 8192:
			want = f / 8
			kinds[1]++
		default:
			smooth := (8192/wavelength - 1) / (4 - 1)
			want = (1-smooth)*f/8 + smooth*f
			kinds[2]++
		}
		if !(math.Abs(got-want) <= 1e-14*want) {
			t.Errorf("frequency %d is %v, want %v", i, got, want)
		}
	}
	if kinds[0] == 0 || kinds[1] == 0 || kinds[2] == 0 {
		t.Errorf("not all cases were met: %v", kinds)
	}
}
