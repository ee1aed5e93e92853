package fft

import (
	"math/cmplx"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestMirror: the transforms of real lines, dense and strided, cropped and padded, are those of complex lines
// within the bound, and have the same bits alone as among others. But for powers of two, their halves are conjugates.
func TestMirror(t *testing.T) {
	r := testrand.New(t)
	for range 60 {
		lines, length, n := 1+r.IntN(5), 1+r.IntN(300), 6+2*r.IntN(150)
		for _, dt := range []gpk.DType{gpk.Float32, gpk.Float64} {
			flat := gpk.FromSlice(draw(r, dt, lines*length), lines, length).Real().Cast(dt)
			for _, x := range []*gpk.Array{flat, flat.T().Contiguous().T()} {
				z := x.Cast(complexOf(dt))
				for name, f := range map[string]func(*gpk.Array, ...Option) *gpk.Array{"FFT": FFT, "IFFT": IFFT} {
					got, want := elements(t, f(x, N(n))), elements(t, f(z, N(n)))
					for i := range lines {
						y, of := got[i*n:][:n], want[i*n:][:n]
						diff := make([]complex128, n)
						for k, v := range y {
							diff[k] = v - of[k]
							if m := (n - k) % n; n&(n-1) != 0 && v != cmplx.Conj(y[m]) {
								t.Fatalf("%s of %d of %d %v: element %d is %v, element %d is %v", name, n, length, dt, k, v, m, y[m])
							}
						}
						if e, size := norm(diff), norm(of); !(e <= 2*limit(dt, n)*size) {
							t.Errorf("%s of %d of %d %v: off by %g, the bound is %g", name, n, length, dt, e/size, 2*limit(dt, n))
						}
						if alone := elements(t, f(x.Slice(0, i, i+1), N(n))); !slices.Equal(alone, y) {
							t.Errorf("%s of %d of %d %v: line %d has other bits alone", name, n, length, dt, i)
						}
					}
				}
			}
		}
	}
}
