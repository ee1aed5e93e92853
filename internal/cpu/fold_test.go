package cpu

import (
	"errors"
	"math"
	"math/big"
	"math/cmplx"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/bigmath"
	"github.com/gpk-go/gpk/internal/testrand"
)

// foldType returns the result type of a reduction, Invalid if t does not support it.
func foldType(op expr.Op, t dtype.DType) dtype.DType {
	switch op {
	case expr.Sum, expr.Prod:
		return t.SumType()
	case expr.Mean:
		if t.IsFloat() || t.IsComplex() {
			return t
		}
	case expr.Var:
		if t.IsFloat() || t.IsComplex() {
			return t.Real()
		}
	case expr.Max, expr.Min:
		if !t.IsComplex() {
			return t
		}
	case expr.ArgMax, expr.ArgMin:
		if !t.IsComplex() {
			return dtype.Int64
		}
	case expr.Any, expr.All:
		return dtype.Bool
	}
	return dtype.Invalid
}

// foldValue returns the reference of a reduction of v, and the error that is allowed.
func foldValue(op expr.Op, t dtype.DType, v []any) (want any, tol float64) {
	unit := map[dtype.DType]float64{dtype.Float16: 0x1p-11, dtype.BFloat16: 0x1p-8, dtype.Float32: 0x1p-24, dtype.Complex64: 0x1p-24}[t]
	if unit == 0 {
		unit = 0x1p-53
	}
	switch op {
	case expr.Max, expr.Min:
		best := v[0]
		for _, x := range v {
			if op == expr.Max {
				best = exactBinary(expr.Maximum, t, best, x)
			} else {
				best = exactBinary(expr.Minimum, t, best, x)
			}
		}
		return best, 0
	case expr.ArgMax, expr.ArgMin:
		at := 0
		for i, x := range v {
			than := expr.Gt
			if op == expr.ArgMin {
				than = expr.Lt
			}
			f, ok := x.(float64)
			nan := ok && f != f
			if g, ok := v[at].(float64); ok && g != g {
				break
			}
			if nan || exactBinary(than, t, x, v[at]) == true {
				at = i
			}
		}
		return int64(at), 0
	case expr.Any, expr.All:
		any, all := false, true
		for _, x := range v {
			b := convertValue(x, dtype.Bool).(bool)
			any, all = any || b, all && b
		}
		if op == expr.Any {
			return any, 0
		}
		return all, 0
	case expr.Prod:
		switch append(v, convertValue(int64(1), t))[0].(type) {
		case float64:
			p := bigmath.Of(1)
			for _, x := range v {
				p = bigmath.Mul(p, bigmath.Of(x.(float64)))
			}
			f, _ := p.Float64()
			return f, (unit+float64(len(v))*0x1p-53)*math.Abs(f) + smallestOf(t)
		case complex128:
			p := complex128(1)
			for _, x := range v {
				p *= x.(complex128)
			}
			return p, (2*unit + 4*float64(len(v))*0x1p-53) * cmplx.Abs(p)
		default:
			p := big.NewInt(1)
			for _, x := range v {
				p.Mul(p, bigOf(x)).Rem(p, new(big.Int).Lsh(big.NewInt(1), 64))
			}
			return wrapTo(t.SumType(), p), 0
		}
	}
	// Mean and Var, in math/big.
	parts := func(x any) (re, im float64) {
		if c, ok := x.(complex128); ok {
			return real(c), imag(c)
		}
		return x.(float64), 0
	}
	n := bigmath.Of(float64(len(v)))
	re, im := bigmath.Of(0), bigmath.Of(0)
	var size float64
	for _, x := range v {
		a, b := parts(x)
		re, im = bigmath.Add(re, bigmath.Of(a)), bigmath.Add(im, bigmath.Of(b))
		size += math.Hypot(a, b)
	}
	if len(v) == 0 {
		if t.IsComplex() && op == expr.Mean {
			return cmplx.NaN(), 0
		}
		return math.NaN(), 0
	}
	re, im = bigmath.Quo(re, n), bigmath.Quo(im, n)
	if op == expr.Mean {
		a, _ := re.Float64()
		b, _ := im.Float64()
		acc := unit
		if t.IsHalf() {
			acc = 0x1p-24
		}
		tol = 2*unit*math.Hypot(a, b) + acc*(math.Log2(float64(len(v)))+2)*size/float64(len(v))
		if t.IsComplex() {
			return complex(a, b), tol
		}
		return a, tol
	}
	sum := bigmath.Of(0)
	square := func(d *big.Float) { sum = bigmath.Add(sum, bigmath.Mul(d, d)) }
	for _, x := range v {
		a, b := parts(x)
		square(bigmath.Sub(bigmath.Of(a), re))
		square(bigmath.Sub(bigmath.Of(b), im))
	}
	f, _ := bigmath.Quo(sum, n).Float64()
	return f, (2*unit + 0x1p-52*(math.Log2(float64(len(v)))+2)) * f
}

func TestFold(t *testing.T) {
	rng := testrand.New(t)
	for op := expr.Mean; op <= expr.ArgMin; op++ {
		for _, dt := range dtype.All {
			out := foldType(op, dt)
			if out == dtype.Invalid {
				x, z := dense(dt, []int{1}), dense(dtype.Int64, []int{2})
				if err := Reduce(op, dt, dt, nil, 0, x.p(), nil, z.p()); !errors.Is(err, expr.ErrUnsupported) {
					t.Errorf("%v of %v: %v", op, dt, err)
				}
				continue
			}
			for _, shape := range [][]int{{}, {0}, {1}, {3}, {511}, {513}, {1500}, {70000}, {3, 0}, {0, 3}, {700, 3}, {3, 700}, {2, 4900}, {40, 200}, {5, 60, 7}, {2, 3, 4, 5, 2}} {
				for axes := range uint32(1) << len(shape) {
					if len(shape) > 3 && rng.IntN(8) != 0 || size(shape) > 10000 && rng.IntN(4) != 0 || testing.Short() && rng.IntN(min(4+size(shape)/500, 16)) != 0 {
						continue
					}
					layout := arrangements[rng.IntN(len(arrangements))]
					x := layout.make(dt, shape)
					special := rng.IntN(3) == 0
					x.each(func(_, k int) {
						v := randomElement(rng, dt)
						switch {
						case special && op != expr.Mean && op != expr.Var && op != expr.Prod && !dt.IsComplex():
						case dt.IsFloat():
							v = convertValue(3+rng.NormFloat64(), dt)
							if op == expr.Prod {
								v = convertValue(math.Exp(0.03*rng.NormFloat64()), dt)
							}
						case dt.IsComplex():
							v = convertValue(cmplx.Rect(1, rng.NormFloat64()), dt)
						}
						if (op == expr.Any || op == expr.All) && rng.IntN(30) != 0 {
							v = convertValue(op == expr.All, dt)
						}
						put(dt, x.at(k), v)
					})
					checkFold(t, op, x, out, axes, layout.name)
				}
			}
		}
	}
}

func checkFold(t *testing.T, op expr.Op, x *tensor, out dtype.DType, axes uint32, layout string) {
	t.Helper()
	kept, n := keptAxes(x.shape, axes)
	if n == 0 && op >= expr.Max && (op == expr.Max || op == expr.Min || op >= expr.ArgMax) {
		return // Reduce has refused it
	}
	z := dense(out, kept)
	terms := make([][]any, size(kept))
	eachTerm(x, axes, func(k int, v any) { terms[k] = append(terms[k], v) })
	if err := Reduce(op, x.t, out, x.shape, axes, x.p(), x.strides, z.p()); err != nil {
		t.Fatal(err)
	}
	for i, got := range z.values() {
		want, tol := foldValue(op, x.t, terms[i])
		if same(got, want) || out.IsFloat() && same(got, convertValue(want, out)) {
			continue
		}
		ok := false
		switch g := got.(type) {
		case float64:
			ok = math.Abs(g-want.(float64)) <= tol
		case complex128:
			ok = cmplx.Abs(g-want.(complex128)) <= tol || g != g && want != want
		}
		if !ok {
			t.Fatalf("%v of %v %v %s over %b: element %d is %v, not %v (allowed %g)", op, x.t, x.shape, layout, axes, i, got, want, tol)
		}
	}
	if err := z.untouched(); err != nil {
		t.Fatalf("%v of %v: %v", op, x.t, err)
	}
}

// TestVarianceOffset computes the variance of numbers far from 0. The mean of the squares
// less the square of the mean would be noise there.
func TestVarianceOffset(t *testing.T) {
	rng := testrand.New(t)
	const n = 20000
	x, z := dense(dtype.Float64, []int{n}), dense(dtype.Float64, nil)
	values := make([]any, n)
	x.each(func(i, k int) {
		values[i] = 1e9 + rng.NormFloat64()
		put(dtype.Float64, x.at(k), values[i])
	})
	if err := Reduce(expr.Var, dtype.Float64, dtype.Float64, x.shape, 1, x.p(), x.strides, z.p()); err != nil {
		t.Fatal(err)
	}
	want, _ := foldValue(expr.Var, dtype.Float64, values)
	if got := z.values()[0].(float64); math.Abs(got-want.(float64)) > 1e-12*want.(float64) {
		t.Errorf("%v, not %v", got, want)
	}
}
