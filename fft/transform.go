package fft

import (
	"fmt"
	"math"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/cufft"
	"github.com/gpk-go/gpk/layout"
)

// kind is the kind of a transform's input and output: real or complex.
type kind = cufft.Kind

const (
	complexToComplex = cufft.ComplexToComplex
	realToComplex    = cufft.RealToComplex // n real numbers, n/2+1 complex ones
	complexToReal    = cufft.ComplexToReal // n/2+1 complex numbers, n real ones
)

// operation is a call of an exported function.
type operation struct {
	*array.Operation
	options
	refused error // the reason why cuFFT, although available, does not transform
}

// begin makes the checks of all transforms, and returns the axes and their lengths. kind is
// that of the last axis. few is the default number of axes, -1 for all.
func begin(name string, a *gpk.Array, few int, k kind, given []Option) (op *operation, err error) {
	op = &operation{Operation: array.NewOperation("fft."+name, []*gpk.Array{a})}
	if err := op.Check(); err != nil {
		return op, err
	}
	if op.options, err = optionsOf(given); err != nil {
		return op, err
	}
	switch dt := a.DType(); {
	case dt.IsComplex() && k == realToComplex:
		return op, fmt.Errorf("%w: %v; the transform takes real numbers, FFT complex ones", gpk.ErrDType, dt)
	case dt.Real() != dtype.Float32 && dt.Real() != dtype.Float64:
		return op, fmt.Errorf("%w: %v; transforms support float32, float64, complex64 and complex128: Cast first", gpk.ErrDType, dt)
	}
	return op, op.resolve(a, few, k)
}

// resolve sets the axes and lengths that the options do not set.
func (op *operation) resolve(a *gpk.Array, few int, k kind) error {
	shape := a.Shape()
	if err := op.resolveAxes(shape, few); err != nil {
		return err
	}
	if op.lengths == nil {
		for i, d := range op.axes {
			n := shape[d]
			if k == complexToReal && i == len(op.axes)-1 {
				n = 2 * (n - 1)
			}
			op.lengths = append(op.lengths, n)
		}
	}
	if len(op.lengths) != len(op.axes) {
		return layout.Errorf("%d lengths for %d axes", len(op.lengths), len(op.axes))
	}
	for i, n := range op.lengths {
		if n < 1 || n > math.MaxInt32 {
			return layout.Errorf("a length of %d along axis %d; a transform has from 1 to %d elements", n, op.axes[i], math.MaxInt32)
		}
	}
	return nil
}

// resolveAxes sets the axes, counted from 0, and checks that each occurs at most once.
func (op *operation) resolveAxes(shape []int, few int) error {
	if op.axes == nil {
		n := few
		if n < 0 {
			n = len(shape)
			if op.lengths != nil {
				n = len(op.lengths)
			}
		}
		for i := range n {
			op.axes = append(op.axes, i-n)
		}
	}
	if few > 0 && len(op.axes) != few {
		return layout.Errorf("%d axes; the transform has %d", len(op.axes), few)
	}
	if len(op.axes) == 0 {
		return layout.Errorf("no axes to transform")
	}
	seen := make([]bool, len(shape))
	for i, axis := range op.axes {
		d, err := layout.Axis(axis, len(shape))
		if err != nil {
			return err
		}
		if seen[d] {
			return layout.Errorf("axis %d is named twice", axis)
		}
		seen[d] = true
		op.axes[i] = d
	}
	return nil
}

// scale returns the factor of a transform of n elements.
func (op *operation) scale(n int, inverse bool) float64 {
	switch {
	case op.norm == Ortho:
		return 1 / math.Sqrt(float64(n))
	case (op.norm == Forward) != inverse:
		return 1 / float64(n)
	}
	return 1
}

// along transforms one axis. The axes of the result are in the order of a.
func (op *operation) along(a *gpk.Array, axis, n int, k kind, inverse bool) *gpk.Array {
	if op.library(a) == nil {
		return op.onGPU(a, []int{axis}, []int{n}, k, inverse)
	}
	dt := a.DType()
	w := &work{kind: k, n: n, inverse: inverse, scale: op.scale(n, inverse)}
	read, written := n, n // elements of a line
	out := complexOf(dt)
	switch k {
	case realToComplex:
		written = n/2 + 1
	case complexToReal:
		read = n/2 + 1
		out = dt.Real()
	}
	x := op.View(a, func(l layout.Layout) (layout.Layout, error) {
		l, err := l.Transpose(lastOrder(len(l.Shape), []int{axis}))
		if err == nil {
			last := len(l.Shape) - 1
			l, err = l.Slice(last, 0, min(read, l.Shape[last]), 1)
		}
		return l, err
	})
	shape := x.Shape()
	if len(shape) == 0 { // x carries an error
		return x
	}
	shape[len(shape)-1] = written
	if _, err := layout.Size(shape); err != nil {
		return op.Failed(err)
	}
	how := "transforms on the CPU"
	if dev := a.Device(); dev.Kind() != device.CPU {
		how = fmt.Sprintf("fallback: transforms on the CPU, copied from %v and back: %v", dev, op.library(a))
		x = op.Cast(x, dt) // the type already fits, so it is copied with its strides
	}
	y := op.Result(out, shape, how, []*gpk.Array{x}, w.run)
	return op.View(y, func(l layout.Layout) (layout.Layout, error) {
		return l.Transpose(inverseOrder(lastOrder(len(l.Shape), []int{axis})))
	})
}

func complexOf(dt dtype.DType) dtype.DType {
	if dt.Real() == dtype.Float32 {
		return dtype.Complex64
	}
	return dtype.Complex128
}
