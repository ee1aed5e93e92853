package cpu

import (
	"math"
	"math/rand/v2"
	"testing"
)

// TestSmooth64Bits compares a digest of results with that of an amd64 processor: other processors, and
// compilers that may fuse a product into a sum, must give the same bits. A new polynomial changes it.
func TestSmooth64Bits(t *testing.T) {
	for name, c := range map[string]struct {
		f      func(x, y float64) float64
		digest uint64
	}{
		"exp":   {func(x, _ float64) float64 { return expF64(x) }, 0x644031f81705ec1d},
		"expm1": {func(x, _ float64) float64 { return expm1F64(x) }, 0x38d41c74db24a72c},
		"log":   {func(x, _ float64) float64 { return logF64(math.Abs(x)) }, 0xefd2c5c0fc3c7f38},
		"log1p": {func(x, _ float64) float64 { return log1pF64(math.Abs(x) - 0.5) }, 0xccd6605cb77a584},
		"tanh":  {func(x, _ float64) float64 { return tanhF64(x) }, 0xa287f0962d09db22},
		"erf":   {func(x, _ float64) float64 { return erfF64(x) }, 0xaf16e78d286626d2},
		"pow":   {func(x, y float64) float64 { return powF64(math.Abs(x), y) }, 0x996275a23e964371},
		"exp2":  {func(x, _ float64) float64 { return exp2F64(x) }, 0xc96576056a130d79},
		"log2":  {func(x, _ float64) float64 { return log2F64(math.Abs(x)) }, 0xeabbe1ad658f2cb9},
		"log10": {func(x, _ float64) float64 { return log10F64(math.Abs(x)) }, 0x4e301b28a8484c42},
		"asin":  {func(_, y float64) float64 { return asinF64(y / 8) }, 0x3303c9887bc77116},
		"acos":  {func(_, y float64) float64 { return acosF64(y / 8) }, 0x6e390a6d223b5f74},
		"atan":  {func(x, _ float64) float64 { return atanF64(x) }, 0xa4343b4abb390e4f},
		"atan2": {atan2F64, 0xeac044131c6fc56a},
		"cbrt":  {func(x, _ float64) float64 { return cbrtF64(x) }, 0xbdf34343d4b8505a},
		"sqrt":  {func(x, y float64) float64 { return real(complexSqrt(complex(x, y))) }, 0x2903ca1a8779f549},
	} {
		rng := rand.New(rand.NewPCG(7, 1))
		digest := uint64(1)
		for range 100_000 {
			x, y := math.Ldexp(rng.Float64()-0.5, rng.IntN(16)-5), 16*(rng.Float64()-0.5)
			v := c.f(x, y)
			digest = (digest ^ math.Float64bits(v)) * 0x100000001b3 // a round of FNV-1a
			digest ^= digest >> 29
		}
		if digest != c.digest {
			t.Errorf("%s: digest %#x, not %#x", name, digest, c.digest)
		}
	}
}
