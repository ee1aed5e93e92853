package gpktest

import (
	"math"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// testKeepDims compares every reduction that keeps its axes with the one that does not, and
// ArgMax of everything with that of the elements in a row.
func testKeepDims(t *testing.T, s *suite) {
	for i := range ops.Table {
		row := &ops.Table[i]
		if row.Kind != ops.Reduction {
			continue
		}
		single := row.Op == expr.ArgMax || row.Op == expr.ArgMin
		for _, dt := range row.Types {
			x := s.random(dt, 3, 1, 4, 5)
			a := s.arranged(x)
			for _, axes := range [][]int{nil, {2}, {-1}, {0, 2}, {3, 1, 0}, {0, 1, 2, 3}} {
				if single && len(axes) > 1 {
					continue
				}
				shape := []int{3, 1, 4, 5}
				for d := range shape {
					if axes == nil || slices.Contains(axes, d) || slices.Contains(axes, d-4) {
						shape[d] = 1
					}
				}
				call := reductionMethods[row.Op]
				if single {
					call = map[expr.Op]func(*gpk.Array, ...int) *gpk.Array{expr.ArgMax: gpk.ArgMax, expr.ArgMin: gpk.ArgMin}[row.Op]
				}
				what := name(row.Op, dt, axes, "KeepDims")
				want := read(t, call(a, axes...))
				equal(t, what, evaluate(t, call(a, append(slices.Clone(axes), gpk.KeepDims)...)), tensor{dt: want.dt, shape: shape, values: want.values, ints: want.ints})
				equal(t, what+" first", evaluate(t, call(a, append([]int{gpk.KeepDims}, axes...)...)), tensor{dt: want.dt, shape: shape, values: want.values, ints: want.ints})
			}
			if single {
				flat := read(t, reductionMethods[row.Op](x.array().Reshape(-1), 0))
				equal(t, name(row.Op, dt, "of everything"), read(t, reductionMethods[row.Op](a, gpk.AllAxes)), flat)
			}
		}
	}
	// In a chain, and with no axes at all.
	x := s.random(gpk.Float32, 7, 9)
	a := s.arranged(x)
	equal(t, "a chain", evaluate(t, a.Sub(a.Max(1, gpk.KeepDims)).Exp()), read(t, a.Sub(a.Max(1).Unsqueeze(1)).Exp()))
	equal(t, "no axes", read(t, a.Sum([]int{}...)), x)
	if shape := gpk.Ones(gpk.Float32).Sum(gpk.KeepDims).Shape(); len(shape) != 0 {
		t.Errorf("a 0-d array with KeepDims has shape %v", shape)
	}
	many := make([]float64, 129) // each at an element
	for i := range many {
		many[i] = float64(i) / 128
	}
	line := gpk.Arange(gpk.Float64, 129).Flip(0)
	equal(t, "129 quantiles", read(t, line.Quantiles(many)), read(t, gpk.Arange(gpk.Float64, 129)))
	if shape := a.Quantiles(nil, 1, gpk.KeepDims).Shape(); !slices.Equal(shape, []int{0, 7, 1}) {
		t.Errorf("no quantiles have shape %v", shape)
	}
	for what, c := range map[string]struct {
		op   string
		got  *gpk.Array
		want error
	}{
		"DDof of Sum":        {"Sum", a.Sum(0, gpk.DDof(1)), gpk.ErrUnsupported},
		"DDof twice":         {"Var", a.Var(gpk.DDof(1), gpk.DDof(1)), gpk.ErrShape},
		"DDof far out":       {"Std", a.Std(gpk.DDof(math.MaxInt)), gpk.ErrShape},
		"axes twice":         {"Mean", a.Mean(0, gpk.KeepDims, -2), gpk.ErrShape},
		"an axis outside":    {"Std", a.Std(2), gpk.ErrShape},
		"ArgMax of two axes": {"ArgMax", gpk.ArgMax(a, 0, 1), gpk.ErrShape},
		"Max of nothing":     {"Max", gpk.Zeros(gpk.Float32, 0).Max(gpk.KeepDims), gpk.ErrShape},
		"Std of integers":    {"Std", gpk.Ones(gpk.Int32, 2).Std(), gpk.ErrDType},
		"Norm of integers":   {"Norm", gpk.Ones(gpk.Int8, 2).Norm(), gpk.ErrDType},
		"a norm of NaN":      {"VectorNorm", a.VectorNorm(math.NaN()), gpk.ErrUnsupported},
		"LogSumExp":          {"LogSumExp", gpk.Ones(gpk.Complex64, 2).LogSumExp(), gpk.ErrDType},
		"CountNonzero":       {"CountNonzero", a.CountNonzero(3), gpk.ErrShape},
		"CumProd":            {"CumProd", a.CumProd(2), gpk.ErrShape},
		"Median of integers": {"Median", gpk.Ones(gpk.Int32, 2).Median(), gpk.ErrDType},
		"a quantile of 1.1":  {"Quantile", a.Quantile(1.1), gpk.ErrUnsupported},
		"a quantile of NaN":  {"Quantile", a.Quantile(math.NaN(), 0), gpk.ErrUnsupported},
		"a quantile of -1":   {"Quantiles", a.Quantiles([]float64{0, -1}, 0), gpk.ErrUnsupported},
		"Quantiles, integer": {"Quantiles", gpk.Ones(gpk.Int32, 2).Quantiles([]float64{0.5}), gpk.ErrDType},
		"nil":                {"Median", gpk.Median(nil), gpk.ErrShape},
	} {
		s.refusedAs(t, what, c.op, []*gpk.Array{c.got}, c.want)
	}
}
