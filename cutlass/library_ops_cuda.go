//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#cgo noescape gpk_call_unary
#cgo nocallback gpk_call_unary
#cgo noescape gpk_call_binary
#cgo nocallback gpk_call_binary
#cgo noescape gpk_call_ternary
#cgo nocallback gpk_call_ternary
#cgo noescape gpk_call_line
#cgo nocallback gpk_call_line
#cgo noescape gpk_call_cast
#cgo nocallback gpk_call_cast
#cgo noescape gpk_call_fill
#cgo nocallback gpk_call_fill
#cgo noescape gpk_call_arange
#cgo nocallback gpk_call_arange
#cgo noescape gpk_call_reduce_workspace
#cgo nocallback gpk_call_reduce_workspace
#cgo noescape gpk_call_reduce
#cgo nocallback gpk_call_reduce

#include "entry.h"
#include "src/gpk.h"

static int gpk_call_unary(uintptr_t f, int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, const int64_t* shape,
                          uint64_t x, const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides) {
	return GPK_AS(gpk_unary)(device, stream, op, x_type, dst_type, ndim, shape, x, x_strides, dst, dst_strides);
}

static int gpk_call_binary(uintptr_t f, int device, uint64_t stream, int op, int type, int dst_type, int ndim, const int64_t* shape,
                           uint64_t x, const int64_t* x_strides, uint64_t y, const int64_t* y_strides,
                           uint64_t lo, uint64_t hi, uint64_t dst, const int64_t* dst_strides) {
	return GPK_AS(gpk_binary)(device, stream, op, type, dst_type, ndim, shape, x, x_strides, y, y_strides, lo, hi, dst, dst_strides);
}

static int gpk_call_ternary(uintptr_t f, int device, uint64_t stream, int op, int type, int ndim, const int64_t* shape,
                            uint64_t x, const int64_t* x_strides, uint64_t y, const int64_t* y_strides, uint64_t z, const int64_t* z_strides,
                            uint64_t y_lo, uint64_t y_hi, uint64_t z_lo, uint64_t z_hi, uint64_t dst, const int64_t* dst_strides) {
	return GPK_AS(gpk_ternary)(device, stream, op, type, ndim, shape, x, x_strides, y, y_strides, z, z_strides, y_lo, y_hi, z_lo, z_hi, dst, dst_strides);
}

static int gpk_call_line(uintptr_t f, int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, const int64_t* shape,
                         uint64_t x, const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides, uint64_t gamma, uint64_t beta, double eps) {
	return GPK_AS(gpk_line)(device, stream, op, x_type, dst_type, ndim, shape, x, x_strides, dst, dst_strides, gamma, beta, eps);
}

static int gpk_call_cast(uintptr_t f, int device, uint64_t stream, int x_type, int dst_type, int ndim, const int64_t* shape,
                         uint64_t x, const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides) {
	return GPK_AS(gpk_cast)(device, stream, x_type, dst_type, ndim, shape, x, x_strides, dst, dst_strides);
}

static int gpk_call_fill(uintptr_t f, int device, uint64_t stream, int type, int ndim, const int64_t* shape,
                         uint64_t lo, uint64_t hi, uint64_t dst, const int64_t* dst_strides) {
	return GPK_AS(gpk_fill)(device, stream, type, ndim, shape, lo, hi, dst, dst_strides);
}

static int gpk_call_arange(uintptr_t f, int device, uint64_t stream, int type, int64_t n, uint64_t start, uint64_t step, uint64_t dst) {
	return GPK_AS(gpk_arange)(device, stream, type, n, start, step, dst);
}

static int64_t gpk_call_reduce_workspace(uintptr_t f, int device, int op, int x_type, int dst_type, int ndim, const int64_t* shape, uint32_t axes) {
	return GPK_AS(gpk_reduce_workspace)(device, op, x_type, dst_type, ndim, shape, axes);
}

static int gpk_call_reduce(uintptr_t f, int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, const int64_t* shape,
                           uint32_t axes, uint64_t x, const int64_t* x_strides, uint64_t dst, uint64_t workspace, int64_t workspace_bytes) {
	return GPK_AS(gpk_reduce)(device, stream, op, x_type, dst_type, ndim, shape, axes, x, x_strides, dst, workspace, workspace_bytes);
}
*/
import "C"

import (
	"math"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// opsEntries are the addresses of the library's functions for element-wise operations, reductions and norms.
type opsEntries struct {
	unary, binary, ternary, line, cast, fill, arange, reduceSpace, reduce C.uintptr_t
}

// Unary enqueues dst = op(x).
func (l *Library) Unary(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, dst uint64, dstStrides []int,
) error {
	if err := checkDims("gpk_unary", shape, xStrides, dstStrides); err != nil {
		return err
	}
	return l.check("gpk_unary", C.gpk_call_unary(l.entries.unary, C.int(device), C.uint64_t(stream), C.int(op),
		C.int(xType), C.int(dstType), C.int(len(shape)), numbers(shape),
		C.uint64_t(x), numbers(xStrides), C.uint64_t(dst), numbers(dstStrides)))
}

// Binary enqueues dst = op(x, y). An operand at address 0 is the scalar with the 16 bytes
// lo and hi; at most one operand is a scalar.
func (l *Library) Binary(device int, stream uint64, op expr.Op, typ, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, y uint64, yStrides []int, lo, hi uint64, dst uint64, dstStrides []int,
) error {
	if err := checkDims("gpk_binary", shape, xStrides, yStrides, dstStrides); err != nil {
		return err
	}
	return l.check("gpk_binary", C.gpk_call_binary(l.entries.binary, C.int(device), C.uint64_t(stream), C.int(op),
		C.int(typ), C.int(dstType), C.int(len(shape)), numbers(shape),
		C.uint64_t(x), numbers(xStrides), C.uint64_t(y), numbers(yStrides),
		C.uint64_t(lo), C.uint64_t(hi), C.uint64_t(dst), numbers(dstStrides)))
}

// Ternary enqueues dst = op(x, y, z). y or z at address 0 is the scalar with the 16 bytes
// yLo and yHi, or zLo and zHi.
func (l *Library) Ternary(device int, stream uint64, op expr.Op, typ dtype.DType, shape []int,
	x uint64, xStrides []int, y uint64, yStrides []int, z uint64, zStrides []int, yLo, yHi, zLo, zHi uint64, dst uint64, dstStrides []int,
) error {
	if err := checkDims("gpk_ternary", shape, xStrides, yStrides, zStrides, dstStrides); err != nil {
		return err
	}
	return l.check("gpk_ternary", C.gpk_call_ternary(l.entries.ternary, C.int(device), C.uint64_t(stream), C.int(op),
		C.int(typ), C.int(len(shape)), numbers(shape),
		C.uint64_t(x), numbers(xStrides), C.uint64_t(y), numbers(yStrides), C.uint64_t(z), numbers(zStrides),
		C.uint64_t(yLo), C.uint64_t(yHi), C.uint64_t(zLo), C.uint64_t(zHi), C.uint64_t(dst), numbers(dstStrides)))
}

// Line enqueues dst = op(x) along the last dimension; gamma and beta may be 0.
func (l *Library) Line(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, dst uint64, dstStrides []int, gamma, beta uint64, eps float64,
) error {
	if err := checkDims("gpk_line", shape, xStrides, dstStrides); err != nil {
		return err
	}
	return l.check("gpk_line", C.gpk_call_line(l.entries.line, C.int(device), C.uint64_t(stream), C.int(op),
		C.int(xType), C.int(dstType), C.int(len(shape)), numbers(shape),
		C.uint64_t(x), numbers(xStrides), C.uint64_t(dst), numbers(dstStrides), C.uint64_t(gamma), C.uint64_t(beta), C.double(eps)))
}

// Cast enqueues dst = x converted to dstType; equal types copy.
func (l *Library) Cast(device int, stream uint64, xType, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, dst uint64, dstStrides []int,
) error {
	if err := checkDims("gpk_cast", shape, xStrides, dstStrides); err != nil {
		return err
	}
	return l.check("gpk_cast", C.gpk_call_cast(l.entries.cast, C.int(device), C.uint64_t(stream),
		C.int(xType), C.int(dstType), C.int(len(shape)), numbers(shape),
		C.uint64_t(x), numbers(xStrides), C.uint64_t(dst), numbers(dstStrides)))
}

// Fill enqueues dst = the element with the 16 bytes lo and hi.
func (l *Library) Fill(device int, stream uint64, typ dtype.DType, shape []int, lo, hi uint64, dst uint64, dstStrides []int) error {
	if err := checkDims("gpk_fill", shape, dstStrides); err != nil {
		return err
	}
	return l.check("gpk_fill", C.gpk_call_fill(l.entries.fill, C.int(device), C.uint64_t(stream), C.int(typ),
		C.int(len(shape)), numbers(shape), C.uint64_t(lo), C.uint64_t(hi), C.uint64_t(dst), numbers(dstStrides)))
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

// Reduce enqueues the reduction of x over the dimensions whose bit is set in
// axes; dst is dense over the remaining ones, in order.
func (l *Library) Reduce(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int, axes uint32,
	x uint64, xStrides []int, dst, workspace uint64, workspaceBytes int64,
) error {
	if err := checkDims("gpk_reduce", shape, xStrides); err != nil {
		return err
	}
	return l.check("gpk_reduce", C.gpk_call_reduce(l.entries.reduce, C.int(device), C.uint64_t(stream), C.int(op),
		C.int(xType), C.int(dstType), C.int(len(shape)), numbers(shape), C.uint32_t(axes),
		C.uint64_t(x), numbers(xStrides), C.uint64_t(dst), C.uint64_t(workspace), C.int64_t(workspaceBytes)))
}
