package cpu

import (
	"math"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestPick compares the vector functions with loops, for all lengths around the vector's.
func TestPick(t *testing.T) {
	rng := testrand.New(t)
	specials := []float32{0, float32(math.Copysign(0, -1)), float32(math.NaN()), float32(math.Inf(1)), float32(math.Inf(-1)), 1, -1}
	for range 4000 {
		n := 1 + rng.IntN(100)
		x, y := make([]float32, n), make([]float32, n)
		few := rng.IntN(3) // how often x has a special: 0 never, 1 one in 8, 2 one in 64
		for i := range x {
			x[i], y[i] = float32(rng.IntN(40)-20), rng.Float32()
			if few > 0 && rng.IntN(1<<(3*few)) == 0 {
				x[i] = specials[rng.IntN(len(specials))]
			}
		}
		for _, c := range []struct {
			what      string
			got, want float32
		}{{"largest", largestOf32(x), largest(x)}, {"smallest", smallestOf32(x), smallest(x)}} {
			if math.Float32bits(c.got) != math.Float32bits(c.want) && (c.got == c.got || c.want == c.want) {
				t.Fatalf("the %s of %v is %v, want %v", c.what, x, c.got, c.want)
			}
			if got, want := firstOf32(x, c.want), indexOf(x, c.want); got != want {
				t.Fatalf("the first %v of %v is %d, want %d", c.want, x, got, want)
			}
		}
		wide := make([]float64, n)
		for i, v := range x {
			wide[i] = float64(v)
		}
		for _, c := range []struct {
			what      string
			got, want float64
		}{{"largest", largestOf64(wide), largest(wide)}, {"smallest", smallestOf64(wide), smallest(wide)}} {
			if math.Float64bits(c.got) != math.Float64bits(c.want) && (c.got == c.got || c.want == c.want) {
				t.Fatalf("the %s of %v is %v, want %v", c.what, wide, c.got, c.want)
			}
			if got, want := firstOf64(wide, c.want), indexOf(wide, c.want); got != want {
				t.Fatalf("the first %v of %v is %d, want %d", c.want, wide, got, want)
			}
		}
		bytes, truths, floats := make([]uint8, n), make([]uint8, n+1), make([]float32, n+1)
		chosen := make([]float32, n+1)
		for i := range bytes {
			bytes[i] = uint8(rng.IntN(256)) * uint8(rng.IntN(2))
		}
		truths[n], floats[n], chosen[n] = 77, 77, 77
		loadBool(at0(truths), at0(bytes), 1, n)
		bytesToFloats(at0(floats), at0(bytes), n)
		choices32(at0(chosen), at0(bytes), at0(x), at0(y), n)
		chosen64, other := make([]float64, n+1), make([]float64, n)
		for i := range other {
			other[i] = rng.NormFloat64()
		}
		chosen64[n] = 77
		choices64(at0(chosen64), at0(bytes), at0(wide), at0(other), n)
		for i, b := range bytes {
			want, want64 := y[i], other[i]
			if b != 0 {
				want, want64 = x[i], wide[i]
			}
			if truths[i] != bit(b != 0) || floats[i] != float32(b) || math.Float32bits(chosen[i]) != math.Float32bits(want) || math.Float64bits(chosen64[i]) != math.Float64bits(want64) {
				t.Fatalf("of byte %d: %v, %v, %v and %v, want %v and %v", b, truths[i], floats[i], chosen[i], chosen64[i], want, want64)
			}
		}
		if truths[n] != 77 || floats[n] != 77 || chosen[n] != 77 || chosen64[n] != 77 {
			t.Fatal("wrote behind the result")
		}
	}
}
