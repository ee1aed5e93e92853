package array

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// FromLayout is FromBuffer for elements that lie in the buffer as lay says. A
// layout that reaches outside the buffer is ErrShape. Indices that name one
// element, other than those of a broadcast axis (stride 0), are the caller's
// mistake: what a write through them leaves is undefined.
func FromLayout(buf *device.Buffer, dt dtype.DType, lay layout.Layout) *Array {
	lay = layout.Layout{Shape: slices.Clone(lay.Shape), Strides: slices.Clone(lay.Strides), Offset: lay.Offset}
	op := newSource("FromLayout", here(), dt, lay.Shape)
	if buf.Device() == nil || !dt.Valid() {
		return failed(op.fail(fmt.Errorf("%w: no buffer or no element type", dtype.ErrDType)))
	}
	if err := fits(lay, int(buf.Size()/int64(dt.Size()))); err != nil {
		return failed(op.fail(err))
	}
	return over(buf, dt, lay, op.name)
}

// fits reports a layout that reaches outside n elements.
func fits(lay layout.Layout, n int) error {
	if len(lay.Strides) != len(lay.Shape) {
		return layout.Errorf("%d strides for %v", len(lay.Strides), lay.Shape)
	}
	size, err := layout.Size(lay.Shape)
	if err != nil {
		return err
	}
	if size == 0 {
		return nil
	}
	outside := layout.Errorf("%v with strides %v from element %d on reaches outside the buffer's %d elements", lay.Shape, lay.Strides, lay.Offset, n)
	if lay.Offset < 0 || lay.Offset >= n {
		return outside
	}
	for i, d := range lay.Shape { // before they are multiplied
		if s := lay.Strides[i]; d > 1 && (s > n/(d-1) || s < -n/(d-1)) {
			return outside
		}
	}
	if lo, hi := lay.Span(); lo < 0 || hi > n {
		return outside
	}
	return nil
}
