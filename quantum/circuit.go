package quantum

import (
	"errors"
	"fmt"
	"sync/atomic"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/callsite"
)

// Circuit is a list of gates on qubits that start in |0>. The methods of gates append to it
// and return it. An error stays with the circuit: later gates have no effect, and Err,
// States, Gram and PlanGram return it. A Circuit is not safe for concurrent use while gates
// are added; afterwards it is.
type Circuit struct {
	qubits int
	gates  []gate
	err    error

	kernel atomic.Pointer[compilation] // cached by the last Gram matrix
}

// maxQubits bounds circuits of any kind; the limit for states is much lower.
const maxQubits = 1 << 16

// NewCircuit returns a circuit without gates. Fewer than one qubit, or more than 65,536, is
// an error of the circuit.
func NewCircuit(qubits int) *Circuit {
	c := &Circuit{qubits: qubits}
	if qubits < 1 || qubits > maxQubits {
		c.qubits = 0
		c.err = fail(callsite.Here(), fmt.Sprintf("NewCircuit(%d)", qubits), fmt.Errorf("%w: a circuit has 1 to %d qubits", gpk.ErrShape, maxQubits))
	}
	return c
}

// Qubits returns the number of wires.
func (c *Circuit) Qubits() int {
	if c == nil {
		return 0
	}
	return c.qubits
}

// Features returns the number of features that the angles need: the highest index plus 1.
func (c *Circuit) Features() int {
	n := 0
	if c != nil {
		for _, g := range c.gates {
			n = max(n, g.angle.features())
		}
	}
	return n
}

// errNoCircuit is the error of a circuit that was not made by a constructor.
var errNoCircuit = fmt.Errorf("%w: a nil or zero Circuit; NewCircuit makes one", gpk.ErrShape)

// Err returns the first error in the construction of the circuit, with its gate and source
// line.
func (c *Circuit) Err() error {
	switch {
	case c == nil:
		return errNoCircuit
	case c.err != nil:
		return c.err
	case c.qubits == 0:
		return errNoCircuit
	}
	return nil
}

// add appends a gate, or stores its error.
func (c *Circuit) add(s callsite.Site, g gate) *Circuit {
	if c == nil {
		return &Circuit{err: fail(s, g.String(), errNoCircuit)}
	}
	if c.err != nil {
		return c
	}
	g.site = s
	if err := c.check(g); err != nil {
		c.err = fail(s, g.String(), err)
		return c
	}
	c.gates = append(c.gates, g)
	return c
}

func (c *Circuit) check(g gate) error {
	if c.qubits == 0 {
		return errNoCircuit
	}
	wires := []int{g.a}
	if g.kind >= gateCX {
		wires = append(wires, g.b)
	}
	for _, w := range wires {
		if w < 0 || w >= c.qubits {
			return fmt.Errorf("%w: qubit %d of a circuit with qubits 0 to %d", gpk.ErrShape, w, c.qubits-1)
		}
	}
	if g.kind >= gateCX && g.a == g.b {
		return fmt.Errorf("%w: %v takes two different qubits, not %d twice", gpk.ErrShape, g.kind, g.a)
	}
	if err := g.angle.err; err != nil {
		return fmt.Errorf("%w: %w", gpk.ErrUnsupported, err)
	}
	return nil
}

// single appends a gate on one qubit for an exported method.
func (c *Circuit) single(k gateKind, q int, t Angle) *Circuit {
	return c.add(callsite.Here(), gate{kind: k, a: q, b: -1, angle: t})
}

// double appends a gate on two qubits for an exported method.
func (c *Circuit) double(k gateKind, a, b int, t Angle) *Circuit {
	return c.add(callsite.Here(), gate{kind: k, a: a, b: b, angle: t})
}

// H adds the Hadamard gate.
func (c *Circuit) H(q int) *Circuit { return c.single(gateH, q, Angle{}) }

// X adds the bit flip.
func (c *Circuit) X(q int) *Circuit { return c.single(gateX, q, Angle{}) }

// Y adds Pauli's Y.
func (c *Circuit) Y(q int) *Circuit { return c.single(gateY, q, Angle{}) }

// Z adds diag(1, -1).
func (c *Circuit) Z(q int) *Circuit { return c.single(gateZ, q, Angle{}) }

// S adds diag(1, i).
func (c *Circuit) S(q int) *Circuit { return c.single(gateS, q, Angle{}) }

// T adds diag(1, e^(i pi/4)).
func (c *Circuit) T(q int) *Circuit { return c.single(gateT, q, Angle{}) }

// SX adds the square root of X, (1+i, 1-i; 1-i, 1+i)/2.
func (c *Circuit) SX(q int) *Circuit { return c.single(gateSX, q, Angle{}) }

// RX adds exp(-i t/2 X).
func (c *Circuit) RX(q int, t Angle) *Circuit { return c.single(gateRX, q, t) }

// RY adds exp(-i t/2 Y).
func (c *Circuit) RY(q int, t Angle) *Circuit { return c.single(gateRY, q, t) }

// RZ adds exp(-i t/2 Z).
func (c *Circuit) RZ(q int, t Angle) *Circuit { return c.single(gateRZ, q, t) }

// P adds diag(1, e^it).
func (c *Circuit) P(q int, t Angle) *Circuit { return c.single(gateP, q, t) }

// CX adds X on target, controlled by control.
func (c *Circuit) CX(control, target int) *Circuit { return c.double(gateCX, control, target, Angle{}) }

// CZ adds a sign of -1 for the states in which both qubits are 1.
func (c *Circuit) CZ(a, b int) *Circuit { return c.double(gateCZ, a, b, Angle{}) }

// SWAP exchanges two qubits.
func (c *Circuit) SWAP(a, b int) *Circuit { return c.double(gateSWAP, a, b, Angle{}) }

// CRX adds RX(t) on target, controlled by control.
func (c *Circuit) CRX(control, target int, t Angle) *Circuit {
	return c.double(gateCRX, control, target, t)
}

// CRY adds RY(t) on target, controlled by control.
func (c *Circuit) CRY(control, target int, t Angle) *Circuit {
	return c.double(gateCRY, control, target, t)
}

// CRZ adds RZ(t) on target, controlled by control.
func (c *Circuit) CRZ(control, target int, t Angle) *Circuit {
	return c.double(gateCRZ, control, target, t)
}

// CP adds a factor of e^it for the states in which both qubits are 1.
func (c *Circuit) CP(control, target int, t Angle) *Circuit {
	return c.double(gateCP, control, target, t)
}

// RZZ adds exp(-i t/2 Z Z).
func (c *Circuit) RZZ(a, b int, t Angle) *Circuit { return c.double(gateRZZ, a, b, t) }

// Append adds the gates of d, which must have the same number of qubits, and its error if
// it has one. d is not changed, and may be c itself.
func (c *Circuit) Append(d *Circuit) *Circuit {
	s := callsite.Here()
	if c == nil {
		return &Circuit{err: fail(s, "Append", errNoCircuit)}
	}
	if c.err != nil {
		return c
	}
	if err := errors.Join(c.Err(), d.Err()); err != nil {
		c.err = err
		return c
	}
	if d.qubits != c.qubits {
		c.err = fail(s, "Append", fmt.Errorf("%w: cannot append a circuit of %d qubits to one of %d", gpk.ErrShape, d.qubits, c.qubits))
		return c
	}
	c.gates = append(c.gates, d.gates...)
	return c
}
