package compose

import (
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// TopK returns the k largest elements along an axis in descending order, and their indices, Int64, for real types and
// Bool. NaN is the largest. Equal elements, including -0 and 0, are in the order of their indices. A k above the axis'
// length is ErrShape. Both results are computed together by one operation.
func TopK[A Operand](o Operation[A], a A, k, axis int) (values, indices A) {
	d, n, err := ranked(o, a, axis)
	shape := a.Shape()
	if err == nil && (k < 0 || k > n) {
		err = layout.Errorf("k is %d, which is negative or above the length of axis %d of %v", k, axis, shape)
	}
	if err != nil {
		return o.Failed(err), o.Failed(err)
	}
	shape[d] = k
	return Pair(o, [2]dtype.DType{a.DType(), dtype.Int64}, shape, "the largest along an axis, and their places", []A{a},
		func(s *device.Stream, dst [2]device.View, reads []device.View) error {
			return ops.TopK(s, dst[0], dst[1], reads[0], k, d)
		})
}
