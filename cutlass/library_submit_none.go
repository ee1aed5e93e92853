//go:build !(cgo && linux && (amd64 || arm64) && !nocuda)

package cutlass

import (
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/submit"
)

// Submitted provides some entry points of a library through a queue. In a program without
// CUDA parts it calls the library directly.
type Submitted struct{ lib *Library }

// Submit returns the library's entry points.
func (l *Library) Submit(*submit.Queue, func() error) *Submitted { return &Submitted{l} }

// Failure returns ErrNotBuilt: no call is queued.
func (s *Submitted) Failure(uintptr, int) error { return ErrNotBuilt }

// Gemm is Library.Gemm.
func (s *Submitted) Gemm(device int, stream uint64, kernel int, g Gemm) error {
	return s.lib.Gemm(device, stream, kernel, g)
}

// Pad is Library.Pad.
func (s *Submitted) Pad(device int, stream uint64, t dtype.DType, a, b Padded) error {
	return s.lib.Pad(device, stream, t, a, b)
}

// Unary is Library.Unary.
func (s *Submitted) Unary(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, dst uint64, dstStrides []int,
) error {
	return s.lib.Unary(device, stream, op, xType, dstType, shape, x, xStrides, dst, dstStrides)
}

// Cast is Library.Cast.
func (s *Submitted) Cast(device int, stream uint64, xType, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, dst uint64, dstStrides []int,
) error {
	return s.lib.Cast(device, stream, xType, dstType, shape, x, xStrides, dst, dstStrides)
}

// Binary is Library.Binary.
func (s *Submitted) Binary(device int, stream uint64, op expr.Op, typ, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, y uint64, yStrides []int, lo, hi uint64, dst uint64, dstStrides []int,
) error {
	return s.lib.Binary(device, stream, op, typ, dstType, shape, x, xStrides, y, yStrides, lo, hi, dst, dstStrides)
}

// Ternary is Library.Ternary.
func (s *Submitted) Ternary(device int, stream uint64, op expr.Op, typ dtype.DType, shape []int,
	x uint64, xStrides []int, y uint64, yStrides []int, z uint64, zStrides []int, yLo, yHi, zLo, zHi uint64, dst uint64, dstStrides []int,
) error {
	return s.lib.Ternary(device, stream, op, typ, shape, x, xStrides, y, yStrides, z, zStrides, yLo, yHi, zLo, zHi, dst, dstStrides)
}

// Fill is Library.Fill.
func (s *Submitted) Fill(device int, stream uint64, typ dtype.DType, shape []int, lo, hi, dst uint64, dstStrides []int) error {
	return s.lib.Fill(device, stream, typ, shape, lo, hi, dst, dstStrides)
}

// Line is Library.Line.
func (s *Submitted) Line(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, dst uint64, dstStrides []int, gamma, beta uint64, eps float64,
) error {
	return s.lib.Line(device, stream, op, xType, dstType, shape, x, xStrides, dst, dstStrides, gamma, beta, eps)
}

// Reduce is Library.Reduce.
func (s *Submitted) Reduce(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int, axes uint32,
	x uint64, xStrides []int, dst, workspace uint64, workspaceBytes int64,
) error {
	return s.lib.Reduce(device, stream, op, xType, dstType, shape, axes, x, xStrides, dst, workspace, workspaceBytes)
}
