package array

import "github.com/gpk-go/gpk/internal/observe"

// describe fills in an observed operation with the operands, the result and the kernel of
// the job. A job without a node adds nothing.
func (j *job) describe(op *observe.Operation) {
	if op == nil || j.node == nil {
		return
	}
	op.Name, op.Site = j.name, j.site
	op.Kernel = func() string { return j.explain(j.product, j.fused) }
	op.Writes(j.dt, j.lay.Shape)
	op.Reads(j.views[:]...)
	op.Reads(j.others...)
	if j.product != nil {
		op.Flops = j.product.Flops()
	}
	if j.plan != nil {
		j.plan.Observe(op, j.name)
	}
}
