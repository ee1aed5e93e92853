package cpu

import (
	"fmt"
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// BenchmarkFunctions times functions of 2^20 elements between -1 and 1, or between 0 and 1 if the results of negative
// ones are NaN.
func BenchmarkFunctions(b *testing.B) {
	const n = 1 << 20
	for _, op := range []expr.Op{expr.Asin, expr.Acos, expr.Atan, expr.Atan2, expr.Sin, expr.Cos, expr.Tan, expr.Pow, expr.Exp2, expr.Log2, expr.Log10, expr.Cbrt} {
		for _, dt := range []dtype.DType{dtype.Float32, dtype.Float64} {
			b.Run(fmt.Sprintf("%v/%v", op, dt), func(b *testing.B) {
				rng := rand.New(rand.NewPCG(1, 1))
				x, y, z := dense(dt, []int{n}), dense(dt, []int{n}), dense(dt, []int{n})
				x.each(func(_, k int) {
					v := 2*rng.Float64() - 1
					if op == expr.Pow || op == expr.Log2 || op == expr.Log10 {
						v = math.Abs(v)
					}
					put(dt, x.at(k), v)
					put(dt, y.at(k), 2*rng.Float64()-1)
				})
				for b.Loop() {
					if op == expr.Pow || op == expr.Atan2 {
						_ = Binary(op, dt, dt, x.shape, x.p(), x.strides, y.p(), y.strides, z.p(), z.strides)
					} else {
						_ = Unary(op, dt, dt, x.shape, x.p(), x.strides, z.p(), z.strides)
					}
				}
			})
		}
	}
}
