package linalg

import (
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

const (
	// inverseRows is the order of the diagonal blocks that kernelSystem inverts. Twice as many rows would
	// halve the launches of a solution, and double the work of the inverses.
	inverseRows = 512
	// inverseColumns is the largest number of right-hand sides that are solved with the inverses.
	inverseColumns = 4
)

// kernelSystem holds Cholesky's factors and the inverses of their diagonal blocks, for few right-hand
// sides. A product with an inverse takes two launches, a substitution sixteen. The error of a solution
// grows with the condition of the blocks; Refine corrects it.
type kernelSystem struct {
	choleskySystem
	inverses *gpk.Array // [batch, blocks inverseRows, inverseRows]
}

// kernelSystemOf inverts the diagonal blocks of the factors l, which have one leading axis.
func (b blocked) kernelSystemOf(op *operation, l *gpk.Array) (system, error) {
	s := l.Shape()
	batch, n := s[0], s[1]
	blocks := (n + inverseRows - 1) / inverseRows
	one := gpk.Eye(l.DType(), inverseRows).To(op.dev).BroadcastTo(batch*blocks, inverseRows, inverseRows)
	inverses := op.Result(l.DType(), []int{batch, blocks * inverseRows, inverseRows}, "inverses of diagonal blocks", []*gpk.Array{l, one}, func(s *device.Stream, dst device.View, reads []device.View) error {
		return invertBlocks(kernelRun{s: s}, reads[0], dst, reads[1])
	})
	return kernelSystem{choleskySystem{b, l}, inverses}, gpk.Eval(inverses)
}

// invertBlocks writes the inverses of l's diagonal blocks to dst. one holds an identity matrix for each.
// The blocks of a matrix are a stack; the last may have fewer rows.
func invertBlocks(c kernelRun, l, dst, one device.View) error {
	stack := func(v device.View, member, count, step int) device.View {
		s := v.Layout.Strides
		v.Layout = layout.Layout{
			Shape: []int{count, inverseRows, inverseRows}, Strides: []int{step, s[1], s[2]}, Offset: v.Layout.Offset + member*s[0],
		}
		return v
	}
	batch, n := l.Layout.Shape[0], l.Layout.Shape[1]
	s, whole := l.Layout.Strides, n/inverseRows
	blocks := dst.Layout.Shape[1] / inverseRows
	if err := ops.Cast(c.s, stack(dst, 0, batch*blocks, inverseRows*inverseRows), one); err != nil {
		return err
	}
	for i := range batch {
		if whole > 0 {
			t := stack(l, i, whole, inverseRows*(s[1]+s[2]))
			if err := c.solve(t, stack(dst, i, whole, inverseRows*inverseRows), false, false, false); err != nil {
				return err
			}
		}
	}
	if k := whole * inverseRows; k < n {
		return c.solve(block(l, k, n, k, n), block(dst, k, n, 0, n-k), false, false, false)
	}
	return nil
}

func (s kernelSystem) solve(op *operation, y *gpk.Array) (*gpk.Array, error) {
	if y.Shape()[2] > inverseColumns || y.Size() == 0 {
		return s.choleskySystem.solve(op, y)
	}
	x := op.Result(y.DType(), y.Shape(), fmt.Sprintf("products with the inverses of diagonal blocks on %v", op.dev), []*gpk.Array{s.l, s.inverses, y}, solveByInverses)
	return x, gpk.Eval(x)
}

func (s kernelSystem) solveAdjoint(op *operation, y *gpk.Array) (*gpk.Array, error) {
	return s.solve(op, y)
}

// solveByInverses writes L^-H L^-1 y to dst. reads holds L, the inverses and y.
func solveByInverses(s *device.Stream, dst device.View, reads []device.View) error {
	c := kernelRun{s: s}
	l, inverses := reads[0], reads[1]
	y, freeY, err := c.temporary(dst, dst.Layout.Shape...)
	if err != nil {
		return err
	}
	defer freeY()
	z, freeZ, err := c.temporary(dst, dst.Layout.Shape...)
	if err != nil {
		return err
	}
	defer freeZ()
	if err := ops.Cast(s, y, reads[2]); err != nil {
		return err
	}
	if err := c.applyInverses(l, inverses, y, z, false); err != nil {
		return err
	}
	return c.applyInverses(transposed(l), transposed(inverses), z, dst, true)
}

// applyInverses writes t^-1 b to x, or conj(t)^-1 b for an upper triangle, and overwrites b.
func (r kernelRun) applyInverses(t, inverses, b, x device.View, upper bool) error {
	s := x.Layout.Shape
	f := cutlass.Factor{
		Op: cutlass.FactorSolveInverses, Type: t.DType, A: factorOperand(t), B: factorOperand(b), C: factorOperand(inverses),
		D: x.Addr(), DMember: s[1] * s[2], Rows: s[1], Cols: s[2], Batch: s[0], First: inverseRows, Upper: upper, Conj: upper,
	}
	return r.launch(f, []*device.Buffer{t.Buffer, inverses.Buffer}, []*device.Buffer{b.Buffer, x.Buffer})
}
