package linalg

import "github.com/gpk-go/gpk"

// stable returns ErrNoConvergence where a backward error of a singular value decomposition is above bound n eps.
func (s solver) stable(a, u, values, vh *gpk.Array, bound float64) error {
	k := values.Shape()[values.NDim()-1]
	left := u.Slice(-1, 0, k).Mul(values.Unsqueeze(-2).Cast(a.DType()))
	return s.stableProduct(a, left, vh.Slice(-2, 0, k), bound, u, adjoint(vh))
}

// stableProduct returns ErrNoConvergence where |A - X Y| over |A| is above bound n eps, or |Q^H Q - I| over |I| of one of
// the others, in the Frobenius norm.
func (s solver) stableProduct(a, x, y *gpk.Array, bound float64, others ...*gpk.Array) error {
	_, _, m, n := shapeOf(a)
	limit := bound * float64(max(m, n)) * s.epsilon()
	within := func(x *gpk.Array, size any) *gpk.Array { // |x|^2 against limit^2 size
		return x.AbsSquare().Sum(-1, -2).Le(gpk.Mul(size, limit*limit))
	}
	scale := a.Abs().Max(-1, -2, gpk.KeepDims) // squares of large and small numbers do not fit
	scaled := func(x *gpk.Array) *gpk.Array { return x.Div(scale.Cast(a.DType())) }
	good := within(scaled(a.Sub(times(x, y))), scaled(a).AbsSquare().Sum(-1, -2))
	for _, q := range others {
		columns := q.Shape()[q.NDim()-1]
		rest := times(adjoint(q), q).Sub(gpk.Eye(a.DType(), columns).To(a.Device()))
		good = good.And(within(rest, gpk.Full(rest.DType().Real(), columns).To(a.Device())))
	}
	all, err := gpk.Item[bool](good.All())
	if err == nil && !all {
		return ErrNoConvergence
	}
	return err
}
