package gpktest

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// epsilon is half a unit in the last place of 1, the error of one rounding.
var epsilon = map[gpk.DType]float64{
	gpk.Float32: 0x1p-24, gpk.Float64: 0x1p-53, gpk.Float16: 0x1p-11, gpk.BFloat16: 0x1p-8,
	gpk.Complex64: 0x1p-24, gpk.Complex128: 0x1p-53,
}

// roundings returns the bound of a result's error, in units of epsilon times its
// magnitude: 1 for a correctly rounded operation.
func roundings(op expr.Op, dt gpk.DType) float64 {
	if e := ops.Lookup(op).Error; op.IsFunction() && e.Float64 > 0 {
		if dt.IsFloat() && epsilon[dt] > epsilon[gpk.Float32] {
			return 1.01
		}
		return 2*e.Units(dt) + 4 // two epsilon are an ulp; and the reference's own error
	}
	switch {
	case op == expr.GELU || op == expr.GELUTanh || op == expr.SiLU:
		if dt == gpk.Float64 {
			return 8 // the reference is float64 too, and no better than the kernel
		}
		return 5
	case dt.IsComplex() && (op == expr.Mul || op == expr.Div || op == expr.Square || op == expr.Sqrt || op == expr.Exp || op == expr.Log || op == expr.Sin || op == expr.Cos || op == expr.Pow):
		return 8 // normwise: a part may cancel
	case op == expr.AbsSquare && dt.IsComplex():
		return 3
	case op == expr.Sigmoid && dt == gpk.Float64:
		return 6 // the reference is no better than the kernel
	case op == expr.Pow && dt == gpk.Float64:
		return 16 // again, the reference is no better than the kernel
	case op >= expr.Rsqrt && op <= expr.Sigmoid || op == expr.Pow || op == expr.Abs && dt.IsComplex():
		if dt.IsFloat() && epsilon[dt] > epsilon[gpk.Float32] {
			return 1.01 // one rounding, and the error of float32
		}
		return 5 // 2 ulp, and the reference's own error
	}
	return 1
}

// testElementwise tries every row of the table on every type it has a meaning
// for, dense, strided, transposed, broadcast and with numbers.
func testElementwise(t *testing.T, s *suite) {
	for i := range ops.Table {
		row := &ops.Table[i]
		strided := []int{3, 33, 41}
		if quick() && row.Op.IsFunction() {
			strided = []int{3, 9, 11} // their kernels are alike
		}
		for _, dt := range row.Types {
			switch row.Kind {
			case ops.Unary:
				method, ok := unaryMethods[row.Op]
				if !ok {
					t.Fatalf("%v: no method is tested", row.Op)
				}
				for _, shape := range [][]int{{}, {0}, {1}, {7}, {1003}, {33, 65}, {3, 5, 7}, {70001}} {
					if quick() && row.Op.IsFunction() && size(shape) > 1<<16 {
						continue
					}
					x := s.random(dt, shape...)
					s.near(t, name(row.Op, dt, shape), row, evaluate(t, method(x.array())), x, tensor{}, shape)
				}
				for _, f := range arrangements {
					x := s.random(dt, strided...)
					s.near(t, name(row.Op, dt, f.name), row, evaluate(t, method(f.make(s, x))), x, tensor{}, x.shape)
				}
			case ops.Binary:
				method, ok := binaryMethods[row.Op]
				if !ok {
					t.Fatalf("%v: no method is tested", row.Op)
				}
				for _, c := range []struct{ a, b, out []int }{
					{[]int{}, []int{}, []int{}},
					{[]int{0}, []int{1}, []int{0}},
					{[]int{1003}, []int{1003}, []int{1003}},
					{[]int{65, 33}, []int{33}, []int{65, 33}},
					{[]int{65, 1}, []int{1, 33}, []int{65, 33}},
					{[]int{65, 33}, []int{65, 1}, []int{65, 33}},
					{[]int{4, 1, 6, 1}, []int{3, 1, 5}, []int{4, 3, 6, 5}},
					{[]int{70001}, []int{1}, []int{70001}},
				} {
					if quick() && row.Op.IsFunction() && size(c.out) > 1<<16 {
						continue
					}
					a := s.random(dt, c.a...)
					b := s.second(row.Op, a, c.b)
					got := evaluate(t, method(a.array(), b.array()))
					s.near(t, name(row.Op, dt, c.a, c.b), row, got, a, b, c.out)
				}
				for i, fa := range arrangements {
					fb := arrangements[(i*5+1)%len(arrangements)]
					a := s.random(dt, strided...)
					b := s.second(row.Op, a, a.shape)
					s.near(t, name(row.Op, dt, fa.name, fb.name), row, evaluate(t, method(fa.make(s, a), fb.make(s, b))), a, b, a.shape)
				}
				s.numbers(t, row, method, dt)
			}
		}
	}
}

// nonzero returns random elements other than zero, for divisors.
func (s *suite) nonzero(dt gpk.DType, shape ...int) tensor {
	x := s.random(dt, shape...)
	for i, v := range x.values {
		if v == 0 {
			x.values[i] = 1
		}
	}
	return x
}

// second returns a second operand for a. Some of its elements equal those of a. Shift
// counts, and exponents of integers, are small.
func (s *suite) second(op expr.Op, a tensor, shape []int) tensor {
	b := s.nonzero(a.dt, shape...)
	for i := range size(shape) {
		switch {
		case exact(a.dt) && (op == expr.Pow || op == expr.Shl || op == expr.Shr):
			b.ints[i] = int64(s.rng.IntN(70))
			if !a.dt.IsUnsigned() {
				b.ints[i] -= 3
			}
		case size(a.shape) == 0 || op == expr.Div || s.rng.IntN(4) != 0:
		case exact(a.dt):
			b.ints[i] = a.ints[i%len(a.ints)]
		default:
			b.values[i] = a.values[i%len(a.values)]
		}
	}
	return b
}

// numbers tries a Go number as either operand.
func (s *suite) numbers(t *testing.T, row *ops.Row, method func(a, b any) *gpk.Array, dt gpk.DType) {
	x := s.nonzero(dt, 5, 9)
	if dt == gpk.Bool {
		yes := tensor{dt: dt, shape: []int{}, ints: []int64{1}}
		s.near(t, name(row.Op, dt, "number right"), row, evaluate(t, method(x.array(), true)), x, yes, x.shape)
		s.near(t, name(row.Op, dt, "number left"), row, evaluate(t, method(true, x.array())), yes, x, x.shape)
		return
	}
	three := tensor{dt: dt, shape: []int{}, values: []complex128{3}, ints: []int64{3}}
	s.near(t, name(row.Op, dt, "number right"), row, evaluate(t, method(x.array(), 3)), x, three, x.shape)
	s.near(t, name(row.Op, dt, "number left"), row, evaluate(t, method(int8(3), x.array())), three, x, x.shape)
	if dt.IsComplex() {
		i := tensor{dt: dt, shape: []int{}, values: []complex128{2 - 3i}}
		s.near(t, name(row.Op, dt, "complex right"), row, evaluate(t, method(x.array(), 2-3i)), x, i, x.shape)
		s.near(t, name(row.Op, dt, "complex left"), row, evaluate(t, method(2-3i, x.array())), i, x, x.shape)
	}
	if !exact(dt) {
		half := tensor{dt: dt, shape: []int{}, values: []complex128{-0.5}}
		s.near(t, name(row.Op, dt, "fraction"), row, evaluate(t, method(x.array().T(), -0.5)), transposed(x), half, []int{9, 5})
	}
}

// near compares a result with the row's reference.
func (s *suite) near(t *testing.T, what string, row *ops.Row, got, a, b tensor, shape []int) {
	t.Helper()
	if fmt.Sprint(got.shape) != fmt.Sprint(shape) {
		t.Fatalf("%s: shape %v, want %v", what, got.shape, shape)
	}
	i := 0
	binary := row.Kind == ops.Binary
	index(shape, func(ix []int) {
		p, q := at(a.shape, ix), 0
		if binary {
			q = at(b.shape, ix)
		}
		if exact(a.dt) {
			var y int64
			if binary {
				y = b.ints[q]
			}
			if want := integerResult(row, a.dt, a.ints[p], y); got.ints[i] != want {
				t.Fatalf("%s: element %v is %d, want %d", what, ix, got.ints[i], want)
			}
		} else {
			var y complex128
			if binary {
				y = b.values[q]
			}
			want := row.Reference(a.values[p], y)
			if !a.dt.IsComplex() && imag(want) != 0 {
				want = cmplx.NaN() // no real answer
			}
			if exact(got.dt) {
				if got.ints[i] != int64(real(want)) {
					t.Fatalf("%s: element %v of %v, %v is %d, want %v", what, ix, a.values[p], y, got.ints[i], want)
				}
				i++
				return
			}
			if cmplx.IsNaN(want) && cmplx.IsNaN(got.values[i]) {
				i++
				return
			}
			if rounded := round(got.dt, want); cmplx.IsInf(rounded) && got.values[i] == rounded {
				i++ // beyond the type's range
				return
			}
			units := roundings(row.Op, a.dt)
			if a.dt == gpk.Float64 && (row.Op == expr.GELU || row.Op == expr.GELUTanh || row.Op == expr.SiLU) {
				// The reference is float64 too, and exp carries the rounding of
				// its argument, which grows as x^2 to x^3, into the result.
				units *= 1 + math.Abs(real(a.values[p]*a.values[p]*a.values[p]))
			}
			size := cmplx.Abs(want)
			switch {
			case row.Error.FromOne:
				size = max(size, 1, cmplx.Abs(a.values[p]))
			case a.dt.IsComplex() && row.Op == expr.Log:
				size++ // cmplx.Log cancels near 1
			case a.dt.IsComplex() && row.Op == expr.Pow && a.values[p] != 0:
				units *= 1 + cmplx.Abs(y*cmplx.Log(a.values[p])) // the error of the exponential's argument
			}
			bound := units*epsilon[got.dt]*size + smallest(got.dt)
			if d := cmplx.Abs(got.values[i] - want); !(d <= bound) {
				t.Fatalf("%s: element %v of %v, %v is %v, want %v: off by %.3g, bound %.3g", what, ix, a.values[p], y, got.values[i], want, d, bound)
			}
		}
		i++
	})
}

// smallest returns half the spacing of subnormals, which is the error of rounding one.
func smallest(dt gpk.DType) float64 {
	switch dt {
	case gpk.Float16:
		return 0x1p-25
	case gpk.BFloat16:
		return 0x1p-134
	case gpk.Float32, gpk.Complex64:
		return 0x1p-150 * 2
	}
	return 0x1p-1074
}

// integerResult returns the exact result of an operation on integers or Bool, converted
// to the result type.
func integerResult(row *ops.Row, dt gpk.DType, x, y int64) int64 {
	width := int64(8 * dt.Size())
	truth := func(b bool) int64 {
		if b {
			return 1
		}
		return 0
	}
	if row.Op.IsFunction() {
		v := real(row.Reference(complex(float64(x), 0), complex(float64(y), 0)))
		if math.IsNaN(v) || math.IsInf(v, 0) {
			v = 0 // a division by 0
		}
		return wrap(dt, int64(v))
	}
	switch row.Op {
	case expr.Neg:
		x = -x
	case expr.Not:
		if x = ^x; dt == gpk.Bool {
			x &= 1
		}
	case expr.Abs:
		x = max(x, -x)
	case expr.Sign:
		x = truth(x > 0) - truth(x < 0)
	case expr.Square, expr.AbsSquare:
		x *= x
	case expr.Imag:
		x = 0
	case expr.ReLU:
		x = max(x, 0)
	case expr.Add:
		x += y
	case expr.Sub:
		x -= y
	case expr.Mul:
		x *= y
	case expr.Pow:
		x = power(x, y)
	case expr.Maximum:
		x = max(x, y)
	case expr.Minimum:
		x = min(x, y)
	case expr.And:
		x &= y
	case expr.Or:
		x |= y
	case expr.Xor:
		x ^= y
	case expr.Shl:
		if x <<= uint64(y); y < 0 || y >= width {
			x = 0
		}
	case expr.Shr:
		if y < 0 || y >= width {
			y = 63
		}
		x >>= uint64(y)
	case expr.Eq:
		return truth(x == y)
	case expr.Ne:
		return truth(x != y)
	case expr.Lt:
		return truth(x < y)
	case expr.Le:
		return truth(x <= y)
	case expr.Gt:
		return truth(x > y)
	case expr.Ge:
		return truth(x >= y)
	}
	if dt == gpk.Bool {
		return x
	}
	return wrap(dt, x)
}

// power multiplies y times; if y is negative, it returns the integer part of the
// fraction.
func power(x, y int64) int64 {
	p := int64(1)
	switch {
	case y >= 0:
		for range y {
			p *= x
		}
	case x == 1 || x == -1:
		for range -y {
			p *= x
		}
	default:
		p = 0
	}
	return p
}

func same(a, b float64) bool { return a == b || math.IsNaN(a) && math.IsNaN(b) }
