package matmul

import (
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// Tail is what a chain of single operations does to a product: it is multiplied by
// Scale, Bias is added to its rows, the activation applied, and every step
// rounds to the product's type. Bias is a dense [n] of that type, or the zero
// View.
type Tail struct {
	Scale      float64
	Bias       device.View
	Activation Activation
}

// actSteps is GPK_ACT_STEPS.
const actSteps = 16

// From which K on the smooth functions are a part of the epilogue. Below, there is
// too little to multiply while other results are finished: bfloat16 4096 x 1024 x 4096
// with bias and GELU takes 71 us by the pingpong kernel, of 81 us by two. A kernel that
// finishes a tile before it begins the next has nothing to do meanwhile.
const (
	smoothDepth       = 4096
	smoothBehindDepth = 1024 // by pingpong
)

// Takes reports whether the kernel that computes the product into D on s, chosen
// as if there were no tail, can do the tail too, with the same bits.
func (p *Product) Takes(s *device.Stream, t Tail) bool {
	if p == nil || p.check(p.D.Layout.Shape) != nil || s.Device().Kind() == device.CPU || p.AbsSquare || p.Symmetric || !p.epilogue().IsZero() ||
		p.A.DType.IsComplex() || slices.Contains(p.D.Layout.Shape, 0) {
		return false
	}
	if p.D.DType != dtype.Float32 && !p.D.DType.IsHalf() {
		return false
	}
	if t.Activation > ReLU && (t.Activation != GELU || p.D.DType == dtype.Float32) {
		return false // more code than an epilogue has room for
	}
	first, _ := p.stacks()
	q := p.problem(first)
	if q.K == 0 {
		return false
	}
	c, err := p.candidate(s, first, q)
	return err == nil && c.takesTail() && (t.Activation <= ReLU || c.hidesSmooth(q.K))
}

// hidesSmooth reports whether a smooth function in the kernel's epilogue takes less
// than a kernel of its own.
func (c *candidate) hidesSmooth(k int) bool {
	return k >= smoothDepth || k >= smoothBehindDepth && c.kernel.Schedule == "pingpong"
}

func (c *candidate) takesTail() bool {
	return c.kernel.Epilogue && !c.square && (c.other == nil || c.other.takesTail()) && (c.last == nil || c.last.takesTail())
}

// tail has the launch do the product's tail.
func (l *launch) tail(t *Tail) {
	l.act, l.alpha = t.Activation|actSteps, t.Scale
	if t.Bias.Buffer != nil {
		l.bias = t.Bias.Addr()
		l.reads = append(l.reads, t.Bias.Buffer)
	}
}
