package gpktest

import (
	"context"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/internal/devicetest"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/expr"
)

// testLongSmooth compares smooth operations on many elements, whose kernel is another
// one, with the same on pieces; and behind a row that is added, over whole groups of
// rows and what is left of them, with the steps on their own. The bits are the same.
func testLongSmooth(t *testing.T, s *suite) {
	for _, op := range []expr.Op{expr.GELU, expr.GELUTanh, expr.SiLU} {
		for _, dt := range []gpk.DType{gpk.Float32, gpk.Float16, gpk.BFloat16} {
			n, piece := 1<<20+1021*4+3, 1<<18
			if dt.IsHalf() {
				n, piece = 2*n, 2*piece
			}
			// Some are beyond what float32's short forms are for.
			x := evaluate(t, s.random(dt, n).array().Mul(5)).array()
			whole := evaluate(t, unaryMethods[op](x))
			for from := 0; from < n; from += piece {
				to := min(n, from+piece)
				part := evaluate(t, unaryMethods[op](x.Slice(0, from, to)))
				if !slices.Equal(part.values, whole.values[from:to]) {
					t.Errorf("%v %v: elements %d to %d differ from what they are on their own", op, dt, from, to)
				}
			}
			if dt != gpk.Float32 {
				continue
			}
			for _, shape := range [][]int{{1003, 1028}, {8, 1028}, {300, 24}, {7, 260}, {129, 4}} {
				x, row := s.random(dt, shape...).array(), s.random(dt, shape[1]).array()
				sum := evaluate(t, x.Add(row))
				want := evaluate(t, unaryMethods[op](sum.array()))
				evaluate(t, unaryMethods[op](x.Add(row)))
				if err := devicetest.AwaitCompiled(s.dev, context.Background()); err != nil {
					t.Fatal(err)
				}
				got := evaluate(t, unaryMethods[op](x.Add(row)))
				if !slices.Equal(got.values, want.values) {
					t.Errorf("%v of %v and a row differs from its steps", op, shape)
				}
			}
		}
	}
}
