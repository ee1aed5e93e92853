package array

import (
	"errors"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/devicetest"
)

// TestPutFromElsewhere: values of PutAlongAxis on another device are ErrDevice.
func TestPutFromElsewhere(t *testing.T) {
	defer eager.Store(eager.Swap(false)) // the fake GPU has no kernels
	devicetest.DefaultCPU(t)
	x, ix := FromSlice([]float32{1, 2, 3}), FromSlice([]int64{2})
	fake := onFake(t, 2)
	for name, r := range map[string]*Array{
		"values on a GPU":    x.PutAlongAxis(ix, fake[0].Slice(0, 0, 1), 0),
		"values on the host": fake[0].PutAlongAxis(fake[1].Cast(dtype.Int64), x.Slice(0, 0, 1), 0),
	} {
		if err := r.Err(); !errors.Is(err, device.ErrDevice) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
