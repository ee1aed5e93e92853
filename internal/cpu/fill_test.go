package cpu

import (
	"math"
	"math/big"
	"testing"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

func TestFill(t *testing.T) {
	rng := testrand.New(t)
	for _, dt := range dtype.All {
		for _, shape := range shapes {
			ld := arrangements[rng.IntN(5)]
			z := ld.make(dt, shape)
			elem := dense(dt, []int{1}).randomize(rng)
			if err := Fill(dt, shape, elem.p(), z.p(), z.strides); err != nil {
				t.Fatal(err)
			}
			want := elem.values()[0]
			for i, got := range z.values() {
				if !same(got, want) {
					t.Fatalf("%v %v %s, element %d: %v, not %v", dt, shape, ld.name, i, got, want)
				}
			}
			if err := z.untouched(); err != nil {
				t.Fatalf("%v %v %s: %v", dt, shape, ld.name, err)
			}
		}
	}
}

func TestArange(t *testing.T) {
	for _, dt := range dtype.All {
		for _, n := range []int{0, 1, 5, 513, 70000} {
			z := dense(dt, []int{n})
			whole := dt.IsInteger() || dt == dtype.Bool
			var err error
			if whole {
				err = ArangeInt(dt, n, -3, 2, z.p())
			} else {
				err = Arange(dt, n, 0.1, 1.7, z.p())
			}
			if err != nil {
				t.Fatal(err)
			}
			for i, got := range z.values() {
				var want any
				if whole {
					v := int64(2*i - 3)
					if want = any(v != 0); dt != dtype.Bool {
						want = wrapTo(dt, big.NewInt(v))
					}
				} else {
					want = convertValue(0.1+float64(float64(i)*1.7), dt)
				}
				if !same(got, want) {
					t.Fatalf("%v, n %d, element %d: %v, not %v", dt, n, i, got, want)
				}
			}
			if err := z.untouched(); err != nil {
				t.Fatalf("%v, n %d: %v", dt, n, err)
			}
		}
	}
	z := dense(dtype.Int64, []int{2})
	if err := ArangeInt(dtype.Int64, 2, math.MaxInt64, 1, z.p()); err != nil || z.values()[1] != int64(math.MinInt64) {
		t.Errorf("past the largest integer: %v, %v", z.values(), err)
	}
}
