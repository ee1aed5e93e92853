package array

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

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
	if err != nil {
		return c.failed(err, a), c.failed(err, a)
	}
	shape := a.Shape()
	shape[axis] = k
	o := Operation{c, []*Array{a}}
	return o.Pair([2]dtype.DType{dt, dtype.Int64}, shape, "the largest along an axis, and their places", o.operands,
		func(s *device.Stream, dst [2]device.View, reads []device.View) error {
			return ops.TopK(s, dst[0], dst[1], reads[0], k, axis)
		})
}
