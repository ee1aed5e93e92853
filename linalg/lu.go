package linalg

import (
	"slices"

	"github.com/gpk-go/gpk"
)

// LU returns the factorization with partial pivoting of a stack a [..., m, n]: row i of l u is row order[i] of a.
// With k = min(m, n), l [..., m, k] is unit lower trapezoidal, u [..., k, n] is upper trapezoidal, and order is Int64
// [..., m]. The elements of l have absolute values of at most 1, or sqrt 2 in complex types. A singular matrix is not
// an error: u then has zeros on its diagonal.
//
// Errors: gpk.ErrNonFinite, with the index; gpk.ErrShape. The backward error is at most n eps times the growth of the
// elements (Higham 2002, theorem 9.3).
func LU(a *gpk.Array) (order, l, u *gpk.Array) {
	op, err := begin("LU", nil, 0, stack, a)
	if err == nil {
		order, l, u, err = op.engine(a).lu(op, a)
	}
	if err != nil {
		failed := op.fail(err)
		return failed, failed, failed
	}
	return order, l, u
}

func (host[T]) lu(op *operation, a *gpk.Array) (order, l, u *gpk.Array, err error) {
	m, err := read[T]("a", a, allElements)
	if err != nil {
		return nil, nil, nil, err
	}
	defer m.free()
	k := min(m.rows, m.cols)
	lower, err := newMatrices[T](m.lead, m.rows, k)
	if err != nil {
		return nil, nil, nil, err
	}
	upper, err := newMatrices[T](m.lead, k, m.cols)
	if err != nil {
		return nil, nil, nil, err
	}
	rows := make([]int64, m.batch*m.rows)
	err = each(m.batch, m.rows, func(i int) error {
		x, pivots := m.at(i), make([]int, k)
		lu(x, pivots)
		p, _ := permutation(pivots, m.rows)
		for j, r := range p {
			rows[i*m.rows+j] = int64(r)
		}
		splitLU(x, lower.at(i), upper.at(i))
		return nil
	})
	if err != nil {
		return nil, nil, nil, err
	}
	const what = "blocked LU"
	return result(op, what, rows, append(slices.Clone(m.lead), m.rows)), stacked(op, what, lower), stacked(op, what, upper), nil
}

// splitLU copies both factors out of a factored matrix.
func splitLU[T number](x, l, u matrix[T]) {
	k := l.cols
	for r := range x.rows {
		row := x.row(r)
		copy(l.row(r), row[:min(r, k)])
		if r < k {
			l.set(r, r, 1)
			copy(u.row(r)[r:], row[r:])
		}
	}
}
