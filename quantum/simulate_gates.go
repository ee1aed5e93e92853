package quantum

import (
	"math/bits"
)

// coefficients is a matrix in T: real and imaginary parts, row by row.
type coefficients[T number] struct {
	u      [8]T
	isReal bool
}

func newCoefficients[T number](u matrix) *coefficients[T] {
	c := &coefficients[T]{isReal: u.isReal()}
	for i, v := range u {
		c.u[2*i], c.u[2*i+1] = T(real(v)), T(imag(v))
	}
	return c
}

// real applies the matrix to real amplitudes.
func (c *coefficients[T]) real(r0, r1 []T) {
	a, b, cc, d := c.u[0], c.u[2], c.u[4], c.u[6]
	r1 = r1[:len(r0)]
	for i, v := range r0 {
		w := r1[i]
		r0[i], r1[i] = a*v+b*w, cc*v+d*w
	}
}

// apply applies the matrix to the n amplitudes re + i im from at on, and those h after them. im may be nil.
func (c *coefficients[T]) apply(re, im []T, at, h, n int) {
	r0, r1 := re[at:at+n], re[at+h:at+h+n]
	if im == nil {
		c.real(r0, r1)
		return
	}
	s0, s1 := im[at:at+n], im[at+h:at+h+n]
	if c.isReal {
		c.real(r0, r1)
		c.real(s0, s1)
		return
	}
	pairs(r0, s0, r1, s1, &c.u)
}

// adjacent applies the matrix to pairs of neighbours.
func adjacent[T number](c *coefficients[T], re, im []T, at int) {
	if im == nil || c.isReal {
		a, b, cc, d := c.u[0], c.u[2], c.u[4], c.u[6]
		planes := [][]T{re}
		if im != nil {
			planes = append(planes, im[at:at+len(re)])
		}
		for _, r := range planes {
			for i := 0; i+1 < len(r); i += 2 {
				v, w := r[i], r[i+1]
				r[i], r[i+1] = a*v+b*w, cc*v+d*w
			}
		}
		return
	}
	ar, ai, br, bi, cr, ci, dr, di := c.u[0], c.u[1], c.u[2], c.u[3], c.u[4], c.u[5], c.u[6], c.u[7]
	s := im[at : at+len(re)][:len(re)]
	for i := 0; i+1 < len(re); i += 2 {
		x, y, v, w := re[i], s[i], re[i+1], s[i+1]
		re[i] = ar*x - ai*y + (br*v - bi*w)
		s[i] = ar*y + ai*x + (br*w + bi*v)
		re[i+1] = cr*x - ci*y + (dr*v - di*w)
		s[i+1] = cr*y + ci*x + (dr*w + di*v)
	}
}

// controlled applies a matrix to the amplitudes whose bit at control is 1.
func (m *simulator[T]) controlled(o *op) {
	c := newCoefficients[T](o.local.matrix(m.sin, m.cos))
	low, high := min(o.control, o.local.position), max(o.control, o.local.position)
	set, h := 1<<o.control, 1<<o.local.position
	// A quarter of the indices, in runs of the length of the lower position.
	m.spread(len(m.re)/4, func(lo, hi int) {
		for j := lo; j < hi; {
			off := j & (1<<low - 1)
			n := min(1<<low-off, hi-j)
			at := j >> low << (low + 1)
			at = at>>high<<(high+1) | at&(1<<high-1) | off | set
			c.apply(m.re, m.im, at, h, n)
			j += n
		}
	})
}

// diagonal multiplies every amplitude by its phase.
func (m *simulator[T]) diagonal(d *diagonal) {
	fr, fi := m.fr, m.fi
	if f := m.fixed[d]; f != nil {
		fr, fi = f.re, f.im
	} else {
		m.phases(d)
		fr, fi = m.fr, m.fi
	}
	m.spread(len(m.re), func(lo, hi int) {
		a := m.re[lo:hi]
		f := fr[lo:hi][:len(a)]
		if m.im == nil {
			for i := range a {
				a[i] *= f[i]
			}
			return
		}
		times(a, m.im[lo:hi], f, fi[lo:hi])
	})
}

// phases computes e^(i phi(b)) for every b into fr and fi, one position after the other.
// With position p set, phi increases by linear[p] + sum of pairs[p][p'] b_p', so the upper
// half is the lower half times a product of 2^p phases that is itself built by doubling. It
// costs two multiplications per amplitude, however many pairs there are. Each general term
// needs an additional pass.
func (m *simulator[T]) phases(d *diagonal) {
	n := 1 << m.p.qubits
	if len(m.fr) < n {
		m.fr, m.fi, m.lr, m.li = make([]T, n), make([]T, n), make([]T, max(n/2, 1)), make([]T, max(n/2, 1))
	}
	fr, fi := m.fr, m.fi
	fr[0], fi[0] = 1, 0
	for p := range m.p.qubits {
		h := 1 << p
		e := complex128(1)
		if d.linear[p] >= 0 {
			e = m.phase(d.linear[p])
		}
		if d.pairs[p] == nil {
			m.scale(fr[h:2*h], fi[h:2*h], fr[:h], fi[:h], e)
			continue
		}
		lr, li := m.lr, m.li
		lr[0], li[0] = T(real(e)), T(imag(e))
		for q := range p {
			g := complex128(1)
			if at := d.pairs[p][q]; at >= 0 {
				g = m.phase(at)
			}
			m.scale(lr[1<<q:2<<q], li[1<<q:2<<q], lr[:1<<q], li[:1<<q], g)
		}
		m.spread(h, func(lo, hi int) {
			a, b := fr[lo:hi], fi[lo:hi][:hi-lo]
			c, e := lr[lo:hi][:hi-lo], li[lo:hi][:hi-lo]
			x, y := fr[h+lo : h+hi][:hi-lo], fi[h+lo : h+hi][:hi-lo]
			for i, v := range a {
				x[i], y[i] = v*c[i]-b[i]*e[i], v*e[i]+b[i]*c[i]
			}
		})
	}
	for _, t := range d.general {
		e := m.phase(t.angle)
		er, ei := T(real(e)), T(imag(e))
		m.spread(n, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				on := bits.OnesCount64(uint64(i)&t.m1) & 1
				if t.m2 != 0 {
					on &= bits.OnesCount64(uint64(i) & t.m2)
				}
				if on != 0 {
					v, w := fr[i], fi[i]
					fr[i], fi[i] = v*er-w*ei, v*ei+w*er
				}
			}
		})
	}
}

// phase returns e^(i t) for the angle t with an index in the table.
func (m *simulator[T]) phase(angle int) complex128 {
	if t := m.p.phases[angle]; t >= 0 {
		return complex(m.cos[t], m.sin[t])
	}
	return phase(m.angles[angle])
}

// scale writes e times (ar, ai) to (xr, xi).
func (m *simulator[T]) scale(xr, xi, ar, ai []T, e complex128) {
	er, ei := T(real(e)), T(imag(e))
	m.spread(len(ar), func(lo, hi int) {
		a, b := ar[lo:hi], ai[lo:hi][:hi-lo]
		x, y := xr[lo:hi][:hi-lo], xi[lo:hi][:hi-lo]
		if ei == 0 && er == 1 {
			copy(x, a)
			copy(y, b)
			return
		}
		rotate(x, y, a, b, er, ei)
	})
}

// linear moves the amplitude of b to A b, with the rows of A given. The image of an index
// is the exclusive or of the images of its bits.
func (m *simulator[T]) linear(rows []uint64) {
	n := len(m.re)
	if len(m.re2) < n {
		m.re2 = make([]T, n)
		if m.im != nil {
			m.im2 = make([]T, n)
		}
	}
	image := make([]int, len(rows)) // image of the bit at position p
	for p := range image {
		for i, r := range rows {
			image[p] |= int(r>>p&1) << i
		}
	}
	low := min(len(rows), 6)
	var table [64]int
	for b := 1; b < 1<<low; b++ {
		table[b] = table[b&(b-1)] ^ image[bits.TrailingZeros(uint(b))]
	}
	m.spread(n, func(lo, hi int) {
		for b := lo; b < hi; b += 1 << low { // parts begin at multiples of 64
			at := 0
			for v := b >> low << low; v != 0; v &= v - 1 {
				at ^= image[bits.TrailingZeros(uint(v))]
			}
			for i := range min(1<<low, hi-b) {
				m.re2[at^table[i]] = m.re[b+i]
			}
			if m.im != nil {
				for i := range min(1<<low, hi-b) {
					m.im2[at^table[i]] = m.im[b+i]
				}
			}
		}
	})
	m.spread(n, func(lo, hi int) {
		copy(m.re[lo:hi], m.re2[lo:hi])
		if m.im != nil {
			copy(m.im[lo:hi], m.im2[lo:hi])
		}
	})
}

// local applies a matrix to the pairs of amplitudes that differ at its position.
func (m *simulator[T]) local(l *localOp) {
	c, h := newCoefficients[T](l.matrix(m.sin, m.cos)), 1<<l.position
	m.spread(len(m.re)/2, func(lo, hi int) {
		if h == 1 {
			adjacent(c, m.re[2*lo:2*hi], m.im, 2*lo)
			return
		}
		for j := lo; j < hi; {
			off := j & (h - 1)
			n := min(h-off, hi-j)
			c.apply(m.re, m.im, (j-off)*2+off, h, n)
			j += n
		}
	})
}
