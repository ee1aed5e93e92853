package ops

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// TestTakeAlongNothing: on an axis of length 0, every index is out of range.
func TestTakeAlongNothing(t *testing.T) {
	dev, err := device.Open("cpu")
	if err != nil {
		t.Fatal(err)
	}
	data := []int64{0, 0}
	buf, err := device.WrapHost(dev, unsafe.Pointer(&data[0]), 16, nil)
	if err != nil {
		t.Fatal(err)
	}
	view := func(shape ...int) device.View {
		return device.View{Buffer: buf, DType: dtype.Int64, Layout: layout.Dense(shape)}
	}
	for name, take := range map[string]func(*device.Stream, device.View, device.View, device.View, int, func(error) error) error{"Take": Take, "TakeAlong": TakeAlong} {
		unasked := func(error) error { return errors.New("the error was extended") }
		if err := take(dev.DefaultStream(), view(2), view(0), view(2), 0, unasked); !errors.Is(err, layout.ErrShape) {
			t.Errorf("%s: %v", name, err)
		}
	}
}

// TestScatterAddNothing: on an axis of length 0 every index is out of range, but no indices at all are no error.
func TestScatterAddNothing(t *testing.T) {
	s, values := hostView(t, []float64{1, 2}, 2, 1)
	_, indices := hostView(t, []float64{0, 0}, 2)
	indices.DType = dtype.Int64
	_, none := hostView(t, nil, 0, 1)
	_, noIndices := hostView(t, nil, 0)
	noIndices.DType = dtype.Int64
	outside, failed := errors.New("outside"), func(err error) error { return err }
	if err := ScatterAdd(s, none, indices, values, none, outside, failed); err != outside {
		t.Errorf("two indices: %v", err)
	}
	if err := ScatterAdd(s, none, noIndices, none, none, outside, failed); err != nil {
		t.Errorf("no index: %v", err)
	}
}
