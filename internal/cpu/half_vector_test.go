package cpu

import (
	"math"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestHalfVectors compares the vector conversions of float16 with the scalar ones, bit for bit: all float16, float32 and float64
// around these and around ties, NaNs, and random bits.
func TestHalfVectors(t *testing.T) {
	rng := testrand.New(t)
	halves := make([]uint16, 1<<16+7)
	for i := range halves {
		halves[i] = uint16(i)
	}
	floats := make([]float32, len(halves))
	loadHalf(at0(floats), at0(halves), 2, len(halves))
	for i, h := range halves {
		if got, want := math.Float32bits(floats[i]), math.Float32bits(halfToFloat(h)); got != want {
			t.Fatalf("%#x widens to %#x, not %#x", h, got, want)
		}
	}
	doubles := make([]float64, len(halves))
	for _, low := range []uint64{0, 1, 1<<41 - 1, 1 << 41, 1<<41 + 1, 1<<42 - 1, 1 << 12, 1 << 28, 1<<42 - 1<<29, ^uint64(0), rng.Uint64()} {
		for i := range halves {
			doubles[i] = math.Float64frombits(math.Float64bits(float64(halfToFloat(uint16(i)))) ^ low&(1<<42-1))
			if low == ^uint64(0) {
				doubles[i] = math.Float64frombits(rng.Uint64())
			}
			floats[i] = float32(doubles[i])
		}
		checkHalves(t, floatsToHalf, floats, floatToHalf)
		checkHalves(t, doublesToHalf, doubles, func(v float64) uint16 { return floatToHalf(roundToOdd(v)) })
	}
	for n := range 70 {
		checkHalves(t, floatsToHalf, floats[:n], floatToHalf)
		checkHalves(t, doublesToHalf, doubles[:n], func(v float64) uint16 { return floatToHalf(roundToOdd(v)) })
		back := make([]float32, n+1)
		back[n] = -1
		loadHalf(at0(back), at0(halves[1000:]), 2, n)
		for i, v := range back[:n] {
			if v != halfToFloat(halves[1000+i]) {
				t.Fatalf("%d numbers: %v", n, v)
			}
		}
		if back[n] != -1 {
			t.Fatalf("%d numbers: one more was written", n)
		}
	}
}

// checkHalves converts x in memory of its own and in place.
func checkHalves[T float32 | float64](t *testing.T, kernel func(dst, src unsafe.Pointer, n int), x []T, f func(x T) uint16) {
	t.Helper()
	got := make([]uint16, len(x)+1)
	got[len(x)] = 0xdead
	kernel(at0(got), at0(x), len(x))
	place := append([]T{}, x...)
	kernel(at0(place), at0(place), len(x))
	same := unsafe.Slice((*uint16)(at0(place)), len(x))
	for i, v := range x {
		if want := f(v); got[i] != want || same[i] != want {
			t.Fatalf("%x rounds to %#x, in place %#x, not %#x", v, got[i], same[i], want)
		}
	}
	if got[len(x)] != 0xdead {
		t.Fatalf("%d numbers: one more was written", len(x))
	}
}
