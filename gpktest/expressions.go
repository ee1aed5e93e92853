package gpktest

import (
	"context"
	"errors"
	"flag"
	"math"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// expressions is the number of random expressions. A GPU compiles kernels for each.
var expressions = flag.Int("gpktest.expressions", 0, "how many random expressions are tried; 0: 5,000 on the CPU, 300 on a GPU, and 60 in a short run")

// testExpressions runs random programs twice: with every operation started on its line,
// and with every operation pending for as long as possible. All results agree bit for
// bit. Only an intermediate result whose operand was freed may be ErrFreed.
func testExpressions(t *testing.T, s *suite) {
	n := *expressions
	if n == 0 {
		switch n = 300; {
		case quick():
			n = 60
		case s.dev.Kind() == device.CPU:
			n = 5000
		}
	}
	compared, lost := 0, 0
	for range n {
		seed := s.rng.Uint64()
		eager := newScript(seed)
		eager.eager = true
		eager.run()
		lazy := newScript(seed)
		lazy.kinds = eager.kinds
		lazy.run()
		if eager.err != nil || lazy.err != nil {
			t.Fatalf("seed %#x: %v, eagerly %v\n%s", seed, lazy.err, eager.err, lazy.text)
		}
		for i, got := range lazy.results {
			want := eager.results[i]
			switch {
			case want.err != nil:
				t.Fatalf("seed %#x: result %d, eagerly: %v\n%s", seed, i, want.err, eager.text)
			case got.err != nil && got.mayBeLost && namesBothLines(got.err):
				lost++
			case got.err != nil:
				t.Fatalf("seed %#x: result %d: %v\n%s", seed, i, got.err, lazy.text)
			default:
				compared++
				if k := differ(got.value, want.value); k >= 0 {
					t.Fatalf("seed %#x: result %d, %v %v, differs at element %d: %v, eagerly %v\n%s\n%s", seed, i, got.value.dt, got.value.shape, k, got.value.at(k), want.value.at(k), got.plan, lazy.text)
				}
			}
		}
	}
	t.Logf("%d programs, %d results compared, %d of lost intermediate results", n, compared, lost)
	if compared < 2*n {
		t.Errorf("only %d results of %d programs could be compared", compared, n)
	}
}

// namesBothLines reports whether err is an ErrFreed that names the line that made an
// array and the line that freed its operand.
func namesBothLines(err error) bool {
	var oe *gpk.OpError
	return errors.Is(err, gpk.ErrFreed) && errors.As(err, &oe) && oe.Site != "" && strings.Contains(err.Error(), "freed by")
}

// at returns an element for printing.
func (x tensor) at(i int) any {
	if exact(x.dt) {
		return x.ints[i]
	}
	return x.values[i]
}

// differ returns the index of the first element whose bits differ, except for NaN; -1 if
// there is none.
func differ(x, y tensor) int {
	if x.dt != y.dt || !slices.Equal(x.shape, y.shape) {
		return 0
	}
	same := func(a, b float64) bool {
		return math.Float64bits(a) == math.Float64bits(b) || math.IsNaN(a) && math.IsNaN(b)
	}
	for i := range x.ints {
		if x.ints[i] != y.ints[i] {
			return i
		}
	}
	for i := range x.values {
		if !same(real(x.values[i]), real(y.values[i])) || !same(imag(x.values[i]), imag(y.values[i])) {
			return i
		}
	}
	return -1
}

// bounded is an array with the float64 values of its elements and the bound of the
// difference between the two.
type bounded struct {
	a        *gpk.Array
	v, error []float64
}

// chained lists operations whose error follows from those of their operands: f computes
// the value, e the error before the result is rounded.
var chained = []struct {
	name string
	make func(a, b *gpk.Array) *gpk.Array
	f    func(x, y float64) float64
	e    func(x, y, ex, ey float64) float64
}{
	{"Add", func(a, b *gpk.Array) *gpk.Array { return a.Add(b) }, func(x, y float64) float64 { return x + y }, func(_, _, ex, ey float64) float64 { return ex + ey }},
	{"Sub", func(a, b *gpk.Array) *gpk.Array { return a.Sub(b) }, func(x, y float64) float64 { return x - y }, func(_, _, ex, ey float64) float64 { return ex + ey }},
	{"Mul", func(a, b *gpk.Array) *gpk.Array { return a.Mul(b) }, func(x, y float64) float64 { return x * y }, func(x, y, ex, ey float64) float64 { return math.Abs(x)*ey + math.Abs(y)*ex + ex*ey }},
	{"Maximum", func(a, b *gpk.Array) *gpk.Array { return a.Maximum(b) }, math.Max, func(_, _, ex, ey float64) float64 { return max(ex, ey) }},
	{"Minimum", func(a, b *gpk.Array) *gpk.Array { return a.Minimum(b) }, math.Min, func(_, _, ex, ey float64) float64 { return max(ex, ey) }},
	{"Tanh", func(a, _ *gpk.Array) *gpk.Array { return a.Tanh() }, func(x, _ float64) float64 { return math.Tanh(x) }, func(_, _, ex, _ float64) float64 { return ex }},
	{"Sigmoid", func(a, _ *gpk.Array) *gpk.Array { return a.Sigmoid() }, func(x, _ float64) float64 { return 1 / (1 + math.Exp(-x)) }, func(_, _, ex, _ float64) float64 { return ex / 4 }},
	{"Abs", func(a, _ *gpk.Array) *gpk.Array { return a.Abs() }, func(x, _ float64) float64 { return math.Abs(x) }, func(_, _, ex, _ float64) float64 { return ex }},
	{"Clamp", func(a, _ *gpk.Array) *gpk.Array { return a.Clamp(-2, 2) }, func(x, _ float64) float64 { return min(max(x, -2), 2) }, func(_, _, ex, _ float64) float64 { return ex }},
	{"Neg", func(a, _ *gpk.Array) *gpk.Array { return a.Neg() }, func(x, _ float64) float64 { return -x }, func(_, _, ex, _ float64) float64 { return ex }},
}

// testExpressionBounds compares chains of depth 12 with float64: every operation
// adds at most two units in the last place of its result to the error that its
// operands bring.
func testExpressionBounds(t *testing.T, s *suite) {
	n := 200
	if quick() {
		n = 40
	}
	for _, dt := range []gpk.DType{gpk.Float32, gpk.BFloat16, gpk.Float16} {
		unit := map[gpk.DType]float64{gpk.Float32: 0x1p-24, gpk.BFloat16: 0x1p-8, gpk.Float16: 0x1p-11}[dt]
		for range n {
			pool := make([]bounded, 3)
			for i := range pool {
				x := s.random(dt, 17, 61)
				pool[i] = bounded{a: x.array(), v: make([]float64, len(x.values)), error: make([]float64, len(x.values))}
				for k, v := range x.values {
					pool[i].v[k] = real(v)
				}
			}
			steps := ""
			x := pool[0]
			for range 12 {
				op, y := chained[s.rng.IntN(len(chained))], pool[s.rng.IntN(len(pool))]
				z := bounded{a: op.make(x.a, y.a), v: make([]float64, len(x.v)), error: make([]float64, len(x.v))}
				for k := range z.v {
					z.v[k] = op.f(x.v[k], y.v[k])
					e := op.e(x.v[k], y.v[k], x.error[k], y.error[k])
					z.error[k] = e + 4*unit*(math.Abs(z.v[k])+e) + 0x1p-24 // the last: subnormal halves
					if math.Abs(z.v[k]) > 3e4 {                            // may be more than a half holds
						z.error[k] = math.Inf(1)
					}
				}
				x, steps = z, steps+" "+op.name
			}
			got := read(t, x.a)
			for k, v := range got.values {
				if d := math.Abs(real(v) - x.v[k]); !(d <= x.error[k]) && x.error[k] < 1e4 {
					t.Fatalf("%v%s: element %d is %v, in float64 %v: %.3g apart, at most %.3g", dt, steps, k, v, x.v[k], d, x.error[k])
				}
			}
		}
	}
}

// testChains computes chains before their kernels are compiled, when each step is an
// operation of its own, and after. The bits are the same for operands of every class.
func testChains(t *testing.T, s *suite) {
	for _, c := range []struct {
		name string
		f    func(x, row, column, one *gpk.Array) *gpk.Array
	}{
		{"bias GELU", func(x, row, _, _ *gpk.Array) *gpk.Array { return x.Add(row).GELU() }},
		{"four classes", func(x, row, column, one *gpk.Array) *gpk.Array {
			return x.Mul(row).Add(column).Sub(one).Maximum(0).Add(x)
		}},
		{"transposed", func(x, row, _, one *gpk.Array) *gpk.Array { return x.T().Mul(one).T().Mul(0.5).Add(row) }},
		{"strided", func(x, _, _, _ *gpk.Array) *gpk.Array {
			return x.Slice(1, 1, x.Shape()[1]).Mul(2).Add(x.Slice(1, 0, x.Shape()[1]-1))
		}},
		{"cast and choose", func(x, row, _, _ *gpk.Array) *gpk.Array {
			return gpk.Where(x.Gt(row), x.Neg(), row).Cast(gpk.Float32).Exp()
		}},
		{"small integers", func(x, row, _, _ *gpk.Array) *gpk.Array {
			i := x.Mul(50).Cast(gpk.Uint8).Cast(gpk.Int32) // a minimum of three, one of them negated
			return i.Neg().Minimum(row.Mul(50).Cast(gpk.Int32)).Minimum(x.Mul(30).Cast(gpk.Int32)).Cast(gpk.Float32)
		}},
		{"sum of rows", func(x, row, _, _ *gpk.Array) *gpk.Array { return x.Mul(row).Add(1).Sum(1) }},
	} {
		for _, dt := range []gpk.DType{gpk.Float32, gpk.BFloat16, gpk.Float16, gpk.Float64} {
			for _, shape := range [][2]int{{33, 64}, {17, 101}, {300, 24}} {
				m, n := shape[0], shape[1]
				array := func(shape ...int) *gpk.Array {
					size := 1
					for _, k := range shape {
						size *= k
					}
					v := make([]float32, size)
					for i := range v {
						v[i] = float32(s.rng.NormFloat64())
					}
					return gpk.FromSlice(v, shape...).Cast(dt)
				}
				in := []*gpk.Array{array(m, n), array(n), array(m, 1), array(1)}
				if err := gpk.Eval(in...); err != nil {
					t.Fatal(err)
				}
				run := func() []float64 {
					out := c.f(in[0], in[1], in[2], in[3]).Cast(gpk.Float64)
					got, err := gpk.ToSlice[float64](out)
					if err != nil {
						t.Fatalf("%s %v %v: %v", c.name, dt, shape, err)
					}
					return got
				}
				before := run()
				if err := devicetest.AwaitCompiled(s.dev, context.Background()); err != nil {
					t.Fatal(err)
				}
				if after := run(); !slices.Equal(before, after) {
					t.Errorf("%s %v %v: other bits once the kernel is compiled", c.name, dt, shape)
				}
			}
		}
	}
}
