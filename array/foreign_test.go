package array

import (
	"errors"
	"math"
	"slices"
	"testing"
	"time"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// TestForeignOwner checks that the owner of foreign memory is called without a lock held,
// so that it may use arrays of the device or wait for another goroutine that does. Free
// and Close return after that call.
func TestForeignOwner(t *testing.T) {
	defer eager.Store(eager.Swap(false))
	dev, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	kept := Ones(dtype.Float64, 3).To(dev)
	for name, end := range map[string]func(a *Array) error{
		"Free":  func(a *Array) error { a.Free(); return nil },
		"Close": func(a *Array) error { return Scoped(func(s *Scope) error { return s.Own(a).Err() }) },
		"a write": func(a *Array) error {
			pending := a.Add(1) // so that the write replaces the memory
			return errors.Join(a.CopyFrom(2), Eval(pending))
		},
	} {
		data, called := []float64{1, 2, 3}, make(chan error, 1)
		buf, err := device.WrapHost(dev, unsafe.Pointer(&data[0]), 24, func() { called <- Eval(kept.Mul(2)) })
		if err != nil {
			t.Fatal(err)
		}
		a, ended := FromOwnBuffer(buf, dtype.Float64, 3), make(chan error, 1)
		go func() { ended <- end(a) }()
		for _, of := range []chan error{ended, called} {
			select {
			case err := <-of:
				if err != nil {
					t.Errorf("%s: %v", name, err)
				}
			case <-time.After(time.Minute):
				t.Fatalf("%s: it hangs", name)
			}
			if name != "a write" && len(called) == 0 && of == ended {
				t.Errorf("%s: the owner was not called", name)
			}
		}
		a.Free()
	}
}

func TestFromLayout(t *testing.T) {
	dev, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	data := []float64{0, 1, 2, 3, 4, 5, 6, 7, 8, 9}
	buf, err := device.WrapHost(dev, unsafe.Pointer(&data[0]), 80, nil)
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		lay  layout.Layout
		want []float64 // nil: it reaches outside
	}{
		{layout.Layout{Shape: []int{2, 3}, Strides: []int{4, 1}, Offset: 3}, []float64{3, 4, 5, 7, 8, 9}},
		{layout.Layout{Shape: []int{2, 3}, Strides: []int{4, 1}, Offset: 4}, nil},
		{layout.Layout{Shape: []int{3}, Strides: []int{-4}, Offset: 9}, []float64{9, 5, 1}},
		{layout.Layout{Shape: []int{3}, Strides: []int{-5}, Offset: 9}, nil},
		{layout.Layout{Shape: []int{2, 2}, Strides: []int{0, 1}, Offset: 8}, []float64{8, 9, 8, 9}},
		{layout.Layout{Offset: 9}, []float64{9}},
		{layout.Layout{Offset: 10}, nil},
		{layout.Layout{Offset: -1}, nil},
		{layout.Layout{Shape: []int{0, 3}, Strides: []int{100, 100}}, []float64{}},
		{layout.Layout{Shape: []int{1, 3}, Strides: []int{1000, 1}}, []float64{0, 1, 2}},
		{layout.Layout{Shape: []int{3}}, nil},
		{layout.Layout{Shape: []int{-1}, Strides: []int{1}}, nil},
		{layout.Layout{Shape: []int{3}, Strides: []int{math.MaxInt}}, nil},
		{layout.Layout{Shape: []int{3, 3}, Strides: []int{math.MinInt, 1}}, nil},
		{layout.Layout{Shape: []int{math.MaxInt / 16}, Strides: []int{1}}, nil},
	} {
		a := FromLayout(buf, dtype.Float64, c.lay)
		if c.want == nil {
			if !errors.Is(a.Err(), layout.ErrShape) {
				t.Errorf("%+v: error %v", c.lay, a.Err())
			}
			continue
		}
		got, err := ToSlice[float64](a)
		if err != nil || !slices.Equal(got, c.want) {
			t.Errorf("%+v: %v, %v, want %v", c.lay, got, err, c.want)
		}
	}
	if err := FromLayout(nil, dtype.Float64, layout.Layout{}).Err(); !errors.Is(err, dtype.ErrDType) {
		t.Errorf("no buffer: %v", err)
	}

	// Writes reach the memory, and nothing but the elements.
	a := FromLayout(buf, dtype.Float64, layout.Layout{Shape: []int{2, 2}, Strides: []int{5, 2}, Offset: 1})
	if err := Into(a, a.Mul(10)); err != nil {
		t.Fatal(err)
	}
	if want := []float64{0, 10, 2, 30, 4, 5, 60, 7, 80, 9}; !slices.Equal(data, want) {
		t.Errorf("%v, want %v", data, want)
	}
	if err := a.AddInPlace(1); err != nil || data[8] != 81 || data[7] != 7 {
		t.Errorf("AddInPlace: %v, %v", data, err)
	}
	if err := FromSliceInto(a, []float64{-1, -2, -3, -4}); err != nil || data[3] != -2 || data[4] != 4 {
		t.Errorf("FromSliceInto: %v, %v", data, err)
	}
}
