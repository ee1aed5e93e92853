package array

import (
	"slices"

	"github.com/gpk-go/gpk/fused"
)

// chainLeaves returns an upper bound of the arrays that a step reads. A chain reads a product as one array.
func (o *node) chainLeaves() uint8 {
	if o.fusion == gemm {
		return 1
	}
	return o.leaves
}

// crowded returns nil if one program can read all arrays of o's chain. Otherwise it returns the step
// that must be stored, which is the one that reads the most arrays. Without this, a loop such as x = x.Add(a.Mul(p)) would collect 16 operations, which then run in many
// small pieces, and would read every p long after the cache has lost it.
func (o *node) crowded() *unready {
	o.leaves = uint8(len(o.distinctLeaves(nil)))
	if o.leaves <= fused.MaxLeaves {
		return nil
	}
	var most *node
	for i := range o.n {
		if s := o.operand(i).pendingStep(); s != nil && (most == nil || s.chainLeaves() > most.chainLeaves()) {
			most = s
		}
	}
	if most == nil || most.chainLeaves() == 1 { // storing it would not make the chain smaller
		return nil
	}
	o.apart = tooMuch
	return &unready{node: most}
}

// distinctLeaves adds the arrays that o's chain reads to a list, until there are too many for
// one program. A step that is read through two layouts reads its arrays through both.
func (o *node) distinctLeaves(list []*operand) []*operand {
	n := o.n
	if o.ends() { // a norm reads its weights beside the chain
		n = min(n, 1)
	}
	for i := range n {
		in := o.operand(i)
		s := in.pendingStep()
		switch {
		case len(list) > fused.MaxLeaves:
			return list
		case s != nil && s.fusion != gemm:
			if j := o.earlier(i); j < 0 {
				list = s.distinctLeaves(list)
			} else if !in.view.Layout.Equal(&o.operand(j).view.Layout) {
				list = append(list, s.distinctLeaves(nil)...)
			}
		case !slices.ContainsFunc(list, func(x *operand) bool { return x.of == in.of && x.view.Layout.Equal(&in.view.Layout) }):
			list = append(list, in)
		}
	}
	return list
}
