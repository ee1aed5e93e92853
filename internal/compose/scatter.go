package compose

import (
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// ScatterAdd returns a copy of a in which values are added to the elements at indices along an axis. It is the
// transpose of Take, and NumPy's add.at. Indices are Int32 or Int64, of any shape. Negative ones count from the end.
// If an index occurs several times, all its values are added. The order does not matter or depends only on the
// indices, so the bits are the same in every run on one device. values, of a's type, is broadcast to the shape of
// Take(a, indices, axis). Half types are computed in Float32 and rounded once, integers wrap. An index outside the
// axis is ErrShape, found as for Take. Bool is ErrDType.
//
// The CPU adds the values in order. A GPU adds integers of 32 and 64 bits in any order. It sorts all others by index
// and adds them in runs of 32, Float32 and Complex64 in double precision with one rounding. If Float32 and Complex64
// have few sums in narrow rows, such as 2^24 single elements at 2^16 indices, they are added exactly and rounded once.
//
//gpk:row To other places | the same | all but bool | a copy with values added at indices along an axis; equal indices add, in an order of the indices alone
func ScatterAdd[A Operand](o Operation[A], a, indices, values A, axis int) A {
	return scattered(o, expr.Add, a, indices, values, axis, sumsAt[A])
}

// ScatterMax returns a copy of a with the largest of each element and the values at its index along an axis, NumPy's
// maximum.at. A NaN gives NaN, as in Maximum. Indices and values are as for ScatterAdd. Types: real, Bool.
//
//gpk:row To other places | the same | real types, bool | a copy with the largest of each element and the values at its index along an axis; NaN if one of them is
func ScatterMax[A Operand](o Operation[A], a, indices, values A, axis int) A {
	return scattered(o, expr.Maximum, a, indices, values, axis, maximumsAt[A])
}

// ScatterMin returns a copy of a with the smallest of each element and the values at its index along an axis, NumPy's
// minimum.at. A NaN gives NaN. Operands and types are as for ScatterMax.
//
//gpk:row To other places | the same | real types, bool | a copy with the smallest of each element and the values at its index along an axis; NaN if one of them is
func ScatterMin[A Operand](o Operation[A], a, indices, values A, axis int) A {
	return scattered(o, expr.Minimum, a, indices, values, axis, minimumsAt[A])
}

// scatterRows are the operands of a scatter, whose axes are moved so that it is one of rows.
type scatterRows[A Operand] struct {
	indices, values, x A // [count] or its shape before, [count, width], [n, width]
	count, n, width    int
	outside            error // the cause of the error for an index outside n
}

// scattered combines values with the elements of a at indices along an axis, by an operation of two operands. rows does
// so for rows, and returns [n, width].
func scattered[A Operand](o Operation[A], code expr.Op, a, indices, values A, axis int, rows func(o Operation[A], r scatterRows[A]) A) A {
	d, n, err := along(o, a, axis)
	var shape []int
	if err == nil {
		shape, err = scatterShape(o, code, a, indices, values, d)
	}
	if err == nil && n == 0 && indices.Size() > 0 {
		err = outsideOf(axis, n)
	}
	if err != nil {
		return o.Failed(err)
	}
	span := indices.NDim()
	values = o.View(values, func(l layout.Layout) (layout.Layout, error) { return l.BroadcastTo(shape) })
	count := indices.Size()
	if count == 0 || a.Size() == 0 {
		return o.Elementwise(expr.Where, filled(o, dtype.Bool, true, nil), o.Cast(a, a.DType()), a)
	}
	// The axes of the indices, as one, and the axis of a come first.
	var front, order []int
	for i := range shape {
		if i < d || i >= d+span {
			order = append(order, i)
		} else {
			front = append(front, i)
		}
	}
	r := scatterRows[A]{indices: indices, count: count, n: n, width: a.Size() / n, outside: outsideOf(axis, n)}
	r.values = reshape(o, permute(o, values, append(front, order...)), count, r.width)
	r.x = o.View(a, func(l layout.Layout) (layout.Layout, error) { return l.Transpose(first(d, a.NDim())) })
	across := r.x.Shape()
	out := reshape(o, rows(o, r), across...)
	if d == 0 { // the axes are already in order
		return out
	}
	return o.Cast(o.View(out, func(l layout.Layout) (layout.Layout, error) { return l.Transpose(back(d, a.NDim())) }), a.DType())
}

// sumsAt adds rows at indices.
func sumsAt[A Operand](o Operation[A], r scatterRows[A]) A {
	v := r.values
	if v.Device().Kind() != device.CPU && v.Err() == nil && v.Strides()[0] == 0 { // one row for all indices
		v = slice(o, v, 0, 0, 1)
	}
	reads := []A{dense(o, r.indices), dense(o, wide(o, v)), dense(o, reshape(o, wide(o, r.x), r.n, r.width))}
	fail := o.Failure()
	sums := o.Checked(reads[2].DType(), []int{r.n, r.width}, "sums in an order of the indices", reads, func(s *device.Stream, dst device.View, reads []device.View) error {
		return written(s, dst, func(dst device.View) error {
			return ops.ScatterAdd(s, dst, reads[0], reads[1], reads[2], r.outside, fail)
		})
	})
	return narrow(o, sums, r.x.DType())
}

func maximumsAt[A Operand](o Operation[A], r scatterRows[A]) A { return extremesAt(o, expr.Maximum, r) }

func minimumsAt[A Operand](o Operation[A], r scatterRows[A]) A { return extremesAt(o, expr.Minimum, r) }

// extremesAt combines rows at indices by Maximum or Minimum. Without a kernel it sorts the rows by index, and combines
// those of one index at a distance of 2^k, so that the last of them holds the extremes.
func extremesAt[A Operand](o Operation[A], code expr.Op, r scatterRows[A]) A {
	x := reshape(o, r.x, r.n, r.width)
	if hasKernels(x) {
		reads := []A{dense(o, r.indices), dense(o, wide(o, r.values)), dense(o, wide(o, x))}
		fail := o.Failure()
		extremes := o.Result(reads[2].DType(), x.Shape(), "extremes at the indices", reads, func(s *device.Stream, dst device.View, reads []device.View) error {
			return written(s, dst, func(dst device.View) error {
				return ops.ScatterExtreme(s, code, dst, reads[0], reads[1], reads[2], r.outside, fail)
			})
		})
		return narrow(o, extremes, x.DType())
	}
	at, bad := normal(o, reshape(o, r.indices, r.count), r.n)
	at = o.Elementwise(expr.Where, bad, r.n, at) // behind all rows
	order := argsorted(o, at, 0, r.count, false)
	sorted, rows := take(o, at, order, 0, nil), counted(o, r.n)
	last := o.Elementwise(expr.Maximum, o.Elementwise(expr.Sub, searched(o, sorted, rows, true), 1), 0) // last index of each row, if it has one
	hit := o.Elementwise(expr.Eq, take(o, sorted, last, 0, nil), rows)
	order = o.Elementwise(expr.Where, o.Elementwise(expr.Ge, sorted, r.n), r.count, order) // take reports these
	v, places := take(o, r.values, order, 0, r.outside), reshape(o, sorted, r.count, 1)
	for by := 1; by < r.count; by *= 2 {
		later := slice(o, v, 0, by, r.count)
		both := o.Elementwise(code, later, slice(o, v, 0, 0, r.count-by))
		same := o.Elementwise(expr.Eq, slice(o, places, 0, by, r.count), slice(o, places, 0, 0, r.count-by))
		v = Concat(o, 0, slice(o, v, 0, 0, by), o.Elementwise(expr.Where, same, both, later))
	}
	found := o.Elementwise(code, x, take(o, v, last, 0, nil))
	return o.Elementwise(expr.Where, reshape(o, hit, r.n, 1), found, x)
}

// scatterShape checks the types of a scatter's operands, and returns the shape to which the
// values are broadcast.
func scatterShape[A Operand](o Operation[A], code expr.Op, a, indices, values A, d int) ([]int, error) {
	if err := supports(o, code, a.DType()); err != nil {
		return nil, err
	}
	if err := indexType(indices); err != nil {
		return nil, err
	}
	if values.DType() != a.DType() {
		return nil, fmt.Errorf("%w: values of %v in an array of %v; Cast one", dtype.ErrDType, values.DType(), a.DType())
	}
	shape, _, err := layout.Take(a.Shape(), indices.Shape(), d)
	if err == nil {
		_, err = layoutOf(values).BroadcastTo(shape)
	}
	return shape, err
}

// first returns the order of n axes in which axis d comes first.
func first(d, n int) []int {
	order := []int{d}
	for i := range n {
		if i != d {
			order = append(order, i)
		}
	}
	return order
}

// back returns the inverse permutation of first.
func back(d, n int) []int {
	order := make([]int, n)
	for to, from := range first(d, n) {
		order[from] = to
	}
	return order
}
