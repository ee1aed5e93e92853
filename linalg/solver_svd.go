package linalg

import (
	"errors"
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/internal/cusolver"
)

// svdKinds lists the functions for singular values in the order in which they are tried: Jacobi's method, and then the
// QR method if that does not converge. The matrices have p rows and q columns by columns, p >= q. square says that U is
// square. checked says that the caller checks the factors. Then the polar decomposition is tried first: it is faster,
// but changes singular values if one of them is close to 0.
func svdKinds(p, q, batch int, square, checked bool) []cusolver.Kind {
	switch {
	case batch > 1 && p <= jacobiBatch && (square || p == q):
		return []cusolver.Kind{cusolver.GesvdjBatched, cusolver.Gesvd}
	case checked:
		return []cusolver.Kind{cusolver.Gesvdp, cusolver.Gesvdj, cusolver.Gesvd}
	}
	return []cusolver.Kind{cusolver.Gesvdj, cusolver.Gesvd}
}

func (s solver) svd(op *operation, a *gpk.Array, vectors bool) (u, values, vh *gpk.Array, err error) {
	return s.svdBy(op, a, vectors, vectors)
}

// svdBy is svd. If checked is not set, singular values of 0 are computed as at most about eps times the largest, as
// ranks need them.
func (s solver) svdBy(op *operation, a *gpk.Array, vectors, checked bool) (u, values, vh *gpk.Array, err error) {
	_, batch, m, n := shapeOf(a)
	double := a.DType().Real() == gpk.Float64
	kinds := svdKinds(max(m, n), min(m, n), batch, op.has(Complete), checked && double)
	leaves := s.leaves(a, kinds[0] == cusolver.GesvdjBatched)
	if leaves && !(vectors && s.isTall(op, a)) {
		return s.blocked.svd(op, a, vectors)
	}
	x, by, err := s.normalized(a, allElements)
	if err != nil {
		return nil, nil, nil, err
	}
	if vectors && !s.leavesGramSVD(op, a, kinds[0]) {
		u, values, vh, err = s.gramSVD(op, x)
		switch {
		case err == nil && leaves:
			return u, by.divide(op, values), vh, nil
		case err == nil:
			return u, by.undo(op, cusolver.Syevd, values), vh, nil
		case leaves && errors.Is(err, gpk.ErrOutOfMemory): // the CPU needs no copy in double precision on the GPU
		case !errors.Is(err, ErrNoConvergence):
			return nil, nil, nil, err
		}
	}
	if leaves {
		return s.blocked.svd(op, a, vectors)
	}
	kind, u, values, vh, err := s.firstSVD(op, x, kinds, vectors)
	if op.refuses(err) {
		return s.blocked.svd(op, a, vectors)
	}
	if err != nil {
		return nil, nil, nil, err
	}
	return u, by.undo(op, kind, values), vh, nil
}

// firstSVD returns the singular value decomposition by the first of several functions whose result is accurate enough.
func (s solver) firstSVD(op *operation, x *gpk.Array, kinds []cusolver.Kind, vectors bool) (kind cusolver.Kind, u, values, vh *gpk.Array, err error) {
	for _, kind = range kinds {
		u, values, vh, err = s.decomposed(op, x, kind, vectors)
		switch {
		case err != nil || !vectors:
		case kind == cusolver.Gesvdp:
			err = s.checkSVD(x, u, values, vh, 4)
		case kind == cusolver.GesvdjBatched, kind == cusolver.Gesvdj:
			u, vh, err = s.orthogonal(x, u, values, vh)
		}
		if !errors.Is(err, ErrNoConvergence) {
			break
		}
	}
	return kind, u, values, vh, err
}

// checkedBound is the bound, in units of n eps, of a check whose own error is up to n eps, so that the true error is at
// most 4 n eps.
const checkedBound = 3

// orthogonal returns the factors u and vh that Gesvdj or GesvdjBatched computed, with columns that are orthonormal.
// Jacobi's rotations end at a tolerance: for complex64 matrices of 3 x 3, U^H U - I was 4.18 n eps on an H100
// (benchmark/results/gpktest-parts_h100_2026-11-25.txt), and for float32 of order 1,024 more than 4 n eps on an H200.
// If a backward error is too large, a step of polar improves both factors. The error is ErrNoConvergence if it is still
// too large.
func (s solver) orthogonal(a, u, values, vh *gpk.Array) (_, _ *gpk.Array, err error) {
	if err = s.checkSVD(a, u, values, vh, checkedBound); errors.Is(err, ErrNoConvergence) {
		u, vh = polar(u), adjoint(polar(adjoint(vh)))
		err = s.checkSVD(a, u, values, vh, checkedBound)
	}
	return u, vh, err
}

// polar returns Q + Q (I - Q^H Q) / 2, a step towards the nearest matrix with orthonormal columns: if the columns are
// orthonormal up to d, those of the result are orthonormal up to d^2 and rounding (Bjorck and Bowie, An iterative
// algorithm for computing the best estimate of an orthogonal matrix, SIAM J. Numer. Anal. 8, 1971).
func polar(q *gpk.Array) *gpk.Array {
	columns := q.Shape()[q.NDim()-1]
	rest := gpk.Eye(q.DType(), columns).To(q.Device()).Sub(times(adjoint(q), q))
	return q.Add(times(q, rest.Mul(0.5)))
}

// decomposed returns the singular value decomposition by one function of cuSOLVER. By columns it is that of
// X, which has at least as many rows as columns: X = U S V^H is A, or, of a wide matrix, A^H = V S U^H.
func (s solver) decomposed(op *operation, a *gpk.Array, kind cusolver.Kind, vectors bool) (u, values, vh *gpk.Array, err error) {
	lead, batch, m, n := shapeOf(a)
	p, q := max(m, n), min(m, n)
	wide := m < n
	columns := q // number of columns of U
	if op.has(Complete) || kind == cusolver.GesvdjBatched {
		columns = p
	}
	x := a.T()
	if wide {
		x = a
	}
	dt := a.DType()
	parts := []array.Part{
		{DType: dt, Shape: with(lead, q, p)}, {DType: dt.Real(), Shape: with(lead, q)}, {DType: dt, Shape: with(lead, columns, p)}, {DType: dt, Shape: with(lead, q, q)},
	}
	info := &report{lead: lead, asked: true}
	results, err := op.call(kind, parts, []*gpk.Array{x}, info, func(r *runner) error {
		if err := fill(r.Stream, r.dst[0], r.reads[0], wide); err != nil {
			return err
		}
		return r.run(cusolver.Call{
			Vectors: vectors, Full: columns == p && p > q, M: p, N: q, Batch: batch, Sigma: make([]float64, batch),
			A: stackOf(r.dst[0], p, p*q), B: cusolver.Operand{Addr: r.dst[1].Addr(), Step: q}, C: stackOf(r.dst[2], p, p*columns), D: stackOf(r.dst[3], q, q*q),
		})
	})
	if err != nil {
		return nil, nil, nil, err
	}
	results[0].Free()
	if i, _, found := info.first(); found {
		return nil, nil, nil, memberError(fmt.Errorf("%w: %v", ErrNoConvergence, kind), i, lead)
	}
	if !vectors {
		return nil, results[1], nil, nil
	}
	// Read by rows, results[2] is the transpose of X's U, and results[3] that of V or V^H.
	left, right := results[2].T(), conjugated(results[3])
	if kind == cusolver.Gesvd {
		right = results[3].T()
	}
	if wide {
		return adjoint(right), results[1], conjugated(results[2]), nil
	}
	return left, results[1], right, nil
}

func (s solver) singular(op *operation, a *gpk.Array) ([][]float64, error) {
	if a.Size() == 0 {
		return s.blocked.singular(op, a)
	}
	_, values, _, err := s.svd(op, a, false)
	if err != nil {
		return nil, err
	}
	list, err := gpk.ToSlice[float64](values.Cast(gpk.Float64))
	if err != nil {
		return nil, err
	}
	_, batch, m, n := shapeOf(a)
	k := min(m, n)
	all := make([][]float64, batch)
	for i := range all {
		all[i] = list[i*k : (i+1)*k]
	}
	return all, nil
}

// kept reports which singular values exceed rcond times the largest, [..., k].
func kept(values *gpk.Array, rcond float64) *gpk.Array {
	wide := values.Cast(gpk.Float64)
	return wide.Gt(wide.Slice(-1, 0, 1).Mul(rcond))
}

// divided returns the rows of a divided by the singular values. Rows of singular values that are not kept become 0.
func divided(a, values, keep *gpk.Array) *gpk.Array {
	s := gpk.Where(keep, values, 1).Unsqueeze(-1).Cast(a.DType())
	return gpk.Where(keep.Unsqueeze(-1), a.Div(s), 0)
}

func (s solver) pinv(op *operation, a *gpk.Array, rcond float64) (*gpk.Array, error) {
	if s.leaves(a, false) && !s.isTall(op, a) {
		return s.blocked.pinv(op, a, rcond)
	}
	u, values, vh, err := s.svdBy(op, a, true, false)
	if err != nil {
		return nil, err
	}
	return times(adjoint(divided(vh, values, kept(values, rcond))), adjoint(u)), nil
}

func (s solver) leastSquares(op *operation, a, b *gpk.Array, lead []int, rcond float64) (leastSquares, error) {
	if s.leaves(a, false) && !s.isTall(op, a) || b.Size() == 0 {
		return s.blocked.leastSquares(op, a, b, lead, rcond)
	}
	if err := s.finiteSide(a, allElements, b); err != nil {
		return leastSquares{}, err
	}
	u, values, vh, err := s.svdBy(op, a, true, false)
	if err != nil {
		return leastSquares{}, err
	}
	keep := kept(values, rcond)
	x := times(adjoint(vh), divided(times(adjoint(u), b), values, keep))
	rest := b.Sub(times(a, x))
	return leastSquares{x: x, residuals: rest.AbsSquare().Sum(-2), rank: keep.Cast(gpk.Int64).Sum(-1), s: values}, nil
}
