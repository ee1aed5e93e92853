package cpu

import (
	"math"
	"math/big"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestFMA32 compares the bits of fma32 with math/big, including sums that, rounded to float64, lie halfway between two
// float32, and subnormal results.
func TestFMA32(t *testing.T) {
	rng := testrand.New(t)
	word := func() float32 {
		x := math.Float32frombits(rng.Uint32()&^(0xff<<23) | uint32(64+rng.IntN(128))<<23)
		if rng.IntN(2) == 0 {
			x = math.Float32frombits(math.Float32bits(x) &^ (1<<uint(rng.IntN(24)) - 1)) // few bits: exact products, and ties
		}
		return x
	}
	differ := 0
	for range 300_000 {
		x, y, z := word(), word(), word()
		switch rng.IntN(4) {
		case 0: // near -x y
			z = -x * y * (1 + float32(rng.IntN(5)-2)*0x1p-23)
		case 1: // far below the product's last bit: it decides ties
			z = float32(math.Ldexp(math.Copysign(float64(x*y), float64(z)), -24-rng.IntN(40)))
		case 2: // a subnormal result
			x *= float32(math.Ldexp(1, -60-rng.IntN(8)))
			y *= 0x1p-64
			z = float32(math.Ldexp(float64(z), -100-rng.IntN(30)))
		}
		if p := x * y * z; p-p != 0 || z-z != 0 {
			continue
		}
		exact := new(big.Float).SetPrec(600).Mul(new(big.Float).SetPrec(600).SetFloat64(float64(x)), new(big.Float).SetFloat64(float64(y)))
		exact.Add(exact, new(big.Float).SetFloat64(float64(z)))
		want, _ := exact.Float32()
		got := fma32(x, y, z)
		if exact.Sign() != 0 && math.Float32bits(got) != math.Float32bits(want) || exact.Sign() == 0 && got != 0 {
			t.Fatalf("%x %x + %x is %x, not %x", x, y, z, got, want)
		}
		if float32(float64(x)*float64(y)+float64(z)) != want {
			differ++
		}
	}
	if differ == 0 {
		t.Error("no sum was rounded twice: the numbers do not test that")
	}
}
