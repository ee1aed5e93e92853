package nn

import (
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dist"
)

// slice is the part of a whole parameter that a rank holds: the elements from start on along an axis, whose
// length in the whole parameter is whole.
type slice struct{ axis, start, whole int }

// wholeShape returns the shape of the whole parameter, which is that of its array in a file.
func (p *Parameter) wholeShape() []int {
	shape := p.Shape()
	if p.slice != nil {
		shape[p.slice.axis] = p.slice.whole
	}
	return shape
}

// part returns the rank's part of p along an axis, on the rank's device.
func (p *Parameter) part(axis int, c *dist.Comm) (*Parameter, error) {
	if axis >= len(p.shape) {
		return nil, fmt.Errorf("%w: a parameter of shape %v has no axis %d to divide among ranks", gpk.ErrShape, p.shape, axis)
	}
	n := p.shape[axis]
	if p.slice != nil {
		return nil, fmt.Errorf("%w: a parameter that is already a rank's part", gpk.ErrUnsupported)
	}
	if n%c.Size() != 0 {
		return nil, fmt.Errorf("%w: %d features cannot be divided among %d ranks: %d does not divide %d", gpk.ErrShape, n, c.Size(), c.Size(), n)
	}
	size := n / c.Size()
	part := NewParameter(p.shape...)
	part.shape[axis] = size
	start := size * c.Rank()
	part.slice = &slice{axis, start, n}
	return part, part.copyOf(p, c.Device(), func(a *gpk.Array) *gpk.Array { return a.Slice(axis, start, start+size) })
}

// whole returns all of p, on the rank's device.
func (p *Parameter) whole(c *dist.Comm) (*Parameter, error) {
	all := NewParameter(p.shape...)
	return all, all.copyOf(p, c.Device(), func(a *gpk.Array) *gpk.Array { return a })
}

// copyOf sets p to a copy of a part of another parameter's array, if that was set.
func (p *Parameter) copyOf(from *Parameter, d *device.Device, f func(*gpk.Array) *gpk.Array) error {
	if from.array == nil {
		return nil
	}
	a := f(from.array).Clone()
	if a.Device() != d {
		here := a
		defer here.Free()
		a = here.To(d)
	}
	if err := gpk.Eval(a); err != nil {
		return err
	}
	p.array = a
	return nil
}
