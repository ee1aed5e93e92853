package cpu

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// folding is a reduction other than Sum. Its elements are taken as T, in order of
// the reduced axes, and folded into an A: the foldBlock elements of a block, the
// blocks of a group of foldGroup elements, and the groups one after the other. What an A
// depends on is thus a function of the number of elements alone.
type folding[T, A any] struct {
	kept, folded nest // one operand, x, whose address is kept.p[0]
	size         int  // bytes of an element of x
	load         func(dst unsafe.Pointer, src unsafe.Pointer, step, n int)
	direct       bool // elements of x are of type T

	// start is a fold of nothing; row folds neighbours of one fold, number k
	// on, into a; column folds one element of each of several folds, number k,
	// into theirs; merge folds what comes later, b, into a.
	start  A
	row    func(a A, x []T, k int) A
	column func(a []A, x []T, k int)
	merge  func(a, b A) A
	// begin, where it is not nil, replaces start: it depends on the fold.
	begin func(i int) A
	store func(i int, a A)
}

const (
	foldBlock = 512
	foldGroup = 128 * foldBlock
	foldStrip = 128 // neighbouring folds computed together
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
	f := &folding[T, A]{kept: ordered(kept, x, size), folded: ordered(folded, nil, size), size: size}
	h := halvesOf(xt)
	f.direct = h.load == nil
	f.load = h.load
	if f.direct {
		f.load = func(dst, src unsafe.Pointer, step, n int) { copySpan(dst, size, src, step, size, n) }
	}
	return f
}

// run folds everything.
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

// rows folds one after the other, or their groups at the same time.
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
		for i := lo; i < hi; i++ {
			p := unsafe.Add(f.kept.p[0], f.kept.offset(i/groups))
			from := i % groups * foldGroup
			var a A
			for k := from; k < min(from+foldGroup, f.folded.n); k += foldBlock {
				b := f.row(f.first(i/groups), f.gather(buf, p, k, min(foldBlock, f.folded.n-k)), k)
				if k > from {
					b = f.merge(a, b)
				}
				a = b
			}
			if groups == 1 {
				f.store(i, a)
			} else {
				partial[i] = a
			}
		}
	})
	if groups == 1 {
		return
	}
	for i := range f.kept.n {
		a := partial[i*groups]
		for _, b := range partial[i*groups+1 : (i+1)*groups] {
			a = f.merge(a, b)
		}
		f.store(i, a)
	}
}

// gather returns n elements from number k on of the fold at p.
func (f *folding[T, A]) gather(buf []T, p unsafe.Pointer, k, n int) []T {
	inner := f.folded.axes[len(f.folded.axes)-1]
	if f.direct && len(f.folded.axes) == 1 && inner.step[0] == f.size {
		return unsafe.Slice((*T)(unsafe.Add(p, k*f.size)), n)
	}
	for at := 0; at < n; {
		m := min(n-at, inner.n-k%inner.n)
		f.load(unsafe.Pointer(&buf[at]), unsafe.Add(p, f.folded.offset(k)), inner.step[0], m)
		at, k = at+m, k+m
	}
	return buf[:n]
}

// columns computes foldStrip folds at a time.
func (f *folding[T, A]) columns() {
	inner := f.kept.axes[len(f.kept.axes)-1]
	strips := (inner.n-1)/foldStrip + 1
	groups := (f.folded.n-1)/foldGroup + 1
	outer := f.kept.n / inner.n
	partial := make([]A, f.kept.n*groups) // group by group
	Parallel(outer*strips*groups, max(minPart/(foldStrip*min(f.folded.n, foldGroup)), 1), func(lo, hi int) {
		w := works.Get().(*work)
		defer works.Put(w)
		buf := unsafe.Slice((*T)(unsafe.Pointer(&w.block[0])), foldStrip)
		block := make([]A, min(foldStrip, inner.n))
		for i := lo; i < hi; i++ {
			g, strip := i%groups, i/groups
			first := strip/strips*inner.n + strip%strips*foldStrip
			width := min(foldStrip, inner.n-strip%strips*foldStrip)
			a, block := partial[g*f.kept.n+first:][:width], block[:width]
			p := unsafe.Add(f.kept.p[0], f.kept.offset(first))
			from, end := g*foldGroup, min((g+1)*foldGroup, f.folded.n)
			for k := from; k < end; k++ {
				if (k-from)%foldBlock == 0 {
					for j := range block {
						block[j] = f.first(first + j)
					}
				}
				at := unsafe.Add(p, f.folded.offset(k))
				x := buf[:width]
				if f.direct && inner.step[0] == f.size {
					x = unsafe.Slice((*T)(at), width)
				} else {
					f.load(unsafe.Pointer(&buf[0]), at, inner.step[0], width)
				}
				f.column(block, x, k)
				switch {
				case k+1 < end && (k+1-from)%foldBlock != 0:
				case k-from < foldBlock:
					copy(a, block)
				default:
					for j := range a {
						a[j] = f.merge(a[j], block[j])
					}
				}
			}
		}
	})
	for i := range f.kept.n {
		a := partial[i]
		for g := 1; g < groups; g++ {
			a = f.merge(a, partial[g*f.kept.n+i])
		}
		f.store(i, a)
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
			// Four at a time, which do not wait for each other.
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

// place is an element and its number.
type place[T any] struct {
	v T
	k int64
}

// argExtremes is ArgMax or ArgMin: the first of the largest or smallest, or the
// first NaN.
func argExtremes[T number](op expr.Op, xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) {
	f := newFold[T, place[T]](xt, shape, axes, x, xs)
	f.start.k = -1
	f.store = func(i int, a place[T]) { *(*int64)(unsafe.Add(dst, 8*i)) = a.k }
	beats := func(v, than T) bool { return v > than || v != v && than == than }
	if op == expr.ArgMin {
		beats = func(v, than T) bool { return v < than || v != v && than == than }
	}
	f.merge = func(a, b place[T]) place[T] {
		if a.k < 0 || b.k >= 0 && beats(b.v, a.v) {
			return b
		}
		return a
	}
	f.column = func(a []place[T], x []T, k int) {
		for i, v := range x {
			if a[i].k < 0 || beats(v, a[i].v) {
				a[i] = place[T]{v, int64(k)}
			}
		}
	}
	better := largest[T]
	if op == expr.ArgMin {
		better = smallest[T]
	}
	// In float32 there are vectors for it.
	if fast, ok := any(largestOf32).(func([]T) T); ok {
		better = fast
		if op == expr.ArgMin {
			better, _ = any(smallestOf32).(func([]T) T)
		}
	}
	find := first[T]
	if fast, ok := any(firstOf32).(func([]T, T) int); ok {
		find = fast
	}
	f.row = func(a place[T], x []T, k int) place[T] {
		v := better(x)
		if a.k >= 0 && !beats(v, a.v) {
			return a
		}
		i := find(x, v)
		return place[T]{x[i], int64(k + i)}
	}
	f.run()
}

// truthFold is Any or All of elements T, which are true where they are not 0.
func truthFold[T comparable](op expr.Op, xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) {
	f := newFold[T, bool](xt, shape, axes, x, xs)
	// All is the search for a 0, Any that for anything else.
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

// products multiplies in P, which is wider than the elements where it can be:
// what over- or underflows on the way comes back.
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

// variance is a fold of squares: of what elements are more than their mean, and
// beside them the sum of that, which would be 0 if the mean were not rounded.
type variance[A float64 | complex128] struct {
	mean, rest A
	squares    float64
}

// meansOf returns the mean of each fold and the number of its elements.
func meansOf[T float32 | float64 | complex64 | complex128, A float64 | complex128](xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, widen func(T) A, divide func(a A, n float64) A) ([]A, float64) {
	f := newFold[T, A](xt, shape, axes, x, xs)
	n := float64(f.folded.n)
	means := make([]A, f.kept.n)
	f.store = func(i int, a A) { means[i] = divide(a, n) }
	f.merge = func(a, b A) A { return a + b }
	f.row = func(a A, x []T, _ int) A {
		for _, v := range x {
			a += widen(v)
		}
		return a
	}
	f.column = func(a []A, x []T, _ int) {
		for i, v := range x {
			a[i] += widen(v)
		}
	}
	f.run()
	return means, n
}

// variances is Var of the elements T: in float64, the mean of the squares of
// what they are more than their mean.
func variances[T float32 | float64 | complex64 | complex128, A float64 | complex128](xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer,
	widen func(T) A, divide func(a A, n float64) A, square func(A) float64,
) {
	means, n := meansOf(xt, shape, axes, x, xs, widen, divide)
	f := newFold[T, variance[A]](xt, shape, axes, x, xs)
	f.begin = func(i int) variance[A] { return variance[A]{mean: means[i]} }
	store := storeRounded(xt.Real(), dst)
	f.store = func(i int, a variance[A]) { store(i, (a.squares-square(a.rest)/n)/n) }
	f.merge = func(a, b variance[A]) variance[A] {
		return variance[A]{a.mean, a.rest + b.rest, a.squares + b.squares}
	}
	f.row = func(a variance[A], x []T, _ int) variance[A] {
		for _, v := range x {
			d := widen(v) - a.mean
			a.rest += d
			a.squares += square(d)
		}
		return a
	}
	f.column = func(a []variance[A], x []T, _ int) {
		for i, v := range x {
			d := widen(v) - a[i].mean
			a[i].rest += d
			a[i].squares += square(d)
		}
	}
	f.run()
}

func floatVariances[T float32 | float64](xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) {
	variances(xt, shape, axes, x, xs, dst, func(v T) float64 { return float64(v) },
		func(a, n float64) float64 { return a / n }, func(a float64) float64 { return a * a })
}

func complexVariances[T complex64 | complex128](xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) {
	variances(xt, shape, axes, x, xs, dst, func(v T) complex128 { return complex128(v) },
		func(a complex128, n float64) complex128 { return complex(real(a)/n, imag(a)/n) },
		func(a complex128) float64 { return real(a)*real(a) + imag(a)*imag(a) })
}

// foldOf runs a reduction other than Sum and Mean; false where there is none.
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
