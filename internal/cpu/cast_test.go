package cpu

import (
	"math"
	"math/big"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/gpk-go/gpk/internal/testrand"
	"github.com/x448/float16"
)

// convertValue returns the reference of Cast: it converts v, a value from load, to type
// to.
func convertValue(v any, to dtype.DType) any {
	if to.IsComplex() {
		if c, ok := v.(complex128); ok {
			return complex(convertValue(real(c), to.Real()).(float64), convertValue(imag(c), to.Real()).(float64))
		}
		return complex(convertValue(v, to.Real()).(float64), 0)
	}
	if to == dtype.Bool {
		switch v := v.(type) {
		case bool:
			return v
		case int64:
			return v != 0
		case uint64:
			return v != 0
		case float64:
			return v != 0
		}
		return v != complex128(0)
	}
	switch x := v.(type) {
	case bool:
		if x {
			return convertValue(int64(1), to)
		}
		return convertValue(int64(0), to)
	case complex128:
		return convertValue(real(x), to)
	}
	if to.IsInteger() {
		lo, hi := rangeOf(to)
		exact := new(big.Int)
		switch x, _ := v.(float64); {
		case isWhole(v):
			exact = bigOf(v)
		case x != x: // 0
		case math.IsInf(x, 1):
			exact = hi
		case math.IsInf(x, -1):
			exact = lo
		default:
			big.NewFloat(x).Int(exact)
		}
		if exact.Cmp(lo) < 0 {
			exact = lo
		} else if exact.Cmp(hi) > 0 {
			exact = hi
		}
		return wrapTo(to, exact)
	}
	// To a real float: round the exact value once.
	f, ok := v.(float64)
	if ok && (f == 0 || f != f || math.IsInf(f, 0)) {
		return f
	}
	exact := new(big.Float).SetPrec(100)
	if ok {
		exact.SetFloat64(f)
	} else {
		exact.SetInt(bigOf(v))
	}
	return roundTo(exact, to)
}

// roundTo rounds an exact value to a real floating-point type, by counting the
// bits that its exponent leaves.
func roundTo(v *big.Float, t dtype.DType) float64 {
	if v.Sign() == 0 {
		return 0
	}
	format := map[dtype.DType]struct{ bits, min, max int }{
		dtype.Float32: {24, -126, 127}, dtype.Float64: {53, -1022, 1023}, dtype.Float16: {11, -14, 15}, dtype.BFloat16: {8, -126, 127},
	}[t]
	e := max(v.MantExp(nil)-1, format.min) - (format.bits - 1) // exponent of the last place
	scaled := new(big.Float).SetMantExp(v, -e)
	n, _ := scaled.Int(nil)
	rest := new(big.Float).SetPrec(200).Sub(scaled, new(big.Float).SetInt(n))
	half := rest.Abs(rest).Cmp(big.NewFloat(0.5))
	if half > 0 || half == 0 && n.Bit(0) == 1 {
		n.Add(n, big.NewInt(int64(v.Sign())))
	}
	r, _ := new(big.Float).SetMantExp(new(big.Float).SetInt(n), e).Float64()
	if math.Abs(r) >= math.Ldexp(2, format.max) {
		return math.Inf(v.Sign())
	}
	if r == 0 {
		return math.Copysign(0, float64(v.Sign()))
	}
	return r
}

func TestCast(t *testing.T) {
	rng := testrand.New(t)
	shapes := [][]int{{}, {0}, {1}, {7}, {700}, {3, 0, 2}, {5, 17}, {33, 65}, {2, 37, 40}}
	for _, from := range dtype.All {
		for _, to := range dtype.All {
			for _, shape := range shapes {
				src, dst := arrangements[rng.IntN(len(arrangements))], arrangements[rng.IntN(5)]
				x, y := src.make(from, shape).randomize(rng), dst.make(to, shape)
				if err := Cast(from, to, shape, x.p(), x.strides, y.p(), y.strides); err != nil {
					t.Fatal(err)
				}
				in, out := x.values(), y.values()
				for i := range in {
					if want := convertValue(in[i], to); !same(out[i], want) {
						t.Fatalf("%v %s to %v %s, shape %v, element %d: %v became %v, not %v", from, src.name, to, dst.name, shape, i, in[i], out[i], want)
					}
				}
				if err := y.untouched(); err != nil {
					t.Fatalf("%v to %v %s, shape %v: %v", from, to, dst.name, shape, err)
				}
			}
		}
	}
}

func TestHalfConversions(t *testing.T) {
	for i := range 1 << 16 {
		h := uint16(i)
		f := halfToFloat(h)
		want := float16.Frombits(h).Float32()
		if f != f && want != want {
			if !float16.Frombits(floatToHalf(f)).IsNaN() || math.Signbit(float64(f)) != (h>>15 != 0) {
				t.Errorf("float16 %04x: NaN came back as %04x", h, floatToHalf(f))
			}
		} else if f != want || math.Signbit(float64(f)) != math.Signbit(float64(want)) {
			t.Errorf("float16 %04x is %g, not %g", h, f, want)
		} else if floatToHalf(f) != h {
			t.Errorf("float16 %04x came back as %04x", h, floatToHalf(f))
		}
		g := bfloat16ToFloat(h)
		if math.Float32bits(g) != uint32(h)<<16 {
			t.Errorf("bfloat16 %04x is %g", h, g)
		}
		// Every tie and its two neighbours, and the value itself.
		for _, low := range []uint32{0, 1, 0x0fff, 0x1000, 0x1001, 0x1fff, 0x2fff, 0x3000, 0x3001, 0x7fff, 0x8000, 0x8001, 0xffff} {
			v := math.Float32frombits(uint32(h)<<16 | low)
			if got, want := floatToHalf(v), float16.Fromfloat32(v).Bits(); got != want {
				t.Errorf("%g (%08x) to float16: %04x, not %04x", v, math.Float32bits(v), got, want)
			}
			if got, want := floatToBFloat16(v), bfloat16.FromFloat32(v).Bits(); got != want {
				t.Errorf("%g (%08x) to bfloat16: %04x, not %04x", v, math.Float32bits(v), got, want)
			}
		}
	}
}

// TestRoundOnce casts values that rounding twice, to float32 and then to the half, would
// round to another result.
func TestRoundOnce(t *testing.T) {
	for _, v := range []float64{1 + 0x1p-11 + 0x1p-40, 1 + 0x1p-8 + 0x1p-40, 0x1p-25 + 0x1p-70, 65519.99999999, 0x1.feffffffp127, 1e-320, 1e300, math.MaxFloat64} {
		for _, s := range []float64{v, -v} {
			if got, want := float64(halfToFloat(floatToHalf(roundToOdd(s)))), roundTo(big.NewFloat(s), dtype.Float16); got != want {
				t.Errorf("%x to float16: %x, not %x", s, got, want)
			}
			if got, want := float64(bfloat16ToFloat(floatToBFloat16(roundToOdd(s)))), roundTo(big.NewFloat(s), dtype.BFloat16); got != want {
				t.Errorf("%x to bfloat16: %x, not %x", s, got, want)
			}
		}
	}
}

func TestCastRejects(t *testing.T) {
	var v [16]byte
	if err := Cast(dtype.Invalid, dtype.Float32, nil, addr(&v), nil, addr(&v), nil); err == nil {
		t.Error("Cast from an invalid type gave no error")
	}
}
