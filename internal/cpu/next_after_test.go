package cpu

import (
	"math"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestNextAfter compares NextAfter with package math. The operands have random bits, are special numbers or neighbours of these, or
// are equal. The result is written in place or elsewhere.
func TestNextAfter(t *testing.T) {
	nextNumbers(t, dtype.Float32, func(x, y float32) float32 {
		if x == y { // math.Nextafter32 returns x
			return y
		}
		return math.Nextafter32(x, y)
	})
	nextNumbers(t, dtype.Float64, func(x, y float64) float64 {
		if x == y {
			return y
		}
		if x == 0 && y == y {
			return math.Copysign(math.SmallestNonzeroFloat64, y)
		}
		return math.Nextafter(x, y)
	})
}

func nextNumbers[T float32 | float64](t *testing.T, dt dtype.DType, want func(x, y T) T) {
	t.Helper()
	rng := testrand.New(t)
	one := []int{1}
	var x, y, z [600]T
	for r := range functionRounds() {
		n := 1 + rng.IntN(len(x))
		for i := range x {
			x[i], y[i], z[i] = functionArgument[T](rng, r), functionArgument[T](rng, r/4), 42
			switch rng.IntN(8) {
			case 0:
				y[i] = x[i]
			case 1:
				y[i] = -x[i]
			}
		}
		from, to := x, addr(&z)
		switch r % 3 {
		case 1:
			z = x
			if err := NextAfter(dt, []int{n}, to, one, addr(&y), one, to, one); err != nil {
				t.Fatal(err)
			}
		case 2:
			if err := NextAfter(dt, []int{n}, addr(&x), one, addr(&y), []int{0}, to, one); err != nil {
				t.Fatal(err)
			}
		default:
			if err := NextAfter(dt, []int{n}, addr(&x), one, addr(&y), one, to, one); err != nil {
				t.Fatal(err)
			}
		}
		for i, v := range from {
			w, result := y[i], T(42)
			if r%3 == 2 {
				w = y[0]
			}
			if r%3 == 1 {
				result = v
			}
			if i < n {
				result = want(v, w)
			}
			if !sameFloat(z[i], result) {
				t.Fatalf("%v: after %x to %x: %x, not %x", dt, v, w, z[i], result)
			}
		}
	}
	if err := NextAfter(dtype.Float16, []int{1}, addr(&x), one, addr(&y), one, addr(&z), one); err == nil {
		t.Error("a half is accepted")
	}
}
