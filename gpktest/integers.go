package gpktest

import (
	"fmt"
	"math/rand/v2"
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// integer lists the Go types of the integer element types.
type integer interface {
	int8 | int16 | int32 | int64 | uint8 | uint16 | uint32 | uint64
}

// testIntegers compares the operations on integers of all magnitudes, the extreme ones
// among them, with Go's own arithmetic on the same type.
func testIntegers(t *testing.T, s *suite) {
	wholeType[int8](t, s)
	wholeType[int16](t, s)
	wholeType[int32](t, s)
	wholeType[int64](t, s)
	wholeType[uint8](t, s)
	wholeType[uint16](t, s)
	wholeType[uint32](t, s)
	wholeType[uint64](t, s)
}

// magnitudes returns numbers of every magnitude of the type.
func magnitudes[T integer](rng *rand.Rand, n int) []T {
	x := make([]T, n)
	ones := ^T(0)
	for i := range x {
		x[i] = T(rng.Uint64() >> rng.IntN(64))
		switch rng.IntN(8) {
		case 0:
			x[i] = []T{0, 1, ones, ones >> 1, ^(ones >> 1), 2}[rng.IntN(6)]
		case 1:
			x[i] = ^x[i]
		}
	}
	return x
}

func wholeType[T integer](t *testing.T, s *suite) {
	const rows, cols = 37, 41
	x, y := magnitudes[T](s.rng, rows*cols), magnitudes[T](s.rng, rows*cols)
	a, b := gpk.FromSlice(x, rows, cols), gpk.FromSlice(y, rows, cols)
	dt := a.DType()
	negative := func(v T) bool { return v < 0 }
	width := T(8 * dt.Size())
	for _, c := range []struct {
		name string
		got  *gpk.Array
		want func(x, y T) T
	}{
		{"Add", a.Add(b), func(x, y T) T { return x + y }},
		{"Sub", a.Sub(b), func(x, y T) T { return x - y }},
		{"Mul", a.Mul(b), func(x, y T) T { return x * y }},
		{"And", a.And(b), func(x, y T) T { return x & y }},
		{"Or", a.Or(b), func(x, y T) T { return x | y }},
		{"Xor", a.Xor(b), func(x, y T) T { return x ^ y }},
		{"Maximum", a.Maximum(b), func(x, y T) T { return max(x, y) }},
		{"Minimum", a.Minimum(b), func(x, y T) T { return min(x, y) }},
		{"Shl", a.Shl(b), func(x, y T) T {
			if negative(y) || y >= width {
				return 0
			}
			return x << y
		}},
		{"Shr", a.Shr(b), func(x, y T) T {
			if negative(y) || y >= width {
				y = width - 1
				if !negative(x) {
					return 0
				}
			}
			return x >> y
		}},
		{"FloorDivide", a.FloorDivide(b), func(x, y T) T { q, _ := divided(x, y); return q }},
		{"Remainder", a.Remainder(b), func(x, y T) T { _, r := divided(x, y); return r }},
		{"Neg", a.Neg(), func(x, _ T) T { return -x }},
		{"Not", a.Not(), func(x, _ T) T { return ^x }},
		{"Square", a.Square(), func(x, _ T) T { return x * x }},
		{"Abs", a.Abs(), func(x, _ T) T {
			if negative(x) {
				return -x
			}
			return x
		}},
		{"ReLU", a.ReLU(), func(x, _ T) T { return max(x, 0) }},
		{"Sign", a.Sign(), func(x, _ T) T {
			switch {
			case negative(x):
				return ^T(0)
			case x == 0:
				return 0
			}
			return 1
		}},
		{"Clamp", a.Clamp(gpk.FromSlice(y[:cols]), gpk.FromSlice(y[cols:2*cols])), nil},
		{"Where", gpk.Where(a.Lt(b), a, b), func(x, y T) T { return min(x, y) }},
		{"a chain", a.Add(b).Mul(b).Maximum(a).Xor(b), func(x, y T) T { return max((x+y)*y, x) ^ y }},
	} {
		want := make([]T, len(x))
		for i := range want {
			if c.want == nil {
				want[i] = min(max(x[i], y[i%cols]), y[cols+i%cols])
				continue
			}
			want[i] = c.want(x[i], y[i])
		}
		sameWhole(t, fmt.Sprintf("%v: %s", dt, c.name), c.got, want)
	}
	wholeTruths(t, a, b, x, y)
	wholeFolds(t, a, x, rows, cols)
	wholeCasts(t, a, x)
}

// divided returns the greatest integer not above x / y, and the rest. Both are 0 for y = 0.
func divided[T integer](x, y T) (q, r T) {
	if y == 0 {
		return 0, 0
	}
	q, r = x/y, x%y
	if r != 0 && (r < 0) != (y < 0) {
		q, r = q-1, r+y
	}
	return q, r
}

// sameWhole fails unless a holds the elements.
func sameWhole[T gpk.Elem](t *testing.T, what string, a *gpk.Array, want []T) {
	t.Helper()
	got, err := gpk.ToSlice[T](a)
	if err != nil || len(got) != len(want) {
		t.Fatalf("%s: %d elements, want %d, %v", what, len(got), len(want), err)
	}
	for i, w := range want {
		if got[i] != w {
			t.Fatalf("%s: element %d is %v, want %v", what, i, got[i], w)
		}
	}
}

func wholeTruths[T integer](t *testing.T, a, b *gpk.Array, x, y []T) {
	t.Helper()
	for _, c := range []struct {
		name string
		got  *gpk.Array
		want func(x, y T) bool
	}{
		{"Eq", a.Eq(b), func(x, y T) bool { return x == y }},
		{"Ne", a.Ne(b), func(x, y T) bool { return x != y }},
		{"Lt", a.Lt(b), func(x, y T) bool { return x < y }},
		{"Le", a.Le(b), func(x, y T) bool { return x <= y }},
		{"Gt", a.Gt(b), func(x, y T) bool { return x > y }},
		{"Ge", a.Ge(b), func(x, y T) bool { return x >= y }},
		{"SignBit", a.SignBit(), func(x, _ T) bool { return x < 0 }},
	} {
		want := make([]bool, len(x))
		for i := range want {
			want[i] = c.want(x[i], y[i])
		}
		sameWhole(t, fmt.Sprintf("%v: %s", a.DType(), c.name), c.got, want)
	}
}

// wholeFolds compares reductions along both axes, sums along an axis and sorted rows.
func wholeFolds[T integer](t *testing.T, a *gpk.Array, x []T, rows, cols int) {
	t.Helper()
	dt := a.DType()
	for axis, n := range []int{rows, cols} {
		at := func(line, k int) T { // element k of a line along the axis
			if axis == 0 {
				return x[k*cols+line]
			}
			return x[line*cols+k]
		}
		lines := rows * cols / n
		var most, least []T
		var first []int64
		var sums, products []uint64
		for line := range lines {
			large, small, place, sum, product := at(line, 0), at(line, 0), 0, uint64(0), uint64(1)
			for k := range n {
				v := at(line, k)
				if v > large {
					large, place = v, k
				}
				small = min(small, v)
				sum += uint64(v)
				product *= uint64(v | 1)
			}
			most, least, first, sums, products = append(most, large), append(least, small), append(first, int64(place)), append(sums, sum), append(products, product)
		}
		what := func(op string) string { return fmt.Sprintf("%v: %s along %d", dt, op, axis) }
		sameWhole(t, what("Max"), a.Max(axis), most)
		sameWhole(t, what("Min"), a.Min(axis), least)
		sameWhole(t, what("ArgMax"), a.ArgMax(axis), first)
		odd := a.Or(1)
		if dt.SumType() == gpk.Uint64 {
			sameWhole(t, what("Sum"), a.Sum(axis), sums)
			sameWhole(t, what("Prod"), odd.Prod(axis), products)
			sameWhole(t, what("CumSum"), a.CumSum(axis).Slice(axis, n-1, n).Reshape(-1), sums)
		} else {
			sameWhole(t, what("Sum"), a.Sum(axis), signs(sums))
			sameWhole(t, what("Prod"), odd.Prod(axis), signs(products))
			sameWhole(t, what("CumSum"), a.CumSum(axis).Slice(axis, n-1, n).Reshape(-1), signs(sums))
		}
		sorted := a.Sort(axis, false)
		sameWhole(t, what("Sort"), sorted.Slice(axis, 0, 1).Reshape(-1), least)
		sameWhole(t, what("Sort"), sorted.Slice(axis, n-1, n).Reshape(-1), most)
		values, _ := a.TopK(1, axis)
		sameWhole(t, what("TopK"), values.Reshape(-1), most)
	}
}

// signs returns the numbers with these bits.
func signs(v []uint64) []int64 {
	out := make([]int64, len(v))
	for i, u := range v {
		out[i] = int64(u)
	}
	return out
}

// wholeCasts compares casts of extreme numbers to the integer types of 64 bits, which
// saturate, and to float64, which rounds.
func wholeCasts[T integer](t *testing.T, a *gpk.Array, x []T) {
	t.Helper()
	signed, unsigned, floats := make([]int64, len(x)), make([]uint64, len(x)), make([]float64, len(x))
	for i, v := range x {
		if signed[i], unsigned[i], floats[i] = int64(v), uint64(v), float64(v); v < 0 {
			unsigned[i] = 0
		} else if signed[i] < 0 {
			signed[i] = 1<<63 - 1
		}
	}
	dt := a.DType()
	for _, view := range []struct {
		name string
		of   func(a *gpk.Array) *gpk.Array
	}{
		{"dense", func(a *gpk.Array) *gpk.Array { return a }},
		{"strided", func(a *gpk.Array) *gpk.Array { return a.T().Contiguous().T() }},
	} {
		b := view.of(a)
		sameWhole(t, fmt.Sprintf("%v: %s Cast to int64", dt, view.name), b.Cast(gpk.Int64), signed)
		sameWhole(t, fmt.Sprintf("%v: %s Cast to uint64", dt, view.name), b.Cast(gpk.Uint64), unsigned)
		sameWhole(t, fmt.Sprintf("%v: %s Cast to float64", dt, view.name), b.Cast(gpk.Float64), floats)
		sameWhole(t, fmt.Sprintf("%v: %s Cast to uint64 and back", dt, view.name), b.Cast(gpk.Uint64).Cast(dt), clamped(x))
	}
}

// clamped returns the numbers, with 0 for the negative ones.
func clamped[T integer](x []T) []T {
	out := make([]T, len(x))
	for i, v := range x {
		out[i] = max(v, 0)
	}
	return out
}
