package linalg

import (
	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/internal/cusolver"
)

const (
	// togetherUntil is the largest order for which one call factors a batch, with one block of threads a matrix.
	togetherUntil = 256
)

// choleskyKind chooses the function for a batch of positive definite matrices.
func choleskyKind(batch, n int) cusolver.Kind {
	if batch > 1 && n <= togetherUntil {
		return cusolver.PotrfBatched
	}
	return cusolver.Potrf
}

// leavesCholesky reports whether the factorization is left to blocked, which is the case if gpk has kernels for it. On
// an H200, for float32 of order 4,096, these kernels take as long as cuSOLVER with its faster triangle (the lower one
// of a matrix stored by columns), and 0.94 of its time for float64. With the other triangle cuSOLVER takes more than
// twice as long (benchmark/results/gpk-linalg-parts_h200_2026-11-25.txt). In addition, cuSOLVER needs a pass that looks
// for NaN and Inf, and one that clears the other triangle.
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
	// By columns, cuSOLVER reads the conjugate of A, with the other triangle. If that is L' L'^H by columns, L'^T is U
	// by rows.
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

// potrf factors matrices. It reads one triangle: the upper one if upper is set. The result is dense. The same triangle
// of the result, by rows, holds the factor of A or, with conjugated, the factor of the conjugate of A. The elements of
// the other triangle are undefined.
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

// potrfFinite is potrf without the check for NaN and Inf.
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
