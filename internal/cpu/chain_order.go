package cpu

import (
	"cmp"
	"slices"

	"github.com/gpk-go/gpk/expr"
)

// The limits of reductions that first store all elements of a chain, in the order in which a leaf is stored. The other method
// copies a leaf that is not dense in spans of the innermost dimension. Spans of at most chainGather elements are slow to copy:
// for windows of 2 x 2, storing all elements is several times as fast. With longer spans, or if a result has more than
// chainWindow elements, it can be slower.
//
// The stored elements need about as much memory as the leaf. Overlapping windows would need a multiple of it, so they
// are not stored.
const (
	chainGather = 5
	chainWindow = 9
)

// inStorageOrder returns a chain that computes the same elements with the dimensions in the order in which
// the leaf with the most elements is stored, and the stride of each dimension of c in a dense array of that
// order. It returns nil if the innermost dimension would not be four times as long, or if the chain has many more elements
// than the leaf.
func (c *Chain) inStorageOrder() (*Chain, []int) {
	by := c.largestLeaf()
	if by == nil {
		return nil, nil
	}
	elements, stored := 1, 1
	for d, n := range c.Shape {
		elements *= n
		stored += max(by[d], -by[d]) * (n - 1)
	}
	if elements > stored+stored/4 {
		return nil, nil
	}
	order := make([]int, len(c.Shape))
	for d := range order {
		order[d] = d
	}
	slices.SortStableFunc(order, func(d, e int) int {
		return cmp.Or(cmp.Compare(max(by[e], -by[e]), max(by[d], -by[d])), cmp.Compare(c.Shape[d], c.Shape[e]))
	})
	p := *c.Program
	p.Leaves = slices.Clone(p.Leaves)
	o := &Chain{Program: &p, Leaves: make([]ChainLeaf, len(c.Leaves)), Scalars: c.Scalars}
	for i := range c.Leaves {
		o.Leaves[i].P = c.Leaves[i].P
	}
	for _, d := range order {
		c.appendTo(o, d)
	}
	if o.Shape[len(o.Shape)-1] < 4*c.inner {
		return nil, nil
	}
	for i := range o.Leaves {
		p.Leaves[i].Class = o.classOf(o.Leaves[i].Strides)
	}
	p.Rank = len(o.Shape)
	return o, denseIn(order, c.Shape)
}

// largestLeaf returns the strides of the leaf that has the most elements, without repeats.
func (c *Chain) largestLeaf() (by []int) {
	most := 0
	for i := range c.Leaves {
		n := 1
		for d, s := range c.Leaves[i].Strides {
			if s != 0 {
				n *= c.Shape[d]
			}
		}
		if n > most {
			most, by = n, c.Leaves[i].Strides
		}
	}
	return by
}

// appendTo appends dimension d of c to the dimensions of o, or merges it with the last of them.
func (c *Chain) appendTo(o *Chain, d int) {
	n, last := c.Shape[d], len(o.Shape)-1
	merge := last >= 0
	for i := range c.Leaves {
		merge = merge && o.Leaves[i].Strides[last] == c.Leaves[i].Strides[d]*n
	}
	if merge {
		o.Shape[last] *= n
	} else {
		o.Shape = append(o.Shape, n)
	}
	for i := range c.Leaves {
		s := &o.Leaves[i].Strides
		if merge {
			(*s)[last] = c.Leaves[i].Strides[d]
		} else {
			*s = append(*s, c.Leaves[i].Strides[d])
		}
	}
}

// classOf returns Dense, Single or Strided for strides over the chain's shape.
func (c *Chain) classOf(strides []int) expr.Class {
	dense, single, n := true, true, 1
	for d := len(c.Shape) - 1; d >= 0; d-- {
		dense, single = dense && strides[d] == n, single && strides[d] == 0
		n *= c.Shape[d]
	}
	switch {
	case dense:
		return expr.Dense
	case single:
		return expr.Single
	}
	return expr.Strided
}

// denseIn returns the stride of each dimension of a dense array whose dimensions are stored in an order.
func denseIn(order, shape []int) []int {
	strides, n := make([]int, len(shape)), 1
	for _, d := range slices.Backward(order) {
		strides[d] = n
		n *= shape[d]
	}
	return strides
}
