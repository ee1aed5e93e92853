//go:build !noasm

package cpu

import (
	"math"
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
		fast func(dst, x *float32, n int) int
		f    func(x float32) float32
	}{
		"exp": {expAVX, expF32}, "exp, AVX-512": {expAVX512, expF32}, "exp, both": {expVector, expF32}, "expm1": {expm1AVX, expm1F32}, "log": {logAVX, logF32}, "log1p": {log1pAVX, log1pF32},
		"sin": {sinAVX, sinF32}, "cos": {cosAVX, cosF32}, "tanh": {tanhAVX, tanhF32}, "erf": {erfAVX, erfF32}, "sigmoid": {sigmoidAVX, sigmoidF32},
		"gelu": {geluAVX, geluF32}, "geluTanh": {geluTanhAVX, geluTanhF32}, "silu": {siluAVX, siluF32},
	} {
		if name == "exp, AVX-512" && !smoothAVX512 {
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
			if done%4 != 0 || done > n {
				t.Fatalf("%s of %d: %d done", name, n, done)
			}
			taken += done
			for i, v := range y {
				want := float32(42)
				if i < done {
					want = c.f(x[i])
				}
				if math.Float32bits(v) != math.Float32bits(want) && (v == v || want == want) {
					t.Fatalf("%s of %d, element %d: of %g (%#08x) %g (%#08x), not %g (%#08x)", name, n, i, x[i], math.Float32bits(x[i]), v, math.Float32bits(v), want, math.Float32bits(want))
				}
			}
		}
		if taken < 1000 {
			t.Errorf("%s: the assembly took %d elements of 300,000", name, taken)
		}
	}
}
