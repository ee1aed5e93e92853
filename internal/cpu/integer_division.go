package cpu

import (
	"math/bits"
	"unsafe"

	"github.com/gpk-go/gpk/expr"
)

// divisor divides numbers v, 0 <= v < 2^63, by a number d > 0 with a product and a shift: for d > 1,
//
//	floor(v / d) = floor(v factor / 2^(64+shift))
//
// (Granlund and Montgomery, Division by invariant integers using multiplication, 1994, theorem 4.2 with N = 63).
type divisor struct {
	d, factor uint64
	shift     int
}

func newDivisor(d int64) divisor {
	if d == 1 {
		return divisor{d: 1}
	}
	shift := bits.Len64(uint64(d)-1) - 1
	q, _ := bits.Div64(1<<shift, 0, uint64(d))
	return divisor{uint64(d), q + 1, shift}
}

// floor returns v divided by d, rounded down. For a negative v that is ^(^v / d).
func (k *divisor) floor(v int64) int64 {
	if k.d == 1 {
		return v
	}
	sign := v >> 63
	high, _ := bits.Mul64(uint64(v^sign), k.factor)
	return int64(high>>k.shift) ^ sign
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
		div := newDivisor(int64(by))
		if op == expr.FloorDivide {
			for i, v := range a {
				d[i] = T(div.floor(int64(v)))
			}
			return
		}
		for i, v := range a {
			d[i] = v - T(div.floor(int64(v)))*by
		}
	}
	return k
}
