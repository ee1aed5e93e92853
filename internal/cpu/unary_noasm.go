//go:build !amd64 || noasm

package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

func vectorUnary(expr.Op, dtype.DType) func(dst, x unsafe.Pointer, n int) { return nil }
