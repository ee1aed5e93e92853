//go:build !amd64 || noasm

package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// There are no vector operations on integers in this build.

func vectorIntegers(expr.Op, dtype.DType) binary                       { return binary{} }
func vectorClamp(dtype.DType) func(dst, x, y, z unsafe.Pointer, n int) { return nil }
func vectorAbs(dtype.DType) func(dst, x unsafe.Pointer, n int)         { return nil }

func vectorExtremes[T number]() (_, _ func(x []T) T) { return nil, nil }

func vectorSum[T integer]([]T) (sum int64, n int) { return 0, 0 }
