package cpu

import (
	"runtime"
	"unsafe"
)

// complexLines is a complex product of a large matrix with a few vectors. The lines of the matrix are the
// columns of B if A has few rows, and the rows of A if B has few columns. Each complex number is read as
// two real ones. The product of an element a + ib of a line and an element x + iy of a vector is
//
//	(a x - b y) + i (a y + b x)
//
// If the elements of a line are contiguous, each result takes two real dot products of length 2k: the real
// part is that of the line with (x, -y), the imaginary part that of the line with (y, x). If the elements
// of different lines are contiguous, the vectors (a x, b x) and (a y, b y) are summed over k for all
// lines at once, and the results are combined from these sums.
type complexLines[T floating, C complex64 | complex128] struct {
	v               *variant[T]
	join            func(dst *C, re, im *T, n int)
	lines, count, k int     // count vectors
	mat, vec        Operand // RS: from one line or vector to the next, CS: from one step of k to the next
	c               *C
	ldLine, ldVec   int // C's elements from one line to the next, and from one vector to the next
}

const (
	complexBlock = 32 << 10 // bytes of the rows that all vectors read one after the other, from the first-level cache
	complexTask  = 16       // the smallest share of a goroutine, in lines
)

// gemmComplexLines computes C = A B if A has at most maxVectors rows or B as many columns, and
// reports whether it did.
func gemmComplexLines[T floating, C complex64 | complex128](v *variant[T], join func(dst *C, re, im *T, n int),
	m, n, k int, a, b Operand, c *C, ldc int,
) bool {
	if min(m, n) > maxVectors || min(m, n, k) == 0 {
		return false
	}
	p := complexLines[T, C]{v: v, join: join, k: k, c: c}
	if n < m {
		p.lines, p.count, p.mat, p.vec = m, n, a, b
		p.vec.RS, p.vec.CS = b.CS, b.RS
		p.ldLine, p.ldVec = ldc, 1
	} else {
		p.lines, p.count, p.mat, p.vec = n, m, b, a
		p.mat.RS, p.mat.CS = b.CS, b.RS
		p.ldLine, p.ldVec = 1, ldc
	}
	if p.mat.RS == 1 && p.mat.CS != 1 && p.lines > 1 {
		p.runAlong()
	} else {
		p.runAcross()
	}
	return true
}

// runAcross computes dot products of the lines. It copies lines whose elements are not contiguous.
func (p *complexLines[T, C]) runAcross() {
	workers := runtime.GOMAXPROCS(0)
	if 2*p.lines*p.count*p.k <= vectorWork {
		workers = 1
	}
	size := int(unsafe.Sizeof(*p.c))
	block := min(max(complexBlock/(p.k*size)&^7, 8), p.lines)
	need := 2 * p.count * block
	if p.mat.CS != 1 {
		need += 2 * block * p.k
	}
	w := getBuffer[T](4*p.count*p.k + need)
	x, scratch := w.data[:4*p.count*p.k], w.data[4*p.count*p.k:]
	p.interleaveVectors(x)
	if workers == 1 {
		p.across(x, scratch, block, 0, p.lines)
	} else {
		q := *p // a copy, because the goroutines' shared data must not live on the stack
		Parallel(p.lines, max(p.lines/(workers*tasksPerCPU), complexTask), func(lo, hi int) {
			own := getBuffer[T](need)
			q.across(x, own.data, block, lo, hi)
			own.put()
		})
	}
	w.put()
}

// interleaveVectors sets x, [count][2][2k], to the vectors with which the dot products of a line are the real
// and the imaginary parts of its products.
func (p *complexLines[T, C]) interleaveVectors(x []T) {
	signMat, signVec := imagSign[T](p.mat), imagSign[T](p.vec)
	for r := range p.count {
		re, im := x[4*r*p.k:][:2*p.k], x[(4*r+2)*p.k:][:2*p.k]
		src := offset((*C)(p.vec.Data), r*p.vec.RS)
		for q := range p.k {
			t := (*[2]T)(ptr(offset(src, q*p.vec.CS)))
			tIm := signVec * t[1]
			re[2*q], re[2*q+1] = t[0], -signMat*tIm
			im[2*q], im[2*q+1] = tIm, signMat*t[0]
		}
	}
}

// across computes the lines lo to hi, block lines at a time, from the vectors x of interleaveVectors.
func (p *complexLines[T, C]) across(x, scratch []T, block, lo, hi int) {
	depth := 2 * p.k
	sums, dense := scratch[:2*p.count*block], scratch[2*p.count*block:]
	for l := lo; l < hi; l += block {
		n := min(block, hi-l)
		src := offset((*C)(p.mat.Data), l*p.mat.RS)
		a, ld := (*T)(ptr(src)), 2*p.mat.RS
		if p.mat.CS != 1 {
			copyComplex((*C)(at0(dense)), p.k, src, p.mat.RS, p.mat.CS, n, p.k)
			a, ld = &dense[0], depth
		}
		for r := range 2 * p.count {
			y, s := &x[r*depth], sums[r*n:][:n]
			if p.v.dots != nil && depth <= dotSteps {
				p.v.dots(&s[0], y, a, ld, depth, n)
				continue
			}
			for i := range s {
				s[i] = 0
				for q := 0; q < depth; q += dotSteps {
					s[i] += p.v.dot(offset(y, q), offset(a, i*ld+q), min(dotSteps, depth-q))
				}
			}
		}
		for r := range p.count {
			joinParts(offset(p.c, l*p.ldLine+r*p.ldVec), p.ldLine, &sums[2*r*n], &sums[(2*r+1)*n], n, p.join)
		}
	}
}

// runAlong computes the product from sums over k, for a matrix whose lines are contiguous columns.
func (p *complexLines[T, C]) runAlong() {
	vectors, cols := 2*p.count, 2*p.lines
	w := getBuffer[T](vectors * p.k)
	p.splitVectors(w.data)
	x, mat := at0(w.data), Operand{Data: p.mat.Data, RS: 2 * p.mat.CS, CS: 1}
	if p.v.fitsUnpacked(vectors, cols, p.k) {
		sums := getBuffer[T](vectors * cols)
		p.v.multiplyUnpacked(vectors, cols, p.k, Operand{Data: x, RS: p.k, CS: 1}, mat, &sums.data[0], cols)
		p.combine(region[T]{data: &sums.data[0], ld: cols, cols: cols})
		sums.put()
	} else {
		q := *p
		size := int(unsafe.Sizeof(*new(T)))
		real := product[T]{
			v: p.v, m: vectors, n: cols, k: p.k, finish: q.combine,
			a: linesOf[T](Operand{Data: x, RS: p.k, CS: 1}, size, nil), b: columnsOf[T](mat, size, nil),
		}
		real.runLines()
	}
	w.put()
}

// splitVectors sets x, [count][2][k], to the real and the imaginary parts of the vectors.
func (p *complexLines[T, C]) splitVectors(x []T) {
	sign := imagSign[T](p.vec)
	for r := range p.count {
		re, im := x[2*r*p.k:][:p.k], x[(2*r+1)*p.k:][:p.k]
		src := offset((*C)(p.vec.Data), r*p.vec.RS)
		for q := range p.k {
			t := (*[2]T)(ptr(offset(src, q*p.vec.CS)))
			re[q], im[q] = t[0], sign*t[1]
		}
	}
}

// combine writes C from the sums of the rows: row 2r of o has those with the real parts of
// vector r, row 2r+1 those with the imaginary parts, for o.cols numbers from number o.j on.
func (p *complexLines[T, C]) combine(o region[T]) {
	for r := range p.count {
		x, y := offset(o.data, 2*r*o.ld), offset(o.data, (2*r+1)*o.ld)
		for i := 0; i < o.cols; i += 2 {
			u, v := (*[2]T)(ptr(offset(x, i))), (*[2]T)(ptr(offset(y, i)))
			dst := (*[2]T)(ptr(offset(p.c, (o.j+i)/2*p.ldLine+r*p.ldVec)))
			if p.mat.Conj {
				*dst = [2]T{u[0] + v[1], v[0] - u[1]}
			} else {
				*dst = [2]T{u[0] - v[1], v[0] + u[1]}
			}
		}
	}
}
