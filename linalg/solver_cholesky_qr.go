package linalg

import (
	"errors"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/internal/cusolver"
)

// choleskyQRLeast is the number of columns from which QR goes by Cholesky's factorization first.
const choleskyQRLeast = 512

// leavesCholeskyQR reports whether QR is computed by reflectors at once: of small and wide matrices, of many,
// and where Q is square.
func (s solver) leavesCholeskyQR(op *operation, a *gpk.Array) bool {
	_, batch, m, n := shapeOf(a)
	return op.has(Complete) && m != n || m < n || s.least > 0 && (n < choleskyQRLeast || batch > 4)
}

// choleskyQR returns Q and R of matrices [..., m, n], m >= n, by Cholesky's factorization of A^H A = R^H R, twice:
//
//	R1^H R1 = A^H A    Q1 = A R1^-1    R2^H R2 = Q1^H Q1    Q = Q1 R2^-1    R = R2 R1
//
// (CholeskyQR2: Yamamoto, Nakatsukasa, Yanagisawa and Fukaya, Electron. Trans. Numer. Anal. 44, 2015). All of it is
// products, or made of products, where reflectors go column by column. A^H A has the square of A's condition, so
// it is computed and factored in float64 the first time. The factors are checked: ErrNoConvergence says
// that a backward error is above 4 n eps, as it is for conditions near 1/eps.
func (s solver) choleskyQR(op *operation, a *gpk.Array) (q, r *gpk.Array, err error) {
	dt := a.DType()
	high := gpk.Float64
	if dt.IsComplex() {
		high = gpk.Complex128
	}
	r1, inverse, err := s.gramFactor(op, a.Cast(high))
	if err != nil {
		return nil, nil, err
	}
	first := times(a, inverse.Cast(dt))
	r2, inverse, err := s.gramFactor(op, first)
	if err != nil {
		return nil, nil, err
	}
	q, r = times(first, inverse), times(r2, r1.Cast(dt)).Triu()
	return q, r, s.stableProduct(a, q, r, 4, q)
}

// gramFactor returns the upper triangular R with R^H R = A^H A, and its inverse. ErrNoConvergence says that A^H A is
// not positive definite in its type.
func (s solver) gramFactor(op *operation, a *gpk.Array) (r, inverse *gpk.Array, err error) {
	packed, err := s.potrfFinite(op, times(adjoint(a), a), true, false)
	if errors.Is(err, ErrNotPositiveDefinite) {
		return nil, nil, ErrNoConvergence
	}
	if err != nil {
		return nil, nil, err
	}
	r = packed.Triu()
	lead, batch, n, _ := shapeOf(r)
	info := &report{lead: lead}
	results, err := op.call(cusolver.Trtri, []array.Part{{DType: r.DType(), Shape: r.Shape()}}, []*gpk.Array{r}, info, func(run *runner) error {
		if err := fill(run.Stream, run.dst[0], run.reads[0], false); err != nil {
			return err
		}
		// By columns it is the lower triangle of R^T. The other one stays 0.
		return run.run(cusolver.Call{N: n, Batch: batch, A: stackOf(run.dst[0], n, n*n)})
	})
	if err != nil {
		return nil, nil, err
	}
	return r, results[0], nil
}
