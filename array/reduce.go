package array

import (
	"slices"
	"sync/atomic"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

const oneReduction = "one reduction, its tree fixed by shape and type"

// reduce makes r the open result of a reduction of a over axes. It keeps neither, as
// its callers in elementwise.go.
func (r *Array) reduce(code expr.Op, a *Array, axes []int) {
	c := call{code.String(), here()}
	if err := c.first(a); err != nil {
		r.fail(err)
		return
	}
	dt, err := ops.Lookup(code).Check(a.dt)
	var set []bool
	if err == nil {
		set, err = axisSet(axes, a.NDim())
	}
	if err != nil {
		r.fail(c.fail(err, a))
		return
	}
	var room [8]int
	shape, terms := room[:0], 1
	for d, n := range a.lay.Shape {
		if set[d] {
			terms *= n
		} else {
			shape = append(shape, n)
		}
	}
	if terms == 0 && ops.NeedsElements(code) {
		r.fail(c.fail(layout.Errorf("%v of no elements: %v over axes %v", code, a.lay.Shape, slices.Clone(axes)), a))
		return
	}
	v := a.v.set.unlocked()
	o := &v.op
	o.fusion = end
	if err := o.take(0, a, a.lay.Size(), a.stream); err != nil {
		v.op = operation{}
		v.set.idle.Put(v)
		r.fail(c.wrap(err, a))
		return
	}
	v.mu.Lock()
	o.n = 1
	o.call, o.rule = c, rule{code: code, fusion: end, axes: set, run: runReduction}
	o.how = oneReduction
	r.open(v, a.stream, dt, v.set.dense(shape))
}

// keptAxes is up to how many dimensions the sets of axes are there once for all.
const keptAxes = 6

// axisSets are the sets of axes of arrays with so many dimensions. Nobody writes them.
var axisSets = func() (all [keptAxes + 1][][]bool) {
	for n := range all {
		for mask := range 1 << n {
			set := make([]bool, n)
			for d := range set {
				set[d] = mask>>d&1 == 1
			}
			all[n] = append(all[n], set)
		}
	}
	return all
}()

// axisSet is layout.Axes, which allocates nothing for few dimensions. The set is not
// to be written.
func axisSet(axes []int, ndim int) ([]bool, error) {
	if ndim > keptAxes {
		return layout.Axes(axes, ndim)
	}
	mask := 0
	for _, x := range axes {
		d, err := layout.Axis(x, ndim)
		if err != nil || mask>>d&1 == 1 {
			return layout.Axes(axes, ndim) // which says what is wrong
		}
		mask |= 1 << d
	}
	if len(axes) == 0 {
		mask = 1<<ndim - 1
	}
	return axisSets[ndim][mask], nil
}

// keptLayouts are dense layouts that results had before: programs repeat themselves.
type keptLayouts [64]atomic.Pointer[layout.Layout]

// dense is layout.Dense of a shape, which it does not keep.
func (s *openSet) dense(shape []int) layout.Layout {
	h := uint(len(shape))
	for _, n := range shape {
		h = (h ^ uint(n)) * 0x9e3779b1
	}
	slot := &s.layouts[(h^h>>16)%uint(len(s.layouts))]
	if l := slot.Load(); l != nil && slices.Equal(l.Shape, shape) {
		return *l
	}
	l := layout.Dense(append([]int{}, shape...))
	slot.Store(&l)
	return l
}

func runReduction(o *operation, s *device.Stream, dst device.View) error {
	return ops.Reduce(s, o.code, dst, o.in[0].view, o.axes)
}

// Mean returns the mean over axes, which the result lacks; no axes means all.
// Integers are ErrDType, and the mean of nothing is NaN.
func (a *Array) Mean(axes ...int) *Array {
	r := new(Array)
	r.reduce(expr.Mean, a, axes)
	return r
}

// Max returns the largest elements over axes, NaN where one is; no axes means
// all. There must be one element, or it is ErrShape.
func (a *Array) Max(axes ...int) *Array {
	r := new(Array)
	r.reduce(expr.Max, a, axes)
	return r
}

// Min returns the smallest elements over axes, as Max the largest.
func (a *Array) Min(axes ...int) *Array {
	r := new(Array)
	r.reduce(expr.Min, a, axes)
	return r
}

// Prod returns the product over axes; no axes means all. Integers and Bool give
// Int64, which wraps.
func (a *Array) Prod(axes ...int) *Array {
	r := new(Array)
	r.reduce(expr.Prod, a, axes)
	return r
}

// Var returns the variance over axes, the mean of |a - mean|^2, which is real; no
// axes means all. Integers are ErrDType.
func (a *Array) Var(axes ...int) *Array {
	r := new(Array)
	r.reduce(expr.Var, a, axes)
	return r
}

// Any returns whether an element is not 0, over axes, as Bool; no axes means all.
func (a *Array) Any(axes ...int) *Array {
	r := new(Array)
	r.reduce(expr.Any, a, axes)
	return r
}

// All returns whether no element is 0, over axes, as Bool; no axes means all.
func (a *Array) All(axes ...int) *Array {
	r := new(Array)
	r.reduce(expr.All, a, axes)
	return r
}

// ArgMax returns the place of the first of the largest elements along an axis, or
// of the first NaN, as Int64. There must be one element, or it is ErrShape.
func (a *Array) ArgMax(axis int) *Array {
	r := new(Array)
	r.reduce(expr.ArgMax, a, []int{axis})
	return r
}

// ArgMin returns the place of the first of the smallest elements, as ArgMax of the
// largest.
func (a *Array) ArgMin(axis int) *Array {
	r := new(Array)
	r.reduce(expr.ArgMin, a, []int{axis})
	return r
}
