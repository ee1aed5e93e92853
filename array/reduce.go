package array

import (
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

const oneReduction = "one reduction, its tree fixed by shape and type"

// reduce is the result of a reduction of a over axes.
func reduce(code expr.Op, a *Array, axes []int) *Array {
	c := call{code.String(), here()}
	dt, err := typeOf(code, a)
	var set []bool
	if err == nil {
		set, err = layout.AxisSet(axes, a.NDim())
	}
	if err != nil {
		return c.failed(err, a)
	}
	var room [8]int
	shape, terms := layout.Fold(room[:0], a.lay.Shape, set)
	if terms == 0 && ops.NeedsElements(code) {
		return c.failed(layout.Errorf("%v of no elements: %v over axes %v", code, a.lay.Shape, slices.Clone(axes)), a)
	}
	n := newNode(c)
	n.rule = rule{code: code, fusion: reduction, axes: set, run: runReduction}
	n.how = oneReduction
	return n.result(a.stream, dt, layout.CachedDense(shape), 1, a)
}

func runReduction(o *job, s *device.Stream, dst device.View) error {
	return ops.Reduce(s, o.code, dst, o.view(0), o.axes)
}

// Mean returns the mean over axes, which the result lacks; no axes means all.
// Integers are ErrDType, and the mean of nothing is NaN.
func (a *Array) Mean(axes ...int) *Array { return reduce(expr.Mean, a, axes) }

// Max returns the largest elements over axes, NaN where one is; no axes means
// all. There must be one element, or it is ErrShape.
func (a *Array) Max(axes ...int) *Array { return reduce(expr.Max, a, axes) }

// Min returns the smallest elements over axes, as Max the largest.
func (a *Array) Min(axes ...int) *Array { return reduce(expr.Min, a, axes) }

// Prod returns the product over axes; no axes means all. Integers and Bool give
// Int64, which wraps.
func (a *Array) Prod(axes ...int) *Array { return reduce(expr.Prod, a, axes) }

// Var returns the variance over axes, the mean of |a - mean|^2, which is real; no
// axes means all. Integers are ErrDType.
func (a *Array) Var(axes ...int) *Array { return reduce(expr.Var, a, axes) }

// Any returns whether an element is not 0, over axes, as Bool; no axes means all.
func (a *Array) Any(axes ...int) *Array { return reduce(expr.Any, a, axes) }

// All returns whether no element is 0, over axes, as Bool; no axes means all.
func (a *Array) All(axes ...int) *Array { return reduce(expr.All, a, axes) }

// ArgMax returns the place of the first of the largest elements along an axis, or
// of the first NaN, as Int64. There must be one element, or it is ErrShape.
func (a *Array) ArgMax(axis int) *Array { return reduce(expr.ArgMax, a, []int{axis}) }

// ArgMin returns the place of the first of the smallest elements, as ArgMax of the
// largest.
func (a *Array) ArgMin(axis int) *Array { return reduce(expr.ArgMin, a, []int{axis}) }
