package fused

import (
	"fmt"
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/ops"
)

// NormResidual is Sum = X + Residual and Normed = RMSNorm(Sum, Gamma) about to run. X and
// Residual have one shape; Sum and Normed are dense and share no memory with anything.
// Gamma, dense along the last axis, may be the zero View.
type NormResidual struct {
	Sum, Normed, X, Residual, Gamma device.View
	Eps                             float64
}

// Check refuses operands that do not fit: X and Residual of two shapes are ErrShape, as a
// Gamma that is not as long as the last axis, and types other than real floating-point
// ones ErrDType.
func (r *NormResidual) Check() error {
	if _, err := ops.Lookup(expr.RMSNorm).Check(r.X.DType); err != nil {
		return err
	}
	x := r.X.Layout.Shape
	if !slices.Equal(x, r.Residual.Layout.Shape) {
		return layout.Errorf("x is %v, and the residual %v", x, r.Residual.Layout.Shape)
	}
	if r.Gamma.DType == dtype.Invalid {
		return ops.CheckNorm(x)
	}
	return ops.CheckNorm(x, r.Gamma.Layout.Shape)
}

// PlanNormResidual says how a sum and its norm are computed on a kind of device.
func PlanNormResidual(kind device.Kind) string {
	if kind == device.CPU {
		return "one pass over the lines: the sum, and its norm while the line is in the cache"
	}
	return fmt.Sprintf("composed of two operations, Add and RMSNorm; %v has no kernel that writes both results", kind)
}

// Run starts the sum and the norm on s.
func (r *NormResidual) Run(s *device.Stream) error {
	if r.Sum.Layout.Size() == 0 {
		return nil
	}
	dev := s.Device()
	if dev.Kind() == device.CPU {
		own := *r // what a capture records outlives the call
		return dev.LaunchWork(s, []*device.Buffer{r.X.Buffer, r.Residual.Buffer, r.Gamma.Buffer}, []*device.Buffer{r.Sum.Buffer, r.Normed.Buffer}, &own)
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
