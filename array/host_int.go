package array

import (
	"fmt"
	"strconv"

	"github.com/gpk-go/gpk/dtype"
)

// hostBytes returns the bytes of elements as an array stores them. It shares their memory,
// except that it returns a copy with 64-bit elements for Go's int and uint where these have
// 32 bits.
func hostBytes[T dtype.HostElem](data []T) []byte {
	if strconv.IntSize == 32 {
		switch data := any(data).(type) {
		case []int:
			return bytesOf(converted[int64](data))
		case []uint:
			return bytesOf(converted[uint64](data))
		}
	}
	return bytesOf(data)
}

// readTo reads a's elements into a slice of T, the inverse of hostBytes.
func readTo[T dtype.HostElem](c *call, dst []T, a *Array) error {
	if strconv.IntSize == 32 {
		switch dst := any(dst).(type) {
		case []int:
			return readWide[int64](c, dst, a)
		case []uint:
			return readWide[uint64](c, dst, a)
		}
	}
	return read(c, bytesOf(dst), a)
}

// readWide is readTo for a T of 32 bits that an array stores as W.
func readWide[W int64 | uint64, T int | uint](c *call, dst []T, a *Array) error {
	wide := make([]W, len(dst))
	if err := read(c, bytesOf(wide), a); err != nil {
		return err
	}
	for i, v := range wide {
		if dst[i] = T(v); W(dst[i]) != v {
			return c.fail(fmt.Errorf("%w: element %d is %d, which %T does not hold on this system; read %T", dtype.ErrDType, i, v, dst[i], v), a)
		}
	}
	return nil
}

// converted returns elements as another type that holds them.
func converted[W int64 | uint64, T int | uint](data []T) []W {
	wide := make([]W, len(data))
	for i, v := range data {
		wide[i] = W(v)
	}
	return wide
}
