package cpu

import (
	"math"
	"math/big"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/bigmath"
)

// TestRotaryPositions compares lines at positions up to a million with sines and cosines of
// many digits: float32 and float64, whose frequencies are float64.
func TestRotaryPositions(t *testing.T) {
	const pairs, base = 8, 10000
	positions := []int64{0, 1, -1, 2, 63, 4095, 131071, 999_983, 1_000_000, -1_000_000}
	rng := rand.New(rand.NewPCG(3, 4))
	freq := make([]float64, pairs)
	exact := make([]*big.Float, pairs)
	for i := range freq {
		freq[i] = math.Pow(base, -float64(2*i)/(2*pairs))
		exponent := bigmath.Quo(bigmath.Of(-float64(2*i)), bigmath.Of(2*pairs))
		exact[i] = bigmath.Exp(bigmath.Mul(exponent, bigmath.Log(bigmath.Of(base))))
	}
	x := make([]float64, 2*pairs*len(positions))
	x32, out32, out64 := make([]float32, len(x)), make([]float32, len(x)), make([]float64, len(x))
	for i := range x {
		x32[i] = float32(rng.NormFloat64())
		x[i] = float64(x32[i])
		out32[i], out64[i] = float32(math.NaN()), math.NaN()
	}
	run := func(dt dtype.DType, in, out unsafe.Pointer) {
		rows := HeadRows{Data: in, Head: len(x), Row: 2 * pairs, Step: 1}
		to := rows
		to.Data = out
		r := Rotary{
			Type: dt, Batch: 1, Heads: 1, Rows: len(positions), Dim: 2 * pairs, Frequencies: freq, X: rows, Out: to,
			Positions: Positions{Data: unsafe.Pointer(&positions[0]), Type: dtype.Int64, Row: 1},
		}
		r.Run()
	}
	run(dtype.Float32, unsafe.Pointer(&x32[0]), unsafe.Pointer(&out32[0]))
	run(dtype.Float64, unsafe.Pointer(&x[0]), unsafe.Pointer(&out64[0]))
	var worst32, worst64 float64
	for k, p := range positions {
		for i := range pairs {
			angle := bigmath.Mul(exact[i], bigmath.Of(float64(p)))
			sin, cos := bigmath.Sin(angle, 0), bigmath.Sin(angle, 1)
			at := 2*pairs*k + i
			a, b := bigmath.Of(x[at]), bigmath.Of(x[at+pairs])
			want := [2]*big.Float{
				bigmath.Sub(bigmath.Mul(a, cos), bigmath.Mul(b, sin)),
				bigmath.Add(bigmath.Mul(b, cos), bigmath.Mul(a, sin)),
			}
			size := math.Hypot(x[at], x[at+pairs])
			for j, w := range want {
				f, _ := w.Float64()
				g := float64(out32[at+j*pairs])
				ulp := float64(math.Nextafter32(float32(math.Abs(f)), math.MaxFloat32)) - math.Abs(float64(float32(f)))
				worst32 = max(worst32, math.Abs(g-f)/ulp)
				worst64 = max(worst64, math.Abs(out64[at+j*pairs]-f)/size)
			}
		}
	}
	t.Logf("float32: %.3f ulp; float64: %.3g of the pair's length", worst32, worst64)
	if !(worst32 <= 2) {
		t.Errorf("float32 is %v ulp off", worst32)
	}
	if !(worst64 <= 1e-9) {
		t.Errorf("float64 is %v of the pair's length off", worst64)
	}
}

// BenchmarkRotary measures queries of 32 heads of 128 features, as they come of a product.
func BenchmarkRotary(b *testing.B) {
	const heads, rows, dim = 32, 256, 128
	freq := make([]float64, dim/2)
	for i := range freq {
		freq[i] = math.Pow(10000, -float64(2*i)/dim)
	}
	for _, dt := range []dtype.DType{dtype.Float32, dtype.BFloat16} {
		b.Run(dt.String(), func(b *testing.B) {
			x, out := make([]byte, heads*rows*dim*dt.Size()), make([]byte, heads*rows*dim*dt.Size())
			r := Rotary{
				Type: dt, Batch: 1, Heads: heads, Rows: rows, Dim: dim, Frequencies: freq,
				X:   HeadRows{Data: unsafe.Pointer(&x[0]), Head: dim, Row: heads * dim, Step: 1},
				Out: HeadRows{Data: unsafe.Pointer(&out[0]), Head: rows * dim, Row: dim, Step: 1},
			}
			b.SetBytes(int64(2 * len(x)))
			for b.Loop() {
				r.Run()
			}
		})
	}
}
