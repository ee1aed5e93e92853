package linalg

import (
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cusolver"
)

// powers holds the powers of two by which the matrices of a stack were multiplied, [..., 1] of the real type. It is nil
// if all of them are 1.
type powers struct{ *gpk.Array }

// normalized checks that the elements of a stack on a GPU are finite, and scales every matrix as normalize does. It
// waits for the device once: the largest absolute value is NaN or infinite if an element is. If no matrix is near an
// end of the range, it returns a itself.
func (s solver) normalized(a *gpk.Array, which triangle) (x *gpk.Array, by powers, err error) {
	re := a.Real()
	if a.DType().IsComplex() { // the diagonal of a Hermitian matrix counts as real, but its imaginary parts have to be finite
		re = re.Add(a.Imag().Sub(a.Imag()))
	}
	largest := which.of(re, 0).Abs().Max(-1, -2)
	if a.DType().IsComplex() { // the absolute value of an element may overflow
		largest = largest.Maximum(which.of(a.Imag(), 1).Abs().Max(-1, -2))
	}
	list, err := gpk.ToSlice[float64](largest.Cast(gpk.Float64))
	if err != nil {
		return nil, by, err
	}
	all := 1.0
	for i, v := range list {
		if v-v != 0 {
			return nil, by, s.nonFinite("a", a)
		}
		if list[i] = normalizer(v, s.epsilon()); list[i] != 1 {
			all = list[i]
		}
	}
	if all == 1 {
		return a, by, nil
	}
	lead, _, _, _ := shapeOf(a)
	by.Array = gpk.FromSliceOn(a.Device(), list, with(lead, 1)...).Cast(a.DType().Real())
	return a.Mul(by.Unsqueeze(-1).Cast(a.DType())), by, nil
}

// undo divides eigenvalues or singular values [..., n] by the powers. kind is the function of cuSOLVER that computed
// them.
func (by powers) undo(op *operation, kind cusolver.Kind, values *gpk.Array) *gpk.Array {
	if by.Array == nil {
		return values
	}
	op.Step(fmt.Sprintf("by %v of %s on %v, then", kind, cusolver.Version(), op.dev))
	return by.divide(op, values)
}

// divide divides values by the powers, if there are some.
func (by powers) divide(op *operation, values *gpk.Array) *gpk.Array {
	if by.Array == nil {
		return values
	}
	return op.Elementwise(expr.Div, values, by.Array)
}

// of returns a with 0 in place of the elements that are not read. least is the number of the first diagonal that is
// read: 0 for the main diagonal, 1 for the next.
func (t triangle) of(a *gpk.Array, least int) *gpk.Array {
	switch t {
	case lowerElements:
		return a.Tril(-least)
	case upperElements:
		return a.Triu(least)
	}
	return a
}
