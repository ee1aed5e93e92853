package linalg

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/lapack"
)

// divideOrder is the largest order of a tridiagonal matrix that is solved by the QL method.
const divideOrder = 32

// divideAndConquer returns the eigenvalues, ascending, and the eigenvectors of a symmetric tridiagonal
// matrix with diagonal d and off-diagonal e. d and e are overwritten. The method is Cuppen's (A divide
// and conquer method for the symmetric tridiagonal eigenproblem, Numer. Math. 36, 1981), with the
// eigenvectors of Gu and Eisenstat (A stable and efficient algorithm for the rank-one modification of
// the symmetric eigenproblem, SIAM J. Matrix Anal. Appl. 15, 1994).
func divideAndConquer(d, e []float64) (values []float64, q matrix[float64], err error) {
	scale := maxAbs(d, e)
	if scale == 0 {
		return d, identity[float64](len(d)), nil
	}
	divideBy(scale, d, e)
	values, q, err = conquer(d, e)
	multiplyBy(scale, values)
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
	r := &rankOne{d: append(append(make([]float64, 0, n), d1...), d2...), z: make([]float64, n), rho: 2 * rho, q: newHalves(n, h)}
	r.q.place(q1, 0, 0, firstHalf)
	r.q.place(q2, h, h, secondHalf)
	for i := range h {
		r.z[i] = q1.at(h-1, i) / math.Sqrt2
	}
	for i := range n - h {
		r.z[h+i] = sign * q2.at(0, i) / math.Sqrt2
	}
	values, q := r.solve()
	return values, q, nil
}

// rankOne is Q (D + rho z z^T) Q^T with |z| = 1.
type rankOne struct {
	d, z []float64
	rho  float64
	q    *halves
}

// solve returns the eigenvalues, ascending, and the eigenvectors.
func (r *rankOne) solve() ([]float64, matrix[float64]) {
	kept, done := r.deflate()
	s := &secular{d: make([]float64, len(kept)), z: make([]float64, len(kept)), rho: r.rho}
	for i, c := range kept {
		s.d[i], s.z[i] = r.d[c], r.z[c]
	}
	vectors, lent := scratchMatrix[float64](len(kept), len(kept))
	defer lent.Free()
	values := s.solve(vectors)
	for _, c := range done {
		values = append(values, r.d[c])
	}
	sorted, order := ascending(values)
	return sorted, r.q.times(kept, vectors, done, order)
}

// ascending returns the values in ascending order, and the index of each.
func ascending(values []float64) (sorted []float64, order []int) {
	order, sorted = make([]int, len(values)), make([]float64, len(values))
	for i := range order {
		order[i] = i
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(values[a], values[b]) })
	for j, c := range order {
		sorted[j] = values[c]
	}
	return sorted, order
}

// deflate finds the eigenpairs that the modification does not change in working precision (LAPACK's
// dlaed2). An eigenpair is deflated if its z is small. If two d are nearly equal, deflate rotates
// their columns so that one z becomes zero, and that eigenpair is deflated. It returns the columns of
// the remaining eigenpairs, in ascending d, and the deflated ones.
func (r *rankOne) deflate() (kept, done []int) {
	_, order := ascending(r.d)
	limit := 8 * (eps64 / 2) * maxAbs(r.d, r.z)
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

// rotate makes z[a] zero, if this changes the matrix by at most limit. It reports whether it did.
func (r *rankOne) rotate(a, b int, limit float64) bool {
	tau := math.Hypot(r.z[a], r.z[b])
	c, s := r.z[b]/tau, -r.z[a]/tau
	if math.Abs((r.d[b]-r.d[a])*c*s) > limit {
		return false
	}
	r.z[a], r.z[b] = 0, tau
	r.q.rotate(a, b, c, s)
	r.d[a], r.d[b] = r.d[a]*c*c+r.d[b]*s*s, r.d[a]*s*s+r.d[b]*c*c
	return true
}
