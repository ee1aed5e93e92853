package quantum

import (
	"math"
	"math/rand/v2"
	"testing"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestStateLoops compares assembly and Go bit for bit, and both with complex
// arithmetic in float64, for lengths with and without a rest.
func TestStateLoops(t *testing.T) {
	rng := testrand.New(t)
	for n := range 70 {
		testStateLoops(t, rng, n, 1e-6, &loops32)
		testStateLoops(t, rng, n, 1e-14, &loops64)
	}
}

func testStateLoops[T number](t *testing.T, rng *rand.Rand, n int, eps float64, loops **stateLoops[T]) {
	t.Helper()
	random := func() []T {
		v := make([]T, n+1)
		for i := range v {
			v[i] = T(rng.Float64() - 0.5)
		}
		return v
	}
	inputs := [4][]T{random(), random(), random(), random()}
	var u [8]T
	for i := range u {
		u[i] = T(rng.Float64() - 0.5)
	}
	z := func(re, im []T, i int) complex128 { return complex(float64(re[i]), float64(im[i])) }
	c := func(i int) complex128 { return complex(float64(u[i]), float64(u[i+1])) }
	want := func(loop, i int) [2]complex128 {
		a, b := z(inputs[0], inputs[1], i), z(inputs[2], inputs[3], i)
		switch loop {
		case 0: // a stays
			return [2]complex128{a, a * c(0)}
		case 1:
			return [2]complex128{a * b, b}
		case 2:
			return [2]complex128{a * c(0), a * c(2)}
		}
		return [2]complex128{c(0)*a + c(2)*b, c(4)*a + c(6)*b}
	}
	for loop := range 4 {
		run := func() (v [4][]T) {
			for i := range v {
				v[i] = append([]T{}, inputs[i]...)
			}
			switch loop {
			case 0:
				for i := range n {
					v[2][i], v[3][i] = T(math.NaN()), T(math.NaN())
				}
				rotate(v[2][:n], v[3][:n], v[0][:n], v[1][:n], u[0], u[1])
			case 1:
				times(v[0][:n], v[1][:n], v[2][:n], v[3][:n])
			case 2:
				im := append(v[1][:n:n], v[3]...)
				double(v[0][:n], im, v[2][:n], n, (*[4]T)(u[:]))
				copy(v[1], im[:n])
				copy(v[3], im[n:])
			default:
				pairs(v[0][:n], v[1][:n], v[2][:n], v[3][:n], &u)
			}
			return v
		}
		got := run()
		kept := *loops
		*loops = nil
		plain := run()
		*loops = kept
		for k := range got {
			for i := range n {
				if got[k][i] != plain[k][i] {
					t.Fatalf("loop %d of %d: plane %d, element %d is %v, in Go %v", loop, n, k, i, got[k][i], plain[k][i])
				}
			}
			if got[k][n] != inputs[k][n] {
				t.Fatalf("loop %d of %d wrote behind its end", loop, n)
			}
		}
		for i := range n {
			w := want(loop, i)
			for k, v := range []complex128{z(got[0], got[1], i), z(got[2], got[3], i)} {
				if d := v - w[k]; !(math.Hypot(real(d), imag(d)) <= eps) {
					t.Fatalf("loop %d of %d: element %d is %v, want %v", loop, n, i, v, w[k])
				}
			}
		}
	}
}
