package gpktest

import (
	"errors"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
)

// TestBoundFindsFaults judges products that are right for their variety, and
// such as a broken kernel would give: the former pass, the latter do not.
func TestBoundFindsFaults(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %#x", seed)
	s := &suite{rng: rand.New(rand.NewPCG(seed, 0))}
	to := func(p int) func(float64) float64 {
		return func(x float64) float64 { return nearest(x, p, -1000, math.MaxFloat64) }
	}
	cut := func(p int) func(float64) float64 {
		return func(x float64) float64 {
			_, e := math.Frexp(x)
			return math.Ldexp(math.Trunc(math.Ldexp(x, p-e)), e-p)
		}
	}
	none := func(x float64) float64 { return x }
	// The largest element: one that cancels hides in its bound.
	largest := func(f func(dt gpk.DType, want, got complex128) complex128) func(c tensor, ref []complex128) {
		return func(c tensor, ref []complex128) {
			i := 0
			for j, v := range ref {
				if modulus(v) > modulus(ref[i]) {
					i = j
				}
			}
			c.values[i] = f(c.dt, ref[i], c.values[i])
		}
	}
	// One unit in the last place away from the right result.
	nudge := largest(func(dt gpk.DType, want, got complex128) complex128 {
		step := spacing(dt, real(got))
		if real(got) < real(want) {
			step = -step
		}
		return got + complex(step, 0)
	})
	for _, c := range []struct {
		what    string
		variety string
		kind    device.Kind
		a, b    func(float64) float64 // round each part of an operand
		sum     func(float64) float64 // rounds the accumulator after each addition
		spoil   func(c tensor, ref []complex128)
		right   bool
	}{
		{"float32 sums of bfloat16", "bf16", device.CUDA, none, none, to(24), nil, true},
		{"cut sums of bfloat16", "bf16", device.CUDA, none, none, cut(24), nil, true},
		{"a bfloat16 result off by one unit", "bf16", device.CUDA, none, none, to(24), nudge, false},
		{"sums in bfloat16", "bf16", device.CUDA, none, none, to(8), nil, false},
		{"a float16 result off by one unit", "fp16", device.CUDA, none, none, to(24), nudge, false},
		{"sums in float16", "fp16", device.CUDA, none, none, to(11), nil, false},
		{"cut sums of float16", "fp16-f32", device.CUDA, none, none, cut(24), nil, true},
		{"float16 sums for a float32 result", "fp16-f32", device.CUDA, none, none, to(11), nil, false},
		{"TF32", "tf32", device.CUDA, to(11), to(11), cut(24), nil, true},
		{"a bfloat16 operand for TF32", "tf32", device.CUDA, to(11), to(8), to(24), nil, false},
		{"both operands cut to TF32's bits less one", "tf32", device.CUDA, cut(10), cut(10), to(24), nil, false},
		{"TF32 where the CPU is IEEE", "tf32", device.CPU, to(11), to(11), to(24), nil, false},
		{"float32", "fp32", device.CPU, none, none, to(24), nil, true},
		{"float32 operands in 22 bits", "fp32", device.CUDA, to(22), to(22), to(24), nil, true},
		{"TF32 for FullPrecision", "fp32", device.CUDA, to(11), to(11), to(24), nil, false},
		{"one operand in a single half", "fp32", device.CUDA, to(22), to(11), to(24), nil, false},
		{"operands in 16 bits", "fp32", device.CUDA, to(16), to(16), to(24), nil, false},
		{"float64", "fp64", device.CUDA, none, none, none, nil, true},
		{"a float32 operand for float64", "fp64", device.CUDA, none, to(24), none, nil, false},
		{"float32 sums for float64", "fp64", device.CUDA, none, none, to(24), nil, false},
		{"complex64", "c64", device.CUDA, none, none, to(24), nil, true},
		{"complex TF32", "tc64", device.CUDA, to(11), to(11), cut(24), nil, true},
		{"a bfloat16 operand for complex TF32", "tc64", device.CUDA, to(8), to(11), to(24), nil, false},
		{"complex TF32 for FullPrecision", "c64", device.CUDA, to(11), to(11), to(24), nil, false},
		{"one conjugate", "c128", device.CUDA, none, none, none, largest(func(_ gpk.DType, _, got complex128) complex128 { return cmplx.Conj(got) }), false},
		{"one NaN", "bf16", device.CUDA, none, none, to(24), largest(func(gpk.DType, complex128, complex128) complex128 { return cmplx.NaN() }), false},
		{"one infinity", "fp32", device.CUDA, none, none, to(24), largest(func(gpk.DType, complex128, complex128) complex128 { return cmplx.Inf() }), false},
		{"one element never written", "tf32", device.CUDA, to(11), to(11), to(24), largest(func(gpk.DType, complex128, complex128) complex128 { return 0 }), false},
	} {
		v := varieties[slices.IndexFunc(varieties, func(v variety) bool { return v.name == c.variety })]
		out := v.in
		for _, o := range v.opts {
			if o != gpk.TF32 && o != gpk.FullPrecision {
				out = gpk.Float32
			}
		}
		// judged returns the judgement of the product of random matrices.
		judged := func(m, k, n int) error {
			a, b := s.random(v.in, m, k), s.random(v.in, k, n)
			got, ref := tensor{dt: out, shape: []int{m, n}}, make([]complex128, m*n)
			for i := range m {
				for j := range n {
					var sum complex128
					for p := range k {
						x, y := a.values[i*k+p], b.values[p*n+j]
						ref[i*n+j] += x * y
						x, y = complex(c.a(real(x)), c.a(imag(x))), complex(c.b(real(y)), c.b(imag(y)))
						sum += x * y
						sum = complex(c.sum(real(sum)), c.sum(imag(sum)))
					}
					got.values = append(got.values, round(out, sum))
				}
			}
			if c.spoil != nil {
				c.spoil(got, ref)
			}
			all := make([]int, m)
			for i := range all {
				all[i] = i
			}
			judge := &comparison{rounding: v.rounding(c.kind), out: out, k: k}
			judge.rows(all, got, a, b)
			return judge.err(v.bound)
		}
		for _, d := range [][3]int{{1, 1, 64}, {4, 7, 5}, {17, 64, 31}, {33, 40, 24}, {128, 63, 100}, {3, 511, 2}, {4095, 1, 2}} {
			if !c.right && (d[1] == 511 || d[0] == 4095 || c.spoil == nil && d[1] == 1) {
				continue // few elements: of many terms, where faults average out, or of one, where they may be small
			}
			if quick() && d[0]*d[2] >= largeSample {
				continue
			}
			draws := 1
			switch {
			case d[0]*d[2] < 100:
				draws = 5 // the errors of 20 elements may all be small by chance
			case d[0] == 4095:
				draws = 60 // in one of 30, the errors of the two numbers that all rows share are large
			}
			var err error
			for range draws {
				err = errors.Join(err, judged(d[0], d[1], d[2]))
			}
			if (err == nil) != c.right {
				t.Errorf("%s, %v: %v", c.what, d, err)
			}
		}
	}
}
