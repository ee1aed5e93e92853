package gpktest

import (
	"math"
	"math/cmplx"
	"slices"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/bigmath"
	"github.com/gpk-go/gpk/ops"
	"github.com/x448/float16"
)

// everyHalf returns all 65,536 values of a half type in the order of their bits.
func everyHalf(dt gpk.DType) (x tensor, a *gpk.Array) {
	x = tensor{dt: dt, shape: []int{1 << 16}, values: make([]complex128, 1<<16)}
	if dt == gpk.BFloat16 {
		data := make([]bfloat16.BFloat16, 1<<16)
		for i := range data {
			data[i] = bfloat16.FromBits(uint16(i))
			x.values[i] = complex(float64(data[i].Float32()), 0)
		}
		return x, gpk.FromSlice(data)
	}
	data := make([]float16.Float16, 1<<16)
	for i := range data {
		data[i] = float16.Frombits(uint16(i))
		x.values[i] = complex(float64(data[i].Float32()), 0)
	}
	return x, gpk.FromSlice(data)
}

// testHalves computes all unary operations of every value of both half types, alone and at
// the end of a chain, and casts the values to all types. It also casts float32 numbers to
// both types: every half, every tie between two of them, and the numbers next to these.
func testHalves(t *testing.T, s *suite) {
	step := 1
	if quick() {
		step = 37 // the references take their time
	}
	square := func(x float64) float64 { return x * x } // also for infinity, which has no complex square
	reference := map[expr.Op]func(x float64) float64{expr.Square: square, expr.AbsSquare: square}
	for _, c := range smoothFunctions {
		reference[c.op] = bigmath.Smooth[c.op].Near
	}
	for _, dt := range []gpk.DType{gpk.Float16, gpk.BFloat16} {
		digits, least := 11, -24
		if dt == gpk.BFloat16 {
			digits, least = 8, -133
		}
		x, a := everyHalf(dt)
		for i := range ops.Table {
			row := &ops.Table[i]
			if row.Kind != ops.Unary || !slices.Contains(row.Types, dt) {
				continue
			}
			f := reference[row.Op]
			if f == nil {
				f = func(v float64) float64 {
					if w := row.Reference(complex(v, 0), 0); imag(w) == 0 {
						return real(w)
					}
					return math.NaN() // no real answer
				}
			}
			most := 0.51 // one rounding, and the error of float32 before it
			if row.Op == expr.GELU && s.dev.Kind() == device.CUDA && dt == gpk.BFloat16 {
				most = 0.66 // a shorter polynomial: docs/accuracy.md
			}
			if row.Op.IsFunction() {
				s.halfFunction(t, row, x, a)
				continue
			}
			got := evaluate(t, unaryMethods[row.Op](a))
			worst := across((1<<15+step-1)/step, func(k int) (float64, float64) {
				k *= step
				v := real(x.values[k])
				want := f(v)
				u := ulps(real(got.values[k]), want, digits, least)
				switch row.Op { // odd and even: the reference of large angles is slow
				case expr.Sin:
					want = -want
				case expr.Cos:
				default:
					want = f(-v)
				}
				return max(u, ulps(real(got.values[1<<15+k]), want, digits, least)), v
			})
			t.Logf("%v of %v: %.4f ulp at %v or its negative", row.Op, dt, worst.ulp, worst.at)
			if !(worst.ulp <= most) {
				t.Errorf("%v of %v: %.4f ulp at %v or its negative, at most %v", row.Op, dt, worst.ulp, worst.at, most)
			}
			inChain(t, row, x, a, got)
		}
		for _, to := range allTypes {
			got, what := evaluate(t, a.Cast(to)), name(dt, to)
			for i := 0; i < 1<<16; i += step {
				s.castElement(t, what, dt, to, x, got, i)
			}
		}

		// A tie lies between two neighbours of one sign. For the largest number, the first
		// number beyond the range takes the neighbour's place.
		var values []float32
		for i, v := range x.values {
			low := real(v)
			if math.IsNaN(low) || math.IsInf(low, 0) {
				values = append(values, float32(low))
				continue
			}
			_, e := math.Frexp(low)
			unit := math.Ldexp(1, max(e-digits, least))
			if i < 1<<15 {
				unit = math.Copysign(unit, 1)
			} else {
				unit = -unit
			}
			tie := float32(low + unit/2)
			inf := float32(math.Inf(1))
			values = append(values, float32(low), tie, math.Nextafter32(tie, inf), math.Nextafter32(tie, -inf), math.Nextafter32(float32(low), inf), math.Nextafter32(float32(low), -inf))
		}
		y := tensor{dt: gpk.Float32, shape: []int{len(values)}, values: make([]complex128, len(values))}
		for i, v := range values {
			y.values[i] = complex(float64(v), 0)
		}
		got, what := evaluate(t, gpk.FromSlice(values).Cast(dt)), name("about a tie", dt)
		for i := 0; i < len(values); i += step {
			s.castElement(t, what, gpk.Float32, dt, y, got, i)
			if math.Signbit(real(got.values[i])) != math.Signbit(float64(values[i])) && values[i] == values[i] {
				t.Fatalf("%v of %v has lost its sign", dt, values[i])
			}
		}
	}
}

// inChain compares a result with that of the operation within a chain.
func inChain(t *testing.T, row *ops.Row, x tensor, a *gpk.Array, got tensor) {
	t.Helper()
	chain := evaluate(t, unaryMethods[row.Op](gpk.Where(a.Ne(0), a, a)).Conj())
	if k := differ(chain, got); k >= 0 {
		t.Errorf("%v of %v %v is %v, in a chain %v", row.Op, x.dt, x.values[k], got.at(k), chain.at(k))
	}
}

// halfFunction tries a function on every value of a half type. Its reference is float64: of
// a float32's error it makes less than a hundredth of a half's unit.
func (s *suite) halfFunction(t *testing.T, row *ops.Row, x tensor, a *gpk.Array) {
	t.Helper()
	got := evaluate(t, unaryMethods[row.Op](a))
	step := 1
	if quick() {
		step = 37
	}
	signless := s.dev.Kind() == device.CUDA && x.dt == gpk.Float16 // a GPU's conversion gives every NaN the sign +
	worst := across(len(x.values)/step, func(k int) (float64, float64) {
		k *= step
		want := row.Reference(x.values[k], 0)
		if row.Op == expr.SignBit && signless && cmplx.IsNaN(x.values[k]) {
			want = 0
		}
		switch {
		case imag(want) != 0:
			want = complex(math.NaN(), 0)
		case exact(got.dt):
			return math.Abs(float64(got.ints[k]) - real(want)), real(x.values[k])
		}
		v := real(want)
		c := functionCase{args: []float64{real(x.values[k])}, high: v}
		g := real(got.values[k])
		if v == g || v != v && g != g {
			return 0, 0
		}
		return c.units(row, x.dt, g), c.args[0]
	})
	t.Logf("%v of %v: %.4f ulp at %v", row.Op, x.dt, worst.ulp, worst.at)
	if !(worst.ulp <= 0.5+(row.Error.Float32+2)*math.Ldexp(1, digitsOf[x.dt][0]-24)) {
		t.Errorf("%v of %v: %.4f ulp at %v", row.Op, x.dt, worst.ulp, worst.at)
	}
	inChain(t, row, x, a, got)
}
