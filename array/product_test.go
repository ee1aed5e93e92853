package array

import (
	"slices"
	"testing"

	"github.com/gpk-go/gpk/dtype"
)

// TestProductOverNothing checks that a batch of products with k = 0, whose operands have
// no memory, is computed.
func TestProductOverNothing(t *testing.T) {
	for _, dt := range []dtype.DType{dtype.Float32, dtype.Float64, dtype.Float16, dtype.Complex64, dtype.Int8} {
		for _, s := range [][2][]int{{{5, 3, 0}, {5, 0, 4}}, {{5, 3, 0}, {1, 0, 4}}, {{0, 3, 2}, {0, 2, 4}}, {{3, 0}, {0, 4}}} {
			c := Zeros(dt, s[0]...).MatMul(Zeros(dt, s[1]...))
			if err := Eval(c); err != nil {
				t.Errorf("%v of %v and %v: %v", dt, s[0], s[1], err)
			}
		}
	}
	if got, err := ToSlice[float32](Zeros(dtype.Float32, 2, 1, 0).MatMul(Zeros(dtype.Float32, 2, 0, 2))); err != nil || !slices.Equal(got, []float32{0, 0, 0, 0}) {
		t.Error(got, err)
	}
}
