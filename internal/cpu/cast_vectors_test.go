package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// castValues returns values at which conversions with vectors could go wrong: near 2^51 and 2^53, between two float32s or halves,
// at the bounds of integers, and ordinary ones. A run of ordinary ones is longer than any block.
func castValues(rng *rand.Rand, n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		switch kind := rng.IntN(8); {
		case i < n/2 || kind < 2:
			v[i] = math.Ldexp(rng.Float64()*2-1, rng.IntN(51))
		case kind == 2:
			v[i] = math.Ldexp(1, 50+rng.IntN(5)) + float64(rng.IntN(5)-2)
		case kind == 3:
			v[i] = math.Ldexp(float64(rng.IntN(1<<12)), rng.IntN(60)-30) * (1 + float64(rng.IntN(3)-1)*0x1p-50)
		case kind == 4:
			v[i] = math.Ldexp(rng.NormFloat64(), rng.IntN(300)-150)
		case kind == 5:
			v[i] = math.Ldexp(1, 7+rng.IntN(60)) - float64(rng.IntN(3)-1)
		case kind == 6:
			v[i] = []float64{math.NaN(), math.Inf(1), math.Inf(-1), 0, math.Copysign(0, -1), 0x1p-1074, math.MaxFloat64, 0x1p63, -0x1p63, 0x1p64}[rng.IntN(10)]
		default:
			v[i] = rng.NormFloat64()
		}
		if rng.IntN(2) == 0 {
			v[i] = -v[i]
		}
	}
	return v
}

func TestCastsOfBoundaries(t *testing.T) {
	rng := testrand.New(t)
	const n = 3001
	for _, from := range dtype.All {
		if from == dtype.Bool || from.IsComplex() || from.IsHalf() {
			continue
		}
		x := dense(from, []int{n})
		values := castValues(rng, n)
		x.each(func(i, k int) {
			v := convertValue(values[i], from)
			if from.IsInteger() && rng.IntN(4) == 0 { // a number that float64 may not hold
				v = convertValue(int64(rng.Uint64())>>rng.IntN(20), from)
			}
			put(from, x.at(k), v)
		})
		for _, to := range dtype.All {
			y := dense(to, []int{n})
			if err := Cast(from, to, []int{n}, x.p(), x.strides, y.p(), y.strides); err != nil {
				t.Fatal(err)
			}
			in, out := x.values(), y.values()
			for i := range in {
				if want := convertValue(in[i], to); !same(out[i], want) {
					t.Fatalf("%v to %v, element %d: %v became %v, not %v", from, to, i, in[i], out[i], want)
				}
			}
		}
	}
}
