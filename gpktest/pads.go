package gpktest

import (
	"fmt"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/matmul"
)

// testPads checks products whose operands a GPU copies first because their lines
// begin anywhere: parts of arrays that are NaN all around, beginning at every place of
// 16 bytes, copied into memory that was NaN; transposed, in stacks, with themselves,
// on streams and in a recorded sequence.
func testPads(t *testing.T, s *suite) {
	for _, v := range varieties {
		padded, products := 0, 0
		for at := range 9 {
			m, k, n := 33+s.rng.IntN(200), 30+s.rng.IntN(300), 20+s.rng.IntN(300)
			if v.in.IsComplex() {
				m, n = 20+m/4, 20+n/4
			}
			a, b := s.random(v.in, m, k), s.random(v.in, k, n)
			for _, turned := range []bool{false, true} {
				x, y := s.amidst(t, a, at, turned), s.amidst(t, b, (at*5+3)%9, turned && at%2 == 0)
				c := x.MatMul(y, v.opts...)
				what := fmt.Sprintf("%s %dx%dx%d from column %d, turned %v", v.name, m, k, n, at, turned)
				if e := c.Explain(); strings.Contains(e, "pad A") && strings.Contains(e, "pad B") {
					padded++
				}
				products++
				s.spoilCopies(t, v.in, m, k, n)
				s.check(t, what, evaluate(t, c), a, b, v, epilogue{})
				x.Free()
				y.Free()
			}
		}
		s.padsOfStacks(t, v)
		t.Logf("%s: both operands were copied for %d of %d products", v.name, padded, products)
		if s.dev.Capabilities().SM == 90 && v.in.Size() == 2 && padded < products/2 {
			t.Errorf("%s: both operands were copied for %d products only", v.name, padded)
		}
	}
	for _, dt := range []gpk.DType{gpk.BFloat16, gpk.Float16, gpk.Float32} {
		t.Run(dt.String(), func(t *testing.T) {
			s.padsInOrder(t, dt)
			s.padsRecorded(t, dt)
		})
	}
}

// amidst puts a matrix into a larger array from column `at` on; the other elements are NaN
// (77 for integers). If turned is set, it stores the transpose and returns a transposed
// view.
func (s *suite) amidst(t *testing.T, x tensor, at int, turned bool) *gpk.Array {
	t.Helper()
	if turned {
		return s.amidst(t, transposed(x), at, false).T()
	}
	r, c := x.shape[0], x.shape[1]
	frame := poison(x.dt, r+2, at+c+1+s.rng.IntN(9))
	part := frame.Slice(0, 1, 1+r).Slice(1, at, at+c)
	if err := gpk.Into(part, x.array()); err != nil {
		t.Fatal(err)
	}
	return part
}

// spoilCopies fills memory of the sizes of both row-major operands' copies with NaN and
// frees it.
func (s *suite) spoilCopies(t *testing.T, dt gpk.DType, m, k, n int) {
	t.Helper()
	var held []*gpk.Array
	for _, c := range [][2]int{{m, k}, {k, n}} {
		unit := 16
		if c[1]*dt.Size() >= 512 {
			unit = 128
		}
		held = append(held, poison(dt, c[0]*ceilDiv(c[1]*dt.Size(), unit)*unit/dt.Size()))
	}
	if err := gpk.Eval(held...); err != nil {
		t.Fatal(err)
	}
	for _, a := range held {
		a.Free()
	}
}

// padsOfStacks multiplies stacks of odd matrices, one matrix by a stack, and matrices by
// their transposes.
func (s *suite) padsOfStacks(t *testing.T, v variety) {
	t.Helper()
	k := 41 + s.rng.IntN(60)
	for _, c := range []struct{ a, b []int }{
		{[]int{3, 37, k}, []int{3, k, 35}},
		{[]int{37, k}, []int{4, k, 35}},
		{[]int{4, 37, k}, []int{k, 35}},
		{[]int{2, 3, 17, k}, []int{3, k, 19}},
	} {
		a, b := s.random(v.in, c.a...), s.random(v.in, c.b...)
		s.spoilCopies(t, v.in, 3*37, k, 35)
		got := evaluate(t, a.array().MatMul(b.array(), v.opts...))
		s.checkBatch(t, fmt.Sprintf("%s %v x %v", v.name, c.a, c.b), got, a, b, v)
		at := s.rng.IntN(5)
		got = evaluate(t, s.inside(a, at, 1).MatMul(s.inside(b, 1, 1), v.opts...))
		s.checkBatch(t, fmt.Sprintf("%s %v x %v of larger arrays", v.name, c.a, c.b), got, a, b, v)
	}
	if exact(v.in) || v.in.IsComplex() {
		return
	}
	a := s.random(v.in, 131, k)
	x := s.amidst(t, a, 1, false)
	got := evaluate(t, x.MatMul(x.T(), append([]matmul.Option{matmul.Symmetric}, v.opts...)...))
	s.check(t, v.name+" by its transpose", got, a, transposed(a), v, epilogue{})
}

// padsInOrder writes to operands right after the products that copy them, on other
// streams.
func (s *suite) padsInOrder(t *testing.T, dt gpk.DType) {
	v := firstOf(t, dt)
	var streams [2]*device.Stream
	for i := range streams {
		var err error
		if streams[i], err = s.dev.NewStream(); err != nil {
			t.Fatal(err)
		}
		defer streams[i].Close()
	}
	const m, k, n, rounds = 301, 517, 259, 6
	x, y := poison(dt, m, k), poison(dt, k, n)
	var as, bs [rounds]tensor
	var inputs [rounds][2]*gpk.Array
	var products [rounds]*gpk.Array
	for i := range rounds {
		as[i], bs[i] = s.random(dt, m, k), s.random(dt, k, n)
		inputs[i] = [2]*gpk.Array{as[i].array(), bs[i].array()}
	}
	if err := gpk.Eval(x, y); err != nil {
		t.Fatal(err)
	}
	for i := range rounds {
		for j, a := range []*gpk.Array{x, y} {
			noError(t, a.CopyFrom(inputs[i][j]))
		}
		products[i] = x.On(streams[i%2]).MatMul(y.On(streams[i%2]), v.opts...)
		if err := gpk.Eval(products[i]); err != nil {
			t.Fatal(err)
		}
	}
	for i, c := range products {
		s.check(t, fmt.Sprintf("%s, round %d", v.name, i), read(t, c), as[i], bs[i], v, epilogue{})
	}
}

// padsRecorded replays a sequence of such products, on inputs that change.
func (s *suite) padsRecorded(t *testing.T, dt gpk.DType) {
	v := firstOf(t, dt)
	x, y := s.random(dt, 131, 77).array(), s.random(dt, 77, 63).array()
	f := func(in []*gpk.Array) []*gpk.Array {
		c := in[0].MatMul(in[1], v.opts...)
		return []*gpk.Array{c, in[0].T().MatMul(c, v.opts...)}
	}
	in := []*gpk.Array{x, y}
	g, err := gpk.Capture(in, f)
	if err != nil {
		t.Fatal(err)
	}
	defer g.Free()
	for round := range 3 {
		if err := gpk.Into(x, s.random(dt, 131, 77).array()); err != nil {
			t.Fatal(err)
		}
		if err := g.Replay(); err != nil {
			t.Fatal(err)
		}
		for i, want := range f(in) {
			bitsEqual(t, fmt.Sprintf("%s, round %d, output %d", v.name, round, i), g.Outputs()[i], want)
		}
	}
}

// firstOf returns the first variety of a type.
func firstOf(t *testing.T, dt gpk.DType) variety {
	t.Helper()
	for _, v := range varieties {
		if v.in == dt {
			return v
		}
	}
	t.Fatalf("no variety of %v", dt)
	return variety{}
}

// testShortTiles forces the kernels whose last tile of k may be shorter than the others.
// It tries every length of the last tile after one to many whole tiles.
func testShortTiles(t *testing.T, s *suite) {
	s.needSM90(t)
	ran := 0
	for _, k := range cutlass.Kernels() {
		if !k.Direct {
			continue
		}
		for _, v := range varieties {
			if v.in != k.A || len(v.opts) > 0 {
				continue
			}
			for _, tiles := range []int{0, 1, 2, 3, 5, 6, 7, 8, 13, 40} {
				for _, more := range []int{1, 15, 16, 17, 31, 33, 47, 49, 63, 64} {
					ran++
					depth := 64*tiles + more
					a, b := s.random(v.in, 150, depth), s.random(v.in, depth, 131)
					c := as(a, k.MajorA).MatMul(as(b, k.MajorB), matmul.WithKernel(k.Name))
					s.spoilCopies(t, v.in, 150, depth, 131)
					s.check(t, fmt.Sprintf("%s, k %d", k.Name, depth), evaluate(t, c), a, b, v, epilogue{})
				}
			}
			// More tiles of D than multiprocessors: a CTA has several.
			a, b := s.random(v.in, 3001, 145), s.random(v.in, 145, 2047)
			s.check(t, k.Name+", several tiles a CTA", evaluate(t, as(a, k.MajorA).MatMul(as(b, k.MajorB), matmul.WithKernel(k.Name))), a, b, v, epilogue{})
		}
	}
	if ran == 0 {
		t.Error("the manifest has no such kernel")
	}
}
