//go:build !noasm

package cpu

import (
	"math"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestPhiloxLevels runs TestPhiloxFill as on processors without AVX-512, and without AVX2.
func TestPhiloxLevels(t *testing.T) {
	avx, avx512 := vectorAVX, vectorAVX512
	defer func() { vectorAVX, vectorAVX512 = avx, avx512 }()
	vectorAVX512 = false
	t.Run("AVX2", TestPhiloxFill)
	vectorAVX = false
	t.Run("loops", TestPhiloxFill)
}

// TestUniform64Levels compares every length with the loop, also where a product or a sum is infinite or NaN.
func TestUniform64Levels(t *testing.T) {
	if !vectorAVX {
		t.Skip("NOT RUN: the vector code of Uniform: this processor has no AVX2")
	}
	defer func() { vectorAVX = true }()
	rng, inf := testrand.New(t), math.Inf(1)
	for _, c := range [][3]float64{{0, 1, 1 - 0x1p-53}, {-1, 4, 2.5}, {1, 0x1p-52, 1}, {-0x1p1023, 0x1p1023, 0}, {0, inf, 5}, {-inf, inf, 5}, {5, 0x1p-1074, inf}, {0, 0x1p-1022, math.NaN()}} {
		for n := range 70 {
			words := make([]uint32, 2*n)
			for i := range words {
				words[i] = rng.Uint32()
				if rng.IntN(4) == 0 {
					words[i] = -uint32(rng.IntN(2)) // all zeros or all ones
				}
			}
			var got [2][]uint64
			for level := range got {
				vectorAVX = level == 0
				x := make([]float64, n+4)
				for i := range x {
					x[i] = -7
				}
				uniform64(x[:n], words, c[0], c[1], c[2])
				for _, v := range x {
					if v != v {
						v = math.NaN() // with whatever payload
					}
					got[level] = append(got[level], math.Float64bits(v))
				}
			}
			if !slices.Equal(got[0], got[1]) {
				t.Fatalf("%d numbers with %v: %x, and %x by the loop", n, c, got[0], got[1])
			}
		}
	}
}
