package linalg

import "github.com/gpk-go/gpk"

// checkSVD returns ErrNoConvergence if a backward error of a singular value decomposition exceeds bound n eps. n is the larger
// side of a.
func (s solver) checkSVD(a, u, values, vh *gpk.Array, bound float64) error {
	k := values.Shape()[values.NDim()-1]
	left := u.Slice(-1, 0, k).Mul(values.Unsqueeze(-2).Cast(a.DType()))
	return s.checkProduct(a, left, vh.Slice(-2, 0, k), bound, u, adjoint(vh))
}

// checkProduct returns ErrNoConvergence if |A - X Y| / |A| exceeds bound n eps, or if |Q^H Q - I| / |I| does for any Q of
// orthogonal. n is the larger side of A, and the norm is Frobenius's.
func (s solver) checkProduct(a, x, y *gpk.Array, bound float64, orthogonal ...*gpk.Array) error {
	_, _, m, n := shapeOf(a)
	limit := bound * float64(max(m, n)) * s.epsilon()
	within := func(x *gpk.Array, size any) *gpk.Array { // compares |x|^2 with limit^2 size
		return x.AbsSquare().Sum(-1, -2).Le(gpk.Mul(size, limit*limit))
	}
	scale := a.Abs().Max(-1, -2, gpk.KeepDims) // unscaled squares could overflow or underflow
	scaled := func(x *gpk.Array) *gpk.Array { return x.Div(scale.Cast(a.DType())) }
	good := within(scaled(a.Sub(times(x, y))), scaled(a).AbsSquare().Sum(-1, -2))
	for _, q := range orthogonal {
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
