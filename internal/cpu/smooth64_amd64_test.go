//go:build !noasm

package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/internal/testrand"
)

// argument64 draws a float64 for the functions of smooth64_amd64.go: of any bits, special, or ordinary.
func argument64(rng *rand.Rand, round int) float64 {
	switch {
	case round%3 == 0 && rng.IntN(4) == 0:
		return float64(specials32[rng.IntN(len(specials32))])
	case round%3 == 1:
		return math.Float64frombits(rng.Uint64())
	}
	return rng.NormFloat64() * math.Exp2(float64(rng.IntN(16)-6))
}

// same64 reports whether two numbers have the same bits, or are both NaN.
func same64(a, b float64) bool {
	return math.Float64bits(a) == math.Float64bits(b) || a != a && b != b
}

// TestSmooth64Twins compares the assembly with the functions that it equals, bit for bit, in every place
// of a block.
func TestSmooth64Twins(t *testing.T) {
	if !smooth64AVX2 {
		t.Skip("needs AVX2 and FMA")
	}
	rng := testrand.New(t)
	for name, c := range map[string]struct {
		fast  func(dst, x *float64, n int) int
		f     func(x float64) float64
		lanes int
	}{
		"exp": {exp64AVX2, expF64, 4}, "exp, AVX-512": {exp64AVX512, expF64, 8},
		"expm1": {expm164AVX2, expm1F64, 4}, "expm1, AVX-512": {expm164AVX512, expm1F64, 8},
		"log": {log64AVX2, logF64, 4}, "log, AVX-512": {log64AVX512, logF64, 8},
		"log1p": {log1p64AVX2, log1pF64, 4}, "log1p, AVX-512": {log1p64AVX512, log1pF64, 8},
		"tanh": {tanh64AVX2, tanhF64, 4}, "tanh, AVX-512": {tanh64AVX512, tanhF64, 8},
		"erf": {erf64AVX2, erfF64, 4}, "erf, AVX-512": {erf64AVX512, erfF64, 8},
		"exp2": {exp2_64AVX2, exp2F64, 4}, "exp2, AVX-512": {exp2_64AVX512, exp2F64, 8},
		"log2": {log2_64AVX2, log2F64, 4}, "log2, AVX-512": {log2_64AVX512, log2F64, 8},
		"log10": {log10_64AVX2, log10F64, 4}, "log10, AVX-512": {log10_64AVX512, log10F64, 8},
	} {
		if c.lanes == 8 && !smooth64AVX512 {
			t.Logf("%s: needs AVX-512", name)
			continue
		}
		taken := 0
		for r := range 6000 {
			var x, y [100]float64
			n := rng.IntN(len(x) + 1)
			for i := range x {
				x[i] = argument64(rng, r)
				if r%2 == 0 && (c.f(-2) != c.f(-2)) {
					x[i] = math.Abs(x[i])
				}
				y[i] = 42
			}
			done := c.fast(&y[0], &x[0], n)
			checkTwin(t, name, c.lanes, n, done, y[:], func(i int) float64 { return c.f(x[i]) }, x[:])
			taken += done
		}
		if taken < 5000 {
			t.Errorf("%s: the assembly took %d elements of 300,000", name, taken)
		}
	}
}

// TestSmooth64Blocks compares the kernels with the scalar functions. The kernels leave unsupported
// elements to Go, and each element must be right whatever its neighbours are.
func TestSmooth64Blocks(t *testing.T) {
	rng := testrand.New(t)
	for name, c := range map[string]struct {
		kernel func(dst, x unsafe.Pointer, n int)
		f      func(x float64) float64
	}{
		"exp": {exp64s, expF64}, "expm1": {expm164s, expm1F64}, "log": {log64s, logF64},
		"log1p": {log1p64s, log1pF64}, "tanh": {tanh64s, tanhF64}, "erf": {erf64s, erfF64},
		"exp2": {exp2_64s, exp2F64}, "log2": {log2_64s, log2F64}, "log10": {log10_64s, log10F64},
	} {
		for r := range 2000 {
			var x, y [60]float64
			n := rng.IntN(len(x) + 1)
			for i := range x {
				x[i], y[i] = argument64(rng, r), 42
			}
			c.kernel(addr(&y), addr(&x), n)
			for i, v := range y {
				if want := c.f(x[i]); i < n && !same64(v, want) || i >= n && v != 42 {
					t.Fatalf("%s of %d, element %d: of %g %g, not %g", name, n, i, x[i], v, want)
				}
			}
		}
	}
	for r := range 2000 {
		var x, y, z [60]float64
		n := rng.IntN(len(x) + 1)
		for i := range x {
			x[i], y[i], z[i] = argument64(rng, r), argument64(rng, r), 42
		}
		pow64s(addr(&z), addr(&x), addr(&y), n)
		for i, v := range z {
			if want := powF64(x[i], y[i]); i < n && !same64(v, want) || i >= n && v != 42 {
				t.Fatalf("power of %d, element %d: %g^%g is %g, not %g", n, i, x[i], y[i], v, want)
			}
		}
	}
}

// TestPow64Twins does the same with the power.
func TestPow64Twins(t *testing.T) {
	if !smooth64AVX2 {
		t.Skip("needs AVX2 and FMA")
	}
	rng := testrand.New(t)
	for name, c := range map[string]struct {
		fast  func(dst, x, y *float64, n int) int
		lanes int
	}{"AVX2": {pow64AVX2, 4}, "AVX-512": {pow64AVX512, 8}} {
		if c.lanes == 8 && !smooth64AVX512 {
			t.Logf("%s: needs AVX-512", name)
			continue
		}
		taken := 0
		for r := range 6000 {
			var x, y, z [100]float64
			n := rng.IntN(len(x) + 1)
			for i := range x {
				x[i], y[i], z[i] = math.Abs(argument64(rng, r)), argument64(rng, r), 42
				if r%2 == 0 {
					y[i] = math.Mod(y[i], 600) / max(1, math.Abs(math.Log(x[i])))
				}
			}
			done := c.fast(&z[0], &x[0], &y[0], n)
			checkTwin(t, name, c.lanes, n, done, z[:], func(i int) float64 { return powF64(x[i], y[i]) }, x[:], y[:])
			taken += done
		}
		if taken < 5000 {
			t.Errorf("%s: the assembly took %d elements of 300,000", name, taken)
		}
	}
}
