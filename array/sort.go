package array

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// Sort returns the elements along an axis in rising order, or in falling order
// where descending, for real types and Bool. NaN is the largest: the last in
// rising order, and the first in falling; -0 is below 0.
func (a *Array) Sort(axis int, descending bool) *Array {
	c := call{expr.Sort.String(), here()}
	dt, axis, err := a.onAxis(expr.Sort, axis)
	if err != nil {
		return c.failed(err, a)
	}
	op := newNode(c)
	op.strided, op.how = true, "a sort along an axis"
	op.run = func(o *job, s *device.Stream, dst device.View) error {
		return ops.Sort(s, dst, o.view(0), axis, descending)
	}
	return op.result(a.stream, dt, a.dense(), 0, a)
}

// TopK returns the k largest elements along an axis in falling order, and their
// places there, as Int64, for real types and Bool. NaN is the largest; of equal
// elements, -0 and 0 among them, the first comes first. k beyond the axis is
// ErrShape. Both are computed at once, as two results of one operation.
func (a *Array) TopK(k, axis int) (values, indices *Array) {
	c := call{expr.TopK.String(), here()}
	dt, axis, err := a.onAxis(expr.TopK, axis)
	if err == nil && (k < 0 || k > a.lay.Shape[axis]) {
		err = layout.Errorf("the %d largest along axis %d of %v", k, axis, a.lay.Shape)
	}
	var x device.View
	var release func()
	if err == nil {
		x, release, err = a.acquire()
	}
	if err != nil {
		return c.failed(err, a), c.failed(err, a)
	}
	defer release()
	shape := a.Shape()
	shape[axis] = k
	const how = "the largest along an axis, and their places"
	values = c.filled(a.stream, dt, shape, how, func(v device.View) error {
		indices = c.filled(a.stream, dtype.Int64, shape, how, func(i device.View) error {
			return ops.TopK(a.stream, v, i, x, k, axis)
		})
		return indices.err
	})
	if values.err != nil {
		return values, values
	}
	values.ownedBy(a.scopeOf())
	indices.ownedBy(a.scopeOf())
	return values, indices
}
