package fft

import (
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestColumns compares the transforms of columns, which are gathered, with those of the same numbers in dense lines, bit for bit.
func TestColumns(t *testing.T) {
	r := testrand.New(t)
	for range 60 {
		batch, n, m := 1+r.IntN(3), 1+r.IntN(40), 1+r.IntN(40)
		for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64, gpk.Complex64, gpk.Complex128} {
			x := draw(r, dt, batch*n*m)
			a := gpk.FromSlice(x, batch, n, m).Cast(dt)
			for _, length := range []int{n, n + 3, max(1, n-2)} {
				got := elements(t, FFT(a, Axes(1), N(length)))
				dense := a.T().Clone()
				want := elements(t, FFT(dense, N(length)).T())
				if !slices.Equal(got, want) {
					t.Fatalf("%v [%d %d %d] to %d: columns differ from dense lines", dt, batch, n, m, length)
				}
			}
		}
	}
}
