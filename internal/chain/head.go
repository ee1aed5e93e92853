package chain

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

// Head is the product with which a chain begins. It is a leaf of the program. Its memory
// exists only when the chain runs.
//
// If the product's kernel can compute the chain in its epilogue, it does. The kernel is
// chosen as if there were no chain, and rounds after every step. Otherwise a second kernel
// computes the chain. It works in place if the chain's result has the product's layout and
// does not overlap the other operands of the product or the chain.
type Head struct {
	Product product.Product // the chain's own copy, with its operands
	Call    Call
	Layout  layout.Layout // dense, of the product's result

	leaves  []headLeaf
	partial bool // a leaf reads a part of the product, or reads it in another layout
	where   epiloguePlace
}

// headLeaf is a leaf of the program that reads the product.
type headLeaf struct {
	n      uint8 // number of the leaf
	offset int   // index of its first element in the product
}

// epiloguePlace says which kernel computes the chain behind a product.
type epiloguePlace uint8

const (
	behind      epiloguePlace = iota // a second kernel reads the stored product
	overwriting                      // a second kernel overwrites the product with the result
	epilogue                         // the product's kernel computes the chain
)

// HeadLeaf adds the chain's product, viewed through lay, as a leaf of the program.
func (c *Chain) HeadLeaf(lay *layout.Layout) (fused.Ref, error) {
	h := c.Head
	r, err := c.Leaf(device.View{DType: h.Product.DType, Layout: *lay})
	if err != nil {
		return r, err
	}
	h.partial = h.partial || !lay.Equal(&h.Layout)
	if !slices.ContainsFunc(h.leaves, func(l headLeaf) bool { return l.n == r.N }) {
		h.leaves = append(h.leaves, headLeaf{r.N, lay.Offset})
	}
	return r, nil
}

// wrap returns err as an error of the product. It returns an error that names an operation unchanged.
func (h *Head) wrap(err error) error {
	if err == nil || operror.Named(err) {
		return err
	}
	a, b := &h.Product.A, &h.Product.B
	return operror.With(operror.With(h.Call.fail(err), a.Layout.Shape, a.DType), b.Layout.Shape, b.DType)
}

// runHeaded computes a chain that begins with a product.
func (c *Chain) runHeaded(s *device.Stream, dst device.View) error {
	h := c.Head
	if c.fits(dst) {
		if h.joins(c, s, dst) {
			return h.wrap(h.Product.Run(s))
		}
		at := dst
		at.DType = h.Product.DType // as large as the result's type: the chain overwrites it element by element
		h.place(c, at)
		call := c.finish(dst)
		if c.safe(call, dst) {
			h.where = overwriting
			if err := h.run(s, at); err != nil {
				return err
			}
			return call.Run(s)
		}
	}
	buf, err := s.Device().Alloc(int64(h.Layout.Size())*int64(h.Product.DType.Size()), s)
	if err != nil {
		return err
	}
	defer buf.Free()
	at := device.View{Buffer: buf, DType: h.Product.DType, Layout: h.Layout}
	if err := h.run(s, at); err != nil {
		return err
	}
	h.place(c, at)
	return c.finish(dst).Run(s)
}

// joins puts the chain into the product's epilogue. It reports false if the product's
// kernel cannot compute it.
func (h *Head) joins(c *Chain, s *device.Stream, dst device.View) bool {
	t, ok := c.Epilogue(h.leaves[0].n, h.Product.DType, h.Product.Shapes.Column)
	if !ok {
		return false
	}
	h.Product.Place(dst)
	if !h.Product.Takes(s, t) {
		return false
	}
	h.where = epilogue
	return true
}

// place sets the product's leaves to read its memory at view at.
func (h *Head) place(c *Chain, at device.View) {
	for _, l := range h.leaves {
		leaf := &c.Views()[l.n]
		leaf.Buffer, leaf.Layout.Offset = at.Buffer, at.Layout.Offset+l.offset
	}
}

// run computes the product into dst.
func (h *Head) run(s *device.Stream, dst device.View) error {
	h.Product.Place(dst)
	return h.wrap(h.Product.Run(s))
}

// fits reports whether the product can be written to the memory of the chain's result.
func (c *Chain) fits(dst device.View) bool {
	h := c.Head
	if c.Ends || h.partial || dst.DType.Size() != h.Product.DType.Size() || !dst.Layout.IsDense() || !slices.Equal(dst.Layout.Shape, h.Layout.Shape) {
		return false
	}
	for _, v := range [...]*device.View{&h.Product.A, &h.Product.B, &h.Product.Bias} {
		if overlaps(v, &dst) {
			return false
		}
	}
	for i := range c.Views() {
		if overlaps(&c.Views()[i], &dst) {
			return false
		}
	}
	return true
}

// overlaps reports whether an operand, which may be missing, shares memory with the result.
func overlaps(v, dst *device.View) bool { return v.Buffer != nil && v.Overlaps(*dst) }

// safe reports whether no error is possible between the product and the call that then
// overwrites it. After such an error the previous elements of dst would be lost.
func (c *Chain) safe(call *fused.Call, dst device.View) bool {
	if deviceapi.Fresh(dst.Buffer) {
		return true
	}
	for i := range c.Views() {
		if b := c.Views()[i].Buffer; b != dst.Buffer && b.State().Settled() != nil {
			return false
		}
	}
	kernels, _ := fused.Explain(dst.Buffer.Device(), call.Program, call.Choice())
	return kernels == 1
}

// explain describes how the product is computed.
func (h *Head) explain() string {
	how := [...]string{behind: "stored, and read by the chain", overwriting: "stored where the result goes, and overwritten by the chain", epilogue: "with the chain"}
	return fmt.Sprintf("%s at %v, %s: %s", h.Call.Name, h.Call.Site, how[h.where], h.Product.Explain())
}
