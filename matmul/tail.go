package matmul

import (
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// Tail is what is done to a product before it is stored: it is multiplied by Scale,
// Bias is added to its rows, and the activation is applied. The result is rounded once,
// or after every step, as a chain of single operations rounds. Bias is a dense [n] of
// the product's type, or the zero View.
type Tail struct {
	Scale      float64 // with Steps alone
	Bias       device.View
	Activation Activation
	Steps      bool // every step rounds: Takes sets it
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
// as if there were no tail, can do the tail too, with the same bits. The product, which
// has no tail before, then has it, and is planned.
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
	if err != nil || !c.takesTail() || t.Activation > ReLU && !c.hidesSmooth(q.K) {
		return false
	}
	p.Tail, p.planned = t, planned{first, q, c}
	p.Steps = true
	return true
}

// hidesSmooth reports whether a smooth function in the kernel's epilogue takes less
// than a kernel of its own.
func (c *candidate) hidesSmooth(k int) bool {
	return k >= smoothDepth || k >= smoothBehindDepth && c.kernel.Schedule == "pingpong"
}

func (c *candidate) takesTail() bool {
	return c.kernel.Epilogue && !c.square && (c.other == nil || c.other.takesTail()) && (c.last == nil || c.last.takesTail())
}
