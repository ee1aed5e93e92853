//go:build !noasm

package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestVarianceTwins compares the assembly of means and variances with loops, bit for bit.
func TestVarianceTwins(t *testing.T) {
	if !vectorAVX {
		t.Skip("this processor has no AVX2, which the assembly needs; addWhole runs the Go loops, and TestFold covers them")
	}
	rng := testrand.New(t)
	for range 3000 {
		varianceTwins[float32](t, rng)
		varianceTwins[float64](t, rng)
	}
}

func varianceTwins[T float32 | float64](t *testing.T, rng *rand.Rand) {
	t.Helper()
	x := make([]T, 1+rng.IntN(130))[1:]
	for i := range x {
		x[i] = T(math.Ldexp(rng.NormFloat64(), rng.IntN(20)))
	}
	a := deviations{mean: rng.NormFloat64()}
	for i := range lanes {
		a.rest[i], a.squares[i] = rng.NormFloat64(), rng.ExpFloat64()
	}
	sums, b, want := a.rest, a, a.rest
	for k, v := range x[:len(x)&^(lanes-1)] {
		d := float64(v) - b.mean
		want[k%lanes] += float64(v)
		b.rest[k%lanes] += d
		b.squares[k%lanes] += float64(d * d)
	}
	if rest := addWhole(&sums, x); sums != want || len(rest) != len(x)%lanes {
		t.Fatalf("sums of %v: %v, want %v; %d are left", x, sums, want, len(rest))
	}
	if rest := addWholeDeviations(&a, x); a != b || len(rest) != len(x)%lanes {
		t.Fatalf("deviations of %v: %v, want %v; %d are left", x, a, b, len(rest))
	}
}

// TestVarianceBlocks compares eight blocks in one call with their results merged in a tree, bit for bit.
func TestVarianceBlocks(t *testing.T) {
	if !vectorAVX {
		t.Skip("NOT RUN: this processor has no AVX2, which the assembly under test needs")
	}
	rng := testrand.New(t)
	for range 200 {
		varianceBlocks[float32](t, rng)
		varianceBlocks[float64](t, rng)
	}
}

func varianceBlocks[T float32 | float64](t *testing.T, rng *rand.Rand) {
	t.Helper()
	x := make([]T, foldBlock)
	for i := range x {
		x[i] = T(math.Ldexp(rng.NormFloat64(), rng.IntN(20)))
	}
	mean := rng.NormFloat64()
	var parts []deviations // deviations of the blocks, then of pairs of blocks, and so on
	for at := 0; at < foldBlock; at += varianceBlock {
		a := deviations{mean: mean}
		for k, v := range x[at : at+varianceBlock] {
			d := float64(v) - mean
			a.rest[k%lanes] += d
			a.squares[k%lanes] += float64(d * d)
		}
		parts = append(parts, a)
	}
	for len(parts) > 1 {
		for i := range len(parts) / 2 {
			a, b := parts[2*i], parts[2*i+1]
			for l := range lanes {
				a.rest[l] += b.rest[l]
				a.squares[l] += b.squares[l]
			}
			parts[i] = a
		}
		parts = parts[:len(parts)/2]
	}
	if got := sumDeviationsOfBlocks(deviations{mean: mean, rest: [lanes]float64{77, 77}}, x); got != parts[0] {
		t.Fatalf("deviations of %v: %v, want %v", x, got, parts[0])
	}
	sums := make([][lanes]float64, 0, 8)
	for at := 0; at < foldBlock; at += varianceBlock {
		var a [lanes]float64
		for k, v := range x[at : at+varianceBlock] {
			a[k%lanes] += float64(v)
		}
		sums = append(sums, a)
	}
	for l := range lanes {
		s := func(i int) float64 { return sums[i][l] }
		want := ((s(0) + s(1)) + (s(2) + s(3))) + ((s(4) + s(5)) + (s(6) + s(7)))
		if got := sumBlocks(x)[l]; got != want {
			t.Fatalf("sums in lane %d of %v: %v, want %v", l, x, got, want)
		}
	}
}
