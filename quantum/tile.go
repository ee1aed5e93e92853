package quantum

import "unsafe"

// The loops over a tile that take time. Each has a Go form, which is the
// specification, and on amd64 one in assembly for a multiple of eight or four
// elements.

// combine3 multiplies out by |z|^2 for z with the parts re = p1 + p2 and im =
// p3 - p1 + p2, or writes |z|^2 if first. The p are the three real products of a
// complex one: with rows X + iY and columns U + iV, conjugated, XU, YV and (X + Y)(U - V).
// They are Gauss's three instead of four; cancellation costs at most a factor of
// about three of the rounding error.
func combine3[T number](out, p1, p2, p3 []T, first bool) {
	n := 0
	if k := kernels[T](); k != nil {
		n = len(out) / k.lanes * k.lanes
		if n > 0 {
			k.combine3(&out[0], &p1[0], &p2[0], &p3[0], n, first)
		}
	}
	for i := n; i < len(out); i++ {
		re, im := p1[i]+p2[i], p2[i]-p1[i]+p3[i]
		v := re*re + im*im
		if first {
			out[i] = v
		} else {
			out[i] *= v
		}
	}
}

// square multiplies out by p^2, or writes it if first.
func square1[T number](out, p []T, first bool) {
	p = p[:len(out)]
	if first {
		for i, v := range p {
			out[i] = v * v
		}
		return
	}
	for i, v := range p {
		out[i] *= v * v
	}
}

// addMoments adds the sums of v - shift and of its square over row to sums.
func addMoments[T number](row []T, shift float64, sums *[2]float64) {
	n := 0
	if k := kernels[T](); k != nil {
		if n = len(row) / k.lanes * k.lanes; n > 0 {
			var lanes [8]float64
			k.moments(&row[0], n, shift, &lanes)
			sums[0] += lanes[0] + lanes[2] + (lanes[1] + lanes[3])
			sums[1] += lanes[4] + lanes[6] + (lanes[5] + lanes[7])
		}
	}
	for _, x := range row[n:] {
		v := float64(x) - shift
		sums[0] += v
		sums[1] += v * v
	}
}

// transpose writes src[y*ls+x] to dst[x*ld+y] for r rows and cols columns of
// src.
func transpose[T number](dst []T, ld int, src []T, ls, r, cols int) {
	b := 1
	k := kernels[T]()
	if k != nil {
		b = k.block
	}
	const edge = 64 // what is read and written together stays in the cache
	for y0 := 0; y0 < r; y0 += edge {
		for x0 := 0; x0 < cols; x0 += edge {
			y1, x1 := min(y0+edge, r), min(x0+edge, cols)
			ym, xm := y0, x0
			if k != nil {
				ym, xm = y0+(y1-y0)/b*b, x0+(x1-x0)/b*b
				for x := x0; x < xm; x += b {
					for y := y0; y < ym; y += b {
						k.transpose(&dst[x*ld+y], ld, &src[y*ls+x], ls)
					}
				}
			}
			for x := x0; x < x1; x++ {
				from := y0
				if x < xm {
					from = ym
				}
				for y := from; y < y1; y++ {
					dst[x*ld+y] = src[y*ls+x]
				}
			}
		}
	}
}

// tileKernels are assembly for one type.
type tileKernels[T number] struct {
	lanes     int // elements at a time
	block     int // rows and columns of a transposed block
	combine3  func(out, p1, p2, p3 *T, n int, first bool)
	moments   func(p *T, n int, shift float64, lanes *[8]float64)
	transpose func(dst *T, ld int, src *T, ls int)
	factors   func(out, point, panel *T, planar, full int)
}

var (
	kernels32 *tileKernels[float32]
	kernels64 *tileKernels[float64]
)

// kernels returns the assembly for T, nil where there is none.
func kernels[T number]() *tileKernels[T] {
	if unsafe.Sizeof(*new(T)) == 4 {
		return (*tileKernels[T])(unsafe.Pointer(kernels32))
	}
	return (*tileKernels[T])(unsafe.Pointer(kernels64))
}
