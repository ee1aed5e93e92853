package textual

import (
	"strconv"

	"github.com/gpk-go/gpk/dtype"
)

// integerType has the texts of one integer type.
type integerType interface {
	// cells returns elements as texts in a format of package fmt, "" for the usual one.
	cells(raw []byte, n int, format string) []string
	// list appends elements to a list in JSON.
	list(b []byte, raw []byte, n int) []byte
	// parse returns the elements of a list in JSON as memory holds them.
	parse(data []byte, bits int) (raw []byte, n int, err error)
}

// integerTypes is the one list of the integer types and their Go types.
var integerTypes = map[dtype.DType]integerType{
	dtype.Int8: signedInts[int8]{}, dtype.Int16: signedInts[int16]{}, dtype.Int32: signedInts[int32]{}, dtype.Int64: signedInts[int64]{},
	dtype.Uint8: unsignedInts[uint8]{}, dtype.Uint16: unsignedInts[uint16]{}, dtype.Uint32: unsignedInts[uint32]{}, dtype.Uint64: unsignedInts[uint64]{},
}

type signedInts[T int8 | int16 | int32 | int64] struct{}

func (signedInts[T]) cells(raw []byte, n int, format string) []string {
	return formatted(decode[T](raw, n), format)
}

func (signedInts[T]) list(b, raw []byte, n int) []byte {
	return each(b, decode[T](raw, n), func(b []byte, v T) []byte { return strconv.AppendInt(b, int64(v), 10) })
}

func (signedInts[T]) parse(data []byte, bits int) ([]byte, int, error) {
	return parse(data, func(v cell) (T, error) {
		x, err := strconv.ParseInt(string(v), 10, bits)
		return T(x), err
	})
}

type unsignedInts[T uint8 | uint16 | uint32 | uint64] struct{}

func (unsignedInts[T]) cells(raw []byte, n int, format string) []string {
	return formatted(decode[T](raw, n), format)
}

func (unsignedInts[T]) list(b, raw []byte, n int) []byte {
	return each(b, decode[T](raw, n), func(b []byte, v T) []byte { return strconv.AppendUint(b, uint64(v), 10) })
}

func (unsignedInts[T]) parse(data []byte, bits int) ([]byte, int, error) {
	return parse(data, func(v cell) (T, error) {
		x, err := strconv.ParseUint(string(v), 10, bits)
		return T(x), err
	})
}
