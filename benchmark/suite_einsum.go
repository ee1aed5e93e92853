package main

import (
	"maps"
	"math/rand/v2"
	"slices"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/layout"
)

// contraction is an Einsum of 16-bit arrays: its equation and the extent of every index.
type contraction struct {
	equation string
	extents  map[rune]int
}

var contractions = []contraction{
	{"ij,jk->ik", map[rune]int{'i': 4096, 'j': 4096, 'k': 4096}},
	{"ij,kj->ik", map[rune]int{'i': 4096, 'j': 4096, 'k': 4096}},
	{"bij,bjk->bik", map[rune]int{'b': 64, 'i': 512, 'j': 512, 'k': 512}},
	{"bhqd,bhkd->bhqk", map[rune]int{'b': 8, 'h': 16, 'q': 1024, 'k': 1024, 'd': 64}},
	{"bhqk,bhkd->bhqd", map[rune]int{'b': 8, 'h': 16, 'q': 1024, 'k': 1024, 'd': 64}},
	{"bqhd,bkhd->bhqk", map[rune]int{'b': 8, 'h': 16, 'q': 1024, 'k': 1024, 'd': 64}},
	{"ijk,jkl->il", map[rune]int{'i': 2048, 'j': 64, 'k': 64, 'l': 2048}},
	{"ab,bc,cd->ad", map[rune]int{'a': 4096, 'b': 64, 'c': 4096, 'd': 64}},
	{"bd,de,be->b", map[rune]int{'b': 4096, 'd': 1024, 'e': 1024}},
	{"i,j->ij", map[rune]int{'i': 8192, 'j': 8192}},
}

// einsumSamples is the number of elements of a result that are compared with sums in float64.
const einsumSamples = 48

// einsumCases are contractions of contiguous arrays. -sizes is the extent of every index.
func einsumCases(o options, _ bool) ([]benchCase, error) {
	n, err := o.oneSize("einsum")
	if err != nil {
		return nil, err
	}
	var cs []benchCase
	for _, c := range contractions {
		if n > 0 {
			c.extents = maps.Clone(c.extents)
			for i := range c.extents {
				c.extents[i] = n
			}
		}
		cs = append(cs, benchCase{name: "Einsum/dtype=bf16/eq=" + c.equation, run: c.measure})
	}
	return cs, nil
}

// terms returns the indices of the operands and of the result.
func (c contraction) terms() (in []string, out string) {
	left, out, _ := strings.Cut(c.equation, "->")
	return strings.Split(left, ","), out
}

func (c contraction) shape(term string) (shape []int) {
	for _, i := range term {
		shape = append(shape, c.extents[i])
	}
	return shape
}

// strides returns, for each index, the number of elements of one step in a contiguous array.
func (c contraction) strides(term string) map[rune]int {
	strides := map[rune]int{}
	step := 1
	for _, i := range slices.Backward([]rune(term)) {
		strides[i] = step
		step *= c.extents[i]
	}
	return strides
}

// sums evaluates elements of a contraction by loops.
type sums struct {
	operands []values
	strides  []map[rune]int // strides of each operand
	summed   []rune         // the indices that the result does not have
	extents  map[rune]int
}

// at returns the sum over the summed indices from number k on, of products of the elements that are
// places away from the operands' first.
func (s *sums) at(k int, places []int) (total float64) {
	if k == len(s.summed) {
		total = 1
		for t, h := range s.operands {
			total *= h.re[places[t]]
		}
		return total
	}
	index := s.summed[k]
	next := slices.Clone(places)
	for range s.extents[index] {
		total += s.at(k+1, next)
		for t := range next {
			next[t] += s.strides[t][index]
		}
	}
	return total
}

// sample returns the places of random elements of the result, and the elements.
func (c contraction) sample(seed uint64, operands []values) (places []int, want values) {
	in, out := c.terms()
	s := sums{operands: operands, extents: c.extents}
	for _, term := range in {
		s.strides = append(s.strides, c.strides(term))
	}
	for _, i := range slices.Sorted(maps.Keys(c.extents)) {
		if !strings.ContainsRune(out, i) {
			s.summed = append(s.summed, i)
		}
	}
	rng := rand.New(rand.NewPCG(seed, 99))
	outStrides := c.strides(out)
	for range einsumSamples {
		from, place := make([]int, len(in)), 0
		for _, i := range out {
			v := rng.IntN(c.extents[i])
			place += v * outStrides[i]
			for t := range from {
				from[t] += v * s.strides[t][i]
			}
		}
		places = append(places, place)
		want.re = append(want.re, s.at(0, from))
	}
	return places, want
}

func (c contraction) measure(r *runner) ([]result, error) {
	p := mustPrecision("bf16")
	in, out := c.terms()
	var as arrays
	defer func() { as.free() }()
	hs, ins := make([]values, len(in)), make(arrays, len(in))
	flops := 2.0
	for _, n := range c.extents {
		flops *= float64(n)
	}
	for i, term := range in {
		shape := c.shape(term)
		size, err := layout.Size(shape)
		if err != nil {
			return nil, err
		}
		hs[i] = p.random(r.seed, uint64(i+1), size, normal)
		ins[i] = as.keep(upload(p.dtype, hs[i], shape...))
	}
	places, want := c.sample(r.seed, hs)
	dst := as.keep(poisoned(p.dtype, c.shape(out)...))
	if err := gpk.Eval(as...); err != nil {
		return nil, err
	}
	for i := range ins {
		ins[i] = ins[i].On(r.stream)
	}
	w := work{flops, "TFLOP/s"}
	if len(in) != 2 || len(c.extents) < 3 {
		w = work{} // the count depends on the order, or bytes bound it
	}
	return r.time(trial{
		sets: 1,
		call: func(int) error { return gpk.Into(dst, gpk.Einsum(c.equation, ins...)) },
		check: func(int) (deviation, error) {
			all, err := download(dst)
			if err != nil {
				return deviation{}, err
			}
			var got values
			for _, k := range places {
				got.re = append(got.re, all.re[k])
			}
			return deviationOf(got, want), nil
		},
	}, w, p)
}
