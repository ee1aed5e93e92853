package safetensors

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/x448/float16"
)

// ErrFormat is the error of a file that is not in the safetensors format, or is
// damaged.
var ErrFormat = errors.New("not in the safetensors format, or damaged")

func formatError(format string, args ...any) error {
	return fmt.Errorf("%w: %w", ErrFormat, fmt.Errorf(format, args...))
}

const (
	maxHeader   = 100_000_000 // bytes, as in the reference implementation
	maxAxes     = 64          // as in NumPy 2
	lengthBytes = 8           // number of bytes of the header's length, which precedes the header
	metadataKey = "__metadata__"
)

// format is an element type of the safetensors format.
type format struct {
	name string
	bits int
	dt   gpk.DType // Invalid: gpk does not have it

	// write writes the elements of a dense array of type dt. It is nil if gpk does not
	// have the type.
	write func(io.Writer, *gpk.Array) error
}

// formats are in the order in which the tensors of a file are sorted: the reverse of the
// reference implementation's order of types.
var formats = []format{
	{"U64", 64, gpk.Uint64, writePieces[uint64]},
	{"I64", 64, gpk.Int64, writePieces[int64]},
	{"F64", 64, gpk.Float64, writePieces[float64]},
	{"C64", 64, gpk.Complex64, writePieces[complex64]},
	{"F32", 32, gpk.Float32, writePieces[float32]},
	{"U32", 32, gpk.Uint32, writePieces[uint32]},
	{"I32", 32, gpk.Int32, writePieces[int32]},
	{"BF16", 16, gpk.BFloat16, writePieces[bfloat16.BFloat16]},
	{"F16", 16, gpk.Float16, writePieces[float16.Float16]},
	{"U16", 16, gpk.Uint16, writePieces[uint16]},
	{"I16", 16, gpk.Int16, writePieces[int16]},
	{"F8_E5M2FNUZ", 8, 0, nil},
	{"F8_E4M3FNUZ", 8, 0, nil},
	{"F8_E8M0", 8, 0, nil},
	{"F8_E4M3", 8, 0, nil},
	{"F8_E5M2", 8, 0, nil},
	{"I8", 8, gpk.Int8, writePieces[int8]},
	{"U8", 8, gpk.Uint8, writePieces[uint8]},
	{"F6_E3M2", 6, 0, nil},
	{"F6_E2M3", 6, 0, nil},
	{"F4", 4, 0, nil},
	{"BOOL", 8, gpk.Bool, writePieces[bool]},
}

// formatNamed returns the index of a type in formats, or -1.
func formatNamed(name string) int {
	return slices.IndexFunc(formats, func(f format) bool { return f.name == name })
}

// formatOf returns the index of the type for elements of gpk's type dt.
func formatOf(dt gpk.DType) (int, error) {
	i := slices.IndexFunc(formats, func(f format) bool { return f.dt == dt && dt.Valid() })
	switch {
	case i >= 0:
		return i, nil
	case dt == gpk.Complex128:
		return 0, fmt.Errorf("%w: the format has no %v; Cast(gpk.Complex64), or write Real and Imag", gpk.ErrDType, dt)
	}
	return 0, fmt.Errorf("%w: the format has no %v", gpk.ErrDType, dt)
}

// littleEndian reports whether this machine is little-endian, as the format is.
var littleEndian = binary.NativeEndian.Uint16([]byte{1, 0}) == 1

// swap reverses the bytes of every number if the machine is not little-endian.
func swap(b []byte, dt gpk.DType) {
	if !littleEndian {
		reverse(b, dt.Real().Size())
	}
}

// reverse reverses the bytes of every number of n bytes.
func reverse(b []byte, n int) {
	for ; len(b) >= n && n > 1; b = b[n:] {
		slices.Reverse(b[:n])
	}
}

// fromFile converts elements as stored in a file to elements of an array, in place.
func fromFile(b []byte, dt gpk.DType) {
	if dt != gpk.Bool {
		swap(b, dt)
		return
	}
	for i, x := range b { // a Go bool must be the byte 0 or 1
		if x > 1 {
			b[i] = 1
		}
	}
}
