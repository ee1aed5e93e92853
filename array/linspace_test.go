package array

import (
	"errors"
	"math"
	"slices"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
	"github.com/gpk-go/gpk/layout"
)

// TestLinspace compares with numbers computed one by one in float64.
func TestLinspace(t *testing.T) {
	rng := testrand.New(t)
	for range 200 {
		lo, hi, n := float64(10*rng.NormFloat64()), float64(10*rng.NormFloat64()), rng.IntN(200) // rounded, also where Go fuses 10 x - y
		doubles, err := ToSlice[float64](Linspace(dtype.Float64, lo, hi, n))
		if err != nil {
			t.Fatal(err)
		}
		singles, err := ToSlice[float32](Linspace(dtype.Float32, lo, hi, n))
		if err != nil {
			t.Fatal(err)
		}
		whole, err := ToSlice[int32](Linspace(dtype.Int32, lo, hi, n))
		if err != nil {
			t.Fatal(err)
		}
		if len(doubles) != n || len(singles) != n || len(whole) != n {
			t.Fatalf("%d, %d, %d of %d numbers", len(doubles), len(singles), len(whole), n)
		}
		for i, v := range doubles {
			want := lo + float64(float64(i)*((hi-lo)/float64(n-1)))
			switch i {
			case 0:
				want = lo
			case n - 1:
				want = hi
			}
			if v != want || singles[i] != float32(want) || whole[i] != int32(math.Floor(want)) {
				t.Fatalf("%d of Linspace(%v, %v, %d): %v %v %v, want %v", i, lo, hi, n, v, singles[i], whole[i], want)
			}
		}
	}
	if v, err := ToSlice[float64](Linspace(dtype.Float64, 3, 5, 1)); err != nil || len(v) != 1 || v[0] != 3 {
		t.Errorf("one number: %v, %v", v, err)
	}
	for _, lo := range []float64{-math.MaxFloat64, -math.MaxFloat64 / 2, math.MaxFloat64} { // hi - lo is too large
		hi := -lo
		if lo == -math.MaxFloat64/2 {
			hi = math.MaxFloat64
		}
		for _, n := range []int{2, 3, 4, 10, 1001} {
			v, err := ToSlice[float64](Linspace(dtype.Float64, lo, hi, n))
			if err != nil || v[0] != lo || v[n-1] != hi {
				t.Fatalf("%d from %v to %v: %v, %v", n, lo, hi, v, err)
			}
			for i := range v {
				at := float64(i) / float64(n-1)
				if want := lo*(1-at) + hi*at; !(math.Abs(v[i]-want) <= 1e-15*math.MaxFloat64) {
					t.Errorf("%d of %d from %v to %v: %v, want %v", i, n, lo, hi, v[i], want)
				}
			}
		}
	}
	if v, err := ToSlice[bool](Linspace(dtype.Bool, 0, 1, 3)); err != nil || !slices.Equal(v, []bool{false, true, true}) {
		t.Errorf("of Bool, which is no integer: %v, %v", v, err)
	}
	if err := Linspace(dtype.Float32, 0, 1, -1).Err(); !errors.Is(err, layout.ErrShape) {
		t.Errorf("-1 numbers: %v", err)
	}
	if err := Linspace(dtype.DType(99), 0, 1, 3).Err(); !errors.Is(err, dtype.ErrDType) {
		t.Errorf("no type: %v", err)
	}
	var op *OpError
	if err := Linspace(dtype.Float32, 0, 1, math.MaxInt).Err(); !errors.As(err, &op) || op.Op != "Linspace" {
		t.Errorf("too many: %v", err)
	}
}
