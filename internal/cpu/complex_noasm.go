//go:build !amd64 || noasm

package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// There are no vector operations on complex numbers in this build.

func vectorComplex(expr.Op, dtype.DType) binary { return binary{} }

func vectorComplexUnary(expr.Op, dtype.DType, func(dst, x unsafe.Pointer, n int)) func(dst, x unsafe.Pointer, n int) {
	return nil
}

func vectorReals[R float32 | float64](_, _ unsafe.Pointer, _ int) int { return 0 }
