package array

import (
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/layout"
)

// conjugate returns, for a pending Conj of which in is a view, the operand of it seen
// in the same way: kernels conjugate as they read.
func (in *operand) conjugate() (operand, bool) {
	n := in.of.node
	if in.of.mem != nil || n.state > running || n.code != expr.Conj || !in.view.DType.IsComplex() {
		return *in, false
	}
	lay, ok := layout.Through(in.view.Layout, n.lay, n.in[0].view.Layout)
	if !ok {
		return *in, false
	}
	out := n.in[0]
	out.step, out.view.Layout = false, lay
	return out, true
}
