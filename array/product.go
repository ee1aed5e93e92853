package array

import (
	"fmt"
	"slices"
	"sync"
	"sync/atomic"

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
	r := new(Array)
	r.matMul(a, b, opts)
	return r
}

// matMul makes r the open product of a and b.
func (r *Array) matMul(a, b *Array, opts []matmul.Option) {
	c := call{"MatMul", here()}
	var o matmul.Options
	if len(opts) > 0 {
		o = matmul.Collect(opts)
	}
	var packed *matmul.Packed
	if b != nil && b.packed != nil && b.err == nil {
		f, err := b.packed.operand(&o, false)
		if err != nil {
			r.fail(c.fail(err, a, b))
			return
		}
		b, packed = f.array, f.forms
	}
	r.multiply(&c, a, b, nil, matmul.NoActivation, &o, packed)
}

// linear is act(x w^T + bias), with w as [out, in] and one rounding.
func linear(name string, where site, x, w, bias *Array, act matmul.Activation, opts []matmul.Option) *Array {
	c := call{name, where}
	o := matmul.Collect(opts)
	var packed *matmul.Packed
	if w != nil && w.packed != nil && w.err == nil {
		f, err := w.packed.operand(&o, true)
		if err != nil {
			return failed(c.fail(err, x, w, bias))
		}
		w, packed = f.array, f.forms
	}
	if err := c.first(x, w); err != nil {
		return failed(err)
	}
	switch {
	case w.NDim() != 2:
		return failed(c.fail(layout.Errorf("w has shape %v, not [out, in]", w.lay.Shape), x, w, bias))
	case x.NDim() == 0:
		return failed(c.fail(layout.Errorf("x is 0-d, not [..., in]"), x, w, bias))
	}
	r := new(Array)
	r.multiply(&c, x, w.with(w.lay.T()), bias, act, &o, packed)
	return r
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

// multiply makes r the open result of act(a b + bias); packed are the forms of b,
// where it has any.
func (r *Array) multiply(c *call, a, b, bias *Array, act matmul.Activation, o *matmul.Options, packed *matmul.Packed) {
	if err := c.first(a, b); err != nil {
		r.fail(err)
		return
	}
	p := products.Get().(*product)
	if err := p.check(c, a, b, bias, act, o); err != nil {
		p.done()
		r.fail(c.wrap(err, a, b, bias))
		return
	}
	f := conjugated(a, b)
	p.ConjA, p.ConjB = f.conjA, f.conjB
	p.plain = p.plain && !p.ConjA && !p.ConjB && packed == nil
	p.Packed = packed
	s := streamOf(f.x, f.y, bias)
	var err error
	row := bias
	if bias != nil {
		row, err = biasRow(c, bias, f.y, p.dt)
	}
	v := a.v.set.unlocked()
	op := &v.op
	if err == nil {
		err = op.factors(p, f.x, f.y, row)
	}
	if err != nil {
		v.op = operation{}
		v.set.idle.Put(v)
		p.done()
		if f.store() { // they have their value even where what they read is freed
			r.multiply(c, a, b, bias, act, o, packed)
			return
		}
		r.fail(c.wrap(err, a, b, bias))
		return
	}
	v.mu.Lock()
	op.call = *c
	op.product, op.out, op.strided, op.fusion, op.run = p, p.dt, true, head, runProduct
	r.open(v, s, p.dt, p.sh.dense())
	if !f.let() { // the conjugates are stored
		*r = Array{}
		r.multiply(c, a, b, bias, act, o, packed)
	}
}

// check fills in what a product of a and b is, and says why there is none.
func (p *product) check(c *call, a, b, bias *Array, act matmul.Activation, o *matmul.Options) error {
	err := sameType(a, b)
	if err == nil && a.on() != b.on() {
		err = otherDevice(a, b)
	}
	if err == nil {
		p.dt, err = o.ResultType(a.dt)
	}
	if err == nil {
		p.Precision, err = o.Resolve(a.dt)
	}
	if err == nil && act != matmul.NoActivation && !a.dt.IsFloat() {
		err = fmt.Errorf("%w: %v has no meaning for %v", dtype.ErrDType, act, a.dt)
	}
	if err == nil {
		p.sh, err = productShape(a.lay.Shape, b.lay.Shape)
	}
	if err == nil && (o.AbsSquare || o.Symmetric) {
		err = grams(o, &p.sh, bias, act)
	}
	p.dev = a.on()
	if err == nil && o.Kernel != "" && p.dev.Kind() == device.CPU {
		err = fmt.Errorf("%w: no kernel is chosen by name on the CPU", expr.ErrUnsupported)
	}
	p.Activation, p.Kernel, p.AbsSquare, p.Symmetric = act, o.Kernel, o.AbsSquare, o.Symmetric
	p.plain = bias == nil && act == matmul.NoActivation && o.Kernel == "" && !o.AbsSquare && !o.Symmetric
	return err
}

// factors makes a, b and, where there is one, bias, stored, the operands of the
// product.
func (o *operation) factors(p *product, a, b, bias *Array) error {
	if err := o.in[0].set(a); err != nil {
		return err
	}
	if err := o.in[1].set(b); err != nil {
		return err
	}
	o.n = 2
	if bias != nil {
		if err := o.in[2].set(bias); err != nil {
			return err
		}
		o.n, p.Bias = 3, o.in[2].view
	}
	p.read(o)
	return nil
}

// read has the product read the operation's operands.
func (p *product) read(o *operation) {
	p.A, p.B = o.in[0].view, o.in[1].view
	p.A.Layout = p.sh.operand(p.A.Layout, p.sh.rowA, 0)
	p.B.Layout = p.sh.operand(p.B.Layout, p.sh.colB, 1)
}

// grams checks the options of Gram matrices.
func grams(o *matmul.Options, sh *shapes, bias *Array, act matmul.Activation) error {
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
	sh    shapes
	dt    dtype.DType
	dev   *device.Device
	plain bool // operands and precision say all of it
}

// products are those that nobody needs any more, for the next.
var products = sync.Pool{New: func() any { return new(product) }}

// done gives the product back.
func (p *product) done() {
	*p = product{} // it must not keep buffers alive
	products.Put(p)
}

// part gives the product of an operation back that an Array keeps, where it can
// be made again.
func (o *operation) part() {
	if p := o.product; p != nil && p.plain {
		o.product, o.parted, o.precision = nil, o.n > 0, p.Precision
		if !o.parted {
			o.how = "the plan went with the memory"
		}
		p.done()
	}
}

// remake makes the product again that part gave back.
func (o *operation) remake(dev *device.Device) {
	if !o.parted {
		return
	}
	p := products.Get().(*product)
	p.dev, p.dt, p.Precision, p.plain = dev, o.out, o.precision, true
	p.sh, _ = productShape(o.in[0].view.Layout.Shape, o.in[1].view.Layout.Shape) // there was one
	p.read(o)
	o.product, o.parted = p, false
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
func biasRow(c *call, bias, b *Array, dt dtype.DType) (*Array, error) {
	if err := c.first(bias); err != nil {
		return nil, err
	}
	n := b.lay.Shape[b.NDim()-1]
	if bias.NDim() != 1 || bias.lay.Shape[0] != n {
		return nil, layout.Errorf("bias has shape %v, not [%d]", bias.lay.Shape, n)
	}
	if bias.dt != b.dt && bias.dt != dt {
		return nil, sameType(b, bias)
	}
	if bias.on() != b.on() {
		return nil, otherDevice(b, bias)
	}
	if bias.dt == dt && bias.lay.IsDense() {
		return bias, nil
	}
	op := newOp(c.name, c.site, bias)
	if err := op.operands(bias); err != nil {
		return nil, err
	}
	op.strided, op.run, op.how = true, runCast, oneKernel
	return op.resultOf(bias, dt), nil
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
		if s.m < 1<<29 && s.n < 1<<29 {
			return s, nil // it cannot overflow
		}
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

// dense is the dense layout of the shape that the user sees.
func (s *shapes) dense() layout.Layout {
	var room [8]int
	out := append(room[:0], s.batch...)
	if !s.rowA {
		out = append(out, s.m)
	}
	if !s.colB {
		out = append(out, s.n)
	}
	return denseOf(out)
}

// denses remembers dense layouts, which never change, by a hash of the shape: a
// shape met again costs no memory.
var denses [256]atomic.Pointer[layout.Layout]

// denseOf is the dense layout of a shape, which is not kept.
func denseOf(shape []int) layout.Layout {
	h := uint32(len(shape))
	for _, n := range shape {
		h = (h ^ uint32(n)) * 0x9e3779b1
	}
	place := &denses[h>>24]
	if l := place.Load(); l != nil && slices.Equal(l.Shape, shape) {
		return *l
	}
	l := layout.Dense(slices.Clone(shape))
	place.Store(&l)
	return l
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
