package nn

import (
	"fmt"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
)

// Parameter is an array of a fixed shape that is an input of a layer, such as a weight.
type Parameter struct {
	shape []int
	array *gpk.Array
	slice *slice // the part of the whole parameter; nil: all of it
}

// NewParameter returns a parameter with a shape and without an array.
func NewParameter(shape ...int) *Parameter { return &Parameter{shape: slices.Clone(shape)} }

// Shape returns the lengths of the axes.
func (p *Parameter) Shape() []int { return slices.Clone(p.shape) }

// Array returns the parameter's array. Before Set it carries ErrUnsupported.
func (p *Parameter) Array() *gpk.Array {
	if p.array == nil {
		return array.Failed(fmt.Errorf("%w: a parameter of shape %v that was not set", gpk.ErrUnsupported, p.shape))
	}
	return p.array
}

// Set sets the parameter's array. An array of another shape is ErrShape. From then on the
// parameter owns the array: To, Cast, Load and Free of a module free it. The previous
// array is not freed.
func (p *Parameter) Set(a *gpk.Array) error {
	if err := a.Err(); err != nil {
		return err
	}
	if !slices.Equal(a.Shape(), p.shape) {
		return fmt.Errorf("%w: an array of shape %v for a parameter of shape %v", gpk.ErrShape, a.Shape(), p.shape)
	}
	p.array = a
	return nil
}
