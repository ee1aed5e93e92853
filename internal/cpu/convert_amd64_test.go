//go:build !noasm

package cpu

import (
	"math"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestConvertAVX2 compares the conversions and the signs with AVX2, which processors with AVX-512 do not use, with exact ones.
func TestConvertAVX2(t *testing.T) {
	if !vectorAVX {
		t.Skip("NOT RUN: the processor has no AVX2")
	}
	rng := testrand.New(t)
	x := conversionCases(rng)
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	for n := 0; n <= len(x); n += 4 {
		testConversion(t, int32sOf64AVX2, x[:n], func(v float64) int32 { return int32(saturated(v, math.MinInt32, math.MaxInt32)) })
		testConversion(t, signs64AVX2, x[:n], func(v float64) uint64 { return math.Float64bits(signOf(v)) })
	}
	for n := 0; n <= len(x); n += 8 {
		testConversion(t, int32sOf32AVX2, y[:n], func(v float32) int32 { return int32(saturated(float64(v), math.MinInt32, math.MaxInt32)) })
		testConversion(t, signs32AVX2, y[:n], signBits32)
	}
}
