package cpu

import (
	"math/bits"
	"sync"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// The shape of the tree; see Reduce.
const (
	chunkRows   = 8
	logRows     = 3
	warpVectors = 32
	vectorBytes = 16
)

// reduction is one call of Reduce. load converts elements to A; store rounds sums to the
// destination.
type reduction[A sum] struct {
	kept, summed nest           // with one operand, x, whose address is kept.p[0]
	y            unsafe.Pointer // see reduceArgs
	size         int            // bytes of an element of x
	lanes        int            // L of the tree, see Reduce
	sameType     bool           // elements of x are of type A
	kernels      sumKernels[A]
	load         func(dst []A, src unsafe.Pointer, step int)
	store        func(dst unsafe.Pointer, v []A)
	dst          unsafe.Pointer
	dsize        int
	room         [2][3]axis // memory for the axes of the nests
}

// reductions is a pool of *reduction of any type. Parallel passes a reduction to other goroutines, so that each would be
// allocated.
var reductions sync.Pool

func reduce[A sum](c reduceArgs, load func(dst []A, src unsafe.Pointer, step int), store func(dst unsafe.Pointer, v []A)) {
	var room [2][2][8]int
	kept, summed := c.split(&room)
	size := c.xt.Size()
	r, ok := reductions.Get().(*reduction[A])
	if !ok { // the pool is empty, or its reduction has another type
		r = new(reduction[A])
	}
	defer func() {
		*r = reduction[A]{}
		reductions.Put(r)
	}()
	*r = reduction[A]{
		size: size, lanes: warpVectors * vectorBytes / size, sameType: c.xt == accumulatorType(c.xt),
		load: load, store: store, dst: c.dst, dsize: c.xt.SumType().Size(),
		kernels: newSumKernels[A](), y: c.y,
	}
	r.kept, r.summed = newNestInOrder(r.room[0][:0], kept, c.x, size), newNestInOrder(r.room[1][:0], summed, nil, size)
	switch {
	case r.kept.n == 0:
	case r.summed.n == 0:
		var zero A
		Parallel(r.kept.n, minPart, func(lo, hi int) {
			for i := lo; i < hi; i++ {
				r.put(i, []A{zero})
			}
		})
	case r.y == nil && r.inColumns():
		r.columns()
	default:
		r.rows()
	}
}

// newNestInOrder is newNest in row-major order, because neither the order of sums in dst
// nor that of elements in a sum may change. Its axes are appended to room.
func newNestInOrder(room []axis, l [2][]int, p unsafe.Pointer, size int) nest {
	t := nest{n: 1, ops: 1, axes: room}
	t.p[0], t.size[0] = p, size
	for d, n := range l[0] {
		t.n *= n
		if n == 1 {
			continue
		}
		a := axis{n: n}
		a.step[0] = l[1][d] * size
		if last := len(t.axes) - 1; last >= 0 && a.continues(t.axes[last]) {
			a.n *= t.axes[last].n
			t.axes[last] = a
			continue
		}
		t.axes = append(t.axes, a)
	}
	if len(t.axes) == 0 {
		a := axis{n: 1}
		a.step[0] = size
		t.axes = append(t.axes, a)
	}
	return t
}

// offset returns the offset in bytes of element k of the nest.
func (t *nest) offset(k int) int {
	off := 0
	for d := len(t.axes) - 1; d >= 0; d-- {
		a := &t.axes[d]
		off += k % a.n * a.step[0]
		k /= a.n
	}
	return off
}

func (r *reduction[A]) put(i int, v []A) { r.store(unsafe.Add(r.dst, i*r.dsize), v) }

// chunk returns the number of elements of a full chunk.
func (r *reduction[A]) chunk() int { return chunkRows * r.lanes }

// groupChunks is the number of chunks in a unit of parallel work of a long sum. It is a
// power of two, so that each unit is a branch of the tree.
const groupChunks = 32

// rows computes several sums at a time, each from its elements in order. It cuts long sums
// into branches.
func (r *reduction[A]) rows() {
	chunks := (r.summed.n-1)/r.chunk() + 1
	groups := (chunks-1)/groupChunks + 1
	var partial []A
	if groups > 1 {
		partial = make([]A, r.kept.n*groups)
	}
	branch := min(r.summed.n, groupChunks*r.chunk())
	Parallel(r.kept.n*groups, max(minPart/branch, 1), func(lo, hi int) {
		w, ok := rowWorks.Get().(*rowWork[A])
		if !ok || len(w.chunk) < r.chunk() { // the pool is empty, or its memory has another type
			w = &rowWork[A]{chunk: make([]A, r.chunk())}
		}
		defer rowWorks.Put(w)
		for i := lo; i < hi; i++ {
			out, g := i/groups, i%groups
			first := g * groupChunks * r.chunk()
			w.sum[0] = r.branch(unsafe.Add(r.kept.p[0], r.kept.offset(out)), first, min(first+groupChunks*r.chunk(), r.summed.n), w.chunk)
			if groups > 1 {
				partial[i] = w.sum[0]
			} else {
				r.put(out, w.sum[:])
			}
		}
	})
	if groups == 1 {
		return
	}
	for i := range r.kept.n {
		fold(partial[i*groups:(i+1)*groups], 1)
		r.put(i, partial[i*groups:i*groups+1])
	}
}

// rowWork is the scratch memory of one goroutine in rows.
type rowWork[A sum] struct {
	chunk []A
	sum   [1]A
}

// rowWorks is a pool of scratch memory, *rowWork of any type.
var rowWorks sync.Pool

// branch adds the elements lo … hi-1 of the sum at p. All chunks are full except the last
// one of the sum.
func (r *reduction[A]) branch(p unsafe.Pointer, lo, hi int, buf []A) A {
	var stack pairwiseSum[A]
	for ; lo < hi; lo += r.chunk() {
		n := min(r.chunk(), hi-lo)
		x := r.dense(p, lo, n)
		if r.y != nil {
			y := unsafe.Add(r.y, uintptr(unsafe.Pointer(&x[0]))-uintptr(r.kept.p[0]))
			if n == r.chunk() && r.kernels.products != nil {
				stack.push(r.kernels.products(unsafe.Pointer(&x[0]), y))
				continue
			}
			multiplied(buf, x, unsafe.Slice((*A)(y), n))
			x = buf[:n]
		} else if n < r.chunk() || x == nil {
			x = buf[:n]
			r.gather(x, p, lo)
		}
		switch {
		case n < r.chunk():
			foldChunk(x, r.lanes)
		case r.kernels.chunk != nil && r.sameType:
			stack.push(r.kernels.chunk(unsafe.Pointer(unsafe.SliceData(x))))
			continue
		default:
			foldRows(buf[:r.lanes], x)
		}
		fold(buf[:min(n, r.lanes)], 1)
		stack.push(buf[0])
	}
	return stack.sum()
}

// multiplied sets dst to the rounded products of x and y.
func multiplied[A sum](dst, x, y []A) {
	for i, v := range x {
		dst[i] = A(v * y[i])
	}
}

// gather loads elements from number k on of the sum at p.
func (r *reduction[A]) gather(dst []A, p unsafe.Pointer, k int) {
	inner := r.summed.axes[len(r.summed.axes)-1]
	for len(dst) > 0 {
		n := min(len(dst), inner.n-k%inner.n)
		r.load(dst[:n], unsafe.Add(p, r.summed.offset(k)), inner.step[0])
		dst, k = dst[n:], k+n
	}
}

// dense returns n elements from number k on of the sum at p if they are contiguous and need
// no conversion; otherwise nil.
func (r *reduction[A]) dense(p unsafe.Pointer, k, n int) []A {
	if !r.sameType || len(r.summed.axes) > 1 || r.summed.axes[0].step[0] != r.size {
		return nil
	}
	return unsafe.Slice((*A)(unsafe.Add(p, k*r.size)), n)
}

// foldChunk adds the rows of a chunk into its first row.
func foldChunk[A sum](x []A, lanes int) {
	if len(x) == chunkRows*lanes {
		foldRows(x[:lanes], x)
		return
	}
	// Rows in pairs. The last row may be short: where its neighbour has no partner, the
	// neighbour's element stays unchanged.
	rows := (len(x)-1)/lanes + 1
	for gap := 1; gap < rows; gap *= 2 {
		for i := 0; i+gap < rows; i += 2 * gap {
			a, b := x[i*lanes:], x[(i+gap)*lanes:min((i+gap+1)*lanes, len(x))]
			for j, v := range b {
				a[j] += v
			}
		}
	}
}

// foldRows adds the rows of a full chunk; dst may be its first row.
func foldRows[A sum](dst, x []A) {
	n := len(dst)
	x0, x1, x2, x3 := x[:n], x[n:][:n], x[2*n:][:n], x[3*n:][:n]
	x4, x5, x6, x7 := x[4*n:][:n], x[5*n:][:n], x[6*n:][:n], x[7*n:][:n]
	for j := range dst {
		dst[j] = ((x0[j] + x1[j]) + (x2[j] + x3[j])) + ((x4[j] + x5[j]) + (x6[j] + x7[j]))
	}
}

// fold adds rows of width neighbours in pairs until the first row is the sum.
func fold[A sum](x []A, width int) {
	for n := len(x) / width; n > 1; n = (n + 1) / 2 {
		if width == 1 {
			for i := range n / 2 {
				x[i] = x[2*i] + x[2*i+1]
			}
			if n%2 != 0 {
				x[n/2] = x[n-1]
			}
			continue
		}
		for i := range n / 2 {
			d, a, b := x[i*width:][:width], x[2*i*width:][:width], x[(2*i+1)*width:][:width]
			for j := range d {
				d[j] = a[j] + b[j]
			}
		}
		if n%2 != 0 {
			copy(x[n/2*width:][:width], x[(n-1)*width:])
		}
	}
}

// accumulatorType returns the type in which sums of elements of type t accumulate.
func accumulatorType(t dtype.DType) dtype.DType { return computeType(t.SumType()) }

// pairwiseSum adds terms in pairs as they arrive: level l holds a sum of 2^l terms until
// 2^l more have arrived.
type pairwiseSum[A sum] struct {
	n     int
	level [bits.UintSize]A
}

func (p *pairwiseSum[A]) push(v A) {
	l := 0
	for ; p.n>>l&1 != 0; l++ {
		v = p.level[l] + v
	}
	p.level[l] = v
	p.n++
}

// sum returns the total: it adds the pending levels from the lowest up. There must be a
// term.
func (p *pairwiseSum[A]) sum() A {
	l := bits.TrailingZeros(uint(p.n))
	v := p.level[l]
	for l++; p.n>>l != 0; l++ {
		if p.n>>l&1 != 0 {
			v = p.level[l] + v
		}
	}
	return v
}
