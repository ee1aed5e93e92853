package gpktest

import (
	"fmt"
	"math"
	"math/cmplx"
	"testing"

	gpk "github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/ops"
)

// testSum adds over every set of axes of several shapes and layouts.
func testSum(t *testing.T, s *suite) {
	row := ops.Lookup(expr.Sum)
	for _, dt := range row.Types {
		for _, shape := range [][]int{{}, {0}, {1}, {1000}, {33, 70}, {0, 5}, {5, 0}, {3, 40, 17}, {2, 3, 4, 5}, {4097, 3}, {3, 4097}} {
			for mask := range 1 << len(shape) {
				var axes []int
				for d := range shape {
					if mask>>d&1 == 1 {
						axes = append(axes, d)
					}
				}
				if len(axes) == 0 && len(shape) > 0 {
					continue
				}
				x := s.random(dt, shape...)
				a := x.array()
				if len(shape) >= 2 && size(shape) > 0 {
					a = arrangements[s.rng.IntN(len(arrangements))].make(s, x)
				}
				s.sumNear(t, name(dt, shape, axes), evaluate(t, a.Sum(axes...)), x, axes)
			}
		}
	}
	// A long sum of one sign, where a running float32 total would lose 1e-3, dense
	// and through strides.
	n := 100_000_000
	if quick() {
		n = 1_000_000
	}
	data := make([]float32, n)
	var want float64
	for i := range data {
		data[i] = s.rng.Float32()
		want += float64(data[i])
	}
	a := gpk.FromSlice(data, n/1000, 1000)
	defer a.Free()
	for what, sum := range map[string]*gpk.Array{"": a.Sum(), ", transposed": a.T().Sum(), ", by columns": a.Sum(0).Sum(), ", by rows": a.Sum(1).Sum()} {
		got, err := gpk.Item[float32](sum)
		if err != nil {
			t.Fatal(err)
		}
		e := math.Abs(float64(got)-want) / want
		t.Logf("the sum of %d values%s is off by %.3g", n, what, e)
		if !(e < 1e-6) {
			t.Errorf("the sum of %d values%s is off by %.3g", n, what, e)
		}
	}
}

func (s *suite) sumNear(t *testing.T, what string, got, x tensor, axes []int) {
	t.Helper()
	kept := []int{}
	for d, n := range x.shape {
		if !contains(axes, d) {
			kept = append(kept, n)
		}
	}
	if len(axes) == 0 {
		kept = []int{}
	}
	if fmt.Sprint(got.shape) != fmt.Sprint(kept) {
		t.Fatalf("%s: shape %v, want %v", what, got.shape, kept)
	}
	values, magnitudes, ints := make([]complex128, size(kept)), make([]float64, size(kept)), make([]int64, size(kept))
	i := 0
	index(x.shape, func(ix []int) {
		p := 0
		for d, n := range x.shape {
			if !contains(axes, d) && len(axes) > 0 {
				p = p*n + ix[d]
			}
		}
		if exact(x.dt) {
			ints[p] += x.ints[i]
		} else {
			values[p] += x.values[i]
			magnitudes[p] += cmplx.Abs(x.values[i])
		}
		i++
	})
	if exact(x.dt) {
		sameInts(t, what, got.ints, ints)
		return
	}
	acc := epsilon[gpk.Float32]
	if x.dt == gpk.Float64 || x.dt == gpk.Complex128 {
		acc = epsilon[gpk.Float64]
	}
	for j, want := range values {
		bound := epsilon[got.dt]*cmplx.Abs(want) + 24*acc*magnitudes[j] + smallest(got.dt)
		if d := cmplx.Abs(got.values[j] - want); !(d <= bound) {
			t.Fatalf("%s: element %d is %v, want %v: off by %.3g, bound %.3g", what, j, got.values[j], want, d, bound)
		}
	}
}

func contains(list []int, v int) bool {
	for _, x := range list {
		if x == v {
			return true
		}
	}
	return false
}
