package cpu

// A variant is one implementation of products in T: a micro-kernel and the functions around
// it. The processor's features decide once which variant runs.
type variant[T floating] struct {
	name   string
	mr, nr int // rows and columns of the micro-kernel's tile
	// kc is the longest stretch of k over which one chain of additions runs; the sums of
	// the stretches are then added in order. It is part of the definition of the result,
	// and so is never adapted to a cache.
	kc int

	// mul computes the mr x nr tile C = A B, or C += A B if add is set, like mulLoop, but
	// may fuse multiplication and addition. a holds mr elements per step of k, b nr
	// elements; ldc is C's row pitch. k > 0.
	mul func(k int, a, b, c *T, ldc int, add bool)

	// mulHalf is mul for nr/2 columns, with mul's bits: b still holds nr elements a
	// step. It may be nil.
	mulHalf func(k int, a, b, c *T, ldc int, add bool)

	// mulUnpacked computes the m x n product C = A B of matrices that are not packed, with
	// mul's bits for any k. A has element strides ars and acs; the rows of B and C are
	// contiguous, brs and ldc elements apart. n is a multiple of lanes and at most
	// vectors*lanes, or, if masked, less than lanes; m and k > 0. It reads and writes nothing
	// outside the matrices. It may be nil. mulNarrow, which may be nil too, is
	// mulUnpacked for at most half of the lanes.
	mulUnpacked, mulNarrow func(m, n, k int, a *T, ars, acs int, b *T, brs int, c *T, ldc int)
	lanes, vectors         int
	masked                 bool

	// packRows16, packRows4 and packRows2 copy k steps, a multiple of 8, of 16, 4 or 2 rows:
	// dst[y*w+x] = src[x*ld+y]. Any may be nil.
	packRows16, packRows4, packRows2 func(dst *T, w int, src *T, ld, k int)

	// dot returns x[0]*y[0] + … + x[n-1]*y[n-1]. The order of the additions depends on n
	// alone.
	dot func(x, y *T, n int) T

	// dots sets dst[i] to 0 + dot of x and the k elements from a[i*ld] on, for every
	// i < n. It may be nil.
	dots func(dst, x, a *T, ld, k, n int)

	// axpy4 adds x[0]*a[i] + x[1]*a[ld+i] + x[2]*a[2*ld+i] + x[3]*a[3*ld+i]
	// to y[i], in this order, for every i < n.
	axpy4 func(y, x, a *T, ld, n int)

	// columns adds x[0]*a[i] + … + x[k-1]*a[(k-1)*ld+i] to y[i], in this order and with
	// axpy4's bits, for every i < columnsWidth. k > 0. It may be nil.
	columns      func(y, x, a *T, ld, k int)
	columnsWidth int

	// dotsFour and columnsFour are dots and columns for four vectors x, ldx elements apart, with
	// their bits. dotsFour needs k%32 == 0 and n%2 == 0. They may be nil.
	dotsFour    func(dst *T, ldd int, x *T, ldx int, a *T, ld, k, n int)
	columnsFour func(y *T, ldy int, x *T, ldx int, a *T, ld, k int)
}

// mulLoop is the specification of every micro-kernel: one chain of additions
// along k for each element, then one addition to C.
func mulLoop[T floating](mr, nr, k int, a, b, c *T, ldc int, add bool) {
	for i := range mr {
		for j := range nr {
			var sum T
			for p := range k {
				sum += T(*offset(a, p*mr+i) * *offset(b, p*nr+j))
			}
			if add {
				sum += *offset(c, i*ldc+j)
			}
			*offset(c, i*ldc+j) = sum
		}
	}
}

// mulGo4x4 is mulLoop for a 4 x 4 tile, held in registers.
func mulGo4x4[T floating](k int, a, b, c *T, ldc int, add bool) {
	var c00, c01, c02, c03, c10, c11, c12, c13 T
	var c20, c21, c22, c23, c30, c31, c32, c33 T
	for p := range k {
		x := (*[4]T)(ptr(offset(a, 4*p)))
		y := (*[4]T)(ptr(offset(b, 4*p)))
		y0, y1, y2, y3 := y[0], y[1], y[2], y[3]
		v := x[0]
		c00 += T(v * y0)
		c01 += T(v * y1)
		c02 += T(v * y2)
		c03 += T(v * y3)
		v = x[1]
		c10 += T(v * y0)
		c11 += T(v * y1)
		c12 += T(v * y2)
		c13 += T(v * y3)
		v = x[2]
		c20 += T(v * y0)
		c21 += T(v * y1)
		c22 += T(v * y2)
		c23 += T(v * y3)
		v = x[3]
		c30 += T(v * y0)
		c31 += T(v * y1)
		c32 += T(v * y2)
		c33 += T(v * y3)
	}
	rows := [4][4]T{{c00, c01, c02, c03}, {c10, c11, c12, c13}, {c20, c21, c22, c23}, {c30, c31, c32, c33}}
	for i := range rows {
		row := (*[4]T)(ptr(offset(c, i*ldc)))
		if add {
			for j := range row {
				row[j] += rows[i][j]
			}
		} else {
			*row = rows[i]
		}
	}
}

// dotGo is variant.dot in Go, with eight partial sums.
func dotGo[T floating](x, y *T, n int) T {
	var s [8]T
	done := n &^ 7
	for i := 0; i < done; i += 8 {
		a, b := (*[8]T)(ptr(offset(x, i))), (*[8]T)(ptr(offset(y, i)))
		s[0] += T(a[0] * b[0])
		s[1] += T(a[1] * b[1])
		s[2] += T(a[2] * b[2])
		s[3] += T(a[3] * b[3])
		s[4] += T(a[4] * b[4])
		s[5] += T(a[5] * b[5])
		s[6] += T(a[6] * b[6])
		s[7] += T(a[7] * b[7])
	}
	sum := ((s[0] + s[4]) + (s[2] + s[6])) + ((s[1] + s[5]) + (s[3] + s[7]))
	return sum + dotTail(x, y, done, n)
}

func dotTail[T floating](x, y *T, from, n int) T {
	var sum T
	for i := from; i < n; i++ {
		sum += T(*offset(x, i) * *offset(y, i))
	}
	return sum
}

// axpy4Go is variant.axpy4 in Go.
func axpy4Go[T floating](y, x, a *T, ld, n int) {
	axpy4Tail(y, x, a, ld, 0, n)
}

func axpy4Tail[T floating](y, x, a *T, ld, from, n int) {
	xs := (*[4]T)(ptr(x))
	for i := from; i < n; i++ {
		v := *offset(y, i)
		v += T(xs[0] * *offset(a, i))
		v += T(xs[1] * *offset(a, ld+i))
		v += T(xs[2] * *offset(a, 2*ld+i))
		v += T(xs[3] * *offset(a, 3*ld+i))
		*offset(y, i) = v
	}
}

// goVariant returns the variant for processors without assembly.
func goVariant[T floating]() *variant[T] {
	return &variant[T]{name: "go4x4", mr: 4, nr: 4, kc: 256, mul: mulGo4x4[T], dot: dotGo[T], axpy4: axpy4Go[T]}
}

// The variants that this machine can run, best first, and the ones in use. Tests
// replace them.
var (
	variants32, variants64, machineConverters = machine()

	use32 = variants32[0]
	use64 = variants64[0]
	use   = machineConverters.loaders()
)
