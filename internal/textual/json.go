package textual

import (
	"bytes"
	"encoding/binary"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// document is an array in JSON: its elements in row-major order. NaN and the infinities are
// the strings "NaN", "+Inf" and "-Inf", and a complex number is [real, imaginary].
type document struct {
	DType string          `json:"dtype"`
	Shape []int           `json:"shape"`
	Data  json.RawMessage `json:"data"`
}

// JSON returns an array as JSON. raw holds its elements as memory does. FromJSON gives the
// same bits back, but for the bits of a NaN.
func JSON(dt dtype.DType, shape []int, raw []byte) ([]byte, error) {
	b := append(make([]byte, 0, 16*len(raw)/dt.Size()), '[')
	n := len(raw) / dt.Size()
	if h, ok := dt.Half(); ok {
		b = each(b, decode[uint16](raw, n), func(b []byte, v uint16) []byte { return number(b, float64(h.Float32(v)), 32) })
		return json.Marshal(document{dt.String(), append([]int{}, shape...), append(b, ']')})
	}
	switch dt {
	case dtype.Float32:
		b = each(b, decode[float32](raw, n), func(b []byte, v float32) []byte { return number(b, float64(v), 32) })
	case dtype.Float64:
		b = each(b, decode[float64](raw, n), func(b []byte, v float64) []byte { return number(b, v, 64) })
	case dtype.Bool:
		b = each(b, decode[bool](raw, n), strconv.AppendBool)
	case dtype.Complex64:
		b = each(b, decode[complex64](raw, n), func(b []byte, v complex64) []byte { return pair(b, complex128(v), 32) })
	case dtype.Complex128:
		b = each(b, decode[complex128](raw, n), func(b []byte, v complex128) []byte { return pair(b, v, 64) })
	default:
		t, ok := integerTypes[dt]
		if !ok {
			return nil, fmt.Errorf("%w: %v", dtype.ErrDType, dt)
		}
		b = t.list(b, raw, n)
	}
	return json.Marshal(document{dt.String(), append([]int{}, shape...), append(b, ']')})
}

// FromJSON reads the text that JSON wrote. The result is at most eight times as long as the
// text.
func FromJSON(text []byte) (dt dtype.DType, shape []int, raw []byte, err error) {
	if text = bytes.TrimLeft(text, " \t\r\n"); len(text) > 0 && text[0] != '{' {
		return dt, nil, nil, fmt.Errorf(`%w: %.40s is not an array of gpk in JSON, which is like {"dtype":"float32","shape":[2,2],"data":[1,2,3,4]}`, dtype.ErrDType, text)
	}
	var d document
	in := json.NewDecoder(bytes.NewReader(text))
	in.DisallowUnknownFields()
	err = in.Decode(&d)
	if wrong, ok := errors.AsType[*json.UnmarshalTypeError](err); ok {
		err = fmt.Errorf("field %s is a %s, not %v", wrong.Field, wrong.Value, wrong.Type)
	}
	if err == nil && in.Decode(&struct{}{}) != io.EOF {
		err = errors.New("text after it")
	}
	if err != nil {
		return dt, nil, nil, fmt.Errorf("%w: an array in JSON: %w", dtype.ErrDType, err)
	}
	if dt, err = dtype.Parse(d.DType); err != nil {
		return dt, nil, nil, fmt.Errorf("field dtype: %w", err)
	}
	size, err := layout.Size(d.Shape)
	if err != nil {
		return dt, nil, nil, fmt.Errorf("field shape: %w", err)
	}
	n := 0
	raw, n, err = elements(dt, d.Data)
	if err != nil {
		return dt, nil, nil, fmt.Errorf("%w: field data: %w", dtype.ErrDType, err)
	}
	if d.Shape == nil {
		return dt, nil, nil, layout.Errorf("field shape is missing; it is [] for an array without axes")
	}
	if n != size {
		return dt, nil, nil, layout.Errorf("field data has %d elements, and shape %v takes %d", n, d.Shape, size)
	}
	return dt, d.Shape, raw, nil
}

// elements are the numbers of a JSON list as memory holds them.
func elements(dt dtype.DType, data []byte) ([]byte, int, error) {
	if h, ok := dt.Half(); ok {
		return parse(data, func(v cell) (uint16, error) {
			x, err := v.float(32)
			bits := h.Round(float32(x))
			return bits, v.overflow(err, bits&0x7fff == h.Infinity())
		})
	}
	if t, ok := integerTypes[dt]; ok {
		return t.parse(data, 8*dt.Size())
	}
	switch dt {
	case dtype.Float32:
		return parse(data, func(v cell) (float32, error) { x, err := v.float(32); return float32(x), err })
	case dtype.Float64:
		return parse(data, func(v cell) (float64, error) { return v.float(64) })
	case dtype.Bool:
		return parse(data, cell.bool)
	case dtype.Complex64:
		return parse(data, func(v cell) (complex64, error) { x, err := v.complex(32); return complex64(x), err })
	default:
		return parse(data, func(v cell) (complex128, error) { return v.complex(64) })
	}
}

func parse[T any](data []byte, f func(cell) (T, error)) ([]byte, int, error) {
	in := json.NewDecoder(bytes.NewReader(data))
	if begin, err := in.Token(); err != nil || begin != json.Delim('[') {
		return nil, 0, errors.New("it is missing or not a list")
	}
	var out []T
	for in.More() {
		var c cell
		err := in.Decode(&c)
		var v T
		if err == nil {
			v, err = f(c)
			err = c.reason(err)
		}
		if err != nil {
			return nil, 0, fmt.Errorf("element %d, %.40s: %w", len(out), c, err)
		}
		out = append(out, v)
	}
	if _, err := in.Token(); err != nil {
		return nil, 0, err
	}
	raw, err := binary.Append(nil, binary.NativeEndian, out)
	return raw, len(out), err
}

// cell is an element in JSON.
type cell string

// UnmarshalJSON implements json.Unmarshaler.
func (c *cell) UnmarshalJSON(text []byte) error {
	*c = cell(text)
	return nil
}

// reason returns err in words. err is the error of reading the cell as an element.
func (c cell) reason(err error) error {
	switch {
	case err == nil || errors.Is(err, errPair):
		return err
	case c[0] == '[':
		return errors.New("data is one flat list of all elements in row-major order, without lists for the rows; shape has the lengths")
	case errors.Is(err, strconv.ErrRange):
		return errors.New("the element type cannot hold it")
	case errors.Is(err, strconv.ErrSyntax):
		return errors.New("it is not a number of the element type")
	}
	return err
}

func (c cell) float(bits int) (float64, error) {
	switch string(c) {
	case `"NaN"`:
		return math.NaN(), nil
	case `"+Inf"`:
		return math.Inf(1), nil
	case `"-Inf"`:
		return math.Inf(-1), nil
	}
	return strconv.ParseFloat(string(c), bits)
}

// overflow returns err, or an error if a number became infinite.
func (c cell) overflow(err error, infinite bool) error {
	if err == nil && infinite && c[0] != '"' {
		return strconv.ErrRange
	}
	return err
}

func (c cell) bool() (bool, error) {
	switch c {
	case "true":
		return true, nil
	case "false":
		return false, nil
	}
	return false, errors.New("it is neither true nor false")
}

func (c cell) complex(bits int) (complex128, error) {
	var parts []cell
	if err := json.Unmarshal([]byte(c), &parts); err != nil || len(parts) != 2 {
		return 0, errPair
	}
	re, err := parts[0].float(bits)
	if err != nil {
		return 0, err
	}
	im, err := parts[1].float(bits)
	return complex(re, im), err
}

var errPair = errors.New("a complex number is [real, imaginary]")

func each[T any](b []byte, list []T, f func(b []byte, v T) []byte) []byte {
	for i, v := range list {
		if i > 0 {
			b = append(b, ',')
		}
		b = f(b, v)
	}
	return b
}

// number appends the shortest decimal that reads as v.
func number(b []byte, v float64, bits int) []byte {
	if math.IsNaN(v) || math.IsInf(v, 0) {
		return strconv.AppendQuote(b, strconv.FormatFloat(v, 'g', -1, bits))
	}
	return strconv.AppendFloat(b, v, 'g', -1, bits)
}

func pair(b []byte, v complex128, bits int) []byte {
	b = append(number(append(b, '['), real(v), bits), ',')
	return append(number(b, imag(v), bits), ']')
}
