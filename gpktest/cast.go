package gpktest

import (
	"math"
	"testing"

	gpk "github.com/gpk-go/gpk"
)

// testCast converts every type to every other, strided too, with ties,
// overflow, NaN and infinities among the values.
func testCast(t *testing.T, s *suite) {
	for _, from := range allTypes {
		x := s.random(from, 37, 29)
		for i, v := range []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 1e30, -1e30, 255.5, -128.5, 127.5, 65519, 65520, 0x1p-24, 0x1p-25, 0x1.8p-24, 1 + 0x1p-9, 1 + 0x3p-9, 0x1p62, 0x1p63, 0x1.8p63, 1e-40, 3e9, -1} {
			if !exact(from) {
				x.values[i*7] = round(from, complex(v, 0))
			}
		}
		for _, to := range allTypes {
			for _, f := range arrangements {
				got := evaluate(t, f.make(s, x).Cast(to))
				for i := range size(x.shape) {
					s.castElement(t, name(from, to, f.name), from, to, x, got, i)
				}
			}
		}
	}
}

func (s *suite) castElement(t *testing.T, what string, from, to gpk.DType, x, got tensor, i int) {
	t.Helper()
	var v complex128
	if exact(from) {
		v = complex(float64(x.ints[i]), 0)
	} else {
		v = x.values[i]
	}
	if exact(to) {
		want := int64(0)
		switch {
		case exact(from):
			want = wrapOrSaturate(to, x.ints[i])
		case to == gpk.Bool:
			if v != 0 {
				want = 1
			}
		default:
			want = saturate(to, real(v))
		}
		if got.ints[i] != want {
			t.Fatalf("%s: %v became %d, want %d", what, v, got.ints[i], want)
		}
		return
	}
	if !to.IsComplex() {
		v = complex(real(v), 0)
	}
	want := round(to, v)
	g := got.values[i]
	if same(real(g), real(want)) && same(imag(g), imag(want)) {
		return
	}
	t.Fatalf("%s: %v became %v, want %v", what, v, g, want)
}

// wrapOrSaturate converts an integer to another integer type or Bool: casts saturate.
func wrapOrSaturate(to gpk.DType, v int64) int64 {
	if to == gpk.Bool {
		if v != 0 {
			return 1
		}
		return 0
	}
	lo, hi := bounds(to)
	return min(max(v, lo), hi)
}

// bounds returns the least and the greatest number of an integer type, of Uint64 the
// greatest that int64 holds.
func bounds(dt gpk.DType) (lo, hi int64) {
	hi = math.MaxInt64
	switch bits := 8 * dt.Size(); {
	case dt.IsUnsigned() && bits < 64:
		return 0, 1<<bits - 1
	case dt.IsUnsigned():
		return 0, hi
	default:
		hi >>= 64 - bits
	}
	return -hi - 1, hi
}

// saturate truncates a float towards zero into the range of an integer type;
// NaN is 0.
func saturate(to gpk.DType, v float64) int64 {
	lo, hi := bounds(to)
	v = math.Trunc(v)
	switch {
	case math.IsNaN(v):
		return 0
	case v <= float64(lo):
		return lo
	case to == gpk.Uint64 && v >= 0x1p64:
		return -1
	case to == gpk.Uint64 && v >= 0x1p63:
		return int64(uint64(v))
	case v >= float64(hi):
		return hi
	}
	return int64(v)
}
