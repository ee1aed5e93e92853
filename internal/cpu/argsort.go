package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// ArgSort writes the indices, Int64, that put the elements of each line along an axis of x in order. NaN is the
// largest; equal elements, -0 and 0 among them, keep their order. shape is that of both operands; strides count
// elements.
func ArgSort(dt dtype.DType, shape []int, axis int, descending bool, x unsafe.Pointer, xs []int, dst unsafe.Pointer, ds []int) error {
	o, ok := orderOf(dt)
	if !ok {
		return unsupported(expr.Sort, dt)
	}
	l := newLines(dt, dtype.Int64, shape, axis, x, xs, dst, ds)
	if l.n == 0 || l.outer.n == 0 {
		return nil
	}
	Parallel(l.outer.n, max(linesPart/l.n, 1), func(lo, hi int) {
		keys, places, spare := make([]uint64, l.n), make([]uint64, l.n), make([]uint64, l.n)
		for i := lo; i < hi; i++ {
			p := l.outer.at(i)
			loadKeys(o, keys, p[1], l.step)
			if descending {
				for j := range keys {
					keys[j] = ^keys[j]
				}
			}
			sortPlaces(keys, places, spare)
			copySpan(p[0], l.dstep, at0(places), 8, 8, l.n)
		}
	})
	return nil
}
