package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// exactBytes is the number of products of two bytes whose sum float32 represents exactly,
// in any order: 258 * 255^2 < 2^24.
const exactBytes = 256

// gemmBytes multiplies bytes exactly in float32, stretches of k at a time,
// and sums the stretches as integers.
func gemmBytes(t dtype.DType, m, n, k int, a, b Operand, c *int32, ldc int) {
	load := use.real[t]
	v := *use32
	v.kc = min(v.kc, exactBytes)
	p := product[float32]{
		v: &v, m: m, n: n, k: k, eachStretch: true,
		a: linesOf(a, 1, load), b: columnsOf(b, 1, load),
		finish: func(o region[float32]) {
			for i := range o.rows {
				dst := unsafe.Slice(offset(c, (o.i+i)*ldc+o.j), o.cols)
				src := unsafe.Slice(offset(o.data, i*o.ld), o.cols)
				if o.first {
					clear(dst)
				}
				done := 0
				if use.addI32 != nil {
					done = o.cols &^ 7
					use.addI32(&dst[0], &src[0], done)
				}
				for j := done; j < o.cols; j++ {
					dst[j] += int32(src[j])
				}
			}
		},
	}
	p.run()
}

// gemmInt multiplies in integer registers. For a block of columns of B, which stays in the
// cache, each row of C is the sum of B's rows times A's elements.
func gemmInt[T int32 | int64](m, n, k int, a, b Operand, c *T, ldc int) {
	const (
		blockCols  = 256
		blockSteps = 64
		blockRows  = 32
	)
	switch {
	case m == 0 || n == 0:
		return
	case k > 0 && n <= maxVectors:
		intLines(m, n, k, a, b, c, ldc, 1)
		return
	case k > 0 && m <= maxVectors: // the transposed product
		a.RS, a.CS, b.RS, b.CS = a.CS, a.RS, b.CS, b.RS
		intLines(n, m, k, b, a, c, 1, ldc)
		return
	}
	pa, pb := (*T)(a.Data), (*T)(b.Data)
	taskRows := ceilDiv(m, blockRows)
	Parallel(taskRows*ceilDiv(n, blockCols), 1, func(lo, hi int) {
		panel := make([]T, blockCols*blockSteps)
		for t := lo; t < hi; t++ {
			i0, j0 := t%taskRows*blockRows, t/taskRows*blockCols
			rows, cols := min(blockRows, m-i0), min(blockCols, n-j0)
			for i := range rows {
				clear(unsafe.Slice(offset(c, (i0+i)*ldc+j0), cols))
			}
			for q := 0; q < k; q += blockSteps {
				kq := min(blockSteps, k-q)
				for p := range kq {
					row := panel[p*blockCols:][:cols]
					for j := range row {
						row[j] = *offset(pb, (q+p)*b.RS+(j0+j)*b.CS)
					}
				}
				for i := range rows {
					dst := unsafe.Slice(offset(c, (i0+i)*ldc+j0), cols)
					addRows(dst, panel, blockCols, kq, offset(pa, (i0+i)*a.RS+q*a.CS), a.CS)
				}
			}
		}
	})
}

// intLines multiplies the m rows of A with the n columns of B, which are few; k > 0. Element (i, j) of C is i*rs + j*cs elements
// after c. As in runLines, A's elements are not copied.
func intLines[T int32 | int64](m, n, k int, a, b Operand, c *T, rs, cs int) {
	const rows = 1024 // the sums of so many rows stay in the first-level cache
	x := make([]T, n*k)
	for i := range x {
		x[i] = *offset((*T)(b.Data), i%k*b.RS+i/k*b.CS)
	}
	Parallel(m, max(1, vectorWork/max(1, n*k)), func(lo, hi int) {
		room := make([]T, min(hi-lo, rows))
		for ; lo < hi; lo += rows {
			sums := room[:min(rows, hi-lo)]
			for j := range n {
				intSums(sums, offset((*T)(a.Data), lo*a.RS), a.RS, a.CS, x[j*k:(j+1)*k])
				for i, v := range sums {
					*offset(c, (lo+i)*rs+j*cs) = v
				}
			}
		}
	})
}

// intSums sets sums to the products of the rows of A with x.
func intSums[T int32 | int64](sums []T, a *T, rs, cs int, x []T) {
	if rs == 1 && cs > 0 { // contiguous columns
		clear(sums)
		addRows(sums, unsafe.Slice(a, (len(x)-1)*cs+len(sums)), cs, len(x), &x[0], 1)
		return
	}
	if cs == 1 {
		for i := range sums {
			sums[i] = intDot(unsafe.Slice(offset(a, i*rs), len(x)), x)
		}
		return
	}
	for i := range sums {
		row, s := offset(a, i*rs), T(0)
		for p, v := range x {
			s += *offset(row, p*cs) * v
		}
		sums[i] = s
	}
}

// intDot returns the sum of products of two vectors of one length.
func intDot[T int32 | int64](a, x []T) T {
	var s0, s1, s2, s3 T
	a = a[:len(x)]
	p := 0
	for ; p < len(x)-3; p += 4 {
		s0 += a[p] * x[p]
		s1 += a[p+1] * x[p+1]
		s2 += a[p+2] * x[p+2]
		s3 += a[p+3] * x[p+3]
	}
	for ; p < len(x); p++ {
		s0 += a[p] * x[p]
	}
	return s0 + s1 + s2 + s3
}

// addRows adds to dst the sum of k rows of b, ldb apart, times the elements
// of a, four rows at a time.
func addRows[T int32 | int64](dst, b []T, ldb, k int, a *T, step int) {
	p := 0
	for ; p+4 <= k; p += 4 {
		x0, x1, x2, x3 := *offset(a, p*step), *offset(a, (p+1)*step), *offset(a, (p+2)*step), *offset(a, (p+3)*step)
		b0, b1 := b[p*ldb:][:len(dst)], b[(p+1)*ldb:][:len(dst)]
		b2, b3 := b[(p+2)*ldb:][:len(dst)], b[(p+3)*ldb:][:len(dst)]
		for j := range dst {
			dst[j] += x0*b0[j] + x1*b1[j] + x2*b2[j] + x3*b3[j]
		}
	}
	for ; p < k; p++ {
		x, row := *offset(a, p*step), b[p*ldb:][:len(dst)]
		for j := range dst {
			dst[j] += x * row[j]
		}
	}
}
