package array

import (
	"errors"
	"fmt"
	"math"
	"slices"

	"github.com/x448/float16"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/fused"
	"github.com/gpk-go/gpk/layout"
	"github.com/gpk-go/gpk/matmul"
	"github.com/gpk-go/gpk/ops"
)

// gemmRoot is the product that a chain begins with. It is a leaf of the program, whose
// memory is there when the chain runs.
//
// Where the product's kernel can compute the chain in its epilogue, it does: the
// kernel is chosen as if there were no chain, and rounds after every step. Otherwise
// the chain is a kernel behind the product's. It then works in place where the
// elements of the result lie as the product's do and nothing else is there that either
// reads.
type gemmRoot struct {
	of      *node
	product product // as it was when the chain was planned: others may run the node
	call    call
	lay     layout.Layout
	leaves  []gemmLeaf
	whole   bool // the leaves are all of the product, in order
	where   epiloguePlace
}

// gemmLeaf is a leaf that is the product, and the element at which it begins.
type gemmLeaf struct {
	n      uint8
	offset int
}

// epiloguePlace says how a chain and the product that it begins with are computed.
type epiloguePlace uint8

const (
	behind      epiloguePlace = iota // by a kernel behind the product's, which reads what that wrote
	overwriting                      // the same, and over what it reads
	epilogue                         // by the product's kernel
)

// wrap gives an error the product's name unless it has one.
func (h *gemmRoot) wrap(err error) error {
	var oe *OpError
	if err == nil || errors.As(err, &oe) {
		return err
	}
	e := h.call.fail(err)
	for _, v := range []*device.View{&h.product.A, &h.product.B} {
		e.Shapes, e.DTypes = append(e.Shapes, slices.Clone(v.Layout.Shape)), append(e.DTypes, v.DType)
	}
	return e
}

// headLeaf adds a pending product, seen as lay, as a leaf.
func (p *planner) headLeaf(o *node, lay *layout.Layout) (fused.Ref, error) {
	if p.head == nil {
		var at [3]device.View
		for i := range o.n {
			var err error
			if at[i], err = p.job.locate(o, o.operand(i)); err != nil {
				return fused.Ref{}, err
			}
		}
		p.head = &gemmRoot{of: o, product: *o.product, call: o.call, lay: o.lay, whole: true}
		p.head.product.read(at[:o.n])
	}
	h := p.head
	if h.of != o {
		return fused.Ref{}, errFull // a chain begins with one product
	}
	r, ok := p.Leaf(device.View{DType: o.dt, Layout: *lay})
	if !ok {
		return r, errFull
	}
	h.whole = h.whole && lay.Equal(&o.lay)
	if !slices.ContainsFunc(h.leaves, func(l gemmLeaf) bool { return l.n == r.N }) {
		h.leaves = append(h.leaves, gemmLeaf{r.N, lay.Offset})
	}
	return r, nil
}

// place gives the leaves of the product their memory: the product is at view.
func (h *gemmRoot) place(p *planner, at device.View) {
	for _, l := range h.leaves {
		leaf := &p.Views()[l.n]
		leaf.Buffer, leaf.Layout.Offset = at.Buffer, at.Layout.Offset+l.offset
	}
}

// runHeaded computes a chain that begins with a product.
func (j *job) runHeaded(dst device.View) error {
	h, p, s := j.plan.head, j.plan, j.stream
	if j.fits(dst) {
		if h.joins(p, s, dst) {
			return h.wrap(h.product.Run(s))
		}
		at := dst
		at.DType = h.product.dt // of the result's size: the chain overwrites it element by element
		h.place(p, at)
		call := j.fusedCall(dst)
		if h.safe(p, call, dst) {
			h.where = overwriting
			if err := h.run(s, at); err != nil {
				return h.wrap(err)
			}
			return call.Run(s)
		}
	}
	buf, err := s.Device().Alloc(int64(h.lay.Size())*int64(h.product.dt.Size()), s)
	if err != nil {
		return err
	}
	defer buf.Free()
	at := device.View{Buffer: buf, DType: h.product.dt, Layout: h.lay}
	if err := h.run(s, at); err != nil {
		return h.wrap(err)
	}
	h.place(p, at)
	return j.fusedCall(dst).Run(s)
}

// joins has the product do the chain in its epilogue, and reports whether it can.
func (h *gemmRoot) joins(p *planner, s *device.Stream, dst device.View) bool {
	t, ok := p.tail()
	if !ok {
		return false
	}
	pr := &h.product
	pr.D = dst
	pr.D.Layout = pr.sh.Result(dst.Layout)
	if !pr.Takes(s, t) {
		return false
	}
	h.where = epilogue
	return true
}

// run computes the product into dst.
func (h *gemmRoot) run(s *device.Stream, dst device.View) error {
	pr := h.product
	pr.D = dst
	pr.D.Layout = pr.sh.Result(dst.Layout)
	return pr.Run(s)
}

// fits reports whether the product can be where the chain's result goes.
func (j *job) fits(dst device.View) bool {
	h, p := j.plan.head, j.plan
	if j.ends() || !h.whole || dst.DType.Size() != h.product.dt.Size() || !dst.Layout.IsDense() || !slices.Equal(dst.Layout.Shape, h.lay.Shape) {
		return false
	}
	reads := append([]device.View{h.product.A, h.product.B, h.product.Bias}, p.Views()...)
	for i := range reads {
		if reads[i].Buffer != nil && overlaps(&reads[i], &dst) {
			return false
		}
	}
	return true
}

// safe reports whether nothing can go wrong between the product and the chain in
// its place: what was in that place would be lost.
func (h *gemmRoot) safe(p *planner, call *fused.Call, dst device.View) bool {
	if dst.Buffer.Fresh() {
		return true
	}
	for i := range p.Views() {
		if b := p.Views()[i].Buffer; b != dst.Buffer && b.Settled() != nil {
			return false
		}
	}
	kernels, _ := fused.Explain(dst.Buffer.Device(), call.Program, call.Choice())
	return kernels == 1
}

// activations are the functions that epilogues have as a step of a chain.
var activations = map[expr.Op]matmul.Activation{expr.ReLU: matmul.ReLU, expr.GELU: matmul.GELU}

// tail is the chain as what an epilogue does: the product times a number, plus a
// row, and a function of that, each of which may be missing; ok says that the
// chain is that.
func (p *planner) tail() (t matmul.Tail, ok bool) {
	h, program := p.head, p.Program()
	dt := h.product.dt
	at := fused.Ref{Kind: fused.ToLeaf, N: h.leaves[0].n}
	t.Scale = 1
	steps := program.Steps
	other := func(s *fused.Step) (fused.Ref, bool) { // what the step's other operand is
		switch {
		case s.N != 2 || s.DType != dt:
		case s.Args[0] == at && s.Args[1] != at:
			return s.Args[1], true
		case s.Args[1] == at && s.Args[0] != at:
			return s.Args[0], true
		}
		return fused.Ref{}, false
	}
	next := func() {
		at = fused.Ref{Kind: fused.ToStep, N: uint8(len(program.Steps) - len(steps))}
		steps = steps[1:]
	}
	if len(steps) > 0 && steps[0].Op == expr.Mul {
		r, found := other(&steps[0])
		if !found || r.Kind != fused.ToScalar {
			return t, false
		}
		if t.Scale, found = realNumber(p.Numbers()[r.N], dt); !found {
			return t, false
		}
		next()
	}
	if len(steps) > 0 && steps[0].Op == expr.Add {
		r, found := other(&steps[0])
		if !found || r.Kind != fused.ToLeaf || h.product.sh.Column || !isRow(&p.Views()[r.N].Layout) {
			return t, false
		}
		t.Bias = p.Views()[r.N]
		n := t.Bias.Layout.NDim()
		t.Bias.Layout = layout.Layout{Shape: t.Bias.Layout.Shape[n-1:], Strides: []int{1}, Offset: t.Bias.Layout.Offset}
		next()
	}
	if len(steps) > 0 && steps[0].N == 1 && steps[0].Args[0] == at && steps[0].DType == dt {
		if t.Activation, ok = activations[steps[0].Op]; !ok {
			return t, false
		}
		next()
	}
	return t, len(steps) == 0
}

// isRow reports whether a layout is one dense row, the same for all others.
func isRow(l *layout.Layout) bool {
	last := l.NDim() - 1
	for d, n := range l.Shape {
		if n > 1 && (d < last && l.Strides[d] != 0 || d == last && l.Strides[d] != 1) {
			return false
		}
	}
	return last >= 0
}

// realNumber is a real number of a type that epilogues have.
func realNumber(v ops.Scalar, dt dtype.DType) (float64, bool) {
	switch dt {
	case dtype.Float32:
		return float64(math.Float32frombits(uint32(v[0]))), true
	case dtype.Float16:
		return float64(float16.Frombits(uint16(v[0])).Float32()), true
	case dtype.BFloat16:
		return float64(bfloat16.FromBits(uint16(v[0])).Float32()), true
	}
	return 0, false
}

// foreseeHead finds out how a chain would be computed into new memory.
func (j *job) foreseeHead(dst device.View) {
	if h := j.plan.head; h != nil && j.fits(dst) && !h.joins(j.plan, j.stream, dst) {
		h.where = overwriting
	}
}

// described is the head without what only its run needs.
func (h *gemmRoot) described() *gemmRoot {
	if h != nil {
		h.product.Product = h.product.Detached()
		h.of = nil
	}
	return h
}

// joined reports whether the chain is a part of its product's epilogue.
func (h *gemmRoot) joined() bool { return h != nil && h.where == epilogue }

// explain says how the product is computed that the chain begins with.
func (h *gemmRoot) explain() string {
	how := [...]string{behind: "stored, and read by the chain", overwriting: "stored where the result goes, and overwritten by the chain", epilogue: "with the chain"}
	return fmt.Sprintf("%s at %v, %s: %s", h.call.name, h.call.site, how[h.where], h.product.explain())
}
