package array

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/fused"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/internal/operror"
	"github.com/gpk-go/gpk/internal/product"
	"github.com/gpk-go/gpk/layout"
)

// gemmRoot is the product with which a chain begins. It is a leaf of the program. Its
// memory exists only when the chain runs.
//
// If the product's kernel can compute the chain in its epilogue, it does. The kernel is
// chosen as if there were no chain, and rounds after every step. Otherwise a second kernel
// computes the chain. It works in place if the chain's result has the product's layout and
// does not overlap the other operands of the product or the chain.
type gemmRoot struct {
	of      *node
	product product.Product // a copy from when the chain was planned, because another job may run the node
	call    call
	lay     layout.Layout
	leaves  []gemmLeaf
	whole   bool // every leaf reads all of the product in its own layout
	where   epiloguePlace
}

// gemmLeaf is a leaf that stands for the product, and the element at which it begins.
type gemmLeaf struct {
	n      uint8
	offset int
}

// epiloguePlace says which kernel computes the chain behind a product.
type epiloguePlace uint8

const (
	behind      epiloguePlace = iota // a second kernel, which reads the stored product
	overwriting                      // a second kernel, which overwrites the product with the result
	epilogue                         // the product's kernel
)

// wrap gives an error the product's name unless it has one.
func (h *gemmRoot) wrap(err error) error {
	if err == nil || operror.Named(err) {
		return err
	}
	a, b := &h.product.A, &h.product.B
	return operror.With(operror.With(h.call.fail(err), a.Layout.Shape, a.DType), b.Layout.Shape, b.DType)
}

// headLeaf adds a pending product, viewed through lay, as a leaf.
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
		p.head.product.Read(at[:o.n])
	}
	h := p.head
	if h.of != o {
		return fused.Ref{}, fused.ErrFull // a chain begins with one product
	}
	r, err := p.Leaf(device.View{DType: o.dt, Layout: *lay})
	if err != nil {
		return r, err
	}
	h.whole = h.whole && lay.Equal(&o.lay)
	if !slices.ContainsFunc(h.leaves, func(l gemmLeaf) bool { return l.n == r.N }) {
		h.leaves = append(h.leaves, gemmLeaf{r.N, lay.Offset})
	}
	return r, nil
}

// place sets the product's leaves to read its memory at view at.
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
		at.DType = h.product.DType // as large as the result's type: the chain overwrites it element by element
		h.place(p, at)
		call := j.fusedCall(dst)
		if h.safe(p, call, dst) {
			h.where = overwriting
			if err := h.run(s, at); err != nil {
				return err
			}
			return call.Run(s)
		}
	}
	buf, err := s.Device().Alloc(int64(h.lay.Size())*int64(h.product.DType.Size()), s)
	if err != nil {
		return err
	}
	defer buf.Free()
	at := device.View{Buffer: buf, DType: h.product.DType, Layout: h.lay}
	if err := h.run(s, at); err != nil {
		return err
	}
	h.place(p, at)
	return j.fusedCall(dst).Run(s)
}

// joins puts the chain into the product's epilogue. It reports false if the product's
// kernel cannot compute it.
func (h *gemmRoot) joins(p *planner, s *device.Stream, dst device.View) bool {
	t, ok := p.Epilogue(h.leaves[0].n, h.product.DType, h.product.Shapes.Column)
	if !ok {
		return false
	}
	h.product.Place(dst)
	if !h.product.Takes(s, t) {
		return false
	}
	h.where = epilogue
	return true
}

// run computes the product into dst.
func (h *gemmRoot) run(s *device.Stream, dst device.View) error {
	h.product.Place(dst)
	return h.wrap(h.product.Run(s))
}

// fits reports whether the product can be written to the memory of the chain's result.
func (j *job) fits(dst device.View) bool {
	h, p := j.plan.head, j.plan
	if j.ends() || !h.whole || dst.DType.Size() != h.product.DType.Size() || !dst.Layout.IsDense() || !slices.Equal(dst.Layout.Shape, h.lay.Shape) {
		return false
	}
	reads := append([]device.View{h.product.A, h.product.B, h.product.Bias}, p.Views()...)
	for i := range reads {
		if reads[i].Buffer != nil && reads[i].Overlaps(dst) {
			return false
		}
	}
	return true
}

// safe reports whether no error is possible between the product and the chain that then
// overwrites it. After such an error the previous elements of dst would be lost.
func (h *gemmRoot) safe(p *planner, call *fused.Call, dst device.View) bool {
	if deviceapi.Fresh(dst.Buffer) {
		return true
	}
	for i := range p.Views() {
		if b := p.Views()[i].Buffer; b != dst.Buffer && b.State().Settled() != nil {
			return false
		}
	}
	kernels, _ := fused.Explain(dst.Buffer.Device(), call.Program, call.Choice())
	return kernels == 1
}

// foreseeHead determines, for Explain, how the chain would be computed into new memory.
func (j *job) foreseeHead(dst device.View) {
	if h := j.plan.head; h != nil && j.fits(dst) && !h.joins(j.plan, j.stream, dst) {
		h.where = overwriting
	}
}

// described returns a copy without the fields that only a run needs.
func (h *gemmRoot) described() *gemmRoot {
	if h != nil {
		h.product.Detach()
		h.of = nil
	}
	return h
}

// joined reports whether the chain is a part of its product's epilogue.
func (h *gemmRoot) joined() bool { return h != nil && h.where == epilogue }

// explain describes how the product at the beginning of the chain is computed.
func (h *gemmRoot) explain() string {
	how := [...]string{behind: "stored, and read by the chain", overwriting: "stored where the result goes, and overwritten by the chain", epilogue: "with the chain"}
	return fmt.Sprintf("%s at %v, %s: %s", h.call.name, h.call.site, how[h.where], h.product.Explain())
}
