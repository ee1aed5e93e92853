package gpktest

import (
	"context"
	"flag"
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/devicetest"
	"github.com/gpk-go/gpk/ops"
)

// foldings is the number of random chains with a reduction at the end; 0 means 60. A GPU
// compiles a kernel for each.
var foldings = flag.Int("gpktest.folds", 0, "how many chains with a reduction are tried; 0: 60, and 15 in a short run")

// folded is a chain with a reduction at its end.
type folded struct {
	op    expr.Op
	axes  []int
	in    []*gpk.Array
	chain func(in []*gpk.Array, tell func(*gpk.Array) *gpk.Array) *gpk.Array
	fusible
}

// fusible is a computation that a GPU may fuse.
type fusible struct {
	what string
	f    func(tell func(*gpk.Array) *gpk.Array) *gpk.Array // f calls tell with every intermediate result
	one  bool                                              // a GPU has one kernel for it
	want tensor                                            // the result of single operations
}

// open returns the computation, not yet started.
func (c *fusible) open() *gpk.Array {
	return c.f(func(a *gpk.Array) *gpk.Array { return a })
}

// planned returns the result of open, and checks the plan once the kernel is compiled.
func (c *fusible) planned(t *testing.T, s *suite) *gpk.Array {
	t.Helper()
	a := c.open()
	if plan := a.Explain(); s.dev.Kind() == device.CUDA && c.one && !strings.Contains(plan, "one fused kernel") {
		t.Errorf("%s: %s", c.what, plan)
	}
	return a
}

// compileAll returns once the kernels of all cases are compiled.
func compileAll[C interface{ open() *gpk.Array }](t *testing.T, s *suite, cases []C) {
	t.Helper()
	for _, c := range cases {
		evaluate(t, c.open())
	}
	if err := devicetest.AwaitCompiled(s.dev, context.Background()); err != nil {
		t.Fatal(err)
	}
}

// foldShapes lists shapes and the axes to reduce: rows, columns, all axes, and other
// combinations, so that every branch of the reduction kernels is taken.
var foldShapes = []struct{ shape, axes []int }{
	{[]int{33, 64}, []int{1}},
	{[]int{1100, 7}, []int{1}},
	{[]int{257, 1024}, []int{1}},
	{[]int{5, 1025}, []int{1}},
	{[]int{3, 70001}, []int{1}},
	{[]int{2, 65536}, []int{1}},
	{[]int{1027, 130}, []int{0}},
	{[]int{1027, 131}, []int{0}},
	{[]int{20000, 12}, []int{0}},
	{[]int{7, 2049}, []int{0}},
	{[]int{9, 4100}, []int{0}},
	{[]int{40, 8192}, []int{0}},
	{[]int{300, 24}, []int{0, 1}},
	{[]int{100003}, []int{0}},
	{[]int{1 << 17}, []int{0}},
	{[]int{700, 3}, []int{0, 1}},
	{[]int{6, 130, 5}, []int{1}},
	{[]int{6, 130, 8}, []int{1}},
	{[]int{4, 9, 5, 16}, []int{1, 3}},
	{[]int{4, 9, 5, 16}, []int{0, 2}},
	{[]int{12, 17, 64}, []int{0}},
	{[]int{12, 17, 64}, []int{2}},
	{[]int{2, 3}, []int{1}},
	{[]int{1, 1}, []int{0, 1}},
}

// testFolds compares reductions with the steps before them, which are one kernel on
// a GPU, with the single operations, and these with float64: every reduction, type
// and walk of a kernel, in random pairs.
func testFolds(t *testing.T, s *suite) {
	n := *foldings
	if n == 0 {
		if n = 60; quick() {
			n = 15
		}
	}
	var rows []*ops.Row
	for i := range ops.Table {
		if row := &ops.Table[i]; row.Kind == ops.Reduction {
			rows = append(rows, row)
		}
	}
	var cases []*folded
	for i := range n {
		row := rows[(i+s.rng.IntN(2)*5)%len(rows)]
		c := s.folded(t, row, foldShapes[(i+s.rng.IntN(len(foldShapes)))%len(foldShapes)])
		if c != nil {
			cases = append(cases, c)
		}
	}
	compileAll(t, s, cases)
	for _, c := range cases {
		a := c.planned(t, s)
		if got := evaluate(t, a); differ(got, c.want) >= 0 {
			k := differ(got, c.want)
			t.Errorf("%s: element %d of %d is %v, of single operations %v", c.what, k, max(len(got.ints), len(got.values)), got.at(k), c.want.at(k))
		}
	}
	t.Logf("%d chains", len(cases))
}

// reduce applies the chain and its reduction.
func (c *folded) reduce(tell func(*gpk.Array) *gpk.Array) *gpk.Array {
	a := c.chain(c.in, tell)
	if c.op == expr.Sum {
		return a.Sum(c.axes...)
	}
	return reductionMethods[c.op](a, c.axes...)
}

// folded makes a case of a reduction with a random type and random operands. It returns
// nil if the reduction does not support the shape.
func (s *suite) folded(t *testing.T, row *ops.Row, of struct{ shape, axes []int }) *folded {
	if (row.Op == expr.ArgMax || row.Op == expr.ArgMin) && len(of.axes) != 1 {
		return nil
	}
	dt := row.Types[s.rng.IntN(len(row.Types))]
	n := len(of.shape)
	line := slices.Clone(of.shape)
	line[n-1] = 1
	x := s.random(dt, of.shape...)
	bounded := row.Op != expr.Prod || size(of.shape) <= 2500 // longer products leave the range
	if k := len(x.values); k > 0 && s.rng.IntN(4) == 0 {
		x.values[s.rng.IntN(k)] = complex(math.NaN(), 0)
		bounded = false
	}
	c := &folded{op: row.Op, axes: of.axes, fusible: fusible{one: row.Op != expr.Var}}
	c.f = c.reduce
	how := s.rng.IntN(4)
	switch how {
	case 0: // begins where no vector does
		c.in = append(c.in, gpk.Concat(0, poison(dt, 3), x.array().Reshape(-1)).Slice(0, 3, 3+size(of.shape)).Reshape(of.shape...))
	case 1: // every other element
		c.in = append(c.in, x.array().Repeat(2, n-1).Slice(n-1, 0, 2*of.shape[n-1], 2))
	default:
		c.in = append(c.in, x.array())
	}
	c.in = append(c.in, s.random(dt, of.shape[n-1]).array(), s.random(dt, line...).array(), s.random(dt, 1).array())
	c.chain = s.foldSteps(dt)
	if err := gpk.Eval(c.in...); err != nil {
		t.Fatal(err)
	}
	c.what = fmt.Sprintf("%v over %v, operand %d", name(row.Op, dt, of.shape), of.axes, how)
	var terms *gpk.Array
	stored := func(a *gpk.Array) *gpk.Array {
		if err := gpk.Eval(a); err != nil {
			t.Fatalf("%s: %v", c.what, err)
		}
		terms = a
		return a
	}
	c.want = evaluate(t, c.reduce(stored))
	if bounded { // the bits are compared all the same
		s.reduced(t, c.what, row.Op, c.want, read(t, terms), of.axes)
	}
	return c
}

// foldSteps returns a random chain whose last step has type dt. It calls tell with the
// result of every step.
func (s *suite) foldSteps(dt gpk.DType) func(in []*gpk.Array, tell func(*gpk.Array) *gpk.Array) *gpk.Array {
	type telling = func(*gpk.Array) *gpk.Array
	k := s.rng.IntN(3)
	switch {
	case dt == gpk.Bool:
		return func(in []*gpk.Array, tell telling) *gpk.Array {
			return tell(tell(in[0].And(in[1])).Or(tell(in[2].And(in[3]))))
		}
	case dt.IsComplex():
		return func(in []*gpk.Array, tell telling) *gpk.Array {
			return tell(tell(tell(in[0].Mul(0.5)).Add(in[1])).Sub(in[2]))
		}
	case exact(dt):
		return func(in []*gpk.Array, tell telling) *gpk.Array {
			if k == 0 {
				return tell(tell(in[0].Maximum(in[1])).Add(in[2]))
			}
			return tell(gpk.Where(tell(in[0].Gt(in[1])), in[2], tell(in[3].Sub(in[0]))))
		}
	case k == 0: // intermediate results of other types
		return func(in []*gpk.Array, tell telling) *gpk.Array {
			return tell(tell(tell(in[0].Cast(gpk.Float64)).Add(tell(in[1].Cast(gpk.Float64)))).Cast(dt))
		}
	case k == 1:
		return func(in []*gpk.Array, tell telling) *gpk.Array {
			return tell(tell(tell(in[0].Mul(in[1])).Sub(in[2])).Abs())
		}
	}
	return func(in []*gpk.Array, tell telling) *gpk.Array {
		return tell(tell(in[0].Sub(in[3])).Mul(1.0 / 1024)) // tiny: products stay in range
	}
}

// testFoldedLines compares softmax and the norms of a chain with the single operations.
// On a GPU the chain and the norm are one kernel, if lines are whole vectors and not too
// long. The result goes to new memory or to the chain's own operand.
func testFoldedLines(t *testing.T, s *suite) {
	methods := []struct {
		name string
		f    func(x, gamma *gpk.Array) *gpk.Array
	}{
		{"Softmax", func(x, _ *gpk.Array) *gpk.Array { return x.Softmax(-1) }},
		{"LogSoftmax", func(x, _ *gpk.Array) *gpk.Array { return x.LogSoftmax(-1) }},
		{"LayerNorm", func(x, gamma *gpk.Array) *gpk.Array { return gpk.LayerNorm(x, gamma, gamma, 1e-5) }},
		{"RMSNorm", func(x, gamma *gpk.Array) *gpk.Array { return gpk.RMSNorm(x, gamma, 1e-6) }},
		{"RMSNorm without weights", func(x, _ *gpk.Array) *gpk.Array { return gpk.RMSNorm(x, nil, 1e-6) }},
	}
	shapes := [][]int{{33, 64}, {600, 16}, {7, 1000}, {9, 1003}, {70, 2048}, {5, 8192}, {3, 16384}, {2, 40000}, {4, 6, 512}, {4096}}
	type lines struct {
		fusible
		x *gpk.Array // an operand of the chain
	}
	var cases []*lines
	for range rounds(2, 1) {
		for i, m := range methods {
			for j, dt := range []gpk.DType{gpk.Float32, gpk.Float64, gpk.Float16, gpk.BFloat16} {
				shape := shapes[(3*i+j+s.rng.IntN(len(shapes)))%len(shapes)]
				n := shape[len(shape)-1]
				line := slices.Clone(shape)
				line[len(line)-1] = 1
				in := []*gpk.Array{s.random(dt, shape...).array(), s.random(dt, n).array(), s.random(dt, line...).array(), s.random(dt, 1).array()}
				gamma := s.random(dt, n).array()
				steps := s.foldSteps(dt)
				vector := 16 / dt.Size()
				c := &lines{x: in[0], fusible: fusible{
					what: name(m.name, dt, shape),
					f:    func(tell func(*gpk.Array) *gpk.Array) *gpk.Array { return m.f(steps(in, tell), gamma) },
					one:  n%vector == 0 && n <= 4096*vector,
				}}
				if err := gpk.Eval(append(slices.Clone(in), gamma)...); err != nil {
					t.Fatal(err)
				}
				c.want = evaluate(t, c.f(func(a *gpk.Array) *gpk.Array {
					if err := gpk.Eval(a); err != nil {
						t.Fatalf("%s: %v", c.what, err)
					}
					return a
				}))
				cases = append(cases, c)
			}
		}
	}
	compileAll(t, s, cases)
	for _, c := range cases {
		a := c.planned(t, s)
		for what, got := range map[string]tensor{"": evaluate(t, a), ", in place": func() tensor {
			if err := gpk.Into(c.x, c.open()); err != nil {
				t.Fatal(err)
			}
			return read(t, c.x)
		}()} {
			if k := differ(got, c.want); k >= 0 {
				t.Errorf("%s%s: element %d is %v, of single operations %v", c.what, what, k, got.at(k), c.want.at(k))
			}
		}
	}
	t.Logf("%d chains", len(cases))
}

// testSum adds over every set of axes of several shapes and layouts.
func testSum(t *testing.T, s *suite) {
	row := ops.Lookup(expr.Sum)
	for _, dt := range row.Types {
		for _, shape := range [][]int{{}, {0}, {1}, {1000}, {33, 70}, {0, 5}, {5, 0}, {3, 40, 17}, {2, 3, 4, 5}, {4097, 3}, {3, 4097}} {
			for mask := range 1 << len(shape) {
				var axes []int
				for d := range shape {
					if mask>>d&1 == 1 {
						axes = append(axes, d)
					}
				}
				if len(axes) == 0 && len(shape) > 0 {
					continue
				}
				x := s.random(dt, shape...)
				a := x.array()
				if len(shape) >= 2 && size(shape) > 0 {
					a = arrangements[s.rng.IntN(len(arrangements))].make(s, x)
				}
				s.sumNear(t, name(dt, shape, axes), evaluate(t, a.Sum(axes...)), x, axes)
			}
		}
	}
	// A long sum of one sign, for which a running float32 total would be off by 1e-3;
	// dense and strided.
	n := 100_000_000
	if quick() {
		n = 1_000_000
	}
	data := make([]float32, n)
	var want float64
	for i := range data {
		data[i] = s.rng.Float32()
		want += float64(data[i])
	}
	a := gpk.FromSlice(data, n/1000, 1000)
	defer a.Free()
	for what, sum := range map[string]*gpk.Array{"": a.Sum(), ", transposed": a.T().Sum(), ", by columns": a.Sum(0).Sum(), ", by rows": a.Sum(1).Sum()} {
		got, err := gpk.Item[float32](sum)
		if err != nil {
			t.Fatal(err)
		}
		e := math.Abs(float64(got)-want) / want
		t.Logf("the sum of %d values%s is off by %.3g", n, what, e)
		if !(e < 1e-6) {
			t.Errorf("the sum of %d values%s is off by %.3g", n, what, e)
		}
	}
}

func (s *suite) sumNear(t *testing.T, what string, got, x tensor, axes []int) {
	t.Helper()
	kept := []int{}
	for d, n := range x.shape {
		if !contains(axes, d) {
			kept = append(kept, n)
		}
	}
	if len(axes) == 0 {
		kept = []int{}
	}
	if fmt.Sprint(got.shape) != fmt.Sprint(kept) {
		t.Fatalf("%s: shape %v, want %v", what, got.shape, kept)
	}
	values, magnitudes, ints := make([]complex128, size(kept)), make([]float64, size(kept)), make([]int64, size(kept))
	i := 0
	index(x.shape, func(ix []int) {
		p := 0
		for d, n := range x.shape {
			if !contains(axes, d) && len(axes) > 0 {
				p = p*n + ix[d]
			}
		}
		if exact(x.dt) {
			ints[p] += x.ints[i]
		} else {
			values[p] += x.values[i]
			magnitudes[p] += cmplx.Abs(x.values[i])
		}
		i++
	})
	if exact(x.dt) {
		sameInts(t, what, got.ints, ints)
		return
	}
	acc := epsilon[gpk.Float32]
	if x.dt == gpk.Float64 || x.dt == gpk.Complex128 {
		acc = epsilon[gpk.Float64]
	}
	for j, want := range values {
		bound := epsilon[got.dt]*cmplx.Abs(want) + 24*acc*magnitudes[j] + smallest(got.dt)
		if d := cmplx.Abs(got.values[j] - want); !(d <= bound) {
			t.Fatalf("%s: element %d is %v, want %v: off by %.3g, bound %.3g", what, j, got.values[j], want, d, bound)
		}
	}
}

func contains(list []int, v int) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}
