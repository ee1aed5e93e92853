package fft

import (
	"fmt"
	"testing"

	"github.com/gpk-go/gpk"
)

// BenchmarkFFT transforms one long line, and many short ones.
func BenchmarkFFT(b *testing.B) {
	r := gpk.NewRNG(1)
	for _, dt := range []gpk.DType{gpk.Complex128, gpk.Complex64} {
		for _, shape := range [][]int{{1 << 16}, {65521}, {44100}, {256, 1024}, {256, 1000}} {
			x := r.Normal(dt.Real(), 0, 1, shape...).Cast(dt)
			if err := x.Err(); err != nil {
				b.Fatal(err)
			}
			b.Run(fmt.Sprint(dt, shape), func(b *testing.B) {
				for range b.N {
					y := FFT(x)
					if err := gpk.Eval(y); err != nil {
						b.Fatal(err)
					}
				}
			})
		}
	}
}
