package cpu

import (
	"math"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestEpilogueVectors compares rows of the vector code with the formula for each element, bit
// by bit, and elements of GELU with the exact function.
func TestEpilogueVectors(t *testing.T) {
	rng := testrand.New(t)
	special := []float32{0, float32(math.Copysign(0, -1)), 15.999999, 16, 16.000001, -16, -17, 40, float32(math.Inf(1)), float32(math.Inf(-1)), float32(math.NaN()), 1e-45, -1e-30, 3e38, 700, -700.5}
	for _, act := range []Activation{ActNone, ActGELU, ActGELUTanh, ActSiLU} {
		for n := range 300 {
			x, bias := make([]float32, n), make([]float32, n+1)
			for i := range x {
				x[i], bias[i] = float32(4*rng.NormFloat64()), float32(rng.NormFloat64())
				if n%3 == 0 && rng.IntN(30) == 0 {
					x[i], bias[i] = special[rng.IntN(len(special))], float32(math.Copysign(0, -1))
				}
			}
			alpha := []float64{1, 0.3}[n%2]
			ep := &Epilogue{Alpha: alpha, Bias: unsafe.Pointer(&bias[0]), Act: act}
			if n%5 == 0 {
				clear(bias)
				ep.Bias = nil
			}
			e := newEpilogue[float32](ep, n, dtype.Float32)
			got := append([]float32(nil), x...)
			e.apply(got, 0)
			for i, v := range x {
				y := float64(alpha * float64(v))
				if ep.Bias != nil {
					y += float64(bias[i])
				}
				want := float32(act.approximate(y))
				if math.Float32bits(got[i]) != math.Float32bits(want) && (got[i] == got[i] || want == want) {
					t.Fatalf("activation %d of %v, element %d of %d, is %v, want %v", act, y, i, n, got[i], want)
				}
				if exact := act.exact(y); math.Abs(float64(got[i])-exact) > 1e-7*math.Abs(exact)+1e-44 {
					t.Fatalf("activation %d of %v is %v, want about %v", act, y, got[i], exact)
				}
			}
		}
	}
}

func BenchmarkEpilogue(b *testing.B) {
	rng := testrand.New(b)
	x, y, bias := make([]float32, 1536), make([]float32, 1536), make([]float32, 1536)
	for i := range x {
		x[i], bias[i] = float32(rng.NormFloat64()), float32(rng.NormFloat64())
	}
	for _, c := range []struct {
		name string
		act  Activation
	}{{"bias", ActNone}, {"gelu", ActGELU}, {"gelu tanh", ActGELUTanh}, {"silu", ActSiLU}} {
		e := newEpilogue[float32](&Epilogue{Bias: unsafe.Pointer(&bias[0]), Act: c.act}, len(x), dtype.Float32)
		b.Run(c.name, func(b *testing.B) {
			for b.Loop() {
				copy(y, x)
				for j := 0; j < len(y); j += 32 {
					e.apply(y[j:j+32], j)
				}
			}
		})
	}
}
