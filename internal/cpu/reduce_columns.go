package cpu

import (
	"math/bits"
	"sync"
	"unsafe"
)

// columnWidth is the number of sums that are computed together if neighbours in memory
// belong to different sums.
const columnWidth = 512

// shortSum is the number of terms below which sums are computed side by side in any case.
const shortSum = 16

// inColumns reports whether neighbours in memory belong to neighbouring sums, or the sums
// are too short to compute one by one.
func (r *reduction[A]) inColumns() bool {
	k, s := r.kept.axes[len(r.kept.axes)-1], r.summed.axes[len(r.summed.axes)-1]
	return k.n > 1 && (r.summed.n == 1 || abs(k.step[0]) < abs(s.step[0]) || r.summed.n < shortSum && k.n >= shortSum)
}

func abs(v int) int { return max(v, -v) }

// columns computes columnWidth sums at a time, in the same tree as rows.
func (r *reduction[A]) columns() {
	inner := r.kept.axes[len(r.kept.axes)-1]
	strips := (inner.n-1)/columnWidth + 1
	chunks := (r.summed.n-1)/r.chunk() + 1
	groups := (chunks-1)/groupChunks + 1
	var partial []A // for each branch, one row of columnWidth sums
	if groups > 1 {
		partial = make([]A, r.kept.n/inner.n*strips*groups*columnWidth)
	}
	branch := columnWidth * min(r.summed.n, groupChunks*r.chunk())
	outer := r.kept.n / inner.n
	place := func(i int) (first, width int) {
		c := i % strips * columnWidth
		return i/strips*inner.n + c, min(columnWidth, inner.n-c)
	}
	Parallel(outer*strips*groups, max(minPart/branch, 1), func(lo, hi int) {
		s, ok := columnWorks.Get().(*columnWork[A])
		if !ok { // the pool is empty, or its memory has another type
			s = new(columnWork[A])
		}
		defer columnWorks.Put(s)
		s.lanes.kernels, s.chunks.kernels = &r.kernels, &r.kernels
		for i := lo; i < hi; i++ {
			first, width := place(i / groups)
			from := i % groups * groupChunks * r.chunk()
			p := unsafe.Add(r.kept.p[0], r.kept.offset(first))
			v := r.sumColumns(s, p, inner.step[0], width, from, min(from+groupChunks*r.chunk(), r.summed.n))
			if groups > 1 {
				copy(partial[i*columnWidth:], v)
			} else {
				r.put(first, v)
			}
		}
	})
	if groups == 1 {
		return
	}
	for i := range outer * strips {
		first, width := place(i)
		v := partial[i*groups*columnWidth : (i+1)*groups*columnWidth]
		fold(v, columnWidth)
		r.put(first, v[:width])
	}
}

// terms holds one term of each of columnWidth sums.
type terms[A sum] [columnWidth]A

// columnWork is the scratch memory of one goroutine in columns.
type columnWork[A sum] struct {
	rows          [chunkRows]terms[A]
	lanes, chunks pairwiseColumns[A]
}

// columnWorks is a pool of scratch memory, *columnWork of any type.
var columnWorks sync.Pool

// sumColumns adds the elements lo … hi-1 of each of width sums that lie step bytes apart,
// the first of them at p.
func (r *reduction[A]) sumColumns(w *columnWork[A], p unsafe.Pointer, step, width, lo, hi int) []A {
	w.chunks.n = 0
	for ; lo < hi; lo += r.chunk() {
		end := min(lo+r.chunk(), hi)
		w.lanes.n = 0
		last := min(lo+r.lanes, end)
		for j := lo; j < last; j++ {
			switch {
			case (j-lo)%chunkRows == 0 && j+chunkRows <= last && step == r.size && r.addLanes(&w.rows, p, j, end, width):
				w.lanes.push(&w.rows[0], width, logRows)
				j += chunkRows - 1
				continue
			case r.sameType && step == r.size && j+(chunkRows-1)*r.lanes < end:
				r.addRows(&w.rows[0], p, j, width)
			default:
				r.loadRows(&w.rows, p, step, j, end, width)
			}
			w.lanes.push(&w.rows[0], width, 0)
		}
		w.chunks.push(w.lanes.sum(width), width, 0)
	}
	return w.chunks.sum(width)[:width]
}

// addLanes adds chunkRows lanes, from lane j on, whose rows are contiguous, into the first of rows. It reports
// false, and does nothing, if there is no kernel for that or if the lanes do not have one or two rows each.
func (r *reduction[A]) addLanes(rows *[chunkRows]terms[A], p unsafe.Pointer, j, end, width int) bool {
	n := (end-1-j)/r.lanes + 1
	if r.kernels.rows == nil || !r.sameType || len(r.summed.axes) > 1 || width%r.kernels.width != 0 || j+chunkRows-1+(n-1)*r.lanes >= end {
		return false
	}
	step, to := r.summed.axes[0].step[0], unsafe.Pointer(rows)
	from, pitch := unsafe.Add(p, j*step), int(unsafe.Sizeof(rows[0]))
	switch {
	case n == 1:
		r.kernels.rows(to, from, step, width)
		return true
	case n == 2 && step == width*r.size: // the rows of all lanes are contiguous
		r.kernels.add(to, from, unsafe.Add(from, r.lanes*step), chunkRows*width)
		pitch = step
	case n == 2:
		for i := range rows {
			at := unsafe.Add(from, i*step)
			r.kernels.add(unsafe.Pointer(&rows[i]), at, unsafe.Add(at, r.lanes*step), width)
		}
	default:
		return false
	}
	r.kernels.rows(to, to, pitch, width) // it reads a column before it writes it
	return true
}

// addRows adds the chunkRows rows of lane j, which are contiguous and need no conversion.
func (r *reduction[A]) addRows(dst *terms[A], p unsafe.Pointer, j, width int) {
	if r.kernels.rows != nil && len(r.summed.axes) == 1 && width%r.kernels.width == 0 {
		step := r.summed.axes[0].step[0]
		r.kernels.rows(unsafe.Pointer(dst), unsafe.Add(p, j*step), r.lanes*step, width)
		return
	}
	var x [chunkRows][]A
	for k := range x {
		x[k] = unsafe.Slice((*A)(unsafe.Add(p, r.summed.offset(j+k*r.lanes))), width)
	}
	d := dst[:len(x[0])]
	x0, x1, x2, x3 := x[0][:len(d)], x[1][:len(d)], x[2][:len(d)], x[3][:len(d)]
	x4, x5, x6, x7 := x[4][:len(d)], x[5][:len(d)], x[6][:len(d)], x[7][:len(d)]
	for i := range d {
		d[i] = ((x0[i] + x1[i]) + (x2[i] + x3[i])) + ((x4[i] + x5[i]) + (x6[i] + x7[i]))
	}
}

// loadRows gathers the rows of lane j that begin before end, and adds them into the first.
// Of rows that are contiguous and need no conversion, the first additions read pairs in place.
func (r *reduction[A]) loadRows(rows *[chunkRows]terms[A], p unsafe.Pointer, step, j, end, width int) {
	n, gap := 0, 1
	if r.sameType && step == r.size && r.kernels.add != nil {
		for ; j+r.lanes < end; j += 2 * r.lanes {
			a, b := unsafe.Add(p, r.summed.offset(j)), unsafe.Add(p, r.summed.offset(j+r.lanes))
			r.kernels.add(unsafe.Pointer(&rows[n]), a, b, width)
			n += 2
		}
		gap = 2
	}
	for ; j < end; j += r.lanes {
		r.load(rows[n][:width], unsafe.Add(p, r.summed.offset(j)), step)
		n++
	}
	for ; gap < n; gap *= 2 {
		for i := 0; i+gap < n; i += 2 * gap {
			r.kernels.sum(&rows[i], &rows[i], &rows[i+gap], width)
		}
	}
}

// sum sets dst to a + b, for the first width sums.
func (k *sumKernels[A]) sum(dst, a, b *terms[A], width int) {
	if k.add != nil {
		k.add(unsafe.Pointer(dst), unsafe.Pointer(a), unsafe.Pointer(b), width)
		return
	}
	for i := range min(width, columnWidth) {
		dst[i] = a[i] + b[i]
	}
}

// pairwiseColumns is pairwiseSum for columnWidth sums at a time.
type pairwiseColumns[A sum] struct {
	kernels *sumKernels[A]
	n       int
	level   []terms[A]
}

// push adds the sum of 2^l neighbouring terms, which it may overwrite. The number of terms before it is a multiple
// of 2^l.
func (t *pairwiseColumns[A]) push(v *terms[A], width, l int) {
	n := t.n
	t.n += 1 << l
	for ; n>>l&1 != 0; l++ {
		t.kernels.sum(v, &t.level[l], v, width)
	}
	for len(t.level) <= l {
		t.level = append(t.level, terms[A]{})
	}
	copy(t.level[l][:width], v[:])
}

// sum returns the totals, as pairwiseSum.sum does.
func (t *pairwiseColumns[A]) sum(width int) *terms[A] {
	l := bits.TrailingZeros(uint(t.n))
	v := &t.level[l]
	for l++; t.n>>l != 0; l++ {
		if t.n>>l&1 != 0 {
			t.kernels.sum(v, &t.level[l], v, width)
		}
	}
	return v
}
