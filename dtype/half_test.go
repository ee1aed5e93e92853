package dtype

import (
	"math"
	"testing"
)

// TestHalf compares each type's bits with the values that IEEE 754's form gives them.
func TestHalf(t *testing.T) {
	for _, c := range []struct {
		dt       DType
		fraction int
		minimum  int
		infinity uint16
		nan      uint16
		one      uint16
	}{{Float16, 10, -14, 0x7c00, 0x7e00, 0x3c00}, {BFloat16, 7, -126, 0x7f80, 0x7fc0, 0x3f80}} {
		h, ok := c.dt.Half()
		if !ok || h.Fraction != c.fraction || h.MinExponent() != c.minimum || h.Infinity() != c.infinity || h.NaN() != c.nan || h.Round(1) != c.one {
			t.Fatalf("%v: %+v, infinity %#x, NaN %#x, 1 is %#x", c.dt, h, h.Infinity(), h.NaN(), h.Round(1))
		}
		for bits := range uint16(c.infinity) {
			fraction, exponent := float64(bits&(1<<c.fraction-1)), int(bits>>c.fraction)
			want := math.Ldexp(fraction, c.minimum-c.fraction)
			if exponent > 0 {
				want = math.Ldexp(fraction+float64(int(1)<<c.fraction), exponent-1+c.minimum-c.fraction)
			}
			if got := float64(h.Float32(bits)); got != want || h.Round(float32(want)) != bits {
				t.Fatalf("%v: bits %#x are %v, want %v, rounded to %#x", c.dt, bits, got, want, h.Round(float32(want)))
			}
		}
	}
	for _, dt := range All {
		if _, ok := dt.Half(); ok != dt.IsHalf() {
			t.Errorf("%v: Half %v, IsHalf %v", dt, ok, dt.IsHalf())
		}
		want := dt
		if dt == Float16 || dt == BFloat16 {
			want = Float32
		}
		if dt.ComputeType() != want {
			t.Errorf("%v is computed in %v, want %v", dt, dt.ComputeType(), want)
		}
		if got, err := Parse(dt.Short()); dt != Bool && (err != nil || got != dt) {
			t.Errorf("%v: Parse(%q) is %v, %v", dt, dt.Short(), got, err)
		}
	}
	if s := Bool.Short(); s != "bool" {
		t.Errorf("Bool is %q", s)
	}
}
