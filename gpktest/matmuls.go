package gpktest

import (
	"errors"
	"fmt"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/matmul"
	"github.com/gpk-go/gpk/serve/batch"
)

// pair is an item of MatMuls: its operands on the host and on the device.
type pair struct {
	a, b tensor
	x, y *gpk.Array
}

// testMatMuls multiplies many pairs at once.
func testMatMuls(t *testing.T, s *suite) {
	t.Run("Mixed", func(t *testing.T) { testMixedMatMuls(t, s) })
	t.Run("Many", func(t *testing.T) { testManyMatMuls(t, s) })
	t.Run("Shared", func(t *testing.T) { testSharedMatMuls(t, s) })
	t.Run("Errors", func(t *testing.T) { testMatMulsErrors(t, s) })
	t.Run("Memory", func(t *testing.T) { testMatMulsMemory(t, s) })
	t.Run("Graph", func(t *testing.T) { testMatMulsGraph(t, s) })
}

// multiplied checks the products of pairs, each against its own operands.
func (s *suite) multiplied(t *testing.T, what string, pairs []pair, v variety) []*gpk.Array {
	t.Helper()
	xs, ys := make([]*gpk.Array, len(pairs)), make([]*gpk.Array, len(pairs))
	for i, p := range pairs {
		xs[i], ys[i] = p.x, p.y
	}
	out := batch.MatMuls(xs, ys, v.opts...)
	if len(out) != len(pairs) {
		t.Fatalf("%s: %d products of %d pairs", what, len(out), len(pairs))
	}
	for i, p := range pairs {
		s.checkItem(t, fmt.Sprintf("%s, item %d, %v x %v", what, i, p.a.shape, p.b.shape), out[i], p, v)
	}
	return out
}

// checkItem compares the product of a pair of up to three axes, matrix by matrix.
func (s *suite) checkItem(t *testing.T, what string, c *gpk.Array, p pair, v variety) {
	t.Helper()
	if err := c.Err(); err != nil {
		t.Errorf("%s: %v", what, err)
		return
	}
	a, b, want := matrices(p.a, 0), matrices(p.b, 1), []int{}
	count := max(len(a), len(b))
	if len(p.a.shape) == 3 || len(p.b.shape) == 3 {
		want = append(want, count)
	}
	if len(p.a.shape) > 1 {
		want = append(want, a[0].shape[0])
	}
	if len(p.b.shape) > 1 {
		want = append(want, b[0].shape[1])
	}
	if got := c.Shape(); !slices.Equal(got, want) {
		t.Errorf("%s has shape %v, want %v", what, got, want)
		return
	}
	got := evaluate(t, c)
	got.shape = []int{count, a[0].shape[0], b[0].shape[1]}
	for i, m := range matrices(got, 0) {
		s.check(t, what, m, a[min(i, len(a)-1)], b[min(i, len(b)-1)], v, epilogue{})
	}
}

// matrices returns the matrices of a tensor: a vector is a row (axis 0) or a column (1).
func matrices(x tensor, axis int) []tensor {
	switch len(x.shape) {
	case 1:
		n := x.shape[0]
		x.shape = [][]int{{1, n}, {n, 1}}[axis]
		return []tensor{x}
	case 2:
		return []tensor{x}
	}
	var all []tensor
	for i := range x.shape[0] {
		m := x.slice(0, i, i+1, 1)
		m.shape = x.shape[1:]
		all = append(all, m)
	}
	return all
}

// testMixedMatMuls draws pairs of few shapes, so that groups of several sizes arise.
func testMixedMatMuls(t *testing.T, s *suite) {
	shapes := [][2][]int{
		{{17, 33}, {33, 15}},
		{{64, 64}, {64, 64}},
		{{1, 16}, {16, 31}},
		{{33}, {33, 15}},
		{{17, 33}, {33}},
		{{33}, {33}},
		{{3, 5, 16}, {16, 31}},
		{{5, 16}, {3, 16, 31}},
		{{3, 5, 16}, {3, 16, 31}},
		{{16}, {3, 16, 31}},
		{{3, 5, 16}, {16}},
		{{4, 0}, {0, 3}},
		{{0, 4}, {4, 3}},
	}
	for _, v := range varieties {
		var pairs []pair
		for range 60 {
			shape := shapes[s.rng.IntN(len(shapes))]
			p := pair{a: s.random(v.in, shape[0]...), b: s.random(v.in, shape[1]...)}
			p.x, p.y = p.a.array(), p.b.array()
			if len(shape[0]) > 1 && len(shape[1]) > 1 && s.rng.IntN(3) == 0 {
				p.x = arrangements[s.rng.IntN(len(arrangements))].make(s, p.a)
				p.y = arrangements[s.rng.IntN(len(arrangements))].make(s, p.b)
			}
			if s.rng.IntN(4) == 0 {
				p.x, p.y = p.x.Reshape(p.a.shape...), p.y.Clone() // pending
			}
			pairs = append(pairs, p)
		}
		s.multiplied(t, v.name, pairs, v)
	}
}

// testManyMatMuls multiplies 64 pairs of 256 x 256 as one, and pairs of two streams as two.
func testManyMatMuls(t *testing.T, s *suite) {
	stream, err := s.dev.NewStream()
	if err != nil {
		t.Fatal(err)
	}
	defer stream.Close()
	v := variety{"fp32", gpk.Float32, []matmul.Option{gpk.FullPrecision}, 3e-6}
	count := 64
	if quick() {
		count = 6
	}
	for _, streams := range []int{1, 2} {
		var pairs []pair
		for i := range count {
			p := pair{a: s.random(v.in, 256, 256), b: s.random(v.in, 256, 256)}
			p.x, p.y = p.a.array(), p.b.array()
			if i%streams == 1 {
				p.x, p.y = p.x.On(stream), p.y.On(stream)
			}
			pairs = append(pairs, p)
		}
		out := s.multiplied(t, fmt.Sprint(streams, " streams"), pairs, v)
		buffers := map[*device.Buffer]bool{}
		for i, c := range out {
			buf, err := c.Buffer()
			noError(t, err)
			buffers[buf] = true
			if c.Stream() != pairs[i].x.Stream() {
				t.Errorf("product %d is on another stream", i)
			}
		}
		if len(buffers) != streams {
			t.Errorf("the products of %d streams have %d buffers", streams, len(buffers))
		}
	}
}

// testSharedMatMuls has pairs with one operand in common.
func testSharedMatMuls(t *testing.T, s *suite) {
	v := variety{"fp32", gpk.Float32, []matmul.Option{gpk.FullPrecision}, 3e-6}
	for _, shape := range [][2][]int{
		{{17, 33}, {33, 15}},
		{{33}, {33, 15}},
		{{2, 17, 33}, {33, 15}},
		{{17, 33}, {33}},
		{{33}, {33}},
		{{17, 33}, {2, 33, 15}},
		{{2, 17, 33}, {2, 33, 15}},
		{{4, 0}, {0, 3}},
		{{0, 4}, {4, 3}},
	} {
		a, b := s.random(v.in, shape[0]...), s.random(v.in, shape[1]...)
		x, y := a.array(), b.array()
		var left, right, both []pair
		for range 5 {
			c, d := s.random(v.in, shape[0]...), s.random(v.in, shape[1]...)
			left = append(left, pair{a, d, x, d.array()})
			right = append(right, pair{c, b, c.array(), y})
			both = append(both, pair{a, b, x, y})
		}
		s.multiplied(t, "one left operand", left, v)
		s.multiplied(t, "one right operand", right, v)
		s.multiplied(t, "one pair", both, v)
		if len(shape[1]) == 2 {
			packed := gpk.Pack(y, v.opts...)
			for i := range right {
				right[i].y = packed
			}
			s.multiplied(t, "one packed operand", right, v)
			packed.Free()
		}
	}
	// An option that the rows of several items together cannot have.
	a := s.random(v.in, 20, 30)
	x := a.array()
	v.opts = append(v.opts, matmul.Symmetric)
	same := pair{a, transposed(a), x, x.T()}
	s.multiplied(t, "symmetric", []pair{same, same, same}, v)
}

// testMatMulsErrors checks that errors stay with their items.
func testMatMulsErrors(t *testing.T, s *suite) {
	v := variety{"fp32", gpk.Float32, []matmul.Option{gpk.FullPrecision}, 3e-6}
	sound := func() pair {
		p := pair{a: s.random(v.in, 12, 20), b: s.random(v.in, 20, 7)}
		p.x, p.y = p.a.array(), p.b.array()
		return p
	}
	freed := sound().x
	noError(t, gpk.Eval(freed))
	freed.Free()
	far := gpk.Take(sound().x, gpk.FromSlice([]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 99}), 0)
	started := gpk.Take(sound().x, gpk.FromSlice([]int32{0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, -99}), 0)
	_ = gpk.Eval(started)
	bad := []struct {
		name string
		x, y *gpk.Array
		want error
	}{
		{"shapes", sound().x, sound().x, gpk.ErrShape},
		{"types", sound().x, sound().y.Cast(gpk.Float64), gpk.ErrDType},
		{"freed", freed, sound().y, gpk.ErrFreed},
		{"failed", sound().x, sound().y.Reshape(3), gpk.ErrShape},
		{"an index", far, sound().y, gpk.ErrShape},
		{"an index, started", started, sound().y, gpk.ErrShape},
		{"no axis", gpk.Ones(gpk.Float32), gpk.Ones(gpk.Float32), gpk.ErrShape},
		{"nil", nil, sound().y, gpk.ErrShape},
		{"zero", &gpk.Array{}, sound().y, gpk.ErrShape},
	}
	var xs, ys []*gpk.Array
	var pairs []pair
	for _, e := range bad {
		p := sound()
		pairs = append(pairs, p)
		xs, ys = append(xs, p.x, e.x), append(ys, p.y, e.y)
	}
	xs = append(xs, sound().x)
	out := batch.MatMuls(xs, ys, v.opts...)
	for i, name := range map[int]string{1: "item 1", 17: "item 17", len(ys): fmt.Sprint("item ", len(ys))} {
		if err := out[i].Err(); err == nil || !strings.Contains(err.Error(), "gpktest/matmuls.go:") || !strings.Contains(err.Error(), name) {
			t.Errorf("the error does not say which item of which line: %v", err)
		}
	}
	for i, e := range bad {
		s.checkItem(t, "beside "+e.name, out[2*i], pairs[i], v)
		if _, err := fetch(out[2*i+1]); !errors.Is(err, e.want) {
			t.Errorf("%s: %v, want %v", e.name, err, e.want)
		}
	}
	if len(out) != len(xs) || !errors.Is(out[len(ys)].Err(), gpk.ErrShape) {
		t.Errorf("an item without a partner: %v", out[len(ys):])
	}
	if out := batch.MatMuls(nil, nil); len(out) != 0 {
		t.Errorf("nothing has %d products", len(out))
	}
}

// testMatMulsMemory checks that the memory of stacks is freed, and that products are computed
// one by one if there is too little memory to stack their operands.
func testMatMulsMemory(t *testing.T, s *suite) {
	v := variety{"fp32", gpk.Float32, []matmul.Option{gpk.FullPrecision}, 3e-6}
	var pairs []pair
	for range 4 {
		p := pair{a: s.random(v.in, 512, 256), b: s.random(v.in, 256, 512)}
		p.x, p.y = p.a.array(), p.b.array()
		noError(t, gpk.Eval(p.x, p.y))
		pairs = append(pairs, p)
	}
	settle(t, s)
	before := s.dev.Pool().InUse
	xs, ys := make([]*gpk.Array, 4), make([]*gpk.Array, 4)
	for i, p := range pairs {
		xs[i], ys[i] = p.x, p.y
	}
	out := batch.MatMuls(xs, ys, v.opts...)
	if more, results := s.dev.Pool().InUse-before, int64(4*512*512*4); more < results || more >= results+1<<20 {
		t.Errorf("%d bytes are in use for results of %d", more, results)
	}
	out[0].Free() // frees all four results, which share a buffer
	if _, err := fetch(out[3]); !errors.Is(err, gpk.ErrFreed) {
		t.Errorf("another result of a group that was freed: %v", err)
	}
	if now := s.dev.Pool().InUse; now > before {
		t.Errorf("%d bytes are in use afterwards, %d before", now, before)
	}
	if s.dev.Kind() != device.CPU {
		return // the workspace of a GPU's products is not known here, so no limit can be chosen
	}
	old := s.dev.Pool().Limit
	s.dev.SetMemoryLimit(before + 5<<20) // 4 MB of results, 2 MB of each stack
	defer s.dev.SetMemoryLimit(old)
	for i, c := range batch.MatMuls(xs, ys, v.opts...) {
		noError(t, c.Err())
		got := read(t, c)
		s.check(t, fmt.Sprint("alone, item ", i), got, pairs[i].a, pairs[i].b, v, epilogue{})
	}
}

// testMatMulsGraph records products and replays them on other elements.
func testMatMulsGraph(t *testing.T, s *suite) {
	v := variety{"fp32", gpk.Float32, []matmul.Option{gpk.FullPrecision}, 3e-6}
	var in []*gpk.Array
	for range 6 {
		in = append(in, s.random(v.in, 24, 24).array())
	}
	g, err := gpk.Capture(in, func(in []*gpk.Array) []*gpk.Array { return batch.MatMuls(in[:3], in[3:], v.opts...) })
	if err != nil {
		t.Fatal(err)
	}
	defer g.Free()
	for range 2 {
		pairs := make([]pair, 3)
		for i := range pairs {
			pairs[i].a, pairs[i].b = s.random(v.in, 24, 24), s.random(v.in, 24, 24)
			noError(t, in[i].CopyFrom(pairs[i].a.array()))
			noError(t, in[3+i].CopyFrom(pairs[i].b.array()))
		}
		noError(t, g.Replay())
		for i, c := range g.Outputs() {
			s.checkItem(t, fmt.Sprint("replayed, item ", i), c, pairs[i], v)
		}
	}
}
