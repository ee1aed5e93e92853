package matmul

import (
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// EpilogueArgs are the arguments of a product's epilogue. Before the product is stored, it
// is multiplied by Scale, Bias is added to its rows, and the activation is applied. The
// result is rounded once, or with Steps after every step, as separate operations round.
// Bias is a dense [n] of the product's type, or the zero View.
type EpilogueArgs struct {
	Scale      float64 // used only with Steps
	Bias       device.View
	Activation Activation
	Steps      bool // every step rounds; set by Takes
}

// actSteps is the kernel library's flag GPK_ACT_STEPS.
const actSteps = 16

// The smallest K for which smooth functions are fused into the epilogue. With a smaller K,
// the products of other tiles take too little time to hide the function: bfloat16 4096 x
// 1024 x 4096 with bias and GELU takes 71 us with the pingpong kernel, and 81 us with two
// kernels. A kernel that ends a tile before it begins the next hides nothing, and needs a
// larger K.
const (
	smoothDepth       = 4096
	smoothBehindDepth = 1024 // for pingpong kernels
)

// Takes tries to add an epilogue to the product. It chooses the kernel that computes the
// product into D on s without an epilogue. If this kernel can apply the epilogue with the
// same bits as separate operations, Takes plans the product with it and reports true. For
// a product that already has an epilogue it reports false.
func (p *Product) Takes(s *device.Stream, t EpilogueArgs) bool {
	if p == nil || p.check(p.D.Layout.Shape) != nil || s.Device().Kind() == device.CPU || !p.extensible() {
		return false
	}
	if t.Activation > ReLU && (t.Activation != GELU || p.D.DType == dtype.Float32) {
		return false // too much code for an epilogue
	}
	first, _ := p.stacks()
	q := p.problem(first)
	if q.K == 0 {
		return false
	}
	c, err := p.candidate(s, first, q)
	if err != nil || !c.hasEpilogue() || t.Activation > ReLU && !c.hidesSmooth(q.K) {
		return false
	}
	p.EpilogueArgs, p.planned = t, planned{first, q, c}
	p.Steps = true
	return true
}

// extensible reports whether an epilogue can be added to the product: it has no epilogue,
// is no AbsSquare or Symmetric product, and its types have kernels with epilogues.
func (p *Product) extensible() bool {
	return !p.AbsSquare && !p.Symmetric && p.epilogue().IsZero() && !p.A.DType.IsComplex() && !slices.Contains(p.D.Layout.Shape, 0) &&
		(p.D.DType == dtype.Float32 || p.D.DType.IsHalf())
}

// hidesSmooth reports whether a smooth function takes less time in the kernel's
// epilogue than in a separate kernel.
func (c *candidate) hidesSmooth(k int) bool {
	return k >= smoothDepth || k >= smoothBehindDepth && c.kernel.Schedule == "pingpong"
}

func (c *candidate) hasEpilogue() bool {
	return c.kernel.Epilogue && !c.separateSquare && (c.fallback == nil || c.fallback.hasEpilogue()) && (c.last == nil || c.last.hasEpilogue())
}
