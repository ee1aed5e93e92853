package array

import (
	"fmt"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/callsite"
	"github.com/gpk-go/gpk/internal/textual"
)

// MarshalJSON implements json.Marshaler: {"dtype": "float32", "shape": [2, 3], "data": […]},
// with the elements in row-major order. NaN and the infinities are the strings "NaN",
// "+Inf" and "-Inf", and a complex number is [real, imaginary]. It waits for the elements.
// An array that carries an error is that error.
func (a *Array) MarshalJSON() ([]byte, error) {
	c := call{"MarshalJSON", callsite.Search()}
	raw, err := raw(&c, a)
	if err != nil {
		return nil, err
	}
	text, err := textual.JSON(a.dt, a.lay.Shape, raw)
	return text, c.wrap(err, a)
}

// UnmarshalJSON implements json.Unmarshaler. It replaces *a by the array that MarshalJSON
// wrote, on the default device, with the same bits except for those of a NaN. Arrays that
// shared a's elements keep them. Text that is no such array is ErrDType or ErrShape.
func (a *Array) UnmarshalJSON(text []byte) error {
	c := call{"UnmarshalJSON", callsite.Search()}
	if a == nil {
		return c.fail(fmt.Errorf("%w: UnmarshalJSON into nil", dtype.ErrDType))
	}
	if string(text) == "null" { // changes nothing, as in package encoding/json
		return nil
	}
	dt, shape, raw, err := textual.FromJSON(text)
	dev := device.Default()
	if err == nil {
		err = dev.Err()
	}
	if err != nil {
		return c.fail(err)
	}
	b := c.uploaded(dev.DefaultStream(), dt, raw, shape)
	if b.err != nil {
		return b.err
	}
	*a = *b.with(b.lay)
	return nil
}
