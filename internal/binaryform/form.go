// Package binaryform encodes arrays as bytes for package encoding/gob.
//
// What belongs here: this form. What does not: formats that other programs read (packages
// interop/npy and interop/safetensors, and internal/textual for JSON).
package binaryform

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// version is the first byte.
const version = 1

// Encode returns the encoding of an array: the version, the length of the name of the type and
// the name, the number of axes and their lengths, each as an unsigned varint, and raw, the
// elements in row-major order, little-endian.
func Encode(dt dtype.DType, shape []int, raw []byte) ([]byte, error) {
	name := dt.String()
	out := make([]byte, 0, 2+len(name)+10*(len(shape)+1)+len(raw))
	out = append(out, version, byte(len(name)))
	out = append(out, name...)
	out = binary.AppendUvarint(out, uint64(len(shape)))
	for _, n := range shape {
		out = binary.AppendUvarint(out, uint64(n))
	}
	return append(out, raw...), nil
}

// Decode decodes the result of Encode. Other bytes are ErrDType. A shape that does not match
// the number of elements is ErrShape.
func Decode(data []byte) (dt dtype.DType, shape []int, raw []byte, err error) {
	bad := func(what string) (dtype.DType, []int, []byte, error) {
		return dtype.Invalid, nil, nil, notAnArray(what)
	}
	if len(data) < 2 || data[0] != version {
		return bad("they do not begin with version 1")
	}
	name := data[2:]
	if len(name) < int(data[1]) {
		return bad("they end in the name of the type")
	}
	name, rest := name[:data[1]], name[data[1]:]
	at := slices.IndexFunc(dtype.All[:], func(d dtype.DType) bool { return d.String() == string(name) })
	if at < 0 {
		return bad(fmt.Sprintf("%q is not an element type", name))
	}
	dt = dtype.All[at]
	if shape, rest, err = decodeShape(rest); err != nil {
		return dtype.Invalid, nil, nil, err
	}
	size, err := layout.Size(shape)
	if err == nil && (size != len(rest)/dt.Size() || len(rest)%dt.Size() != 0) {
		err = layout.Errorf("%d bytes of %v for the shape %v", len(rest), dt, shape)
	}
	if dt == dtype.Bool && slices.ContainsFunc(rest, func(b byte) bool { return b > 1 }) {
		return bad("a bool that is neither 0 nor 1")
	}
	return dt, shape, rest, err
}

// decodeShape decodes the number of axes and their lengths. rest are the bytes that follow.
func decodeShape(data []byte) (shape []int, rest []byte, err error) {
	axes, used := binary.Uvarint(data)
	if used <= 0 || axes > uint64(len(data)) {
		return nil, nil, notAnArray("they end in the shape")
	}
	rest = data[used:]
	shape = make([]int, axes)
	for d := range shape {
		n, used := binary.Uvarint(rest)
		if used <= 0 {
			return nil, nil, notAnArray("they end in the shape")
		}
		shape[d], rest = int(min(n, 1<<62)), rest[used:]
		if shape[d] < 0 || uint64(shape[d]) != n {
			return nil, nil, layout.Errorf("an axis of length %d", n)
		}
	}
	return shape, rest, nil
}

// notAnArray returns the error for bytes that are not a result of Encode.
func notAnArray(what string) error {
	return fmt.Errorf("%w: the bytes are not an array: %s", dtype.ErrDType, what)
}
