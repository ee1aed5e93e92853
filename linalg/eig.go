package linalg

import (
	"math"
	"math/cmplx"
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
	"gonum.org/v1/gonum/lapack"
)

// Eig returns the eigenvalues and right eigenvectors of a stack a [..., n, n] of square matrices, which need not be
// symmetric. values [..., n] and vectors [..., n, n] are complex, also for a real matrix, of the precision of a: column
// j of V satisfies A v = values[j] v, has the norm 1, and its largest element is real. The order of the values is not
// defined, except that a complex value of a real matrix and its conjugate are neighbours, the one with the positive
// imaginary part first. Eigh is faster and more accurate for symmetric and Hermitian matrices.
//
// The matrices are converted to double precision and the results rounded, as in numpy.linalg.eig. Real matrices are
// computed by gonum's implementation of LAPACK. Complex ones are balanced (James, Langou and Lowery, On matrix
// balancing and eigenvector computation, 2014), reduced to a Hessenberg and then to a triangular matrix by the QR
// method with Wilkinson's shifts (Golub and Van Loan, Matrix Computations, 2013, section 7.5). All of it runs on the
// CPU; arrays on a GPU are copied there and back, as Explain of the results says.
//
// The eigenvectors of a matrix that is not diagonalizable, or nearly so, are almost linearly dependent.
//
// Errors: gpk.ErrNonFinite, with the index; gpk.ErrShape; ErrNoConvergence.
func Eig(a *gpk.Array) (values, vectors *gpk.Array) {
	op, err := begin("Eig", nil, 0, square, a)
	if err == nil {
		values, vectors, err = op.engine(a).eig(op, a, true)
	}
	if err != nil {
		failed := op.fail(err)
		return failed, failed
	}
	return values, vectors
}

// Eigvals returns the eigenvalues of Eig without the vectors, which is faster. The errors are those of Eig.
func Eigvals(a *gpk.Array) *gpk.Array {
	op, err := begin("Eigvals", nil, 0, square, a)
	return op.one(err, func() (*gpk.Array, error) {
		values, _, err := op.engine(a).eig(op, a, false)
		return values, err
	})
}

func (host[T]) eig(op *operation, a *gpk.Array, vectors bool) (values, v *gpk.Array, err error) {
	m, err := read[T]("a", a, allElements)
	if err != nil {
		return nil, nil, err
	}
	defer m.free()
	n := m.rows
	list := make([]complex128, m.batch*n)
	columns := 0
	if vectors {
		columns = n
	}
	x, err := newMatrices[complex128](m.lead, n, columns)
	if err != nil {
		return nil, nil, err
	}
	err = each(m.batch, n, func(i int) error {
		return memberError(eig(m.at(i), list[i*n:][:n], x.at(i)), i, m.lead)
	})
	if err != nil {
		return nil, nil, err
	}
	const what = "Hessenberg QR"
	values = complexes128(op, what, a.DType(), list, append(slices.Clone(m.lead), n))
	if vectors {
		v = complexes128(op, what, a.DType(), x.data, x.shape())
	}
	x.free()
	return values, v, nil
}

// complexes128 returns an array of the complex type with the precision of dt. It rounds the numbers of data.
func complexes128(op *operation, what string, dt dtype.DType, data []complex128, shape []int) *gpk.Array {
	if dt.Real() == dtype.Float64 {
		return result(op, what, data, shape)
	}
	narrow := make([]complex64, len(data))
	for i, v := range data {
		narrow[i] = complex64(v)
	}
	return result(op, what, narrow, shape)
}

// eig writes the eigenvalues of a to values, and the eigenvectors to the columns of v unless v has none.
func eig[T number](a matrix[T], values []complex128, v matrix[complex128]) error {
	if a.rows == 0 {
		return nil
	}
	if isComplex[T]() {
		return eigComplex(widened[complex128](a), values, v)
	}
	return eigReal(widened[float64](a), values, v)
}

// widened returns a copy of a in another type, which is complex if a is.
func widened[D, T number](a matrix[T]) matrix[D] {
	w := newMatrix[D](a.rows, a.cols)
	for i := range a.rows {
		to := w.row(i)
		for j, x := range a.row(i) {
			re, im := parts(x)
			to[j] = of2[D](re, im)
		}
	}
	return w
}

// eigReal is eig for a real matrix, which it overwrites.
func eigReal(a matrix[float64], values []complex128, v matrix[complex128]) error {
	n := a.rows
	re, im := make([]float64, n), make([]float64, n)
	right, job := newMatrix[float64](n, v.cols), lapack.RightEVNone
	if v.cols > 0 {
		job = lapack.RightEVCompute
	}
	query := make([]float64, 1)
	gonumLapack.Dgeev(lapack.LeftEVNone, job, n, a.data, a.stride, re, im, nil, 1, right.data, right.stride, query, -1)
	work := make([]float64, int(query[0]))
	if first := gonumLapack.Dgeev(lapack.LeftEVNone, job, n, a.data, a.stride, re, im, nil, 1, right.data, right.stride, work, len(work)); first > 0 {
		return ErrNoConvergence
	}
	for j := range values {
		values[j] = complex(re[j], im[j])
	}
	for j := 0; j < v.cols; j++ {
		for i := range n {
			v.set(i, j, complex(right.at(i, j), 0))
		}
		if im[j] == 0 {
			continue
		}
		for i := range n { // two columns are the parts of a pair of conjugates
			x := complex(right.at(i, j), right.at(i, j+1))
			v.set(i, j, x)
			v.set(i, j+1, conj(x))
		}
		j++
	}
	return nil
}

// eigComplex is eig for a complex matrix, which it overwrites.
func eigComplex(a matrix[complex128], values []complex128, v matrix[complex128]) error {
	n := a.rows
	_, exponent := math.Frexp(largestPart(a.data))
	for i := range a.data { // to parts of at most 1, so that no product overflows
		a.data[i] = ldexp(a.data[i], -exponent)
	}
	powers := balance(a)
	q := newMatrix[complex128](n, v.cols)
	if v.cols > 0 {
		setIdentity(q)
	}
	hessenberg(a, q)
	if !schur(a, q) {
		return ErrNoConvergence
	}
	for i := range values {
		values[i] = ldexp(a.at(i, i), exponent)
	}
	if v.cols == 0 {
		return nil
	}
	multiply(v, plain(q), adj(triangularVectors(a))) // the vectors are the rows of triangularVectors, conjugated
	most := slices.Max(powers)
	for i := range n {
		row := v.row(i)
		for j := range row {
			row[j] = ldexp(row[j], powers[i]-most)
		}
	}
	unitColumns(v)
	return nil
}

// ldexp returns x times 2^exponent.
func ldexp(x complex128, exponent int) complex128 {
	return complex(math.Ldexp(real(x), exponent), math.Ldexp(imag(x), exponent))
}

// unitColumns divides each column by its norm and turns it so that its largest element is real.
func unitColumns(v matrix[complex128]) {
	column := make([]complex128, v.rows)
	for j := range v.cols {
		largest, modulus := 0, 0.0
		for i := range column {
			column[i] = v.at(i, j)
			if m := cmplx.Abs(column[i]); m > modulus {
				largest, modulus = i, m
			}
		}
		turn := conj128(column[largest]) / complex(modulus, 0)
		length := complex(norm(column), 0)
		for i, x := range column {
			v.set(i, j, x/length*turn)
		}
		v.set(largest, j, complex(real(v.at(largest, j)), 0))
	}
}
