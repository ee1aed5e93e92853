package compose

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// precision describes a floating-point type: the number of digits of its significand, the exponent of its
// smallest positive number, and its largest number.
type precision struct {
	digits, least int
	largest       float64
}

// precisionOf returns the precision of a floating-point type.
func precisionOf(dt dtype.DType) precision {
	if h, ok := dt.Half(); ok {
		return precision{h.Fraction + 1, h.MinExponent() - h.Fraction, float64(h.Float32(h.Infinity() - 1))}
	}
	if dt == dtype.Float32 {
		return precision{24, -149, math.MaxFloat32}
	}
	return precision{53, -1074, math.MaxFloat64}
}

// NextAfter returns the neighbour of a in the direction of b: the next number of their type. a and b broadcast. The
// result is b where both are equal, and NaN where either is NaN. The neighbour of the largest finite number is Inf.
//
//gpk:row Of two operands, broadcast | the same | floating point | the number of the type that follows a in the direction of b
func NextAfter[A Operand](o Operation[A], a, b A) A {
	err := o.Check()
	if err == nil && a.DType() != b.DType() {
		err = fmt.Errorf("%w: %v and %v do not mix; Cast one, as with b.Cast(gpk.%s)", dtype.ErrDType, a.DType(), b.DType(), a.DType().GoName())
	}
	if err == nil {
		err = floating(a.DType(), false)
	}
	var shape []int
	if err == nil {
		shape, err = layout.Broadcast(a.Shape(), b.Shape())
	}
	switch {
	case err != nil:
		return o.Failed(err)
	case onGPU(a) || hasKernels(a) && !a.DType().IsHalf():
		return o.Result(a.DType(), shape, "one pass", []A{a, b}, func(s *device.Stream, dst device.View, reads []device.View) error {
			return ops.NextAfter(s, dst, reads[0], reads[1])
		})
	}
	up, down := neighbours(o, a)
	step := math.Ldexp(1, precisionOf(a.DType()).least)
	zero := o.Elementwise(expr.Eq, a, 0)
	grows := o.Elementwise(expr.Eq, o.Elementwise(expr.Gt, b, a), o.Elementwise(expr.Gt, a, 0))
	next := o.Elementwise(expr.CopySign, o.Elementwise(expr.Where, grows, up, down), a)
	next = o.Elementwise(expr.Where, zero, o.Elementwise(expr.CopySign, step, b), next)
	next = o.Elementwise(expr.Where, o.Elementwise(expr.Eq, a, b), b, next)
	sum := o.Elementwise(expr.Add, a, b)
	either := o.Elementwise(expr.Or, o.Elementwise(expr.IsNaN, a), o.Elementwise(expr.IsNaN, b))
	return o.Elementwise(expr.Where, either, sum, next)
}

// neighbours returns the next larger and the next smaller number of m = |a|, of the type of a, as sums,
// rounded to nearest (Rump, Zimmermann, Boldo and Melquiond, Computing predecessor and successor in
// rounding to nearest, BIT 49 (2009) 419).
//
// Below 2^digits times the smallest positive number, the distance of neighbours is that number.
// Above, m u (1 + 2u) with u = 2^-digits is between 0.5 and 1.5 times the distance of neighbours,
// so that the sum and the difference with m round to them. Numbers below 1 are first multiplied
// by 1/u, which keeps that product out of the range of subnormal numbers.
func neighbours[A Operand](o Operation[A], a A) (up, down A) {
	p := precisionOf(a.DType())
	u, step := math.Ldexp(1, -p.digits), math.Ldexp(1, p.least)
	m := o.Elementwise(expr.Abs, a)
	small := o.Elementwise(expr.Lt, m, 1)
	x := o.Elementwise(expr.Where, small, o.Elementwise(expr.Mul, m, 1/u), m)
	e := o.Elementwise(expr.Mul, x, u*(1+2*u))
	back := func(x A) A { return o.Elementwise(expr.Where, small, o.Elementwise(expr.Mul, x, u), x) }
	up, down = back(o.Elementwise(expr.Add, x, e)), back(o.Elementwise(expr.Sub, x, e))

	flat := math.Ldexp(step, p.digits) // above it, the distance of neighbours exceeds step
	up = o.Elementwise(expr.Where, o.Elementwise(expr.Lt, m, flat), o.Elementwise(expr.Add, m, step), up)
	down = o.Elementwise(expr.Where, o.Elementwise(expr.Le, m, flat), o.Elementwise(expr.Sub, m, step), down)
	down = o.Elementwise(expr.Where, o.Elementwise(expr.Eq, m, math.Inf(1)), p.largest, down)
	return up, down
}
