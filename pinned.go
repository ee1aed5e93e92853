package gpk

import (
	"fmt"
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/internal/callsite"
	"github.com/gpk-go/gpk/layout"
)

// Pinned returns a slice of n elements, all zero, in memory that a GPU reads and writes
// without a copy: FromSlice, FromSliceInto and ToSliceInto move such slices, and parts of
// them, at the full speed of the bus. free gives the memory back; neither the slice nor a
// part of it may be used afterwards. If the default device is the CPU, it is ordinary Go
// memory. A negative n is ErrShape.
func Pinned[T Elem](n int) (s []T, free func(), err error) {
	at := callsite.Here()
	fail := func(err error) error { return &OpError{Op: "Pinned", Site: at.String(), Err: err} }
	var zero T
	size := int(unsafe.Sizeof(zero))
	if n < 0 || int64(n) > maxPinned/int64(size) {
		return nil, nil, fail(layout.Errorf("%d elements", n))
	}
	b, free, err := device.Default().AllocPinned(n * size)
	if err != nil {
		return nil, nil, fail(fmt.Errorf("%d bytes of pinned memory: %w", n*size, err))
	}
	clear(b) // the driver does not clear it
	return unsafe.Slice((*T)(unsafe.Pointer(unsafe.SliceData(b))), n), free, nil
}

// maxPinned bounds the number of bytes, so that it fits an int.
const maxPinned = min(1<<46, math.MaxInt)
