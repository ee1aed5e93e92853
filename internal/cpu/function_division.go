package cpu

import (
	"math"
	"unsafe"
)

// Functions that round, divide and copy signs.

func truncF64(x float64) float64 { return math.Trunc(x) }

func truncInt[T integer](x T) T { return x }

func reciprocalF64(x float64) float64 { return 1 / x }

func reciprocalC128(x complex128) complex128 { return div128(1, x) }

func copySignF64(x, y float64) float64 { return math.Copysign(x, y) }

// copySigns computes CopySign on the bits of floating-point numbers.
func copySigns[W uint32 | uint64](dst, x, y unsafe.Pointer, n int) {
	sign := ^(^W(0) >> 1)
	d, a, b := vectors[W](dst, x, y, n)
	for i := range d {
		d[i] = a[i]&^sign | b[i]&sign
	}
}

// mod64 returns math.Mod(x, y), except for the sign of a 0.
//
// The rounded quotient is truncated to the integer part n of x/y, or to n + 1 if x/y is too close to that. The remainders
// x - n y and x - (n + 1) y are multiples of the last bit of x or of y and at most |y|, so the fused multiply-add is exact.
// The second one has the sign opposite to that of x, and differs by |y| from the first one.
func mod64(x, y float64) float64 {
	q := math.Trunc(x / y)
	if math.Abs(q) < 1<<52 {
		r := math.FMA(-q, y, x)
		if r == r { // y is finite
			if r != 0 && (r < 0) != (x < 0) {
				r += math.Copysign(y, x)
			}
			return r
		}
	}
	return math.Mod(x, y)
}

// floorDivideF64 divides x minus the remainder, which is a multiple of y except for
// rounding. The special cases are those of Python's and NumPy's floor division.
func floorDivideF64(x, y float64) float64 {
	if y == 0 {
		return x / y
	}
	r := mod64(x, y)
	q := (x - r) / y
	if r != 0 && (r < 0) != (y < 0) {
		q--
	}
	if q == 0 {
		return math.Copysign(0, x/y)
	}
	n := math.Floor(q)
	if q-n > 0.5 {
		n++
	}
	return n
}

// remainderF64 returns the exact remainder of a truncated division, plus y if the signs
// differ.
func remainderF64(x, y float64) float64 {
	r := mod64(x, y)
	switch {
	case r == 0:
		return math.Copysign(0, y)
	case (r < 0) != (y < 0) && r == r && y == y:
		return r + y
	}
	return r
}

func floorDivideInt[T integer](x, y T) T {
	if y == 0 {
		return 0
	}
	q := x / y
	if q*y != x && (x < 0) != (y < 0) {
		q--
	}
	return q
}

func remainderInt[T integer](x, y T) T {
	if y == 0 {
		return 0
	}
	r := x % y
	if r != 0 && (r < 0) != (y < 0) {
		r += y
	}
	return r
}
