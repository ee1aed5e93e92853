package device

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"

	"github.com/x448/float16"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
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

// appendNumber appends the bytes of a number, and nothing for a type that C does not have.
func appendNumber(b []byte, v any) []byte {
	le := binary.LittleEndian
	switch x := v.(type) {
	case bool:
		if x {
			return append(b, 1)
		}
		return append(b, 0)
	case int8:
		return append(b, byte(x))
	case uint8:
		return append(b, x)
	case int16:
		return le.AppendUint16(b, uint16(x))
	case uint16:
		return le.AppendUint16(b, x)
	case float16.Float16:
		return le.AppendUint16(b, x.Bits())
	case bfloat16.BFloat16:
		return le.AppendUint16(b, x.Bits())
	case int32:
		return le.AppendUint32(b, uint32(x))
	case uint32:
		return le.AppendUint32(b, x)
	case float32:
		return le.AppendUint32(b, math.Float32bits(x))
	case int64:
		return le.AppendUint64(b, uint64(x))
	case Address:
		return le.AppendUint64(b, uint64(x))
	case uint64:
		return le.AppendUint64(b, x)
	case float64:
		return le.AppendUint64(b, math.Float64bits(x))
	case complex64:
		return le.AppendUint32(le.AppendUint32(b, math.Float32bits(real(x))), math.Float32bits(imag(x)))
	case complex128:
		return le.AppendUint64(le.AppendUint64(b, math.Float64bits(real(x))), math.Float64bits(imag(x)))
	}
	return b
}
