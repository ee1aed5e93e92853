package cpu

import (
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestShortAxis compares operations on arrays with a short last axis with their results on one element each.
func TestShortAxis(t *testing.T) {
	rng := testrand.New(t)
	types := []dtype.DType{dtype.Int8, dtype.BFloat16, dtype.Float32, dtype.Float64, dtype.Complex128}
	for _, shape := range [][]int{{700, 3}, {64, 1}, {5, 100, 2}, {2, 1, 1100, 7}, {65, 3, 2}, {0, 70, 3}, {20000, 3}} {
		rounds := 12
		if testing.Short() && shape[0] > 1000 {
			rounds = 3
		}
		for round := range rounds {
			dt := types[rng.IntN(len(types))]
			random := func(readOnly bool) *tensor {
				a := arrangements[rng.IntN(len(arrangements))]
				for a.readOnly && !readOnly {
					a = arrangements[rng.IntN(len(arrangements))]
				}
				return a.make(dt, shape)
			}
			x, y, d := random(true).randomize(rng), random(true).randomize(rng), random(false)
			want := d.clone()
			offsets := func(x *tensor) (at []int) {
				x.each(func(_, k int) { at = append(at, k) })
				return at
			}
			xs, ys := offsets(x), offsets(y)
			var err error
			if round%3 == 0 {
				err = Cast(dt, dt, shape, x.p(), x.strides, d.p(), d.strides)
				want.each(func(i, k int) { copySpan(want.at(k), dt.Size(), x.at(xs[i]), dt.Size(), dt.Size(), 1) })
			} else {
				err = Binary(expr.Sub, dt, dt, shape, x.p(), x.strides, y.p(), y.strides, d.p(), d.strides)
				want.each(func(i, k int) {
					if err := Binary(expr.Sub, dt, dt, nil, x.at(xs[i]), nil, y.at(ys[i]), nil, want.at(k), nil); err != nil {
						t.Fatal(err)
					}
				})
			}
			if err != nil {
				t.Fatal(err)
			}
			got := d.values()
			for i, v := range want.values() {
				if !same(v, got[i]) {
					t.Fatalf("%v %v, strides %v, %v to %v: element %d is %v, not %v", dt, shape, x.strides, y.strides, d.strides, i, got[i], v)
				}
			}
			if err := d.untouched(); err != nil {
				t.Fatal(err)
			}
		}
	}
}

// TestTakeShortAxis takes from an axis of three elements, the last one.
func TestTakeShortAxis(t *testing.T) {
	x := make([]float32, 3*700)
	for i := range x {
		x[i] = float32(i)
	}
	indices, got := []int64{1, -1, 0, 1}, make([]float32, 4*700)
	ok := Take(4, dtype.Int64, []int{700, 4}, at0(x), []int{3, 0}, 3, 1, unsafe.Pointer(&indices[0]), []int{0, 1}, at0(got), []int{4, 1})
	for i, v := range got {
		if want := float32(i/4*3 + []int{1, 2, 0, 1}[i%4]); v != want {
			t.Fatalf("element %d is %v, not %v", i, v, want)
		}
	}
	indices[2] = 3
	if !ok || Take(4, dtype.Int64, []int{700, 4}, at0(x), []int{3, 0}, 3, 1, unsafe.Pointer(&indices[0]), []int{0, 1}, at0(got), []int{4, 1}) {
		t.Fatal("a wrong report of indices outside")
	}
}
