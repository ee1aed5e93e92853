package quantum

import (
	"math"

	"github.com/gpk-go/gpk/internal/cpu"
)

// postprocessing holds the results of processing a tile's blocks while they are in the
// first-level cache: the statistics, and the mirror of blocks above the diagonal.
type postprocessing[T number] struct {
	mirror []T // transpose of the tile, or nil
	ld     int
	shift  float64
	sums   []laneSums // sums of each row of panels
}

// panel returns the position of sample i of a set.
func (b *bloch[T]) panel(set, i int) (panel, lane int) {
	i += b.lead[set]
	return i / b.lanes, i % b.lanes
}

// strips returns the number of rows of panels that contain the r samples of x from i0 on.
func (b *bloch[T]) strips(i0, r int) int {
	first, _ := b.panel(0, i0)
	last, _ := b.panel(0, i0+r-1)
	return last + 1 - first
}

// typical returns approximately the mean of the entries in the tile's first block, without
// those on and below the diagonal. It has 16 significant bits, so that differences to it,
// which are squared in float32, are exact or have rounding errors of either sign.
func (b *bloch[T]) typical(t bounds) float64 {
	t.r, t.c = min(t.r, b.lanes), min(t.c, b.lanes)
	out := make([]T, t.r*t.c)
	b.tile(out, t.c, t, nil)
	sum, n := 0.0, 0
	for y := range t.r {
		x := 0
		if t.triangle {
			x = y + 1
		}
		for _, v := range out[y*t.c+x : (y+1)*t.c] {
			sum += float64(v)
			n++
		}
	}
	return float64(math.Float32frombits(math.Float32bits(float32(sum/float64(n))) &^ 0xff))
}

// addDiagonal adds half the moments of a block on the diagonal. It replaces the block's
// diagonal by the shift, so that the diagonal adds nothing. Such a block is symmetric bit
// for bit, because the differences are squared.
func (s *postprocessing[T]) addDiagonal(block []T, w, ny, nx int, sums *laneSums) {
	for i := range ny {
		block[i*w+i] = T(s.shift)
	}
	var twice laneSums
	addMoments(block, w, ny, nx, s.shift, &twice)
	for i, v := range twice {
		sums[i] += v / 2
	}
}

// tile writes the product over all wires for r rows from i0 on and cols columns from j0 on.
// On the diagonal it writes at least the entries on and above it. If s is not nil, it
// postprocesses them, and writes all of a tile on the diagonal. If there are no wires, it
// returns false and writes nothing.
func (b *bloch[T]) tile(tile []T, ld int, t bounds, s *postprocessing[T]) bool {
	if b.width == 0 {
		return false
	}
	w, one := b.lanes, b.lanes*b.width
	first, _ := b.panel(0, t.i)
	left, _ := b.panel(b.y, t.j)
	right, _ := b.panel(b.y, t.j+t.c-1)
	strips := b.strips(t.i, t.r)
	rows(strips, t.r*t.c*b.width, func(lo, hi int) {
		scratch := cpu.NewScratch[T](w * w)
		defer scratch.Free()
		packed := scratch.Data()
		for c := left; c <= right; c++ {
			x0, x1 := max(c*w-b.lead[b.y], t.j), min((c+1)*w-b.lead[b.y], t.j+t.c)
			_, lane := b.panel(b.y, x0)
			block, panel, nx := packed[lane:], b.sets[b.y][c*one:][:one], x1-x0
			for k := lo; k < hi; k++ {
				p := first + k
				if t.triangle && p > c {
					continue
				}
				y0, y1 := max(p*w-b.lead[0], t.i), min((p+1)*w-b.lead[0], t.i+t.r)
				_, lane := b.panel(0, y0)
				point, ny := b.sets[0][p*one+lane:], y1-y0
				out := tile[(y0-t.i)*ld+x0-t.j:]
				whole, onDiagonal := nx == w && ny == w, t.triangle && p == c
				var mirror []T
				if s != nil && s.mirror != nil && !onDiagonal {
					mirror = s.mirror[(x0-t.j)*s.ld+y0-t.i:]
				}
				if whole {
					ahead, la := packed, 0
					if mirror != nil {
						ahead, la = mirror, s.ld
					}
					factors(out, ld, packed, point, panel, w, b.planar, b.full, ahead, la)
				} else {
					factors(packed, w, packed, point, panel, ny, b.planar, b.full, packed, 0)
					for y := range ny {
						copy(out[y*ld:][:nx], block[y*w:])
					}
				}
				switch {
				case s == nil:
				case mirror != nil:
					mirrorBlock(mirror, s.ld, block, ny, nx, s.shift, &s.sums[p-first])
				case onDiagonal:
					s.addDiagonal(block, w, ny, nx, &s.sums[p-first])
				default:
					addMoments(block, w, ny, nx, s.shift, &s.sums[p-first])
				}
			}
		}
	})
	return true
}

// mirrorBlock writes the transpose of a block of r rows and cols columns, with a row pitch
// of a panel's lanes, to dst, and adds its moments to sums.
func mirrorBlock[T number](dst []T, ld int, block []T, r, cols int, shift float64, sums *laneSums) {
	if k := kernels[T](); k != nil && r%k.lanes == 0 && cols%k.lanes == 0 {
		k.mirror(&dst[0], ld, &block[0], r, cols, shift, sums)
		return
	}
	w := panelLanes[T]()
	addMoments(block, w, r, cols, shift, sums)
	for x := range cols {
		for y := range dst[x*ld:][:r] {
			dst[x*ld+y] = block[y*w+x]
		}
	}
}

// factors writes the products of 1 - |point - column|^2 over all wires for `rows` points,
// adjacent from point on in their panel, and a panel of columns, to out and to packed. In
// packed, and for the coordinates, the row pitch is a panel's lanes. ahead points to the
// rows that will be written next, with pitch la, for prefetching.
func factors[T number](out []T, ld int, packed, point, panel []T, rows, planar, full int, ahead []T, la int) {
	if k := kernels[T](); k != nil {
		k.factors(&out[0], ld, &packed[0], &point[0], &panel[0], rows, planar, full, &ahead[0], la)
		return
	}
	w := panelLanes[T]()
	for y := range rows {
		row := packed[y*w:][:w]
		factorsGo(row, point[y:], panel, planar, full)
		copy(out[y*ld:][:w], row)
	}
}

// factorsGo is the specification of tileKernels.factors for one point; the assembly fuses
// multiplications with additions.
func factorsGo[T number](out, point, panel []T, planar, full int) {
	w := len(out)
	for i := range out {
		out[i] = 1
	}
	at := 0
	for range planar {
		a, b, x, y := point[at], point[at+w], panel[at:][:w], panel[at+w:][:w]
		for i := range out {
			d, e := x[i]-a, y[i]-b
			s := d*d + e*e
			out[i] -= out[i] * s
		}
		at += 2 * w
	}
	for range full {
		a, b, c, x, y, z := point[at], point[at+w], point[at+2*w], panel[at:][:w], panel[at+w:][:w], panel[at+2*w:][:w]
		for i := range out {
			d, e, f := x[i]-a, y[i]-b, z[i]-c
			s := d*d + e*e + f*f
			out[i] -= out[i] * s
		}
		at += 3 * w
	}
}
