package quantum

import (
	"context"
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/callsite"
)

// States returns the states of the circuit for the samples x [n, features], float32 or float64: [n, 2^qubits] of dt,
// Complex64 or Complex128, on x's device. Wire 0 is the most significant bit of an amplitude's index. Global phases are
// those of the gates. Angles are computed in float64 for both types.
//
// |psi|^2 of a complex64 state is 1 within qubits * 2^-21, however deep the circuit is. If gates follow the first gate
// of every wire, the CPU computes the state in float64 and rounds it once, and the bound is 2^-23. A GPU divides the
// state by its length, which does not correct the error of the state's direction due to rounding after every gate.
func States(ctx context.Context, c *Circuit, x *gpk.Array, dt gpk.DType) (_ *gpk.Array, err error) {
	defer failed(&err, callsite.Here(), "States")
	if ctx == nil {
		return nil, errNoContext
	}
	if err := c.Err(); err != nil {
		return nil, err
	}
	if dt != gpk.Complex64 && dt != gpk.Complex128 {
		return nil, fmt.Errorf("%w: states are complex64 or complex128, not %v", gpk.ErrDType, dt)
	}
	p, err := compileStates(c)
	if err != nil {
		return nil, err
	}
	rows, err := readSamples("x", x, c.Features())
	if err != nil {
		return nil, err
	}
	defer rows.free()
	e, err := engineFor(x.Device())
	if err != nil {
		return nil, err
	}
	op := beginOperation(x.Device(), "States", callsite.Here())
	k, err := e.states(ctx, x.Device(), p, rows, dt)
	op.Done(err)
	return k, err
}
