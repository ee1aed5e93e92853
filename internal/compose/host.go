package compose

import (
	"sync/atomic"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

var composed atomic.Bool

// Composed sets whether the CPU composes operations for which it has kernels, as a GPU does, and returns the previous
// setting. It is for tests of these compositions on a machine without a GPU.
func Composed(on bool) (old bool) { return composed.Swap(on) }

// hasKernels reports whether the device of an operand has the kernels that ops has for the CPU only.
func hasKernels[A Operand](a A) bool {
	return a.Device().Kind() == device.CPU && !composed.Load()
}

// composedHere reports whether an operand is on the CPU and Composed(true) was called.
func composedHere[A Operand](a A) bool { return !onGPU(a) && composed.Load() }

// onGPU reports whether an operand is on a GPU.
func onGPU[A Operand](a A) bool { return a.Device().Kind() != device.CPU }

// dense returns the elements as a dense array in row-major order.
func dense[A Operand](o Operation[A], a A) A {
	if layoutOf(a).IsDense() {
		return a
	}
	return o.Cast(a, a.DType())
}

// written calls f with dst if dst is dense. Otherwise it calls f with a dense destination, and
// copies that to dst.
func written(s *device.Stream, dst device.View, f func(dst device.View) error) error {
	if dst.Layout.IsDense() {
		return f(dst)
	}
	buf, err := s.Device().Alloc(int64(dst.Layout.Size())*int64(dst.DType.Size()), s)
	if err != nil {
		return err
	}
	defer buf.Free()
	whole := device.View{Buffer: buf, DType: dst.DType, Layout: layout.Dense(dst.Layout.Shape)}
	if err := f(whole); err != nil {
		return err
	}
	return ops.Cast(s, dst, whole)
}
