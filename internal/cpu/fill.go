package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
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
	return arange(dtype.Float64, t, n, dst, func(i int) float64 { return start + float64(float64(i)*step) })
}

// ArangeInt sets dst[i] = start + i*step for i < n, in the wrapping arithmetic of the
// integer type t. For Bool, dst[i] is true if the value is not 0. dst is dense.
func ArangeInt(t dtype.DType, n int, start, step int64, dst unsafe.Pointer) error {
	k := integerOf(t)
	switch {
	case t == dtype.Bool:
		return arange(dtype.Int64, t, n, dst, func(i int) int64 { return start + int64(i)*step })
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

// arange fills dst with f(i), which is of type from, converted to type t.
func arange[T float64 | int64](from, t dtype.DType, n int, dst unsafe.Pointer, f func(i int) T) error {
	c := newCast(from, t)
	Parallel(n, minPart, func(lo, hi int) {
		w := works.Get().(*work)
		defer works.Put(w)
		in := (*[blockLen]T)(unsafe.Pointer(&w.block[2]))
		for ; lo < hi; lo += blockLen {
			part := in[:min(blockLen, hi-lo)]
			for i := range part {
				part[i] = f(lo + i)
			}
			s := span{n: len(part)}
			s.p[0], s.step[0] = unsafe.Add(dst, lo*t.Size()), t.Size()
			s.p[1], s.step[1] = unsafe.Pointer(in), from.Size()
			c.span(s, w)
		}
	})
	return nil
}
