package bfloat16

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
)

// TestRoundTrip takes every value to float32 and back.
func TestRoundTrip(t *testing.T) {
	for u := range 1 << 16 {
		b := FromBits(uint16(u))
		f := b.Float32()
		if want := math.Float32frombits(uint32(u) << 16); math.Float32bits(f) != math.Float32bits(want) {
			t.Fatalf("%#04x is %v, want %v", u, f, want)
		}
		back := FromFloat32(f)
		if b.IsNaN() {
			if !back.IsNaN() || back.Bits()>>15 != b.Bits()>>15 {
				t.Fatalf("NaN %#04x came back as %#04x", u, back.Bits())
			}
			continue
		}
		if back != b {
			t.Fatalf("%#04x came back as %#04x", u, back.Bits())
		}
	}
}

// TestRounding compares with math/big rounding to 8 bits, nearest even.
func TestRounding(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	r := rand.New(rand.NewPCG(seed, 0))
	check := func(f float32) {
		got := FromFloat32(f)
		var want float64
		if x := math.Abs(float64(f)); x >= 0x1p-126 {
			w, _ := new(big.Float).SetPrec(8).SetMode(big.ToNearestEven).SetFloat64(float64(f)).Float64()
			want = w
		} else {
			want = math.RoundToEven(float64(f)*0x1p133) * 0x1p-133
		}
		if math.Abs(want) > 0x1.fep127 {
			want = math.Inf(int(math.Copysign(1, want)))
		}
		if float64(got.Float32()) != want {
			t.Fatalf("%x became %v, want %v", f, got.Float32(), want)
		}
	}
	for range 200_000 {
		f := math.Float32frombits(r.Uint32())
		if f == f && !math.IsInf(float64(f), 0) {
			check(f)
		}
	}
	for _, f := range []float32{1 + 0x1p-8, 1 + 0x3p-8, -(1 + 0x1p-8), 0x1.ffp127, 0x1.fefffep127, 0x1p-149, 0x1p-134, 0x1.8p-133, 0} {
		check(f)
	}
}

func TestString(t *testing.T) {
	if s := FromFloat32(1.5).String(); s != "1.5" {
		t.Error(s)
	}
	if !FromFloat32(float32(math.Inf(-1))).IsInf(-1) || FromFloat32(1).IsInf(0) {
		t.Error("IsInf")
	}
}
