package array

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
)

// MatMul returns the matrix product of a and b, as NumPy's matmul: 2-D arrays
// are matrices, leading axes are a batch and broadcast, a 1-D a is a row and a
// 1-D b a column, whose axis the result lacks. Types are equal; halves
// accumulate in float32, Int8 and Uint8 give Int32. See matmul.Precision for
// what float32 means. b may be packed.
func (a *Array) MatMul(b *Array, opts ...matmul.Option) *Array {
	op := newOp("MatMul", here(), a, b)
	o := matmul.Collect(opts)
	var packed *matmul.Packed
	if b != nil && b.packed != nil && b.err == nil {
		f, err := b.packed.operand(&o, false)
		if err != nil {
			return failed(op.fail(err))
		}
		b, packed = f.array, f.forms
	}
	return multiply(op, a, b, nil, matmul.NoActivation, o, packed)
}

// linear is act(x w^T + bias), with w as [out, in] and one rounding.
func linear(name string, where site, x, w, bias *Array, act matmul.Activation, opts []matmul.Option) *Array {
	as := []*Array{x, w}
	if bias != nil {
		as = append(as, bias)
	}
	op := newOp(name, where, as...)
	o := matmul.Collect(opts)
	var packed *matmul.Packed
	if w != nil && w.packed != nil && w.err == nil {
		f, err := w.packed.operand(&o, true)
		if err != nil {
			return failed(op.fail(err))
		}
		w, packed = f.array, f.forms
	}
	if err := op.first(x, w); err != nil {
		return failed(err)
	}
	switch {
	case w.NDim() != 2:
		return failed(op.fail(layout.Errorf("w has shape %v, not [out, in]", w.lay.Shape)))
	case x.NDim() == 0:
		return failed(op.fail(layout.Errorf("x is 0-d, not [..., in]")))
	}
	return multiply(op, x, w.with(w.lay.T()), bias, act, o, packed)
}

// Linear returns x w^T + bias for x [..., in], w [out, in] as PyTorch stores
// it, bias [out] or nil; the sum is rounded once. w may be packed.
func Linear(x, w, bias *Array, opts ...matmul.Option) *Array {
	return linear("Linear", here(), x, w, bias, matmul.NoActivation, opts)
}

// LinearBiasGELU is GELU, in the erf form, of Linear, rounded once.
func LinearBiasGELU(x, w, bias *Array, opts ...matmul.Option) *Array {
	return linear("LinearBiasGELU", here(), x, w, bias, matmul.GELU, opts)
}

// LinearBiasGELUTanh is GELU, in the tanh form, of Linear, rounded once.
func LinearBiasGELUTanh(x, w, bias *Array, opts ...matmul.Option) *Array {
	return linear("LinearBiasGELUTanh", here(), x, w, bias, matmul.GELUTanh, opts)
}

// LinearBiasReLU is ReLU of Linear, rounded once.
func LinearBiasReLU(x, w, bias *Array, opts ...matmul.Option) *Array {
	return linear("LinearBiasReLU", here(), x, w, bias, matmul.ReLU, opts)
}

// LinearBiasSiLU is SiLU of Linear, rounded once.
func LinearBiasSiLU(x, w, bias *Array, opts ...matmul.Option) *Array {
	return linear("LinearBiasSiLU", here(), x, w, bias, matmul.SiLU, opts)
}

// multiply is the open result of act(a b + bias); packed are the forms of b,
// where it has any.
func multiply(op *operation, a, b, bias *Array, act matmul.Activation, o matmul.Options, packed *matmul.Packed) *Array {
	if err := op.first(a, b); err != nil {
		return failed(err)
	}
	if err := sameType(a, b); err != nil {
		return failed(op.fail(err))
	}
	dt, err := o.ResultType(a.dt)
	if err != nil {
		return failed(op.fail(err))
	}
	precision, err := o.Resolve(a.dt)
	if err != nil {
		return failed(op.fail(err))
	}
	if act != matmul.NoActivation && !a.dt.IsFloat() {
		return failed(op.fail(fmt.Errorf("%w: %v has no meaning for %v", dtype.ErrDType, act, a.dt)))
	}
	sh, err := productShape(a.lay.Shape, b.lay.Shape)
	if err != nil {
		return failed(op.fail(err))
	}
	if o.AbsSquare || o.Symmetric {
		if err := grams(o, sh, bias, act); err != nil {
			return failed(op.fail(err))
		}
	}
	a, b, conjA, conjB := conjugated(a, b)
	if bias != nil {
		if bias, err = biasRow(op, bias, b, dt); err != nil {
			return failed(err)
		}
		err = op.operands(a, b, bias)
	} else {
		err = op.operands(a, b)
	}
	if err != nil {
		return failed(err)
	}
	p := &product{sh: sh, dt: dt, dev: a.on()}
	p.A, p.B, p.Activation, p.Precision, p.Kernel = op.in[0].view, op.in[1].view, act, precision, o.Kernel
	p.ConjA, p.ConjB, p.AbsSquare, p.Symmetric, p.Packed = conjA, conjB, o.AbsSquare, o.Symmetric, packed
	if bias != nil {
		p.Bias = op.in[2].view
	}
	p.A.Layout = sh.operand(p.A.Layout, sh.rowA, 0)
	p.B.Layout = sh.operand(p.B.Layout, sh.colB, 1)
	if o.Kernel != "" && p.dev.Kind() == device.CPU {
		return failed(op.fail(fmt.Errorf("%w: no kernel is chosen by name on the CPU", expr.ErrUnsupported)))
	}
	op.product, op.strided, op.run = p, true, runProduct
	return op.result(streamOf(a, b, bias), dt, sh.result())
}

// grams checks the options of Gram matrices.
func grams(o matmul.Options, sh shapes, bias *Array, act matmul.Activation) error {
	if bias != nil || act != matmul.NoActivation {
		return fmt.Errorf("%w: a bias or an activation with AbsSquare or Symmetric", expr.ErrUnsupported)
	}
	if o.Symmetric && (sh.m != sh.n || sh.rowA != sh.colB) {
		return layout.Errorf("a product of %d x %d is not symmetric", sh.m, sh.n)
	}
	return nil
}

// product is a matmul.Product with what the user sees of it.
type product struct {
	matmul.Product
	sh  shapes
	dt  dtype.DType
	dev *device.Device
}

func runProduct(o *operation, s *device.Stream, dst device.View) error {
	p := o.product
	p.D = dst
	p.D.Layout = p.sh.expand(dst.Layout)
	err := p.Run(s)
	p.D = device.View{}
	return err
}

func (p *product) explain() string {
	plan, err := p.Detached().Describe(p.dev, p.sh.full(), p.dt)
	if err != nil {
		return "no plan: " + err.Error()
	}
	return plan.String()
}

// biasRow checks a bias and returns it dense and in the result's type.
func biasRow(op *operation, bias, b *Array, dt dtype.DType) (*Array, error) {
	if err := op.first(bias); err != nil {
		return nil, err
	}
	n := b.lay.Shape[b.NDim()-1]
	if bias.NDim() != 1 || bias.lay.Shape[0] != n {
		return nil, op.fail(layout.Errorf("bias has shape %v, not [%d]", bias.lay.Shape, n))
	}
	if bias.dt != b.dt && bias.dt != dt {
		return nil, op.fail(sameType(b, bias))
	}
	if bias.on() != b.on() {
		return nil, op.fail(otherDevice(b, bias))
	}
	if bias.dt == dt && bias.lay.IsDense() {
		return bias, nil
	}
	c := newOp(op.name, op.site, bias)
	if err := c.operands(bias); err != nil {
		return nil, err
	}
	c.strided, c.run, c.how = true, runCast, oneKernel
	return c.resultOf(bias, dt), nil
}

// shapes of a product, as NumPy's matmul has them.
type shapes struct {
	batch      []int
	m, n       int
	rowA, colB bool // a was 1-D, b was 1-D
}

func productShape(a, b []int) (shapes, error) {
	var s shapes
	if len(a) == 0 || len(b) == 0 {
		return s, layout.Errorf("a product of a 0-d array; Mul scales")
	}
	if s.rowA = len(a) == 1; s.rowA {
		a = []int{1, a[0]}
	}
	if s.colB = len(b) == 1; s.colB {
		b = []int{b[0], 1}
	}
	k, k2 := a[len(a)-1], b[len(b)-2]
	if k != k2 {
		return s, layout.Errorf("a %dx%d matrix times a %dx%d one: the inner lengths %d and %d differ", a[len(a)-2], k, k2, b[len(b)-1], k, k2)
	}
	s.m, s.n = a[len(a)-2], b[len(b)-1]
	if len(a) == 2 && len(b) == 2 {
		_, err := layout.Size([]int{s.m, s.n})
		return s, err
	}
	var err error
	if s.batch, err = layout.Broadcast(a[:len(a)-2], b[:len(b)-2]); err != nil {
		return s, err
	}
	_, err = layout.Size(s.full())
	return s, err
}

func (s shapes) full() []int { return append(slices.Clone(s.batch), s.m, s.n) }

// result is the shape that the user sees.
func (s shapes) result() []int {
	out := append(make([]int, 0, len(s.batch)+2), s.batch...)
	if !s.rowA {
		out = append(out, s.m)
	}
	if !s.colB {
		out = append(out, s.n)
	}
	return out
}

// operand gives an operand's layout the product's leading axes, and, where it
// was 1-D, the axis that it lacks.
func (s shapes) operand(l layout.Layout, flat bool, axis int) layout.Layout {
	if flat {
		l, _ = l.Unsqueeze(axis)
	}
	n := len(l.Shape)
	if n == 2 && len(s.batch) == 0 {
		return l
	}
	l, _ = l.BroadcastTo(append(slices.Clone(s.batch), l.Shape[n-2:]...)) // productShape has seen that it does
	return l
}

// expand gives a destination the axes that the result lacks.
func (s shapes) expand(l layout.Layout) layout.Layout {
	if s.colB {
		l, _ = l.Unsqueeze(len(l.Shape))
	}
	if s.rowA {
		l, _ = l.Unsqueeze(len(l.Shape) - 1)
	}
	return l
}
