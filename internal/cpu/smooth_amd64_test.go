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
			checkTwin(t, name, 4, n, done, y[:], func(i int) float32 { return c.f(x[i]) }, x[:])
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
