package matmul

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// Detached returns the product without its buffers, for Describe only. The offsets keep the
// alignment of the operands' addresses.
func (p Product) Detached() Product {
	for _, v := range []*device.View{&p.A, &p.B, &p.D} {
		if v.Buffer != nil && v.DType.Valid() {
			v.Layout.Offset += int(v.Buffer.Addr()&0xffff) / v.DType.Size()
			v.Buffer = nil
		}
	}
	p.Bias.Buffer, p.planned = nil, planned{}
	if p.Steps { // the kernel was chosen without the epilogue
		p.EpilogueArgs = EpilogueArgs{}
	}
	if p.Packed != nil { // the form without its buffer
		p.Packed = &Packed{View: p.Packed.View, form: p.Packed.form, member: p.Packed.member}
		p.Packed.View.Buffer = nil
	}
	return p
}

// Describe plans a detached product for a device, with a dense destination of
// the given shape and type.
func (p Product) Describe(dev *device.Device, shape []int, dt dtype.DType) (Plan, error) {
	if err := p.check(shape); err != nil {
		return Plan{}, err
	}
	p.D = device.View{DType: dt, Layout: layout.Dense(shape)}
	s, _ := p.stacks()
	problem := p.problem(s)
	if dev.Kind() == device.CPU {
		return cpuPlan(problem), nil
	}
	if problem.K == 0 || slices.Contains(shape, 0) {
		return emptyPlan(problem), nil
	}
	if c, ok := measured(problem, dev); ok && p.Kernel == "" {
		if _, cand, err := choose(problem, dev.Capabilities(), c.Kernel, manifest); err == nil {
			return cand.plan(fmt.Sprintf("measured on this device (GPK_AUTOTUNE): %.4g us; predicted %s", c.Microseconds, cand.predicted())), nil
		}
	}
	plan, _, err := choose(problem, dev.Capabilities(), p.Kernel, manifest)
	return plan, err
}

// emptyPlan describes a product with k = 0 or without elements. It runs no product
// kernel.
func emptyPlan(p Problem) Plan {
	plan := Plan{Kernel: "none", SplitK: 1, Reason: "the result has no elements"}
	if p.M > 0 && p.N > 0 && p.Batch > 0 {
		plan.Reason = "k is 0: the result is filled with zeros"
		if !p.Epilogue.IsZero() {
			plan.Steps = []Step{{Kind: ApplyEpilogue, Operand: "D", Detail: epilogueString(p.Epilogue)}}
		}
	}
	return plan
}
