package linalg

import (
	"math"

	"github.com/gpk-go/gpk/internal/cpu"
)

const eps64 = 0x1p-52

// secular is the eigenvalue problem of D + rho z z^T. The elements of d are ascending and well
// separated, and no element of z is zero. The eigenvalues are the roots of
//
//	f(x) = 1 + rho sum over i of z[i]^2 / (d[i] - x)
//
// one root between each two neighbours of d, and one above the last (Golub, Some modified matrix
// eigenvalue problems, SIAM Review 15, 1973).
type secular struct {
	d, z []float64
	rho  float64 // above 0
	norm float64 // |z|^2, set by solve
}

// solve returns the eigenvalues, and sets the rows of v to the eigenvectors. It replaces z by the vector for which
// the computed eigenvalues are exact,
//
//	z[i]^2 rho = product over j of (value[j] - d[i]) / product over j other than i of (d[j] - d[i])
//
// so that the vectors z[i] / (d[i] - value) are orthogonal to working precision.
func (s *secular) solve(v matrix[float64]) (values []float64) {
	k := len(s.d)
	s.norm = 0
	for _, z := range s.z {
		s.norm += z * z
	}
	values = make([]float64, k)
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
	s.z = z
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
	return values
}

// root returns root j and sets apart[i] to d[i] - value. It computes the root as its distance from
// the nearer pole, so that these differences suffer no cancellation. The iteration is that of Bunch,
// Nielsen and Sorensen (Rank-one modification of the symmetric eigenproblem, Numer. Math. 31, 1978):
// the sum over the poles of each side is replaced by a function with one pole that has the same value
// and derivative. If a step leaves the bracket, bisection is used.
func (s *secular) root(j int, apart []float64) (value float64) {
	k := len(s.d)
	if k == 1 {
		apart[0] = -s.rho * s.norm
		return s.d[0] - apart[0]
	}
	origin, lo, hi := j, 0.0, s.rho*s.norm
	left := j // the poles up to and including left are on one side
	if j+1 < k {
		gap := s.d[j+1] - s.d[j]
		for i, d := range s.d {
			apart[i] = d - s.d[j] - gap/2
		}
		if w := s.evaluate(apart, left); w.f >= 0 {
			hi = gap / 2
		} else {
			origin, lo, hi = j+1, -gap/2, 0
		}
	} else {
		left = j - 1
	}
	o := s.d[origin]
	mu := lo + (hi-lo)/2
	for range 120 {
		for i, d := range s.d {
			apart[i] = d - o - mu
		}
		w := s.evaluate(apart, left)
		if math.Abs(w.f) <= eps64*(8*(math.Abs(w.psi)+math.Abs(w.phi))+1+math.Abs(mu)*(w.dpsi+w.dphi)) {
			break
		}
		if w.f < 0 {
			lo = mu
		} else {
			hi = mu
		}
		next := mu + w.step(apart[left], apart[left+1], j+1 == k)
		if !(next > lo && next < hi) {
			next = lo + (hi-lo)/2
		}
		if next == mu || next == lo || next == hi {
			break
		}
		mu = next
	}
	for i, d := range s.d {
		apart[i] = d - o - mu
	}
	return o + mu
}

// sums is f = 1 + psi + phi, the sums psi and phi over the poles of each side, and their derivatives.
type sums struct{ f, psi, phi, dpsi, dphi float64 }

func (s *secular) evaluate(apart []float64, left int) (w sums) {
	for i, z := range s.z[:left+1] {
		t := z / apart[i]
		w.psi += z * t
		w.dpsi += t * t
	}
	for i := left + 1; i < len(s.z); i++ {
		t := s.z[i] / apart[i]
		w.phi += s.z[i] * t
		w.dphi += t * t
	}
	w.psi, w.phi, w.dpsi, w.dphi = w.psi*s.rho, w.phi*s.rho, w.dpsi*s.rho, w.dphi*s.rho
	w.f = 1 + w.psi + w.phi
	return w
}

// step returns the distance to the root of the two replacement functions. x and y are the distances
// to the neighbouring poles. beyond says that the root is above the last pole; then step takes the
// other root of the quadratic equation.
func (w sums) step(x, y float64, beyond bool) float64 {
	c := w.f - x*w.dpsi - y*w.dphi
	a := (x+y)*w.f - x*y*(w.dpsi+w.dphi)
	b := x * y * w.f
	if beyond {
		c = math.Abs(c)
	}
	root := math.Sqrt(math.Abs(a*a - 4*b*c))
	switch {
	case beyond && a >= 0:
		return (a + root) / (2 * c)
	case beyond:
		return 2 * b / (a - root)
	case a <= 0:
		return (a - root) / (2 * c)
	}
	return 2 * b / (a + root)
}
