package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Fill sets every element of dst to *elem. ds are strides in elements.
func Fill(t dtype.DType, shape []int, elem unsafe.Pointer, dst unsafe.Pointer, ds []int) error {
	if !t.Valid() {
		return unsupported("Fill", t)
	}
	size := t.Size()
	loops := newNest(shape, operand{dst, ds, size})
	loops.run(func(s span, _ *work) { copySpan(s.p[0], s.step[0], elem, 0, size, s.n) })
	return nil
}

// Arange sets dst[i] = start + i*step for i < n, computed in float64 and
// converted to t as Cast does; dst is dense. For integers and Bool see
// ArangeInt.
func Arange(t dtype.DType, n int, start, step float64, dst unsafe.Pointer) error {
	if !t.IsFloat() && !t.IsComplex() {
		return unsupported("Arange", t)
	}
	c := newCast(dtype.Float64, t)
	add, mul := kernels.binary(expr.Add, dtype.Float64), kernels.binary(expr.Mul, dtype.Float64)
	Parallel(n, minPart, func(lo, hi int) {
		w := works.Get().(*work)
		defer works.Put(w)
		in := unsafe.Pointer(&w.block[2])
		for ; lo < hi; lo += blockLen {
			m, first := min(blockLen, hi-lo), float64(lo)
			s := span{n: m}
			s.p[0], s.step[0] = unsafe.Add(dst, lo*t.Size()), t.Size()
			s.p[1], s.step[1] = in, 8
			to := in
			if t == dtype.Float64 {
				to = s.p[0]
			}
			if int64(lo) < 1<<53-blockLen { // the sum is exact
				add.vs(to, unsafe.Pointer(&firstNumbers), unsafe.Pointer(&first), m)
			} else {
				numbers := unsafe.Slice((*float64)(to), m)
				for i := range numbers {
					numbers[i] = float64(lo + i)
				}
			}
			if step != 1 {
				mul.vs(to, to, unsafe.Pointer(&step), m)
			}
			add.vs(to, to, unsafe.Pointer(&start), m)
			if t != dtype.Float64 {
				c.span(s, w)
			}
		}
	})
	return nil
}

// firstNumbers are 0, 1, 2, …
var firstNumbers = func() (a [blockLen]float64) {
	for i := range a {
		a[i] = float64(i)
	}
	return a
}()

// ArangeInt sets dst[i] = start + i*step for i < n, in the wrapping arithmetic of the
// integer type t. For Bool, dst[i] is true if the value is not 0. dst is dense.
func ArangeInt(t dtype.DType, n int, start, step int64, dst unsafe.Pointer) error {
	k := integerOf(t)
	switch {
	case t == dtype.Bool:
		d := unsafe.Slice((*bool)(dst), n)
		for i := range d {
			d[i] = start+int64(i)*step != 0
		}
		return nil
	case k == nil:
		return unsupported("ArangeInt", t)
	}
	k.arange(n, start, step, dst)
	return nil
}

// arange is ArangeInt for T.
func (ints[T]) arange(n int, start, step int64, dst unsafe.Pointer) {
	d := unsafe.Slice((*T)(dst), n)
	Parallel(n, minPart, func(lo, hi int) {
		for i := lo; i < hi; i++ {
			d[i] = T(start + int64(i)*step)
		}
	})
}
