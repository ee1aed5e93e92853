package linalg

import (
	"math"
	"slices"

	"github.com/gpk-go/gpk/internal/cpu"
	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/lapack/gonum"
)

// gonumLapack is gonum's implementation of LAPACK, for float64 only.
var gonumLapack gonum.Implementation

// bidiagonalOrder is the order up to which a bidiagonal matrix is solved by the QR method.
const bidiagonalOrder = 24

// bidiagonalSVD computes the singular value decomposition of an upper bidiagonal matrix with diagonal d
// and superdiagonal e. It returns the singular values, descending, and the left and right singular vectors
// as columns. d and e are overwritten. The method is divide and conquer (Gu and Eisenstat, A
// divide-and-conquer algorithm for the bidiagonal SVD, SIAM J. Matrix Anal. Appl. 16, 1995).
func bidiagonalSVD(d, e []float64) (values []float64, left, right matrix[float64], err error) {
	scale := maxAbs(d, e)
	if scale == 0 {
		return d, identity[float64](len(d)), identity[float64](len(d)), nil
	}
	divideBy(scale, d, e)
	values, left, right, err = conquerBidiagonal(d, e)
	if err != nil {
		return nil, left, right, err
	}
	slices.Reverse(values)
	multiplyBy(scale, values)
	reverseColumns(left)
	reverseColumns(right)
	return values, left, right, nil
}

func reverseColumns(m matrix[float64]) {
	for i := range m.rows {
		slices.Reverse(m.row(i))
	}
}

// maxAbs returns the largest absolute value in some lists.
func maxAbs(lists ...[]float64) float64 {
	m := 0.0
	for _, list := range lists {
		for _, v := range list {
			m = max(m, math.Abs(v))
		}
	}
	return m
}

func divideBy(scale float64, lists ...[]float64) {
	for _, list := range lists {
		for i := range list {
			list[i] /= scale
		}
	}
}

func multiplyBy(scale float64, list []float64) {
	for i := range list {
		list[i] *= scale
	}
}

// conquerBidiagonal returns the singular values, ascending, and the singular vectors of an upper
// bidiagonal matrix of n rows, which has n+1 columns if e is as long as d. The last right vector then
// spans the null space.
func conquerBidiagonal(d, e []float64) (values []float64, left, right matrix[float64], err error) {
	n := len(d)
	if n <= bidiagonalOrder {
		return bidiagonalQR(d, e)
	}
	// The rows above and below row h are two bidiagonal matrices. Row h has two elements: one in the last
	// column of the first matrix, and one in the first column of the second.
	h := n / 2
	alpha, beta := d[h], e[h]
	d1, left1, right1, err := conquerBidiagonal(d[:h], e[:h])
	if err != nil {
		return nil, left, right, err
	}
	d2, left2, right2, err := conquerBidiagonal(d[h+1:], e[h+1:])
	if err != nil {
		return nil, left, right, err
	}
	columns := right1.rows + right2.rows
	b := &broken{d: make([]float64, n), z: make([]float64, n), left: newHalves(n, h), right: newHalves(columns, h+1)}
	copy(b.d[1:], d1)
	copy(b.d[1+h:], d2)
	b.left.set(h, 0, 1)
	b.left.in[0] = secondHalf
	b.left.place(left1, 0, 1, firstHalf)
	b.left.place(left2, h+1, 1+h, secondHalf)
	b.right.place(right1.part(0, h+1, 0, h), 0, 1, firstHalf)
	b.right.place(right2.part(0, right2.rows, 0, n-h-1), h+1, 1+h, secondHalf)
	for j := range h {
		b.z[1+j] = alpha * right1.at(h, j)
	}
	for j := range n - h - 1 {
		b.z[1+h+j] = beta * right2.at(0, j)
	}
	// The two null vectors are rotated so that one of them remains a null vector.
	x, y := alpha*right1.at(h, h), 0.0
	if columns > n {
		y = beta * right2.at(0, n-h-1)
	}
	c, s := 1.0, 0.0
	if size := max(math.Abs(x), math.Abs(y)); size > 0 { // size may be too small to have the precision of c and s
		c, s = x/size, y/size
		r := math.Hypot(c, s)
		b.z[0], c, s = size*r, c/r, s/r
	}
	for i := range h + 1 {
		b.right.set(i, 0, c*right1.at(i, h))
		if columns > n {
			b.right.set(i, n, -s*right1.at(i, h))
		}
	}
	if columns > n {
		for i := range right2.rows {
			b.right.set(h+1+i, 0, s*right2.at(i, n-h-1))
			b.right.set(h+1+i, n, c*right2.at(i, n-h-1))
		}
	}
	b.right.in[0] = firstHalf | secondHalf
	values, left, right = b.solve(max(math.Abs(alpha), math.Abs(beta)))
	return values, left, right, nil
}

// bidiagonalQR is conquerBidiagonal by the implicit zero-shift QR method. It rotates rows of the
// transposes, whose elements are contiguous.
func bidiagonalQR(d, e []float64) (values []float64, left, right matrix[float64], err error) {
	n := len(d)
	columns, form := n, blas.Upper
	if len(e) == n {
		columns++
	}
	leftT, rightT := identity[float64](n), identity[float64](columns)
	if columns > n { // reduce it to a lower bidiagonal matrix and a column of zeros
		form = blas.Lower
		for i := range n {
			c, s, r := gonumLapack.Dlartg(d[i], e[i])
			d[i] = r
			if i+1 < n {
				e[i], d[i+1] = s*d[i+1], c*d[i+1]
			}
			x, y := rightT.row(i), rightT.row(i+1)
			for j := range x {
				x[j], y[j] = c*x[j]+s*y[j], c*y[j]-s*x[j]
			}
		}
	}
	if n > 0 && !gonumLapack.Dbdsqr(form, n, columns, 0, n, d, e[:n-1], rightT.data, columns, nil, 1, leftT.data, n, make([]float64, 4*n)) {
		return nil, left, right, ErrNoConvergence
	}
	left, right = newMatrix[float64](n, n), newMatrix[float64](columns, columns)
	for i := range n {
		left.setColumn(n-1-i, 0, leftT.row(i))
		right.setColumn(n-1-i, 0, rightT.row(i))
	}
	if columns > n {
		right.setColumn(n, 0, rightT.row(n))
	}
	slices.Reverse(d)
	return d, left, right, nil
}

// broken is L M R^T. The first row of M is z. Below it M has the diagonal d without its first element,
// which is 0. If R has one more column than M, that column spans the null space.
type broken struct {
	d, z        []float64
	left, right *halves
}

// solve returns the singular values, ascending, and the singular vectors. size is the largest element of
// the row of the original matrix that became z.
func (b *broken) solve(size float64) (values []float64, left, right matrix[float64]) {
	scale := max(size, maxAbs(b.d))
	var kept, done []int
	if scale == 0 {
		for i := range b.d {
			done = append(done, i)
		}
	} else {
		divideBy(scale, b.d, b.z)
		kept, done = b.deflate()
	}
	us, lentU := scratchMatrix[float64](len(kept), len(kept))
	vs, lentV := scratchMatrix[float64](len(kept), len(kept))
	defer lentU.Free()
	defer lentV.Free()
	values = b.vectors(kept, us, vs)
	for _, c := range done {
		values = append(values, b.d[c])
	}
	sorted, order := ascending(values)
	multiplyBy(scale, sorted)
	left = b.left.times(kept, us, done, order)
	if b.right.cols > len(order) { // the null vector remains the last column
		order = append(order, len(kept)+len(done))
		done = append(done, b.right.cols-1)
	}
	return sorted, left, b.right.times(kept, vs, done, order)
}

// deflate finds the singular values that the row z does not change in working precision (LAPACK's
// dlasd2). A column is deflated if its z is small. If two columns have nearly equal d, deflate rotates
// them so that one z becomes zero, and that column is deflated. done lists the deflated columns. kept
// lists the others in ascending d, and always starts with column 0. The norm of the matrix must be 1.
func (b *broken) deflate() (kept, done []int) {
	const limit = 8 * (eps64 / 2)
	_, order := ascending(b.d[1:])
	b.z[0] = max(b.z[0], limit)
	kept = append(kept, 0)
	last := 0
	for _, c := range order {
		c++
		switch {
		case math.Abs(b.z[c]) <= limit:
			done = append(done, c)
			continue
		case last > 0 && b.d[c]-b.d[last] <= limit:
			b.rotate(last, c)
			done = append(done, last)
		case last > 0:
			kept = append(kept, last)
		}
		last = c
	}
	if last > 0 {
		kept = append(kept, last)
	}
	if len(kept) > 1 { // d of column 0 is zero, and the next d must not be equal to it
		b.d[kept[1]] = max(b.d[kept[1]], limit/2)
	}
	return kept, done
}

// rotate rotates columns i and j so that z[i] becomes zero.
func (b *broken) rotate(i, j int) {
	size := math.Hypot(b.z[i], b.z[j])
	c, s := b.z[j]/size, -b.z[i]/size
	b.z[i], b.z[j] = 0, size
	b.left.rotate(i, j, c, s)
	b.right.rotate(i, j, c, s)
}

// vectors returns the singular values of the kept columns of M, and sets the rows of us and vs to the singular vectors. The
// squares of the values are the eigenvalues of M^T M = diag(d^2) + z z^T. z is recomputed so that the
// computed eigenvalues are exact for it. Then the singular vectors of a value are, up to a factor,
//
//	v[i] = z[i] / (d[i]^2 - value^2)    u[0] = -1    u[i] = d[i] v[i]
func (b *broken) vectors(kept []int, us, vs matrix[float64]) (values []float64) {
	k := len(kept)
	s := &secular{d: make([]float64, k), z: make([]float64, k), rho: 1}
	for i, c := range kept {
		s.d[i], s.z[i] = b.d[c]*b.d[c], b.z[c]
	}
	values = s.solve(vs)
	cpu.Parallel(k, 1+1<<12/max(1, k), func(lo, hi int) {
		for j := lo; j < hi; j++ {
			u, v := us.row(j), vs.row(j)
			u[0] = v[0] / s.z[0] * values[j] // v[0] is -z[0] / values[j], normalized
			sum := u[0] * u[0]
			for i := 1; i < k; i++ {
				u[i] = b.d[kept[i]] * v[i]
				sum += u[i] * u[i]
			}
			size := math.Sqrt(sum)
			for i := range u {
				u[i] /= size
			}
			values[j] = math.Sqrt(values[j])
		}
	})
	return values
}
