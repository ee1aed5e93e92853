package gpktest

import (
	"math/cmplx"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// testPairProducts compares TensorDot, Outer, VecDot and Kron with loops.
func testPairProducts(t *testing.T, s *suite) {
	defer gpk.SetPrecision(gpk.SetPrecision(gpk.FullPrecision))
	for range rounds(40, 8) {
		for _, dt := range allTypes {
			if dt.HasProducts() {
				s.tensorDot(t, dt)
				s.vecDot(t, dt)
			}
			if dt != gpk.Bool {
				s.outerAndKron(t, dt)
			}
		}
	}
}

func (s *suite) tensorDot(t *testing.T, dt gpk.DType) {
	// Labels of the axes; a pair has one.
	e := sum{lengths: map[rune]int{}}
	pool := []rune("abcdefgh")
	n := s.rng.IntN(3)
	left := slices.Concat(pool[:n], pool[2:2+s.rng.IntN(3)])
	right := slices.Concat(pool[:n], pool[5:5+s.rng.IntN(3)])
	for _, label := range pool {
		e.lengths[label] = 1 + s.rng.IntN(5)
	}
	for _, labels := range [][]rune{left, right} {
		s.rng.Shuffle(len(labels), func(i, j int) { labels[i], labels[j] = labels[j], labels[i] })
		shape := make([]int, len(labels))
		for d, label := range labels {
			shape[d] = e.lengths[label]
		}
		e.inputs, e.shapes = append(e.inputs, labels), append(e.shapes, shape)
	}
	var axes [2][]int
	for _, label := range pool[:n] {
		for i, labels := range e.inputs {
			axes[i] = append(axes[i], s.signed(slices.Index(labels, label), len(labels)))
		}
	}
	for _, labels := range e.inputs {
		for _, label := range labels {
			if !slices.Contains(pool[:n], label) {
				e.output = append(e.output, label)
			}
		}
	}
	x, y := s.bounded(dt, e.shapes[0]...), s.bounded(dt, e.shapes[1]...)
	got := read(t, s.arranged(x).TensorDot(s.arranged(y), axes[0], axes[1]))
	e.summed(t, name("TensorDot", dt, e.shapes, axes), dt, got, []tensor{x, y})
}

func (s *suite) vecDot(t *testing.T, dt gpk.DType) {
	shape := s.someShape(1)
	rank := len(shape)
	d := s.rng.IntN(rank)
	narrowed := func() []int {
		out := slices.Clone(shape)
		for i := range out {
			if i != d && s.rng.IntN(3) == 0 {
				out[i] = 1
			}
		}
		return out[s.rng.IntN(d+1):]
	}
	x, y := s.bounded(dt, narrowed()...), s.bounded(dt, narrowed()...)
	if len(x.shape) < rank && len(y.shape) < rank { // the axis is counted in what they are broadcast to
		x = s.bounded(dt, shape...)
	}
	axis := []int{s.signed(d, rank)}
	if d == rank-1 && s.rng.IntN(2) == 0 {
		axis = nil
	}
	e := sum{lengths: map[rune]int{}}
	labels := []rune("abcdefgh")[:rank]
	for i, z := range []tensor{x, y} {
		e.inputs, e.shapes = append(e.inputs, labels[rank-len(z.shape):]), append(e.shapes, z.shape)
		for k, label := range e.inputs[i] {
			if z.shape[k] != 1 || e.lengths[label] == 0 && !slices.Contains(shape, 0) {
				e.lengths[label] = z.shape[k]
			} else if _, ok := e.lengths[label]; !ok {
				e.lengths[label] = 1
			}
		}
	}
	e.output = slices.Delete(slices.Clone(labels), d, d+1)
	conj := tensor{dt: dt, shape: x.shape, ints: x.ints}
	for _, v := range x.values {
		conj.values = append(conj.values, cmplx.Conj(v))
	}
	got := read(t, s.arranged(x).VecDot(s.arranged(y), axis...))
	e.summed(t, name("VecDot", dt, x.shape, y.shape, axis), dt, got, []tensor{conj, y})
}

func (s *suite) outerAndKron(t *testing.T, dt gpk.DType) {
	x := s.random(dt, s.someShape(0)...)
	y := s.random(dt, []int{1 + s.rng.IntN(3), s.rng.IntN(4)}[:s.rng.IntN(3)]...)
	a, b := s.arranged(x), s.arranged(y)
	m, n := size(x.shape), size(y.shape)
	flat := func(v tensor, shape ...int) *gpk.Array { return v.array().Reshape(shape...) }
	equal(t, name("Outer", dt, x.shape, y.shape), evaluate(t, a.Outer(b)), read(t, flat(x, m, 1).Mul(flat(y, 1, n))))

	// Kron: element i of an axis of n is a's i / n times b's i % n.
	rank := max(len(x.shape), len(y.shape))
	grow := func(shape []int) []int { return slices.Concat(slices.Repeat([]int{1}, rank-len(shape)), shape) }
	p, q := grow(x.shape), grow(y.shape)
	shape := make([]int, rank)
	for d := range shape {
		shape[d] = p[d] * q[d]
	}
	from := func(of tensor, f func(i, n int) int) tensor {
		return of.gathered(shape, func(ix []int) []int {
			jx := make([]int, rank)
			for d, i := range ix {
				jx[d] = f(i, q[d])
			}
			return jx[rank-len(of.shape):]
		})
	}
	left := from(x, func(i, n int) int { return i / n })
	right := from(y, func(i, n int) int { return i % n })
	equal(t, name("Kron", dt, x.shape, y.shape), read(t, a.Kron(b)), read(t, left.array().Mul(right.array())))
}
