package linalg

import (
	"cmp"
	"math"
	"slices"

	"github.com/gpk-go/gpk/internal/cpu"
	"gonum.org/v1/gonum/lapack"
)

// divideOrder is the order up to which a tridiagonal matrix is solved by the QL method.
const divideOrder = 32

// divideAndConquer returns the eigenvalues, ascending, and the eigenvectors of the symmetric tridiagonal
// matrix with diagonal d and off-diagonal e, which are overwritten: Cuppen's method (A divide and
// conquer method for the symmetric tridiagonal eigenproblem, Numer. Math. 36, 1981), with the
// eigenvectors of Gu and Eisenstat (A stable and efficient algorithm for the rank-one modification of
// the symmetric eigenproblem, SIAM J. Matrix Anal. Appl. 15, 1994).
func divideAndConquer(d, e []float64) (values []float64, q matrix[float64], err error) {
	scale := 0.0
	for _, v := range d {
		scale = max(scale, math.Abs(v))
	}
	for _, v := range e {
		scale = max(scale, math.Abs(v))
	}
	if scale == 0 {
		return d, identity[float64](len(d)), nil
	}
	for i := range d {
		d[i] /= scale
	}
	for i := range e {
		e[i] /= scale
	}
	values, q, err = conquer(d, e)
	for i := range values {
		values[i] *= scale
	}
	return values, q, err
}

func conquer(d, e []float64) ([]float64, matrix[float64], error) {
	n := len(d)
	if n <= divideOrder {
		q := newMatrix[float64](n, n)
		if !gonumLapack.Dsteqr(lapack.EVTridiag, n, d, e, q.data, n, make([]float64, max(1, 2*n-2))) {
			return nil, q, ErrNoConvergence
		}
		return d, q, nil
	}
	// T = diag(T1, T2) + rho v v^T with v = (0 … 0, 1, sign, 0 … 0).
	h := n / 2
	rho, sign := math.Abs(e[h-1]), 1.0
	if e[h-1] < 0 {
		sign = -1
	}
	d[h-1] -= rho
	d[h] -= rho
	d1, q1, err := conquer(d[:h], e[:h-1])
	if err != nil {
		return nil, q1, err
	}
	d2, q2, err := conquer(d[h:], e[h:])
	if err != nil {
		return nil, q2, err
	}
	r := &rankOne{d: append(append(make([]float64, 0, n), d1...), d2...), z: make([]float64, n), rho: 2 * rho, q: newMatrix[float64](n, n)}
	for i := range h {
		r.z[i] = q1.at(h-1, i) / math.Sqrt2
		copy(r.q.row(i), q1.row(i))
	}
	for i := range n - h {
		r.z[h+i] = sign * q2.at(0, i) / math.Sqrt2
		copy(r.q.row(h + i)[h:], q2.row(i))
	}
	values, q := r.solve()
	return values, q, nil
}

// rankOne is Q (D + rho z z^T) Q^T with |z| = 1.
type rankOne struct {
	d, z []float64
	rho  float64
	q    matrix[float64]
}

// solve returns the eigenvalues, ascending, and the eigenvectors.
func (r *rankOne) solve() ([]float64, matrix[float64]) {
	n := len(r.d)
	kept, done := r.deflate()
	k := len(kept)
	s := &secular{d: make([]float64, k), z: make([]float64, k), rho: r.rho}
	for i, c := range kept {
		s.d[i], s.z[i] = r.d[c], r.z[c]
		s.norm += s.z[i] * s.z[i]
	}
	values, vectors := s.solve()
	moved := newMatrix[float64](n, k)
	if k > 0 {
		own := newMatrix[float64](n, k)
		for i := range n {
			from, to := r.q.row(i), own.row(i)
			for j, c := range kept {
				to[j] = from[c]
			}
		}
		multiply(moved, plain(own), adj(vectors))
	}
	// Columns below k are those of moved, others those that were deflated.
	order := make([]int, n)
	all := append(values, make([]float64, len(done))...)
	for i, c := range done {
		all[k+i] = r.d[c]
	}
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(all[a], all[b]) })
	sorted, q := make([]float64, n), newMatrix[float64](n, n)
	for j, c := range order {
		sorted[j] = all[c]
	}
	for i := range n {
		to, a, b := q.row(i), moved.row(i), r.q.row(i)
		for j, c := range order {
			if c < k {
				to[j] = a[c]
			} else {
				to[j] = b[done[c-k]]
			}
		}
	}
	return sorted, q
}

// deflate finds the eigenpairs that the modification leaves as they are, to working precision: those
// whose z is small, and one of each pair of which d is nearly equal, after a rotation of both that
// makes its z zero (LAPACK's dlaed2). It returns the columns that are left, in ascending d, and the
// others.
func (r *rankOne) deflate() (kept, done []int) {
	order := make([]int, len(r.d))
	largest := 0.0
	for i := range order {
		order[i] = i
		largest = max(largest, math.Abs(r.d[i]), math.Abs(r.z[i]))
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(r.d[a], r.d[b]) })
	limit := 8 * (eps64 / 2) * largest
	last := -1
	for _, c := range order {
		if r.rho*math.Abs(r.z[c]) <= limit {
			done = append(done, c)
			continue
		}
		if last >= 0 {
			if r.rotate(last, c, limit) {
				done = append(done, last)
			} else {
				kept = append(kept, last)
			}
		}
		last = c
	}
	if last >= 0 {
		kept = append(kept, last)
	}
	return kept, done
}

// rotate makes z[a] zero where that changes the matrix by no more than limit.
func (r *rankOne) rotate(a, b int, limit float64) bool {
	tau := math.Hypot(r.z[a], r.z[b])
	c, s := r.z[b]/tau, -r.z[a]/tau
	if math.Abs((r.d[b]-r.d[a])*c*s) > limit {
		return false
	}
	r.z[a], r.z[b] = 0, tau
	for i := range r.q.rows {
		row := r.q.row(i)
		row[a], row[b] = c*row[a]+s*row[b], c*row[b]-s*row[a]
	}
	r.d[a], r.d[b] = r.d[a]*c*c+r.d[b]*s*s, r.d[a]*s*s+r.d[b]*c*c
	return true
}

// solve returns the eigenvalues and, as rows, the eigenvectors. With z replaced by the vector of which
// the computed eigenvalues are the exact ones,
//
//	z[i]^2 rho = product over j of (value[j] - d[i]) / product over j other than i of (d[j] - d[i])
//
// the vectors z[i] / (d[i] - value) are orthogonal to working precision.
func (s *secular) solve() ([]float64, matrix[float64]) {
	k := len(s.d)
	values, v := make([]float64, k), newMatrix[float64](k, k)
	grain := 1 + 1<<11/max(1, k)
	cpu.Parallel(k, grain, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			values[j] = s.root(j, v.row(j))
		}
	})
	z := make([]float64, k)
	for i := range z {
		z[i] = -v.at(i, i)
	}
	for j := range k {
		row := v.row(j)
		for i := range z {
			if i != j {
				z[i] *= row[i] / (s.d[i] - s.d[j])
			}
		}
	}
	for i := range z {
		z[i] = math.Copysign(math.Sqrt(math.Abs(z[i])), s.z[i])
	}
	cpu.Parallel(k, grain, func(lo, hi int) {
		for j := lo; j < hi; j++ {
			row := v.row(j)
			sum := 0.0
			for i := range row {
				row[i] = z[i] / row[i]
				sum += row[i] * row[i]
			}
			size := math.Sqrt(sum)
			for i := range row {
				row[i] /= size
			}
		}
	})
	return values, v
}
