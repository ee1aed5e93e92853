package fft

// stage is one factor of Stockham's algorithm (Van Loan, Computational Frameworks for the Fast Fourier Transform,
// 1992, section 1.7), decimation in frequency. With s the product of the earlier factors, m = n/(s p) and w = e^(-2
// pi i / (m p)),
//
//	y[s (p k + t) + q] = w^(k t) sum over j of x[s (k + m j) + q] e^(-2 pi i j t / p)
//
// for k < m, q < s and t < p. Row k of butterflies has the same twiddle factors.
type stage[C number] struct {
	p, s, m int
	twiddle []C  // w^(k t), t from 1: p-1 numbers for each k. In a first stage, for which s is 1, it has m numbers for each t
	roots   []C  // e^(-2 pi i j / p)
	table   []C  // roots for the assembly, which setTable describes
	vector  bool // the assembly computes the stage
}

func newStage[C number](p, s, m int) stage[C] {
	g := stage[C]{p: p, s: s, m: m, vector: vector && (p <= 7 || s > 1)}
	if p == 4 {
		g.vector = vector && (s > 1 || m >= 4)
	}
	g.twiddle = make([]C, (p-1)*m)
	for k := range m {
		for t := 1; t < p; t++ {
			at := k*(p-1) + t - 1
			if s == 1 {
				at = (t-1)*m + k
			}
			g.twiddle[at] = C(root(k*t, m*p))
		}
	}
	for j := range p {
		g.roots = append(g.roots, C(root(j, p)))
	}
	if g.vector && p != 4 {
		g.setTable()
	}
	return g
}

// lanes returns the number of elements in 32 bytes.
func lanes[C number]() int {
	if _, double := any(C(0)).(complex128); double {
		return 2
	}
	return 4
}

// setTable sets the table: for each j from 1 to p/2, 32 bytes with the cosine of 2 pi j / p, and 32 bytes with the
// sine, negated at the positions of imaginary parts.
func (g *stage[C]) setTable() {
	n, half := lanes[C](), g.p/2
	g.table = make([]C, 2*half*n)
	for j := 1; j <= half; j++ {
		c := complex128(g.roots[j])
		for i := range n {
			g.table[(j-1)*n+i] = C(complex(real(c), real(c)))
			g.table[(half+j-1)*n+i] = C(complex(-imag(c), imag(c)))
		}
	}
}

// run computes the butterflies lo to hi of the stage; butterfly (k, q) has number k s + q.
func (g *stage[C]) run(x, y []C, lo, hi int) {
	if g.s == 1 {
		g.first(x, y, lo, hi)
		return
	}
	for lo < hi {
		k, q := lo/g.s, lo%g.s
		n, count := min(g.s-q, hi-lo), 1
		if n == g.s {
			count = (hi - lo) / n
		}
		if g.p == 4 {
			g.rows4(x, y, k, q, n, count)
		} else {
			g.rows(x, y, k, q, n, count)
		}
		lo += n * count
	}
}

// first computes butterflies of a first stage.
func (g *stage[C]) first(x, y []C, lo, hi int) {
	if g.p != 4 {
		g.firstAny(x, y, lo, hi)
		return
	}
	if !g.vector {
		g.first4(x, y, lo, hi)
		return
	}
	// The assembly computes four at a time; the last group may overlap the previous one.
	if end := lo + (hi-lo)&^3; end > lo {
		g.first4(x, y, lo, end)
	}
	if (hi-lo)%4 != 0 {
		g.first4(x, y, hi-4, hi)
	}
}

// in returns n elements of input j of the stage, from butterfly (k, q) on.
func (g *stage[C]) in(x []C, j, k, q, n int) []C { return x[g.s*(k+g.m*j)+q:][:n] }

// out returns n elements of output t of the stage, from butterfly (k, q) on.
func (g *stage[C]) out(y []C, t, k, q, n int) []C { return y[g.s*(g.p*k+t)+q:][:n] }
