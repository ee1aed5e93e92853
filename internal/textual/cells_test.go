package textual

import (
	"encoding/binary"
	"fmt"
	"math"
	"slices"
	"testing"

	"github.com/x448/float16"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
)

// encoded returns the elements as bytes in memory.
func encoded[T dtype.Elem](t *testing.T, data ...T) []byte {
	t.Helper()
	raw, err := binary.Append(nil, binary.NativeEndian, data)
	if err != nil {
		t.Fatal(err)
	}
	return raw
}

// TestCells compares with NumPy's output for each type, and with package fmt.
func TestCells(t *testing.T) {
	for _, c := range []struct {
		dt     dtype.DType
		raw    []byte
		format string
		want   []string
	}{
		{dtype.Float32, encoded[float32](t, 0.1, -2), "", []string{" 0.1", "-2. "}},
		{dtype.Float64, encoded(t, math.Pi, math.NaN(), math.Inf(-1)), "", []string{"3.14159265", "       nan", "      -inf"}},
		{dtype.Float16, encoded(t, float16.Fromfloat32(1.0/3)), "", []string{"0.3333"}},
		{dtype.BFloat16, encoded(t, bfloat16.FromFloat32(1.0/3)), "", []string{"0.334"}},
		{dtype.Int8, encoded[int8](t, -128, 127), "", []string{"-128", " 127"}},
		{dtype.Uint8, encoded[uint8](t, 255), "%#x", []string{"0xff"}},
		{dtype.Int32, encoded[int32](t, math.MinInt32), "", []string{"-2147483648"}},
		{dtype.Int64, encoded[int64](t, math.MaxInt64), "%+d", []string{"+9223372036854775807"}},
		{dtype.Bool, encoded(t, true, false), "", []string{" True", "False"}},
		{dtype.Complex64, encoded[complex64](t, 1+2i, 3-4.5i), "", []string{"1.+2.j ", "3.-4.5j"}},
		{dtype.Complex128, encoded(t, 1-2i), "%.2f", []string{"1.00-2.00j"}},
		{dtype.Complex128, nil, "", nil},
	} {
		if got := cells(c.dt, c.raw, c.format); !slices.Equal(got, c.want) {
			t.Errorf("%v: %q, want %q", c.dt, got, c.want)
		}
	}
}

// verbs records the formats that it is printed with.
type verbs struct{ seen *string }

func (v verbs) Format(f fmt.State, verb rune) { *v.seen = Verb(f, verb) }

func TestVerb(t *testing.T) {
	for format, want := range map[string]string{
		"%v": "", "%+v": "", "%s": "", "%d": "%d", "%.3f": "%.3f", "%+8.2e": "%+8.2e", "%-#6x": "%-#6x", "%06d": "%06d", "% d": "% d",
	} {
		got := "unset"
		_ = fmt.Sprintf(format, verbs{&got})
		if got != want {
			t.Errorf("%s: %q, want %q", format, got, want)
		}
	}
}
