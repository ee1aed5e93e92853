package ops

import (
	"slices"

	"github.com/gpk-go/gpk/device"
)

// Keep implements device.Keeper: calls are used again, and point into themselves.
func (c *call) Keep() device.Work {
	k := *c
	k.shape = slices.Clone(c.shape)
	for i := range c.n {
		k.strides[i] = slices.Clone(c.strides[i])
	}
	return &k
}

// Keep implements device.Keeper: reductions are used again.
func (r *reduction) Keep() device.Work {
	k := *r
	return &k
}
