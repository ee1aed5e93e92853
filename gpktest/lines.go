package gpktest

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// testLines tries the operations along an axis on every type, along every axis.
func testLines(t *testing.T, s *suite) {
	for i := range ops.Table {
		row := &ops.Table[i]
		if row.Kind != ops.Line {
			continue
		}
		for _, dt := range row.Types {
			for _, shape := range [][]int{{1}, {0}, {1000}, {33, 70}, {0, 5}, {5, 0}, {3, 40, 17}, {2, 9001}, {9001, 2}, {2, 65536}, {65537}, {200_003}} {
				if quick() && size(shape) > 1<<16 {
					continue
				}
				for axis := range shape {
					last := axis == len(shape)-1
					if !last && (row.Op == expr.LayerNorm || row.Op == expr.RMSNorm) {
						continue
					}
					x := s.random(dt, shape...)
					a := x.array()
					if len(shape) >= 2 && size(shape) > 0 {
						a = arrangements[s.rng.IntN(len(arrangements))].make(s, x)
					}
					var gamma, beta tensor
					var g, b *gpk.Array
					if s.rng.IntN(2) == 0 && dt.IsFloat() {
						gamma, beta = s.random(dt, shape[axis]), s.random(dt, shape[axis])
						g, b = gamma.array(), beta.array()
					}
					var r *gpk.Array
					switch row.Op {
					case expr.CumSum:
						r = gpk.CumSum(a, axis)
					case expr.Softmax:
						r = gpk.Softmax(a, axis-len(shape))
					case expr.LogSoftmax:
						r = gpk.LogSoftmax(a, axis)
					case expr.LayerNorm:
						r = gpk.LayerNorm(a, g, b, 1e-3)
					case expr.RMSNorm:
						r, beta = gpk.RMSNorm(a, g, 1e-3), tensor{}
					default:
						t.Fatalf("%v: no method is tested", row.Op)
					}
					s.lined(t, name(row.Op, dt, shape, axis), row.Op, evaluate(t, r), x, axis, gamma, beta)
				}
			}
		}
	}
	x := gpk.Zeros(gpk.Float32, 2, 3)
	for what, a := range map[string]*gpk.Array{
		"an axis too far":    x.Softmax(2),
		"a weight too short": gpk.RMSNorm(x, gpk.Ones(gpk.Float32, 2), 0),
		"no last axis":       gpk.LayerNorm(gpk.Zeros(gpk.Float32), nil, nil, 0),
	} {
		if !errors.Is(a.Err(), gpk.ErrShape) {
			t.Errorf("%s: %v", what, a.Err())
		}
	}
	if err := gpk.LayerNorm(x, gpk.Ones(gpk.Float64, 3), nil, 0).Err(); !errors.Is(err, gpk.ErrDType) {
		t.Errorf("a weight of another type: %v", err)
	}
}

func (s *suite) lined(t *testing.T, what string, op expr.Op, got, x tensor, axis int, gamma, beta tensor) {
	t.Helper()
	if fmt.Sprint(got.shape) != fmt.Sprint(x.shape) {
		t.Fatalf("%s: shape %v", what, got.shape)
	}
	n, step := x.shape[axis], size(x.shape[axis+1:])
	acc := epsilon[gpk.Float32]
	if x.dt == gpk.Float64 || x.dt == gpk.Complex128 {
		acc = epsilon[gpk.Float64]
	}
	for i := range size(x.shape) {
		if i/step%n != 0 {
			continue
		}
		if exact(x.dt) {
			var sum int64
			for k := range n {
				if sum += x.ints[i+k*step]; got.ints[i+k*step] != sum {
					t.Fatalf("%s: element %d is %d, want %d", what, i+k*step, got.ints[i+k*step], sum)
				}
			}
			continue
		}
		line := make([]complex128, n)
		for k := range line {
			line[k] = x.values[i+k*step]
		}
		want, tol := lineReference(op, line, gamma, beta, acc)
		for k, w := range want {
			g := got.values[i+k*step]
			bound := tol[k] + epsilon[got.dt]*cmplx.Abs(w) + smallest(got.dt)
			if d := cmplx.Abs(g - w); !(d <= bound) {
				t.Fatalf("%s: element %d is %v, want %v: off by %.3g, bound %.3g", what, i+k*step, g, w, d, bound)
			}
		}
	}
}

// compensated is a sum with the compensation of Kahan (1965): rest is the rounding error so far.
type compensated struct{ sum, rest float64 }

func (c *compensated) add(v float64) {
	y := v - c.rest
	t := c.sum + y
	c.rest = (t - c.sum) - y
	c.sum = t
}

// lineReference returns the result of an operation on one line in float64, and the allowed error besides
// one rounding. acc is the error of one rounding in the accumulator's type.
func lineReference(op expr.Op, x []complex128, gamma, beta tensor, acc float64) (want []complex128, tol []float64) {
	n := float64(len(x))
	top, size := math.Inf(-1), 0.0
	var all, powers, deviations compensated
	for _, v := range x {
		top = max(top, real(v))
		all.add(real(v))
		size += cmplx.Abs(v) / n
	}
	mean := all.sum / n
	if op == expr.RMSNorm {
		mean = 0
	}
	for _, v := range x {
		powers.add(math.Exp(real(v) - top))
		deviations.add((real(v) - mean) * (real(v) - mean))
	}
	sum := powers.sum
	var total complex128
	var magnitude float64
	scale := 1 / math.Sqrt(deviations.sum/n+1e-3)
	for k, v := range x {
		g, b := 1.0, 0.0
		if gamma.values != nil {
			g = real(gamma.values[k])
		}
		if beta.values != nil {
			b = real(beta.values[k])
		}
		switch op {
		case expr.CumSum:
			total += v
			magnitude += cmplx.Abs(v)
			want, tol = append(want, total), append(tol, 24*acc*magnitude)
		case expr.Softmax:
			p := math.Exp(real(v)-top) / sum
			want, tol = append(want, complex(p, 0)), append(tol, 16*acc*p)
		case expr.LogSoftmax:
			p := real(v) - top - math.Log(sum)
			want, tol = append(want, complex(p, 0)), append(tol, 8*acc*(math.Abs(p)+1))
		default:
			y := (real(v) - mean) * scale * g
			want = append(want, complex(y+b, 0))
			// The error of the mean is relative to the sum of the terms.
			tol = append(tol, acc*(8*math.Abs(b)+(8*cmplx.Abs(v)+24*size)*scale*math.Abs(g)))
		}
	}
	return want, tol
}

// testLongSums compares the cumulative sums of long lines, bit for bit, with those of the same line as one
// of many, backwards in memory, and as part of a shorter array. The order of the additions depends only on
// an element's index.
func testLongSums(t *testing.T, s *suite) {
	lengths, lines := []int{8191, 8192, 8193, 4 * 8192, 50_003}, 3
	if s.dev.Kind() != device.CPU {
		lengths, lines = append(lengths, 9_000_001), 300
	}
	for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64, gpk.BFloat16, gpk.Complex64, gpk.Complex128, gpk.Int32, gpk.Uint64, gpk.Bool} {
		for _, n := range lengths {
			x := s.random(dt, n)
			a := x.array()
			sums := a.CumSum(0)
			what := name(expr.CumSum, dt, n)
			s.lined(t, what, expr.CumSum, evaluate(t, sums), x, 0, tensor{}, tensor{})
			equal(t, what+" backwards", evaluate(t, backwards(evaluated(t, backwards(a, 0)), 0).CumSum(0)), read(t, sums))
			cut := n - s.rng.IntN(n/2)
			equal(t, what+" cut short", evaluate(t, a.Slice(0, 0, cut).CumSum(0)), read(t, sums.Slice(0, 0, cut)))
			if n < 1<<20 {
				many := a.BroadcastTo(lines, n).CumSum(1)
				equal(t, what+" among many", evaluate(t, many.Slice(0, lines-1, lines).Reshape(n)), read(t, sums))
				many.Free()
			}
		}
	}
}

// evaluated returns a copy of a in memory of its own.
func evaluated(t *testing.T, a *gpk.Array) *gpk.Array {
	t.Helper()
	c := a.Clone()
	noError(t, gpk.Eval(c))
	return c
}

// testKeepDims compares every reduction with KeepDims with the one without it, and ArgMax of all axes with
// that of the flattened elements.
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
