package cpu

import (
	"math"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestProductOrder compares products of lines of random lengths with loops in the order of the fold: the elements of
// each block one after another, then the blocks of each group, then the groups. The lines are contiguous, columns or every
// third element.
func TestProductOrder(t *testing.T) {
	t.Run("float32", testProductOrder[float32])
	t.Run("float64", testProductOrder[float64])
}

func testProductOrder[T float32 | float64](t *testing.T) {
	rng := testrand.New(t)
	for round := range 60 {
		n := 1 + rng.IntN([]int{600, 6 * foldBlock, 3 * foldGroup}[rng.IntN(3)])
		if rng.IntN(2) == 0 {
			n = max(n/foldBlock, 1) * foldBlock
		}
		lines := 1 + rng.IntN(3)
		strides := [][]int{{n, 1}, {1, lines}, {3 * n, 3}}[round%3]
		from := rng.IntN(10)
		x := make([]T, from+3*n*lines)
		for i := range x {
			x[i] = T(math.Exp(rng.NormFloat64() / 10))
		}
		got := make([]T, lines)
		dt := dtype.Of[T]()
		if err := Reduce(expr.Prod, dt, dt, []int{lines, n}, 2, at0(x[from:]), strides, at0(got)); err != nil {
			t.Fatal(err)
		}
		for i := range got {
			want := T(productInOrder(n, func(k int) float64 { return float64(x[from+i*strides[0]+k*strides[1]]) }))
			if got[i] != want {
				t.Fatalf("line %d of %d, %d elements, strides %v: %v, want %v", i, lines, n, strides, got[i], want)
			}
		}
	}
}

func productInOrder(n int, element func(k int) float64) float64 {
	all := 1.0
	for g := 0; g < n; g += foldGroup {
		group := 1.0
		for b := g; b < min(g+foldGroup, n); b += foldBlock {
			block := 1.0
			for k := b; k < min(b+foldBlock, n); k++ {
				block *= element(k)
			}
			group *= block
		}
		all *= group
	}
	return all
}
