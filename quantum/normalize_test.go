package quantum

import (
	"context"
	"math"
	"slices"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestEigenvalue: a kernel matrix has no negative eigenvalue. x* K x of many
// steps of the power method on s - K finds the smallest.
func TestEigenvalue(t *testing.T) {
	onCPU(t)
	const q, n = 8, 512
	rng := testrand.New(t)
	r, err := Gram(context.Background(), ZZFeatureMap(q, 2), arrayOf(randomSamples(rng, n, q), q), nil, Options{Precision: Double})
	if err != nil {
		t.Fatal(err)
	}
	if least := smallestEigenvalue(values(t, r.K), n); !(least >= -1e-10) {
		t.Errorf("an eigenvalue of %v", least)
	}
	// The check sees a matrix that has one.
	if least := smallestEigenvalue([]float64{1, 2, 2, 1}, 2); !(least < -0.99) {
		t.Errorf("the smallest eigenvalue of [[1 2] [2 1]] is %v", least)
	}
}

// smallestEigenvalue computes the smallest eigenvalue by bisection on LDL^T of K - s: the
// number of negative pivots is the number of eigenvalues below s (Sylvester).
func smallestEigenvalue(k []float64, n int) float64 {
	below := func(s float64) bool {
		a := slices.Clone(k)
		for i := range n {
			a[i*n+i] -= s
		}
		for p := range n {
			d := a[p*n+p]
			if d < 0 {
				return true
			}
			if d == 0 {
				d = 1e-300
			}
			for i := p + 1; i < n; i++ {
				f := a[i*n+p] / d
				for j := i; j < n; j++ {
					a[i*n+j] -= f * a[p*n+j]
				}
			}
			for i := p + 1; i < n; i++ {
				for j := p + 1; j < i; j++ {
					a[i*n+j] = a[j*n+i]
				}
			}
		}
		return false
	}
	lo, hi := -float64(n), float64(n)
	if !below(-1e-10) { // all that is asked in the usual case
		return 0
	}
	for range 40 {
		if mid := (lo + hi) / 2; below(mid) {
			hi = mid
		} else {
			lo = mid
		}
	}
	return hi
}

// TestNormalizeOption compares the options with the same functions applied to K
// afterwards.
func TestNormalizeOption(t *testing.T) {
	onCPU(t)
	x, y := randomSamples(testrand.New(t), 30, 3), randomSamples(testrand.New(t), 7, 3)
	plain, err := Gram(context.Background(), entangled(), arrayOf(x, 3), nil, Options{Precision: Double})
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range []Path{Auto, General} {
		for _, jitter := range []float64{0, 0.25} {
			r, err := Gram(context.Background(), entangled(), arrayOf(x, 3), nil, Options{Precision: Double, Normalize: true, Jitter: jitter, Path: path})
			if err != nil {
				t.Fatal(err)
			}
			got, want := values(t, r.K), values(t, Normalize(plain.K, jitter))
			for i := range got {
				if d := math.Abs(got[i] - want[i]); !(d <= 1e-12) || i%31 == 0 && got[i] != 1 {
					t.Fatalf("%v, jitter %v: entry %d is %v, want %v", path, jitter, i, got[i], want[i])
				}
			}
			// A test matrix is divided alike.
			r, err = Gram(context.Background(), entangled(), arrayOf(y, 3), arrayOf(x, 3), Options{Precision: Double, Normalize: true, Jitter: jitter, Path: path})
			if err != nil {
				t.Fatal(err)
			}
			cross := referenceGram(entangled(), y, x)
			for i, v := range values(t, r.K) {
				if d := math.Abs(v - flat(cross)[i]/(1+jitter)); !(d <= 1e-12) {
					t.Fatalf("%v, jitter %v, rectangular: entry %d is %v", path, jitter, i, v)
				}
			}
		}
	}
	r, err := Gram(context.Background(), entangled(), arrayOf(x, 3), nil, Options{Jitter: 0.5})
	if err != nil {
		t.Fatal(err)
	}
	if k := values(t, r.K); k[0] != 1.5 || k[31] != 1.5 {
		t.Errorf("jitter alone gives %v on the diagonal", k[0])
	}
}

func TestNormalizeCenter(t *testing.T) {
	onCPU(t)
	matrix := func(v ...float64) *gpk.Array {
		n := int(math.Sqrt(float64(len(v))))
		return gpk.FromSlice(v, n, n)
	}
	near := func(what string, got *gpk.Array, want ...float64) {
		t.Helper()
		for _, dt := range []gpk.DType{got.DType(), gpk.Float32} {
			for i, v := range values(t, got.Cast(dt)) {
				if !(math.Abs(v-want[i]) <= 1e-6) {
					t.Errorf("%s: entry %d is %v, want %v", what, i, v, want[i])
				}
			}
		}
	}
	near("Normalize", Normalize(matrix(4, 2, 2, 9), 0.5), 1, 0.305888, 0.305888, 1)
	near("Normalize float32", Normalize(matrix(4, 2, 2, 9).Cast(gpk.Float32), 0.5), 1, 0.305888, 0.305888, 1)
	if v := values(t, Normalize(matrix(4, 2, 2, 9), 0.5)); v[0] != 1 || v[3] != 1 {
		t.Errorf("a diagonal of %v", v)
	}
	near("a zero diagonal", Normalize(matrix(0, 0, 0, 4), 0), 1, 0, 0, 1)
	near("a transposed view", Normalize(matrix(4, 2, 2, 9).T(), 0.5), 1, 0.305888, 0.305888, 1)
	train := matrix(1, .5, .5, 1)
	near("Center", Center(train), .25, -.25, -.25, .25)
	near("CenterCross", CenterCross(gpk.FromSlice([]float64{.2, .6}, 1, 2), train), -.2, .2)
	near("the training row", CenterCross(train, train), .25, -.25, -.25, .25)
	big := values(t, Normalize(gpk.FromSlice(flat(randomSamples(testrand.New(t), 9, 9)), 9, 9), 1))
	for _, v := range big {
		if math.IsNaN(v) {
			t.Error("a negative diagonal gives NaN")
		}
	}
	for what, a := range map[string]*gpk.Array{
		"not square": Normalize(gpk.Zeros(gpk.Float64, 2, 3), 0), "jitter": Normalize(train, -1), "NaN jitter": Normalize(train, math.NaN()), "nil": Normalize(nil, 0),
		"type": Normalize(gpk.Zeros(gpk.Int32, 2, 2), 0), "center": Center(gpk.Zeros(gpk.Float64, 3)), "cross": CenterCross(gpk.Zeros(gpk.Float64, 2, 3), train), "nil train": CenterCross(train, nil), "nil test": CenterCross(nil, train),
		"mixed types": CenterCross(train.Cast(gpk.Float32), train),
	} {
		if err := a.Err(); err == nil || !strings.Contains(err.Error(), "normalize_test.go:") {
			t.Errorf("%s: error %v", what, err)
		}
	}
	if v := Center(gpk.Zeros(gpk.Float64, 0, 0)); v.Err() != nil || v.Size() != 0 {
		t.Errorf("an empty matrix: %v", v.Err())
	}
}
