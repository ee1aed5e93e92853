package array

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

const oneReduction = "one reduction, its tree fixed by shape and type"

// reduce returns the result of a reduction of a over axes. Options may be among the axes.
func reduce(code expr.Op, a *Array, axes []int) *Array {
	return call{code.String(), here()}.reduce(code, a, axes)
}

func (c call) reduce(code expr.Op, a *Array, axes []int) *Array {
	dt, err := typeOf(code, a)
	var set []bool
	var r layout.Reduction
	if err == nil {
		r, err = layout.ReductionOf(axes)
	}
	if err == nil {
		set, err = layout.AxisSet(r.Axes, a.NDim())
	}
	if err == nil {
		err = ops.CheckOptions(code, r)
	}
	if err != nil {
		return c.failed(err, a)
	}
	var room [8]int
	shape, terms := layout.Fold(room[:0], a.lay.Shape, set)
	if terms == 0 && ops.NeedsElements(code) {
		return c.failed(layout.Errorf("%v of no elements: a reduced axis of %v has length 0", code, a.lay.Shape), a)
	}
	n := newNode(c)
	n.rule = rule{code: code, fusion: reduction, axes: set, run: runReduction}
	n.how = oneReduction
	b := n.result(a.stream, dt, layout.CachedDense(shape), 1, a)
	if r.Keep {
		b.lay = layout.Dense(layout.Kept(a.lay.Shape, set))
	}
	return b
}

func runReduction(o *job, s *device.Stream, dst device.View) error {
	return ops.Reduce(s, o.code, dst, o.view(0), o.axes)
}
