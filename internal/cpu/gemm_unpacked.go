package cpu

import (
	"runtime"
	"unsafe"
)

// Packing pays only if each element is used often. A small product reads its operands in
// place: the micro-kernel reads the rows of B and broadcasts the elements of A, whatever
// their strides. Only a B whose rows are not contiguous is packed, one panel at a time. Each
// element of C is the same chain of additions along k as in a packed product, and k is one
// stretch, so the bits are the same.

const (
	unpackedBytes = 256 << 10 // maximum size of a B that is not packed; every panel of rows of C reads it again
	unpackedRows  = 16        // the smallest share of a goroutine
	unpackedRow   = 1 << 13   // elements of B if A has one row: a few dependent chains of additions are slow
	unpackedSteps = 32        // the shortest k if C is larger than the cache
)

// gemmUnpacked computes C = A B if B is small enough, and reports whether it did. It takes
// a product with few rows only if B's rows are contiguous, and leaves one with few columns
// to the dot products.
func (v *variant[T]) gemmUnpacked(m, n, k int, a, b Operand, c *T, ldc int) bool {
	if n == 1 && ldc == 1 && a.RS == 1 { // the transposed product has the same memory
		m, n, a, b = n, m, Operand{Data: b.Data, RS: b.CS, CS: b.RS}, Operand{Data: a.Data, RS: a.CS, CS: a.RS}
	}
	if !v.fitsUnpacked(m, n, k) || min(m, n) <= maxVectors && (n < m || b.CS != 1) {
		return false
	}
	workers := 1
	if m*n*k > serialWork {
		workers = min(runtime.GOMAXPROCS(0), ceilDiv(m, unpackedRows))
	}
	if workers == 1 {
		v.multiplyUnpacked(m, n, k, a, b, c, ldc)
		return true
	}
	grain := unpackedRows
	if b.CS != 1 { // otherwise every goroutine would pack B
		grain = ceilDiv(m, workers)
	}
	Parallel(m, grain, func(lo, hi int) {
		part := a
		part.Data = ptr(offset((*T)(a.Data), lo*a.RS))
		v.multiplyUnpacked(hi-lo, n, k, part, b, offset(c, lo*ldc), ldc)
	})
	return true
}

// fitsUnpacked reports whether a product is small enough for gemmUnpacked.
func (v *variant[T]) fitsUnpacked(m, n, k int) bool {
	if v.mulUnpacked == nil || k == 0 || k > v.kc || n < v.lanes && !v.masked {
		return false
	}
	size := int(unsafe.Sizeof(*new(T)))
	fits := n <= unpackedBytes/size/k
	switch {
	case m == 1:
		return n <= unpackedRow/k
	case m <= maxVectors:
		return fits
	case m <= unpackedRows: // B is read once or twice, as often as packing would read it
		return fits || n <= serialWork/m/k
	}
	return fits && (k >= unpackedSteps || m*n*size <= l2)
}

// gemmDots computes C = A B if it is a small product of a matrix with few rows or columns
// and both operands are contiguous along k, and reports whether it did. It computes the dot
// products of runVectors without scratch memory.
func (v *variant[T]) gemmDots(m, n, k int, a, b Operand, c *T, ldc int) bool {
	line := b.CS
	if n < m {
		line = a.RS
	}
	if min(m, n) > maxVectors || a.CS != 1 || b.RS != 1 || line == 1 || k == 0 || k > dotSteps || m*n*k > vectorWork {
		return false
	}
	if v.dots != nil && max(m, n) >= 4 && (m == 1 || n == 1 && ldc == 1) {
		if m == 1 {
			v.dots(c, (*T)(a.Data), (*T)(b.Data), b.CS, k, n)
		} else {
			v.dots(c, (*T)(b.Data), (*T)(a.Data), a.RS, k, m)
		}
		sums := unsafe.Slice(c, max(m, n))
		for i, sum := range sums {
			sums[i] = 0 + sum
		}
		return true
	}
	for i := range m {
		x := offset((*T)(a.Data), i*a.RS)
		for j := range n {
			*offset(c, i*ldc+j) = 0 + v.dot(x, offset((*T)(b.Data), j*b.CS), k) // + 0 turns a negative zero into 0
		}
	}
	return true
}

// multiplyUnpacked computes C = A B panel by panel. It takes as many rows at a time as keep
// their part of A in the second-level cache.
func (v *variant[T]) multiplyUnpacked(m, n, k int, a, b Operand, c *T, ldc int) {
	rows := max(l2/2/(k*int(unsafe.Sizeof(*c))), 1)
	var packed *buffer[T]
	if b.CS != 1 {
		packed = getBuffer[T](k * v.vectors * v.lanes)
	}
	for i := 0; i < m; i += rows {
		here, left := min(m-i, rows), offset((*T)(a.Data), i*a.RS)
		for j, w := 0, 0; j < n; j += w {
			vectors := min(ceilDiv(n-j, v.lanes), v.vectors)
			w = vectors * v.lanes
			switch over := j + w - n; {
			case over <= 0:
			case vectors == 1 && v.masked:
				w -= over
			case w <= n: // the last panel overlaps the previous one
				j -= over
			default:
				w -= v.lanes
			}
			mul := v.mulUnpacked
			if 2*w <= v.lanes && v.mulNarrow != nil {
				mul = v.mulNarrow
			}
			panel, pitch := offset((*T)(b.Data), j*b.CS), b.RS
			if packed != nil {
				packPanel(v, packed.data, w, panel, b.CS, b.RS, w, k)
				panel, pitch = &packed.data[0], w
			}
			mul(here, w, k, left, a.RS, a.CS, panel, pitch, offset(c, i*ldc+j), ldc)
		}
	}
	if packed != nil {
		packed.put()
	}
}
