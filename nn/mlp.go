package nn

import "github.com/gpk-go/gpk"

// MLP consists of two linear layers, Up and Down. The activation is that of Up.
type MLP struct {
	Up, Down *Linear
	Names    [2]string // names of the layers, as Parts lists them
}

// NewMLP returns a layer from width features through hidden features to width. Its
// parameters are not set.
func NewMLP(width, hidden int, act Activation, bias bool) *MLP {
	m := &MLP{NewLinear(width, hidden, bias), NewLinear(hidden, width, bias), [2]string{"up", "down"}}
	m.Up.Activation = act
	return m
}

// Parts implements Module.
func (m *MLP) Parts() []Part {
	return []Part{{Name: m.Names[0], Module: m.Up}, {Name: m.Names[1], Module: m.Down}}
}

// Forward returns an array of x's shape, [..., width].
func (m *MLP) Forward(x *gpk.Array) *gpk.Array { return m.Down.Forward(m.Up.Forward(x)) }
