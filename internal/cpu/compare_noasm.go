//go:build !amd64 || noasm

package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// There are no vector comparisons in this build.

func vectorCompare(expr.Op, dtype.DType) binary                           { return binary{} }
func magnitudes(_ expr.Op, _ dtype.DType, _, _ unsafe.Pointer, _ int) int { return 0 }
