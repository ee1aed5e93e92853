package linalg

import "github.com/gpk-go/gpk"

// Inv returns the inverses of a stack a [..., n, n], the solutions of A X = I. To solve a
// system, Solve is faster and more accurate. With Positive the matrices are symmetric or
// Hermitian positive definite, and only the lower triangles are read.
//
// Errors: those of Solve.
func Inv(a *gpk.Array, opts ...Option) *gpk.Array {
	op, err := begin("Inv", opts, Positive, square, a)
	return op.one(err, func() (*gpk.Array, error) { return op.engine(a).inv(op, a) })
}

func (host[T]) inv(op *operation, a *gpk.Array) (*gpk.Array, error) {
	f, err := factored[T](op, a)
	if err != nil {
		return nil, err
	}
	m := f.m
	x, err := newMatrices[T](m.lead, m.rows, m.cols)
	if err != nil {
		return nil, err
	}
	defer f.free()
	return filled(op, f.name(), x, m.rows, func(i int) error {
		f.inverse(i, x.at(i))
		return nil
	})
}

// inverse sets x, which is zero, to the inverse of matrix i.
func (f *factors[T]) inverse(i int, x matrix[T]) {
	setIdentity(x)
	f.solve(i, x)
}
