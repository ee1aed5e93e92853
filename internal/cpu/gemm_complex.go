package cpu

import (
	"unsafe"
)

// gemmComplex computes, with A = X + iY and B = U + iV,
//
//	Re C = [-Y X] [V]   Im C = [X Y] [V]
//	              [U]                [U]
//
// as real products of twice the depth. Packed one after the other, -Y, X and
// Y make one panel of A, V and U one of B; conjugation changes signs there.
func gemmComplex[T floating, C complex64 | complex128](v *variant[T], load loader[T], join func(dst *C, re, im *T, n int),
	m, n, k int, a, b Operand, c *C, ldc int,
) {
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
			dst, re := offset(c, (o.i+i)*ldc+o.j), offset(o.data, i*o.ld)
			im := offset(re, o.plane)
			done := 0
			if join != nil {
				done = o.cols &^ 7
				join(dst, re, im, done)
			}
			for j := done; j < o.cols; j++ {
				*offset(dst, j) = C(complex(float64(*offset(re, j)), float64(*offset(im, j))))
			}
		}
	}
	p.run()
}
