package cpu

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

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
		f.row = func(a T, x []T, _ int) T { return max(a, largest(x)) }
		f.column = func(a, x []T, _ int) { maximums[T](at0(a), at0(a), at0(x), len(x)) }
	} else {
		f.start = high
		f.merge = func(a, b T) T { return min(a, b) }
		f.row = func(a T, x []T, _ int) T { return min(a, smallest(x)) }
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
	better, find := rowExtreme[T](op)
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

// rowExtreme returns the functions that find the extreme element of a row for ArgMax or
// ArgMin, and the first index of an element. float32 has assembly for both.
func rowExtreme[T number](op expr.Op) (better func([]T) T, find func([]T, T) int) {
	better, find = largest[T], indexOf[T]
	if op == expr.ArgMin {
		better = smallest[T]
	}
	fast := largestOf32
	if op == expr.ArgMin {
		fast = smallestOf32
	}
	if fast, ok := any(fast).(func([]T) T); ok {
		better = fast
	}
	if fast, ok := any(firstOf32).(func([]T, T) int); ok {
		find = fast
	}
	return better, find
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

// products is Prod for T. The bits of a product that wraps do not depend on its sign.
func (ints[T]) products(xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) {
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
		return dt == xt && foldExtremes(op, xt, shape, axes, x, xs, dst)
	case expr.ArgMax, expr.ArgMin:
		return dt == dtype.Int64 && foldPlaces(op, xt, shape, axes, x, xs, dst)
	case expr.Any, expr.All:
		return dt == dtype.Bool && foldTruth(op, xt, shape, axes, x, xs, dst)
	case expr.Prod:
		return dt == xt.SumType() && foldProducts(op, xt, shape, axes, x, xs, dst)
	case expr.Var:
		return dt == xt.Real() && foldVariances(op, xt, shape, axes, x, xs, dst)
	}
	return false
}

// foldExtremes is foldOf of Max and Min.
func foldExtremes(op expr.Op, xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) bool {
	switch xt.ComputeType() {
	case dtype.Float32:
		extremes(op, xt, shape, axes, x, xs, dst, float32(math.Inf(-1)), float32(math.Inf(1)))
	case dtype.Float64:
		extremes(op, xt, shape, axes, x, xs, dst, math.Inf(-1), math.Inf(1))
	default:
		k := wholeOf(xt)
		if k == nil {
			return false
		}
		k.extremes(op, xt, shape, axes, x, xs, dst)
	}
	return true
}

func (ints[T]) extremes(op expr.Op, xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) {
	lo, hi := bounds[T]()
	extremes(op, xt, shape, axes, x, xs, dst, lo, hi)
}

// foldPlaces is foldOf of ArgMax and ArgMin.
func foldPlaces(op expr.Op, xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) bool {
	switch xt.ComputeType() {
	case dtype.Float32:
		argExtremes[float32](op, xt, shape, axes, x, xs, dst)
	case dtype.Float64:
		argExtremes[float64](op, xt, shape, axes, x, xs, dst)
	default:
		k := wholeOf(xt)
		if k == nil {
			return false
		}
		k.argExtremes(op, xt, shape, axes, x, xs, dst)
	}
	return true
}

func (ints[T]) argExtremes(op expr.Op, xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) {
	argExtremes[T](op, xt, shape, axes, x, xs, dst)
}

// foldTruth is foldOf of Any and All.
func foldTruth(op expr.Op, xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) bool {
	switch xt.ComputeType() {
	case dtype.Float32:
		truthFold[float32](op, xt, shape, axes, x, xs, dst)
	case dtype.Float64:
		truthFold[float64](op, xt, shape, axes, x, xs, dst)
	case dtype.Complex64:
		truthFold[complex64](op, xt, shape, axes, x, xs, dst)
	case dtype.Complex128:
		truthFold[complex128](op, xt, shape, axes, x, xs, dst)
	default:
		k := wholeOf(xt)
		if k == nil {
			return false
		}
		k.truth(op, xt, shape, axes, x, xs, dst)
	}
	return true
}

func (ints[T]) truth(op expr.Op, xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) {
	truthFold[T](op, xt, shape, axes, x, xs, dst)
}

// foldProducts is foldOf of Prod.
func foldProducts(_ expr.Op, xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) bool {
	switch xt.ComputeType() {
	case dtype.Float32:
		floatProducts[float32](xt, shape, axes, x, xs, dst)
	case dtype.Float64:
		floatProducts[float64](xt, shape, axes, x, xs, dst)
	case dtype.Complex64:
		complexProducts[complex64](xt, shape, axes, x, xs, dst)
	case dtype.Complex128:
		complexProducts[complex128](xt, shape, axes, x, xs, dst)
	default:
		k := wholeOf(xt)
		if k == nil {
			return false
		}
		k.products(xt, shape, axes, x, xs, dst)
	}
	return true
}

// foldVariances is foldOf of Var.
func foldVariances(_ expr.Op, xt dtype.DType, shape []int, axes uint32, x unsafe.Pointer, xs []int, dst unsafe.Pointer) bool {
	switch xt.ComputeType() {
	case dtype.Float32:
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
	return true
}
