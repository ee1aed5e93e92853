package cufft

import "github.com/gpk-go/gpk/layout"

// Kind is the kind of a transform's input and output: real or complex.
type Kind int

// The kinds. The line along the last axis has n elements, or n/2+1 of its complex side.
const (
	ComplexToComplex Kind = iota
	RealToComplex
	ComplexToReal
)

// MaxRank is the largest number of axes that one transform has.
const MaxRank = 3

// Problem describes the transforms of a batch. Equal problems share a plan. The element with
// index j of transform b is at
//
//	b Dist + (j[0] Embed[1] + j[1]) Stride               // of two axes, for example
//
// in elements from the first one; Embed[0] does not matter. The results have no gaps.
type Problem struct {
	Kind         Kind
	Double       bool
	Rank         int
	N            [MaxRank]int // lengths of the transform
	Batch        int
	Embed        [MaxRank]int
	Stride, Dist int
}

// New returns the problem of the transforms along the last axes of l, whose lengths are n. It
// reports false if the layout of the elements does not have this form.
func New(k Kind, double bool, n []int, l layout.Layout) (p Problem, ok bool) {
	p = Problem{Kind: k, Double: double, Rank: len(n)}
	split := len(l.Shape) - len(n)
	copy(p.N[:], n)
	if p.Rank < 1 || p.Rank > MaxRank || split < 0 || l.Size() == 0 {
		return p, false
	}
	if !p.embed(l.Shape[split:], l.Strides[split:]) {
		return p, false
	}
	p.Batch, p.Dist, ok = collapse(l.Shape[:split], l.Strides[:split])
	if p.Batch == 1 {
		p.Dist = 1 // no second transform
		for _, m := range p.Embed[:p.Rank] {
			p.Dist *= m
		}
		p.Dist *= p.Stride
	}
	return p, ok
}

// embed sets Stride and Embed from the axes of one transform.
func (p *Problem) embed(shape, strides []int) bool {
	last := len(shape) - 1
	p.Stride = strides[last]
	if shape[last] == 1 {
		p.Stride = 1
	}
	if p.Stride < 1 {
		return false
	}
	unit := p.Stride // the stride of axis i
	for i := last; i > 0; i-- {
		p.Embed[i] = shape[i]
		if shape[i-1] > 1 {
			if strides[i-1] < unit*shape[i] || strides[i-1]%unit != 0 {
				return false
			}
			p.Embed[i] = strides[i-1] / unit
		}
		unit *= p.Embed[i]
	}
	p.Embed[0] = shape[0]
	return true
}

// collapse makes one axis of several: its length, and its stride.
func collapse(shape, strides []int) (n, stride int, ok bool) {
	n = 1
	for i := len(shape) - 1; i >= 0; i-- {
		switch {
		case shape[i] == 1:
			continue
		case n == 1:
			stride = strides[i]
		case strides[i] != stride*n:
			return 0, 0, false
		}
		n *= shape[i]
	}
	return n, stride, n == 1 || stride > 0
}

// sides returns the lengths of the arrays that are read and written, of one transform.
func (p *Problem) sides() (from, to [MaxRank]int) {
	from, to = p.N, p.N
	half := p.N[p.Rank-1]/2 + 1
	switch p.Kind {
	case RealToComplex:
		to[p.Rank-1] = half
	case ComplexToReal:
		from[p.Rank-1] = half
	}
	return from, to
}

// dense reports whether the elements have no gaps.
func (p *Problem) dense() bool {
	from, _ := p.sides()
	n := 1
	for i := range p.Rank {
		if i > 0 && p.Embed[i] != from[i] {
			return false
		}
		n *= from[i]
	}
	return p.Stride == 1 && (p.Batch == 1 || p.Dist == n)
}
