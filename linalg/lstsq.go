package linalg

import (
	"slices"

	"github.com/gpk-go/gpk"
)

// leastSquares are the results of LstSq.
type leastSquares struct{ x, residuals, rank, s *gpk.Array }

// LstSq returns x [..., n, k], which minimizes |A x - b|, for a stack a [..., m, n] and b [..., m,
// k], or one vector b [m]. Of several such x it has the least |x|. The leading axes broadcast. The
// further results are the squares |A x - b|^2 [..., k] (unlike in NumPy, for every shape and rank),
// the rank [...] of a, Int64, and the singular values s [..., min(m, n)] of a. Singular values up to
// rcond times the largest count as zero; the default of rcond is max(m, n) eps. x = V diag(1/s) U^H
// b (Golub and Van Loan 2013, theorem 5.5.1).
//
// Errors: those of SVD; gpk.ErrUnsupported for an rcond that is negative or NaN.
func LstSq(a, b *gpk.Array, rcond ...float64) (x, residuals, rank, s *gpk.Array) {
	op, err := begin("LstSq", nil, 0, stack, a, b)
	var limit float64
	if err == nil {
		limit, err = op.limit(a, rcond)
	}
	var lead []int
	vector := false
	if err == nil {
		b, lead, vector, err = sides(a, b)
	}
	var r leastSquares
	if err == nil {
		r, err = op.engine(a).leastSquares(op, a, b, lead, limit)
	}
	if err != nil {
		failed := op.fail(err)
		return failed, failed, failed, failed
	}
	if vector {
		r.x, r.residuals = r.x.Squeeze(-1), r.residuals.Squeeze(-1)
	}
	return r.x, r.residuals, r.rank, r.s
}

func (host[T]) leastSquares(op *operation, a, b *gpk.Array, lead []int, rcond float64) (r leastSquares, err error) {
	m, err := read[T]("a", a, allElements)
	if err != nil {
		return r, err
	}
	defer m.free()
	y, err := read[T]("b", b, allElements)
	if err != nil {
		return r, err
	}
	defer y.free()
	x, err := newMatrices[T](lead, m.cols, y.cols)
	if err != nil {
		return r, err
	}
	k := min(m.rows, m.cols)
	qs := make([][]reflectors[T], m.batch) // if a has many more rows than columns, a = Q U diag(s) V^H, otherwise a = U diag(s) V^H
	us, vs := make([]matrix[T], m.batch), make([]matrix[T], m.batch)
	values, ranks := make([]float64, m.batch*k), make([]int64, m.batch)
	err = each(m.batch, k, func(i int) error {
		data, lent := scratch[T](m.rows * m.cols)
		defer lent.Free()
		own := dense(data, m.rows, m.cols)
		copy(own.data, m.at(i).data)
		factor := normalize(own)
		q, square := compacted(own)
		u, d, vh, err := svd(square, true, false)
		if err != nil {
			return memberError(err, i, m.lead)
		}
		divideBy(factor, d)
		qs[i] = q
		n := rankOf(d, rcond)
		ranks[i] = int64(n)
		copy(values[i*k:], d)
		us[i], vs[i] = u.part(0, u.rows, 0, n), vh.part(0, n, 0, vh.cols)
		return nil
	})
	if err != nil {
		return r, err
	}
	squares := make([]float64, y.batch*y.cols)
	err = each(y.batch, y.rows, func(i int) error {
		own := place(i, lead, m.lead)
		u, turned := us[own], y.at(i)
		if qs[own] != nil {
			turned = turned.clone()
			applyAll(qs[own], turned, true)
		}
		w := product(adj(u), plain(turned.part(0, u.rows, 0, turned.cols)))
		for j := range w.rows {
			divide(w.row(j), of2[T](values[own*k+j], 0))
		}
		multiply(x.at(i), adj(vs[own]), plain(w))
		rest := y.at(i)
		subtract(rest, plain(m.at(own)), plain(x.at(i)))
		for j := range rest.rows {
			for c, v := range rest.row(j) {
				re, im := parts(v)
				squares[i*y.cols+c] += re*re + im*im
			}
		}
		return nil
	})
	if err != nil {
		return r, err
	}
	dt := a.DType().Real()
	return leastSquares{
		x:         stacked(op, svdName, x),
		residuals: reals(op, svdName, dt, squares, append(slices.Clone(lead), y.cols)),
		rank:      result(op, svdName, ranks, m.lead),
		s:         reals(op, svdName, dt, values, append(slices.Clone(m.lead), k)),
	}, nil
}
