package cpu

import (
	"fmt"
	"runtime"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// Operand is a matrix to be read: element (i, j) is RS*i + CS*j elements after Data. The
// strides may be zero or negative. Conj conjugates every element and has no effect on real
// types. Panels, if not nil, are the panels of a right operand, which PackPanels wrote. A
// product for which KeepsPanels is true reads them instead of Data.
type Operand struct {
	Data   unsafe.Pointer
	RS, CS int
	Conj   bool
	Panels unsafe.Pointer
}

// Gemm computes the m x n product
//
//	C[i, j] = act(alpha * sum over p < k of A[i, p] B[p, j] + bias[j])
//
// of the m x k matrix A and the k x n matrix B, both of type t, into the
// row-major C of type out with ldc elements from one row to the next. C is
// overwritten and never read; it must not overlap A or B. ep may be nil.
//
//	t                    out                computed in
//	Float32, Float64     t                  t
//	16-bit floats        t or Float32       float32
//	Int8, Uint8          Int32              int32, wrapping
//	Int32, Int64         t                  t, wrapping
//	Complex64, 128       t                  float32, float64: four real products
//
// Any other pair is dtype.ErrDType, and so is an epilogue on a type that is
// not real floating-point. The bits of the result do not depend on
// GOMAXPROCS.
func Gemm(t, out dtype.DType, m, n, k int, a, b Operand, c unsafe.Pointer, ldc int, ep *Epilogue) error {
	if err := checkGemm(t, out, ep); err != nil {
		return err
	}
	gemm(t, out, m, n, k, a, b, c, ldc, ep)
	return nil
}

// GemmBatch is Gemm for a batch of products. aStep, bStep and cStep are the distances, in
// elements, between the operands and results of consecutive products.
func GemmBatch(t, out dtype.DType, batch, m, n, k int, a Operand, aStep int, b Operand, bStep int, c unsafe.Pointer, cStep, ldc int, ep *Epilogue) error {
	if err := checkGemm(t, out, ep); err != nil {
		return err
	}
	work := m * n * k
	if batch > 1 && work <= serialWork && work > serialWork/batch && runtime.GOMAXPROCS(0) > 1 {
		// One product is not worth a second goroutine, but all of them together are.
		grain := max(serialWork/tasksPerCPU/max(work, 1), 1)
		Parallel(batch, grain, func(lo, hi int) {
			gemms(t, out, lo, hi, m, n, k, a, aStep, b, bStep, c, cStep, ldc, ep)
		})
		return nil
	}
	gemms(t, out, 0, batch, m, n, k, a, aStep, b, bStep, c, cStep, ldc, ep)
	return nil
}

// gemms computes the products lo to hi of a batch.
func gemms(t, out dtype.DType, lo, hi, m, n, k int, a Operand, aStep int, b Operand, bStep int, c unsafe.Pointer, cStep, ldc int, ep *Epilogue) {
	for i := lo; i < hi; i++ {
		x, y := a, b
		if k > 0 { // an empty matrix has no address
			x.Data = unsafe.Add(a.Data, i*aStep*t.Size())
			y.Data = unsafe.Add(b.Data, i*bStep*t.Size())
		}
		gemm(t, out, m, n, k, x, y, unsafe.Add(c, i*cStep*out.Size()), ldc, ep)
	}
}

// checkGemm returns the errors that Gemm documents.
func checkGemm(t, out dtype.DType, ep *Epilogue) error {
	want := t
	switch {
	case t == dtype.Int8, t == dtype.Uint8:
		want = dtype.Int32
	case t.IsHalf() && out == dtype.Float32:
		want = out
	}
	if !t.HasProducts() || out != want {
		return errPair(t, out)
	}
	if !ep.isNone() && !t.IsFloat() {
		return fmt.Errorf("%w: bias, scale and activation need a floating-point product, not %v", dtype.ErrDType, t)
	}
	return nil
}

// gemm is Gemm without the checks of checkGemm.
func gemm(t, out dtype.DType, m, n, k int, a, b Operand, c unsafe.Pointer, ldc int, ep *Epilogue) {
	if t.IsHalf() {
		gemmHalf(t, out, m, n, k, a, b, c, ldc, ep)
		return
	}
	switch t {
	case dtype.Float32:
		gemmPlain(use32, m, n, k, a, b, (*float32)(c), ldc, ep)
	case dtype.Float64:
		gemmPlain(use64, m, n, k, a, b, (*float64)(c), ldc, ep)
	case dtype.Int8, dtype.Uint8:
		gemmBytes(t, m, n, k, a, b, (*int32)(c), ldc)
	case dtype.Int32:
		gemmInt[int32](m, n, k, a, b, (*int32)(c), ldc)
	case dtype.Int64:
		gemmInt[int64](m, n, k, a, b, (*int64)(c), ldc)
	case dtype.Complex64:
		gemmComplex(use32, use.c64, use.joinC64, m, n, k, a, b, (*complex64)(c), ldc)
	case dtype.Complex128:
		gemmComplex(use64, use.c128, use.joinC128, m, n, k, a, b, (*complex128)(c), ldc)
	}
}

func errPair(t, out dtype.DType) error {
	return fmt.Errorf("%w: no product of two %v matrices gives %v; Cast the operands or ask for another output", dtype.ErrDType, t, out)
}

func ptr[T any](p *T) unsafe.Pointer { return unsafe.Pointer(p) }
