package linalg

import (
	"errors"
	"math"
	"math/cmplx"
	"math/rand/v2"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
)

// normOf returns a norm from its definition. For orders 2 and -2 it takes the eigenvalues of A A^H,
// for matrices of two rows.
func normOf(a [][]complex128, p float64) float64 {
	rows, cols := make([]float64, len(a)), make([]float64, len(a[0]))
	square := 0.0
	var g [2][2]complex128
	for i, row := range a {
		for j, v := range row {
			rows[i] += cmplx.Abs(v)
			cols[j] += cmplx.Abs(v)
			square += real(v * cmplx.Conj(v))
			for k := range a {
				g[i][k] += v * cmplx.Conj(a[k][j])
			}
		}
	}
	mean, det := square/2, real(g[0][0]*g[1][1]-g[0][1]*g[1][0])
	root := math.Sqrt(max(0, mean*mean-det))
	switch p {
	case Frobenius:
		return math.Sqrt(square)
	case 1:
		return slices.Max(cols)
	case -1:
		return slices.Min(cols)
	case 2:
		return math.Sqrt(mean + root)
	case -2:
		return math.Sqrt(mean - root)
	}
	if p > 0 {
		return slices.Max(rows)
	}
	return slices.Min(rows)
}

// TestMatrixNormAndPower compares with sums over elements and products of 2 x 2 matrices.
func TestMatrixNormAndPower(t *testing.T) {
	seed := rand.Uint64()
	t.Logf("seed %d", seed)
	rng := rand.New(rand.NewPCG(seed, 0))
	for range 50 {
		cols := 2 + rng.IntN(4)
		data := make([]complex128, 2*cols)
		for i := range data {
			data[i] = complex(rng.NormFloat64(), rng.NormFloat64())
		}
		a := gpk.FromSlice(data, 1, 2, cols)
		for _, p := range []float64{Frobenius, 1, -1, 2, -2, math.Inf(1), math.Inf(-1)} {
			got, err := gpk.ToSlice[float64](MatrixNorm(a, p))
			want := normOf([][]complex128{data[:cols], data[cols:]}, p)
			if err != nil || len(got) != 1 || math.Abs(got[0]-want) > 1e-6 { // for order -2 the reference has half of the digits
				t.Errorf("norm of order %v of %v: %v, want %v (%v)", p, data, got, want, err)
			}
		}
		n := rng.IntN(7)
		m := a.Slice(2, 0, 2)
		want := []complex128{1, 0, 0, 1}
		x := []complex128{data[0], data[1], data[cols], data[cols+1]}
		for range n {
			want = []complex128{
				want[0]*x[0] + want[1]*x[2], want[0]*x[1] + want[1]*x[3],
				want[2]*x[0] + want[3]*x[2], want[2]*x[1] + want[3]*x[3],
			}
		}
		got, err := gpk.ToSlice[complex128](MatrixPower(m, n))
		back, err2 := gpk.ToSlice[complex128](MatrixPower(m, -n).MatMul(MatrixPower(m, n)))
		if err != nil || err2 != nil {
			t.Fatal(err, err2)
		}
		condition, err := gpk.Item[float64](Cond(m))
		if err != nil {
			t.Fatal(err)
		}
		size := math.Pow(cmplx.Abs(x[0])+cmplx.Abs(x[1])+cmplx.Abs(x[2])+cmplx.Abs(x[3]), float64(n))
		for i := range want {
			if cmplx.Abs(got[i]-want[i]) > 1e-13*size {
				t.Errorf("power %d of %v: %v, want %v", n, x, got, want)
			}
			if i%3 == 0 && cmplx.Abs(back[i]-1) > 1e-12*math.Pow(condition, float64(n)) {
				t.Errorf("powers %d and %d of %v: %v", -n, n, x, back)
			}
		}
	}
}

func TestMatrixNormAndPowerErrors(t *testing.T) {
	ones := gpk.Ones(gpk.Float32, 2, 3)
	for what, c := range map[string]struct {
		got  *gpk.Array
		want error
	}{
		"order 3":      {MatrixNorm(ones, 3), gpk.ErrUnsupported},
		"two orders":   {MatrixNorm(ones, 1, 2), gpk.ErrUnsupported},
		"no rows":      {MatrixNorm(gpk.Zeros(gpk.Float32, 0, 3), 1), gpk.ErrShape},
		"one axis":     {MatrixNorm(gpk.Ones(gpk.Float32, 3)), gpk.ErrShape},
		"integers":     {MatrixNorm(gpk.Ones(gpk.Int32, 3, 3)), gpk.ErrDType},
		"not square":   {MatrixPower(ones, 2), gpk.ErrShape},
		"singular":     {MatrixPower(gpk.Zeros(gpk.Float32, 2, 2), -1), new(SingularError)},
		"NaN, order 2": {MatrixNorm(gpk.Full(gpk.Float32, math.NaN(), 2, 2), 2), gpk.ErrNonFinite},
	} {
		err := c.got.Err()
		var singular *SingularError
		if _, ok := c.want.(*SingularError); ok && errors.As(err, &singular) {
			continue
		}
		var oe *gpk.OpError
		if !errors.Is(err, c.want) || !errors.As(err, &oe) {
			t.Errorf("%s: %v, want %v", what, err, c.want)
		}
	}
	if got, err := gpk.Item[float32](MatrixNorm(gpk.Zeros(gpk.Float32, 0, 3))); err != nil || got != 0 {
		t.Errorf("the Frobenius norm of nothing: %v, %v", got, err)
	}
}
