package dtype

import (
	"fmt"
	"strconv"
	"unsafe"
)

// HostBytes returns the bytes of elements as an array stores them. It shares their memory,
// except that it returns a copy with 64-bit elements for Go's int and uint where these have
// 32 bits.
func HostBytes[T HostElem](data []T) []byte {
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

// ReadHost calls read with the memory for elements as an array stores them, and converts them to
// dst. An element that dst cannot hold is ErrDType.
func ReadHost[T HostElem](dst []T, read func([]byte) error) error {
	if strconv.IntSize == 32 {
		switch dst := any(dst).(type) {
		case []int:
			return readWide[int64](dst, read)
		case []uint:
			return readWide[uint64](dst, read)
		}
	}
	return read(bytesOf(dst))
}

// readWide is ReadHost for an int or uint of 32 bits, which an array stores as the 64-bit type
// W.
func readWide[W int64 | uint64, T int | uint](dst []T, read func([]byte) error) error {
	wide := make([]W, len(dst))
	if err := read(bytesOf(wide)); err != nil {
		return err
	}
	for i, v := range wide {
		if dst[i] = T(v); W(dst[i]) != v {
			return fmt.Errorf("%w: element %d is %d, which %T does not hold on this system; read %T", ErrDType, i, v, dst[i], v)
		}
	}
	return nil
}

// converted returns elements converted to another type.
func converted[W int64 | uint64, T int | uint](data []T) []W {
	wide := make([]W, len(data))
	for i, v := range data {
		wide[i] = W(v)
	}
	return wide
}

// bytesOf returns the memory of a slice as bytes, without a copy.
func bytesOf[T HostElem](data []T) []byte {
	var zero T
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(data))), len(data)*int(unsafe.Sizeof(zero)))
}
