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
		return failed("nn.Parameter", fmt.Errorf("%w: a parameter of shape %v has no array; call Set, or fill the module with nn.Load", gpk.ErrUnsupported, p.shape))
	}
	return p.array
}

// failed returns an array that carries err as an error of the named operation on args.
func failed(name string, err error, args ...*gpk.Array) *gpk.Array {
	return array.NewOperation(name, args).Failed(err)
}

// Set sets the parameter's array. An array of another shape is ErrShape. From then on the
// parameter owns the array: To, Cast, Load and Free of a module free it. The previous
// array is not freed.
func (p *Parameter) Set(a *gpk.Array) error {
	if err := a.Err(); err != nil {
		return err
	}
	if !slices.Equal(a.Shape(), p.shape) {
		return failed("nn.Parameter.Set", fmt.Errorf("%w: the parameter has shape %v", gpk.ErrShape, p.shape), a).Err()
	}
	p.array = a
	return nil
}
