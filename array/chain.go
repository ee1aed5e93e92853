package array

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/fused"
	"github.com/gpk-go/gpk/internal/chain"
	"github.com/gpk-go/gpk/layout"
)

// fusion is the position that an operation can have in a chain.
type fusion uint8

const (
	single    fusion = iota
	pointwise        // element-wise: it can read the results of steps, and can be a step
	reduction        // a chain ends with it
	rowwise          // softmax or a norm: on a GPU it can end the chain that computes its first operand
	gemm             // a product: a chain begins with it
)

// planner turns a node and its steps into a chain. The scheduler's mutex is held.
type planner struct {
	chain.Chain
	job   *job
	seen  []planned
	root  *node      // the product that is the chain's Head
	room  [2]planned // the first elements of seen, to save an allocation
	steps [2]*node   // the first elements of steps
}

// planned is a step that is already in the program, viewed through a layout.
type planned struct {
	of  *node
	lay layout.Layout
	ref fused.Ref
}

// chain plans the job's node and its steps. It returns nil if no step is left to fuse.
func (j *job) chain() (*planner, error) {
	pins := len(j.pins)
	p, err := j.planChain()
	switch {
	case err == fused.ErrFull: // a step must be stored
		j.pins, j.steps = j.pins[:pins], nil
		half := j.node.stepAtHalf()
		if half == nil {
			return nil, fmt.Errorf("%w: the step does not fit into a program", expr.ErrUnsupported)
		}
		return nil, &unready{node: half}
	case err != nil:
		return nil, err
	case len(j.steps) == 0: // all operands are stored by now
		j.pins = j.pins[:pins]
		return nil, nil
	}
	return p, nil
}

func (j *job) planChain() (*planner, error) {
	o := j.node
	shape := o.lay.Shape
	if o.ends() {
		shape = o.in[0].view.Layout.Shape
	}
	p := j.spare
	if p == nil {
		p = new(planner)
	}
	j.spare, p.job, p.seen = nil, j, p.room[:0]
	p.Begin(shape, j)
	var err error
	if o.ends() {
		p.Ends = true
		_, err = p.operand(o, 0, shape, nil, nil)
	} else {
		_, err = p.step(o, &o.lay, nil)
	}
	return p, err
}

// stepAtHalf returns a pending step about halfway down the chain.
func (o *node) stepAtHalf() *node {
	s := o.deepestStep()
	for s != nil {
		below := s.deepestStep()
		if below == nil || s.depth < o.depth/2 {
			return s
		}
		s = below
	}
	return nil
}

// deepestStep returns the pending step with the most steps of its own; nil for none.
func (o *node) deepestStep() *node {
	var deepest *node
	for i := range o.n {
		if s := o.operand(i).pendingStep(); s != nil && (deepest == nil || s.depth > deepest.depth) {
			deepest = s
		}
	}
	return deepest
}

// step adds the operation o, whose result has the layout whole. view selects the elements
// to compute; nil selects all of them.
func (p *planner) step(o *node, whole, view *layout.Layout) (fused.Ref, error) {
	var args [3]fused.Ref
	for i, k := range o.args[:o.arity] {
		var err error
		if k < 0 {
			args[i], err = p.Scalar(o.numbers[^k], o.operand(o.n-1).view.DType)
		} else {
			args[i], err = p.operand(o, int(k), whole.Shape, whole, view)
		}
		if err != nil {
			return fused.Ref{}, err
		}
	}
	p.From = append(p.From, chain.Call{Name: o.name, Site: o.site})
	return p.Step(o.code, o.dt, args[:o.arity]...)
}

// operand adds an operand of o, broadcast to shape: the steps that compute it, or its stored elements. If the
// operation is seen through a view, its operands are read through the same view.
func (p *planner) operand(o *node, k int, shape []int, whole, view *layout.Layout) (fused.Ref, error) {
	in := o.operand(k)
	lay := in.view.Layout
	if !slices.Equal(lay.Shape, shape) {
		var err error
		if lay, err = lay.BroadcastTo(shape); err != nil {
			return fused.Ref{}, err
		}
	}
	if view != nil {
		var ok bool
		if lay, ok = layout.Through(*view, *whole, lay); !ok {
			return fused.Ref{}, fused.ErrFull
		}
	}
	if step := in.pendingStep(); step != nil {
		return p.pendingStep(step, &lay)
	}
	v, err := p.job.locate(o, in)
	if err != nil {
		return fused.Ref{}, err
	}
	v.Layout = lay
	return p.Leaf(v)
}

// pendingStep adds a step, viewed through lay. If the step was already computed as a part of another kernel, it is being read a second time and is stored first.
func (p *planner) pendingStep(o *node, lay *layout.Layout) (fused.Ref, error) {
	if o.computed {
		return fused.Ref{}, &unready{node: o}
	}
	for i := range p.seen {
		if s := &p.seen[i]; s.of == o && s.lay.Equal(lay) {
			return s.ref, nil
		}
	}
	if p.job.steps == nil {
		p.job.steps = p.steps[:0]
	}
	if !slices.Contains(p.job.steps, o) {
		p.job.steps = append(p.job.steps, o)
	}
	if o.fusion == gemm {
		return p.headLeaf(o, lay)
	}
	view := lay
	if lay.Equal(&o.lay) {
		view = nil
	}
	r, err := p.step(o, &o.lay, view)
	if err == nil {
		p.seen = append(p.seen, planned{o, *lay, r})
	}
	return r, err
}

// headLeaf adds a pending product, viewed through lay, as a leaf.
func (p *planner) headLeaf(o *node, lay *layout.Layout) (fused.Ref, error) {
	if p.root == nil {
		var at [3]device.View
		for i := range o.n {
			var err error
			if at[i], err = p.job.locate(o, o.operand(i)); err != nil {
				return fused.Ref{}, err
			}
		}
		p.root, p.Head = o, &chain.Head{Product: *o.product, Call: chain.Call{Name: o.name, Site: o.site}, Layout: o.lay}
		p.Head.Product.Read(at[:o.n])
	}
	if p.root != o {
		return fused.Ref{}, fused.ErrFull // a chain begins with one product
	}
	return p.HeadLeaf(lay)
}

// FusedCall implements chain.Caller.
func (j *job) FusedCall(dst device.View) *fused.Call {
	switch j.fusion {
	case reduction:
		return j.plan.Reduce(j.code, j.axes, dst)
	case rowwise:
		return j.plan.Line(j.code, dst, j.weight(j.along.gamma), j.weight(j.along.beta), j.along.eps)
	}
	return j.plan.Elementwise(dst)
}

// foresee plans a pending node for Explain. The mutex is held.
func (s *scheduler) foresee(n *node) {
	j := &job{node: n, stream: n.stream}
	if !j.fuses() {
		return
	}
	p, err := j.planChain()
	switch {
	case err == fused.ErrFull:
		n.apart = tooMuch
	case err == nil && len(j.steps) > 0:
		j.plan = p
		n.fused = p.Foresee(n.stream, device.View{DType: n.dt, Layout: n.lay})
	}
}
