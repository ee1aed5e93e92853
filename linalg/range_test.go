package linalg

import (
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
)

// TestRange: matrices near the ends of the range have the eigenvalues and singular values of others, scaled.
func TestRange(t *testing.T) {
	r := random(t)
	for _, dt := range types {
		exponents := []int{-1010, -990, -600, 600, 990, 1018}
		if dt.Real() == gpk.Float32 {
			exponents = []int{-130, -120, -70, 70, 100, 122}
		}
		const n = 40
		given := rounded(dt, nil, positive(r, dt, "random", n))
		for _, exponent := range exponents {
			by := func(a *gpk.Array, exponent int) *gpk.Array { // in two steps: T may not hold the power
				return a.Mul(math.Ldexp(1, exponent/2)).Mul(math.Ldexp(1, exponent-exponent/2))
			}
			a := by(given.Div(given.Abs().Max().Cast(dt)), exponent)
			want := by(a, -exponent) // without the bits that a subnormal number lacks
			values, vectors := Eigh(a)
			u, s, vh := SVD(a)
			wantValues, _ := Eigh(want)
			for name, x := range map[string]*gpk.Array{"Eigh": values, "EigvalsH": EigvalsH(a), "SVD": s.Flip(), "SVDVals": SVDVals(a).Flip()} {
				got, exact := widen(t, by(x, -exponent).Unsqueeze(0))[0], widen(t, wantValues.Unsqueeze(0))[0]
				bound(t, fmt.Sprint(name, " ", dt, " 2^", exponent), dt, n, got.minus(exact).norm(), exact.norm())
			}
			for name, x := range map[string]*gpk.Array{"vectors": vectors, "U": u, "V": vh.Conj().T()} {
				q := widen(t, x)[0]
				bound(t, fmt.Sprint(name, " ", dt, " 2^", exponent), dt, n, q.adjoint().times(q).minus(eye(n)).norm(), math.Sqrt(n))
			}
		}
	}
}

// TestEigvalsHParts: a part of the matrix is so small that its squares are zero.
func TestEigvalsHParts(t *testing.T) {
	a := gpk.FromSlice([]float64{0x1p-500, 0x1p-501, 0, 0x1p-501, 0x1p-500, 0, 0, 0, 1}, 3, 3)
	got, err := gpk.ToSlice[float64](EigvalsH(a))
	if err != nil {
		t.Fatal(err)
	}
	if !(math.Abs(got[0]) <= eps64 && math.Abs(got[1]) <= eps64 && math.Abs(got[2]-1) <= eps64) {
		t.Error(got)
	}
}

// TestNonFiniteParts: the imaginary parts of a diagonal are not used, but those that are NaN or infinite are named.
func TestNonFiniteParts(t *testing.T) {
	for _, dt := range []gpk.DType{gpk.Complex64, gpk.Complex128} {
		for _, v := range []float64{math.NaN(), math.Inf(-1), 1e30} {
			a := gpk.FromSlice([]complex128{3, 0, 0, complex(1, v)}, 2, 2).Cast(dt)
			values := EigvalsH(a)
			if v == 1e30 {
				if got := widen(t, values.Unsqueeze(0))[0]; got.at(0, 0) != 1 || got.at(0, 1) != 3 {
					t.Errorf("%v: eigenvalues %v", dt, got.data)
				}
				continue
			}
			if err := values.Err(); !errors.Is(err, gpk.ErrNonFinite) || !strings.Contains(err.Error(), "a[1 1] is ") {
				t.Errorf("%v, %v: %v", dt, v, err)
			}
		}
	}
}
