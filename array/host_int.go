package array

import (
	"fmt"
	"strconv"

	"github.com/gpk-go/gpk/dtype"
)

// hostBytes returns the bytes of elements as an array stores them. It shares their memory,
// except that it returns a copy with 64-bit elements for Go's int where int has 32 bits.
func hostBytes[T dtype.HostElem](data []T) []byte {
	ints, ok := any(data).([]int)
	if !ok || strconv.IntSize == 64 {
		return bytesOf(data)
	}
	wide := make([]int64, len(ints))
	for i, v := range ints {
		wide[i] = int64(v)
	}
	return bytesOf(wide)
}

// readTo reads a's elements into a slice of T, the inverse of hostBytes.
func readTo[T dtype.HostElem](c *call, dst []T, a *Array) error {
	ints, ok := any(dst).([]int)
	if !ok || strconv.IntSize == 64 {
		return read(c, bytesOf(dst), a)
	}
	wide := make([]int64, len(ints))
	if err := read(c, bytesOf(wide), a); err != nil {
		return err
	}
	for i, v := range wide {
		if ints[i] = int(v); int64(ints[i]) != v {
			return c.fail(fmt.Errorf("%w: element %d is %d, which int does not hold on this system; read int64", dtype.ErrDType, i, v), a)
		}
	}
	return nil
}
