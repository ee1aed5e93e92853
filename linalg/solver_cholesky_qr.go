package linalg

import (
	"errors"

	"github.com/gpk-go/gpk"
)

// choleskyQRLeast is the smallest number of columns for which QR first tries Cholesky's factorization, and then reflectors.
const choleskyQRLeast = 512

// leavesCholeskyQR reports whether QR uses reflectors without trying Cholesky's factorization. It does so for small, wide
// and complex matrices, for a batch of more than 4, and for a square Q of a matrix that is not square. For 2048 x 2048
// complex numbers reflectors take 0.83 of the time of Cholesky's factorization.
func (s solver) leavesCholeskyQR(op *operation, a *gpk.Array) bool {
	_, batch, m, n := shapeOf(a)
	return op.has(Complete) && m != n || m < n || a.DType().IsComplex() || s.least > 0 && (n < choleskyQRLeast || batch > 4)
}

// choleskyQR returns Q and R of matrices [..., m, n], m >= n, by Cholesky's factorization of A^T A = R^T R, twice:
//
//	R1^T R1 = A^T A    Q1 = A R1^-1    R2^T R2 = Q1^T Q1    Q = Q1 R2^-1    R = R2 R1
//
// (CholeskyQR2: Yamamoto, Nakatsukasa, Yanagisawa and Fukaya, Electron. Trans. Numer. Anal. 44, 2015). All steps are
// matrix products or consist of them, whereas reflectors are applied column by column. The condition number of A^T A
// is the square of A's, so the first A^T A is computed and factored in float64. The factors are checked. ErrNoConvergence
// means that a backward error exceeds 4 n eps, which happens for condition numbers near 1/eps.
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

// gramFactor returns the upper triangular R with R^T R = A^T A. The error is ErrNoConvergence if the rounded A^T A is
// not positive definite.
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
