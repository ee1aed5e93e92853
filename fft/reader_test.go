package fft

import (
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestColumns compares the transforms of columns, which are gathered, with those of the same numbers in dense lines, bit for bit:
// also of columns from the last to the first, of equal columns and rows, which have steps of 0, and of parts.
func TestColumns(t *testing.T) {
	r := testrand.New(t)
	arrangements := []func(a *gpk.Array) *gpk.Array{
		func(a *gpk.Array) *gpk.Array { return a },
		func(a *gpk.Array) *gpk.Array { return a.Flip(1) },
		func(a *gpk.Array) *gpk.Array { return a.Flip(2) },
		func(a *gpk.Array) *gpk.Array { return a.Flip(0).Slice(2, a.Shape()[2]/2, a.Shape()[2]) },
		func(a *gpk.Array) *gpk.Array { return a.Slice(2, 0, 1).BroadcastTo(a.Shape()...) },
		func(a *gpk.Array) *gpk.Array { return a.Slice(1, 0, 1).BroadcastTo(a.Shape()...) },
	}
	transforms := []func(a *gpk.Array, o ...Option) *gpk.Array{FFT, IFFT, IRFFT, RFFT}
	for range 120 {
		batch, n, m := 1+r.IntN(3), 1+r.IntN(40), 1+r.IntN(40)
		arrangement := r.IntN(len(arrangements))
		for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64, gpk.Complex64, gpk.Complex128} {
			which := r.IntN(len(transforms))
			if dt.IsComplex() {
				which = r.IntN(3) // RFFT is for real numbers
			}
			transform := transforms[which]
			x := draw(r, dt, batch*n*m)
			a := arrangements[arrangement](gpk.FromSlice(x, batch, n, m).Cast(dt))
			dense := a.T().Clone()
			for _, length := range []int{n, n + 3, max(1, n-2)} {
				got := elements(t, transform(a, Axes(1), N(length)))
				want := elements(t, transform(dense, N(length)).T())
				if !slices.Equal(got, want) {
					t.Fatalf("transform %d of %v [%d %d %d], arrangement %d, to %d: columns differ from dense lines", which, dt, batch, n, m, arrangement, length)
				}
			}
		}
	}
}
