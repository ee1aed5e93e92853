package cpu

import (
	"math"
	"math/bits"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// folding is a reduction other than Sum. It reads the elements as T, in order of the
// reduced axes, and folds them into an A: first the elements of a block, then the blocks of
// a group of foldGroup elements, then the groups, sequentially or in a tree. The order of
// the operations therefore depends on the number of elements alone.
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
	// begin, if not nil, replaces start for values that depend on the fold.
	begin func(i int) A
	store func(i int, a A)

	block int  // elements of a block: foldBlock, or a smaller power of two
	tree  bool // blocks are merged in pairs, the pairs in pairs, and so on, and so are the groups
}

const (
	foldBlock   = 512 // elements of a block, and the most that gather returns
	foldGroup   = 128 * foldBlock
	foldColumns = 128 // neighbouring folds computed together
)

// newFold prepares a fold of the axes of x whose bit is set in axes.
func newFold[T, A any](xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int) *folding[T, A] {
	var kept, folded [2][]int
	for d, n := range shape {
		to := &kept
		if axes>>d&1 != 0 {
			to = &folded
		}
		to[0], to[1] = append(to[0], n), append(to[1], xs[d])
	}
	size := xt.Size()
	f := &folding[T, A]{kept: newNestInOrder(nil, kept, x, size), folded: newNestInOrder(nil, folded, nil, size), size: size, block: foldBlock}
	h := halvesOf(xt)
	f.sameType = h.load == nil
	f.load = h.load
	if f.sameType {
		f.load = func(dst, src unsafe.Pointer, step, n int) { copySpan(dst, size, src, step, size, n) }
	}
	return f
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
	k, r := f.kept.axes[len(f.kept.axes)-1], f.folded.axes[len(f.folded.axes)-1]
	if k.n > 1 && (f.folded.n == 1 || abs(k.step[0]) < abs(r.step[0]) || f.folded.n < shortSum && k.n >= shortSum) {
		f.columns()
		return
	}
	f.rows()
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
			for k := from; k < min(from+foldGroup, f.folded.n); k += foldBlock {
				x := f.gather(buf, p, k, min(foldBlock, f.folded.n-k))
				for at := 0; at < len(x); at += f.block {
					stack.push(f.row(f.first(i/groups), x[at:min(at+f.block, len(x))], k+at))
				}
			}
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

// branches merges results in the order in which they arrive: sequentially, or as a tree in
// which level l holds a merge of 2^l results until 2^l more have arrived.
type branches[A any] struct {
	tree  bool
	merge func(a, b A) A
	n     int
	level []A
}

func (t *branches[A]) push(v A) {
	l := 0
	if !t.tree {
		if t.n > 0 {
			v = t.merge(t.level[0], v)
		}
	} else {
		for ; t.n>>l&1 != 0; l++ {
			v = t.merge(t.level[l], v)
		}
	}
	if l == len(t.level) {
		t.level = append(t.level, v)
	} else {
		t.level[l] = v
	}
	t.n++
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

// gather returns n elements from number k on of the fold at p.
func (f *folding[T, A]) gather(buf []T, p unsafe.Pointer, k, n int) []T {
	inner := f.folded.axes[len(f.folded.axes)-1]
	if f.sameType && len(f.folded.axes) == 1 && inner.step[0] == f.size {
		return unsafe.Slice((*T)(unsafe.Add(p, k*f.size)), n)
	}
	for at := 0; at < n; {
		m := min(n-at, inner.n-k%inner.n)
		f.load(unsafe.Pointer(&buf[at]), unsafe.Add(p, f.folded.offset(k)), inner.step[0], m)
		at, k = at+m, k+m
	}
	return buf[:n]
}

// columns computes foldColumns folds at a time.
func (f *folding[T, A]) columns() {
	inner := f.kept.axes[len(f.kept.axes)-1]
	panels := (inner.n-1)/foldColumns + 1
	groups := (f.folded.n-1)/foldGroup + 1
	outer := f.kept.n / inner.n
	partial := make([]A, f.kept.n*groups) // group by group
	Parallel(outer*panels*groups, max(minPart/(foldColumns*min(f.folded.n, foldGroup)), 1), func(lo, hi int) {
		w := works.Get().(*work)
		defer works.Put(w)
		buf := unsafe.Slice((*T)(unsafe.Pointer(&w.block[0])), foldColumns)
		block := make([]A, min(foldColumns, inner.n))
		var stacks []branches[A]
		if f.folded.n > f.block {
			stacks = make([]branches[A], len(block))
			for j := range stacks {
				stacks[j] = branches[A]{tree: f.tree, merge: f.merge}
			}
		}
		for i := lo; i < hi; i++ {
			g, panel := i%groups, i/groups
			first := panel/panels*inner.n + panel%panels*foldColumns
			width := min(foldColumns, inner.n-panel%panels*foldColumns)
			a, block := partial[g*f.kept.n+first:][:width], block[:width]
			p := unsafe.Add(f.kept.p[0], f.kept.offset(first))
			from, end := g*foldGroup, min((g+1)*foldGroup, f.folded.n)
			for j := range stacks {
				stacks[j].n = 0
			}
			for k := from; k < end; k++ {
				if (k-from)%f.block == 0 {
					for j := range block {
						block[j] = f.first(first + j)
					}
				}
				at := unsafe.Add(p, f.folded.offset(k))
				x := buf[:width]
				if f.sameType && inner.step[0] == f.size {
					x = unsafe.Slice((*T)(at), width)
				} else {
					f.load(unsafe.Pointer(&buf[0]), at, inner.step[0], width)
				}
				f.column(block, x, k)
				switch {
				case stacks == nil && k+1 < end:
				case stacks == nil:
					copy(a, block)
				case k+1 == end || (k+1-from)%f.block == 0:
					for j, b := range block {
						stacks[j].push(b)
					}
				}
			}
			if stacks == nil {
				continue
			}
			for j := range a {
				a[j] = stacks[j].result()
			}
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

// storeTo returns a store of results as elements of type t.
func storeTo[A any](t dtype.DType, dst unsafe.Pointer) func(i int, a A) {
	h, size := halvesOf(t), t.Size()
	if h.round != nil {
		return func(i int, a A) { h.round(unsafe.Add(dst, i*size), unsafe.Pointer(&a), 1) }
	}
	return func(i int, a A) { *(*A)(unsafe.Add(dst, i*size)) = a }
}

// storeRounded stores float64 results, rounded once.
func storeRounded(t dtype.DType, dst unsafe.Pointer) func(i int, a float64) {
	size := t.Size()
	switch t {
	case dtype.Float64:
		return func(i int, a float64) { *(*float64)(unsafe.Add(dst, i*size)) = a }
	case dtype.Float32:
		return func(i int, a float64) { *(*float32)(unsafe.Add(dst, i*size)) = float32(a) }
	}
	h := halvesOf(t)
	return func(i int, a float64) {
		v := roundToOdd(a)
		h.round(unsafe.Add(dst, i*size), unsafe.Pointer(&v), 1)
	}
}

// extremes is Max or Min; NaN where there is one.
func extremes[T number](op expr.Op, xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer, low, high T) {
	f := newFold[T, T](xt, shape, axes, x, xs)
	f.store = storeTo[T](xt, dst)
	if op == expr.Max {
		f.start = low
		f.merge = func(a, b T) T { return max(a, b) }
		f.row = func(a T, x []T, _ int) T {
			// Four independent chains of comparisons.
			b, c, d := a, a, a
			for ; len(x) >= 4; x = x[4:] {
				a, b, c, d = max(a, x[0]), max(b, x[1]), max(c, x[2]), max(d, x[3])
			}
			for _, v := range x {
				a = max(a, v)
			}
			return max(a, b, c, d)
		}
		f.column = func(a, x []T, _ int) { maximums[T](at0(a), at0(a), at0(x), len(x)) }
	} else {
		f.start = high
		f.merge = func(a, b T) T { return min(a, b) }
		f.row = func(a T, x []T, _ int) T {
			b, c, d := a, a, a
			for ; len(x) >= 4; x = x[4:] {
				a, b, c, d = min(a, x[0]), min(b, x[1]), min(c, x[2]), min(d, x[3])
			}
			for _, v := range x {
				a = min(a, v)
			}
			return min(a, b, c, d)
		}
		f.column = func(a, x []T, _ int) { minimums[T](at0(a), at0(a), at0(x), len(x)) }
	}
	f.run()
}

func at0[T any](v []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(v)) }

// indexed is an element and its index.
type indexed[T any] struct {
	v T
	k int64
}

// argExtremes is ArgMax or ArgMin: the index of the first extreme element, or of the
// first NaN.
func argExtremes[T number](op expr.Op, xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) {
	f := newFold[T, indexed[T]](xt, shape, axes, x, xs)
	f.start.k = -1
	f.store = func(i int, a indexed[T]) { *(*int64)(unsafe.Add(dst, 8*i)) = a.k }
	beats := func(v, than T) bool { return v > than || v != v && than == than }
	if op == expr.ArgMin {
		beats = func(v, than T) bool { return v < than || v != v && than == than }
	}
	f.merge = func(a, b indexed[T]) indexed[T] {
		if a.k < 0 || b.k >= 0 && beats(b.v, a.v) {
			return b
		}
		return a
	}
	f.column = func(a []indexed[T], x []T, k int) {
		for i, v := range x {
			if a[i].k < 0 || beats(v, a[i].v) {
				a[i] = indexed[T]{v, int64(k)}
			}
		}
	}
	better := largest[T]
	if op == expr.ArgMin {
		better = smallest[T]
	}
	// float32 has assembly for this.
	if fast, ok := any(largestOf32).(func([]T) T); ok {
		better = fast
		if op == expr.ArgMin {
			better, _ = any(smallestOf32).(func([]T) T)
		}
	}
	find := indexOf[T]
	if fast, ok := any(firstOf32).(func([]T, T) int); ok {
		find = fast
	}
	f.row = func(a indexed[T], x []T, k int) indexed[T] {
		v := better(x)
		if a.k >= 0 && !beats(v, a.v) {
			return a
		}
		i := find(x, v)
		return indexed[T]{x[i], int64(k + i)}
	}
	f.run()
}

// truthFold is Any or All; an element of T is true if it is not 0.
func truthFold[T comparable](op expr.Op, xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) {
	f := newFold[T, bool](xt, shape, axes, x, xs)
	// All searches for a 0, Any for a nonzero element.
	all := op == expr.All
	f.start = all
	f.store = storeTo[bool](dtype.Bool, dst)
	var zero T
	f.merge = func(a, b bool) bool {
		if all {
			return a && b
		}
		return a || b
	}
	f.row = func(a bool, x []T, _ int) bool {
		if a != all {
			return a
		}
		for _, v := range x {
			if (v != zero) != all {
				return !all
			}
		}
		return a
	}
	f.column = func(a []bool, x []T, _ int) {
		for i, v := range x {
			if (v != zero) != all {
				a[i] = !all
			}
		}
	}
	f.run()
}

// products multiplies in P, which is wider than the elements if there is a wider type: an
// intermediate product may then leave the range of the elements.
func products[T any, P float64 | complex128 | int64](xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, times func(P, T) P, mul func(a, b P) P, store func(i int, a P)) {
	f := newFold[T, P](xt, shape, axes, x, xs)
	f.start, f.store, f.merge = 1, store, mul
	f.row = func(a P, x []T, _ int) P {
		for _, v := range x {
			a = times(a, v)
		}
		return a
	}
	f.column = func(a []P, x []T, _ int) {
		for i, v := range x {
			a[i] = times(a[i], v)
		}
	}
	f.run()
}

func integerProducts[T int8 | uint8 | int32 | int64](xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) {
	products(xt, shape, axes, x, xs, func(a int64, v T) int64 { return a * int64(v) }, func(a, b int64) int64 { return a * b }, storeTo[int64](dtype.Int64, dst))
}

func floatProducts[T float32 | float64](xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) {
	products(xt, shape, axes, x, xs, func(a float64, v T) float64 { return a * float64(v) }, func(a, b float64) float64 { return a * b }, storeRounded(xt, dst))
}

func complexProducts[T complex64 | complex128](xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) {
	products(xt, shape, axes, x, xs, func(a complex128, v T) complex128 { return mul128(a, complex128(v)) }, mul128,
		func(i int, a complex128) { *(*T)(unsafe.Add(dst, i*xt.Size())) = T(a) })
}

// foldOf runs a reduction other than Sum and Mean. It reports false if it has none for op.
func foldOf(op expr.Op, xt, dt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) bool {
	switch op {
	case expr.Max, expr.Min:
		if dt != xt {
			return false
		}
		switch xt {
		case dtype.Float32, dtype.Float16, dtype.BFloat16:
			extremes(op, xt, shape, axes, x, xs, dst, float32(math.Inf(-1)), float32(math.Inf(1)))
		case dtype.Float64:
			extremes(op, xt, shape, axes, x, xs, dst, math.Inf(-1), math.Inf(1))
		case dtype.Int8:
			extremes[int8](op, xt, shape, axes, x, xs, dst, math.MinInt8, math.MaxInt8)
		case dtype.Uint8:
			extremes[uint8](op, xt, shape, axes, x, xs, dst, 0, math.MaxUint8)
		case dtype.Int32:
			extremes[int32](op, xt, shape, axes, x, xs, dst, math.MinInt32, math.MaxInt32)
		case dtype.Int64:
			extremes[int64](op, xt, shape, axes, x, xs, dst, math.MinInt64, math.MaxInt64)
		case dtype.Bool:
			extremes[uint8](op, xt, shape, axes, x, xs, dst, 0, 1)
		default:
			return false
		}
	case expr.ArgMax, expr.ArgMin:
		if dt != dtype.Int64 {
			return false
		}
		switch xt {
		case dtype.Float32, dtype.Float16, dtype.BFloat16:
			argExtremes[float32](op, xt, shape, axes, x, xs, dst)
		case dtype.Float64:
			argExtremes[float64](op, xt, shape, axes, x, xs, dst)
		case dtype.Int8:
			argExtremes[int8](op, xt, shape, axes, x, xs, dst)
		case dtype.Uint8, dtype.Bool:
			argExtremes[uint8](op, xt, shape, axes, x, xs, dst)
		case dtype.Int32:
			argExtremes[int32](op, xt, shape, axes, x, xs, dst)
		case dtype.Int64:
			argExtremes[int64](op, xt, shape, axes, x, xs, dst)
		default:
			return false
		}
	case expr.Any, expr.All:
		if dt != dtype.Bool {
			return false
		}
		switch xt {
		case dtype.Float32, dtype.Float16, dtype.BFloat16:
			truthFold[float32](op, xt, shape, axes, x, xs, dst)
		case dtype.Float64:
			truthFold[float64](op, xt, shape, axes, x, xs, dst)
		case dtype.Int8, dtype.Uint8, dtype.Bool:
			truthFold[uint8](op, xt, shape, axes, x, xs, dst)
		case dtype.Int32:
			truthFold[int32](op, xt, shape, axes, x, xs, dst)
		case dtype.Int64:
			truthFold[int64](op, xt, shape, axes, x, xs, dst)
		case dtype.Complex64:
			truthFold[complex64](op, xt, shape, axes, x, xs, dst)
		case dtype.Complex128:
			truthFold[complex128](op, xt, shape, axes, x, xs, dst)
		default:
			return false
		}
	case expr.Prod:
		if dt != sumType(xt) {
			return false
		}
		switch xt {
		case dtype.Float32, dtype.Float16, dtype.BFloat16:
			floatProducts[float32](xt, shape, axes, x, xs, dst)
		case dtype.Float64:
			floatProducts[float64](xt, shape, axes, x, xs, dst)
		case dtype.Int8:
			integerProducts[int8](xt, shape, axes, x, xs, dst)
		case dtype.Uint8, dtype.Bool:
			integerProducts[uint8](xt, shape, axes, x, xs, dst)
		case dtype.Int32:
			integerProducts[int32](xt, shape, axes, x, xs, dst)
		case dtype.Int64:
			integerProducts[int64](xt, shape, axes, x, xs, dst)
		case dtype.Complex64:
			complexProducts[complex64](xt, shape, axes, x, xs, dst)
		case dtype.Complex128:
			complexProducts[complex128](xt, shape, axes, x, xs, dst)
		default:
			return false
		}
	case expr.Var:
		if dt != xt.Real() {
			return false
		}
		switch xt {
		case dtype.Float32, dtype.Float16, dtype.BFloat16:
			floatVariances[float32](xt, shape, axes, x, xs, dst)
		case dtype.Float64:
			floatVariances[float64](xt, shape, axes, x, xs, dst)
		case dtype.Complex64:
			complexVariances[complex64](xt, shape, axes, x, xs, dst)
		case dtype.Complex128:
			complexVariances[complex128](xt, shape, axes, x, xs, dst)
		default:
			return false
		}
	default:
		return false
	}
	return true
}
