package compose

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// IsIn returns whether each element of a is among those of values, an array of a's type, which is real or Bool, and of any
// shape. NaN is in nothing. values are sorted and searched; up to eight are compared one by one.
//
//gpk:row In order along an axis | bool | real types, bool | whether each element is among given values; NaN is in nothing
func IsIn[A Operand](o Operation[A], a, values A) A {
	err := o.Check()
	if err == nil {
		err = supports(o, expr.Sort, a.DType())
	}
	if err == nil {
		err = o.SameType(a, values)
	}
	if err != nil {
		return o.Failed(err)
	}
	n := values.Size()
	if n == 0 || a.Size() == 0 {
		return filled(o, dtype.Bool, false, a.Shape())
	}
	list := reshape(o, values, n)
	if n <= 8 {
		number := func(i int) A { return reshape(o, slice(o, list, 0, i, i+1)) }
		in := o.Elementwise(expr.Eq, a, number(0))
		for i := 1; i < n; i++ {
			in = o.Elementwise(expr.Or, in, o.Elementwise(expr.Eq, a, number(i)))
		}
		return in
	}
	list = sorted(o, list, 0, false)
	if hasKernels(a) && !a.DType().IsHalf() {
		return o.Result(dtype.Bool, a.Shape(), "a search of each element", []A{list, dense(o, a)}, func(s *device.Stream, dst device.View, reads []device.View) error {
			return written(s, dst, func(dst device.View) error { return ops.IsIn(s, dst, reads[0], reads[1]) })
		})
	}
	at := o.Elementwise(expr.Minimum, searched(o, list, a, false), n-1)
	return o.Elementwise(expr.Eq, take(o, list, at, 0, nil), a)
}

// Interp returns the linear interpolation of a function at the elements of a, NumPy's interp(a, xp, fp). The function has
// the values fp at the places xp, which ascend. xp and fp have one axis, the same length and the type of a, which is a
// floating-point type. Below the first place the result is the first value, and above the last place the last one. For NaN
// it is NaN. The order of xp is not checked. Half types are computed in Float32 and rounded once.
//
//gpk:row Of two operands, broadcast | the same | floating point | the linear interpolation of values at ascending places, constant outside them
func Interp[A Operand](o Operation[A], a, xp, fp A) A {
	err := o.Check()
	if err == nil {
		err = floating(a.DType(), false)
	}
	if err == nil {
		err = o.SameType(a, xp, fp)
	}
	if err == nil && (xp.NDim() != 1 || fp.NDim() != 1 || xp.Size() != fp.Size() || xp.Size() == 0) {
		err = layout.Errorf("places of shape %v and values of shape %v; want one axis of the same length, above 0", xp.Shape(), fp.Shape())
	}
	if err != nil {
		return o.Failed(err)
	}
	x, xs, ys, n := wide(o, a), wide(o, xp), wide(o, fp), xp.Size()
	if hasKernels(a) {
		y := o.Result(x.DType(), x.Shape(), "one pass of binary searches", []A{dense(o, xs), dense(o, ys), dense(o, x)}, func(s *device.Stream, dst device.View, reads []device.View) error {
			return written(s, dst, func(dst device.View) error { return ops.Interp(s, dst, reads[0], reads[1], reads[2]) })
		})
		return narrow(o, y, a.DType())
	}
	ends := [2]A{reshape(o, slice(o, ys, 0, 0, 1)), reshape(o, slice(o, ys, 0, n-1, n))}
	y := o.Elementwise(expr.Where, o.Elementwise(expr.IsNaN, x), x, ends[0])
	if n > 1 {
		y = interpolated(o, x, xs, ys)
	}
	y = o.Elementwise(expr.Where, o.Elementwise(expr.Lt, x, reshape(o, slice(o, xs, 0, 0, 1))), ends[0], y)
	y = o.Elementwise(expr.Where, o.Elementwise(expr.Ge, x, reshape(o, slice(o, xs, 0, n-1, n))), ends[1], y)
	return narrow(o, y, a.DType())
}

// interpolated returns the values at x between the first and the last of at least two places, and NaN for NaN.
func interpolated[A Operand](o Operation[A], x, xs, ys A) A {
	n := xs.Size()
	after := o.Elementwise(expr.Clamp, searched(o, xs, x, true), 1, n-1)
	before := o.Elementwise(expr.Sub, after, 1)
	step := func(v A) A { return o.Elementwise(expr.Sub, slice(o, v, 0, 1, n), slice(o, v, 0, 0, n-1)) }
	slope := take(o, o.Elementwise(expr.Div, step(ys), step(xs)), before, 0, nil)
	line := func(at A) (x0, y0, y A) {
		x0, y0 = take(o, xs, at, 0, nil), take(o, ys, at, 0, nil)
		return x0, y0, o.Elementwise(expr.Add, o.Elementwise(expr.Mul, slope, o.Elementwise(expr.Sub, x, x0)), y0)
	}
	// With infinite places or values one of the two lines may be NaN where the other is not, as in NumPy.
	x0, y0, y := line(before)
	_, y1, other := line(after)
	other = o.Elementwise(expr.Where, o.Elementwise(expr.And, o.Elementwise(expr.IsNaN, other), o.Elementwise(expr.Eq, y0, y1)), y0, other)
	y = o.Elementwise(expr.Where, o.Elementwise(expr.IsNaN, y), other, y)
	y = o.Elementwise(expr.Where, o.Elementwise(expr.Eq, x, x0), y0, y)
	return o.Elementwise(expr.Where, o.Elementwise(expr.IsNaN, x), x, y)
}
