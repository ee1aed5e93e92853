package cpu

import (
	"math/bits"

	"github.com/mmcloughlin/avo/operand"
)

// fused adds fused multiply-adds, which round once and overwrite their first operand to floats.
type fused struct{ floats }

// fma213 writes a = a b + c.
func (v fused) fma213(a, b vector, c operand.Op) {
	v.write(v.ofType(instruction{v.c.VFMADD213PD, v.c.VFMADD213PD_BCST}, instruction{v.c.VFMADD213PS, v.c.VFMADD213PS_BCST}), c, b, a)
}

// fms213 writes a = a b - c.
func (v fused) fms213(a, b, c vector) {
	v.write(v.ofType(instruction{plain: v.c.VFMSUB213PD}, instruction{plain: v.c.VFMSUB213PS}), c, b, a)
}

// plusProduct writes a = a + b c.
func (v fused) plusProduct(a, b vector, c operand.Op) {
	v.write(v.ofType(instruction{v.c.VFMADD231PD, v.c.VFMADD231PD_BCST}, instruction{v.c.VFMADD231PS, v.c.VFMADD231PS_BCST}), c, b, a)
}

// lessProduct writes a = a - b c.
func (v fused) lessProduct(a, b vector, c operand.Op) {
	v.write(v.ofType(instruction{v.c.VFNMADD231PD, v.c.VFNMADD231PD_BCST}, instruction{v.c.VFNMADD231PS, v.c.VFNMADD231PS_BCST}), c, b, a)
}

// alternate returns the polynomial in x with the n coefficients of that name as the sum of two polynomials in z = x^2: the even
// powers and the odd ones.
func (v fused) alternate(name string, n int, x, z vector) vector {
	a, b := v.load(v.ki(name, 0)), v.load(v.ki(name, 1))
	for i := 2; i < n; i++ {
		v.fma213(a, z, v.ki(name, i))
		a, b = b, a
	}
	v.plusProduct(b, a, x) // the last step was that of the even powers
	return b
}

// horner returns the polynomial in x with the n coefficients of that name.
func (v fused) horner(name string, n int, x vector) vector {
	p := v.load(v.ki(name, 0))
	for i := 1; i < n; i++ {
		v.fma213(p, x, v.ki(name, i))
	}
	return p
}

// estrin returns the polynomial in x with the n coefficients of that name, lowest first. It performs the operations of the Go
// function of its name.
func (v fused) estrin(name string, n int, x vector) vector {
	powers := []vector{x}
	for i := 2; i < n; i *= 2 {
		last := powers[len(powers)-1]
		powers = append(powers, v.mul(last, last))
	}
	var of func(from, n int) operand.Op
	of = func(from, n int) operand.Op {
		if n == 1 {
			return v.ki(name, from)
		}
		power := bits.Len(uint(n-1)) - 1
		low := of(from, 1<<power)
		if k, ok := low.(constant); ok {
			low = v.load(k)
		}
		v.plusProduct(low.(vector), powers[power], of(from+1<<power, n-1<<power))
		return low
	}
	return of(0, n).(vector)
}
