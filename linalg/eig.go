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
// defined. Eigh is faster and more accurate for symmetric and Hermitian matrices.
//
// The matrices are converted to double precision and the results rounded, as in numpy.linalg.eig. Real matrices are
// computed by gonum's implementation of LAPACK. Complex ones are balanced (James, Langou and Lowery, On matrix
// balancing and eigenvector computation, 2014), reduced to a Hessenberg and then to a triangular matrix by the QR
// method with Wilkinson's shifts (Golub and Van Loan, Matrix Computations, 2013, section 7.5). All of it runs on the
// CPU. An array on a GPU is copied to the CPU, and the results are copied back; Explain of the results says so.
//
// Balancing keeps small eigenvalues accurate if rows and columns have very different sizes. Residuals A V - V diag(values)
// are then small in comparison with the balanced matrix, not with A. The eigenvectors of a matrix that is not
// diagonalizable, or nearly so, are almost linearly dependent.
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
	if eigReal(widened[float64](a), values, v) {
		return nil
	}
	return eigComplex(widened[complex128](a), values, v)
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

// eigReal is eig for a real matrix, which it overwrites. It reports whether it converged. gonum 0.17 panics for some matrices
// with elements of very different sizes, such as 1e-200 and 1e200: its second try, with dlaqr04, passes wrong arguments.
func eigReal(a matrix[float64], values []complex128, v matrix[complex128]) (ok bool) {
	defer func() {
		if recover() != nil {
			ok = false
		}
	}()
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
		return false
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
	return true
}

// eigComplex is eig for a complex matrix, which it overwrites.
func eigComplex(a matrix[complex128], values []complex128, v matrix[complex128]) error {
	n := a.rows
	exponent := toUnit(a)
	powers := balance(a)
	exponent += toUnit(a)
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
	unitColumns(v, powers)
	return nil
}

// toUnit divides a by a power of two, so that the largest part of its elements is at least 1/2 and below 1. It returns the
// exponent.
func toUnit(a matrix[complex128]) (exponent int) {
	_, exponent = math.Frexp(largestPart(a.data))
	for i, x := range a.data {
		a.data[i] = ldexp(x, -exponent)
	}
	return exponent
}

// ldexp returns x times 2^exponent.
func ldexp(x complex128, exponent int) complex128 {
	return complex(math.Ldexp(real(x), exponent), math.Ldexp(imag(x), exponent))
}

// unitColumns multiplies row i by 2^powers[i], divides each column by its norm and turns it so that its largest element is real.
func unitColumns(v matrix[complex128], powers []int) {
	column := make([]complex128, v.rows)
	for j := range v.cols {
		top := math.MinInt // the exponent of the largest element, since one power for all columns might underflow
		for i := range column {
			if x := v.at(i, j); x != 0 {
				top = max(top, powers[i]+math.Ilogb(size1(x)))
			}
		}
		largest, modulus := 0, 0.0
		for i := range column {
			column[i] = ldexp(v.at(i, j), powers[i]-top)
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
