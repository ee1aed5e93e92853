package compose

import (
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Diag returns a view of diagonal k of a matrix, the elements (i, i+k), or a square matrix of zeros
// whose diagonal k is the 1-D array a. No k means 0, the main diagonal. A diagonal outside the
// matrix is ErrShape, and so is an a with another number of axes.
//
//gpk:row To other places | the same | all | a view of a diagonal of a matrix, or a matrix of zeros with a given diagonal
func Diag[A Operand](o Operation[A], a A, k ...int) A {
	err := o.Check()
	at := 0
	if err == nil {
		at, err = optional(k, 0, "the diagonal")
	}
	var shape []int
	switch {
	case err != nil:
	case a.NDim() == 2:
		return o.View(a, func(l layout.Layout) (layout.Layout, error) { return l.DiagonalAt(at) })
	case a.NDim() != 1:
		err = layout.Errorf("the diagonal of an array with %d axes; want 1 or 2", a.NDim())
	default:
		n := a.Size() + max(at, -at)
		if shape = []int{n, n}; n < a.Size() {
			err = layout.Errorf("diagonal %d", at)
		} else {
			_, err = layout.Size(shape)
		}
	}
	if err != nil {
		return o.Failed(err)
	}
	return o.Result(a.DType(), shape, "one fill, and a strided copy", []A{a}, func(s *device.Stream, dst device.View, reads []device.View) error {
		err := ops.Fill(s, dst, ops.Scalar{})
		if err != nil || reads[0].Layout.Size() == 0 {
			return err
		}
		target := dst
		if target.Layout, err = dst.Layout.DiagonalAt(at); err != nil {
			return err
		}
		return ops.Cast(s, target, reads[0])
	})
}

// Diagonal returns a view of diagonal k of each matrix in the last two axes, the elements (i, i+k), in a new last axis:
// [..., m, n] gives [..., length]. Without k it is the main diagonal. A diagonal outside the matrix, and an a with
// fewer than two axes, are ErrShape. The trace of matrices is x.Diagonal().Sum(-1).
//
//gpk:row To other places | the same | all | a view of a diagonal of each matrix in the last two axes
func Diagonal[A Operand](o Operation[A], a A, k ...int) A {
	err := o.Check()
	at := 0
	if err == nil {
		at, err = optional(k, 0, "the diagonal")
	}
	n := 0
	if err == nil {
		if n = a.NDim() - 2; n < 0 {
			err = layout.Errorf("the diagonals of an array with %d axes; want 2 or more", a.NDim())
		}
	}
	if err != nil {
		return o.Failed(err)
	}
	return o.View(a, func(l layout.Layout) (layout.Layout, error) {
		one, err := layout.Layout{Shape: l.Shape[n:], Strides: l.Strides[n:], Offset: l.Offset}.DiagonalAt(at)
		one.Shape = append(slices.Clone(l.Shape[:n]), one.Shape...)
		one.Strides = append(slices.Clone(l.Strides[:n]), one.Strides...)
		return one, err
	})
}

// Tril returns the lower triangle of each matrix in the last two axes: a with 0 above
// diagonal k. No k means 0, the main diagonal. Fewer than two axes are ErrShape.
//
//gpk:row To other places | the same | all | the lower triangle of each matrix; elements above a diagonal are 0
func Tril[A Operand](o Operation[A], a A, k ...int) A { return triangle(o, a, k, expr.Ge) }

// Triu returns the upper triangle of each matrix in the last two axes: a with 0 below
// diagonal k. No k means 0, the main diagonal. Fewer than two axes are ErrShape.
//
//gpk:row To other places | the same | all | the upper triangle of each matrix; elements below a diagonal are 0
func Triu[A Operand](o Operation[A], a A, k ...int) A { return triangle(o, a, k, expr.Le) }

// triangle keeps the elements for which row + k and column satisfy the comparison holds, and sets
// the others to 0.
func triangle[A Operand](o Operation[A], a A, k []int, holds expr.Op) A {
	err := o.Check()
	at := 0
	if err == nil {
		at, err = optional(k, 0, "the diagonal")
	}
	if err == nil && a.NDim() < 2 {
		err = layout.Errorf("a triangle of an array with %d axes; want 2 or more", a.NDim())
	}
	if err != nil {
		return o.Failed(err)
	}
	shape := a.Shape()
	rows, cols := shape[len(shape)-2], shape[len(shape)-1]
	at = max(-rows, min(at, cols)) // diagonals outside the matrix have the same effect as the outermost ones
	if onGPU(a) {
		return o.Result(a.DType(), shape, "one pass", []A{dense(o, a)}, func(s *device.Stream, dst device.View, reads []device.View) error {
			return written(s, dst, func(dst device.View) error { return ops.Triangle(s, dst, reads[0], at, holds == expr.Le) })
		})
	}
	row := o.Elementwise(expr.Add, unsqueeze(o, counted(o, rows), 1), at)
	mask := o.Elementwise(holds, row, counted(o, cols))
	var zero any = 0
	if a.DType() == dtype.Bool {
		zero = false
	}
	return o.Elementwise(expr.Where, mask, a, zero)
}
