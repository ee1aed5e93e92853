package linalg

import (
	"slices"

	"github.com/gpk-go/gpk"
)

// Eigh returns the eigenvalues and eigenvectors of a stack a [..., n, n] of symmetric or Hermitian
// matrices. values [..., n] are ascending and of the real type. vectors [..., n, n] are the
// orthonormal columns of V with A V = V diag(values). Only the lower triangle of a is read (with
// Upper, the upper one), and only the real part of its diagonal.
//
// Reflectors reduce the matrix to a real tridiagonal one in its own type (Golub and Van Loan, Matrix
// Computations, 2013, algorithm 8.3.1). The tridiagonal matrix is solved in float64 by divide and
// conquer (Cuppen 1981, Gu and Eisenstat 1994), and the results are rounded. On a GPU cuSOLVER
// computes all of it in the matrix's own type.
//
// Errors: gpk.ErrNonFinite, with the index; gpk.ErrShape; ErrNoConvergence.
func Eigh(a *gpk.Array, opts ...Option) (values, vectors *gpk.Array) {
	op, err := begin("Eigh", opts, Upper, square, a)
	if err == nil {
		values, vectors, err = op.engine(a).eigh(op, a, true)
	}
	if err != nil {
		failed := op.fail(err)
		return failed, failed
	}
	return values, vectors
}

// EigvalsH returns the eigenvalues of Eigh without the vectors, which is faster. On the CPU it uses
// the QL method of gonum's implementation of LAPACK, and on a GPU cuSOLVER. Options and errors are
// those of Eigh.
func EigvalsH(a *gpk.Array, opts ...Option) *gpk.Array {
	op, err := begin("EigvalsH", opts, Upper, square, a)
	return op.one(err, func() (*gpk.Array, error) {
		values, _, err := op.engine(a).eigh(op, a, false)
		return values, err
	})
}

func (host[T]) eigh(op *operation, a *gpk.Array, vectors bool) (values, z *gpk.Array, err error) {
	m, err := read[T]("a", a, op.triangle())
	if err != nil {
		return nil, nil, err
	}
	n := m.rows
	list := make([]float64, m.batch*n)
	err = each(m.batch, n, func(i int) error {
		x := m.at(i)
		mirror(x, op.has(Upper))
		d, v, err := eigh(x, vectors)
		if err != nil {
			return memberError(err, i, m.lead)
		}
		copy(list[i*n:], d)
		if vectors {
			copy(x.data, v.data)
		}
		return nil
	})
	if err != nil {
		return nil, nil, err
	}
	const what = "tridiagonal divide and conquer"
	values = reals(op, what, a.DType().Real(), list, append(slices.Clone(m.lead), n))
	if vectors {
		z = stacked(op, what, m)
	}
	return values, z, nil
}

// mirror completes a Hermitian matrix from one of its triangles.
func mirror[T number](a matrix[T], upper bool) {
	for i := range a.rows {
		re, _ := parts(a.at(i, i))
		a.set(i, i, of2[T](re, 0))
		for j := range i {
			if upper {
				a.set(i, j, conj(a.at(j, i)))
			} else {
				a.set(j, i, conj(a.at(i, j)))
			}
		}
	}
}
