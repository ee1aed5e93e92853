package gpktest

import (
	"context"
	"fmt"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/internal/devicetest"

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

// preciseGELU returns x/2 (1 + erf(x/sqrt 2)) with many digits; in float64 the sum cancels
// for x far below 0.
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

// broadcastAt returns the position of an index in an array that is broadcast from a shape.
func broadcastAt(shape, ix []int) int {
	ix = slices.Clone(ix[len(ix)-len(shape):])
	for d, n := range shape {
		if n == 1 {
			ix[d] = 0
		}
	}
	return at(shape, ix)
}

// gatedErrors checks the errors of a gated layer for invalid arguments, and what Explain
// says about it.
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
	noError(t, gpk.Eval(gated(x, x)))
	noError(t, devicetest.AwaitCompiled(s.dev, context.Background()))
	if text := gated(x, x).Explain(); !strings.Contains(text, op+": one fused kernel for 2 operations") {
		t.Errorf("Explain says %q", text)
	}
	noError(t, gpk.Eval(x))
	s.leavesNothing(t, op, func(c *gpk.Scope) []*gpk.Array { return []*gpk.Array{gated(c.In(x), x)} })
}
