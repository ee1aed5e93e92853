//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

/*
#include "entry.h"
#include "src/gpk.h"

// The entry points with a queue's calling convention: the function, then its arguments, one 64-bit word
// each. Shape and strides are last, ndim words each.
static double gpk_word_double(uint64_t word) {
	union { uint64_t word; double number; } u = {word};
	return u.number;
}

static int gpk_queued_gemm(const uint64_t* a) {
	return GPK_AT(gpk_gemm, a[0])((int)a[1], a[2], (int)a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15],
	                              a[16], a[17], (int)a[18], gpk_word_double(a[19]), gpk_word_double(a[20]), a[21], a[22], a[23], a[24],
	                              (int)a[25], a[26], a[27], a[28], a[29], a[30]);
}

static int gpk_queued_unary(const uint64_t* a) {
	const int64_t* n = (const int64_t*)(a + 9);
	int const d = (int)a[6];
	return GPK_AT(gpk_unary, a[0])((int)a[1], a[2], (int)a[3], (int)a[4], (int)a[5], d, n, a[7], n + d, a[8], n + 2 * d);
}

static int gpk_queued_cast(const uint64_t* a) {
	const int64_t* n = (const int64_t*)(a + 8);
	int const d = (int)a[5];
	return GPK_AT(gpk_cast, a[0])((int)a[1], a[2], (int)a[3], (int)a[4], d, n, a[6], n + d, a[7], n + 2 * d);
}

static int gpk_queued_binary(const uint64_t* a) {
	const int64_t* n = (const int64_t*)(a + 12);
	int const d = (int)a[6];
	return GPK_AT(gpk_binary, a[0])((int)a[1], a[2], (int)a[3], (int)a[4], (int)a[5], d, n, a[7], n + d, a[8], n + 2 * d, a[9], a[10], a[11],
	                                n + 3 * d);
}

static int gpk_queued_ternary(const uint64_t* a) {
	const int64_t* n = (const int64_t*)(a + 14);
	int const d = (int)a[5];
	return GPK_AT(gpk_ternary, a[0])((int)a[1], a[2], (int)a[3], (int)a[4], d, n, a[6], n + d, a[7], n + 2 * d, a[8], n + 3 * d, a[9], a[10],
	                                 a[11], a[12], a[13], n + 4 * d);
}

static int gpk_queued_fill(const uint64_t* a) {
	const int64_t* n = (const int64_t*)(a + 8);
	int const d = (int)a[4];
	return GPK_AT(gpk_fill, a[0])((int)a[1], a[2], (int)a[3], d, n, a[5], a[6], a[7], n + d);
}

static int gpk_queued_line(const uint64_t* a) {
	const int64_t* n = (const int64_t*)(a + 12);
	int const d = (int)a[6];
	return GPK_AT(gpk_line, a[0])((int)a[1], a[2], (int)a[3], (int)a[4], (int)a[5], d, n, a[7], n + d, a[8], n + 2 * d, a[9], a[10],
	                              gpk_word_double(a[11]));
}

static int gpk_queued_reduce(const uint64_t* a) {
	const int64_t* n = (const int64_t*)(a + 12);
	int const d = (int)a[6];
	return GPK_AT(gpk_reduce, a[0])((int)a[1], a[2], (int)a[3], (int)a[4], (int)a[5], d, n, (uint32_t)a[7], a[8], n + d, a[9], a[10], a[11]);
}

static int gpk_queued_pad(const uint64_t* a) {
	return GPK_AT(gpk_pad, a[0])((int)a[1], a[2], (int)a[3], a[4], a[5], a[6], a[7], a[8], a[9], a[10], a[11], a[12], a[13], a[14], a[15], a[16],
	                             a[17], a[18], a[19], a[20], a[21], a[22], a[23], a[24], a[25]);
}

GPK_QUEUED_AT(gemm)
GPK_QUEUED_AT(unary)
GPK_QUEUED_AT(cast)
GPK_QUEUED_AT(binary)
GPK_QUEUED_AT(ternary)
GPK_QUEUED_AT(fill)
GPK_QUEUED_AT(line)
GPK_QUEUED_AT(reduce)
GPK_QUEUED_AT(pad)
*/
import "C"

import (
	"math"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/submit"
)

// The C functions that a queue calls.
var (
	queuedGemm    = uintptr(C.gpk_queued_gemm_at())
	queuedUnary   = uintptr(C.gpk_queued_unary_at())
	queuedCast    = uintptr(C.gpk_queued_cast_at())
	queuedBinary  = uintptr(C.gpk_queued_binary_at())
	queuedTernary = uintptr(C.gpk_queued_ternary_at())
	queuedFill    = uintptr(C.gpk_queued_fill_at())
	queuedLine    = uintptr(C.gpk_queued_line_at())
	queuedReduce  = uintptr(C.gpk_queued_reduce_at())
	queuedPad     = uintptr(C.gpk_queued_pad_at())
)

// Submitted provides some entry points of a library through a queue. The first call of each
// kind is made directly, so that its caller gets the library's error. Like its queue it is
// for one goroutine at a time.
type Submitted struct {
	lib    *Library
	queue  *submit.Queue
	unmade func() error
	made   map[kind]struct{}
	last   kind // the most recently used element of made
}

// kind is the part of a call on which the library's support depends.
type kind struct {
	entry         uintptr
	op, from, to  int32
	dims, numbers int32
}

// Submit returns the library's entry points through a queue. unmade returns the error of
// queued work, if any; then no direct call is made.
func (l *Library) Submit(q *submit.Queue, unmade func() error) *Submitted {
	return &Submitted{lib: l, queue: q, unmade: unmade, made: map[kind]struct{}{}}
}

// known reports whether a call of the kind has been made.
func (s *Submitted) known(k kind) bool {
	if k == s.last {
		return true
	}
	_, ok := s.made[k]
	if ok {
		s.last = k
	}
	return ok
}

// first makes the first call of a kind.
func (s *Submitted) first(k kind, call func() error) error {
	s.queue.Drain()
	err := s.unmade()
	if err == nil {
		err = call()
	}
	if err == nil {
		s.made[k] = struct{}{}
	}
	return err
}

// record returns the record of a call: of a C function with the queue's calling convention, and of the entry
// point that it calls. The caller fills in the other arguments.
func (s *Submitted) record(function uintptr, entry C.uintptr_t) *submit.Record {
	r := s.queue.Next()
	r.Function, r.Args[0] = function, uint64(entry)
	return r
}

// Failure returns the error of a call that the queue made.
func (s *Submitted) Failure(function uintptr, code int) error {
	entry := map[uintptr]string{
		queuedGemm: "gpk_gemm", queuedUnary: "gpk_unary", queuedCast: "gpk_cast", queuedBinary: "gpk_binary", queuedTernary: "gpk_ternary",
		queuedFill: "gpk_fill", queuedLine: "gpk_line", queuedReduce: "gpk_reduce", queuedPad: "gpk_pad", queuedAttention: "gpk_attention",
		queuedEmbedNorm: "gpk_embed_norm", queuedPool: "gpk_pool", queuedNormResidual: "gpk_norm_residual",
	}[function]
	return s.lib.failure(entry, code)
}

// Gemm is Library.Gemm.
func (s *Submitted) Gemm(device int, stream uint64, kernel int, g Gemm) error {
	k := kind{entry: queuedGemm, op: int32(kernel), from: int32(g.Act), to: int32(g.Guard)}
	if g.Bias != 0 {
		k.numbers = 1
	}
	if !s.known(k) {
		return s.first(k, func() error { return s.lib.Gemm(device, stream, kernel, g) })
	}
	r := s.record(queuedGemm, s.lib.entries.gemm)
	*(*[30]uint64)(r.Args[1:]) = [30]uint64{
		uint64(device), stream, uint64(kernel),
		uint64(g.M), uint64(g.N), uint64(g.K), uint64(g.Batch),
		g.A, uint64(g.LDA), uint64(g.StrideA), g.B, uint64(g.LDB), uint64(g.StrideB), g.D, uint64(g.LDD), uint64(g.StrideD),
		g.Bias, uint64(g.Act), math.Float64bits(g.AlphaRe), math.Float64bits(g.AlphaIm),
		g.ScaleA, g.ScaleB, g.LowA, g.LowB, uint64(g.Guard), g.GuardA, g.GuardB, uint64(g.GuardLimit),
		g.Workspace, uint64(g.WorkspaceBytes),
	}
	s.queue.Push()
	return nil
}

// Pad is Library.Pad.
func (s *Submitted) Pad(device int, stream uint64, t dtype.DType, a, b Padded) error {
	k := kind{entry: queuedPad, from: int32(t)}
	if !s.known(k) {
		return s.first(k, func() error { return s.lib.Pad(device, stream, t, a, b) })
	}
	r := s.record(queuedPad, s.lib.entries.pad)
	*(*[25]uint64)(r.Args[1:]) = [25]uint64{
		uint64(device), stream, uint64(t),
		a.Source, uint64(a.Batch), uint64(a.Lines), uint64(a.Length), uint64(a.Pitch), uint64(a.Member),
		a.Copy, uint64(a.CopyLines), uint64(a.CopyLength), uint64(a.CopyPitch), uint64(a.CopyMember),
		b.Source, uint64(b.Batch), uint64(b.Lines), uint64(b.Length), uint64(b.Pitch), uint64(b.Member),
		b.Copy, uint64(b.CopyLines), uint64(b.CopyLength), uint64(b.CopyPitch), uint64(b.CopyMember),
	}
	s.queue.Push()
	return nil
}

// setDims appends a shape and strides to the words of a call.
func setDims(r *submit.Record, at int, lists ...[]int) {
	for _, list := range lists {
		for _, n := range list {
			r.Args[at] = uint64(n)
			at++
		}
	}
}

// Unary is Library.Unary.
func (s *Submitted) Unary(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, dst uint64, dstStrides []int,
) error {
	k := kind{entry: queuedUnary, op: int32(op), from: int32(xType), to: int32(dstType), dims: int32(len(shape))}
	if !s.known(k) {
		return s.first(k, func() error {
			return s.lib.Unary(device, stream, op, xType, dstType, shape, x, xStrides, dst, dstStrides)
		})
	}
	if err := checkDims("gpk_unary", shape, xStrides, dstStrides); err != nil {
		return err
	}
	r := s.record(queuedUnary, s.lib.entries.unary)
	*(*[8]uint64)(r.Args[1:]) = [8]uint64{
		uint64(device), stream, uint64(op), uint64(xType), uint64(dstType), uint64(len(shape)), x, dst,
	}
	setDims(r, 9, shape, xStrides, dstStrides)
	s.queue.Push()
	return nil
}

// Cast is Library.Cast.
func (s *Submitted) Cast(device int, stream uint64, xType, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, dst uint64, dstStrides []int,
) error {
	k := kind{entry: queuedCast, from: int32(xType), to: int32(dstType), dims: int32(len(shape))}
	if !s.known(k) {
		return s.first(k, func() error { return s.lib.Cast(device, stream, xType, dstType, shape, x, xStrides, dst, dstStrides) })
	}
	if err := checkDims("gpk_cast", shape, xStrides, dstStrides); err != nil {
		return err
	}
	r := s.record(queuedCast, s.lib.entries.cast)
	*(*[7]uint64)(r.Args[1:]) = [7]uint64{
		uint64(device), stream, uint64(xType), uint64(dstType), uint64(len(shape)), x, dst,
	}
	setDims(r, 8, shape, xStrides, dstStrides)
	s.queue.Push()
	return nil
}

// Binary is Library.Binary.
func (s *Submitted) Binary(device int, stream uint64, op expr.Op, typ, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, y uint64, yStrides []int, lo, hi uint64, dst uint64, dstStrides []int,
) error {
	k := kind{entry: queuedBinary, op: int32(op), from: int32(typ), to: int32(dstType), dims: int32(len(shape))}
	switch {
	case x == 0:
		k.numbers = 1
	case y == 0:
		k.numbers = 2
	}
	if !s.known(k) {
		return s.first(k, func() error {
			return s.lib.Binary(device, stream, op, typ, dstType, shape, x, xStrides, y, yStrides, lo, hi, dst, dstStrides)
		})
	}
	if err := checkDims("gpk_binary", shape, xStrides, yStrides, dstStrides); err != nil {
		return err
	}
	r := s.record(queuedBinary, s.lib.entries.binary)
	*(*[11]uint64)(r.Args[1:]) = [11]uint64{
		uint64(device), stream, uint64(op), uint64(typ), uint64(dstType), uint64(len(shape)), x, y, lo, hi, dst,
	}
	setDims(r, 12, shape, xStrides, yStrides, dstStrides)
	s.queue.Push()
	return nil
}

// Ternary is Library.Ternary.
func (s *Submitted) Ternary(device int, stream uint64, op expr.Op, typ dtype.DType, shape []int,
	x uint64, xStrides []int, y uint64, yStrides []int, z uint64, zStrides []int, yLo, yHi, zLo, zHi uint64, dst uint64, dstStrides []int,
) error {
	k := kind{entry: queuedTernary, op: int32(op), to: int32(typ), dims: int32(len(shape))}
	if y == 0 {
		k.numbers = 1
	}
	if z == 0 {
		k.numbers += 2
	}
	if !s.known(k) {
		return s.first(k, func() error {
			return s.lib.Ternary(device, stream, op, typ, shape, x, xStrides, y, yStrides, z, zStrides, yLo, yHi, zLo, zHi, dst, dstStrides)
		})
	}
	if err := checkDims("gpk_ternary", shape, xStrides, yStrides, zStrides, dstStrides); err != nil {
		return err
	}
	r := s.record(queuedTernary, s.lib.entries.ternary)
	*(*[13]uint64)(r.Args[1:]) = [13]uint64{
		uint64(device), stream, uint64(op), uint64(typ), uint64(len(shape)), x, y, z, yLo, yHi, zLo, zHi, dst,
	}
	setDims(r, 14, shape, xStrides, yStrides, zStrides, dstStrides)
	s.queue.Push()
	return nil
}

// Fill is Library.Fill.
func (s *Submitted) Fill(device int, stream uint64, typ dtype.DType, shape []int, lo, hi, dst uint64, dstStrides []int) error {
	k := kind{entry: queuedFill, to: int32(typ), dims: int32(len(shape))}
	if !s.known(k) {
		return s.first(k, func() error { return s.lib.Fill(device, stream, typ, shape, lo, hi, dst, dstStrides) })
	}
	if err := checkDims("gpk_fill", shape, dstStrides); err != nil {
		return err
	}
	r := s.record(queuedFill, s.lib.entries.fill)
	*(*[7]uint64)(r.Args[1:]) = [7]uint64{uint64(device), stream, uint64(typ), uint64(len(shape)), lo, hi, dst}
	setDims(r, 8, shape, dstStrides)
	s.queue.Push()
	return nil
}

// Line is Library.Line.
func (s *Submitted) Line(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int,
	x uint64, xStrides []int, dst uint64, dstStrides []int, gamma, beta uint64, eps float64,
) error {
	k := kind{entry: queuedLine, op: int32(op), from: int32(xType), to: int32(dstType), dims: int32(len(shape))}
	if !s.known(k) {
		return s.first(k, func() error {
			return s.lib.Line(device, stream, op, xType, dstType, shape, x, xStrides, dst, dstStrides, gamma, beta, eps)
		})
	}
	if err := checkDims("gpk_line", shape, xStrides, dstStrides); err != nil {
		return err
	}
	r := s.record(queuedLine, s.lib.entries.line)
	*(*[11]uint64)(r.Args[1:]) = [11]uint64{
		uint64(device), stream, uint64(op), uint64(xType), uint64(dstType), uint64(len(shape)), x, dst, gamma, beta, math.Float64bits(eps),
	}
	setDims(r, 12, shape, xStrides, dstStrides)
	s.queue.Push()
	return nil
}

// Reduce is Library.Reduce.
func (s *Submitted) Reduce(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int, axes uint32,
	x uint64, xStrides []int, dst, workspace uint64, workspaceBytes int64,
) error {
	k := kind{entry: queuedReduce, op: int32(op), from: int32(xType), to: int32(dstType), dims: int32(len(shape))}
	if !s.known(k) {
		return s.first(k, func() error {
			return s.lib.Reduce(device, stream, op, xType, dstType, shape, axes, x, xStrides, dst, workspace, workspaceBytes)
		})
	}
	if err := checkDims("gpk_reduce", shape, xStrides); err != nil {
		return err
	}
	r := s.record(queuedReduce, s.lib.entries.reduce)
	*(*[11]uint64)(r.Args[1:]) = [11]uint64{
		uint64(device), stream, uint64(op), uint64(xType), uint64(dstType), uint64(len(shape)), uint64(axes), x, dst, workspace, uint64(workspaceBytes),
	}
	setDims(r, 12, shape, xStrides)
	s.queue.Push()
	return nil
}
