package array

import (
	"fmt"
	"sync"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/observe"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
)

// packed is a snapshot of a weight, with one packed form for each role and precision in
// which a product has used it. A form is made at its first use.
type packed struct {
	call
	opts matmul.Options

	mu    sync.Mutex
	w     *Array // the snapshot
	forms map[form]packedForm
	freed bool
}

// packedForm is the operand of a product in one role: an array over the weight as MatMul
// reads it, with its packed forms.
type packedForm struct {
	array *Array
	forms *matmul.Packed
}

// form is a role, and the precision of the products in it.
type form struct {
	weight    bool // [out, in] of Linear, else the right operand [k, n]
	precision matmul.Precision
}

// Pack returns a snapshot of w, [..., k, n] for use as MatMul's right operand or [out, in]
// as the weight of Linear, in the layout that kernels read without a prepare pass. The
// packed form is made at the first use in a role and kept. On the CPU, Float32 and Float64 are
// packed by the first product that packs its operands. Any other use of the result is
// ErrUnsupported. A precision among opts applies to the products that name none themselves.
func Pack(w *Array, opts ...matmul.Option) *Array {
	c := call{"Pack", here()}
	o := matmul.Collect(opts)
	err := w.check()
	if err == nil && w.NDim() < 2 {
		err = layout.Errorf("%v is not a matrix", w.lay.Shape)
	}
	if err == nil {
		_, err = o.Resolve(w.dt)
	}
	var dense *Array
	if err == nil {
		dense = w.copied(c)
		err = dense.start()
	}
	if err != nil {
		return c.failed(err, w)
	}
	p := dense.with(dense.lay)
	p.packed = &packed{call: c, opts: o, w: dense, forms: map[form]packedForm{}}
	return p
}

// unpacked returns the operand that a product in a role reads, and its packed forms if a is
// packed. weight selects the role: the weight of Linear or, if it is false, the right operand
// of MatMul. o.Precision becomes the precision that the forms are made for. A form that is
// made during a capture belongs to the graph, and is not kept.
func (a *Array) unpacked(o *matmul.Options, weight bool) (*Array, *matmul.Packed, error) {
	if a == nil || a.packed == nil || a.err != nil {
		return a, nil, nil
	}
	p := a.packed
	if o.Precision == matmul.Default {
		o.Precision = p.opts.Precision
	}
	precision, err := o.Resolve(p.w.dt)
	if err != nil {
		return a, nil, err
	}
	o.Precision = precision
	key := form{weight: weight, precision: precision}
	p.mu.Lock()
	defer p.mu.Unlock()
	if p.freed {
		return a, nil, device.ErrFreed
	}
	f, ok := p.forms[key]
	if !ok {
		if f, err = p.prepare(key); err != nil {
			return a, nil, err
		}
	}
	return f.array, f.forms, nil
}

// prepare makes a packed form. The mutex is held.
func (p *packed) prepare(key form) (f packedForm, err error) {
	v, release, err := p.w.acquire()
	if err != nil {
		return f, err
	}
	defer release()
	if key.weight {
		v.Layout = v.Layout.T()
	}
	op := observe.Begin(p.w.stream, p.name, p.site)
	f.forms, err = matmul.Prepare(p.w.stream, v, key.precision)
	op.Done(err)
	if err != nil {
		return f, p.wrap(err, p.w)
	}
	lay := f.forms.View.Layout
	if key.weight {
		lay = lay.T()
	}
	f.array = p.w.with(lay)
	if buf := f.forms.View.Buffer; f.forms.Made {
		f.array = storedArray(buf, p.w.dt, nil, p.w.stream, p.call, "prepared for products").with(lay)
		label(buf, &p.call, p.w.lay.Shape, p.w.dt)
	}
	if planes := f.forms.Planes(); planes != nil {
		label(planes, &p.call, p.w.lay.Shape, p.w.dt)
	}
	if !p.w.stream.Capturing() {
		p.forms[key] = f
	}
	return f, nil
}

func (p *packed) free() {
	p.mu.Lock()
	defer p.mu.Unlock()
	p.freed = true
	p.w.Free()
	for _, f := range p.forms {
		f.array.Free()
		f.forms.Free()
	}
}

// String lists the forms that exist.
func (p *packed) String() string {
	p.mu.Lock()
	defer p.mu.Unlock()
	s := fmt.Sprintf("Pack: a snapshot of %v %v", p.w.lay.Shape, p.w.dt)
	for k, f := range p.forms {
		role := "right operand"
		if k.weight {
			role = "weight"
		}
		s += fmt.Sprintf("\n  form: %s, precision %v: %v", role, k.precision, f.forms)
	}
	return s
}
