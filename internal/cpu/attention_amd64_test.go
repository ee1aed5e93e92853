//go:build !noasm

package cpu

import (
	"math"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestFourVectors compares the kernels of four vectors with those of one, bit by bit.
func TestFourVectors(t *testing.T) {
	rng := testrand.New(t)
	for _, v := range variants32 {
		if v.dotsFour == nil || v.columnsFour == nil {
			continue
		}
		for range 200 {
			k, n := 32*(1+rng.IntN(9)), 2*(1+rng.IntN(70))
			ldx, ld, ldd := k+rng.IntN(3), k+rng.IntN(5), n+rng.IntN(4)
			x, a := normals(rng, 3*ldx+k), normals(rng, (n-1)*ld+k)
			if rng.IntN(4) == 0 {
				a[rng.IntN(len(a))] = float32(math.NaN())
			}
			got, want := poisoned32(4*ldd), poisoned32(4*ldd)
			v.dotsFour(&got[0], ldd, &x[0], ldx, &a[0], ld, k, n)
			for q := range 4 {
				v.dots(&want[q*ldd], &x[q*ldx], &a[0], ld, k, n)
			}
			sameFloats(t, "dots", got, want)

			// n vectors of a, of at least columnsWidth elements
			w := v.columnsWidth
			ld, ldy := w+rng.IntN(5), w+rng.IntN(3)
			a, x = normals(rng, (n-1)*ld+w), normals(rng, 4*n)
			got = normals(rng, 4*ldy)
			want = append([]float32(nil), got...)
			v.columnsFour(&got[0], ldy, &x[0], n, &a[0], ld, n)
			for q := range 4 {
				v.columns(&want[q*ldy], &x[q*n], &a[0], ld, n)
			}
			sameFloats(t, "columns", got, want)
		}
	}
}

// TestWeighColumns compares the AVX-512 code of a softmax's weights with math.Exp, and each column's sum with the sum of
// its weights in float64.
func TestWeighColumns(t *testing.T) {
	if !vectorAVX512 {
		t.Skip("NOT RUN: this processor has no AVX-512")
	}
	rng := testrand.New(t)
	inf := float32(math.Inf(-1))
	for range 300 {
		rows, cols := 1+rng.IntN(140), 1+rng.IntN(16)
		ld := cols + rng.IntN(4)
		x := normals(rng, rows*ld)
		for i := range x {
			x[i] *= 20
			if rng.IntN(5) == 0 {
				x[i] = inf
			}
		}
		largest, sums := make([]float32, cols), make([]float32, cols)
		y := append([]float32(nil), x...)
		maxColumns512(&y[0], ld, rows, cols, &largest[0])
		for j := range cols {
			m := inf
			for i := range rows {
				m = max(m, x[i*ld+j])
			}
			if m != largest[j] {
				t.Fatalf("the maximum of column %d is %v, want %v", j, largest[j], m)
			}
			if m == inf {
				largest[j] = 0
			}
		}
		sameFloats(t, "maxima change the scores:", y, x)
		if rng.IntN(3) == 0 {
			y[rng.IntN(cols)] = float32(math.NaN())
		}
		before := append([]float32(nil), y...)
		weighColumns512(&y[0], ld, rows, cols, &largest[0], &sums[0])
		for j := range cols {
			checkWeights(t, before[j:], y[j:], ld, rows, largest[j], float64(sums[j]))
		}
		for i := range y {
			if i%ld >= cols && y[i] != x[i] {
				t.Fatalf("element %d, beyond %d columns of pitch %d, was written", i, cols, ld)
			}
		}
	}
}

// checkWeights compares a column of weights, and their sum, with those of scores.
func checkWeights(t *testing.T, scores, weights []float32, ld, rows int, largest float32, got float64) {
	t.Helper()
	sum := 0.0
	for i := range rows {
		v := scores[i*ld] - largest
		want := math.Exp(float64(max(v, -exp32Limit))) - math.Exp(-exp32Limit)
		got := float64(weights[i*ld])
		if !(math.Abs(got-want) <= 2*u32*want+0x1p-125) && (got == got || want == want) {
			t.Fatalf("e^%v is %v, want %v", v, got, want)
		}
		if v < -exp32Limit && got != 0 {
			t.Fatalf("e^%v is %v, want 0", v, got)
		}
		sum += got
	}
	if !(math.Abs(got-sum) <= 40*u32*sum) && (got == got || sum == sum) {
		t.Fatalf("a column of %d rows adds to %v, want %v", rows, got, sum)
	}
}

// TestRescale compares rescale with its loop, bit by bit.
func TestRescale(t *testing.T) {
	rng := testrand.New(t)
	for n := range 70 {
		x, y, alpha := normals(rng, n), normals(rng, n), float32(rng.NormFloat64())
		want := make([]float32, n)
		for i := range x {
			want[i] = float32(x[i]*alpha) + y[i]
		}
		rescale(x, y, alpha)
		sameFloats(t, "rescale", x, want)
	}
}
