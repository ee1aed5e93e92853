package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// Entries for one type each.

// GemmHalf computes C = A B for the half types: t is Float16 or BFloat16, out
// is t or Float32. Sums are float32; ep may be nil. See Gemm.
func GemmHalf(t, out dtype.DType, m, n, k int, a Operand, b Operand, c unsafe.Pointer, crs int, ep *Epilogue) error {
	if !t.IsHalf() {
		return errPair(t, out)
	}
	return Gemm(t, out, m, n, k, a, b, c, crs, ep)
}

// GemmInt computes C = A B for integers: t is Int8 or Uint8 with an Int32 C,
// or Int32 or Int64 with a C of that type. Sums wrap. See Gemm.
func GemmInt(t dtype.DType, m, n, k int, a, b Operand, c unsafe.Pointer, crs int) error {
	out := t
	switch t {
	case dtype.Int8, dtype.Uint8:
		out = dtype.Int32
	case dtype.Int32, dtype.Int64:
	default:
		return errPair(t, t)
	}
	return Gemm(t, out, m, n, k, a, b, c, crs, nil)
}

// GemmComplex64 computes C = A B, with A or B conjugated on request, by four real products
// in float32. Strides are in complex elements; see Gemm.
func GemmComplex64(m, n, k int, a *complex64, ars, acs int, conjA bool, b *complex64, brs, bcs int, conjB bool, c *complex64, crs int) {
	gemmComplex(use32, use.c64, use.joinC64, m, n, k,
		Operand{Data: ptr(a), RS: ars, CS: acs, Conj: conjA}, Operand{Data: ptr(b), RS: brs, CS: bcs, Conj: conjB}, c, crs)
}

// GemmComplex128 is like GemmComplex64, in float64.
func GemmComplex128(m, n, k int, a *complex128, ars, acs int, conjA bool, b *complex128, brs, bcs int, conjB bool, c *complex128, crs int) {
	gemmComplex(use64, use.c128, use.joinC128, m, n, k,
		Operand{Data: ptr(a), RS: ars, CS: acs, Conj: conjA}, Operand{Data: ptr(b), RS: brs, CS: bcs, Conj: conjB}, c, crs)
}

// Gemm32 computes C = A B in float32: A is m x k with element strides ars and
// acs, B k x n with brs and bcs, C row-major with row pitch crs. See Gemm.
func Gemm32(m, n, k int, a *float32, ars, acs int, b *float32, brs, bcs int, c *float32, crs int) {
	gemmPlain(use32, m, n, k, Operand{Data: ptr(a), RS: ars, CS: acs}, Operand{Data: ptr(b), RS: brs, CS: bcs}, c, crs, nil)
}

// Gemm64 is like Gemm32, in float64.
func Gemm64(m, n, k int, a *float64, ars, acs int, b *float64, brs, bcs int, c *float64, crs int) {
	gemmPlain(use64, m, n, k, Operand{Data: ptr(a), RS: ars, CS: acs}, Operand{Data: ptr(b), RS: brs, CS: bcs}, c, crs, nil)
}
