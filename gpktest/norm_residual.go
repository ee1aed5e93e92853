package gpktest

import (
	"fmt"
	"math"
	"strings"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/bigmath"
)

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

	y, g := s.random(gpk.Float32, 5, 8).array(), s.random(gpk.Float32, 8, 2).array().Slice(1, 0, 1).Squeeze(1)
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
		refusedBy(t, "RMSNormResidual, sum: "+what, sum.Err(), c.want, "RMSNormResidual", "norm_residual.go:")
		refusedBy(t, "RMSNormResidual, normed: "+what, normed.Err(), c.want, "RMSNormResidual", "norm_residual.go:")
	}
	if text := normed.Explain(); !strings.Contains(text, "RMSNormResidual: ") {
		t.Errorf("Explain says %q", text)
	}
	s.leavesNothing(t, "RMSNormResidual", func(c *gpk.Scope) []*gpk.Array {
		sum, normed := gpk.RMSNormResidual(c.In(y), y, g, 1e-6)
		return []*gpk.Array{sum, normed}
	})
}
