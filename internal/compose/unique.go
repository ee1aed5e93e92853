package compose

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// Unique returns the different elements of a, of a real type or Bool, in ascending order along
// one axis. All NaNs count as one element, as in NumPy, and so do -0 and 0, whichever comes
// first. Their number waits for the device, as that of Nonzero does.
//
//gpk:row In order along an axis | the same | real types, bool | the different elements of an array in ascending order; NaN is one of them; waits for their number
func Unique[A Operand](o Operation[A], a A) A {
	u, err := uniqueOf(o, a, false)
	if err != nil {
		return o.Failed(err)
	}
	return u.values(o)
}

// UniqueAll returns the elements of Unique, each with the index of the first such element of a
// in row-major order and with the number of them, and in inverse the index in values of every
// element of a, in the shape of a. All but values are Int64.
//
//gpk:row In order along an axis | the same, and int64 | real types, bool | the different elements of an array, the first index of each, the index of every element among them, and their numbers
func UniqueAll[A Operand](o Operation[A], a A) (values, indices, inverse, counts A) {
	u, err := uniqueOf(o, a, true)
	if err != nil {
		return o.Failed(err), o.Failed(err), o.Failed(err), o.Failed(err)
	}
	if u.size == 0 {
		none := func() A { return filled(o, dtype.Int64, 0, []int{0}) }
		return u.values(o), none(), filled(o, dtype.Int64, 0, a.Shape()), none()
	}
	n := u.starts.Size()
	// From each start to the next, the last one to the end.
	next := o.Take(u.starts, o.Elementwise(expr.Minimum, o.Elementwise(expr.Add, counted(o, n), 1), n-1), 0, nil)
	next = o.Elementwise(expr.Where, o.Elementwise(expr.Eq, counted(o, n), n-1), u.size, next)
	rank := o.Elementwise(expr.Sub, searched(o, u.starts, counted(o, u.size), true), 1)
	inverse = o.Take(rank, argsorted(o, u.order, 0, u.size, false), 0, nil)
	return u.values(o), o.Take(u.order, u.starts, 0, nil), reshape(o, inverse, a.Shape()...), o.Elementwise(expr.Sub, next, u.starts)
}

// distinct are the elements of an array in ascending order, with the place of the first of
// each kind.
type distinct[A any] struct {
	size                  int
	sorted, order, starts A // order has the index of every sorted element
}

// uniqueOf sorts the elements. With withOrder it also returns where each element was.
func uniqueOf[A Operand](o Operation[A], a A, withOrder bool) (u distinct[A], err error) {
	if err = o.Check(); err == nil {
		err = supports(expr.Sort, a.DType())
	}
	if err != nil {
		return u, err
	}
	u.size = a.Size()
	x := reshape(o, a, u.size)
	if u.size == 0 {
		u.sorted, u.starts = x, filled(o, dtype.Int64, 0, []int{0})
		return u, nil
	}
	if withOrder || a.DType().IsFloat() { // -0 and 0 are one number, whose first element counts
		u.order = argsorted(o, x, 0, u.size, false)
		u.sorted = o.Take(x, u.order, 0, nil)
	} else {
		u.sorted = sorted(o, x, 0, false)
	}
	before := slice(o, u.sorted, 0, 0, u.size-1)
	differs := o.Elementwise(expr.Ne, slice(o, u.sorted, 0, 1, u.size), before)
	if a.DType().IsFloat() { // behind a NaN there are only NaNs
		differs = o.Elementwise(expr.And, differs, o.Elementwise(expr.Eq, before, before))
	}
	later, err := places(o, differs)
	if err != nil {
		return u, err
	}
	parts := []A{filled(o, dtype.Int64, 0, []int{1}), o.Elementwise(expr.Add, later, 1)}
	u.starts = o.Result(dtype.Int64, []int{1 + later.Size()}, "the places of one kind each", parts, func(s *device.Stream, dst device.View, reads []device.View) error {
		return ops.Concat(s, dst, 0, reads)
	})
	return u, u.starts.Err()
}

func (u distinct[A]) values(o Operation[A]) A {
	return o.Take(u.sorted, u.starts, 0, nil)
}

// ordered returns the elements along one axis in ascending order.
func ordered[A Operand](o Operation[A], a A) A {
	return sorted(o, reshape(o, a, a.Size()), 0, false)
}
