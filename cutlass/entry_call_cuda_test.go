//go:build cgo && linux && (amd64 || arm64) && !nocuda

package cutlass

import (
	"math"
	"reflect"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// entryCall is a call of an entry that returns a given code, and the arguments that the entry
// receives.
type entryCall struct {
	entry string
	call  func(code int) error
	want  []int64
}

// check calls the entry of the fake library, which stores its arguments in record, and compares these
// with want.
func (c entryCall) check(t *testing.T, record []int64) {
	t.Helper()
	for i := range record {
		record[i] = -1 << 40
	}
	if err := c.call(0); err != nil {
		t.Errorf("%s: %v", c.entry, err)
	}
	if got := record[:len(c.want)]; !reflect.DeepEqual(got, c.want) {
		t.Errorf("%s received %v, want %v", c.entry, got, c.want)
	}
}

// common has the entries that Library and Submitted have both.
type common interface {
	Gemm(device int, stream uint64, kernel int, g Gemm) error
	Pad(device int, stream uint64, t dtype.DType, a, b Padded) error
	Unary(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int, x uint64, xStrides []int, dst uint64, dstStrides []int) error
	Binary(device int, stream uint64, op expr.Op, typ, dstType dtype.DType, shape []int, x uint64, xStrides []int, y uint64, yStrides []int, lo, hi uint64, dst uint64, dstStrides []int) error
	Cast(device int, stream uint64, xType, dstType dtype.DType, shape []int, x uint64, xStrides []int, dst uint64, dstStrides []int) error
	Ternary(device int, stream uint64, op expr.Op, typ dtype.DType, shape []int, x uint64, xStrides []int, y uint64, yStrides []int, z uint64, zStrides []int, yLo, yHi, zLo, zHi uint64, dst uint64, dstStrides []int) error
	Fill(device int, stream uint64, typ dtype.DType, shape []int, lo, hi, dst uint64, dstStrides []int) error
	Line(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int, x uint64, xStrides []int, dst uint64, dstStrides []int, gamma, beta uint64, eps float64) error
	Reduce(device int, stream uint64, op expr.Op, xType, dstType dtype.DType, shape []int, axes uint32, x uint64, xStrides []int, dst, workspace uint64, workspaceBytes int64) error
	EmbedNorm(device int, stream uint64, e *EmbedNorm) error
	Pool(device int, stream uint64, p *Pool) error
	NormResidual(device int, stream uint64, r *NormResidual) error
	Attention(device int, stream uint64, a *Attention) error
}

// commonCalls lists calls of all entries of l. The fake library records the last number of a list; d returns a
// list with that number, of the length of every shape.
func commonCalls(l common, stream uint64, d func(n int) []int) []entryCall {
	f := func(x float64) int64 { return int64(math.Float64bits(x)) }
	dims := int64(len(d(0)))
	return []entryCall{
		{"gpk_gemm", func(code int) error {
			return l.Gemm(code, stream, 1, numbered)
		}, []int64{1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, f(17.5), f(18.5), 19, 20, 21, 22, int64(GuardMisses), 24, 25, 26, 27, 28}},
		{"gpk_unary", func(code int) error {
			return l.Unary(code, stream, expr.GELU, dtype.Float16, dtype.Float32, d(4), 5, d(6), 7, d(8))
		}, []int64{int64(expr.GELU), 3, 1, dims, 4, 5, 6, 7, 8}},
		{"gpk_binary", func(code int) error {
			return l.Binary(code, stream, expr.Add, dtype.Float16, dtype.Bool, d(4), 5, d(6), 7, d(8), 9, 10, 11, d(12))
		}, []int64{int64(expr.Add), 3, 9, dims, 4, 5, 6, 7, 8, 9, 10, 11, 12}},
		{"gpk_cast", func(code int) error {
			return l.Cast(code, stream, dtype.Int64, dtype.Int8, d(3), 4, d(5), 6, d(7))
		}, []int64{8, 5, dims, 3, 4, 5, 6, 7}},
		{"gpk_ternary", func(code int) error {
			return l.Ternary(code, stream, expr.Where, dtype.Float16, d(4), 5, d(6), 7, d(8), 9, d(10), 11, 12, 13, 14, 15, d(16))
		}, []int64{int64(expr.Where), 3, dims, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16}},
		{"gpk_fill", func(code int) error { return l.Fill(code, stream, dtype.Complex128, d(2), 3, 4, 5, d(6)) }, []int64{11, dims, 2, 3, 4, 5, 6}},
		{"gpk_line", func(code int) error {
			return l.Line(code, stream, expr.CumSum, dtype.Int8, dtype.Int64, d(4), 5, d(6), 7, d(8), 9, 10, 11.5)
		}, []int64{int64(expr.CumSum), 5, 8, dims, 4, 5, 6, 7, 8, 9, 10, f(11.5)}},
		{"gpk_reduce", func(code int) error {
			return l.Reduce(code, stream, expr.Sum, dtype.Bool, dtype.Int64, d(3), 5, 6, d(7), 8, 9, 10)
		}, []int64{int64(expr.Sum), 9, 8, dims, 3, 5, 6, 7, 8, 9, 10}},
		{"gpk_pad", func(code int) error {
			return l.Pad(code, stream, dtype.Float16, numberedPads[0], numberedPads[1])
		}, []int64{3, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 19, 20, 21, 22, 23}},
		{"gpk_embed_norm", func(code int) error {
			e := numberedEmbedNorm
			return l.EmbedNorm(code, stream, &e)
		}, []int64{1, 1, 2, 3, 4, 5, 6, 7, 8, 0, 9, 10, 11, 12, 13, 14, f(15.5), 3, 2, 2}},
		{"gpk_pool", func(code int) error {
			p := numberedPool
			return l.Pool(code, stream, &p)
		}, []int64{1, 1, 2, 3, 4, 5, 6, 7, 8, 2, 0, 1}},
		{"gpk_norm_residual", func(code int) error {
			r := numberedNormResidual
			return l.NormResidual(code, stream, &r)
		}, []int64{1, 1, 2, 3, 4, 5, 6, 7, 8, 9, f(10.5), 3}},
		{"gpk_attention", func(code int) error {
			a := numberedAttention
			return l.Attention(code, stream, &a)
		}, []int64{
			1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15, 16, 17, 18, 20, 21, 22, 23, 24, 25, 0, 36, 26, 27, 28, 29, 30, 31, 32, f(33.5),
			34, 35, 3, 1, 0, 1,
		}},
	}
}
