package fused

import (
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// NormResidual holds the arguments of Sum = X + Residual and Normed = RMSNorm(Sum, Gamma).
// X and Residual have one shape. Sum and Normed are dense and share no memory with each
// other or with an operand. Gamma is dense along the last axis, or the zero View.
type NormResidual struct {
	Sum, Normed, X, Residual, Gamma device.View
	Eps                             float64
}

// Check returns an error for operands that do not fit. X and Residual of different shapes
// are ErrShape, as is a Gamma that is not as long as the last axis. Types other than real
// floating-point ones are ErrDType.
func (r *NormResidual) Check() error {
	if _, err := ops.Lookup(expr.RMSNorm).Check(r.X.DType); err != nil {
		return err
	}
	x := r.X.Layout.Shape
	if !slices.Equal(x, r.Residual.Layout.Shape) {
		return layout.Errorf("x has shape %v, the residual %v", x, r.Residual.Layout.Shape)
	}
	if r.Gamma.DType == dtype.Invalid {
		return ops.CheckNorm(x)
	}
	return ops.CheckNorm(x, r.Gamma.Layout.Shape)
}

// PlanNormResidual describes how a sum and its norm are computed on a kind of device, for
// dense lines of n elements.
func PlanNormResidual(kind device.Kind, dt dtype.DType, n int) string {
	switch {
	case kind == device.CPU:
		return "one pass over the lines: the sum, and its norm while the line is in the cache"
	case wholeVectors(dt, n):
		return "one kernel"
	}
	return "composed of two operations, Add and RMSNorm; " + needsWholeVectors(dt, n)
}

// Run starts the sum and the norm on s.
func (r *NormResidual) Run(s *device.Stream) error {
	if r.Sum.Layout.Size() == 0 {
		return nil
	}
	dev := s.Device()
	if dev.Kind() == device.CPU {
		own := *r // a capture keeps the work after this call
		return dev.LaunchWork(s, []*device.Buffer{r.X.Buffer, r.Residual.Buffer, r.Gamma.Buffer}, []*device.Buffer{r.Sum.Buffer, r.Normed.Buffer}, &own)
	}
	if k, ok := r.kernel(dev); ok {
		return dev.LaunchWork(s, []*device.Buffer{r.X.Buffer, r.Residual.Buffer, r.Gamma.Buffer}, []*device.Buffer{r.Sum.Buffer, r.Normed.Buffer}, k)
	}
	if err := ops.Apply2(s, expr.Add, r.Sum, r.X, r.Residual); err != nil {
		return err
	}
	return ops.Norm(s, expr.RMSNorm, r.Normed, r.Sum, r.Gamma, device.View{}, r.Eps)
}

// Start implements device.Work, on the CPU.
func (r *NormResidual) Start(int, uint64) error {
	var gamma unsafe.Pointer
	if r.Gamma.Buffer != nil {
		gamma = r.Gamma.Ptr()
	}
	x, y := &r.X.Layout, &r.Residual.Layout
	return cpu.NormResidual(r.X.DType, x.Shape, r.X.Ptr(), x.Strides, r.Residual.Ptr(), y.Strides, gamma, r.Eps, r.Sum.Ptr(), r.Normed.Ptr())
}

// kernel returns the launch of the library's kernel, and whether the kernel accepts the
// operands in their layouts: lines that begin at multiples of 16 bytes and have a constant
// distance.
func (r *NormResidual) kernel(dev *device.Device) (*normResidualKernel, bool) {
	shape := r.X.Layout.Shape
	last := len(shape) - 1
	x, residual := r.X.Layout.Strides, r.Residual.Layout.Strides
	n, size := shape[last], r.X.DType.Size()
	fits := wholeVectors(r.X.DType, n) && (n == 1 || x[last] == 1 && residual[last] == 1)
	for _, v := range []device.View{r.X, r.Residual, r.Gamma, r.Sum, r.Normed} {
		fits = fits && deviceAddress(v)%16 == 0
	}
	outer, strides := layout.Collapse(shape[:last], x[:last], residual[:last])
	k := &normResidualKernel{r: *r, dev: dev, lines: r.X.Layout.Size() / n}
	switch len(outer) {
	case 0:
	case 1:
		k.xPitch, k.residualPitch = strides[0][0], strides[1][0]
	default:
		fits = false
	}
	return k, fits && k.xPitch*size%16 == 0 && k.residualPitch*size%16 == 0
}

// normResidualKernel is the launch of the library's kernel for a NormResidual.
type normResidualKernel struct {
	r                            NormResidual
	dev                          *device.Device
	lines, xPitch, residualPitch int
}

// Start implements device.Work.
func (k *normResidualKernel) Start(ordinal int, stream uint64) error {
	args := k.arguments()
	return k.dev.Library().NormResidual(ordinal, stream, &args)
}

// Enqueue implements device.Queued.
func (k *normResidualKernel) Enqueue(ordinal int, stream uint64) (bool, error) {
	args := k.arguments()
	return true, k.dev.Submitted().NormResidual(ordinal, stream, &args)
}

func (k *normResidualKernel) arguments() cutlass.NormResidual {
	r := &k.r
	return cutlass.NormResidual{
		Type: r.X.DType, X: r.X.Addr(), Residual: r.Residual.Addr(), Gamma: deviceAddress(r.Gamma), Sum: r.Sum.Addr(), Normed: r.Normed.Addr(),
		XPitch: k.xPitch, ResidualPitch: k.residualPitch, Lines: k.lines, N: r.X.Layout.Shape[len(r.X.Layout.Shape)-1], Eps: r.Eps,
	}
}
