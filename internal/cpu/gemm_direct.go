package cpu

import (
	"runtime"
	"unsafe"
)

// Packing pays when an element is used often. A small product is computed where
// its operands lie: the micro-kernel reads the rows of B and broadcasts the
// elements of A with whatever strides they have. Only a B whose rows are not
// contiguous is packed, a panel at a time. Each element of C is the same chain
// along k as in a packed product, and k is one stretch, so the bits are the same.

const (
	directBytes = 256 << 10 // of B, whose panels every strip of C reads again
	directRows  = 16        // a goroutine's share is not shorter
	directRow   = 1 << 13   // elements of B for one row of A, whose few chains wait for themselves
	directSteps = 32        // of a product whose C is larger than the cache
)

// gemmDirect computes C = A B if B is small enough, and reports whether it did. A
// product of a matrix with few rows or columns is one for it where the other's
// rows are contiguous, which it has side by side; dot products suit the rest.
func (v *variant[T]) gemmDirect(m, n, k int, a, b Operand, c *T, ldc int) bool {
	if n == 1 && ldc == 1 && a.RS == 1 { // the transpose has the same memory
		m, n, a, b = n, m, Operand{Data: b.Data, RS: b.CS, CS: b.RS}, Operand{Data: a.Data, RS: a.CS, CS: a.RS}
	}
	if !v.takesDirect(m, n, k) || min(m, n) <= maxVectors && (n < m || b.CS != 1) {
		return false
	}
	workers := 1
	if m*n*k > serialWork {
		workers = min(runtime.GOMAXPROCS(0), ceilDiv(m, directRows))
	}
	if workers == 1 {
		v.direct(m, n, k, a, b, c, ldc)
		return true
	}
	grain := directRows
	if b.CS != 1 { // every share packs B
		grain = ceilDiv(m, workers)
	}
	Parallel(m, grain, func(lo, hi int) {
		part := a
		part.Data = ptr(offset((*T)(a.Data), lo*a.RS))
		v.direct(hi-lo, n, k, part, b, offset(c, lo*ldc), ldc)
	})
	return true
}

// takesDirect reports whether a product is small enough.
func (v *variant[T]) takesDirect(m, n, k int) bool {
	if v.mulDirect == nil || k == 0 || k > v.kc || n < v.lanes && !v.masked {
		return false
	}
	size := int(unsafe.Sizeof(*new(T)))
	fits := n <= directBytes/size/k
	switch {
	case m == 1:
		return n <= directRow/k
	case m <= maxVectors:
		return fits
	case m <= directRows: // B is read once or twice, as packing it would
		return fits || n <= serialWork/m/k
	}
	return fits && (k >= directSteps || m*n*size <= l2)
}

// gemmDots computes C = A B if it is a small product of a matrix with few rows or
// columns, all along k contiguous, and reports whether it did: the dot products of
// runVectors, without its memory.
func (v *variant[T]) gemmDots(m, n, k int, a, b Operand, c *T, ldc int) bool {
	line := b.CS
	if n < m {
		line = a.RS
	}
	if min(m, n) > maxVectors || a.CS != 1 || b.RS != 1 || line == 1 || k == 0 || k > dotSteps || m*n*k > serialWork {
		return false
	}
	for i := range m {
		x := offset((*T)(a.Data), i*a.RS)
		for j := range n {
			*offset(c, i*ldc+j) = 0 + v.dot(x, offset((*T)(b.Data), j*b.CS), k) // no negative zero
		}
	}
	return true
}

// direct computes C = A B panel by panel, for as many rows at a time as leave
// their A in the second-level cache.
func (v *variant[T]) direct(m, n, k int, a, b Operand, c *T, ldc int) {
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
			case w <= n: // some columns are computed twice
				j -= over
			default:
				w -= v.lanes
			}
			mul := v.mulDirect
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
