package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestMod64 compares the remainder from a fused multiply-add with math.Mod: for numbers of any bits and of ordinary size, and
// for multiples of the divisor and their neighbours, where the rounded quotient may be the next integer.
func TestMod64(t *testing.T) {
	rng := testrand.New(t)
	rounds := 3_000_000
	if testing.Short() {
		rounds = 300_000
	}
	wrong := 0
	for r := range rounds {
		x, y := functionArgument[float64](rng, r), functionArgument[float64](rng, r/4)
		if rng.IntN(4) == 0 {
			x = neighbour64(rng, y*float64(rng.Uint64N(1<<rng.IntN(54))))
		}
		got, want := mod64(x, y), math.Mod(x, y)
		if got != want && (got == got || want == want) {
			t.Fatalf("the remainder of %x and %x is %x, not %x", x, y, got, want)
		}
		if q := math.Trunc(x / y); math.Abs(q) < 1<<52 && math.Abs(want) > 0 && math.Signbit(math.FMA(-q, y, x)) != math.Signbit(x) {
			wrong++
		}
	}
	if wrong < rounds/1000 {
		t.Errorf("only %d of %d quotients rounded to the next integer", wrong, rounds)
	}
}

// neighbour64 returns x, or the number before or after it.
func neighbour64(rng *rand.Rand, x float64) float64 {
	return math.Float64frombits(math.Float64bits(x) + uint64(rng.IntN(3)) - 1)
}

// TestDivisionTwins compares the kernels of FloorDivide and Remainder with their functions of one element, bit for bit. The kernels
// call these functions where the assembly gives NaN.
func TestDivisionTwins(t *testing.T) {
	for name, c := range map[string]struct {
		kernel func(x, y, s []float64)
		f      func(x, y float64) float64
	}{"FloorDivide": {floorDivideBlock, floorDivideF64}, "Remainder": {remainderBlock, remainderF64}} {
		t.Run(name, func(t *testing.T) {
			rng := testrand.New(t)
			var x, y, z, s [functionBlock]float64
			for r := range functionRounds() {
				n := 1 + rng.IntN(len(x))
				for i := range x {
					x[i], y[i] = functionArgument[float64](rng, r), functionArgument[float64](rng, r/4)
					if rng.IntN(4) == 0 {
						x[i] = neighbour64(rng, y[i]*float64(rng.Uint64N(1<<rng.IntN(54))))
					}
				}
				z = x
				c.kernel(z[:n], y[:n], s[:n])
				for i, v := range z {
					want := x[i]
					if i < n {
						want = c.f(x[i], y[i])
					}
					if !sameFloat(v, want) {
						t.Fatalf("%d elements, element %d: of %x and %x %x, not %x", n, i, x[i], y[i], v, want)
					}
				}
			}
		})
	}
}
