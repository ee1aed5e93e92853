//go:build !noasm

package cpu

import (
	"math"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestSmoothTwins compares the assembly with the functions that it equals, bit for
// bit, in every place of a block.
func TestSmoothTwins(t *testing.T) {
	if !smoothAVX {
		t.Skip("needs AVX2")
	}
	rng := testrand.New(t)
	for name, c := range map[string]struct {
		fast  func(dst, x *float32, n int) int
		f     func(x float32) float32
		lanes int
	}{
		"exp": {expAVX, expF32, 8}, "exp, AVX-512": {expAVX512, expF32, 16}, "exp, both": {expVector, expF32, 8},
		"exp2": {exp2_32AVX2, exp2F32, 8}, "exp2, AVX-512": {exp2_32AVX512, exp2F32, 32},
		"expm1": {expm1_32AVX2, expm1F32, 8}, "expm1, AVX-512": {expm1_32AVX512, expm1F32, 32},
		"tanh": {tanh32AVX2, tanhF32, 8}, "tanh, AVX-512": {tanh32AVX512, tanhF32, 32},
		"log": {log32AVX2, logF32, 8}, "log, AVX-512": {log32AVX512, logF32, 32},
		"log2": {log2_32AVX2, log2F32, 8}, "log2, AVX-512": {log2_32AVX512, log2F32, 32},
		"log10": {log10_32AVX2, log10F32, 8}, "log10, AVX-512": {log10_32AVX512, log10F32, 32},
		"log1p": {log1p32AVX2, log1pF32, 8}, "log1p, AVX-512": {log1p32AVX512, log1pF32, 32},
		"sin": {sin32AVX2, sinF32, 4}, "sin, AVX-512": {sin32AVX512, sinF32, 8},
		"cos": {cos32AVX2, cosF32, 4}, "cos, AVX-512": {cos32AVX512, cosF32, 8},
		"tan": {tan32AVX2, tanF32, 4}, "tan, AVX-512": {tan32AVX512, tanF32, 8},
		"erf": {erf32AVX2, erfF32, 4}, "erf, AVX-512": {erf32AVX512, erfF32, 8},
		"sigmoid": {sigmoid32AVX2, sigmoidF32, 4}, "sigmoid, AVX-512": {sigmoid32AVX512, sigmoidF32, 8},
		"gelu": {gelu32AVX2, geluF32, 4}, "gelu, AVX-512": {gelu32AVX512, geluF32, 8},
		"geluTanh": {geluTanh32AVX2, geluTanhF32, 4}, "geluTanh, AVX-512": {geluTanh32AVX512, geluTanhF32, 8},
		"silu": {silu32AVX2, siluF32, 4}, "silu, AVX-512": {silu32AVX512, siluF32, 8},
	} {
		if strings.HasSuffix(name, "AVX-512") && !smoothAVX512 {
			t.Logf("%s: needs AVX-512", name)
			continue
		}
		taken := 0
		for r := range 3000 {
			var x, y [200]float32
			n := rng.IntN(len(x) + 1)
			for i := range x {
				switch {
				case r%3 == 0 && rng.IntN(4) == 0:
					x[i] = specials32[rng.IntN(len(specials32))]
				case r%3 == 1:
					x[i] = math.Float32frombits(rng.Uint32())
				default:
					x[i] = float32(math.Abs(rng.NormFloat64()) * math.Exp2(float64(rng.IntN(12)-6)))
				}
				y[i] = 42
			}
			done := c.fast(&y[0], &x[0], n)
			checkTwin(t, name, c.lanes, n, done, y[:], func(i int) float32 { return c.f(x[i]) }, x[:])
			taken += done
		}
		if taken < 1000 {
			t.Errorf("%s: the assembly took %d elements of 300,000", name, taken)
		}
	}
}

// checkTwin checks a call of a function that computed done of n elements of y, in vectors of lanes. The others
// must still be 42. x are the operands.
func checkTwin[T floating](t *testing.T, name string, lanes, n, done int, y []T, f func(i int) T, x ...[]T) {
	t.Helper()
	if done%lanes != 0 || done > n {
		t.Fatalf("%s of %d: %d done", name, n, done)
	}
	for i, v := range y {
		want := T(42)
		if i < done {
			want = f(i)
		}
		if math.Float64bits(float64(v)) != math.Float64bits(float64(want)) && (v == v || want == want) {
			at := make([]T, len(x))
			for j := range x {
				at[j] = x[j][i]
			}
			t.Fatalf("%s of %d, element %d: of %x (%g) %x (%g), not %x (%g)", name, n, i, at, at, v, v, want, want)
		}
	}
}
