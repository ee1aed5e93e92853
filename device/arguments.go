package device

import (
	"encoding/binary"
	"fmt"
	"slices"

	"github.com/gpk-go/gpk/dtype"
)

// Address is a kernel argument that points to device memory.
type Address uint64

// Arguments encodes arguments in the layout of the function's parameters. An argument is an
// Address or a number of the parameter's exact type.
func (f *Function) Arguments(args []any) ([]byte, error) {
	places, known := f.parameters()
	if known && len(places) != len(args) {
		return nil, fmt.Errorf("%w: %d arguments; the kernel has %d parameters", dtype.ErrDType, len(args), len(places))
	}
	var params []byte
	end := 0
	for i, a := range args {
		var room [16]byte
		b, what := appendNumber(room[:0], a), fmt.Sprintf("%T", a)
		if _, ok := a.(Address); ok {
			what = "*Array"
		}
		if len(b) == 0 {
			return nil, fmt.Errorf("%w: argument %d is a %T; it takes an *Array or a number of the parameter's exact type, as int32 or float32", dtype.ErrDType, i+1, a)
		}
		n := len(b)
		at := (end + n - 1) / n * n // C's alignment of numbers
		if known {
			if at = places[i].Offset; places[i].Size != n {
				return nil, fmt.Errorf("%w: argument %d, a %s, has %d bytes; the kernel's parameter has %d", dtype.ErrDType, i+1, what, n, places[i].Size)
			}
		}
		end = at + n
		params = append(params, slices.Repeat([]byte{0}, max(0, end-len(params)))...)
		copy(params[at:], b)
	}
	return params, nil
}

// appendNumber appends the bytes of a number. It appends nothing if the type does not exist
// in C.
func appendNumber(b []byte, v any) []byte {
	if _, ok := dtype.OfValue(v); !ok {
		switch v.(type) {
		case Address:
		default:
			return b
		}
	}
	b, _ = binary.Append(b, binary.LittleEndian, v) // no error: all these types have a fixed size
	return b
}
