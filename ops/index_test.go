package ops

import (
	"errors"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// TestTakeAlongNothing: no index lies on an axis of length 0.
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
