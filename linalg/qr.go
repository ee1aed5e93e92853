package linalg

import "github.com/gpk-go/gpk"

// QR returns the factorization A = Q R of a stack a [..., m, n]: with k = min(m, n), q [..., m, k] with orthonormal
// columns and r [..., k, n], upper trapezoidal with a real diagonal of either sign. With Complete q is [..., m, m] and
// r [..., m, n]. The method is Householder's, with blocks of reflectors (Schreiber and Van Loan 1989). On a GPU with
// cuSOLVER, large real matrices with m >= n are first factored by Cholesky's factorization of A^T A, twice (Yamamoto
// and others 2015). If a backward error exceeds 4 n eps, reflectors are used instead.
//
// Errors: gpk.ErrNonFinite, with the index; gpk.ErrShape.
func QR(a *gpk.Array, opts ...Option) (q, r *gpk.Array) {
	op, err := begin("QR", opts, Complete, stack, a)
	if err == nil {
		q, r, err = op.engine(a).qr(op, a)
	}
	if err != nil {
		failed := op.fail(err)
		return failed, failed
	}
	return q, r
}

func (host[T]) qr(op *operation, a *gpk.Array) (q, r *gpk.Array, err error) {
	m, err := read[T]("a", a, allElements)
	if err != nil {
		return nil, nil, err
	}
	defer m.free()
	k := min(m.rows, m.cols)
	if op.has(Complete) {
		k = m.rows
	}
	left, err := newMatrices[T](m.lead, m.rows, k)
	if err != nil {
		return nil, nil, err
	}
	right, err := newMatrices[T](m.lead, k, m.cols)
	if err != nil {
		return nil, nil, err
	}
	err = each(m.batch, m.rows, func(i int) error {
		x := m.at(i)
		blocks, r := qr(x)
		columns(blocks, left.at(i))
		to := right.at(i)
		for j := range min(k, m.cols) {
			copy(to.row(j)[j:], r.row(j)[j:])
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	return stacked(op, "blocked Householder QR", left), stacked(op, "blocked Householder QR", right), nil
}
