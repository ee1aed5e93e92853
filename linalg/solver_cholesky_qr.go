package linalg

import (
	"errors"

	"github.com/gpk-go/gpk"
)

// choleskyQRLeast is the number of columns from which QR goes by Cholesky's factorization first.
const choleskyQRLeast = 512

// leavesCholeskyQR reports whether QR is computed by reflectors at once: of small, wide and complex matrices, of
// many, and where Q is square. Of 2048 x 2048 complex numbers reflectors take 0.83 of the time.
func (s solver) leavesCholeskyQR(op *operation, a *gpk.Array) bool {
	_, batch, m, n := shapeOf(a)
	return op.has(Complete) && m != n || m < n || a.DType().IsComplex() || s.least > 0 && (n < choleskyQRLeast || batch > 4)
}

// choleskyQR returns Q and R of matrices [..., m, n], m >= n, by Cholesky's factorization of A^T A = R^T R, twice:
//
//	R1^T R1 = A^T A    Q1 = A R1^-1    R2^T R2 = Q1^T Q1    Q = Q1 R2^-1    R = R2 R1
//
// (CholeskyQR2: Yamamoto, Nakatsukasa, Yanagisawa and Fukaya, Electron. Trans. Numer. Anal. 44, 2015). All of it is
// products, or made of products, where reflectors go column by column. A^T A has the square of A's condition, so
// it is computed and factored in float64 the first time. The factors are checked: ErrNoConvergence says
// that a backward error is above 4 n eps, as it is for conditions near 1/eps.
func (s solver) choleskyQR(op *operation, a *gpk.Array) (q, r *gpk.Array, err error) {
	dt := a.DType()
	r1, err := s.gramFactor(op, a.Cast(gpk.Float64))
	if err != nil {
		return nil, nil, err
	}
	r1 = r1.Cast(dt)
	first, err := s.quotient(op, a, r1)
	if err != nil {
		return nil, nil, err
	}
	r2, err := s.gramFactor(op, first)
	if err != nil {
		return nil, nil, err
	}
	q, err = s.quotient(op, first, r2)
	if err != nil {
		return nil, nil, err
	}
	r = times(r2, r1).Triu()
	return q, r, s.checkProduct(a, q, r, 4, q)
}

// gramFactor returns the upper triangular R with R^T R = A^T A. ErrNoConvergence says that A^T A is not positive
// definite in its type.
func (s solver) gramFactor(op *operation, a *gpk.Array) (*gpk.Array, error) {
	packed, err := s.potrfFinite(op, times(a.T(), a), true, false)
	if errors.Is(err, ErrNotPositiveDefinite) {
		return nil, ErrNoConvergence
	}
	if err != nil {
		return nil, err
	}
	return packed.Triu(), nil
}

// quotient returns A R^-1 = (R^-T A^T)^T.
func (s solver) quotient(op *operation, a, r *gpk.Array) (*gpk.Array, error) {
	x := flat(a).T().Clone()
	if err := s.substitute(op, flat(r).T(), x, false, false); err != nil {
		return nil, err
	}
	return x.T().Reshape(a.Shape()...), nil
}
