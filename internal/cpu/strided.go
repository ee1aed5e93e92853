package cpu

import (
	"slices"
	"sync"
	"unsafe"

	"github.com/gpk-go/gpk/expr"
)

// operand is one array of an element-wise operation: the address of element (0, 0, …), the
// strides in elements and the bytes of an element.
type operand struct {
	p       unsafe.Pointer
	strides []int
	size    int
}

// maxOperands is the largest number of operands of an operation; the first is the
// destination.
const maxOperands = 4

// axis is one dimension of a nest: its length and, for each operand, the distance between
// neighbours in bytes.
type axis struct {
	n    int
	step [maxOperands]int
}

// nest is the loop nest over the elements of operands of one shape, outermost axis first.
// The order of the elements does not matter to element-wise operations, so the nest visits
// them in the memory order of the destination.
type nest struct {
	axes        []axis // never empty
	n           int    // elements
	ops         int
	p           [maxOperands]unsafe.Pointer
	size        [maxOperands]int
	nonTemporal bool // f uses non-temporal stores, see streams
	part        int  // elements below which a part is not worth a goroutine; 0: minPart
}

// span is a stretch of elements along a nest's innermost axis.
type span struct {
	n    int
	p    [maxOperands]unsafe.Pointer
	step [maxOperands]int
}

// minPart is the number of elements below which a part is not worth its own goroutine.
const minPart = 1 << 15

// linesPart is minPart for lines: a norm or a softmax takes several times as long as an
// addition.
const linesPart = minPart / 4

// partFor returns minPart for an operation. A function that takes ten times as long as an
// addition needs fewer elements for another goroutine.
func partFor(op expr.Op) int {
	if op.IsSmooth() {
		return minPart / 8
	}
	return minPart
}

// work is the scratch memory of one goroutine in a nest.
type work struct {
	block [maxOperands]block
	tile  [maxOperands][tileWidth * lineBytes / 16]complex128
}

var works = sync.Pool{New: func() any { return new(work) }}

// newNest builds the nest of operands of one shape. It drops axes of length 1, reverses
// axes whose stride in the destination is negative, sorts the axes by the destination's
// stride and merges neighbours that are evenly spaced in all operands. A nest without
// elements has n = 0.
func newNest(shape []int, ops ...operand) nest {
	t := nest{n: 1, ops: len(ops), axes: make([]axis, 0, len(shape)+1)}
	for j, o := range ops {
		t.p[j], t.size[j] = o.p, o.size
	}
	for d, n := range shape {
		t.n *= n
		if n <= 1 {
			continue
		}
		a := axis{n: n}
		for j, o := range ops {
			a.step[j] = o.strides[d] * o.size
		}
		t.axes = append(t.axes, a)
	}
	if t.n == 0 {
		return t
	}
	for i := range t.axes {
		a := &t.axes[i]
		if a.step[0] >= 0 {
			continue
		}
		for j := range ops {
			t.p[j] = unsafe.Add(t.p[j], (a.n-1)*a.step[j])
			a.step[j] = -a.step[j]
		}
	}
	slices.SortStableFunc(t.axes, func(a, b axis) int { return b.step[0] - a.step[0] })
	merged := t.axes[:0]
	for _, a := range t.axes {
		if last := len(merged) - 1; last >= 0 && a.continues(merged[last]) {
			a.n *= merged[last].n
			merged[last] = a
			continue
		}
		merged = append(merged, a)
	}
	t.axes = merged
	if len(t.axes) == 0 {
		a := axis{n: 1}
		copy(a.step[:], t.size[:])
		t.axes = append(t.axes, a)
	}
	return t
}

// continues reports whether outer and a can be merged into one axis for every operand.
func (a axis) continues(outer axis) bool {
	for j := range a.step {
		if outer.step[j] != a.step[j]*a.n {
			return false
		}
	}
	return true
}

// run calls f on spans that together contain every element once. It uses several
// goroutines if there are many elements.
func (t *nest) run(f func(s span, w *work)) {
	if t.n == 0 {
		return
	}
	if cross, ok := t.transposedAxis(); ok {
		t.runTiled(cross, f)
		return
	}
	if long, ok := t.longAxis(); ok {
		t.runAlong(long, f)
		return
	}
	part := t.part
	if part == 0 {
		part = minPart
	}
	Parallel(t.n, part, func(lo, hi int) {
		t.walk(lo, hi, f)
		t.fence()
	})
}

// fence orders a goroutine's non-temporal stores before its later stores.
func (t *nest) fence() {
	if t.nonTemporal {
		fenceStores()
	}
}

// walk visits the elements lo … hi-1 in the nest's order.
func (t *nest) walk(lo, hi int, f func(s span, w *work)) {
	w := works.Get().(*work)
	defer works.Put(w)
	last := len(t.axes) - 1
	inner := t.axes[last]
	at := make([]int, last)
	i, row := lo%inner.n, lo/inner.n
	s := span{p: t.p, step: inner.step}
	for d := last - 1; d >= 0; d-- {
		at[d] = row % t.axes[d].n
		row /= t.axes[d].n
		for j := range t.ops {
			s.p[j] = unsafe.Add(s.p[j], at[d]*t.axes[d].step[j])
		}
	}
	base := s.p
	for {
		s.n = min(inner.n-i, hi-lo)
		for j := range t.ops {
			s.p[j] = unsafe.Add(base[j], i*inner.step[j])
		}
		f(s, w)
		lo += s.n
		if lo >= hi {
			return
		}
		i = 0
		for d := last - 1; ; d-- {
			a := &t.axes[d]
			if at[d]++; at[d] < a.n {
				for j := range t.ops {
					base[j] = unsafe.Add(base[j], a.step[j])
				}
				break
			}
			at[d] = 0
			for j := range t.ops {
				base[j] = unsafe.Add(base[j], -(a.n-1)*a.step[j])
			}
		}
	}
}

// transposedAxis looks for a source that is transposed relative to the destination: its
// elements are contiguous along another axis than the innermost. It returns that axis.
func (t *nest) transposedAxis() (int, bool) {
	last := len(t.axes) - 1
	inner := t.axes[last]
	for j := 1; j < t.ops; j++ {
		if inner.step[j] == 0 || inner.step[j] == t.size[j] || inner.n < 4 {
			continue
		}
		for d := range last {
			if t.axes[d].step[j] == t.size[j] && t.axes[d].n >= 4 {
				return d, true
			}
		}
	}
	return 0, false
}

// Transposed sources are read in tiles: one cache line from each of tileWidth columns. A
// tile stays in the first-level cache.
const (
	lineBytes = 64
	tileWidth = 256
)

// runTiled visits the nest in tiles of the innermost axis and axis cross. It first copies
// sources that are transposed between the two to a scratch tile, so that every cache line
// is read once even if the pitches cause cache conflicts.
func (t *nest) runTiled(cross int, f func(s span, w *work)) {
	last := len(t.axes) - 1
	inner, outer := t.axes[last], t.axes[cross]
	height := lineBytes / slices.Max(t.size[1:t.ops])
	rest := nest{ops: t.ops, n: 1, p: t.p}
	for d, a := range t.axes {
		if d != last && d != cross {
			rest.axes = append(rest.axes, a)
			rest.n *= a.n
		}
	}
	across, down := (inner.n-1)/tileWidth+1, (outer.n-1)/height+1
	Parallel(rest.n*across*down, minPart/(tileWidth*height), func(lo, hi int) {
		w := works.Get().(*work)
		defer works.Put(w)
		for tile := lo; tile < hi; tile++ {
			r, c, k := tile%down*height, tile/down%across*tileWidth, tile/down/across
			p := rest.at(k)
			cols, rows := min(tileWidth, inner.n-c), min(height, outer.n-r)
			s := span{n: cols, step: inner.step}
			row := outer.step
			for j := range t.ops {
				p[j] = unsafe.Add(p[j], c*inner.step[j]+r*outer.step[j])
				if j > 0 && outer.step[j] == t.size[j] && inner.step[j] != t.size[j] {
					transposeTile(unsafe.Pointer(&w.tile[j]), p[j], inner.step[j], t.size[j], rows, cols)
					p[j], s.step[j], row[j] = unsafe.Pointer(&w.tile[j]), t.size[j], tileWidth*t.size[j]
				}
			}
			for i := range rows {
				for j := range t.ops {
					s.p[j] = unsafe.Add(p[j], i*row[j])
				}
				f(s, w)
			}
		}
		t.fence()
	})
}

// at returns the addresses of element k in the nest's order.
func (t *nest) at(k int) [maxOperands]unsafe.Pointer {
	p := t.p
	for d := len(t.axes) - 1; d >= 0; d-- {
		a := &t.axes[d]
		i := k % a.n
		k /= a.n
		for j := range t.ops {
			p[j] = unsafe.Add(p[j], i*a.step[j])
		}
	}
	return p
}

// transposeTile copies cols columns, pitch bytes apart, of rows neighbouring elements
// each to rows of tileWidth elements.
func transposeTile(dst, src unsafe.Pointer, pitch, size, rows, cols int) {
	if rows*size == lineBytes {
		n := transposeLines(dst, src, pitch, size, cols)
		if n == cols {
			return
		}
		dst, src, cols = unsafe.Add(dst, n*size), unsafe.Add(src, n*pitch), cols-n
	}
	switch size {
	case 1:
		transposeTileOf[uint8](dst, src, pitch, rows, cols)
	case 2:
		transposeTileOf[uint16](dst, src, pitch, rows, cols)
	case 4:
		transposeTileOf[uint32](dst, src, pitch, rows, cols)
	case 8:
		transposeTileOf[uint64](dst, src, pitch, rows, cols)
	default:
		transposeTileOf[complex128](dst, src, pitch, rows, cols)
	}
}

func transposeTileOf[T any](dst, src unsafe.Pointer, pitch, rows, cols int) {
	d := unsafe.Slice((*T)(dst), (rows-1)*tileWidth+cols)
	for c := range cols {
		column := unsafe.Slice((*T)(unsafe.Add(src, c*pitch)), rows)
		for r, at := 0, c; r < len(column) && at < len(d); r, at = r+1, at+tileWidth {
			d[at] = column[r]
		}
	}
}

// copySpan copies n elements of the given size from steps of sstep bytes to
// steps of dstep bytes. A source step of 0 repeats one element.
func copySpan(dst unsafe.Pointer, dstep int, src unsafe.Pointer, sstep, size, n int) {
	if dstep == size && sstep == size {
		copyBytes(dst, src, n*size)
		return
	}
	switch size {
	case 1:
		copySteps[uint8](dst, dstep, src, sstep, n)
	case 2:
		copySteps[uint16](dst, dstep, src, sstep, n)
	case 4:
		copySteps[uint32](dst, dstep, src, sstep, n)
	case 8:
		copySteps[uint64](dst, dstep, src, sstep, n)
	default:
		copySteps[complex128](dst, dstep, src, sstep, n)
	}
}

func copySteps[T any](dst unsafe.Pointer, dstep int, src unsafe.Pointer, sstep, n int) {
	var zero T
	size := int(unsafe.Sizeof(zero))
	from, to := 0, 0
	switch {
	case sstep == 0 && dstep == size:
		fill(unsafe.Slice((*T)(dst), n), *(*T)(src))
	case dstep == size:
		d := unsafe.Slice((*T)(dst), n)
		for len(d) >= 4 {
			p := unsafe.Add(src, from)
			d[0] = *(*T)(p)
			d[1] = *(*T)(unsafe.Add(p, sstep))
			d[2] = *(*T)(unsafe.Add(p, 2*sstep))
			d[3] = *(*T)(unsafe.Add(p, 3*sstep))
			d, from = d[4:], from+4*sstep
		}
		for i := range d {
			d[i] = *(*T)(unsafe.Add(src, from))
			from += sstep
		}
	case sstep == size:
		x := unsafe.Slice((*T)(src), n)
		for len(x) >= 4 {
			p := unsafe.Add(dst, to)
			*(*T)(p) = x[0]
			*(*T)(unsafe.Add(p, dstep)) = x[1]
			*(*T)(unsafe.Add(p, 2*dstep)) = x[2]
			*(*T)(unsafe.Add(p, 3*dstep)) = x[3]
			x, to = x[4:], to+4*dstep
		}
		for _, v := range x {
			*(*T)(unsafe.Add(dst, to)) = v
			to += dstep
		}
	default:
		for range n {
			*(*T)(unsafe.Add(dst, to)) = *(*T)(unsafe.Add(src, from))
			from, to = from+sstep, to+dstep
		}
	}
}

// fill sets all elements of d to v. It copies from the beginning of d, which stays in the L1 cache.
func fill[T any](d []T, v T) {
	m := min(len(d), 16)
	for i := range d[:m] {
		d[i] = v
	}
	for m < len(d) {
		m += copy(d[m:], d[:min(m, blockLen)])
	}
}
