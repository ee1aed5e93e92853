package cpu

import (
	"math/bits"
	"runtime"
	"unsafe"
)

// folding is a reduction other than Sum of floating-point and complex numbers. It reads the elements as T, in order of the
// reduced axes, and folds them into an A: first the elements of a block, then the blocks of a group of foldGroup elements,
// then the groups, sequentially or in a tree. The order of the operations depends on the number of elements alone, except in
// a running fold, whose result does not depend on it.
type folding[T, A any] struct {
	kept, folded nest // with one operand, x, whose address is kept.p[0]
	size         int  // bytes of an element of x
	load         func(dst unsafe.Pointer, src unsafe.Pointer, step, n int)
	sameType     bool // elements of x are of type T

	// start returns the value of an empty fold. row folds consecutive elements of one fold,
	// from number k on, into a. column folds element k of each of several folds into the
	// values of these folds. merge folds b, the value of later elements, into a.
	start  A
	row    func(a A, x []T, k int) A
	column func(a []A, x []T, k int)
	merge  func(a, b A) A
	// whole, if not nil, folds foldBlock elements at once, with the bits of row on each block, merged in a tree. The sums in
	// a must be 0.
	whole func(a A, x []T) A
	// four, if not nil, folds two to four adjacent blocks of foldBlock elements at once, each from start on, with the bits of row. Its other
	// values have no meaning. f.block is foldBlock.
	four func(x []T) [4]A
	// begin, if not nil, replaces start for values that depend on the fold.
	begin func(i int) A
	store func(i int, a A)
	// running makes rows fold each block of a group into the value of the blocks before it, without merge. The result must not
	// depend on where blocks end.
	running bool
	// done, if not nil, reports that no further element changes a value. rows then reads no more of the group. Only running
	// folds call it.
	done func(a A) bool

	block int  // elements of a block: foldBlock, or a smaller power of two
	tree  bool // blocks are merged in pairs, the pairs in pairs, and so on, and so are the groups
}

const (
	foldBlock   = 512 // elements of a block
	foldGroup   = 128 * foldBlock
	foldColumns = 128     // neighbouring folds computed together, at the least
	foldPanel   = 4096    // bytes of their elements in a row, at the most
	foldValues  = 1 << 14 // bytes of their values, at the most
	foldRun     = 4096    // elements of a block of a running fold if they are contiguous
)

// newFold prepares a fold.
func newFold[T, A any](r reduceArgs) *folding[T, A] {
	var room [2][2][8]int
	kept, folded := r.split(&room)
	size := r.xt.Size()
	f := &folding[T, A]{kept: newNestInOrder(nil, kept, r.x, size), folded: newNestInOrder(nil, folded, nil, size), size: size, block: foldBlock}
	h := halvesOf(r.xt)
	f.sameType = h.load == nil
	f.load = h.load
	if f.sameType {
		f.load = func(dst, src unsafe.Pointer, step, n int) { copySpan(dst, size, src, step, size, n) }
	}
	return f
}

// denseRow returns the elements of a reduction if they are one group of adjacent elements of type T, else nil.
// They need no folding, which would allocate.
func denseRow[T any](c *reduceArgs) []T {
	var zero T
	if len(c.shape) != 1 || c.axes != 1 || c.xs[0] != 1 || c.xt.Size() != int(unsafe.Sizeof(zero)) || c.shape[0] > foldGroup {
		return nil
	}
	return unsafe.Slice((*T)(c.x), c.shape[0])
}

// run computes all folds.
func (f *folding[T, A]) run() {
	if f.kept.n == 0 {
		return
	}
	if f.folded.n == 0 {
		for i := range f.kept.n {
			f.store(i, f.first(i))
		}
		return
	}
	if f.inColumns() {
		f.columns()
		return
	}
	f.rows()
}

// inColumns reports whether neighbours in memory belong to neighbouring folds, or the folds are too short to compute
// one by one.
func (f *folding[T, A]) inColumns() bool {
	k, r := f.kept.axes[len(f.kept.axes)-1], f.folded.axes[len(f.folded.axes)-1]
	return f.folded.n > 0 && k.n > 1 && (f.folded.n == 1 || abs(k.step[0]) < abs(r.step[0]) || f.folded.n < shortSum && k.n >= shortSum)
}

func (f *folding[T, A]) first(i int) A {
	if f.begin != nil {
		return f.begin(i)
	}
	return f.start
}

// rows computes the folds one after the other. It computes the groups of a long fold in
// parallel.
func (f *folding[T, A]) rows() {
	groups := (f.folded.n-1)/foldGroup + 1
	var partial []A
	if groups > 1 {
		partial = make([]A, f.kept.n*groups)
	}
	Parallel(f.kept.n*groups, max(minPart/min(f.folded.n, foldGroup), 1), func(lo, hi int) {
		w := works.Get().(*work)
		defer works.Put(w)
		buf := unsafe.Slice((*T)(unsafe.Pointer(&w.block[0])), foldBlock)
		stack := branches[A]{tree: f.tree, merge: f.merge}
		for i := lo; i < hi; i++ {
			p := unsafe.Add(f.kept.p[0], f.kept.offset(i/groups))
			from := i % groups * foldGroup
			if f.folded.n <= f.block {
				f.store(i, f.row(f.first(i), f.gather(buf, p, 0, f.folded.n), 0))
				continue
			}
			stack.n = 0
			if f.running {
				a := f.runningRow(buf, f.first(i/groups), p, from, min(from+foldGroup, f.folded.n))
				if groups == 1 {
					f.store(i, a)
				} else {
					partial[i] = a
				}
				continue
			}
			f.pushBlocks(&stack, buf, i/groups, p, from, min(from+foldGroup, f.folded.n))
			if groups == 1 {
				f.store(i, stack.result())
			} else {
				partial[i] = stack.result()
			}
		}
	})
	if groups == 1 {
		return
	}
	stack := branches[A]{tree: f.tree, merge: f.merge}
	for i := range f.kept.n {
		stack.n = 0
		for _, a := range partial[i*groups : (i+1)*groups] {
			stack.push(a)
		}
		f.store(i, stack.result())
	}
}

// pushBlocks pushes the values of the blocks of elements lo to hi-1 of fold i, which is at p.
func (f *folding[T, A]) pushBlocks(stack *branches[A], buf []T, i int, p unsafe.Pointer, lo, hi int) {
	if f.four != nil && f.contiguous() {
		for n := 0; hi-lo >= 2*foldBlock; lo += n * foldBlock {
			n = min((hi-lo)/foldBlock, 4)
			values := f.four(f.gather(nil, p, lo, n*foldBlock))
			for _, v := range values[:n] {
				stack.push(v)
			}
		}
	}
	for k := lo; k < hi; k += foldBlock {
		x := f.gather(buf, p, k, min(foldBlock, hi-k))
		if f.whole != nil && len(x) == foldBlock {
			stack.pushTree(f.whole(f.first(i), x), bits.TrailingZeros(uint(foldBlock/f.block)))
			continue
		}
		for at := 0; at < len(x); at += f.block {
			stack.push(f.row(f.first(i), x[at:min(at+f.block, len(x))], k+at))
		}
	}
}

// runningRow folds elements lo to hi-1 of the fold at p into a.
func (f *folding[T, A]) runningRow(buf []T, a A, p unsafe.Pointer, lo, hi int) A {
	block := foldBlock
	if f.contiguous() {
		block = foldRun
	}
	for k := lo; k < hi && (f.done == nil || !f.done(a)); k += block {
		a = f.row(a, f.gather(buf, p, k, min(block, hi-k)), k)
	}
	return a
}

// branches merges results in the order in which they arrive: sequentially, or as a tree in
// which level l holds a merge of 2^l results until 2^l more have arrived.
type branches[A any] struct {
	tree  bool
	merge func(a, b A) A
	n     int
	level []A
}

func (t *branches[A]) push(v A) {
	if t.tree {
		t.pushTree(v, 0)
		return
	}
	if t.n > 0 {
		v = t.merge(t.level[0], v)
	}
	t.level = append(t.level[:0], v)
	t.n++
}

// pushTree pushes a merge of 2^l results. The number of results pushed before must be a multiple of 2^l.
func (t *branches[A]) pushTree(v A, l int) {
	n := 1 << l
	for ; t.n>>l&1 != 0; l++ {
		v = t.merge(t.level[l], v)
	}
	for len(t.level) <= l {
		t.level = append(t.level, v)
	}
	t.level[l] = v
	t.n += n
}

// result merges the pending results, from the lowest level up. There must be a result.
func (t *branches[A]) result() A {
	if !t.tree {
		return t.level[0]
	}
	l := bits.TrailingZeros(uint(t.n))
	v := t.level[l]
	for l++; t.n>>l != 0; l++ {
		if t.n>>l&1 != 0 {
			v = t.merge(t.level[l], v)
		}
	}
	return v
}

// contiguous reports whether the elements of a fold are contiguous, of type T.
func (f *folding[T, A]) contiguous() bool {
	return f.sameType && len(f.folded.axes) == 1 && f.folded.axes[0].step[0] == f.size
}

// gather returns n elements from number k on of the fold at p, at most foldBlock if they are not contiguous.
func (f *folding[T, A]) gather(buf []T, p unsafe.Pointer, k, n int) []T {
	inner := f.folded.axes[len(f.folded.axes)-1]
	if f.contiguous() {
		return unsafe.Slice((*T)(unsafe.Add(p, k*f.size)), n)
	}
	for at := 0; at < n; {
		m := min(n-at, inner.n-k%inner.n)
		f.load(unsafe.Pointer(&buf[at]), unsafe.Add(p, f.folded.offset(k)), inner.step[0], m)
		at, k = at+m, k+m
	}
	return buf[:n]
}

// columns computes panelWidth folds at a time.
func (f *folding[T, A]) columns() {
	inner := f.kept.axes[len(f.kept.axes)-1]
	groups := (f.folded.n-1)/foldGroup + 1
	outer := f.kept.n / inner.n
	width := f.panelWidth(outer*groups, inner.n)
	panels := (inner.n-1)/width + 1
	partial := make([]A, f.kept.n*groups) // group by group
	Parallel(outer*panels*groups, max(minPart/(width*min(f.folded.n, foldGroup)), 1), func(lo, hi int) {
		w := works.Get().(*work)
		defer works.Put(w)
		buf := unsafe.Slice((*T)(unsafe.Pointer(&w.block[0])), width)
		block := make([]A, width)
		var stacks []branches[A]
		if f.tree && f.folded.n > f.block {
			stacks = make([]branches[A], len(block))
			for j := range stacks {
				stacks[j] = branches[A]{tree: f.tree, merge: f.merge}
			}
		}
		for i := lo; i < hi; i++ {
			g, panel := i%groups, i/groups
			from := panel % panels * width
			first := panel/panels*inner.n + from
			n := min(width, inner.n-from)
			f.group(partial[g*f.kept.n+first:][:n], block, buf, stacks, first, g*foldGroup)
		}
	})
	stack := branches[A]{tree: f.tree, merge: f.merge}
	for i := range f.kept.n {
		if groups == 1 {
			f.store(i, partial[i])
			continue
		}
		stack.n = 0
		for g := range groups {
			stack.push(partial[g*f.kept.n+i])
		}
		f.store(i, stack.result())
	}
}

// panelWidth returns the number of neighbouring folds that columns computes together. Wide panels read long pieces of
// rows. Each processor gets at least two panels. Trees keep foldColumns, so that their branches stay in the cache.
func (f *folding[T, A]) panelWidth(sets, inner int) int {
	var x T
	var a A
	width := foldColumns
	if f.tree || inner <= width { // GOMAXPROCS takes a lock of the runtime
		return min(width, inner)
	}
	threads := runtime.GOMAXPROCS(0)
	for width < inner && 2*width*int(unsafe.Sizeof(x)) <= foldPanel && 2*width*int(unsafe.Sizeof(a)) <= foldValues &&
		(threads == 1 || sets*((inner-1)/(2*width)+1) >= 2*threads) {
		width *= 2
	}
	return min(width, inner)
}

// elements returns one element of each of several neighbouring folds, the first of them at p.
func (f *folding[T, A]) elements(buf []T, p unsafe.Pointer, width int) []T {
	step := f.kept.axes[len(f.kept.axes)-1].step[0]
	if f.sameType && step == f.size {
		return unsafe.Slice((*T)(p), width)
	}
	f.load(unsafe.Pointer(&buf[0]), p, step, width)
	return buf[:width]
}

// group folds foldGroup elements, from element from on, of each of len(a) folds, from fold
// first on. The other arguments are scratch memory; stacks is nil if blocks are not merged in a tree, or all elements are one block.
func (f *folding[T, A]) group(a, block []A, buf []T, stacks []branches[A], first, from int) {
	width := len(a)
	block = block[:width]
	p := unsafe.Add(f.kept.p[0], f.kept.offset(first))
	end := min(from+foldGroup, f.folded.n)
	for j := range stacks {
		stacks[j].n = 0
	}
	for k := from; k < end; k++ {
		if (k-from)%f.block == 0 {
			for j := range block {
				block[j] = f.first(first + j)
			}
		}
		f.column(block, f.elements(buf, unsafe.Add(p, f.folded.offset(k)), width), k)
		switch {
		case k+1 != end && (k+1-from)%f.block != 0:
		case stacks != nil:
			for j, b := range block {
				stacks[j].push(b)
			}
		case k-from < f.block:
			copy(a, block)
		default:
			for j, b := range block {
				a[j] = f.merge(a[j], b)
			}
		}
	}
	if stacks == nil {
		return
	}
	for j := range a {
		a[j] = stacks[j].result()
	}
}
