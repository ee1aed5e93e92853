package cpu

import (
	"math"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestChainProducts compares sums and means of products, which are not stored, with those of stored products, bit by bit.
func TestChainProducts(t *testing.T) {
	testChainProducts[float32](t, dtype.Float32)
	testChainProducts[float64](t, dtype.Float64)
}

func testChainProducts[T float32 | float64](t *testing.T, dt dtype.DType) {
	rng := testrand.New(t)
	for _, lines := range []int{1, 2, 7} {
		for _, length := range []int{1023, 1024, 1025, 4096, 5000, 40000 + rng.IntN(1000), 1 << 16, 1<<16 + 1 + rng.IntN(1<<16)} {
			n := lines * length
			x, y, products := make([]T, n+1)[1:], make([]T, n), make([]T, n)
			for i := range x {
				x[i], y[i] = T(rng.NormFloat64()), T(rng.NormFloat64())
			}
			for _, op := range []expr.Op{expr.Mul, expr.Square, expr.AbsSquare} {
				for i, v := range x {
					other := v
					if op == expr.Mul {
						other = y[i]
					}
					products[i] = v * other
				}
				for _, reduction := range []expr.Op{expr.Sum, expr.Mean} {
					step := expr.Step{Op: op, DType: dt, Args: [3]expr.Ref{{Kind: expr.ToLeaf}, {Kind: expr.ToLeaf, N: 1}}, N: 2}
					leaves := []expr.Leaf{{DType: dt, Class: expr.Dense}, {DType: dt, Class: expr.Dense}}
					operands := []ChainLeaf{{at0(x), []int{length, 1}}, {at0(y), []int{length, 1}}}
					if op != expr.Mul {
						step.Args, step.N = [3]expr.Ref{{Kind: expr.ToLeaf}}, 1
						leaves, operands = leaves[:1], operands[:1]
					}
					p := &expr.Program{Leaves: leaves, Steps: []expr.Step{step}, Rank: 2, Reduction: expr.Reduction{Op: reduction, DType: dt, Over: expr.OverLast}}
					c := Chain{Program: p, Shape: []int{lines, length}, Leaves: operands}
					got, want := make([]T, lines), make([]T, lines)
					for i := range got {
						got[i] = T(math.NaN())
					}
					if err := c.Reduce(2, at0(got)); err != nil {
						t.Fatal(err)
					}
					if err := Reduce(reduction, dt, dt, []int{lines, length}, 2, at0(products), []int{length, 1}, at0(want)); err != nil {
						t.Fatal(err)
					}
					for i := range got {
						if got[i] != want[i] {
							t.Fatalf("%v of %v of %v [%d %d], line %d: %v, want %v", reduction, op, dt, lines, length, i, got[i], want[i])
						}
					}
				}
			}
		}
	}
}
