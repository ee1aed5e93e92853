package fft

import "unsafe"

// rows computes n butterflies in each of count rows, starting with number (k, q). The radix is not 4.
func (g *stage[C]) rows(x, y []C, k, q, n, count int) {
	ys, xs, w := g.s, g.s*g.m, g.twiddle[k*(g.p-1):]
	x, y = x[g.s*k+q:], y[g.s*g.p*k+q:]
	fast := g.vector && n >= lanes[C]()
	switch any(x).(type) {
	case []complex128:
		x, y, w := parts[float64](x), parts[float64](y), parts[float64](w)
		if fast {
			rows64(g.p, &y[0], &x[0], &w[0], unsafe.SliceData(parts[float64](g.table)), ys, xs, n, count)
			return
		}
		rowsOf(g.p, x, y, w, parts[float64](g.roots), ys, xs, n, count)
	case []complex64:
		x, y, w := parts[float32](x), parts[float32](y), parts[float32](w)
		if fast {
			rows32(g.p, &y[0], &x[0], &w[0], unsafe.SliceData(parts[float32](g.table)), ys, xs, n, count)
			return
		}
		rowsOf(g.p, x, y, w, parts[float32](g.roots), ys, xs, n, count)
	}
}

// firstAny computes the butterflies lo to hi of a first stage whose radix is not 4.
func (g *stage[C]) firstAny(x, y []C, lo, hi int) {
	n := hi - lo
	x, y, w := x[lo:], y[g.p*lo:], g.twiddle[lo:]
	fast := g.vector && n >= lanes[C]()
	switch any(x).(type) {
	case []complex128:
		x, y, w := parts[float64](x), parts[float64](y), parts[float64](w)
		if fast {
			first64(g.p, &y[0], &x[0], &w[0], unsafe.SliceData(parts[float64](g.table)), g.m, n)
			return
		}
		firstOf(g.p, x, y, w, parts[float64](g.roots), g.m, n)
	case []complex64:
		x, y, w := parts[float32](x), parts[float32](y), parts[float32](w)
		if fast {
			first32(g.p, &y[0], &x[0], &w[0], unsafe.SliceData(parts[float32](g.table)), g.m, n)
			return
		}
		firstOf(g.p, x, y, w, parts[float32](g.roots), g.m, n)
	}
}

// rowsOf computes the butterflies of rows on real and imaginary parts. Lengths and distances count complex numbers.
func rowsOf[R float32 | float64](p int, x, y, w, roots []R, ys, xs, n, count int) {
	for r := range count {
		x, y, w := x[2*r*ys:], y[2*r*p*ys:], w[2*r*(p-1):]
		if p == 2 {
			run2(x, x[2*xs:], y, y[2*ys:], w[0], w[1], n)
			continue
		}
		for i := range n {
			odd(p, x[2*i:], y[2*i:], w, roots, xs, ys, 1)
		}
	}
}

// firstOf computes the butterflies of firstAny on real and imaginary parts.
func firstOf[R float32 | float64](p int, x, y, w, roots []R, m, n int) {
	for i := range n {
		if p == 2 {
			run2(x[2*i:], x[2*(m+i):], y[4*i:], y[4*i+2:], w[2*i], w[2*i+1], 1)
			continue
		}
		odd(p, x[2*i:], y[2*p*i:], w[2*i:], roots, m, 1, m)
	}
}

// run2 computes n radix-2 butterflies.
func run2[R float32 | float64](x0, x1, y0, y1 []R, wr, wi R, n int) {
	x0 = x0[:2*n]
	x1, y0, y1 = x1[:len(x0)], y0[:len(x0)], y1[:len(x0)]
	for i := 0; i < len(x0)-1; i += 2 {
		ar, ai, br, bi := x0[i], x0[i+1], x1[i], x1[i+1]
		dr, di := ar-br, ai-bi
		y0[i], y0[i+1] = ar+br, ai+bi
		y1[i], y1[i+1] = R(dr*wr)-R(di*wi), R(di*wr)+R(dr*wi)
	}
}

// odd computes a butterfly of p numbers, p odd: input j is number j*xs of x, output t number t*ys of y, and the twiddle
// factor of output t number (t-1)*ws of w. With d and e the sum and the difference of the inputs j and p-j, the outputs t and
// p-t are
//
//	x[0] + sum over 1 <= j <= p/2 of d cos(2 pi j t / p)  -+  i sum over j of e sin(2 pi j t / p)
//
// times their twiddle factors.
func odd[R float32 | float64](p int, x, y, w, roots []R, xs, ys, ws int) {
	const most = largestFactor/2 + 1
	var dr, di, er, ei [most]R
	half := p / 2
	ar, ai := x[0], x[1]
	sr, si := ar, ai
	for j := 1; j <= half; j++ {
		a, b := x[2*j*xs:][:2], x[2*(p-j)*xs:][:2]
		dr[j], di[j], er[j], ei[j] = a[0]+b[0], a[1]+b[1], a[0]-b[0], a[1]-b[1]
		sr, si = sr+dr[j], si+di[j]
	}
	y[0], y[1] = sr, si
	for t := 1; t <= half; t++ {
		c, s := roots[2*t], -roots[2*t+1]
		cr, ci := ar+R(dr[1]*c), ai+R(di[1]*c) // the sum of the cosines
		or, oi := R(ei[1]*s), R(-er[1]*s)      // -i times the sum of the sines
		k := t
		for j := 2; j <= half; j++ {
			if k += t; k >= p {
				k -= p
			}
			c, s := roots[2*k], -roots[2*k+1]
			cr, ci = cr+R(dr[j]*c), ci+R(di[j]*c)
			or, oi = or+R(ei[j]*s), oi-R(er[j]*s)
		}
		turn(y[2*t*ys:][:2], w[2*(t-1)*ws:][:2], cr+or, ci+oi)
		turn(y[2*(p-t)*ys:][:2], w[2*(p-t-1)*ws:][:2], cr-or, ci-oi)
	}
}

// turn sets y to the number (re, im) times w.
func turn[R float32 | float64](y, w []R, re, im R) {
	y[0], y[1] = R(re*w[0])-R(im*w[1]), R(im*w[0])+R(re*w[1])
}
