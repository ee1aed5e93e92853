package linalg

import "github.com/gpk-go/gpk"

// Inv returns the inverses of a stack a [..., n, n], the solutions of A X = I. To solve a
// system, Solve is faster and more accurate. With Positive the matrices are symmetric or
// Hermitian positive definite, and the lower triangles are read alone.
//
// Errors: those of Solve.
func Inv(a *gpk.Array, opts ...Option) *gpk.Array {
	op, err := begin("Inv", opts, Positive, a)
	if err == nil {
		err = square(a)
	}
	var x *gpk.Array
	if err == nil {
		x, err = op.engine(a).inv(op, a)
	}
	if err != nil {
		return op.fail(err)
	}
	return x
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
	err = each(m.batch, m.rows, func(i int) error {
		f.inverse(i, x.at(i))
		return nil
	})
	if err != nil {
		return nil, err
	}
	return stacked(op, f.name(), x), nil
}

// inverse sets x, which is zero, to the inverse of matrix i.
func (f *factors[T]) inverse(i int, x matrix[T]) {
	for k := range x.rows {
		x.set(k, k, 1)
	}
	f.solve(i, x)
}
