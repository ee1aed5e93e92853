package linalg

import (
	"fmt"
	"math"
	"slices"

	"github.com/gpk-go/gpk"
)

// SVD returns the singular value decomposition A = U diag(s) V^H of a stack a [..., m, n]. With k = min(m, n), u [...,
// m, k] has orthonormal columns, s [..., k] is descending and of the real type, and vh [..., k, n] has orthonormal
// rows. With Complete, which is NumPy's default, u is [..., m, m] and vh [..., n, n].
//
// Reflectors reduce the matrix to a real bidiagonal one in its own type (Golub and Kahan 1965). The bidiagonal matrix
// is solved in float64 by divide and conquer (Gu and Eisenstat, A divide-and-conquer algorithm for the bidiagonal SVD,
// SIAM J. Matrix Anal. Appl. 16, 1995), and the results are rounded. On a GPU cuSOLVER computes matrices of single
// precision by the eigenvalues of A^H A in double precision, and others by polar decomposition (Nakatsukasa and Higham
// 2013). If a backward error of the factors exceeds 4 n eps, Jacobi's method is used, and if its error is still too
// large, the QR method. Stacks of up to 32 rows and columns are computed by Jacobi's method, and their vectors are made
// orthonormal to 4 n eps.
//
// Errors: gpk.ErrNonFinite, with the index; gpk.ErrShape; ErrNoConvergence.
func SVD(a *gpk.Array, opts ...Option) (u, s, vh *gpk.Array) {
	op, err := begin("SVD", opts, Complete, stack, a)
	if err == nil {
		u, s, vh, err = op.engine(a).svd(op, a, true)
	}
	if err != nil {
		failed := op.fail(err)
		return failed, failed, failed
	}
	return u, s, vh
}

// SVDVals returns the singular values of SVD without the vectors, which is faster. On the CPU it uses the method of
// Fernando and Parlett (Accurate singular values and differential qd algorithms, Numer. Math. 67, 1994) in gonum's
// implementation of LAPACK. On a GPU cuSOLVER uses Jacobi's method.
func SVDVals(a *gpk.Array) *gpk.Array {
	op, err := begin("SVDVals", nil, 0, stack, a)
	return op.one(err, func() (*gpk.Array, error) {
		_, s, _, err := op.engine(a).svd(op, a, false)
		return s, err
	})
}

const (
	svdName     = "bidiagonal divide and conquer"
	svdValsName = "bidiagonal differential qd"
)

func (host[T]) svd(op *operation, a *gpk.Array, vectors bool) (u, s, vh *gpk.Array, err error) {
	m, err := read[T]("a", a, allElements)
	if err != nil {
		return nil, nil, nil, err
	}
	defer m.free()
	k := min(m.rows, m.cols)
	left, right := k, k
	if op.has(Complete) {
		left, right = m.rows, m.cols
	}
	values := make([]float64, m.batch*k)
	us, err := newMatrices[T](m.lead, m.rows, left)
	if err != nil {
		return nil, nil, nil, err
	}
	vhs, err := newMatrices[T](m.lead, right, m.cols)
	if err != nil {
		return nil, nil, nil, err
	}
	err = each(m.batch, k, func(i int) error {
		x, d, y, err := svd(m.at(i), vectors, op.has(Complete))
		if err != nil {
			return memberError(err, i, m.lead)
		}
		copy(values[i*k:], d)
		if vectors {
			copy(us.at(i).data, x.data)
			copy(vhs.at(i).data, y.data)
		}
		return nil
	})
	if err != nil {
		return nil, nil, nil, err
	}
	name := svdName
	if !vectors {
		name = svdValsName
	}
	s = reals(op, name, a.DType().Real(), values, append(slices.Clone(m.lead), k))
	if !vectors {
		return nil, s, nil, nil
	}
	return stacked(op, svdName, us), s, stacked(op, svdName, vhs), nil
}

// singular returns the singular values of every matrix, in float64.
func (host[T]) singular(_ *operation, a *gpk.Array) ([][]float64, error) {
	m, err := read[T]("a", a, allElements)
	if err != nil {
		return nil, err
	}
	defer m.free()
	values := make([][]float64, m.batch)
	err = each(m.batch, min(m.rows, m.cols), func(i int) (err error) {
		_, values[i], _, err = svd(m.at(i), false, false)
		return memberError(err, i, m.lead)
	})
	return values, err
}

// Pinv returns the Moore-Penrose inverses [..., n, m] of a stack a [..., m, n]: V diag(1/s) U^H over the singular
// values above rcond times the largest. the default of rcond is max(m, n) eps (Golub and Van Loan 2013, section 5.5.2).
//
// Errors: those of SVD; gpk.ErrUnsupported for an rcond that is negative or NaN.
func Pinv(a *gpk.Array, rcond ...float64) *gpk.Array {
	op, err := begin("Pinv", nil, 0, stack, a)
	return op.one(err, func() (*gpk.Array, error) {
		limit, err := op.limit(a, rcond)
		if err != nil {
			return nil, err
		}
		return op.engine(a).pinv(op, a, limit)
	})
}

// limit returns the given limit of singular values relative to the largest, or the default.
func (op *operation) limit(a *gpk.Array, given []float64) (float64, error) {
	switch {
	case len(given) == 0:
		s := a.Shape()
		return float64(max(s[len(s)-1], s[len(s)-2])) * op.engine(a).epsilon(), nil
	case len(given) > 1:
		return 0, fmt.Errorf("%w: %d limits of the singular values; want at most one", gpk.ErrUnsupported, len(given))
	case !(given[0] >= 0):
		return 0, fmt.Errorf("%w: %v as the limit of the singular values; it must not be negative", gpk.ErrUnsupported, given[0])
	}
	return given[0], nil
}

func (host[T]) pinv(op *operation, a *gpk.Array, rcond float64) (*gpk.Array, error) {
	m, err := read[T]("a", a, allElements)
	if err != nil {
		return nil, err
	}
	defer m.free()
	x, err := newMatrices[T](m.lead, m.cols, m.rows)
	if err != nil {
		return nil, err
	}
	return filled(op, svdName, x, min(m.rows, m.cols), func(i int) error {
		u, s, vh, err := svd(m.at(i), true, false)
		if err != nil {
			return memberError(err, i, m.lead)
		}
		r := rankOf(s, rcond)
		v := vh.part(0, r, 0, vh.cols)
		for j := range r {
			divide(v.row(j), of2[T](s[j], 0))
		}
		multiply(x.at(i), adj(v), adj(u.part(0, u.rows, 0, r)))
		return nil
	})
}

// rankOf returns the number of singular values above rcond times the largest.
func rankOf(s []float64, rcond float64) int {
	r := 0
	for _, v := range s {
		if v > rcond*s[0] {
			r++
		}
	}
	return r
}

// MatrixRank returns the rank [...], Int64, of a stack a [..., m, n]: the number of singular values above rtol times
// the largest. The default of rtol is max(m, n) eps.
//
// Errors: those of SVD; gpk.ErrUnsupported for an rtol that is negative or NaN.
func MatrixRank(a *gpk.Array, rtol ...float64) *gpk.Array {
	op, err := begin("MatrixRank", nil, 0, stack, a)
	return op.one(err, func() (*gpk.Array, error) {
		limit, err := op.limit(a, rtol)
		if err != nil {
			return nil, err
		}
		s, err := op.engine(a).singular(op, a)
		if err != nil {
			return nil, err
		}
		ranks := make([]int64, len(s))
		for i := range s {
			ranks[i] = int64(rankOf(s[i], limit))
		}
		return result(op, svdValsName, ranks, a.Shape()[:a.NDim()-2]), nil
	})
}

// Frobenius is the order of the norm sqrt(sum |a|^2), for Cond.
const Frobenius = 0

// Cond returns the condition numbers [...], of the real type, of a stack a. Without p they are the largest singular
// value divided by the least, for matrices of any shape [..., m, n]. With p they are |A| |A^-1| in the norm of order p.
// Orders 2 and -2 (by singular values) accept any shape. Square matrices also have the orders 1 and -1 (the largest and
// least column sum), +Inf and -Inf (row sums) and Frobenius. It is +Inf for a singular matrix.
//
// Errors: those of SVD; gpk.ErrUnsupported for other orders; gpk.ErrShape for no rows or columns.
func Cond(a *gpk.Array, p ...float64) *gpk.Array {
	op, err := begin("Cond", nil, 0, stack, a)
	return op.one(err, func() (*gpk.Array, error) {
		list, err := op.conditions(a, p)
		if err != nil {
			return nil, err
		}
		return reals(op, "condition", a.DType().Real(), list, a.Shape()[:a.NDim()-2]), nil
	})
}

func (op *operation) conditions(a *gpk.Array, p []float64) ([]float64, error) {
	s := a.Shape()
	if s[len(s)-1] == 0 || s[len(s)-2] == 0 {
		return nil, fmt.Errorf("%w: %v: matrices without elements have no condition", gpk.ErrShape, s)
	}
	order := 2.0
	switch len(p) {
	case 0:
	case 1:
		order = p[0]
	default:
		return nil, fmt.Errorf("%w: %d orders of the norm; want at most one", gpk.ErrUnsupported, len(p))
	}
	switch {
	case math.Abs(order) == 2:
		return op.ratios(a, order)
	case order == Frobenius, math.Abs(order) == 1, math.IsInf(order, 0):
		if err := square(a); err != nil {
			return nil, err
		}
		return op.engine(a).norms(op, a, order)
	}
	return nil, fmt.Errorf("%w: a condition in the norm of order %v; there are 2, -2, 1, -1, +Inf, -Inf and Frobenius", gpk.ErrUnsupported, order)
}

// ratios returns, for each matrix, the largest singular value divided by the least, or the reverse for order -2.
func (op *operation) ratios(a *gpk.Array, order float64) ([]float64, error) {
	values, err := op.engine(a).singular(op, a)
	list := make([]float64, len(values))
	for i, s := range values {
		first, last := s[0], s[len(s)-1]
		switch {
		case order < 0:
			list[i] = last / first
		case last == 0:
			list[i] = math.Inf(1)
		default:
			list[i] = first / last
		}
		if first == 0 {
			list[i] = math.Inf(1)
		}
	}
	return list, err
}

func (host[T]) norms(_ *operation, a *gpk.Array, p float64) ([]float64, error) {
	m, err := read[T]("a", a, allElements)
	if err != nil {
		return nil, err
	}
	defer m.free()
	list := make([]float64, m.batch)
	err = each(m.batch, m.rows, func(i int) error {
		x := m.at(i)
		list[i] = matrixNorm(x, p)
		one, err := factor(matrices[T]{data: x.data, batch: 1, rows: m.rows, cols: m.cols}, false)
		if err != nil { // a pivot is zero
			list[i] = math.Inf(1)
			return nil
		}
		inverse := newMatrix[T](m.rows, m.cols)
		one.inverse(0, inverse)
		list[i] *= matrixNorm(inverse, p)
		return nil
	})
	return list, err
}

// matrixNorm returns the norm of order 1, -1, +Inf, -Inf or Frobenius.
func matrixNorm[T number](a matrix[T], p float64) float64 {
	if p == Frobenius {
		sums := make([]float64, a.rows)
		for i := range a.rows {
			sums[i] = norm(a.row(i))
		}
		return norm(sums)
	}
	sums := make([]float64, a.cols)
	if math.IsInf(p, 0) {
		sums = make([]float64, a.rows)
	}
	for i := range a.rows {
		for j, v := range a.row(i) {
			re, im := parts(v)
			if math.IsInf(p, 0) {
				j = i
			}
			sums[j] += math.Hypot(re, im)
		}
	}
	if p > 0 {
		return slices.Max(sums)
	}
	return slices.Min(sums)
}

// memberError adds to an error the index of the matrix that it is about.
func memberError(err error, i int, lead []int) error {
	if err == nil || len(lead) == 0 {
		return err
	}
	return fmt.Errorf("%w: batch member %v", err, unravel(i, lead))
}
