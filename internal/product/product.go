// Package product describes the matrix product of two operands with any number of axes, as
// NumPy's matmul: its shapes, its result type, and the matmul.Product that computes it.
//
// What belongs here: the checks of operands and options, and the views that matmul reads.
// What does not: arrays, and the choice of kernels.
package product

import (
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
)

// Product is a matmul.Product with the shapes, result type and device of the operands.
type Product struct {
	matmul.Product
	Shapes layout.Product
	DType  dtype.DType
	Device *device.Device
}

// New returns the product of operands of type dt with shapes a and b on dev, with a bias
// and an activation, or the reason why there is no such product.
func New(dev *device.Device, dt dtype.DType, a, b []int, bias bool, act matmul.Activation, o *matmul.Options) (*Product, error) {
	p := &Product{Device: dev}
	var err error
	p.DType, err = o.ResultType(dt)
	if err == nil {
		p.Precision, err = o.Resolve(dt)
	}
	if err == nil && act != matmul.NoActivation && !dt.IsFloat() {
		err = fmt.Errorf("%w: %v has no meaning for %v", dtype.ErrDType, act, dt)
	}
	if err == nil {
		p.Shapes, err = layout.ProductOf(a, b)
	}
	if err == nil && (o.AbsSquare || o.Symmetric) {
		err = p.checkGram(o, bias || act != matmul.NoActivation)
	}
	if err == nil && o.Kernel != "" && dev.Kind() == device.CPU {
		err = fmt.Errorf("%w: no kernel is chosen by name on the CPU", expr.ErrUnsupported)
	}
	p.Activation, p.Kernel, p.AbsSquare, p.Symmetric = act, o.Kernel, o.AbsSquare, o.Symmetric
	return p, err
}

// checkGram checks the options AbsSquare and Symmetric, which are for Gram matrices.
func (p *Product) checkGram(o *matmul.Options, epilogue bool) error {
	if epilogue {
		return fmt.Errorf("%w: AbsSquare and Symmetric take no bias and no activation", expr.ErrUnsupported)
	}
	if sh := &p.Shapes; o.Symmetric && (sh.M != sh.N || sh.Row != sh.Column) {
		return layout.Errorf("a product of %d x %d is not symmetric", sh.M, sh.N)
	}
	return nil
}

// Read sets the operands of the product: a, b and, if there is one, the bias. Between two
// calls for one product only the buffers and the offsets of the operands change.
func (p *Product) Read(operands []device.View) {
	a, b := p.A.Layout, p.B.Layout
	if a.Shape == nil {
		a, b = p.Shapes.Left(operands[0].Layout), p.Shapes.Right(operands[1].Layout)
	}
	p.A, p.B = operands[0], operands[1]
	a.Offset, b.Offset = p.A.Layout.Offset, p.B.Layout.Offset
	p.A.Layout, p.B.Layout = a, b
	if len(operands) > 2 {
		p.Bias = operands[2]
	}
}

// Place makes the product write to dst.
func (p *Product) Place(dst device.View) {
	p.D = dst
	p.D.Layout = p.Shapes.Result(dst.Layout)
}

// Detach drops the operands. The remaining fields describe the product for Explain.
func (p *Product) Detach() { p.Product = p.Detached() }

// Explain describes the plan: the kernel, and the reason for its choice.
func (p *Product) Explain() string {
	plan, err := p.Detached().Describe(p.Device, p.Shapes.Full(), p.DType)
	if err != nil {
		return "no plan: " + err.Error()
	}
	return plan.String()
}
