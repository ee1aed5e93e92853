package linalg

import (
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/ops"
)

// choleskyColumns returns the number of columns of a matrix of order n that the library's kernels factor
// at once. The kernels' updates run at about a third of the rate of FullPrecision's products, but need no
// temporary memory and no pass over the operands. For up to some thousand columns this makes them faster.
func choleskyColumns(dt dtype.DType, n int) int {
	whole, part := 6144, 1024
	if dt.IsComplex() {
		whole = whole / 2
	}
	if n <= whole {
		return n
	}
	return part
}

// kernelCholesky computes Cholesky's factorization with the library's kernels.
type kernelCholesky struct {
	kernelRun
	upper bool // the upper triangle is read; for small matrices it is also written
}

// run writes the factors of reads[0] [batch, n, n] to dst.
func (c *kernelCholesky) run(s *device.Stream, dst device.View, reads []device.View) error {
	c.s = s
	if c.flags != nil {
		c.flags.Free()
	}
	var err error
	if c.flags, err = s.Device().Alloc(flagBytes, s); err != nil {
		return err
	}
	if err := c.begin(); err != nil {
		return err
	}
	a, w := reads[0], dense3(dst)
	if c.upper {
		a = transposed(a)
	}
	if n := w.Layout.Shape[1]; n <= cutlass.FactorSmall {
		if c.upper {
			w = transposed(w)
		}
		return c.binary(cutlass.FactorCholeskySmall, a, w, c.upper)
	}
	if err := c.binary(cutlass.FactorLower, a, w, c.upper); err != nil {
		return err
	}
	return c.factor(w)
}

// factor replaces the lower triangles of w by the factors. From left to right, it updates each block
// column by all columns before it, and factors it.
func (c *kernelCholesky) factor(w device.View) error {
	batch, n := w.Layout.Shape[0], w.Layout.Shape[1]
	columns := choleskyColumns(w.DType, n)
	for k := 0; k < n; k += columns {
		to := min(k+columns, n)
		if k > 0 {
			if err := c.update(w, batch, k, to); err != nil {
				return err
			}
		}
		if err := c.cholesky(block(w, k, n, k, to), k); err != nil {
			return err
		}
	}
	return nil
}

// update subtracts from the columns k to `to` the product of the columns before them. Only the lower
// triangle of the square at the top is needed.
func (c *kernelCholesky) update(w device.View, batch, k, to int) error {
	n := w.Layout.Shape[1]
	product, free, err := c.temporary(w, batch, n-k, to-k)
	if err != nil {
		return err
	}
	defer free()
	top := block(w, k, to, 0, k)
	if err := c.multiply(block(product, 0, to-k, 0, to-k), top, transposed(top), true, true); err != nil {
		return err
	}
	if to < n {
		if err := c.multiply(block(product, to-k, n-k, 0, to-k), block(w, to, n, 0, k), transposed(top), true, false); err != nil {
			return err
		}
	}
	return c.binary(cutlass.FactorSubtractLower, product, block(w, k, n, k, to), false)
}

// choleskyByKernels returns the factors of a. They are lower triangular, except that small matrices with
// Upper have upper triangular ones.
func (b blocked) choleskyByKernels(op *operation, a *gpk.Array) (*gpk.Array, error) {
	c := &kernelCholesky{upper: op.has(Upper)}
	n := a.Shape()[a.NDim()-1]
	how := fmt.Sprintf("Cholesky by kernels on %v", op.dev)
	if columns := choleskyColumns(a.DType(), n); columns < n {
		how += fmt.Sprintf(", %d columns at once, and products of full precision", columns)
	}
	l := op.Result(a.DType(), a.Shape(), how, []*gpk.Array{flat(a)}, c.run)
	err := gpk.Eval(l)
	if c.flags != nil {
		defer c.flags.Free()
	}
	if err != nil {
		return nil, err
	}
	member, order, err := c.failure()
	if err != nil {
		return nil, err
	}
	if order > 0 {
		// A NaN or infinity leads to a pivot that is not positive.
		if err := b.finite(a, op.triangle()); err != nil {
			return nil, err
		}
		return nil, &DefiniteError{unravel(member, a.Shape()[:a.NDim()-2]), order}
	}
	return l, nil
}

const (
	// fewColumns is the largest number of right-hand sides for which the library's kernels solve a whole
	// system: few_columns in factor_run.cuh.
	fewColumns = 16
	// solveRows is the number of rows that the kernels solve at once for more right-hand sides.
	solveRows = 1024
)

// kernelSolve solves triangular systems with the library's kernels.
type kernelSolve struct {
	kernelRun
	upper, unit bool
}

// run writes t^-1 x to dst. reads holds t and x, both with one leading axis.
func (c *kernelSolve) run(s *device.Stream, dst device.View, reads []device.View) error {
	c.s = s
	t, x := reads[0], dense3(dst)
	if err := ops.Cast(s, x, reads[1]); err != nil {
		return err
	}
	n, columns := x.Layout.Shape[1], x.Layout.Shape[2]
	if columns <= fewColumns {
		return c.solve(t, x, c.upper, c.unit, false)
	}
	for r := range substitution(n, solveRows, c.upper) {
		rows := block(x, r.from, r.to, 0, columns)
		if err := c.solve(block(t, r.from, r.to, r.from, r.to), rows, c.upper, c.unit, false); err != nil {
			return err
		}
		if r.lo < r.hi {
			if err := c.eliminate(block(x, r.lo, r.hi, 0, columns), block(t, r.lo, r.hi, r.from, r.to), rows); err != nil {
				return err
			}
		}
	}
	return nil
}

// eliminate enqueues x -= t rows.
func (c *kernelSolve) eliminate(x, t, rows device.View) error {
	product, free, err := c.temporary(x, x.Layout.Shape...)
	if err != nil {
		return err
	}
	defer free()
	if err := c.multiply(product, t, rows, false, false); err != nil {
		return err
	}
	return c.subtract(x, product)
}

// substituteByKernels replaces x by t^-1 x.
func (b blocked) substituteByKernels(op *operation, t, x *gpk.Array, upper, unit bool) error {
	if x.Size() == 0 {
		return nil
	}
	return x.CopyFrom(substituted(op, t, x, upper, unit))
}

// substituted returns t^-1 x, computed by kernels.
func substituted(op *operation, t, x *gpk.Array, upper, unit bool) *gpk.Array {
	c := &kernelSolve{upper: upper, unit: unit}
	return op.Result(x.DType(), x.Shape(), fmt.Sprintf("substitution by kernels on %v", op.dev), []*gpk.Array{t, x}, c.run)
}
