package compose

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// checkPair checks the operands of a product of two arrays: they have one type, not Bool.
func checkPair[A Operand](o Operation[A], a, b A) error {
	err := o.Check()
	switch {
	case err != nil:
		return err
	case a.DType() != b.DType():
		return fmt.Errorf("%w: %v and %v do not mix; Cast one, as with b.Cast(gpk.%s)", dtype.ErrDType, a.DType(), b.DType(), a.DType().GoName())
	case a.DType() == dtype.Bool:
		return fmt.Errorf("%w: a product of bool; Cast(gpk.Int32) first", dtype.ErrDType)
	}
	return nil
}

// TensorDot returns the sum of products of a and b over pairs of axes. The i-th pair is axis aAxes[i] of a and
// axis bAxes[i] of b; both have the same length. The result has the other axes of a and then those of b. Types
// are those of Einsum, which computes it. Without axes it is the outer product.
//
//gpk:row Products | the same; int32 for int8 and uint8 | all but bool, int16, uint16, uint32, uint64 | the sum of products over pairs of axes, then the other axes of a and of b
func TensorDot[A Operand](o Operation[A], a, b A, aAxes, bAxes []int) A {
	err := checkPair(o, a, b)
	if err == nil && len(aAxes) != len(bAxes) {
		err = layout.Errorf("%d axes of a are paired with %d of b", len(aAxes), len(bAxes))
	}
	var of, with subscript
	if err == nil {
		of.labels, err = named(a, aAxes, 0)
	}
	if err == nil {
		with.labels, err = named(b, bAxes, a.NDim())
	}
	e := &equation{lengths: map[rune]int{}}
	if err == nil {
		for i, x := range aAxes { // a pair has the label of a's axis
			m, _ := layout.Axis(x, a.NDim())
			n, _ := layout.Axis(bAxes[i], b.NDim())
			with.labels[n] = of.labels[m]
			if p, q := a.Shape()[m], b.Shape()[n]; p != q {
				err = layout.Errorf("axis %d of a has length %d, but axis %d of b has %d", x, p, bAxes[i], q)
			}
		}
	}
	if err != nil {
		return o.Failed(err)
	}
	for i, a := range []A{a, b} {
		s := []subscript{of, with}[i]
		for d, label := range s.labels {
			e.lengths[label] = a.Shape()[d]
		}
		e.inputs = append(e.inputs, s)
	}
	for _, label := range of.labels {
		if !slices.Contains(with.labels, label) {
			e.output.labels = append(e.output.labels, label)
		}
	}
	for _, label := range with.labels {
		if !slices.Contains(of.labels, label) {
			e.output.labels = append(e.output.labels, label)
		}
	}
	return evaluate(o, e, []A{a, b})
}

// named returns consecutive labels, starting with first, for axes of a. It returns ErrShape if an axis does
// not exist or occurs twice.
func named[A Operand](a A, axes []int, first int) ([]rune, error) {
	if len(axes) > 0 {
		if _, err := layout.Axes(axes, a.NDim()); err != nil {
			return nil, err
		}
	}
	labels := make([]rune, a.NDim())
	for d := range labels {
		labels[d] = rune(first + d)
	}
	return labels, nil
}

// Outer returns the products of all pairs of elements, [size of a, size of b]: both are
// taken in row-major order. Types are as for Mul.
//
//gpk:row Products | the same | floating point, integers, complex | the products of all pairs of elements
func Outer[A Operand](o Operation[A], a, b A) A {
	if err := checkPair(o, a, b); err != nil {
		return o.Failed(err)
	}
	if _, err := layout.Size([]int{a.Size(), b.Size()}); err != nil {
		return o.Failed(err)
	}
	return o.Elementwise(expr.Mul, reshape(o, a, a.Size(), 1), reshape(o, b, 1, b.Size()))
}

// VecDot returns the sum of conj(a) b along an axis, by default the last one. a and b are broadcast, and the
// axis is one of the broadcast shape. a and b must have the same length along it. Types are those of Einsum.
//
//gpk:row Products | the same; int32 for int8 and uint8 | all but bool, int16, uint16, uint32, uint64 | the sum of conj(a) b along an axis, broadcast
func VecDot[A Operand](o Operation[A], a, b A, axis ...int) A {
	err := checkPair(o, a, b)
	d := -1
	if err == nil {
		d, err = optional(axis, -1, "the axis")
	}
	var shape []int
	if err == nil {
		shape, err = layout.Broadcast(a.Shape(), b.Shape())
	}
	if err == nil {
		d, err = layout.Axis(d, len(shape))
	}
	if err == nil {
		_, err = layout.Size(shape)
	}
	if err == nil {
		m, n := lengthFromEnd(a.Shape(), len(shape)-d), lengthFromEnd(b.Shape(), len(shape)-d)
		if m != n {
			err = layout.Errorf("along axis %d, %v has length %d and %v has length %d; the lengths must be equal", d, a.Shape(), m, b.Shape(), n)
		}
	}
	if dt := a.DType(); err == nil && dt != dtype.Bool && !dt.HasProducts() {
		err = noProducts(dt)
	}
	if err != nil {
		return o.Failed(err)
	}
	if a.DType().IsComplex() {
		a = o.Elementwise(expr.Conj, a)
	}
	dt := a.DType()
	if dt.Size() == 1 {
		dt = dtype.Int32
	}
	widen := func(x A) A {
		if dt == dtype.Int32 {
			return narrow(o, x, dt)
		}
		return wide(o, x)
	}
	return wrapped(o, o.Reduce(expr.Sum, o.Elementwise(expr.Mul, widen(a), widen(b)), []int{d}), dt)
}

// noProducts returns the error of a sum of products of elements of type dt.
func noProducts(dt dtype.DType) error {
	return fmt.Errorf("%w: a sum of products of %v; Cast(gpk.Int64) first", dtype.ErrDType, dt)
}

// lengthFromEnd returns the length of the axis at a distance from the end; the last axis has distance 1. For a
// missing axis it returns 1.
func lengthFromEnd(shape []int, at int) int {
	if at > len(shape) {
		return 1
	}
	return shape[len(shape)-at]
}

// Kron returns the Kronecker product: every element of a times all of b, in blocks of b's shape. The operand
// with fewer axes gets leading axes of length 1. Types are as for Mul.
//
//gpk:row Products | the same | floating point, integers, complex | the Kronecker product: blocks of b times each element of a
func Kron[A Operand](o Operation[A], a, b A) A {
	if err := checkPair(o, a, b); err != nil {
		return o.Failed(err)
	}
	rank := max(a.NDim(), b.NDim())
	x, y, out := make([]int, 2*rank), make([]int, 2*rank), make([]int, rank)
	full := make([]int, 2*rank)
	for d := range rank {
		m, n := lengthFromEnd(a.Shape(), rank-d), lengthFromEnd(b.Shape(), rank-d)
		x[2*d], x[2*d+1], y[2*d], y[2*d+1] = m, 1, 1, n
		full[2*d], full[2*d+1] = m, n
	}
	if _, err := layout.Size(full); err != nil {
		return o.Failed(err)
	}
	for d := range rank {
		out[d] = full[2*d] * full[2*d+1]
	}
	return reshape(o, o.Elementwise(expr.Mul, reshape(o, a, x...), reshape(o, b, y...)), out...)
}
