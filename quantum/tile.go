package quantum

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/cpu"
)

// The time-consuming loops over a tile. The Go function specifies each. On amd64 there is
// also one in assembly, for a multiple of eight or four elements.

// combine3 multiplies out by |z|^2, or writes |z|^2 if first is set, where z has the parts
// re = p1 + p2 and im = p3 - p1 + p2. All have r rows and cols columns; the row pitch is ld
// in out, and lp in p1, p2 and p3, which may be overwritten. These are the three real
// products of a complex product (Gauss's three instead of four): for rows X + iY and
// conjugated columns U + iV they are XU, YV and (X + Y)(U - V). Cancellation increases the
// rounding error by a factor of about three at most.
func combine3[T number](out []T, ld int, p1, p2, p3 []T, lp, r, cols int, first bool) {
	if r == 0 || cols == 0 {
		return
	}
	k := kernels[T]()
	if k != nil && cols%k.lanes == 0 {
		k.combine3(&out[0], ld, &p1[0], &p2[0], &p3[0], lp, r, cols, first)
		return
	}
	// One in-place pass over all rows, so that every element has the bits of the assembly.
	p1 = p1[:min(r*lp, len(p1))]
	n := 0
	if k != nil {
		if n = len(p1) / k.lanes * k.lanes; n > 0 {
			k.combine3(&p1[0], 0, &p1[0], &p2[0], &p3[0], 0, 1, n, true)
		}
	}
	for i := n; i < len(p1); i++ {
		re, im := p1[i]+p2[i], p2[i]-p1[i]+p3[i]
		p1[i] = T(re*re) + T(im*im)
	}
	for y := range r {
		row, v := out[y*ld:][:cols], p1[y*lp:][:cols]
		if first {
			copy(row, v)
			continue
		}
		for i := range row {
			row[i] *= v[i]
		}
	}
}

// square1 multiplies out by p^2, or writes p^2 if first is set, like combine3.
func square1[T number](out []T, ld int, p []T, lp, r, cols int, first bool) {
	for y := range r {
		row, v := out[y*ld:][:cols], p[y*lp:][:cols]
		if first {
			for i, a := range v {
				row[i] = a * a
			}
			continue
		}
		for i, a := range v {
			row[i] *= T(a * a)
		}
	}
}

// laneSums holds four sums of v - shift, then four of its square.
type laneSums [8]float64

// total adds the lanes.
func (s *laneSums) total() (sum, squares float64) {
	return s[0] + s[2] + (s[1] + s[3]), s[4] + s[6] + (s[5] + s[7])
}

// addMoments adds r rows of cols columns to sums.
func addMoments[T number](tile []T, ld, r, cols int, shift float64, sums *laneSums) {
	n := 0
	if k := kernels[T](); k != nil && r > 0 {
		if n = cols / k.lanes * k.lanes; n > 0 {
			k.moments(&tile[0], ld, r, n, shift, sums)
		}
	}
	if n == cols {
		return
	}
	for y := range r {
		for _, x := range tile[y*ld+n : y*ld+cols] {
			v := float64(x) - shift
			sums[0] += v
			sums[4] += v * v
		}
	}
}

// narrow converts src to the beginning of dst.
func narrow[T number](dst []T, src []float64) {
	dst = dst[:len(src)]
	for i, v := range src {
		dst[i] = T(v)
	}
}

// transpose writes src[y*ls+x] to dst[x*ld+y] for r rows and cols columns of
// src.
func transpose[T number](dst []T, ld int, src []T, ls, r, cols int) {
	if r == 0 || cols == 0 {
		return
	}
	dt := dtype.Of[T]()
	// Cast fails only for types without kernels.
	_ = cpu.Cast(dt, dt, []int{cols, r}, unsafe.Pointer(&src[0]), []int{1, ls}, unsafe.Pointer(&dst[0]), []int{ld, 1})
}

// mirrorUpper copies the part above the diagonal of n rows and columns to the part below
// it.
func mirrorUpper[T number](tile []T, ld, n int) {
	const edge = 64
	blocks := (n + edge - 1) / edge
	rows(blocks, n*n/2, func(lo, hi int) {
		for b := blocks - hi; b < blocks-lo; b++ { // the block with the longest rows first
			at, end := b*edge, min((b+1)*edge, n)
			transpose(tile[at*ld:], ld, tile[at:], ld, at, end-at)
			for i := at; i < end; i++ {
				for k := at; k < i; k++ {
					tile[i*ld+k] = tile[k*ld+i]
				}
			}
		}
	})
}

// tileKernels are the assembly loops for one type.
type tileKernels[T number] struct {
	lanes    int // elements at a time
	combine3 func(out *T, ld int, p1, p2, p3 *T, lp, rows, n int, first bool)
	moments  func(p *T, ld, rows, n int, shift float64, sums *laneSums)

	// For the closed form: see factors and mirrorBlock. The rows of factors are rounded up
	// to a multiple of four; rows and columns of mirror are multiples of lanes.
	factors func(out *T, ld int, packed, point, panel *T, rows, planar, full int, ahead *T, la int)
	mirror  func(dst *T, ld int, packed *T, rows, cols int, shift float64, sums *laneSums)
}

var (
	kernels32 *tileKernels[float32]
	kernels64 *tileKernels[float64]
)

// narrower32 and narrower64 are the kernels for a processor with fewer features, for tests. They may be nil.
var (
	narrower32 *tileKernels[float32]
	narrower64 *tileKernels[float64]
)

// kernels returns the assembly for T, or nil if there is none.
func kernels[T number]() *tileKernels[T] {
	return (*tileKernels[T])(choose[T](unsafe.Pointer(kernels32), unsafe.Pointer(kernels64)))
}
