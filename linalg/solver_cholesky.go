package linalg

import (
	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/internal/cusolver"
)

const (
	// togetherUntil is the order up to which a batch is factored by one call, a block of threads a matrix.
	togetherUntil = 256
)

// choleskyKind chooses the function for a batch of positive definite matrices.
func choleskyKind(batch, n int) cusolver.Kind {
	if batch > 1 && n <= togetherUntil {
		return cusolver.PotrfBatched
	}
	return cusolver.Potrf
}

// leavesCholesky reports whether the factorization is left to blocked, as it is if gpk has kernels for it. On an H200
// they take as long as cuSOLVER's faster triangle, by columns the lower one, in float32 of order 4,096, and 0.94 of its
// time in float64; with the other triangle cuSOLVER takes more than twice as long
// (benchmark/results/gpk-linalg-parts_h200_2026-11-25.txt). cuSOLVER needs passes over the matrix besides: one
// looks for NaN and Inf, another clears the other triangle.
func (s solver) leavesCholesky(op *operation, a *gpk.Array) bool {
	if s.least > 0 && op.hasKernels() {
		return true
	}
	_, batch, n, _ := shapeOf(a)
	return s.leaves(a, choleskyKind(batch, n) == cusolver.PotrfBatched)
}

func (s solver) cholesky(op *operation, a *gpk.Array) (*gpk.Array, error) {
	if s.leavesCholesky(op, a) {
		return s.blocked.cholesky(op, a)
	}
	// By columns, the conjugate of A with the other triangle: where that is L' L'^H by columns, L'^T is U by rows.
	l, err := s.potrf(op, a, op.has(Upper), false)
	switch {
	case op.refuses(err):
		return s.blocked.cholesky(op, a)
	case err != nil:
		return nil, err
	case op.has(Upper):
		return l.Triu(), nil
	}
	return l.Tril(), nil
}

// potrf factors matrices of which one triangle is read. The result is dense and has its elements in that
// triangle, by rows the factor of A, or, conjugated, of its conjugate; what is in the other one is
// undefined.
func (s solver) potrf(op *operation, a *gpk.Array, upper, conjugated bool) (*gpk.Array, error) {
	which := lowerElements
	if upper {
		which = upperElements
	}
	if err := s.finite(a, which); err != nil {
		return nil, err
	}
	return s.potrfFinite(op, a, upper, conjugated)
}

// potrfFinite is potrf without the look for NaN and Inf.
func (s solver) potrfFinite(op *operation, a *gpk.Array, upper, conjugated bool) (*gpk.Array, error) {
	lead, batch, n, _ := shapeOf(a)
	info := &report{lead: lead, asked: true}
	results, err := op.call(choleskyKind(batch, n), []array.Part{{DType: a.DType(), Shape: a.Shape()}}, []*gpk.Array{a}, info, func(r *runner) error {
		if err := fill(r.Stream, r.dst[0], r.reads[0], conjugated); err != nil {
			return err
		}
		if err := realDiagonal(r.Stream, r.dst[0], batch, n); err != nil {
			return err
		}
		return r.run(cusolver.Call{Upper: !upper, N: n, Batch: batch, A: stackOf(r.dst[0], n, n*n)})
	})
	if err != nil {
		return nil, err
	}
	if i, order, found := info.first(); found {
		return nil, &DefiniteError{unravel(i, lead), order}
	}
	return results[0], nil
}
