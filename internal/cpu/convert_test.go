package cpu

import (
	"math"
	"math/rand/v2"
	"slices"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestConvertVectors compares the conversions to integers and the signs, which are vector code on some processors, with those of
// single elements and with exact ones.
func TestConvertVectors(t *testing.T) {
	rng := testrand.New(t)
	x := conversionCases(rng)
	y := make([]float32, len(x))
	for i, v := range x {
		y[i] = float32(v)
	}
	for n := range len(x) + 1 {
		testConversion(t, ints[int32]{}.fromFloat64(), x[:n], func(v float64) int32 { return int32(saturated(v, math.MinInt32, math.MaxInt32)) })
		testConversion(t, ints[int64]{}.fromFloat64(), x[:n], func(v float64) int64 { return saturated(v, math.MinInt64, math.MaxInt64) })
		testConversion(t, ints[int32]{}.fromFloat32(), y[:n], func(v float32) int32 { return int32(saturated(float64(v), math.MinInt32, math.MaxInt32)) })
		testConversion(t, ints[int64]{}.fromFloat32(), y[:n], func(v float32) int64 { return saturated(float64(v), math.MinInt64, math.MaxInt64) })
		testConversion(t, floatSigns[uint64](0x3ff<<52, 0x7ff<<52), x[:n], func(v float64) uint64 { return math.Float64bits(signOf(v)) })
		testConversion(t, floatSigns[uint32](0x3f800000, 0x7f800000), y[:n], signBits32)
	}
}

// conversionCases returns numbers in random order: integers about the bounds, halves, zeros, infinities, NaNs and random bits.
func conversionCases(rng *rand.Rand) []float64 {
	var x []float64
	for _, b := range []float64{0, 1, 1<<24 - 1, 1<<31 - 2, 1<<31 - 1, 1 << 31, 1<<31 + 1, 1 << 53, 1 << 62, 1 << 63, 0x1p63 - 1024, 0x1p100, 0x1p-149, 0x1p-1074, math.Inf(1), math.NaN()} {
		for _, v := range []float64{b, b - 0.5, b + 0.5, math.Nextafter(b, 0), math.Nextafter(b, math.Inf(1)), float64(math.Nextafter32(float32(b), 0))} {
			x = append(x, v, -v)
		}
	}
	x = append(x, math.Copysign(0, -1), math.Float64frombits(0xfff8<<48|5), math.Float64frombits(0x7ff8<<48|9<<32))
	for range 200 {
		x = append(x, math.Float64frombits(rng.Uint64()))
	}
	rng.Shuffle(len(x), func(i, j int) { x[i], x[j] = x[j], x[i] })
	return x
}

// signBits32 returns the bits of v's sign.
func signBits32(v float32) uint32 {
	if v != v {
		return math.Float32bits(v)
	}
	return math.Float32bits(float32(signOf(float64(v))))
}

// TestConvertToFloats compares the conversions to floating-point numbers, which are vector code on some processors, with Go's.
func TestConvertToFloats(t *testing.T) {
	rng := testrand.New(t)
	floats := []float64{0, math.Copysign(0, -1), 1, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat32, 0x1.ffffffp127, 0x1p-149, 0x1p-150, 0x1.8p-150, -0x1p-1074, math.MaxFloat64}
	integers := []int64{0, -1, 1<<24 + 1, 1<<24 + 3, 1<<31 - 1, -1 << 31, 1<<53 + 1, 1<<53 + 3, 1<<62 + 1<<38 + 1, math.MaxInt64, math.MinInt64}
	for range 60 {
		floats = append(floats, math.Float64frombits(rng.Uint64()), float64(1+rng.Float32())+0x1p-24)
		integers = append(integers, int64(rng.Uint64())>>rng.IntN(64))
	}
	singles, small := make([]float32, len(floats)), make([]int32, len(integers))
	for i, v := range floats {
		singles[i] = math.Float32frombits(rng.Uint32())
		if rng.IntN(2) == 0 {
			singles[i] = float32(v)
		}
	}
	for i, v := range integers {
		small[i] = int32(v)
	}
	for n := range floats {
		testConversion(t, toFloat32[float64](), floats[:n], func(v float64) uint32 { return math.Float32bits(float32(v)) })
		testConversion(t, toFloat64[float32](), singles[:n], func(v float32) uint64 { return math.Float64bits(float64(v)) })
	}
	for n := range integers {
		testConversion(t, toFloat32[int32](), small[:n], func(v int32) uint32 { return math.Float32bits(float32(v)) })
		testConversion(t, toFloat64[int32](), small[:n], func(v int32) uint64 { return math.Float64bits(float64(v)) })
		testConversion(t, toFloat32[int64](), integers[:n], func(v int64) uint32 { return math.Float32bits(float32(v)) })
		testConversion(t, toFloat64[int64](), integers[:n], func(v int64) uint64 { return math.Float64bits(float64(v)) })
	}
}

func testConversion[D integer, S number](t *testing.T, f func(dst, src unsafe.Pointer, n int), x []S, want func(S) D) {
	t.Helper()
	var other D
	if len(x) > 0 {
		other = want(x[0]) + 1
	}
	got := slices.Repeat([]D{other}, len(x)+1)
	f(at0(got), at0(x), len(x))
	for i, v := range x {
		if w := want(v); got[i] != w {
			t.Fatalf("element %d of %d, %v: %v, want %v", i, len(x), v, got[i], w)
		}
	}
	if got[len(x)] != other {
		t.Fatalf("an element after %d changed", len(x))
	}
}

// saturated returns v truncated to an integer and limited to the range from low to high, and 0 for NaN.
func saturated(v float64, low, high int64) int64 {
	switch {
	case v != v:
		return 0
	case v <= float64(low):
		return low
	case v >= float64(high):
		return high
	}
	return int64(v)
}

// signOf returns 1, -1, 0 or NaN.
func signOf(v float64) float64 {
	switch {
	case v > 0:
		return 1
	case v < 0:
		return -1
	case v == 0:
		return 0
	}
	return v
}
