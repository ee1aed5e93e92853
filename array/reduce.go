package array

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

const oneReduction = "one reduction, its tree fixed by shape and type"

// reduce is the open result of a reduction over axes.
func (a *Array) reduce(code expr.Op, where site, axes []int) *Array {
	op := newOp(code.String(), where, a)
	if err := op.first(a); err != nil {
		return failed(err)
	}
	dt, err := ops.Lookup(code).Check(a.dt)
	if err != nil {
		return failed(op.fail(err))
	}
	set, err := layout.Axes(axes, a.NDim())
	if err != nil {
		return failed(op.fail(err))
	}
	shape, terms := []int{}, 1
	for d, n := range a.lay.Shape {
		if set[d] {
			terms *= n
		} else {
			shape = append(shape, n)
		}
	}
	if terms == 0 && ops.NeedsElements(code) {
		return failed(op.fail(layout.Errorf("%v of no elements: %v over axes %v", code, a.lay.Shape, axes)))
	}
	return op.reduction(code, a, set, dt, shape)
}

// reduction is the open result of a reduction of a over axes, which has a shape.
func (o *operation) reduction(code expr.Op, a *Array, axes []bool, dt dtype.DType, shape []int) *Array {
	o.code, o.fusion, o.axes, o.how, o.run = code, end, axes, oneReduction, runReduction
	if err := o.takeAll(a.lay.Size(), a.stream, a); err != nil {
		return failed(err)
	}
	return o.opened(a.stream, dt, layout.Dense(shape))
}

func runReduction(o *operation, s *device.Stream, dst device.View) error {
	return ops.Reduce(s, o.code, dst, o.in[0].view, o.axes)
}

// Mean returns the mean over axes, which the result lacks; no axes means all.
// Integers are ErrDType, and the mean of nothing is NaN.
func (a *Array) Mean(axes ...int) *Array { return a.reduce(expr.Mean, here(), axes) }

// Max returns the largest elements over axes, NaN where one is; no axes means
// all. There must be one element, or it is ErrShape.
func (a *Array) Max(axes ...int) *Array { return a.reduce(expr.Max, here(), axes) }

// Min returns the smallest elements over axes, as Max the largest.
func (a *Array) Min(axes ...int) *Array { return a.reduce(expr.Min, here(), axes) }

// Prod returns the product over axes; no axes means all. Integers and Bool give
// Int64, which wraps.
func (a *Array) Prod(axes ...int) *Array { return a.reduce(expr.Prod, here(), axes) }

// Var returns the variance over axes, the mean of |a - mean|^2, which is real; no
// axes means all. Integers are ErrDType.
func (a *Array) Var(axes ...int) *Array { return a.reduce(expr.Var, here(), axes) }

// Any returns whether an element is not 0, over axes, as Bool; no axes means all.
func (a *Array) Any(axes ...int) *Array { return a.reduce(expr.Any, here(), axes) }

// All returns whether no element is 0, over axes, as Bool; no axes means all.
func (a *Array) All(axes ...int) *Array { return a.reduce(expr.All, here(), axes) }

// ArgMax returns the place of the first of the largest elements along an axis, or
// of the first NaN, as Int64. There must be one element, or it is ErrShape.
func (a *Array) ArgMax(axis int) *Array { return a.reduce(expr.ArgMax, here(), []int{axis}) }

// ArgMin returns the place of the first of the smallest elements, as ArgMax of the
// largest.
func (a *Array) ArgMin(axis int) *Array { return a.reduce(expr.ArgMin, here(), []int{axis}) }
