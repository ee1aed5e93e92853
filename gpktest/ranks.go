package gpktest

import (
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// testRanks reduces arrays of many axes, dense and permuted, including sets of axes that
// alternate between kept and reduced, and runs operations along axes. The arrays have
// more dimensions than a kernel supports.
func testRanks(t *testing.T, s *suite) {
	shape := []int{2, 3, 2, 3, 2, 1, 3, 2, 3, 2, 2}
	elements := size(shape)
	permuted := func(x tensor) *gpk.Array { // the same elements, which lie elsewhere
		order := s.rng.Perm(len(shape))
		back := make([]int, len(shape))
		for i, d := range order {
			back[d] = i
		}
		return x.transpose(order).array().Transpose(back...)
	}
	for i := range ops.Table {
		row := &ops.Table[i]
		if row.Kind != ops.Reduction && row.Kind != ops.Line {
			continue
		}
		for _, dt := range row.Types {
			for round := range 6 {
				var axes []int
				for d := range shape {
					if round < 2 && d%2 == round || round >= 2 && s.rng.IntN(2) == 0 {
						axes = append(axes, d)
					}
				}
				if len(axes) == 0 || row.Op == expr.ArgMax || row.Op == expr.ArgMin {
					axes = []int{s.rng.IntN(len(shape))}
				}
				x := s.reducible(row.Op, dt, shape, elements)
				a := permuted(x)
				if round == 0 {
					a = x.array()
				}
				what := name(row.Op, dt, axes)
				switch {
				case row.Op == expr.Sum:
					s.sumNear(t, what, evaluate(t, a.Sum(axes...)), x, axes)
				case row.Kind == ops.Reduction:
					s.reduced(t, what, row.Op, evaluate(t, reductionMethods[row.Op](a, axes...)), x, axes)
				case row.Op == expr.LayerNorm:
					s.lined(t, what, row.Op, evaluate(t, gpk.LayerNorm(a, nil, nil, 1e-3)), x, len(shape)-1, tensor{}, tensor{})
				case row.Op == expr.RMSNorm:
					s.lined(t, what, row.Op, evaluate(t, gpk.RMSNorm(a, nil, 1e-3)), x, len(shape)-1, tensor{}, tensor{})
				default:
					s.lined(t, what, row.Op, evaluate(t, alongAxis(row.Op, a, axes[0])), x, axes[0], tensor{}, tensor{})
				}
			}
		}
	}
	// The reduction tree depends on shape and type only, not on the memory layout.
	for _, axes := range [][]int{{0, 1, 2, 3}, {5, 6, 7, 8, 9, 10}, {0, 2, 4, 6, 8, 10}, {1, 2, 5, 6, 9}} {
		x := s.random(gpk.Float32, shape...)
		equal(t, name("Sum", axes), evaluate(t, permuted(x).Sum(axes...)), evaluate(t, x.array().Sum(axes...)))
		equal(t, name("Var", axes), evaluate(t, permuted(x).Var(axes...)), evaluate(t, x.array().Var(axes...)))
	}
	// A chain before them gives the bits of single operations.
	x := s.random(gpk.Float32, shape...)
	for what, end := range map[string]func(a *gpk.Array) *gpk.Array{
		"Sum":     func(a *gpk.Array) *gpk.Array { return a.Sum(0, 2, 4, 6, 8, 10) },
		"Var":     func(a *gpk.Array) *gpk.Array { return a.Var(1, 3, 5, 7, 9) },
		"Softmax": func(a *gpk.Array) *gpk.Array { return a.Softmax(3) },
	} {
		a := permuted(x)
		y := a.Mul(0.5).Exp()
		if err := gpk.Eval(y); err != nil {
			t.Fatal(err)
		}
		equal(t, what+" of a chain", evaluate(t, end(a.Mul(0.5).Exp())), evaluate(t, end(y)))
	}
}
