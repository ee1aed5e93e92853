package linalg

import "github.com/gpk-go/gpk"

// QR returns the factorization A = Q R of a stack a [..., m, n]: with k = min(m, n), q [..., m, k] with orthonormal
// columns and r [..., k, n], upper trapezoidal with a real diagonal of either sign. With Complete q is [..., m, m] and
// r [..., m, n]. The method is Householder's, with blocks of reflectors (Schreiber and Van Loan 1989). On the CPU, a
// matrix of up to 32 columns and many rows is factored by blocks of rows (Demmel and others 2012). On a GPU with
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
	shape := a.Shape()
	n := len(shape)
	rows, cols := shape[n-2], shape[n-1]
	k := min(rows, cols)
	if op.has(Complete) {
		k = rows
	}
	shapes := [][]int{with(shape[:n-2], rows, k), with(shape[:n-2], k, cols)}
	results, err := computed(op, "blocked Householder QR", shapes, []input{{"a", a, allElements}}, func(to []matrices[T], from []source[T]) error {
		return each(from[0].batch, rows, func(i int) error {
			data, lent := scratch[T](rows * cols)
			defer lent.Free()
			x := dense(data, rows, cols)
			if err := from[0].copyTo(x, i); err != nil {
				return err
			}
			blocks, triangle := qr(x)
			left, right := to[0].at(i), to[1].at(i)
			clear(left.data)
			columns(blocks, left)
			clear(right.data)
			for j := range min(k, cols) {
				copy(right.row(j)[j:], triangle.row(j)[j:])
			}
			return nil
		})
	})
	if err != nil {
		return nil, nil, err
	}
	return results[0], results[1], nil
}
