package gpktest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/matmul"
)

// leastLong is the depth from which a GPU divides the k of products with few tiles; see fitLong in package matmul.
const leastLong = 1 << 14

// longVariety is a variety and the options with which it is asked for.
type longVariety struct {
	variety
	opts []matmul.Option
}

// testLongProducts checks products of up to 20 x 20 results with a depth of 16,384 to 300,000 and a little less, in every
// type and precision. A GPU divides k and adds the parts.
func testLongProducts(t *testing.T, s *suite) {
	var all []longVariety
	for _, v := range varieties {
		all = append(all, longVariety{v, v.opts})
		switch v.name { // what a product without options computes
		case "tf32", "c64":
			v.name += " by default"
			all = append(all, longVariety{v, nil})
		}
	}
	for i, v := range all {
		t.Run(v.name, func(t *testing.T) {
			divided := 0
			for j, k := range s.depths() {
				divided += s.longProduct(t, v, k, i+j)
			}
			divided += s.longVectors(t, v)
			s.longBatch(t, v)
			if v.in.IsFloat() {
				s.longChain(t, v)
			}
			if !exact(v.in) && divided == 0 && s.dev.Capabilities().SM == 90 {
				t.Error("no k was divided")
			}
		})
	}
}

// depths returns the depths of a variety's products: on both sides of the least that is divided, a prime number, and
// random ones.
func (s *suite) depths() []int {
	return []int{leastLong - 1, leastLong, 65_537, leastLong + s.rng.IntN(1<<15), s.longDepth(300_000)}
}

// longDepth draws a depth of at least leastLong.
func (s *suite) longDepth(most int) int { return leastLong + s.rng.IntN(most-leastLong+1) }

// longSide draws the number of rows or columns of an operand. It bounds the number of elements, and so the time of the
// reference.
func (s *suite) longSide(k int) int {
	elements := 20 * leastLong
	if s.dev.Kind() != device.CPU {
		elements *= 4
	}
	return 1 + s.rng.IntN(max(1, min(20, elements/k)))
}

// longBound returns the variety with the error bound of the product c. If a GPU does not divide k, it adds all terms of an
// element to one sum. Tensor cores truncate that sum at each addition, so the error grows with k. Parts of k are short
// enough for the variety's own bound.
func (s *suite) longBound(v variety, c *gpk.Array, k int) variety {
	if s.dev.Kind() != device.CPU && !isDivided(c) {
		v.bound *= max(1, float64(k)/4096)
	}
	return v
}

func isDivided(c *gpk.Array) bool { return strings.Contains(c.Explain(), "which are added") }

// placed returns an array with the values of x, a matrix: its rows are lines in memory, or its columns if columns. Before
// the first line and after each there are `gap` other elements, NaN or 77.
func placed(x tensor, columns bool, gap int) *gpk.Array {
	if columns {
		return placed(transposed(x), false, gap).T()
	}
	lines, n := x.shape[0], x.shape[1]
	pitch := n + gap
	big := poisoned(x.dt, gap+lines*pitch)
	for i := range lines {
		if at := gap + i*pitch; exact(x.dt) {
			copy(big.ints[at:], x.ints[i*n:(i+1)*n])
		} else {
			copy(big.values[at:], x.values[i*n:(i+1)*n])
		}
	}
	return big.array().Slice(0, gap, gap+lines*pitch).Reshape(lines, pitch).Slice(1, 0, n)
}

// A destination of a product: into returns a part of a poisoned frame, or the whole frame.
type destination struct {
	name  string
	frame func(m, n int) []int
	into  func(frame *gpk.Array, m, n int) *gpk.Array
	in    func(r, c, m, n int) bool // whether an element of the frame belongs to the part
}

var destinations = []destination{
	{
		"dense", func(m, n int) []int { return []int{m, n} },
		func(f *gpk.Array, _, _ int) *gpk.Array { return f },
		func(_, _, _, _ int) bool { return true },
	},
	{
		"a part", func(m, n int) []int { return []int{m + 2, n + 3} },
		func(f *gpk.Array, m, n int) *gpk.Array { return f.Slice(0, 1, 1+m).Slice(1, 1, 1+n) },
		func(r, c, m, n int) bool { return r >= 1 && r <= m && c >= 1 && c <= n },
	},
	{
		"every second column", func(m, n int) []int { return []int{m, 2 * n} },
		func(f *gpk.Array, _, n int) *gpk.Array { return f.Slice(1, 1, 2*n, 2) },
		func(_, c, _, _ int) bool { return c%2 == 1 },
	},
	{
		"a transposed part", func(m, n int) []int { return []int{n + 1, m + 1} },
		func(f *gpk.Array, m, n int) *gpk.Array { return f.Slice(0, 0, n).Slice(1, 1, 1+m).T() },
		func(r, c, _, n int) bool { return r < n && c >= 1 },
	},
}

// longProduct checks a product of depth k in one of the four orders of the operands, and in one kind of destination. turn
// chooses them. Two runs give the same bits. It returns 1 if k is divided.
func (s *suite) longProduct(t *testing.T, v longVariety, k, turn int) (divided int) {
	t.Helper()
	m, n := s.longSide(k), s.longSide(k)
	a, b := s.random(v.in, m, k), s.random(v.in, k, n)
	gapA, gapB := s.rng.IntN(4), s.rng.IntN(4)
	x, y := placed(a, turn&1 != 0, gapA), placed(b, turn&2 != 0, gapB)
	to := destinations[s.rng.IntN(len(destinations))]
	what := fmt.Sprintf("%s %dx%dx%d, order %d, gaps %d and %d, into %s", v.name, m, k, n, turn&3, gapA, gapB, to.name)
	if v.in.IsComplex() {
		if s.rng.IntN(2) == 0 {
			a, x, what = conjugate(a), x.Conj(), what+", A conjugated"
		}
		if s.rng.IntN(2) == 0 {
			b, y, what = conjugate(b), y.Conj(), what+", B conjugated"
		}
	}
	var first tensor
	for run := range 2 {
		c := x.MatMul(y, v.opts...)
		noError(t, c.Err())
		bounds := s.longBound(v.variety, c, k)
		if isDivided(c) {
			divided = 1
		}
		frame := poison(c.DType(), to.frame(m, n)...)
		noError(t, gpk.Into(to.into(frame, m, n), c))
		got := read(t, to.into(frame, m, n))
		if run > 0 {
			equal(t, what+", the second time", got, first)
			continue
		}
		first = got
		s.check(t, what, got, a, b, bounds, epilogue{})
		whole := read(t, frame)
		want := poisoned(whole.dt, whole.shape...)
		index(whole.shape, func(ix []int) {
			if to.in(ix[0], ix[1], m, n) {
				p := at(whole.shape, ix)
				want.put(p, whole, p)
			}
		})
		equal(t, what+", the frame", whole, want)
	}
	return divided
}

// poisoned is the tensor of poison.
func poisoned(dt gpk.DType, shape ...int) tensor {
	x := tensor{dt: dt, shape: shape}
	switch {
	case dt == gpk.Bool:
		x.ints = slices.Repeat([]int64{1}, size(shape))
	case exact(dt):
		x.ints = slices.Repeat([]int64{77}, size(shape))
	default:
		x.values = slices.Repeat([]complex128{complex(math.NaN(), 0)}, size(shape))
	}
	return x
}

// longVectors checks dot products, and products of a matrix and a vector on either side. It returns the number of those
// whose k is divided.
func (s *suite) longVectors(t *testing.T, v longVariety) (divided int) {
	t.Helper()
	for _, c := range []struct {
		name                 string
		left, right, columns bool // vectors; whether columns of a matrix are lines in memory
	}{
		{"dot", true, true, false},
		{"matrix and vector", false, true, false},
		{"columns and vector", false, true, true},
		{"vector and matrix", true, false, false},
		{"vector and columns", true, false, true},
	} {
		k := s.longDepth(300_000)
		if !c.left || !c.right {
			k = s.longDepth(60_000)
		}
		m, n := s.longSide(k), s.longSide(k)
		if c.left {
			m = 1
		}
		if c.right {
			n = 1
		}
		a, b := s.random(v.in, m, k), s.random(v.in, k, n)
		x, y := placed(a, c.columns && !c.left, 1+s.rng.IntN(3)), placed(b, c.columns && !c.right || c.right, 1+s.rng.IntN(3))
		p := pair{a: a, b: b, x: x, y: y}
		if c.left {
			p.a.shape, p.x = []int{k}, x.Squeeze(0)
		}
		if c.right {
			p.b.shape, p.y = []int{k}, y.Squeeze(1)
		}
		what := fmt.Sprintf("%s, %s %dx%dx%d", v.name, c.name, m, k, n)
		product := p.x.MatMul(p.y, v.opts...)
		divided += bool01(isDivided(product))
		s.checkItem(t, what, product, p, s.longBound(v.variety, product, k))
		equal(t, what+", the second time", evaluate(t, p.x.MatMul(p.y, v.opts...)), read(t, product))
		if c.left && c.right && len(v.opts) == 0 {
			dot := gpk.VecDot(p.x, p.y)
			q := p
			if v.in.IsComplex() { // VecDot conjugates its first operand
				q.a = conjugate(p.a)
			}
			s.checkItem(t, what+" by VecDot", dot, q, s.longBound(v.variety, dot, k))
		}
	}
	return divided
}

// longBatch checks a product of two pairs.
func (s *suite) longBatch(t *testing.T, v longVariety) {
	t.Helper()
	k := s.longDepth(24_000)
	a, b := s.random(v.in, 2, 1+s.rng.IntN(4), k), s.random(v.in, 2, k, 1+s.rng.IntN(4))
	x, y := a.array(), b.array()
	if s.rng.IntN(2) == 0 {
		x, y = transposed(a).array().T(), transposed(b).array().T()
	}
	c := x.MatMul(y, v.opts...)
	what := fmt.Sprintf("%s %v x %v", v.name, a.shape, b.shape)
	bounds := s.longBound(v.variety, c, k)
	got := evaluate(t, c)
	s.checkBatch(t, what, got, a, b, bounds)
	equal(t, what+", the second time", evaluate(t, x.MatMul(y, v.opts...)), got)
}

// longChain compares chains after a product with the single operations, bit for bit, and layers with their reference.
func (s *suite) longChain(t *testing.T, v longVariety) {
	t.Helper()
	k := s.longDepth(24_000)
	m, n := 1+s.rng.IntN(4), 1+s.rng.IntN(4)
	x, w := s.random(v.in, m, k), s.random(v.in, n, k)
	a, b := placed(x, false, 1), placed(w, false, 1)
	alone := func(a *gpk.Array) *gpk.Array {
		noError(t, gpk.Eval(a))
		return a
	}
	product := func() *gpk.Array { return a.MatMul(b.T(), v.opts...) }
	row := s.random(product().DType(), n).array()
	for name, f := range map[string]func(p *gpk.Array, step func(*gpk.Array) *gpk.Array) *gpk.Array{
		"bias":      func(p *gpk.Array, step func(*gpk.Array) *gpk.Array) *gpk.Array { return step(p.Add(row)) },
		"bias ReLU": func(p *gpk.Array, step func(*gpk.Array) *gpk.Array) *gpk.Array { return step(step(p.Add(row)).ReLU()) },
		"bias GELU": func(p *gpk.Array, step func(*gpk.Array) *gpk.Array) *gpk.Array { return step(step(p.Add(row)).GELU()) },
	} {
		want := read(t, f(alone(product()), alone))
		got := evaluate(t, f(product(), func(a *gpk.Array) *gpk.Array { return a }))
		equal(t, fmt.Sprintf("%s %dx%dx%d, %s", v.name, m, k, n, name), got, want)
	}
	bias := s.random(v.in, n)
	for _, l := range linears {
		got := l.f(a, b, bias.array(), v.opts...)
		bounds := s.longBound(v.variety, got, k)
		s.check(t, fmt.Sprintf("%s %s %dx%dx%d", v.name, l.name, m, k, n), evaluate(t, got), x, transposed(w), bounds, l.after(bias))
	}
}
