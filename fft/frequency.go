package fft

import (
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/internal/deviceapi"
	"github.com/gpk-go/gpk/layout"
)

// frequencies returns k / (n d) for k = 0 … up-1, and with full also for k = -(n/2) … -1.
func frequencies(name string, dt gpk.DType, n int, full bool, d float64) *gpk.Array {
	op := array.NewOperation("fft."+name, nil)
	err := op.Check()
	if err == nil && n < 1 {
		err = layout.Errorf("%d samples; at least 1 is needed", n)
	}
	if err == nil && dt != gpk.Float32 && dt != gpk.Float64 {
		err = fmt.Errorf("%w: frequencies of type %v; want float32 or float64", gpk.ErrDType, dt)
	}
	if err == nil {
		err = deviceapi.HostRoom(16 * int64(n))
	}
	if err != nil {
		return op.Failed(err)
	}
	up, count := n/2+1, n/2+1
	if full {
		up, count = (n+1)/2, n
	}
	list := make([]float64, count)
	step := 1 / (float64(n) * d)
	for i := range list {
		k := i
		if i >= up {
			k -= n
		}
		list[i] = float64(k) * step
	}
	return gpk.FromSlice(list).Cast(dt)
}
