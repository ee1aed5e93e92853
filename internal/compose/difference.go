package compose

import (
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// Diff returns the n-th differences of a along an axis. The first differences are a[i+1] - a[i];
// the n-th are the first differences of the (n-1)-th. The axis becomes shorter by n, and empty if
// n is at least its length. Integers wrap. Bool is ErrDType, and a negative n ErrShape.
//
//gpk:row Over axes | the same | floating point, integers, complex | the n-th differences along an axis, which becomes shorter by n
func Diff[A Operand](o Operation[A], a A, n, axis int) A {
	d, length, err := along(o, a, axis)
	if err == nil {
		err = supports(o, expr.Sub, a.DType())
	}
	if err == nil && n < 0 {
		err = layout.Errorf("differences of the negative order %d", n)
	}
	if err != nil {
		return o.Failed(err)
	}
	if n == 0 {
		return o.Cast(a, a.DType())
	}
	if n >= length {
		return o.Cast(slice(o, a, d, 0, 0), a.DType())
	}
	x := a
	for range n {
		x = o.Elementwise(expr.Sub, slice(o, x, d, 1, length), slice(o, x, d, 0, length-1))
		length--
	}
	return x
}

// Cross returns the cross products of the vectors of a and b along an axis, of length 3 in both.
// The other axes broadcast. The axis is an axis of a; in b it is the axis at the same distance
// from the last one. A component is the difference of two rounded products.
//
//gpk:row Products | the same | floating point, integers, complex | the cross products of vectors of three elements along an axis, broadcast
func Cross[A Operand](o Operation[A], a, b A, axis int) A {
	err := checkPair(o, a, b)
	var d, e int
	if err == nil {
		d, err = layout.Axis(axis, a.NDim())
	}
	if err == nil {
		if e = b.NDim() - a.NDim() + d; e < 0 {
			err = layout.Errorf("axis %d of %v: %v has no such axis, counted from the last", axis, a.Shape(), b.Shape())
		}
	}
	if err == nil && (a.Shape()[d] != 3 || b.Shape()[e] != 3) {
		err = layout.Errorf("the cross product along axis %d of %v and %v, whose length is not 3 in both", axis, a.Shape(), b.Shape())
	}
	if err == nil {
		_, err = layout.Broadcast(a.Shape(), b.Shape())
	}
	if err != nil {
		return o.Failed(err)
	}
	// Component i is a[i+1] b[i+2] - a[i+2] b[i+1], with indices modulo 3.
	if hasKernels(a) {
		part := func(i int) A {
			of := func(x A, axis, i int) A { return slice(o, x, axis, i%3, i%3+1) }
			left := o.Elementwise(expr.Mul, of(a, d, i+1), of(b, e, i+2))
			return o.Elementwise(expr.Sub, left, o.Elementwise(expr.Mul, of(a, d, i+2), of(b, e, i+1)))
		}
		return join(o, layout.Concat, d-a.NDim(), []A{part(0), part(1), part(2)})
	}
	// Components 0 and 1 are one chain: i+1 is 1 and 2, and i+2 modulo 3 is 2 and 0, a view with the stride -2.
	difference := func(a1, b2, a2, b1 A) A {
		return o.Elementwise(expr.Sub, o.Elementwise(expr.Mul, a1, b2), o.Elementwise(expr.Mul, a2, b1))
	}
	twoAndZero := func(x A, axis int) A {
		return o.View(x, func(l layout.Layout) (layout.Layout, error) {
			l, err := l.Slice(axis, 0, 3, 2)
			if err != nil {
				return l, err
			}
			return l.Flip([]int{axis})
		})
	}
	first := difference(slice(o, a, d, 1, 3), twoAndZero(b, e), twoAndZero(a, d), slice(o, b, e, 1, 3))
	last := difference(slice(o, a, d, 0, 1), slice(o, b, e, 1, 2), slice(o, a, d, 1, 2), slice(o, b, e, 0, 1))
	return join(o, layout.Concat, d-a.NDim(), []A{first, last})
}
