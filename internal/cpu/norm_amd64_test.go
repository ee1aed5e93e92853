//go:build !noasm

package cpu

import (
	"math"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestNormVectors compares norms of float32 lines in vector code with their loops, bit by bit.
func TestNormVectors(t *testing.T) {
	if !vectorAVX {
		t.Skip("needs AVX2")
	}
	rng := testrand.New(t)
	for n := 1; n < 400; n++ {
		x, gamma, beta := make([]float32, n), make([]float32, n), make([]float32, n)
		shift := float32(10 * rng.NormFloat64())
		for i := range x {
			x[i], gamma[i], beta[i] = float32(rng.NormFloat64())+shift, float32(rng.NormFloat64()), float32(rng.NormFloat64())
		}
		for _, op := range []expr.Op{expr.LayerNorm, expr.RMSNorm} {
			got, want := make([]float32, n+8), make([]float32, n)
			for i := range got {
				got[i] = 7
			}
			normOf[float32](op, dtype.Float32, n, at0(gamma), at0(beta), 1e-5)(x, got[:n])
			vectorAVX = false
			normOf[float32](op, dtype.Float32, n, at0(gamma), at0(beta), 1e-5)(x, want)
			vectorAVX = true
			for i, v := range want {
				if math.Float32bits(got[i]) != math.Float32bits(v) {
					t.Fatalf("%v: element %d of %d is %v, want %v", op, i, n, got[i], v)
				}
			}
			for _, v := range got[n:] {
				if v != 7 {
					t.Fatalf("%v: %d elements, and one behind them was written", op, n)
				}
			}
		}
	}
}
