package cpu

import (
	"math"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestUnique compares Unique of sorted numbers with the first occurrences in the unsorted ones, bit for bit.
func TestUnique(t *testing.T) {
	rng := testrand.New(t)
	negativeZero, nan := math.Copysign(0, -1), []float64{math.NaN(), math.Float64frombits(0x7ff8<<48 | 5), math.Float64frombits(0xfff8<<48 | 3)}
	for range 3000 {
		n, kinds := 1+rng.IntN(40), 1+rng.IntN(12)
		x := make([]float64, 2*n) // every second one counts
		for i := range x {
			switch v := rng.IntN(kinds + 3); {
			case v < kinds:
				x[i] = float64(v - kinds/2)
			case v == kinds:
				x[i] = negativeZero
			default:
				x[i] = nan[rng.IntN(len(nan))]
			}
		}
		var want []float64
		sorted := make([]float64, 0, n)
		for i := 0; i < len(x); i += 2 {
			v := x[i]
			if !slices.ContainsFunc(want, func(w float64) bool { return v == w || v != v && w != w }) {
				want = append(want, v)
			}
			sorted = append(sorted, v)
		}
		order := func(a, b float64) int { // NaN last
			switch {
			case a < b || a == a && b != b:
				return -1
			case b < a || b == b && a != a:
				return 1
			}
			return 0
		}
		slices.SortFunc(want, order)
		slices.SortFunc(sorted, order)
		k := Unique(dtype.Float64, n, at0(x), 2, at0(sorted))
		if !slices.EqualFunc(sorted[:k], want, func(a, b float64) bool { return math.Float64bits(a) == math.Float64bits(b) }) {
			t.Fatalf("of %v: %v, want %v", x, sorted[:k], want)
		}
	}
}

// TestUniqueHalves has both zeros and a NaN among float16.
func TestUniqueHalves(t *testing.T) {
	const minus, zero, one, nan, other, negative = 0x8000, 0, 0x3c00, 0x7e00, 0x7e01, 0xbc00
	for _, c := range []struct{ x, sorted, want []uint16 }{
		{[]uint16{one, zero, minus, one}, []uint16{minus, zero, one, one}, []uint16{zero, one}},
		{[]uint16{minus, zero}, []uint16{minus, zero}, []uint16{minus}},
		{[]uint16{nan, one, other, negative}, []uint16{negative, one, other, nan}, []uint16{negative, one, nan}},
		{[]uint16{other}, []uint16{nan}, []uint16{other}},
		{[]uint16{zero, negative, one}, []uint16{negative, zero, one}, []uint16{negative, zero, one}},
	} {
		k := Unique(dtype.Float16, len(c.x), at0(c.x), 1, at0(c.sorted))
		if !slices.Equal(c.sorted[:k], c.want) {
			t.Errorf("of %x: %x, want %x", c.x, c.sorted[:k], c.want)
		}
	}
}

// TestPutAlong compares PutAlong with writes in row-major order.
func TestPutAlong(t *testing.T) {
	rng := testrand.New(t)
	for range 500 {
		shape := []int{1 + rng.IntN(6), 1 + rng.IntN(6), 1 + rng.IntN(6)}
		axis, n := rng.IntN(3), 1+rng.IntN(5)
		to := slices.Clone(shape)
		to[axis] = n
		is, vs, ds := []int{shape[1] * shape[2], shape[2], 1}, []int{1, shape[0], shape[0] * shape[1]}, []int{to[1] * to[2], to[2], 1}
		indices, values := make([]int32, shape[0]*shape[1]*shape[2]), make([]int16, shape[0]*shape[1]*shape[2])
		for i := range indices {
			indices[i], values[i] = int32(rng.IntN(2*n)-n), int16(i+1)
		}
		got, want := make([]int16, to[0]*to[1]*to[2]), make([]int16, to[0]*to[1]*to[2])
		for i := range shape[0] {
			for j := range shape[1] {
				for k := range shape[2] {
					at := []int{i, j, k}
					at[axis] = (int(indices[i*is[0]+j*is[1]+k]) + n) % n
					want[at[0]*ds[0]+at[1]*ds[1]+at[2]] = values[i*vs[0]+j*vs[1]+k*vs[2]]
				}
			}
		}
		PutAlong(2, dtype.Int32, shape, axis, n, at0(indices), is, at0(values), vs, at0(got), ds)
		if !slices.Equal(got, want) {
			t.Fatalf("%v along axis %d of %v: %v, want %v", shape, axis, to, got, want)
		}
	}
}
