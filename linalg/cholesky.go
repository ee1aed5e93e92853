package linalg

import (
	"github.com/gpk-go/gpk"
)

// Cholesky returns the lower triangular L [..., n, n] with A = L L^H and a real positive
// diagonal, for a stack a of symmetric or Hermitian positive definite matrices. With Upper it
// returns U with A = U^H U. Only the lower triangle of a is read (with Upper, the upper one),
// and only the real part of its diagonal.
//
// Errors: *DefiniteError, with the order of the leading minor that is not positive and the
// batch member; gpk.ErrNonFinite, with the index; gpk.ErrShape for matrices that are not
// square. The backward error is at most 4 n eps (Higham, Accuracy and Stability of Numerical
// Algorithms, 2002, theorem 10.3).
func Cholesky(a *gpk.Array, opts ...Option) *gpk.Array {
	op, err := begin("Cholesky", opts, Upper, square, a)
	return op.one(err, func() (*gpk.Array, error) { return op.engine(a).cholesky(op, a) })
}

func (host[T]) cholesky(op *operation, a *gpk.Array) (*gpk.Array, error) {
	results, err := computed(op, "blocked Cholesky", [][]int{a.Shape()}, []input{{"a", a, op.triangle()}}, func(to []matrices[T], from []source[T]) error {
		return each(to[0].batch, to[0].rows, func(i int) error {
			l := to[0].at(i)
			if err := from[0].copyTo(l, i); err != nil {
				return err
			}
			x := l
			if op.has(Upper) {
				x = l.adjoint()
			}
			if order := cholesky(x); order > 0 {
				return &DefiniteError{unravel(i, to[0].lead), order}
			}
			for r := range x.rows {
				clear(x.row(r)[r+1:])
			}
			if op.has(Upper) {
				copy(l.data, x.adjoint().data)
			}
			return nil
		})
	})
	return only(results, err)
}

// triangle returns the part of a matrix that a function reads if it reads one triangle.
func (op *operation) triangle() triangle {
	if op.has(Upper) {
		return upperElements
	}
	return lowerElements
}
