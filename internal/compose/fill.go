package compose

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Zeros returns an array of zeros (false for Bool) on the default device; no shape makes it 0-d.
func Zeros[A Operand](o Operation[A], dt dtype.DType, shape ...int) A {
	return o.Source(dt, shape, true, nil, func(s *device.Stream, dst device.View) error {
		return ops.Fill(s, dst, ops.Scalar{})
	})
}

// Ones returns an array of ones (true for Bool) on the default device.
func Ones[A Operand](o Operation[A], dt dtype.DType, shape ...int) A {
	return filled(o, dt, 1, shape)
}

// Full returns an array whose every element is value, a Go number or an Elem value, rounded
// to dt. A number that the type cannot hold (a fraction or overflow for integers, a complex
// number for reals) is ErrDType; floats overflow to Inf, as they do in arithmetic.
func Full[A Operand](o Operation[A], dt dtype.DType, value any, shape ...int) A {
	return filled(o, dt, value, shape)
}

// filled returns an array of one number.
func filled[A any](o Operation[A], dt dtype.DType, value any, shape []int) A {
	x, err := constant(dt, value)
	return o.Source(dt, shape, true, err, func(s *device.Stream, dst device.View) error { return ops.Fill(s, dst, x) })
}

// constant converts a number to an element of the type that the caller passed.
func constant(dt dtype.DType, v any) (ops.Scalar, error) {
	return ops.ScalarOf(dt, v, "name a type that does")
}

// Eye returns the identity matrix of n rows.
func Eye[A Operand](o Operation[A], dt dtype.DType, n int) A {
	one, err := constant(dt, 1)
	return o.Source(dt, []int{n, n}, true, err, func(s *device.Stream, dst device.View) error { return ops.Eye(s, dst, one) })
}

// Arange returns 0, 1, … n-1, rounded to dt. An integer type that cannot hold n-1 is ErrDType; floats overflow to Inf.
func Arange[A Operand](o Operation[A], dt dtype.DType, n int) A {
	var err error
	if n > 0 && !dt.IsFloat() && !dt.IsComplex() {
		_, err = constant(dt, n-1)
	}
	return o.Source(dt, []int{n}, false, err, func(s *device.Stream, dst device.View) error { return ops.Arange(s, dst, 0, 1) })
}

// Linspace returns n numbers evenly spaced from lo to hi, including both: lo + i (hi - lo)/(n - 1) in float64, the last
// exactly hi, rounded to dt once. Integer types take the floor, as NumPy's linspace does, and are ErrDType if they
// cannot hold the floor of lo and of hi. For n = 1 the number is lo.
func Linspace[A Operand](o Operation[A], dt dtype.DType, lo, hi float64, n int) A {
	wide := dtype.Float64
	err := ops.LinspaceBounds(dt, lo, hi, n)
	if err != nil {
		wide = dt // the error prints this type
	}
	x := o.Source(wide, []int{n}, false, err, func(s *device.Stream, dst device.View) error { return ops.Linspace(s, dst, lo, hi) })
	if dt.IsInteger() && err == nil {
		x = o.Elementwise(expr.Floor, x)
	}
	return narrow(o, x, dt)
}

// Concat joins arrays of one type along an axis. Their lengths may differ only along this axis.
func Concat[A Operand](o Operation[A], axis int, as ...A) A { return join(o, layout.Concat, axis, as) }

// Stack joins arrays of one type and shape along a new axis, which comes before their axis with that number.
func Stack[A Operand](o Operation[A], axis int, as ...A) A { return join(o, layout.Stack, axis, as) }

// join copies arrays, one after the other, along an axis. shapeOf returns the shape of the
// result and the axis counted from 0. If the result has one axis more than the arrays, the
// axis is new.
func join[A Operand](o Operation[A], shapeOf func(axis int, shapes ...[]int) ([]int, int, error), axis int, as []A) A {
	if len(as) == 0 {
		return o.Failed(layout.Errorf("no arrays to join"))
	}
	err := o.SameType(as...)
	if err == nil {
		err = o.Check()
	}
	var shape []int
	if err == nil {
		shapes := make([][]int, len(as))
		for i, a := range as {
			shapes[i] = a.Shape()
		}
		shape, axis, err = shapeOf(axis, shapes...)
	}
	if err != nil {
		return o.Failed(err)
	}
	views := slices.Clone(as)
	for i, a := range as {
		if len(shape) > a.NDim() {
			views[i] = unsqueeze(o, a, axis)
		}
	}
	return o.Result(as[0].DType(), shape, fmt.Sprintf("%d copies along axis %d", len(as), axis), views, func(s *device.Stream, dst device.View, reads []device.View) error {
		return ops.Concat(s, dst, axis, reads)
	})
}

// Flip returns a view in which the named axes run backwards; no axes means all.
func Flip[A Operand](o Operation[A], a A, axes ...int) A {
	return o.View(a, func(l layout.Layout) (layout.Layout, error) { return l.Flip(axes) })
}
