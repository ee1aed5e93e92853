package cutlass

import (
	"math"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// queuedEntry is an entry point that a queue can call.
type queuedEntry int

const (
	entryGemm queuedEntry = iota + 1
	entryPad
	entryUnary
	entryCast
	entryBinary
	entryTernary
	entryFill
	entryLine
	entryReduce
	entryAttention
	entryEmbedNorm
	entryPool
	entryNormResidual
)

// kind is the part of a call on which the library's support depends.
type kind struct {
	entry         queuedEntry
	op, from, to  int32
	dims, numbers int32
}

// Gemm enqueues a product by the kernel with that index (KernelIndex).
func (c *calls) Gemm(device int, stream uint64, kernel int, g Gemm) error {
	k := kind{entry: entryGemm, op: int32(kernel), from: int32(g.Act), to: int32(g.Guard)}
	if g.Bias != 0 {
		k.numbers = 1
	}
	return c.call(k, []uint64{
		uint64(device), stream, uint64(kernel),
		uint64(g.M), uint64(g.N), uint64(g.K), uint64(g.Batch),
		g.A, uint64(g.LDA), uint64(g.StrideA), g.B, uint64(g.LDB), uint64(g.StrideB), g.D, uint64(g.LDD), uint64(g.StrideD),
		g.Bias, uint64(g.Act), math.Float64bits(g.AlphaRe), math.Float64bits(g.AlphaIm),
		g.ScaleA, g.ScaleB, g.LowA, g.LowB, uint64(g.Guard), g.GuardA, g.GuardB, uint64(g.GuardLimit),
		g.Workspace, uint64(g.WorkspaceBytes),
	})
}

// Pad enqueues aligned copies of one operand of type t or of both.
func (c *calls) Pad(device int, stream uint64, t dtype.DType, a, b Padded) error {
	return c.call(kind{entry: entryPad, from: int32(t)}, []uint64{
		uint64(device), stream, uint64(t),
		a.Source, uint64(a.Batch), uint64(a.Lines), uint64(a.Length), uint64(a.Pitch), uint64(a.Member),
		a.Copy, uint64(a.CopyLines), uint64(a.CopyLength), uint64(a.CopyPitch), uint64(a.CopyMember),
		b.Source, uint64(b.Batch), uint64(b.Lines), uint64(b.Length), uint64(b.Pitch), uint64(b.Member),
		b.Copy, uint64(b.CopyLines), uint64(b.CopyLength), uint64(b.CopyPitch), uint64(b.CopyMember),
	})
}

// Unary enqueues dst = op(x).
func (c *calls) Unary(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, dst uint64, dstStrides []int,
) error {
	k := kind{entry: entryUnary, op: int32(op), from: int32(xType), to: int32(dstType), dims: int32(len(shape))}
	return c.call(k, []uint64{
		uint64(device), stream, uint64(op), uint64(xType), uint64(dstType), uint64(len(shape)), x, dst,
	}, shape, xStrides, dstStrides)
}

// Cast enqueues dst = x converted to dstType; equal types copy.
func (c *calls) Cast(device int, stream uint64, xType, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, dst uint64, dstStrides []int,
) error {
	k := kind{entry: entryCast, from: int32(xType), to: int32(dstType), dims: int32(len(shape))}
	return c.call(k, []uint64{
		uint64(device), stream, uint64(xType), uint64(dstType), uint64(len(shape)), x, dst,
	}, shape, xStrides, dstStrides)
}

// Binary enqueues dst = op(x, y). An operand at address 0 is the scalar with the 16 bytes
// lo and hi; at most one operand is a scalar.
func (c *calls) Binary(device int, stream uint64, op expr.Op, typ, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, y uint64, yStrides []int, lo, hi uint64, dst uint64, dstStrides []int,
) error {
	k := kind{entry: entryBinary, op: int32(op), from: int32(typ), to: int32(dstType), dims: int32(len(shape))}
	switch {
	case x == 0:
		k.numbers = 1
	case y == 0:
		k.numbers = 2
	}
	return c.call(k, []uint64{
		uint64(device), stream, uint64(op), uint64(typ), uint64(dstType), uint64(len(shape)), x, y, lo, hi, dst,
	}, shape, xStrides, yStrides, dstStrides)
}

// Ternary enqueues dst = op(x, y, z). y or z at address 0 is the scalar with the 16 bytes
// yLo and yHi, or zLo and zHi.
func (c *calls) Ternary(device int, stream uint64, op expr.Op, typ dtype.DType, shape []int,
	x uint64, xStrides []int, y uint64, yStrides []int, z uint64, zStrides []int, yLo, yHi, zLo, zHi uint64, dst uint64, dstStrides []int,
) error {
	k := kind{entry: entryTernary, op: int32(op), to: int32(typ), dims: int32(len(shape))}
	if y == 0 {
		k.numbers = 1
	}
	if z == 0 {
		k.numbers += 2
	}
	return c.call(k, []uint64{
		uint64(device), stream, uint64(op), uint64(typ), uint64(len(shape)), x, y, z, yLo, yHi, zLo, zHi, dst,
	}, shape, xStrides, yStrides, zStrides, dstStrides)
}

// Fill enqueues dst = the element with the 16 bytes lo and hi.
func (c *calls) Fill(device int, stream uint64, typ dtype.DType, shape []int, lo, hi uint64, dst uint64, dstStrides []int) error {
	k := kind{entry: entryFill, to: int32(typ), dims: int32(len(shape))}
	return c.call(k, []uint64{uint64(device), stream, uint64(typ), uint64(len(shape)), lo, hi, dst}, shape, dstStrides)
}

// Line enqueues dst = op(x) along the last dimension; gamma and beta may be 0.
func (c *calls) Line(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, dst uint64, dstStrides []int, gamma, beta uint64, eps float64,
) error {
	k := kind{entry: entryLine, op: int32(op), from: int32(xType), to: int32(dstType), dims: int32(len(shape))}
	return c.call(k, []uint64{
		uint64(device), stream, uint64(op), uint64(xType), uint64(dstType), uint64(len(shape)), x, dst, gamma, beta, math.Float64bits(eps),
	}, shape, xStrides, dstStrides)
}

// Reduce enqueues the reduction of x over the dimensions whose bit is set in
// axes; dst is dense over the remaining ones, in order.
func (c *calls) Reduce(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int, axes uint32,
	x uint64, xStrides []int, dst, workspace uint64, workspaceBytes int64,
) error {
	k := kind{entry: entryReduce, op: int32(op), from: int32(xType), to: int32(dstType), dims: int32(len(shape))}
	return c.call(k, []uint64{
		uint64(device), stream, uint64(op), uint64(xType), uint64(dstType), uint64(len(shape)), uint64(axes), x, dst, workspace, uint64(workspaceBytes),
	}, shape, xStrides)
}
