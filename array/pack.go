package array

import (
	"errors"
	"fmt"
	"sync"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
)

// packed is a snapshot of a weight, with the form that each of its two roles
// needs, made at the first use in that role.
type packed struct {
	op   *operation
	opts matmul.Options

	mu    sync.Mutex
	w     *Array // the snapshot
	forms map[form]*Array
	freed bool
}

// form is a role and the precision that it is asked for in.
type form struct {
	weight    bool // [out, in] of Linear, else the right operand [k, n]
	precision matmul.Precision
}

// Pack returns a snapshot of w, [..., k, n] for use as MatMul's right operand
// or [out, in] as the weight of Linear, in the form that kernels read without
// a prepare pass. The form is made at the first use in a role and kept. Any
// other use of the result is ErrUnsupported. An option names the precision
// that the products will have, where they do not name it themselves.
func Pack(w *Array, opts ...matmul.Option) *Array {
	op := newOp("Pack", here(), w)
	if err := op.first(w); err != nil {
		return failed(err)
	}
	if w.NDim() < 2 {
		return failed(op.fail(layout.Errorf("%v is no matrix", w.lay.Shape)))
	}
	o := matmul.Collect(opts)
	if _, err := o.Resolve(w.dt); err != nil {
		return failed(op.fail(err))
	}
	c := w.copied(newOp("Pack", op.site, w))
	if c.err == nil {
		if err := c.v.start(); err != nil {
			return failed(err)
		}
	}
	if c.err != nil {
		return c
	}
	return &Array{v: c.v, lay: c.lay, dt: c.dt, stream: c.stream, packed: &packed{op: op, opts: o, w: c, forms: map[form]*Array{}}}
}

func (p *packed) right(o matmul.Options) (*Array, error)  { return p.form(o, false) }
func (p *packed) weight(o matmul.Options) (*Array, error) { return p.form(o, true) }

// form returns the array whose elements a product in that role reads as they
// are.
func (p *packed) form(o matmul.Options, weight bool) (*Array, error) {
	if o.Precision == matmul.Default {
		o.Precision = p.opts.Precision
	}
	precision, err := o.Resolve(p.w.dt)
	if err != nil {
		return nil, err
	}
	key := form{weight: weight, precision: precision}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.freed {
		return nil, device.ErrFreed
	}
	if a, ok := p.forms[key]; ok {
		return a, nil
	}
	v, err := p.w.view()
	if err != nil {
		return nil, err
	}
	if weight {
		v.Layout = v.Layout.T()
	}
	packedView, made, err := matmul.Prepare(p.w.stream, v, precision)
	if err != nil {
		var oe *OpError
		if !errors.As(err, &oe) {
			err = p.op.fail(err)
		}
		return nil, err
	}
	a := p.w
	if made {
		a = stored(packedView.Buffer, p.w.dt, nil, p.w.stream, "Pack", "prepared for products")
		a.v.label(packedView.Buffer, p.op)
	}
	b := *a
	b.lay = packedView.Layout
	if weight {
		b.lay = b.lay.T()
	}
	p.forms[key] = &b
	return &b, nil
}

func (p *packed) free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freed = true
	p.w.Free()
	for _, a := range p.forms {
		a.Free()
	}
}

// String tells which forms exist.
func (p *packed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := fmt.Sprintf("Pack: a snapshot of %v %v", p.w.lay.Shape, p.w.dt)
	for k := range p.forms {
		role := "right operand"
		if k.weight {
			role = "weight"
		}
		s += fmt.Sprintf("\n  form: %s, precision %v", role, k.precision)
	}
	return s
}
