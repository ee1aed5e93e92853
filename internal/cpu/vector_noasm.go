//go:build !amd64 || noasm

package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

func vectorBinary32(expr.Op) binary { return binary{} }

func vectorBinary64(expr.Op) binary { return binary{} }

func numbersClamp(dtype.DType, unsafe.Pointer, unsafe.Pointer) func(dst, x unsafe.Pointer, n int) {
	return nil
}

func streams(int) bool { return false }

func copyBytes(dst, src unsafe.Pointer, n int) {
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
}

func stream(dst, src unsafe.Pointer, n int) { copyBytes(dst, src, n) }

func fenceStores() {}

// sumKernels holds the assembly loops for sums of type A. They are nil if there is no assembly.
type sumKernels[A sum] struct {
	chunk    func(x unsafe.Pointer) A
	products func(x, y unsafe.Pointer) A
	rows     func(dst, x unsafe.Pointer, pitch, n int)
	add      func(dst, x, y unsafe.Pointer, n int)
	width    int
}

func newSumKernels[A sum]() sumKernels[A] { return sumKernels[A]{} }
