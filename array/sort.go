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
	op, dt, axis, err := a.onAxis(expr.Sort, here(), axis)
	if err != nil {
		return failedArray(err)
	}
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
	op, dt, axis, err := a.onAxis(expr.TopK, here(), axis)
	fail := func(err error) (values, indices *Array) { return failedArray(err), failedArray(err) }
	if err != nil {
		return fail(err)
	}
	if k < 0 || k > a.lay.Shape[axis] {
		return fail(op.fail(layout.Errorf("the %d largest along axis %d of %v", k, axis, a.lay.Shape)))
	}
	x, release, err := a.acquire()
	if err != nil {
		return fail(op.wrap(err))
	}
	defer release()
	shape := a.Shape()
	shape[axis] = k
	lay := layout.Dense(shape)
	var results [2]*Array
	var views [2]device.View
	for i, t := range []dtype.DType{dt, dtype.Int64} {
		buf, err := alloc(a.on(), int64(lay.Size())*int64(t.Size()), a.stream)
		if err != nil {
			if i > 0 {
				views[0].Buffer.Free()
			}
			return fail(op.fail(err))
		}
		label(buf, &op.call, shape, t)
		results[i] = storedArray(buf, t, shape, a.stream, op.call, "the largest along an axis, and their places")
		views[i] = device.View{Buffer: buf, DType: t, Layout: lay}
	}
	if err := ops.TopK(a.stream, views[0], views[1], x, k, axis); err != nil {
		views[0].Buffer.Free()
		views[1].Buffer.Free()
		return fail(op.wrap(err))
	}
	for _, r := range results {
		r.ownedBy(a.scopeOf())
	}
	return results[0], results[1]
}
