//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_arange
#cgo nocallback gpk_call_arange
#cgo noescape gpk_call_reduce_workspace
#cgo nocallback gpk_call_reduce_workspace

#include "entry.h"
#include "src/gpk.h"

static int gpk_call_arange(uintptr_t f, int device, uint64_t stream, int type, int64_t n, uint64_t start, uint64_t step, uint64_t dst) {
	return GPK_AS(gpk_arange)(device, stream, type, n, start, step, dst);
}

static int64_t gpk_call_reduce_workspace(uintptr_t f, int device, int op, int x_type, int dst_type, int ndim, const int64_t* shape, uint32_t axes) {
	return GPK_AS(gpk_reduce_workspace)(device, op, x_type, dst_type, ndim, shape, axes);
}
*/
import "C"

import (
	"math"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// opsEntries are the addresses of the library's functions for ranges and for the workspace of reductions.
type opsEntries struct {
	arange, reduceSpace C.uintptr_t
}

// Arange enqueues dst[i] = start + i·step, i < n; dst is dense. Integer types use the
// integer parts of start and step.
func (l *Library) Arange(device int, stream uint64, typ dtype.DType, n int, start, step float64, dst uint64) error {
	lo, hi := math.Float64bits(start), math.Float64bits(step)
	if typ.IsInteger() {
		lo, hi = uint64(int64(start)), uint64(int64(step))
	}
	return l.check("gpk_arange", C.gpk_call_arange(l.entries.arange, C.int(device), C.uint64_t(stream), C.int(typ),
		C.int64_t(n), C.uint64_t(lo), C.uint64_t(hi), C.uint64_t(dst)))
}

// ReduceWorkspace returns the bytes of workspace that Reduce needs.
func (l *Library) ReduceWorkspace(device int, op expr.Op, xType, dstType dtype.DType, shape []int, axes uint32) (int64, error) {
	if err := checkDims("gpk_reduce_workspace", shape); err != nil {
		return 0, err
	}
	return l.bytes("gpk_reduce_workspace", C.gpk_call_reduce_workspace(l.entries.reduceSpace, C.int(device), C.int(op),
		C.int(xType), C.int(dstType), C.int(len(shape)), numbers(shape), C.uint32_t(axes)))
}
