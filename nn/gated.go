package nn

import (
	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/matmul"
)

// GatedMLP is Down(act(Gate(x)) Up(x)). With SiLU it is the perceptron of Llama (Shazeer,
// arXiv 2002.05202). Gate and Up are computed as one product if both of them or none of
// them have a bias. The activations of the three linear layers must be Identity.
type GatedMLP struct {
	Gate, Up, Down *Linear
	Activation     Activation
	Names          [3]string // names of the layers, as Parts lists them

	weights, biases derived
}

// NewGatedMLP returns a layer from width features through hidden features to width. Its
// parameters are not set.
func NewGatedMLP(width, hidden int, act Activation, bias bool) *GatedMLP {
	return &GatedMLP{
		Gate: NewLinear(width, hidden, bias), Up: NewLinear(width, hidden, bias), Down: NewLinear(hidden, width, bias),
		Activation: act, Names: [3]string{"gate", "up", "down"},
	}
}

// Parts implements Module.
func (m *GatedMLP) Parts() []Part {
	return []Part{{Name: m.Names[0], Module: m.Gate}, {Name: m.Names[1], Module: m.Up}, {Name: m.Names[2], Module: m.Down}}
}

// Forward returns an array of x's shape, [..., width].
func (m *GatedMLP) Forward(x *gpk.Array) *gpk.Array { return m.Down.Forward(m.inner(x)) }

// inner returns the input of Down: act(Gate(x)) Up(x).
func (m *GatedMLP) inner(x *gpk.Array) *gpk.Array {
	gate, up := m.project(x)
	return gated(m.Activation, gate, up)
}

// project computes Gate(x) and Up(x).
func (m *GatedMLP) project(x *gpk.Array) (gate, up *gpk.Array) {
	if (m.Gate.Bias == nil) != (m.Up.Bias == nil) {
		return m.Gate.Forward(x), m.Up.Forward(x)
	}
	var bias *gpk.Array
	if m.Gate.Bias != nil {
		bias = m.biases.joined(m.Gate.Bias, m.Up.Bias)
	}
	p, n := m.Gate.Precision, m.Gate.Weight.shape[0]
	both := linear(x, m.weights.packed(p, m.Gate.Weight, m.Up.Weight), bias, Identity, p)
	return both.Slice(-1, 0, n), both.Slice(-1, n, 2*n)
}

// gated returns act(gate) up.
func gated(act Activation, gate, up *gpk.Array) *gpk.Array {
	switch act {
	case SiLU:
		return gpk.SwiGLU(gate, up)
	case GELU:
		return gpk.GEGLU(gate, up)
	case GELUTanh:
		gate = gate.GELUTanh()
	case ReLU:
		gate = gate.ReLU()
	}
	return gate.Mul(up)
}

func (m *GatedMLP) setPrecision(p matmul.Precision) {
	for _, l := range []*Linear{m.Gate, m.Up, m.Down} {
		l.setPrecision(p)
	}
}

func (m *GatedMLP) free() {
	m.weights.free()
	m.biases.free()
}
