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

// exactBinary returns the reference of the operations whose result is exact, on values from
// load. It returns nil if the type does not support the operation.
func exactBinary(op expr.Op, t dtype.DType, a, b any) any {
	switch x := a.(type) {
	case bool:
		y := b.(bool)
		switch op {
		case expr.Maximum, expr.Or:
			return x || y
		case expr.Minimum, expr.And:
			return x && y
		case expr.Eq:
			return x == y
		case expr.Ne, expr.Xor:
			return x != y
		case expr.Lt:
			return !x && y
		case expr.Le:
			return !x || y
		case expr.Gt:
			return x && !y
		case expr.Ge:
			return x || !y
		}
	case complex128:
		switch op {
		case expr.Eq:
			return x == b
		case expr.Ne:
			return x != b
		}
	case float64:
		y := b.(float64)
		switch {
		case (op == expr.Maximum || op == expr.Minimum) && (x != x || y != y):
			return math.NaN() // package math returns an infinity here
		case op == expr.Maximum:
			return math.Max(x, y) // 0 over -0
		case op == expr.Minimum:
			return math.Min(x, y)
		}
		return ordering(op, x == y, x < y, x > y)
	case int64, uint64:
		width := int64(8 * t.Size())
		p, q := bigOf(a), bigOf(b)
		count := q.Sign() >= 0 && q.Cmp(big.NewInt(width)) < 0 // whether y is a valid count of a shift
		one, ones := big.NewInt(1), big.NewInt(-1)
		var v *big.Int
		switch op {
		case expr.Maximum, expr.Minimum:
			if (p.Cmp(q) > 0) == (op == expr.Maximum) {
				return a
			}
			return b
		case expr.And:
			v = new(big.Int).And(p, q)
		case expr.Or:
			v = new(big.Int).Or(p, q)
		case expr.Xor:
			v = new(big.Int).Xor(p, q)
		case expr.Shl:
			v = new(big.Int)
			if count {
				v.Lsh(p, uint(q.Uint64()))
			}
		case expr.Shr:
			n := uint(width)
			if count {
				n = uint(q.Uint64())
			}
			v = new(big.Int).Rsh(p, n)
		case expr.Pow:
			switch {
			case q.Sign() >= 0:
				v = new(big.Int).Exp(p, q, new(big.Int).Lsh(big.NewInt(1), 64))
			case p.Cmp(one) == 0 || p.Cmp(ones) == 0 && q.Bit(0) == 0:
				v = one
			case p.Cmp(ones) == 0:
				v = ones
			default:
				v = new(big.Int)
			}
		default:
			return ordering(op, p.Cmp(q) == 0, p.Cmp(q) < 0, p.Cmp(q) > 0)
		}
		return wrapTo(t, v)
	}
	return nil
}

func ordering(op expr.Op, eq, lt, gt bool) any {
	switch op {
	case expr.Eq:
		return eq
	case expr.Ne:
		return !eq
	case expr.Lt:
		return lt
	case expr.Le:
		return lt || eq
	case expr.Gt:
		return gt
	case expr.Ge:
		return gt || eq
	}
	return nil
}

func TestExactBinary(t *testing.T) {
	rng := testrand.New(t)
	for op := expr.Pow; op <= expr.Shr; op++ {
		for _, dt := range dtype.All {
			if op == expr.Pow && !dt.IsInteger() {
				continue
			}
			out := dt
			if op >= expr.Eq && op <= expr.Ge {
				out = dtype.Bool
			}
			one := dense(dt, []int{1}).randomize(rng)
			meaning := exactBinary(op, dt, load(dt, one.p()), load(dt, one.p())) != nil
			z0 := dense(out, []int{1})
			if err := Binary(op, dt, out, nil, one.p(), nil, one.p(), nil, z0.p(), nil); (err == nil) != meaning || err != nil && !errors.Is(err, expr.ErrUnsupported) {
				t.Fatalf("%v of %v: %v", op, dt, err)
			}
			if !meaning {
				continue
			}
			for _, shape := range shapes {
				lx, ly, ld := arrangements[rng.IntN(len(arrangements))], arrangements[rng.IntN(len(arrangements))], arrangements[rng.IntN(5)]
				x, y, z := lx.make(dt, shape).randomize(rng), ly.make(dt, shape).randomize(rng), ld.make(out, shape)
				y.each(func(i, k int) {
					switch {
					case rng.IntN(4) == 0:
						put(dt, y.at(k), load(dt, x.p())) // equal to some elements of x
					case dt.IsInteger() && op >= expr.Shl || op == expr.Pow:
						put(dt, y.at(k), convertValue(int64(rng.IntN(80)-8), dt))
					}
				})
				a, b := x.values(), y.values()
				if err := Binary(op, dt, out, shape, x.p(), x.strides, y.p(), y.strides, z.p(), z.strides); err != nil {
					t.Fatal(err)
				}
				for i, got := range z.values() {
					if want := exactBinary(op, dt, a[i], b[i]); !same(got, want) {
						t.Fatalf("%v of %v, %s and %s to %s, element %d: %v with %v is %v, not %v", op, dt, lx.name, ly.name, ld.name, i, a[i], b[i], got, want)
					}
				}
				if err := z.untouched(); err != nil {
					t.Fatalf("%v of %v %s: %v", op, dt, ld.name, err)
				}
			}
		}
	}
}

// TestExactUnary tests the operations that TestUnary does not: that one covers only
// operations with one form for all types.
func TestExactUnary(t *testing.T) {
	rng := testrand.New(t)
	for _, op := range []expr.Op{expr.Not, expr.Abs, expr.Sign, expr.Square, expr.Floor, expr.Ceil, expr.Round, expr.Real, expr.Imag, expr.AbsSquare, expr.Sqrt, expr.Exp} {
		for _, dt := range dtype.All {
			out := dt
			if op == expr.Abs || op == expr.Real || op == expr.Imag || op == expr.AbsSquare {
				out = dt.Real()
			}
			want := func(v any) any {
				switch x := v.(type) {
				case bool:
					switch op {
					case expr.Not:
						return !x
					case expr.Real:
						return x
					case expr.Imag:
						return false
					}
				case int64, uint64:
					switch op {
					case expr.Not:
						return exactBinary(expr.Xor, dt, x, int64(-1))
					case expr.Abs:
						return wrapTo(dt, new(big.Int).Abs(bigOf(x)))
					case expr.Sign:
						return wrapTo(dt, big.NewInt(int64(bigOf(x).Sign())))
					case expr.Square, expr.AbsSquare:
						return binaryValue(expr.Mul, dt, x, x)
					case expr.Floor, expr.Ceil, expr.Round, expr.Real:
						return x
					case expr.Imag:
						return wrapTo(dt, new(big.Int))
					}
				case float64:
					if f := unaryReference(op); f != nil && op != expr.Exp {
						return convertValue(f(x), dt)
					}
				case complex128:
					switch op {
					case expr.Abs:
						return cmplx.Abs(x)
					case expr.Real:
						return real(x)
					case expr.Imag:
						return imag(x)
					case expr.AbsSquare:
						return real(x)*real(x) + imag(x)*imag(x)
					case expr.Square:
						return x * x
					case expr.Sqrt:
						if x == 0 || x-x != 0 {
							return cmplx.Sqrt(x)
						}
						return bigmath.ComplexSqrt(x).Round() // cmplx.Sqrt is wrong for subnormal numbers
					case expr.Exp:
						return cmplx.Exp(x)
					}
				}
				return nil
			}
			one, z0 := dense(dt, []int{1}).randomize(rng), dense(out, []int{1})
			meaning := want(load(dt, one.p())) != nil || op == expr.Exp && dt.IsFloat()
			if err := Unary(op, dt, out, nil, one.p(), nil, z0.p(), nil); (err == nil) != meaning {
				t.Fatalf("%v of %v: %v", op, dt, err)
			}
			if want(load(dt, one.p())) == nil {
				continue
			}
			checkUnary(t, rng, op, dt, out, func(v, got any) (any, bool) {
				w := want(v)
				if !dt.IsComplex() || same(got, w) {
					return w, same(got, w)
				}
				ok := nearComplex(got, w, dt)
				if x, is := v.(complex128); is && !ok && op == expr.Exp && !cmplx.IsInf(x) && !cmplx.IsNaN(x) {
					// cmplx.Exp itself has an error of 2 units of 2^-53
					w = bigmath.ComplexExp(x).Round()
					ok = nearComplex(got, w, dt)
				}
				return w, ok
			})
		}
	}
}

// nearComplex allows four roundings, normwise. If the reference is not finite or beyond the
// type's range, got must not be finite.
func nearComplex(got, want any, dt dtype.DType) bool {
	c := func(v any) complex128 {
		if f, ok := v.(float64); ok {
			return complex(f, 0)
		}
		return v.(complex128)
	}
	g, w := c(got), c(want)
	unit, tiny, top := 0x1p-53, 0x1p-1074, math.MaxFloat64
	if dt.Real() == dtype.Float32 {
		unit, tiny, top = 0x1p-24, 0x1p-149, math.MaxFloat32
	}
	if w-w != 0 || max(math.Abs(real(w)), math.Abs(imag(w))) > top {
		return g-g != 0
	}
	return cmplx.Abs(g-w) <= 4*unit*cmplx.Abs(w)+2*tiny
}

func TestTernary(t *testing.T) {
	rng := testrand.New(t)
	for _, op := range []expr.Op{expr.Where, expr.Clamp} {
		for _, dt := range dtype.All {
			xt := dt
			if op == expr.Where {
				xt = dtype.Bool
			}
			for _, shape := range shapes {
				var l [3]int
				for i := range l {
					l[i] = rng.IntN(len(arrangements))
				}
				ld := arrangements[rng.IntN(5)]
				x, y := arrangements[l[0]].make(xt, shape).randomize(rng), arrangements[l[1]].make(dt, shape).randomize(rng)
				z, d := arrangements[l[2]].make(dt, shape).randomize(rng), ld.make(dt, shape)
				err := Ternary(op, dt, shape, x.p(), x.strides, y.p(), y.strides, z.p(), z.strides, d.p(), d.strides)
				if op == expr.Clamp && (dt.IsComplex() || dt == dtype.Bool) {
					if !errors.Is(err, expr.ErrUnsupported) {
						t.Fatalf("%v of %v: %v", op, dt, err)
					}
					continue
				}
				if err != nil {
					t.Fatal(err)
				}
				a, b, c := x.values(), y.values(), z.values()
				for i, got := range d.values() {
					var want any
					switch {
					case op == expr.Clamp:
						want = exactBinary(expr.Minimum, dt, exactBinary(expr.Maximum, dt, a[i], b[i]), c[i])
					case a[i].(bool):
						want = b[i]
					default:
						want = c[i]
					}
					if !same(got, want) {
						t.Fatalf("%v of %v, shape %v, layouts %v to %s, element %d: of %v, %v, %v is %v, not %v", op, dt, shape, l, ld.name, i, a[i], b[i], c[i], got, want)
					}
				}
				if err := d.untouched(); err != nil {
					t.Fatalf("%v of %v %s: %v", op, dt, ld.name, err)
				}
			}
		}
	}
}
