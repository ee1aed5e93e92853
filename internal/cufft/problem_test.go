package cufft

import (
	"math/rand/v2"
	"testing"

	"github.com/gpk-go/gpk/layout"
)

// TestProblem draws views and compares the places of their elements with those that a problem
// names.
func TestProblem(t *testing.T) {
	seed := rand.Uint64()
	r := rand.New(rand.NewPCG(seed, 1))
	described := 0
	for range 20000 {
		l := view(t, r)
		rank := 1 + r.IntN(min(MaxRank, len(l.Shape)))
		n := l.Shape[len(l.Shape)-rank:]
		p, ok := New(ComplexToComplex, false, n, l)
		if l.IsDense() && l.Size() > 0 && !ok {
			t.Fatalf("seed %d: a dense view %v is refused", seed, l)
		}
		if !ok {
			continue
		}
		described++
		if p.dense() != l.IsDense() {
			t.Fatalf("seed %d: %+v of %+v: dense is %v", seed, p, l, p.dense())
		}
		i := 0
		each(l, func(place int) {
			if got := at(p, i); got != place {
				t.Fatalf("seed %d: element %d of %+v is at %d, want %d: %+v", seed, i, l, got, place, p)
			}
			i++
		})
		if i != l.Size() {
			t.Fatalf("seed %d: %d elements", seed, i)
		}
	}
	if described < 5000 {
		t.Errorf("seed %d: only %d views were described", seed, described)
	}
}

// at returns the place of element i of the batch, by the formula of Problem.
func at(p Problem, i int) int {
	var j [MaxRank]int
	for d := p.Rank - 1; d >= 0; d-- {
		j[d] = i % p.N[d]
		i /= p.N[d]
	}
	place := j[0]
	for d := 1; d < p.Rank; d++ {
		place = place*p.Embed[d] + j[d]
	}
	return i*p.Dist + place*p.Stride
}

// each calls f with the places of all elements, from the layout's offset on, the last axis fastest.
func each(l layout.Layout, f func(place int)) {
	index := make([]int, len(l.Shape))
	for range l.Size() {
		place := 0
		for d, i := range index {
			place += i * l.Strides[d]
		}
		f(place)
		for d := len(index) - 1; d >= 0; d-- {
			if index[d]++; index[d] < l.Shape[d] {
				break
			}
			index[d] = 0
		}
	}
}

// view returns a random view: axes exchanged, cropped, of length 1 and 0, broadcast.
func view(t *testing.T, r *rand.Rand) layout.Layout {
	shape := make([]int, 1+r.IntN(5))
	for i := range shape {
		shape[i] = 1 + r.IntN(4)
	}
	l := layout.Dense(shape)
	var err error
	for range r.IntN(3) {
		d := r.IntN(len(shape))
		switch r.IntN(4) {
		case 0:
			l, err = l.Transpose(r.Perm(len(shape)))
		case 1:
			l, err = l.Slice(d, r.IntN(l.Shape[d]+1), l.Shape[d], 1+r.IntN(2))
		case 2:
			l, err = l.Slice(d, 0, l.Shape[d], 1)
		case 3:
			l, err = l.Unsqueeze(d)
		}
		if err != nil {
			t.Fatal(err)
		}
		shape = l.Shape
	}
	if r.IntN(8) == 0 {
		if l, err = l.BroadcastTo(append([]int{2}, l.Shape...)); err != nil {
			t.Fatal(err)
		}
	}
	return l
}
