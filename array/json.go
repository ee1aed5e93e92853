package array

import (
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/binaryform"
	"github.com/gpk-go/gpk/internal/callsite"
	"github.com/gpk-go/gpk/internal/textual"
)

// MarshalJSON implements json.Marshaler: {"dtype": "float32", "shape": [2, 3], "data": […]},
// with the elements in row-major order. NaN and the infinities are the strings "NaN",
// "+Inf" and "-Inf", and a complex number is [real, imaginary]. It waits for the elements.
// An array that carries an error is that error.
func (a *Array) MarshalJSON() ([]byte, error) {
	return a.encoded(call{"MarshalJSON", callsite.Search()}, textual.JSON)
}

// GobEncode implements gob.GobEncoder: type, shape and elements, with all their bits. It waits
// for them. An array that carries an error is that error.
func (a *Array) GobEncode() ([]byte, error) {
	return a.encoded(call{"GobEncode", callsite.Search()}, binaryform.Encode)
}

// encoded waits for the elements, and returns them as form encodes them.
func (a *Array) encoded(c call, form func(dt dtype.DType, shape []int, raw []byte) ([]byte, error)) ([]byte, error) {
	raw, err := raw(&c, a)
	if err != nil {
		return nil, err
	}
	text, err := form(a.dt, a.lay.Shape, raw)
	return text, c.wrap(err, a)
}

// UnmarshalJSON implements json.Unmarshaler. It replaces *a by the array that MarshalJSON
// wrote, on the default device, with the same bits except for those of a NaN. Arrays that
// shared a's elements keep them. Invalid text is ErrDType or ErrShape.
func (a *Array) UnmarshalJSON(text []byte) error {
	if a != nil && string(text) == "null" { // changes nothing, as in package encoding/json
		return nil
	}
	return a.decode(call{"UnmarshalJSON", callsite.Search()}, text, textual.FromJSON)
}

// GobDecode implements gob.GobDecoder. It replaces *a by the array that GobEncode wrote, on
// the default device, as UnmarshalJSON does.
func (a *Array) GobDecode(data []byte) error {
	return a.decode(call{"GobDecode", callsite.Search()}, data, binaryform.Decode)
}

// decode replaces *a by the array that form decodes from data.
func (a *Array) decode(c call, data []byte, form func([]byte) (dtype.DType, []int, []byte, error)) error {
	if a == nil {
		return c.fail(fmt.Errorf("%w: %s into a nil *Array", dtype.ErrDType, c.name))
	}
	dt, shape, raw, err := form(data)
	dev := device.Default()
	if err == nil {
		err = dev.Err()
	}
	if err != nil {
		return c.fail(err)
	}
	b := c.uploaded(dev.DefaultStream(), dt, raw, shape, fromGo)
	if b.err != nil {
		return b.err
	}
	*a = *b.with(b.lay)
	return nil
}
