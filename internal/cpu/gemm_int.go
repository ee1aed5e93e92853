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
	if m == 0 || n == 0 {
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
