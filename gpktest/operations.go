package gpktest

import (
	"errors"
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// testTernary tries Where and Clamp on every type, with arrays and numbers; dense, strided and broadcast.
func testTernary(t *testing.T, s *suite) {
	for _, dt := range ops.Lookup(expr.Where).Types {
		for i, f := range arrangements {
			g := arrangements[(i*3+1)%len(arrangements)]
			c, x, y := s.random(gpk.Bool, 3, 33, 41), s.random(dt, 3, 33, 41), s.random(dt, 3, 33, 41)
			got := evaluate(t, gpk.Where(g.make(s, c), f.make(s, x), y.array()))
			s.picked(t, name("Where", dt, f.name, g.name), got, c, x, y)
		}
		c, x, y := s.random(gpk.Bool, 33, 1), s.random(dt, 41), s.random(dt, 2, 1, 1)
		s.picked(t, name("Where", dt, "broadcast"), evaluate(t, gpk.Where(c.array(), x.array(), y.array())), c, x, y)
		one := tensor{dt: dt, shape: []int{}, values: []complex128{1}, ints: []int64{1}}
		number := any(1)
		if dt == gpk.Bool {
			number = true
		}
		s.picked(t, name("Where", dt, "number left"), evaluate(t, gpk.Where(c.array(), number, x.array())), c, one, x)
		s.picked(t, name("Where", dt, "number right"), evaluate(t, gpk.Where(c.array(), x.array(), number)), c, x, one)
	}
	for _, dt := range ops.Lookup(expr.Clamp).Types {
		for i, f := range arrangements {
			g := arrangements[(i*3+1)%len(arrangements)]
			x, lo, hi := s.random(dt, 3, 33, 41), s.random(dt, 3, 33, 41), s.random(dt, 41)
			got := evaluate(t, f.make(s, x).Clamp(g.make(s, lo), hi.array()))
			s.clamped(t, name("Clamp", dt, f.name, g.name), got, x, lo, hi)
		}
		x := s.random(dt, 1003)
		zero, one := tensor{dt: dt, shape: []int{}, values: []complex128{0}, ints: []int64{0}}, tensor{dt: dt, shape: []int{}, values: []complex128{1}, ints: []int64{1}}
		s.clamped(t, name("Clamp", dt, "numbers"), evaluate(t, gpk.Clamp(x.array(), 0, 1)), x, zero, one)
	}
	x := gpk.FromSlice([]float32{float32(math.NaN()), 2, -5})
	got := read(t, x.Clamp(-1, 1))
	if v := got.values; !cmplx.IsNaN(v[0]) || v[1] != 1 || v[2] != -1 {
		t.Errorf("Clamp of NaN, 2 and -5: %v", v)
	}
	for what, a := range map[string]*gpk.Array{
		"a condition of floats":  gpk.Where(x, x, 0),
		"numbers of two types":   gpk.Where(x.Gt(0), 1.5, float32(0)),
		"two types":              gpk.Where(x.Gt(0), x, x.Cast(gpk.Float64)),
		"a fraction on integers": gpk.Zeros(gpk.Int32, 2).Clamp(0.5, 1),
		"Clamp of bool":          x.Gt(0).Clamp(false, true),
	} {
		if !errors.Is(a.Err(), gpk.ErrDType) {
			t.Errorf("%s: %v", what, a.Err())
		}
	}
	if err := gpk.Where(x.Gt(0), gpk.Zeros(gpk.Float32, 2), 0).Err(); !errors.Is(err, gpk.ErrShape) {
		t.Errorf("shapes that do not meet: %v", err)
	}
}

func (s *suite) picked(t *testing.T, what string, got, c, x, y tensor) {
	t.Helper()
	i := 0
	index(got.shape, func(ix []int) {
		from := y
		if c.ints[at(c.shape, ix)] != 0 {
			from = x
		}
		p := at(from.shape, ix)
		if exact(got.dt) && got.ints[i] != from.ints[p] || !exact(got.dt) && got.values[i] != from.values[p] {
			t.Fatalf("%s: element %v", what, ix)
		}
		i++
	})
}

func (s *suite) clamped(t *testing.T, what string, got, x, lo, hi tensor) {
	t.Helper()
	i := 0
	index(got.shape, func(ix []int) {
		p, q, r := at(x.shape, ix), at(lo.shape, ix), at(hi.shape, ix)
		if exact(got.dt) {
			if want := min(max(x.ints[p], lo.ints[q]), hi.ints[r]); got.ints[i] != want {
				t.Fatalf("%s: element %v is %d, want %d", what, ix, got.ints[i], want)
			}
		} else if want := min(max(real(x.values[p]), real(lo.values[q])), real(hi.values[r])); real(got.values[i]) != want {
			t.Fatalf("%s: element %v is %v, want %v", what, ix, got.values[i], want)
		}
		i++
	})
}

// testReductions tries every reduction of the table except Sum, which has a test of its own, over sets of
// axes of several shapes and layouts.
func testReductions(t *testing.T, s *suite) {
	for i := range ops.Table {
		row := &ops.Table[i]
		if row.Kind != ops.Reduction || row.Op == expr.Sum {
			continue
		}
		method, ok := reductionMethods[row.Op]
		if !ok {
			t.Fatalf("%v: no method is tested", row.Op)
		}
		for _, dt := range row.Types {
			for _, shape := range [][]int{{}, {0}, {1}, {1000}, {33, 70}, {0, 5}, {5, 0}, {3, 40, 17}, {4097, 3}, {3, 4097}} {
				for mask := 1; mask < 1<<len(shape) || mask == 1; mask++ {
					axes, terms := []int{}, 1
					for d := range shape {
						if mask>>d&1 == 1 {
							axes = append(axes, d)
							terms *= shape[d]
						}
					}
					arg := row.Op == expr.ArgMax || row.Op == expr.ArgMin
					if arg && len(axes) != 1 {
						continue
					}
					x := s.reducible(row.Op, dt, shape, terms)
					a := x.array()
					if len(shape) >= 2 && size(shape) > 0 {
						a = arrangements[s.rng.IntN(len(arrangements))].make(s, x)
					}
					r := method(a, axes...)
					what := name(row.Op, dt, shape, axes)
					if terms == 0 && ops.NeedsElements(row.Op) {
						if !errors.Is(r.Err(), gpk.ErrShape) {
							t.Fatalf("%s: %v", what, r.Err())
						}
						continue
					}
					s.reduced(t, what, row.Op, evaluate(t, r), x, axes)
				}
			}
		}
	}
	nan := float32(math.NaN())
	x := gpk.FromSlice([]float32{1, nan, 3, nan, -1, 0}, 2, 3)
	if v := read(t, x.Max(1)).values; !cmplx.IsNaN(v[0]) || !cmplx.IsNaN(v[1]) {
		t.Errorf("Max of NaN: %v", v)
	}
	if v := read(t, x.ArgMax(1)).ints; v[0] != 1 || v[1] != 0 {
		t.Errorf("ArgMax of NaN: %v", v)
	}
	if v := read(t, gpk.FromSlice([]int32{7, 9, 9, 7}).ArgMax(0)).ints; v[0] != 1 {
		t.Errorf("ArgMax of equal elements: %v", v)
	}
	if v := read(t, gpk.FromSlice([]float32{1e9 + 64, 1e9, 1e9 - 64}).Var()).values; math.Abs(real(v[0])-8192.0/3) > 1e-3 {
		t.Errorf("Var far from 0: %v", v)
	}
}

// reducible returns random elements for which the reduction does not overflow.
func (s *suite) reducible(op expr.Op, dt gpk.DType, shape []int, terms int) tensor {
	x := s.random(dt, shape...)
	for i := range size(shape) {
		switch {
		case exact(dt) && op != expr.Any && op != expr.All:
		case exact(dt):
			x.ints[i] = 0
			if (s.rng.IntN(2*terms) != 0) == (op == expr.All) {
				x.ints[i] = 1
			}
		case op == expr.Any || op == expr.All:
			x.values[i] = 0
			if (s.rng.IntN(2*terms) != 0) == (op == expr.All) {
				x.values[i] = 1
			}
		case op == expr.Prod:
			x.values[i] = round(dt, cmplx.Exp(x.values[i]*complex(0.5/math.Sqrt(float64(terms)), 0)))
		}
	}
	return x
}

// reduced compares with a float64 reference over the axes, term by term.
func (s *suite) reduced(t *testing.T, what string, op expr.Op, got, x tensor, axes []int) {
	t.Helper()
	all := len(axes) == 0
	kept := []int{}
	for d, n := range x.shape {
		if !all && !contains(axes, d) {
			kept = append(kept, n)
		}
	}
	if fmt.Sprint(got.shape) != fmt.Sprint(kept) {
		t.Fatalf("%s: shape %v, want %v", what, got.shape, kept)
	}
	terms := make([][]int, size(kept))
	i := 0
	index(x.shape, func(ix []int) {
		p := 0
		for d, n := range x.shape {
			if !all && !contains(axes, d) {
				p = p*n + ix[d]
			}
		}
		terms[p] = append(terms[p], i)
		i++
	})
	for j, list := range terms {
		if exact(x.dt) {
			if want := reducedInts(op, x.dt, x.ints, list); got.ints[j] != want {
				t.Fatalf("%s: element %d is %d, want %d", what, j, got.ints[j], want)
			}
			continue
		}
		want, tol := reducedFloats(op, x, list)
		if exact(got.dt) {
			if got.ints[j] != int64(real(want)) {
				t.Fatalf("%s: element %d is %d, want %v", what, j, got.ints[j], want)
			}
			continue
		}
		tol += epsilon[got.dt]*cmplx.Abs(want) + smallest(got.dt)
		if v := real(want); got.dt == gpk.Float16 && math.Abs(v)+tol >= 65520 && math.IsInf(real(got.values[j]), int(math.Copysign(1, v))) {
			continue // halfway from the largest float16 on, the nearest is infinite
		}
		if d := cmplx.Abs(got.values[j] - want); !(d <= tol) && !(cmplx.IsNaN(want) && cmplx.IsNaN(got.values[j])) {
			t.Fatalf("%s: element %d is %v, want %v: off by %.3g, bound %.3g", what, j, got.values[j], want, d, tol)
		}
	}
}

// reducedInts returns the reduction of some elements of an integer type or Bool. In v, Uint64 has the same
// bits as int64.
func reducedInts(op expr.Op, dt gpk.DType, v []int64, list []int) int64 {
	var r, sign int64
	if dt == gpk.Uint64 {
		sign = math.MinInt64 // numbers of 64 bits without a sign have the order of these with the top bit flipped
	}
	less := func(x, y int64) bool { return x^sign < y^sign }
	if op == expr.Prod || op == expr.All {
		r = 1
	}
	for k, i := range list {
		x := v[i]
		switch op {
		case expr.Max, expr.Min:
			if k == 0 || op == expr.Max && less(r, x) || op == expr.Min && less(x, r) {
				r = x
			}
		case expr.ArgMax, expr.ArgMin:
			if best := v[list[r]]; op == expr.ArgMax && less(best, x) || op == expr.ArgMin && less(x, best) {
				r = int64(k)
			}
		case expr.Sum:
			r += x
		case expr.Prod:
			r *= x
		case expr.Any:
			if x != 0 {
				r = 1
			}
		case expr.All:
			if x == 0 {
				r = 0
			}
		}
	}
	return r
}

// reducedFloats returns the reference and the allowed error besides one rounding.
func reducedFloats(op expr.Op, x tensor, list []int) (want complex128, tol float64) {
	acc := epsilon[gpk.Float32]
	if x.dt == gpk.Float64 || x.dt == gpk.Complex128 {
		acc = epsilon[gpk.Float64]
	}
	n := float64(len(list))
	var re, im, magnitude compensatedSum
	for _, i := range list {
		re.add(real(x.values[i]))
		im.add(imag(x.values[i]))
		magnitude.add(cmplx.Abs(x.values[i]))
	}
	mean := complex(re.value()/n, im.value()/n)
	switch op {
	case expr.Sum:
		return complex(re.value(), im.value()), 24 * acc * magnitude.value()
	case expr.Mean:
		return mean, 24*acc*magnitude.value()/n + acc*cmplx.Abs(mean)
	case expr.Var:
		var squares compensatedSum
		for _, i := range list {
			squares.add(sqr(x.values[i] - mean))
		}
		return complex(squares.value()/n, 0), 40 * acc * squares.value() / n
	case expr.Prod:
		want = 1
		for _, i := range list {
			want *= x.values[i]
		}
		return want, (0x1p-50*n + 4*acc) * cmplx.Abs(want)
	case expr.Any, expr.All:
		any, all := 0.0, 1.0
		for _, i := range list {
			if x.values[i] != 0 {
				any = 1
			} else {
				all = 0
			}
		}
		if op == expr.Any {
			return complex(any, 0), 0
		}
		return complex(all, 0), 0
	}
	at := 0
	for k, i := range list {
		v, best := real(x.values[i]), real(x.values[list[at]])
		if (op == expr.Max || op == expr.ArgMax) && v > best || (op == expr.Min || op == expr.ArgMin) && v < best {
			at = k
		}
	}
	if op == expr.ArgMax || op == expr.ArgMin {
		return complex(float64(at), 0), 0
	}
	return x.values[list[at]], 0
}

// compensatedSum sums float64 numbers with Neumaier's compensation (1974). References use it
// because it is more accurate than a pairwise float64 sum.
type compensatedSum struct{ high, low float64 }

func (s *compensatedSum) add(x float64) {
	sum := s.high + x
	if math.Abs(s.high) >= math.Abs(x) {
		s.low += (s.high - sum) + x
	} else {
		s.low += (x - sum) + s.high
	}
	s.high = sum
}

func (s *compensatedSum) value() float64 { return s.high + s.low }
