package matmul

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// mirror writes the conjugates of the elements above the diagonal of d, [batch, n, n], to
// the places below it, and makes the diagonal real.
//
// The triangle above the diagonal is divided into squares of side h = 1, 2, 4, …. The first
// row of each square is a multiple of 2h, and its first column is h further. The squares of
// one side are equally spaced along the diagonal, so that one strided copy mirrors all of
// them, except for a last square that extends beyond n.
func mirror(s *device.Stream, d device.View) error {
	n := d.Layout.Shape[1]
	batch, row, col := d.Layout.Strides[0], d.Layout.Strides[1], d.Layout.Strides[2]
	squares := func(first, count, h, rows, cols int) error {
		if count == 0 || rows <= 0 || cols <= 0 {
			return nil
		}
		shape := []int{d.Layout.Shape[0], count, rows, cols}
		src, dst := d, d
		at := d.Layout.Offset + first*(row+col)
		src.Layout = layout.Layout{Shape: shape, Strides: []int{batch, 2 * h * (row + col), row, col}, Offset: at + h*col}
		dst.Layout = layout.Layout{Shape: shape, Strides: []int{batch, 2 * h * (row + col), col, row}, Offset: at + h*row}
		if d.DType.IsComplex() {
			return ops.Apply1(s, expr.Conj, dst, src)
		}
		return ops.Cast(s, dst, src)
	}
	for h := 1; h < n; h *= 2 {
		count := n / (2 * h)
		if err := squares(0, count, h, h, h); err != nil {
			return err
		}
		if rest := n - count*2*h; rest > h {
			if err := squares(count*2*h, 1, h, h, rest-h); err != nil {
				return err
			}
		}
	}
	if !d.DType.IsComplex() || n == 0 {
		return nil
	}
	diagonal := d
	diagonal.Layout = layout.Layout{Shape: []int{d.Layout.Shape[0], n, 1}, Strides: []int{batch, row + col, 1}, Offset: d.Layout.Offset}
	_, _, im := parts(diagonal)
	return ops.Fill(s, im, ops.Scalar{})
}
