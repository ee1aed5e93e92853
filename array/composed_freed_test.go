package array

import (
	"errors"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// TestComposedFreed: functions that copy a freed operand, because no view has its elements in their order, return
// ErrFreed. The operands of ScatterAdd are on a device that claims to be a GPU.
func TestComposedFreed(t *testing.T) {
	defer eager.Store(eager.Swap(false)) // the fake GPU has no kernels
	x := FromSlice([]int64{3, 1, 3, 2, 1, 1}, 2, 3).T()
	x.Free()
	values, indices, inverse, counts := x.UniqueAll()
	fake := onFake(t, 3)
	ix := fake[1].Cast(dtype.Int64).Slice(0, 0, 4).Reshape(2, 2)
	y := fake[2].Slice(0, 0, 4).Reshape(2, 2).T()
	y.Free()
	for name, r := range map[string]*Array{
		"values": values, "indices": indices, "inverse": inverse, "counts": counts,
		"Unique": x.Unique(), "ScatterAdd": fake[0].ScatterAdd(ix, y, 0),
	} {
		if err := r.Err(); !errors.Is(err, device.ErrFreed) {
			t.Errorf("%s: %v", name, err)
		}
	}
}
