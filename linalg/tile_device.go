package linalg

import (
	"unsafe"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
	"github.com/gpk-go/gpk/ops"
)

// hasKernels reports whether the operands' device has kernels for diagonal blocks and small matrices.
func (op *operation) hasKernels() bool {
	return op.dev.Kind() != device.CPU && op.dev.Library() != nil
}

// manyNarrow is the number of matrices of at most 64 rows or columns, but not both, above which LU is left to the CPU: one
// occupies as many multiprocessors as a large one.
const manyNarrow = 64

// hasLU reports whether the device has kernels for LU with partial pivoting of a.
func (op *operation) hasLU(a *gpk.Array) bool {
	s := a.Shape()
	rows, columns := s[len(s)-2], s[len(s)-1]
	if !op.hasKernels() || max(rows, columns) <= cutlass.FactorSmall {
		return op.hasKernels()
	}
	c := op.dev.Capabilities()
	return c.Clusters && c.SM == 90 && // later GPUs run PTX for 80, which has no clusters
		rows <= cutlass.FactorLURows &&
		(min(rows, columns) > cutlass.FactorSmall || product1(s[:len(s)-2]) <= manyNarrow)
}

// kernelRun is a sequence of kernels of a GPU's library on a stream. Its views are [batch, rows,
// columns].
type kernelRun struct {
	s     *device.Stream
	flags *device.Buffer // nil if nothing can fail
}

// flagBytes is the size of the flags of a factorization: two int64.
const flagBytes = 16

// dense3 returns a dense view of any shape as [batch, rows, columns].
func dense3(v device.View) device.View {
	s := v.Layout.Shape
	n := len(s)
	l := layout.Dense([]int{product1(s[:n-2]), s[n-2], s[n-1]})
	l.Offset = v.Layout.Offset
	v.Layout = l
	return v
}

// block returns the rows i0 to i1 and columns j0 to j1 of a view [batch, rows, columns].
func block(v device.View, i0, i1, j0, j1 int) device.View {
	l := v.Layout
	v.Layout = layout.Layout{
		Shape: []int{l.Shape[0], i1 - i0, j1 - j0}, Strides: l.Strides,
		Offset: l.Offset + i0*l.Strides[1] + j0*l.Strides[2],
	}
	return v
}

func transposed(v device.View) device.View {
	v.Layout = v.Layout.T()
	return v
}

func factorOperand(v device.View) cutlass.FactorOperand {
	s := v.Layout.Strides
	return cutlass.FactorOperand{Data: v.Addr(), Row: s[1], Col: s[2], Member: s[0]}
}

// launch enqueues f, which reads and writes the buffers.
func (r kernelRun) launch(f cutlass.Factor, reads, writes []*device.Buffer) error {
	dev := r.s.Device()
	if r.flags != nil {
		f.Flags = r.flags.Addr()
		writes = append(writes, r.flags)
	}
	return dev.Launch(r.s, reads, writes, func(ordinal int, stream uint64) error {
		return dev.Library().Factor(ordinal, stream, &f)
	})
}

// begin clears the flags.
func (r kernelRun) begin() error {
	return r.launch(cutlass.Factor{Op: cutlass.FactorBegin}, nil, nil)
}

// binary enqueues an operation that reads a and writes b, or reads and writes b.
func (r kernelRun) binary(o cutlass.FactorOp, a, b device.View, conj bool) error {
	s := a.Layout.Shape
	f := cutlass.Factor{Op: o, Type: a.DType, A: factorOperand(a), B: factorOperand(b), Rows: s[1], Cols: s[2], Batch: s[0], Conj: conj}
	return r.launch(f, []*device.Buffer{a.Buffer}, []*device.Buffer{b.Buffer})
}

// cholesky factors the first rows of w in place, and solves for those below. first is the number of
// the matrices' rows above w.
func (r kernelRun) cholesky(w device.View, first int) error {
	s := w.Layout.Shape
	size := cutlass.FactorCholeskyBytes(s[1], s[0])
	work, err := r.s.Device().Alloc(size, r.s)
	if err != nil {
		return err
	}
	defer work.Free()
	f := cutlass.Factor{
		Op: cutlass.FactorCholesky, Type: w.DType, A: factorOperand(w), Rows: s[1], Cols: s[2], Batch: s[0], First: first,
		Workspace: work.Addr(), WorkspaceBytes: size,
	}
	return r.launch(f, nil, []*device.Buffer{w.Buffer, work})
}

// solve replaces x by t^-1 x, or conj(t)^-1 x.
func (r kernelRun) solve(t, x device.View, upper, unit, conj bool) error {
	s := x.Layout.Shape
	f := cutlass.Factor{
		Op: cutlass.FactorSolve, Type: t.DType, A: factorOperand(t), B: factorOperand(x), Rows: s[1], Cols: s[2], Batch: s[0],
		Upper: upper, Unit: unit, Conj: conj,
	}
	return r.launch(f, []*device.Buffer{t.Buffer}, []*device.Buffer{x.Buffer})
}

// temporary returns a dense view of memory, and the function that frees it.
func (r kernelRun) temporary(like device.View, shape ...int) (device.View, func(), error) {
	l := layout.Dense(shape)
	buf, err := r.s.Device().Alloc(int64(l.Size())*int64(like.DType.Size()), r.s)
	if err != nil {
		return device.View{}, nil, err
	}
	return device.View{Buffer: buf, DType: like.DType, Layout: l}, buf.Free, nil
}

// multiply enqueues d = a b, or a conj(b).
func (r kernelRun) multiply(d, a, b device.View, conj, symmetric bool) error {
	precision, err := matmul.Options{Precision: matmul.FullPrecision}.Resolve(a.DType)
	if err != nil {
		return err
	}
	p := matmul.Product{D: d, A: a, B: b, Precision: precision, ConjB: conj && a.DType.IsComplex(), Symmetric: symmetric}
	return p.Run(r.s)
}

// subtract enqueues x -= y.
func (r kernelRun) subtract(x, y device.View) error { return ops.Apply2(r.s, expr.Sub, x, x, y) }

// failure waits. It returns the member and the order of the first failure; the order is 0 if there is
// none.
func (r kernelRun) failure() (member, order int, err error) {
	var flags [2]int64
	err = r.s.Device().CopyToHost(unsafe.Slice((*byte)(unsafe.Pointer(&flags)), flagBytes), r.flags, 0, r.s)
	if err != nil || flags[0] == cutlass.FactorNone {
		return 0, 0, err
	}
	return int(flags[0] >> 32), int(flags[0] & (1<<32 - 1)), nil
}
