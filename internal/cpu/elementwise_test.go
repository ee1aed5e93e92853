package cpu

import (
	"errors"
	"math"
	"math/big"
	"math/cmplx"
	"math/rand/v2"
	"runtime"
	"slices"
	"strings"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/bigmath"
	"github.com/gpk-go/gpk/internal/testrand"
)

func addr[T any](v *T) unsafe.Pointer { return unsafe.Pointer(v) }

// binaryValue returns the reference result of an operation on real numbers: the exact result, rounded once.
func binaryValue(op expr.Op, t dtype.DType, a, b any) any {
	if isWhole(a) {
		x, y := bigOf(a), bigOf(b)
		of := map[expr.Op]func(z, x, y *big.Int) *big.Int{expr.Add: (*big.Int).Add, expr.Sub: (*big.Int).Sub, expr.Mul: (*big.Int).Mul}[op]
		return wrapTo(t, of(new(big.Int), x, y))
	}
	x, y := a.(float64), b.(float64)
	var v float64                        // settles specials and the sign of 0
	exact := new(big.Float).SetPrec(200) // enough to round once for products and quotients
	if op == expr.Add || op == expr.Sub {
		exact.SetPrec(2200)
	}
	p, q := new(big.Float), new(big.Float)
	finite := func(v float64) bool { return v-v == 0 }
	if finite(x) && finite(y) {
		p.SetFloat64(x)
		q.SetFloat64(y)
	}
	switch op {
	case expr.Add:
		v = x + y
		exact.Add(p, q)
	case expr.Sub:
		v = x - y
		exact.Sub(p, q)
	case expr.Mul:
		v = x * y
		exact.Mul(p, q)
	case expr.Div:
		v = x / y
		if finite(x) && finite(y) && y != 0 {
			exact.Quo(p, q)
		}
	}
	if !finite(x) || !finite(y) || exact.Sign() == 0 {
		return v
	}
	return roundTo(exact, t)
}

// complexValue returns the reference of the complex operations. It is exact, except for a final rounding to
// float64 if both operands are finite and y is not 0.
func complexValue(op expr.Op, a, b any) complex128 {
	x, y := a.(complex128), b.(complex128)
	switch op {
	case expr.Add:
		return x + y
	case expr.Sub:
		return x - y
	case expr.Mul:
		return x * y
	}
	if x-x != 0 || y-y != 0 || y == 0 {
		return x / y
	}
	exact := func(v float64) *big.Float { return new(big.Float).SetPrec(4400).SetFloat64(v) }
	mul := func(p, q float64) *big.Float { return exact(0).Mul(exact(p), exact(q)) }
	quo := func(n, d *big.Float) float64 {
		v, _ := new(big.Float).SetPrec(200).Quo(n, d).Float64()
		return v
	}
	p, q, r, s := real(x), imag(x), real(y), imag(y)
	den := exact(0).Add(mul(r, r), mul(s, s))
	return complex(quo(exact(0).Add(mul(p, r), mul(q, s)), den), quo(exact(0).Sub(mul(q, r), mul(p, s)), den))
}

// closeComplex allows an error of tol relative to scale. If want is not finite, got must
// not be finite either.
func closeComplex(got, want complex128, scale, tol float64) bool {
	if cmplx.IsNaN(want) || cmplx.IsInf(want) {
		return cmplx.IsNaN(got) || cmplx.IsInf(got)
	}
	return cmplx.Abs(got-want) <= tol*scale
}

var shapes = [][]int{{}, {0}, {1}, {2}, {15}, {600}, {4, 0}, {1, 9}, {17, 1}, {33, 70}, {3, 5, 64}, {2, 3, 2, 3, 2, 2, 2, 3}, {40, 3, 50}}

// repeats returns the number of random layouts that a test tries for each shape.
func repeats() int {
	if testing.Short() {
		return 1
	}
	return 3
}

func TestBinary(t *testing.T) {
	rng := testrand.New(t)
	for _, op := range []expr.Op{expr.Add, expr.Sub, expr.Mul, expr.Div} {
		for _, dt := range dtype.All {
			if dt == dtype.Bool || op == expr.Div && dt.IsInteger() {
				continue
			}
			for _, shape := range shapes {
				for range repeats() {
					la, lb, ld := arrangements[rng.IntN(len(arrangements))], arrangements[rng.IntN(len(arrangements))], arrangements[rng.IntN(5)]
					x, y, z := la.make(dt, shape).randomize(rng), lb.make(dt, shape).randomize(rng), ld.make(dt, shape)
					switch rng.IntN(6) { // in place
					case 0:
						if !la.readOnly {
							z = x.clone()
							x = z.clone()
						}
					}
					a, b := x.values(), y.values()
					px := x.p()
					if slices.Equal(x.bytes(), z.bytes()) {
						px = z.p()
					}
					if err := Binary(op, dt, dt, shape, px, x.strides, y.p(), y.strides, z.p(), z.strides); err != nil {
						t.Fatal(err)
					}
					for i, got := range z.values() {
						ok := false
						if dt.IsComplex() {
							want := complexValue(op, a[i], b[i])
							scale, tol := cmplx.Abs(want), 1e-15
							if op == expr.Mul {
								scale = cmplx.Abs(a[i].(complex128)) * cmplx.Abs(b[i].(complex128))
							}
							tiny := 0x1p-1074
							if dt == dtype.Complex64 {
								tol, tiny = 4e-7, 0x1p-149
								if v := complex64(want); cmplx.IsInf(complex128(v)) {
									want = complex128(v)
								}
							}
							if g := got.(complex128); !closeComplex(g, want, scale+2*tiny/tol, tol) {
								// Intermediate products near the end of the range may overflow.
								if scale < 0x1p125 {
									t.Fatalf("%v of %v %v with %v: %v, not %v", op, dt, a[i], b[i], got, want)
								}
							}
							continue
						}
						want := binaryValue(op, dt, a[i], b[i])
						if ok = same(got, want); !ok {
							t.Fatalf("%v of %v, shape %v, %s and %s to %s, element %d: %v with %v is %v, not %v", op, dt, shape, la.name, lb.name, ld.name, i, a[i], b[i], got, want)
						}
					}
					if err := z.untouched(); err != nil {
						t.Fatalf("%v of %v %s: %v", op, dt, ld.name, err)
					}
				}
			}
		}
	}
}

// TestComplexDivExtremes divides numbers for which the squares of the parts overflow or underflow.
func TestComplexDivExtremes(t *testing.T) {
	for _, c := range []struct{ x, y, want complex128 }{
		{complex(1e300, 1e300), complex(1e300, 1e300), 1},
		{complex(1e-300, 1e-300), complex(1e-300, 1e-300), 1},
		{complex(5e-324, 0), complex(5e-324, 0), 1},
		{complex(math.MaxFloat64, math.MaxFloat64), complex(2, 0), complex(math.MaxFloat64/2, math.MaxFloat64/2)},
		{complex(1, 1), complex(1e307, 1e-307), complex(1e-307, 1e-307)},
		{complex(3, 4), complex(0, 2), complex(2, -1.5)},
		{1, complex(math.Inf(1), 0), 0},
		{complex(0x1p1023, 0x1p-1023), complex(0x1p677, 0x1p-677), complex(0x1p346, -0x1p-1008)},
	} {
		got := div128(c.x, c.y)
		if cmplx.Abs(got-c.want) > 4e-16*cmplx.Abs(c.want) {
			t.Errorf("%v / %v = %v, not %v", c.x, c.y, got, c.want)
		}
	}
	for _, c := range []struct{ x, y, want complex64 }{
		{complex(1e38, 1e38), complex(1e38, 1e38), 1},
		{complex(1e-44, 1e-44), complex(1e-44, 0), 1 + 1i},
		{complex(1e30, -1e30), complex(1e-9, 1e-9), complex(0, float32(math.Inf(-1)))},
	} {
		if got := div64(c.x, c.y); got != c.want && !(cmplx.IsInf(complex128(c.want)) && cmplx.IsInf(complex128(got))) {
			t.Errorf("%v / %v = %v, not %v", c.x, c.y, got, c.want)
		}
	}
	for _, c := range []complex128{complex(0, 0), complex(math.Copysign(0, -1), 0)} {
		if got := div128(1+1i, c); !cmplx.IsInf(got) || math.Signbit(real(got)) != math.Signbit(real(c)) {
			t.Errorf("(1+i)/%v = %v", c, got)
		}
	}
}

// unaryValue returns the float64 reference of an operation, and whether the result must be exact.
func unaryValue(op expr.Op, t dtype.DType, v any) (want any, exact bool) {
	switch x := v.(type) {
	case int64, uint64:
		switch op {
		case expr.Neg:
			return binaryValue(expr.Sub, t, int64(0), x), true
		case expr.ReLU:
			return exactBinary(expr.Maximum, t, x, wrapTo(t, new(big.Int))), true
		}
	case complex128:
		if op == expr.Neg {
			return complex(-real(x), -imag(x)), true
		}
		return cmplx.Conj(x), true
	case float64:
		switch op {
		case expr.Neg:
			return -x, true
		case expr.Conj:
			return x, true
		case expr.ReLU:
			if x > 0 || x != x {
				return x, true
			}
			return 0.0, true
		case expr.GELU, expr.GELUTanh, expr.SiLU:
			limit := map[expr.Op]float64{expr.GELU: 40, expr.GELUTanh: 30, expr.SiLU: 760}[op]
			r := bigmath.Smooth[op]
			return unlessTiny(r.Near(x), r.Exact, x, limit), false
		}
	}
	return v, true
}

// unlessTiny returns v, the value of f at x. If x is so small that a factor of v may have
// been subnormal, and so of few digits, it evaluates f instead. Beyond limit, v is exactly 0.
func unlessTiny(v float64, f func(*big.Float) *big.Float, x, limit float64) float64 {
	if !(math.Abs(v) < 1e-290) || math.Abs(x) < 1 || math.Abs(x) > limit {
		return v
	}
	v, _ = f(bigmath.Of(x)).Float64()
	return v
}

func TestUnary(t *testing.T) {
	rng := testrand.New(t)
	for _, op := range []expr.Op{expr.Neg, expr.Conj, expr.ReLU, expr.GELU, expr.GELUTanh, expr.SiLU} {
		for _, dt := range dtype.All {
			x0 := dense(dt, []int{1})
			if err := Unary(op, dt, dt, nil, x0.p(), nil, x0.p(), nil); err != nil {
				if !errors.Is(err, expr.ErrUnsupported) {
					t.Fatal(err)
				}
				missing := dt == dtype.Bool && op != expr.Conj || op == expr.ReLU && dt.IsComplex() || op >= expr.GELU && !dt.IsFloat()
				if !missing {
					t.Errorf("%v of %v: %v", op, dt, err)
				}
				continue
			}
			checkUnary(t, rng, op, dt, dt, func(x, got any) (want any, ok bool) {
				want, exact := unaryValue(op, dt, x)
				if exact || same(got, want) {
					return want, same(got, want)
				}
				// one more rounding than exact, and float64's own error
				w, g := want.(float64), got.(float64)
				tol := map[dtype.DType]float64{dtype.Float32: 1e-7, dtype.Float64: 3e-13, dtype.Float16: 5e-4, dtype.BFloat16: 4e-3}[dt]
				tiny := map[dtype.DType]float64{dtype.Float32: 0x1p-149, dtype.Float64: 5e-324, dtype.Float16: 0x1p-24, dtype.BFloat16: 0x1p-133}[dt]
				return want, math.Abs(g-w) <= tol*math.Abs(w)+tiny || w != w && g != g || convertValue(w, dt) == g
			})
		}
	}
}

// checkUnary runs an operation from type dt to type out on operands of all shapes, in drawn arrangements. check
// returns the reference for an element, and whether a result is near enough to it.
func checkUnary(t *testing.T, rng *rand.Rand, op expr.Op, dt, out dtype.DType, check func(x, got any) (want any, ok bool)) {
	t.Helper()
	for _, shape := range shapes {
		lx, ld := arrangements[rng.IntN(len(arrangements))], arrangements[rng.IntN(5)]
		x, z := lx.make(dt, shape).randomize(rng), ld.make(out, shape)
		if err := Unary(op, dt, out, shape, x.p(), x.strides, z.p(), z.strides); err != nil {
			t.Fatal(err)
		}
		a := x.values()
		for i, got := range z.values() {
			if want, ok := check(a[i], got); !ok {
				t.Fatalf("%v of %v, shape %v, %s to %s, element %d: of %v is %v, not %v", op, dt, shape, lx.name, ld.name, i, a[i], got, want)
			}
		}
		if err := z.untouched(); err != nil {
			t.Fatalf("%v of %v %s: %v", op, dt, ld.name, err)
		}
	}
}

func TestUnsupported(t *testing.T) {
	var v [16]byte
	p := addr(&v)
	for _, c := range []struct {
		name string
		err  error
	}{
		{"Div of int32", Binary(expr.Div, dtype.Int32, dtype.Int32, nil, p, nil, p, nil, p, nil)},
		{"Add of Bool", Binary(expr.Add, dtype.Bool, dtype.Bool, nil, p, nil, p, nil, p, nil)},
		{"Add to another type", Binary(expr.Add, dtype.Float32, dtype.Float64, nil, p, nil, p, nil, p, nil)},
		{"Neg as binary", Binary(expr.Neg, dtype.Float32, dtype.Float32, nil, p, nil, p, nil, p, nil)},
		{"Add as unary", Unary(expr.Add, dtype.Float32, dtype.Float32, nil, p, nil, p, nil)},
		{"GELU of int8", Unary(expr.GELU, dtype.Int8, dtype.Int8, nil, p, nil, p, nil)},
		{"Sum of float32 as float64", Reduce(expr.Sum, dtype.Float32, dtype.Float64, nil, 0, p, nil, p)},
		{"Add as reduction", Reduce(expr.Add, dtype.Float32, dtype.Float32, nil, 0, p, nil, p)},
		{"Arange of integers in float64", Arange(dtype.Int32, 1, 0, 1, p)},
		{"ArangeInt of floats", ArangeInt(dtype.Float32, 1, 0, 1, p)},
	} {
		if !errors.Is(c.err, expr.ErrUnsupported) || !strings.Contains(c.err.Error(), "on the CPU") {
			t.Errorf("%s: %v", c.name, c.err)
		}
	}
}

// TestElementwiseParallel compares large operations at several GOMAXPROCS.
func TestElementwiseParallel(t *testing.T) {
	rng := testrand.New(t)
	shape := []int{151, 499}
	for _, lx := range arrangements {
		x, y := lx.make(dtype.Float32, shape).randomize(rng), dense(dtype.Float32, shape).randomize(rng)
		var first []byte
		for _, procs := range []int{1, 2, 5} {
			old := runtime.GOMAXPROCS(procs)
			z := dense(dtype.Float32, shape)
			err := Binary(expr.Mul, dtype.Float32, dtype.Float32, shape, x.p(), x.strides, y.p(), y.strides, z.p(), z.strides)
			runtime.GOMAXPROCS(old)
			if err != nil {
				t.Fatal(err)
			}
			if first == nil {
				first = z.bytes()
				a, b := x.values(), y.values()
				for i, got := range z.values() {
					if want := convertValue(a[i].(float64)*b[i].(float64), dtype.Float32); !same(got, want) {
						t.Fatalf("%s, element %d: %v, not %v", lx.name, i, got, want)
					}
				}
			} else if !slices.Equal(first, z.bytes()) {
				t.Errorf("%s: the result at GOMAXPROCS %d is another than at 1", lx.name, procs)
			}
		}
	}
}
