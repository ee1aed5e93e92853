package ops

import (
	"slices"

	"github.com/gpk-go/gpk/device"
)

// Keep implements device.Keeper. It copies the call, because calls are pooled and their
// slices point into them.
func (c *call) Keep() device.Work {
	k := *c
	k.shape = slices.Clone(c.shape)
	for i := range c.n {
		k.strides[i] = slices.Clone(c.strides[i])
	}
	return &k
}

// Keep implements device.Keeper. It copies the reduction, because reductions are pooled.
func (r *reduction) Keep() device.Work {
	k := *r
	return &k
}
