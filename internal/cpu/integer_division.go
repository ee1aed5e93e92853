package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/gpk-go/gpk/expr"
)

// divisor divides numbers v, 0 <= v < 2^63, by a number d > 1 with a product and a shift:
//
//	floor(v / d) = floor(v factor / 2^(64+shift))
//
// (Granlund and Montgomery, Division by invariant integers using multiplication, 1994, theorem 4.2 with N = 63).
type divisor struct {
	factor uint64
	shift  uint
}

func newDivisor(d int64) divisor {
	shift := bits.Len64(uint64(d)-1) - 1
	q, _ := bits.Div64(1<<shift, 0, uint64(d))
	return divisor{q + 1, uint(shift)}
}

// floors sets dst[i] to x[i] divided by d, rounded down. For a negative v that is ^(^v / d).
func floors[T integer](dst, x []T, d divisor) {
	dst = dst[:len(x)]
	if whole := len(x) &^ 7; castAVX512 && unsafe.Sizeof(T(0)) == 8 && whole > 0 {
		floors64(unsafe.Pointer(&dst[0]), unsafe.Pointer(&x[0]), whole, d)
		dst, x = dst[whole:], x[whole:]
	}
	factor, shift := d.factor, d.shift&63
	for i, v := range x {
		sign := int64(v) >> 63
		high, _ := bits.Mul64(uint64(int64(v)^sign), factor)
		dst[i] = T(int64(high>>shift) ^ sign)
	}
}

// remainders sets dst[i] to x[i] minus number times its quotient of floors, where d divides by number > 1.
func remainders[T integer](dst, x []T, number T, d divisor) {
	dst = dst[:len(x)]
	factor, shift := d.factor, d.shift&63
	for i, v := range x {
		sign := int64(v) >> 63
		high, _ := bits.Mul64(uint64(int64(v)^sign), factor)
		dst[i] = v - T(int64(high>>shift)^sign)*number
	}
}

// byNumber returns k, the kernels of FloorDivide or Remainder, with one that divides by a positive number faster than
// the processor does.
func (ints[T]) byNumber(op expr.Op, k binary) binary {
	if lo, hi := bounds[T](); lo == 0 && uint64(hi) > 1<<63 {
		return k // uint64
	}
	slow := k.vs
	k.vs = func(dst, x, y unsafe.Pointer, n int) {
		by := *(*T)(y)
		if by <= 0 {
			slow(dst, x, y, n)
			return
		}
		d, a := pair[T, T](dst, x, n)
		switch {
		case op == expr.FloorDivide && by == 1:
			copy(d, a)
		case op == expr.FloorDivide:
			floors(d, a, newDivisor(int64(by)))
		case by == 1:
			clear(d)
		default:
			remainders(d, a, by, newDivisor(int64(by)))
		}
	}
	return k
}
