package linalg

import (
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/cutlass"
	"github.com/gpk-go/gpk/device"
)

// The functions of this file factor small matrices by kernels. They start all work before they wait for the device, once
// unless a matrix is singular or an element is not finite.

// hasSmallLU reports whether the matrices of a, which are square and not empty, are so small that a GPU factors each in
// one CTA.
func (op *operation) hasSmallLU(a *gpk.Array) bool {
	return a.Size() > 0 && op.hasKernels() && a.Shape()[a.NDim()-1] <= cutlass.FactorSmall
}

// hasNonFinite returns whether an array contains NaN or an infinity, as a 0-d array.
func hasNonFinite(a *gpk.Array) *gpk.Array { return a.Sub(a).Ne(0).Any() }

// solvedSmall is the method solved for small matrices, which it factors by LU. If side is set, y is the user's and may
// contain NaN or an infinity.
func (b blocked) solvedSmall(op *operation, a, y *gpk.Array, lead []int, side bool) (*gpk.Array, error) {
	own := a.Shape()[:a.NDim()-2]
	f, err := luByKernels(op, a)
	if err != nil {
		return nil, err
	}
	index := f.at(f.order.Unsqueeze(-1), own, lead).BroadcastTo(y.Shape()...)
	packed := f.at(f.packed, own, lead)
	// Not in place: a write of what TakeAlongAxis returns would wait for the check of the indices.
	x := substituted(op, packed, y.TakeAlongAxis(index, -2), false, true)
	x = b.finished(op, substituted(op, packed, x, true, false), lead)
	bad := hasNonFinite(a).Or(diagonals(f.packed).Eq(0).Any())
	if side {
		bad = bad.Or(hasNonFinite(y))
	}
	if err := gpk.Eval(x); err != nil {
		return nil, err
	}
	found, err := gpk.Item[bool](bad)
	if err != nil || !found {
		return x, err
	}
	if err := b.finite(a, allElements); err != nil {
		return nil, err
	}
	if side {
		if err := b.finiteSide(a, allElements, y.Reshape(slices.Concat(lead, y.Shape()[1:])...)); err != nil {
			return nil, err
		}
	}
	return x, b.zeros(f.packed, own)
}

// at broadcasts an array of f, whose matrices have the leading axes own, to the leading axes of the result.
func (luFactors) at(x *gpk.Array, own, lead []int) *gpk.Array {
	return over(x.Reshape(append(slices.Clone(own), x.Shape()[1:]...)...), lead)
}

// detSmall returns the determinants of small matrices, or with logs the signs and the logarithms of the absolute values.
func (op *operation) detSmall(a *gpk.Array, logs bool) ([]*gpk.Array, error) {
	f, err := luByKernels(op, a)
	if err != nil {
		return nil, err
	}
	lead := a.Shape()[:a.NDim()-2]
	parts := []array.Part{{DType: a.DType(), Shape: lead}}
	if logs {
		parts = append(parts, array.Part{DType: a.DType().Real(), Shape: lead})
	}
	results, err := op.Several(parts, "LU and a product by kernels", []*gpk.Array{f.packed, f.order}, func(s *device.Stream, dst, reads []device.View) error {
		w := reads[0].Layout.Shape
		c := cutlass.Factor{
			Op: cutlass.FactorDet, Type: dst[0].DType, A: factorOperand(reads[0]), B: cutlass.FactorOperand{Data: dst[0].Addr()},
			C: cutlass.FactorOperand{Data: reads[1].Addr(), Member: w[1]}, Rows: w[1], Cols: w[2], Batch: w[0],
		}
		if logs {
			c.D = dst[1].Addr()
		}
		return kernelRun{s: s}.launch(c, buffers(reads...), buffers(dst...))
	})
	if err != nil {
		return nil, err
	}
	bad, err := gpk.Item[bool](hasNonFinite(a))
	if err == nil && bad {
		err = op.engine(a).nonFinite("a", a)
	}
	return results, err
}
