package gpktest

import (
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/bigmath"
)

// gatedLayers are SwiGLU and GEGLU, with the operations and the reference of each.
var gatedLayers = []struct {
	name       string
	gated      func(gate, up *gpk.Array) *gpk.Array
	activation func(*gpk.Array) *gpk.Array
	reference  func(float64) float64
}{
	{"SwiGLU", gpk.SwiGLU, gpk.SiLU, func(x float64) float64 { return x / (1 + math.Exp(-x)) }},
	{"GEGLU", gpk.GEGLU, gpk.GELU, func(x float64) float64 { return x * math.Erfc(-x/math.Sqrt2) / 2 }},
}

// preciseGELU is x/2 (1 + erf(x/sqrt 2)) of many digits: float64 loses some where x is far
// below 0.
func preciseGELU(x float64) float64 {
	erf := bigmath.Erf(bigmath.Quo(bigmath.Of(x), bigmath.New().Sqrt(bigmath.Of(2))))
	v, _ := bigmath.Mul(bigmath.Of(x/2), bigmath.Add(bigmath.Of(1), erf)).Float64()
	return v
}

// testGated compares gated layers with their two operations, bit by bit, and with a
// reference in float64.
//
// An activation is at most five units of the last place off, of half types about a half
// (docs/accuracy.md); a unit of the activation is up to two of the product. The product is
// rounded once more.
func testGated(t *testing.T, s *suite) {
	for _, layer := range gatedLayers {
		for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64, gpk.Float16, gpk.BFloat16} {
			units := 11.0
			if dt.IsHalf() {
				units = 2
			}
			for _, shape := range [][2][]int{
				{{}, {}},
				{{0}, {0}},
				{{1}, {1}},
				{{7, 33}, {7, 33}},
				{{3, 0, 5}, {3, 0, 5}},
				{{2, 5, 129}, {2, 5, 129}},
				{{7, 1}, {7, 33}},
				{{33}, {7, 33}},
				{{7, 33}, {1}},
			} {
				gate, up := s.random(dt, shape[0]...), s.random(dt, shape[1]...)
				for i := range gate.values {
					gate.values[i] = round(dt, gate.values[i]*3)
				}
				a, b := gate.array(), up.array()
				if len(shape[0]) > 1 && s.rng.IntN(2) == 0 {
					a, b = s.inside(gate, 1, 2), backwards(b, 0).Contiguous()
					b = backwards(b, 0)
				}
				what := fmt.Sprint(layer.name, dt, shape)
				got := evaluate(t, layer.gated(a, b))
				equal(t, what, got, evaluate(t, layer.activation(a).Mul(b)))
				reference := layer.reference
				if dt == gpk.Float64 && layer.name == "GEGLU" {
					reference = preciseGELU
				}
				wide := slices.Clone(got.shape)
				index(wide, func(ix []int) {
					g := real(gate.values[broadcastAt(shape[0], ix)])
					u := real(up.values[broadcastAt(shape[1], ix)])
					want := reference(g) * u
					bound := units*spacing(dt, want) + 6*math.Abs(u)*spacing(dt, 0)
					if v := real(got.values[at(wide, ix)]); !(math.Abs(v-want) <= bound) {
						t.Errorf("%s: element %v is %v, want %v", what, ix, v, want)
					}
				})
			}
			special := []complex128{complex(math.NaN(), 0), complex(math.Inf(1), 0), complex(math.Inf(-1), 0), 0, 1}
			x, y := tensor{dt: dt, shape: []int{5, 5}}, tensor{dt: dt, shape: []int{5, 5}}
			for i := range 25 {
				x.values, y.values = append(x.values, special[i/5]), append(y.values, special[i%5])
			}
			got := evaluate(t, layer.gated(x.array(), y.array()))
			equal(t, layer.name+" not finite", got, evaluate(t, layer.activation(x.array()).Mul(y.array())))
			if v := real(got.values[5+1]); !math.IsInf(v, 1) {
				t.Errorf("%s %v of infinities is %v", layer.name, dt, v)
			}
		}
		s.gatedErrors(t, layer.name, layer.gated)
	}
}

// broadcastAt is the place of an index in an array of a shape that is broadcast to it.
func broadcastAt(shape, ix []int) int {
	ix = slices.Clone(ix[len(ix)-len(shape):])
	for d, n := range shape {
		if n == 1 {
			ix[d] = 0
		}
	}
	return at(shape, ix)
}

// gatedErrors gives a gated layer what it must refuse, and checks what it says of itself.
func (s *suite) gatedErrors(t *testing.T, op string, gated func(gate, up *gpk.Array) *gpk.Array) {
	x := gpk.Ones(gpk.Float32, 2, 3)
	for what, c := range map[string]struct {
		gate, up *gpk.Array
		want     error
	}{
		"shapes":   {x, gpk.Ones(gpk.Float32, 2), gpk.ErrShape},
		"types":    {x, x.Cast(gpk.Float16), gpk.ErrDType},
		"integers": {x.Cast(gpk.Int32), x.Cast(gpk.Int32), gpk.ErrDType},
		"complex":  {x.Cast(gpk.Complex64), x.Cast(gpk.Complex64), gpk.ErrDType},
		"nil":      {nil, x, gpk.ErrShape},
		"nil up":   {x, nil, gpk.ErrShape},
		"packed":   {x, gpk.Pack(x), gpk.ErrUnsupported},
	} {
		refusedBy(t, op+" of "+what, gated(c.gate, c.up).Err(), c.want, op, "gated.go:")
	}
	if text := gated(x, x).Explain(); !strings.Contains(text, op+": one fused kernel for 2 operations") {
		t.Errorf("Explain says %q", text)
	}
	noError(t, gpk.Eval(x))
	s.leavesNothing(t, op, func(c *gpk.Scope) []*gpk.Array { return []*gpk.Array{gated(c.In(x), x)} })
}

// testNormResidual compares RMSNormResidual with its two operations, bit by bit, and with a
// reference in float64.
func testNormResidual(t *testing.T, s *suite) {
	for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64, gpk.Float16, gpk.BFloat16} {
		for _, shape := range [][]int{{1}, {7}, {0}, {3, 0}, {0, 5}, {4, 33}, {2, 3, 128}, {2, 2, 3, 17}, {300, 130}, {3, 4099}} {
			for _, arrangement := range []string{"dense", "strided", "backwards", "turned"} {
				x, r, gamma := s.random(dt, shape...), s.random(dt, shape...), s.random(dt, shape[len(shape)-1])
				a, b, g := x.array(), r.array(), gamma.array()
				switch n := len(shape); {
				case n < 2:
				case arrangement == "strided":
					a, b = s.inside(x, 1, 2), s.inside(r, 0, 3)
					g = gpk.Stack(1, g, g.Neg()).Slice(1, 0, 1).Squeeze(1)
				case arrangement == "backwards":
					a = backwards(backwards(reversed(x).array(), n-1), n-2)
				case arrangement == "turned":
					b = r.array().T().Contiguous().T()
				}
				if s.rng.IntN(4) == 0 {
					g = nil
				}
				what := fmt.Sprint("RMSNormResidual ", dt, shape, arrangement, " gamma ", g != nil)
				const eps = 1e-5
				sum, normed := gpk.RMSNormResidual(a, b, g, eps)
				plain := a.Add(b)
				equal(t, what+", sum", read(t, sum), read(t, plain))
				noError(t, gpk.Eval(plain)) // stored: a pending one would be a step of the norm
				got := read(t, normed)
				equal(t, what+", normed", got, read(t, gpk.RMSNorm(plain, g, eps)))
				checkNormResidual(t, what, x, r, gamma, g != nil, eps, got)
				sum.Free() // each result has memory of its own
				equal(t, what+", after the sum was freed", read(t, normed), got)
			}
		}
	}
	s.normResidualForms(t)
}

// checkNormResidual compares with a reference in float64, on sums that are rounded to the
// type.
func checkNormResidual(t *testing.T, what string, x, r, gamma tensor, weighted bool, eps float64, got tensor) {
	t.Helper()
	n := x.shape[len(x.shape)-1]
	unit := 0x1p-22
	if x.dt == gpk.Float64 {
		unit = 0x1p-50
	}
	for line := range len(x.values) / max(n, 1) {
		sums, total := make([]float64, n), bigmath.New()
		for i := range sums {
			sums[i] = real(round(x.dt, x.values[line*n+i]+r.values[line*n+i]))
			total.Add(total, bigmath.Mul(bigmath.Of(sums[i]), bigmath.Of(sums[i])))
		}
		squares, _ := total.Float64()
		for i, v := range sums {
			want := v / math.Sqrt(squares/float64(n)+eps)
			if weighted {
				want *= real(gamma.values[i])
			}
			g := real(got.values[line*n+i])
			if bound := spacing(x.dt, want)/2 + unit*math.Abs(want) + spacing(x.dt, 0); !(math.Abs(g-want) <= bound) {
				t.Fatalf("%s: line %d, element %d is %v, want %v", what, line, i, g, want)
			}
		}
	}
}

// normResidualForms checks values that are not finite, errors, pending operands, graphs and
// scopes.
func (s *suite) normResidualForms(t *testing.T) {
	x := tensor{dt: gpk.Float32, shape: []int{3, 3}}
	for _, v := range []float64{math.NaN(), 1, 2, math.Inf(1), 1, 2, math.Inf(1), math.Inf(-1), 0} {
		x.values = append(x.values, complex(v, 0))
	}
	a := x.array()
	sum, normed := gpk.RMSNormResidual(a, a.Mul(2), nil, 0) // a pending residual
	plain := a.Add(a.Mul(2))
	noError(t, gpk.Eval(plain))
	equal(t, "not finite, sum", read(t, sum), read(t, plain))
	equal(t, "not finite, normed", read(t, normed), read(t, gpk.RMSNorm(plain, nil, 0)))

	y, g := s.random(gpk.Float32, 5, 8).array(), s.random(gpk.Float32, 8).array()
	f := func(x *gpk.Array) []*gpk.Array {
		sum, normed := gpk.RMSNormResidual(x, y.Mul(0.5), g, 1e-6)
		again, _ := gpk.RMSNormResidual(sum, normed, nil, 1e-6)
		return []*gpk.Array{sum, normed, again}
	}
	in := s.random(gpk.Float32, 5, 8).array()
	graph, err := gpk.Capture([]*gpk.Array{in}, func(in []*gpk.Array) []*gpk.Array { return f(in[0]) })
	noError(t, err)
	defer graph.Free()
	for range 3 {
		noError(t, graph.Replay())
		for i, want := range f(in) {
			equal(t, fmt.Sprint("replayed, result ", i), read(t, graph.Outputs()[i]), read(t, want))
		}
		noError(t, in.CopyFrom(s.random(gpk.Float32, 5, 8).array()))
		noError(t, g.CopyFrom(s.random(gpk.Float32, 8).array()))
	}

	row := gpk.Ones(gpk.Float32, 8)
	for what, c := range map[string]struct {
		x, residual, gamma *gpk.Array
		want               error
	}{
		"shapes":            {y, row, g, gpk.ErrShape},
		"no axes":           {row.Sum(), row.Sum(), nil, gpk.ErrShape},
		"gamma too short":   {y, y, gpk.Ones(gpk.Float32, 7), gpk.ErrShape},
		"gamma of two axes": {y, y, y, gpk.ErrShape},
		"types":             {y, y.Cast(gpk.Float64), g, gpk.ErrDType},
		"gamma of another":  {y, y, g.Cast(gpk.Float64), gpk.ErrDType},
		"integers":          {y.Cast(gpk.Int32), y.Cast(gpk.Int32), nil, gpk.ErrDType},
		"nil":               {nil, y, g, gpk.ErrShape},
		"a nil residual":    {y, nil, g, gpk.ErrShape},
		"a packed residual": {y, gpk.Pack(y), g, gpk.ErrUnsupported},
	} {
		sum, normed := gpk.RMSNormResidual(c.x, c.residual, c.gamma, 1e-6)
		refusedBy(t, "RMSNormResidual, sum: "+what, sum.Err(), c.want, "RMSNormResidual", "gated.go:")
		refusedBy(t, "RMSNormResidual, normed: "+what, normed.Err(), c.want, "RMSNormResidual", "gated.go:")
	}
	if text := normed.Explain(); !strings.Contains(text, "RMSNormResidual: ") {
		t.Errorf("Explain says %q", text)
	}
	s.leavesNothing(t, "RMSNormResidual", func(c *gpk.Scope) []*gpk.Array {
		sum, normed := gpk.RMSNormResidual(c.In(y), y, g, 1e-6)
		return []*gpk.Array{sum, normed}
	})
}
