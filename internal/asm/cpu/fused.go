package cpu

import "github.com/mmcloughlin/avo/operand"

// fused adds fused multiply-adds, which round once and overwrite their first operand to doubles.
type fused struct{ doubles }

// fma213 writes a = a b + c.
func (v fused) fma213(a, b vector, c operand.Op) {
	v.write(instruction{v.c.VFMADD213PD, v.c.VFMADD213PD_BCST}, c, b, a)
}

// fms213 writes a = a b - c.
func (v fused) fms213(a, b, c vector) { v.c.VFMSUB213PD(c, b, a) }

// plusProduct writes a = a + b c.
func (v fused) plusProduct(a, b vector, c operand.Op) {
	v.write(instruction{v.c.VFMADD231PD, v.c.VFMADD231PD_BCST}, c, b, a)
}

// lessProduct writes a = a - b c.
func (v fused) lessProduct(a, b vector, c operand.Op) {
	v.write(instruction{v.c.VFNMADD231PD, v.c.VFNMADD231PD_BCST}, c, b, a)
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
