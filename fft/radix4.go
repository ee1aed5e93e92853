package fft

// rows4 computes n radix-4 butterflies in each of count rows, starting with number (k, q).
func (g *stage[C]) rows4(x, y []C, k, q, n, count int) {
	if !g.vector {
		for i := range count {
			g.run4(x, y, k+i, q, n)
		}
		return
	}
	switch g := any(g).(type) {
	case *stage[complex128]:
		x, y := any(x).([]complex128), any(y).([]complex128)
		vector4x64(&y[4*g.s*k+q], &x[g.s*k+q], &g.twiddle[3*k], g.s, g.s*g.m, n, count)
	case *stage[complex64]:
		x, y := any(x).([]complex64), any(y).([]complex64)
		vector4x32(&y[4*g.s*k+q], &x[g.s*k+q], &g.twiddle[3*k], g.s, g.s*g.m, n, count)
	}
}

// run4 computes n radix-4 butterflies, starting with number (k, q).
func (g *stage[C]) run4(x, y []C, k, q, n int) {
	switch g := any(g).(type) {
	case *stage[complex128]:
		x, y := any(x).([]complex128), any(y).([]complex128)
		x0, x1, x2, x3 := g.in(x, 0, k, q, n), g.in(x, 1, k, q, n), g.in(x, 2, k, q, n), g.in(x, 3, k, q, n)
		y0, y1, y2, y3 := g.out(y, 0, k, q, n), g.out(y, 1, k, q, n), g.out(y, 2, k, q, n), g.out(y, 3, k, q, n)
		w1, w2, w3 := g.twiddle[3*k], g.twiddle[3*k+1], g.twiddle[3*k+2]
		for i, a := range x0 {
			a, b, c, d := four(a, x1[i], x2[i], x3[i])
			y0[i], y1[i], y2[i], y3[i] = a, product(b, w1), product(c, w2), product(d, w3)
		}
	case *stage[complex64]:
		x, y := any(x).([]complex64), any(y).([]complex64)
		x0, x1, x2, x3 := g.in(x, 0, k, q, n), g.in(x, 1, k, q, n), g.in(x, 2, k, q, n), g.in(x, 3, k, q, n)
		y0, y1, y2, y3 := g.out(y, 0, k, q, n), g.out(y, 1, k, q, n), g.out(y, 2, k, q, n), g.out(y, 3, k, q, n)
		w1, w2, w3 := g.twiddle[3*k], g.twiddle[3*k+1], g.twiddle[3*k+2]
		for i, a := range x0 {
			a, b, c, d := fourNarrow(a, x1[i], x2[i], x3[i])
			y0[i], y1[i], y2[i], y3[i] = a, b*w1, c*w2, d*w3
		}
	}
}

// first4 computes the butterflies lo to hi of a first stage, for which s is 1.
func (g *stage[C]) first4(x, y []C, lo, hi int) {
	switch g := any(g).(type) {
	case *stage[complex128]:
		x, y := any(x).([]complex128), any(y).([]complex128)
		m := g.m
		if g.vector {
			first4x64(&y[4*lo], &x[lo], &g.twiddle[lo], m, hi-lo)
			return
		}
		x0, x1, x2, x3 := x[lo:hi], x[m+lo:m+hi], x[2*m+lo:2*m+hi], x[3*m+lo:3*m+hi]
		out := y[4*lo : 4*hi]
		w1, w2, w3 := g.twiddle[lo:hi], g.twiddle[m+lo:m+hi], g.twiddle[2*m+lo:2*m+hi]
		for i, a := range x0 {
			a, b, c, d := four(a, x1[i], x2[i], x3[i])
			o := out[4*i:][:4]
			o[0], o[1], o[2], o[3] = a, product(b, w1[i]), product(c, w2[i]), product(d, w3[i])
		}
	case *stage[complex64]:
		x, y := any(x).([]complex64), any(y).([]complex64)
		m := g.m
		if g.vector {
			first4x32(&y[4*lo], &x[lo], &g.twiddle[lo], m, hi-lo)
			return
		}
		x0, x1, x2, x3 := x[lo:hi], x[m+lo:m+hi], x[2*m+lo:2*m+hi], x[3*m+lo:3*m+hi]
		out := y[4*lo : 4*hi]
		w1, w2, w3 := g.twiddle[lo:hi], g.twiddle[m+lo:m+hi], g.twiddle[2*m+lo:2*m+hi]
		for i, a := range x0 {
			a, b, c, d := fourNarrow(a, x1[i], x2[i], x3[i])
			o := out[4*i:][:4]
			o[0], o[1], o[2], o[3] = a, b*w1[i], c*w2[i], d*w3[i]
		}
	}
}

// four returns the transform of four numbers.
func four(a, b, c, d complex128) (y0, y1, y2, y3 complex128) {
	ac, a := a+c, a-c
	bd, b := b+d, b-d
	turned := complex(imag(b), -real(b)) // -i b
	return ac + bd, a + turned, ac - bd, a - turned
}

func fourNarrow(a, b, c, d complex64) (y0, y1, y2, y3 complex64) {
	ac, a := a+c, a-c
	bd, b := b+d, b-d
	turned := complex(imag(b), -real(b))
	return ac + bd, a + turned, ac - bd, a - turned
}
