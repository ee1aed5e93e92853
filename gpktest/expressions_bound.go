package gpktest

import (
	"math"
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// bounded is an array beside what its elements are in float64, and how far the
// two may be apart.
type bounded struct {
	a        *gpk.Array
	v, error []float64
}

// chained are operations whose error follows from those of their operands: f is the
// value, e the error before the result is rounded.
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
