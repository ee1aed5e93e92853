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
	f := &factors[T]{positive: op.has(Positive)}
	inputs := []input{{"a", a, op.factoredElements()}}
	results, err := computed(op, f.name(), [][]int{a.Shape()}, inputs, func(to []matrices[T], from []source[T]) error {
		x, s := to[0], from[0]
		m, err := uninitialized[T](s.lead, s.rows, s.cols)
		if err != nil {
			return err
		}
		if err := f.of(m); err != nil {
			return err
		}
		defer f.free()
		return each(x.batch, x.rows, func(i int) error {
			if err := s.copyTo(m.at(i), i); err != nil {
				return err
			}
			if err := f.factor(i); err != nil {
				return err
			}
			clear(x.at(i).data)
			f.inverse(i, x.at(i))
			return nil
		})
	})
	return only(results, err)
}

// inverse sets x, which is zero, to the inverse of matrix i.
func (f *factors[T]) inverse(i int, x matrix[T]) {
	setIdentity(x)
	f.solve(i, x)
}
