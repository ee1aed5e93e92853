package fft

import (
	"errors"
	"fmt"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cufft"
	"github.com/gpk-go/gpk/layout"
)

// errCPU is the error of library for arrays on the CPU.
var errCPU = errors.New("the array is on the CPU")

// library returns the reason why cuFFT does not transform a, or nil if it does.
func (op *operation) library(a *gpk.Array) error {
	switch {
	case a.Err() != nil || a.Device().Kind() == device.CPU:
		return errCPU
	case op.refused != nil:
		return op.refused
	}
	return cufft.Load()
}

// onGPU transforms up to cufft.MaxRank axes at once with cuFFT; all in the same direction. The axes
// of the result are in the order of a. complexToReal is done for one axis at a time: for several
// axes, cuFFT requires that its input is the transform of real numbers.
func (op *operation) onGPU(a *gpk.Array, axes, lengths []int, k kind, inverse bool) *gpk.Array {
	x := op.arranged(a, axes, lengths, k)
	shape := x.Shape()
	if len(shape) == 0 { // x carries an error
		return x
	}
	out := x.DType()
	scale := 1.0
	for i, n := range lengths {
		shape[len(shape)-len(axes)+i] = n
		scale *= op.scale(n, inverse)
	}
	switch k {
	case realToComplex:
		out = complexOf(out)
		shape[len(shape)-1] = shape[len(shape)-1]/2 + 1
	case complexToReal:
		out = out.Real()
	}
	if _, err := layout.Size(shape); err != nil {
		return op.Failed(err)
	}
	t := &gpuWork{kind: k, lengths: lengths, inverse: inverse}
	if x.Size() > 0 {
		// The plan is made here, because the CPU can still compute a transform that cuFFT refuses.
		if _, err := t.plan(x.Device(), x.DType(), array.Shown(x).Layout); err != nil {
			return op.refuse(err, a, axes, lengths, k, inverse)
		}
	}
	how := fmt.Sprintf("%s on %v, %v at once", cufft.Version(), x.Device(), lengths)
	y := op.Result(out, shape, how, []*gpk.Array{x}, t.run)
	if scale != 1 {
		y = op.Elementwise(expr.Mul, y, scale)
	}
	return op.View(y, func(l layout.Layout) (layout.Layout, error) {
		return l.Transpose(inverseOrder(lastOrder(len(l.Shape), axes)))
	})
}

// refuse transforms on the CPU if cuFFT refused to. Lack of memory is an error.
func (op *operation) refuse(err error, a *gpk.Array, axes, lengths []int, k kind, inverse bool) *gpk.Array {
	if errors.Is(err, gpk.ErrOutOfMemory) {
		return op.Failed(err)
	}
	op.refused = err
	for i := len(axes) - 1; i >= 0; i-- {
		a = op.along(a, axes[i], lengths[i], k, inverse)
		k = complexToComplex
	}
	return a
}

// arranged returns a in the form that cuFFT reads: with the transformed axes at the end, cropped or
// padded to the lengths, and of cuFFT's type. Complex numbers that are transformed to real ones are
// dense.
func (op *operation) arranged(a *gpk.Array, axes, lengths []int, k kind) *gpk.Array {
	lengths = slices.Clone(lengths)
	dt := a.DType()
	if k != realToComplex {
		dt = complexOf(dt)
	}
	if k == complexToReal {
		lengths[len(lengths)-1] = lengths[len(lengths)-1]/2 + 1
	}
	x := op.View(a, func(l layout.Layout) (layout.Layout, error) {
		l, err := l.Transpose(lastOrder(len(l.Shape), axes))
		for i, n := range lengths {
			if d := len(l.Shape) - len(axes) + i; err == nil {
				l, err = l.Slice(d, 0, min(n, l.Shape[d]), 1)
			}
		}
		return l, err
	})
	shape := x.Shape()
	widths, pad := make([][2]int, len(shape)), false
	for i, n := range lengths {
		if d := len(shape) - len(axes) + i; d >= 0 && shape[d] < n {
			widths[d][1], pad = n-shape[d], true
		}
	}
	if pad {
		x = x.Pad(widths, 0)
	}
	if x.Err() != nil {
		return x
	}
	_, readable := cufft.New(k, dt.Real() == dtype.Float64, lengths, array.Shown(x).Layout)
	if dt != x.DType() || !readable || k == complexToReal && !array.Shown(x).Layout.IsDense() {
		x = op.Cast(x, dt)
	}
	return x
}

// gpuWork holds the transforms along the last axes of an array.
type gpuWork struct {
	kind    kind
	lengths []int
	inverse bool
}

func (t *gpuWork) plan(d *device.Device, dt dtype.DType, l layout.Layout) (*cufft.Plan, error) {
	p, ok := cufft.New(t.kind, dt.Real() == dtype.Float64, t.lengths, l)
	if !ok {
		return nil, fmt.Errorf("%w: no transform of elements with strides %v", gpk.ErrUnsupported, l.Strides)
	}
	return cufft.PlanOf(d, p)
}

// run computes dst from reads[0]. It is called when the result is needed.
func (t *gpuWork) run(s *device.Stream, dst device.View, reads []device.View) error {
	src := reads[0]
	if dst.Layout.Size() == 0 {
		return nil
	}
	p, err := t.plan(s.Device(), src.DType, src.Layout)
	if err != nil {
		return err
	}
	return p.Run(s, dst, src, t.inverse)
}

// lastOrder returns the order of n axes in which the given ones are last.
func lastOrder(n int, axes []int) []int {
	var order []int
	for d := range n {
		if !slices.Contains(axes, d) {
			order = append(order, d)
		}
	}
	return append(order, axes...)
}

// inverseOrder returns the inverse of a permutation.
func inverseOrder(order []int) []int {
	inverse := make([]int, len(order))
	for i, d := range order {
		inverse[d] = i
	}
	return inverse
}
