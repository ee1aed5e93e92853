package cpu

import (
	"unsafe"
)

// gemmComplex computes the complex product C = A B. Products with few rows or columns and small
// products are computed from real products without packing. For all others, with A = X + iY and
// B = U + iV,
//
//	Re C = [-Y X] [V]   Im C = [X Y] [V]
//	              [U]                [U]
//
// are real products of twice the depth. Packed one after the other, -Y, X and
// Y make one panel of A, V and U one of B; conjugation changes signs there.
func gemmComplex[T floating, C complex64 | complex128](v *variant[T], load loader[T], join func(dst *C, re, im *T, n int),
	m, n, k int, a, b Operand, c *C, ldc int,
) {
	if work := m * n * k; work > 0 && work <= tinyComplexWork { // an empty matrix has no address
		gemmComplexLoop[T](m, n, k, a, b, c, ldc)
		return
	}
	if gemmComplexLines(v, join, m, n, k, a, b, c, ldc) || gemmComplexUnpacked(v, m, n, k, a, b, c, ldc) {
		return
	}
	size := int(unsafe.Sizeof(*c))
	p := product[T]{
		v: v, m: m, n: n, k: k, complex: true,
		a: linesOf(a, size, load), b: columnsOf(b, size, load),
	}
	p.a.parts = []part{minusImagPart, realPart, imagPart}
	if a.Conj {
		p.a.parts = []part{imagPart, realPart, minusImagPart}
	}
	p.b.parts = []part{imagPart, realPart}
	if b.Conj {
		p.b.parts = []part{minusImagPart, realPart}
	}
	p.finish = func(o region[T]) {
		for i := range o.rows {
			re := offset(o.data, i*o.ld)
			joinParts(offset(c, (o.i+i)*ldc+o.j), 1, re, offset(re, o.plane), o.cols, join)
		}
	}
	p.run()
}

// joinParts sets the element dst[step*i] to re[i] + i im[i] for every i < n. join is the function
// for step 1 of converters, or nil.
func joinParts[T floating, C complex64 | complex128](dst *C, step int, re, im *T, n int, join func(dst *C, re, im *T, n int)) {
	done := 0
	if step == 1 && join != nil {
		done = n &^ 7
		join(dst, re, im, done)
	}
	for i := done; i < n; i++ {
		*(*[2]T)(ptr(offset(dst, step*i))) = [2]T{*offset(re, i), *offset(im, i)}
	}
}

// tinyComplexWork is the number of complex multiplications up to which gemmComplexLoop is fastest.
const tinyComplexWork = 64

// gemmComplexLoop is gemmComplex with one chain of additions along k for each part of an element.
func gemmComplexLoop[T floating, C complex64 | complex128](m, n, k int, a, b Operand, c *C, ldc int) {
	signA, signB := imagSign[T](a), imagSign[T](b)
	for i := range m {
		for j := range n {
			x, y := offset((*C)(a.Data), i*a.RS), offset((*C)(b.Data), j*b.CS)
			var re, im T
			for q := range k {
				s, t := (*[2]T)(ptr(offset(x, q*a.CS))), (*[2]T)(ptr(offset(y, q*b.RS)))
				sIm, tIm := signA*s[1], signB*t[1]
				re += T(s[0] * t[0])
				re -= T(sIm * tIm)
				im += T(s[0] * tIm)
				im += T(sIm * t[0])
			}
			*(*[2]T)(ptr(offset(c, i*ldc+j))) = [2]T{re, im}
		}
	}
}

// imagSign returns the factor of the operand's imaginary parts: -1 if it is conjugated.
func imagSign[T floating](x Operand) T {
	if x.Conj {
		return -1
	}
	return 1
}

// gemmComplexUnpacked computes C = A B as one real product that gemmUnpacked computes, and
// reports whether it did. Its left operand is A, interleaved as it is in memory. Its right one has, for
// each row of B, the rows (u, v) and (-v, u), interleaved:
//
//	(x + iy) (u + iv) = (x u - y v) + i (x v + y u)
func gemmComplexUnpacked[T floating, C complex64 | complex128](v *variant[T], m, n, k int, a, b Operand, c *C, ldc int) bool {
	if !fitsComplexUnpacked(v, m, n, k) || a.CS != 1 && m*k > unpackedBytes/int(unsafe.Sizeof(*c)) {
		return false
	}
	size := 4 * k * n
	if a.CS != 1 {
		size += 2 * m * k
	}
	w := getBuffer[T](size)
	signA, signB := imagSign[T](a), imagSign[T](b)
	for q := range k {
		first := (*[2]T)(ptr(&w.data[4*q*n]))
		second := offset(first, n)
		row := offset((*C)(b.Data), q*b.RS)
		for j := range n {
			t := (*[2]T)(ptr(offset(row, j*b.CS)))
			re, im := t[0], signB*t[1]
			*offset(first, j) = [2]T{re, im}
			*offset(second, j) = [2]T{-signA * im, signA * re}
		}
	}
	left := Operand{Data: a.Data, RS: 2 * a.RS, CS: 1}
	if a.CS != 1 {
		dense := at0(w.data[4*k*n:])
		copyComplex((*C)(dense), k, (*C)(a.Data), a.RS, a.CS, m, k)
		left = Operand{Data: dense, RS: 2 * k, CS: 1}
	}
	done := v.gemmUnpacked(m, 2*n, 2*k, left, Operand{Data: at0(w.data), RS: 2 * n, CS: 1}, (*T)(ptr(c)), 2*ldc)
	w.put()
	return done
}

// fitsComplexUnpacked reports whether a product with more than a few rows and columns is one for gemmComplexUnpacked.
func fitsComplexUnpacked[T floating](v *variant[T], m, n, k int) bool {
	return min(m, n) > maxVectors && v.fitsUnpacked(m, 2*n, 2*k) && 4*k*n <= unpackedBytes/int(unsafe.Sizeof(*new(T)))
}

// copyComplex copies a rows x cols matrix with any strides to dst with contiguous rows.
func copyComplex[C complex64 | complex128](dst *C, ld int, src *C, rs, cs, rows, cols int) {
	for i := range rows {
		row := unsafe.Slice(offset(dst, i*ld), cols)
		for j := range row {
			row[j] = *offset(src, i*rs+j*cs)
		}
	}
}
