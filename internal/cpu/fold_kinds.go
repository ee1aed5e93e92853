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

// extremes computes Max or Min. The result is NaN if an element is.
func extremes[T number](c reduceArgs, low, high T) {
	start, in, merge := low, largestIn[T](), larger[T]
	if c.op == expr.Min {
		start, in, merge = high, smallestIn[T](), smaller[T]
	}
	if x := denseRow[T](&c); x != nil {
		*(*T)(c.dst) = merge(start, in(x))
		return
	}
	foldExtremes(c, start, in, merge)
}

// foldExtremes computes Max or Min from a start value, a function that returns the extreme of a row, and one that
// returns the extreme of two elements.
func foldExtremes[T number](c reduceArgs, start T, in func([]T) T, merge func(a, b T) T) {
	f := newFold[T, T](c)
	f.start, f.merge, f.store, f.running = start, merge, storeTo[T](c.xt, c.dst), true
	f.row = func(a T, x []T, _ int) T { return merge(a, in(x)) }
	op := expr.Maximum
	if c.op == expr.Min {
		op = expr.Minimum
	}
	both := binaryKernel(op, dtype.Of[T]()).vv
	f.column = func(a, x []T, _ int) { both(at0(a), at0(a), at0(x), len(x)) }
	f.run()
}

func at0[T any](v []T) unsafe.Pointer { return unsafe.Pointer(unsafe.SliceData(v)) }

// indexed is an element and its index.
type indexed[T any] struct {
	v T
	k int64
}

// argExtremes computes ArgMax or ArgMin: the index of the first extreme element, or of the first NaN.
func argExtremes[T number](c reduceArgs) {
	better, find := rowExtreme[T](c.op)
	if x := denseRow[T](&c); x != nil {
		*(*int64)(c.dst) = int64(find(x, better(x)))
		return
	}
	foldArgExtremes(c, better, find)
}

// foldArgExtremes computes ArgMax or ArgMin with the functions that rowExtreme returns.
func foldArgExtremes[T number](c reduceArgs, better func([]T) T, find func([]T, T) int) {
	beats := func(v, than T) bool { return v > than || v != v && than == than }
	if c.op == expr.ArgMin {
		beats = func(v, than T) bool { return v < than || v != v && than == than }
	}
	merge := func(a, b indexed[T]) indexed[T] {
		if a.k < 0 || b.k >= 0 && beats(b.v, a.v) {
			return b
		}
		return a
	}
	row := func(a indexed[T], x []T, k int) indexed[T] {
		v := better(x)
		if a.k >= 0 && !beats(v, a.v) {
			return a
		}
		i := find(x, v)
		return indexed[T]{x[i], int64(k + i)}
	}
	dst := c.dst
	f := newFold[T, indexed[T]](c)
	f.start, f.row, f.merge, f.running = indexed[T]{k: -1}, row, merge, true
	f.store = func(i int, a indexed[T]) { *(*int64)(unsafe.Add(dst, 8*i)) = a.k }
	larger := c.op != expr.ArgMin
	f.column = func(a []indexed[T], x []T, k int) {
		for i, v := range x[:len(a)] {
			e := &a[i]
			if e.k >= 0 && (larger && v <= e.v || !larger && v >= e.v) {
				continue // most elements end here, without a call of beats
			}
			if e.k < 0 || beats(v, e.v) {
				*e = indexed[T]{v, int64(k)}
			}
		}
	}
	f.run()
}

// largestIn and smallestIn return largest and smallest for T, which have assembly for floating-point numbers and for integers.
func largestIn[T number]() func([]T) T {
	for _, fast := range []any{largestOf32, largestOf64} {
		if fast, ok := fast.(func([]T) T); ok {
			return fast
		}
	}
	if fast, _ := vectorExtremes[T](); fast != nil {
		return fast
	}
	return largest[T]
}

func smallestIn[T number]() func([]T) T {
	for _, fast := range []any{smallestOf32, smallestOf64} {
		if fast, ok := fast.(func([]T) T); ok {
			return fast
		}
	}
	if _, fast := vectorExtremes[T](); fast != nil {
		return fast
	}
	return smallest[T]
}

// rowExtreme returns the functions that find the extreme element of a row for ArgMax or
// ArgMin, and the first index of an element.
func rowExtreme[T number](op expr.Op) (better func([]T) T, find func([]T, T) int) {
	better, find = largestIn[T](), indexOf[T]
	if op == expr.ArgMin {
		better = smallestIn[T]()
	}
	for _, fast := range []any{firstOf32, firstOf64, firstByte[int8], firstByte[uint8]} {
		if fast, ok := fast.(func([]T, T) int); ok {
			find = fast
		}
	}
	return better, find
}

// products multiplies in P, which is wider than the elements if there is a wider type: an
// intermediate product may then leave the range of the elements.
func products[T number | complex64 | complex128, P float64 | complex128 | int64](c reduceArgs, times func(P, T) P, mul func(a, b P) P, store func(i int, a P)) {
	newProducts(c, times, mul, store).run()
}

// newProducts prepares products.
func newProducts[T number | complex64 | complex128, P float64 | complex128 | int64](c reduceArgs, times func(P, T) P, mul func(a, b P) P, store func(i int, a P)) *folding[T, P] {
	f := newFold[T, P](c)
	f.start, f.store, f.merge = 1, store, mul
	f.row = func(a P, x []T, _ int) P {
		for _, v := range x {
			a = times(a, v)
		}
		return a
	}
	f.column = columnOf[T, P](expr.Mul)
	return f
}

// columnOf returns a function that computes op on values and elements, one for each value, by the kernels of P.
func columnOf[T number | complex64 | complex128, P float64 | complex128 | int64](op expr.Op) func(a []P, x []T, _ int) {
	from, to := dtype.Of[T](), dtype.Of[P]()
	both := binaryKernel(op, to).vv
	if from == dtype.Uint64 { // the bits of results that wrap do not depend on the sign
		from = dtype.Int64
	}
	if from == to {
		return func(a []P, x []T, _ int) { both(at0(a), at0(a), at0(x), len(x)) }
	}
	lanes := 1
	if from.IsComplex() {
		lanes = 2
	}
	convert := converter(from.Real(), to.Real())
	return func(a []P, x []T, _ int) {
		w := works.Get().(*work)
		defer works.Put(w)
		b := unsafe.Pointer(&w.block[0])
		for at := 0; at < len(x); at += blockLen {
			m := min(blockLen, len(x)-at)
			convert(b, at0(x[at:]), lanes*m)
			both(at0(a[at:]), at0(a[at:]), b, m)
		}
	}
}

// fourProducts returns the products of two to four adjacent blocks. A processor computes the four at once, because none waits for another.
func fourProducts[T float32 | float64](x []T) [4]float64 {
	var block [4]*[foldBlock]T
	for i := range block { // a missing block is the last one
		block[i] = (*[foldBlock]T)(x[min(i, len(x)/foldBlock-1)*foldBlock:])
	}
	p, q, r, s := block[0], block[1], block[2], block[3]
	a, b, c, d := 1.0, 1.0, 1.0, 1.0
	for i := range p {
		a *= float64(p[i])
		b *= float64(q[i])
		c *= float64(r[i])
		d *= float64(s[i])
	}
	return [4]float64{a, b, c, d}
}

// folds has the reductions of elements that are computed in one Go type.
type folds interface {
	truth(c reduceArgs)
	products(c reduceArgs)
}

// orderedFolds are the reductions of types other than complex ones.
type orderedFolds interface {
	extremes(c reduceArgs)
	argExtremes(c reduceArgs)
}

// foldsOf returns the reductions of a type, or nil.
func foldsOf(t dtype.DType) folds {
	switch t.ComputeType() {
	case dtype.Float32:
		return floatFolds[float32]{}
	case dtype.Float64:
		return floatFolds[float64]{}
	case dtype.Complex64:
		return complexFolds[complex64]{}
	case dtype.Complex128:
		return complexFolds[complex128]{}
	}
	if k := wholeOf(t); k != nil {
		return k
	}
	return nil
}

// foldOf runs a reduction other than Sum and Mean, whose results have type dt. It reports false if it has
// none for the operation and the types.
func foldOf(c reduceArgs, dt dtype.DType) bool {
	k := foldsOf(c.xt)
	ordered, _ := k.(orderedFolds)
	switch op := c.op; {
	case k == nil:
		return false
	case (op == expr.Max || op == expr.Min) && dt == c.xt && ordered != nil:
		ordered.extremes(c)
	case (op == expr.ArgMax || op == expr.ArgMin) && dt == dtype.Int64 && ordered != nil:
		ordered.argExtremes(c)
	case (op == expr.Any || op == expr.All) && dt == dtype.Bool:
		k.truth(c)
	case op == expr.Prod && dt == c.xt.SumType():
		k.products(c)
	case op == expr.Var && dt == c.xt.Real():
		k, ok := k.(interface{ variances(c reduceArgs) })
		if !ok {
			return false
		}
		k.variances(c)
	default:
		return false
	}
	return true
}

func (ints[T]) extremes(c reduceArgs) {
	lo, hi := bounds[T]()
	extremes(c, lo, hi)
}

func (ints[T]) argExtremes(c reduceArgs) { argExtremes[T](c) }

func (ints[T]) truth(c reduceArgs) { truthFold[T](c) }

// products computes Prod for T. The bits of a product that wraps do not depend on its sign, or on the order of the factors.
func (ints[T]) products(c reduceArgs) {
	f := newProducts(c, func(a int64, v T) int64 { return a * int64(v) }, func(a, b int64) int64 { return a * b }, storeTo[int64](dtype.Int64, c.dst))
	f.row = func(a int64, x []T, _ int) int64 {
		b, c, d := int64(1), int64(1), int64(1)
		for ; len(x) >= 4; x = x[4:] {
			a, b, c, d = a*int64(x[0]), b*int64(x[1]), c*int64(x[2]), d*int64(x[3])
		}
		for _, v := range x {
			a *= int64(v)
		}
		return a * b * (c * d)
	}
	f.run()
}

// floatFolds has the reductions of floating-point numbers that are computed as T.
type floatFolds[T float32 | float64] struct{}

func (floatFolds[T]) extremes(c reduceArgs) { extremes(c, T(math.Inf(-1)), T(math.Inf(1))) }

func (floatFolds[T]) argExtremes(c reduceArgs) { argExtremes[T](c) }

func (floatFolds[T]) truth(c reduceArgs) { truthFold[T](c) }

func (floatFolds[T]) products(c reduceArgs) {
	f := newProducts(c, func(a float64, v T) float64 { return a * float64(v) }, func(a, b float64) float64 { return a * b }, storeRounded(c.xt, c.dst))
	f.four = fourProducts[T]
	f.run()
}

// complexFolds has the reductions of complex numbers.
type complexFolds[T complex64 | complex128] struct{}

func (complexFolds[T]) truth(c reduceArgs) { truthFold[T](c) }

func (complexFolds[T]) products(c reduceArgs) {
	size := c.xt.Size()
	products(c, func(a complex128, v T) complex128 { return mul128(a, complex128(v)) }, mul128,
		func(i int, a complex128) { *(*T)(unsafe.Add(c.dst, i*size)) = T(a) })
}
