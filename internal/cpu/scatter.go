package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// Repeats writes each index of counts to dst as often as its element says, one after the other. dst has as many elements as
// the counts add up to.
func Repeats(counts, dst []int64) {
	at := 0
	for i, n := range counts {
		v, first := int64(i), at
		if first+4 <= len(dst) { // small counts are random: without a branch on them. Later elements overwrite the surplus.
			few := dst[first:][:4]
			few[0], few[1], few[2], few[3] = v, v, v, v
			first += 4
		}
		at += int(n)
		for ; first < at; first++ {
			dst[first] = v
		}
	}
}

// PutAlong writes, for each index, of type it, the element of values at the same position to the element of dst at the
// index along an axis and at the same position along the others. The axis has n elements in dst. Elements are written
// in order along the axis, so the last of equal indices counts. shape is that of indices and values. All indices must
// be within the axis; negative ones count from the end. Strides count elements of size bytes.
func PutAlong(size int, it dtype.DType, shape []int, axis, n int, indices unsafe.Pointer, is []int, values unsafe.Pointer, vs []int, dst unsafe.Pointer, ds []int) {
	l := putLines{size: size, n: n, count: shape[axis]}
	l.step = [3]int{ds[axis] * size, vs[axis] * size, is[axis] * it.Size()}
	rest := newNest(without(shape, axis), operand{dst, without(ds, axis), size}, operand{values, without(vs, axis), size}, operand{indices, without(is, axis), it.Size()})
	put := putSpanOf[int64](size)
	if it == dtype.Int32 {
		put = putSpanOf[int32](size)
	}
	Parallel(rest.n, max(1, minPart/max(1, l.count)), func(lo, hi int) {
		rest.walk(lo, hi, func(s span, _ *work) { put(l, s) })
	})
}

// putLines are the lines of PutAlong: the elements along the axis in dst, the number of indices of a line, and the
// bytes from one element to the next of dst, values and indices.
type putLines struct {
	size, n, count int
	step           [3]int
}

func putSpanOf[I int32 | int64](size int) func(l putLines, s span) {
	switch size {
	case 1:
		return putSpan[uint8, I]
	case 2:
		return putSpan[uint16, I]
	case 4:
		return putSpan[uint32, I]
	case 8:
		return putSpan[uint64, I]
	}
	return putSpan[complex128, I]
}

// putSpan writes a span of lines: line by line or, if adjacent elements in memory belong to different lines, one
// element of each line at a time.
func putSpan[T any, I int32 | int64](l putLines, s span) {
	if s.n > 1 && abs(s.step[2]) < abs(l.step[2]) {
		for k := range l.count {
			putRun[T, I](l.n, s.n, l.step[0], s.p[0], unsafe.Add(s.p[1], k*l.step[1]), unsafe.Add(s.p[2], k*l.step[2]), s.step)
		}
		return
	}
	for i := range s.n {
		putRun[T, I](l.n, l.count, l.step[0], unsafe.Add(s.p[0], i*s.step[0]), unsafe.Add(s.p[1], i*s.step[1]), unsafe.Add(s.p[2], i*s.step[2]), [maxOperands]int{0, l.step[1], l.step[2]})
	}
}

// putRun writes count elements, each to the element of dst that its index names. Adjacent elements along the axis are
// scale bytes apart. steps are the distances from one element of the run to the next.
func putRun[T any, I int32 | int64](n, count, scale int, dst, values, indices unsafe.Pointer, steps [maxOperands]int) {
	for i := range count {
		at := place(*(*I)(unsafe.Add(indices, i*steps[2])), n)
		*(*T)(unsafe.Add(dst, i*steps[0]+at*scale)) = *(*T)(unsafe.Add(values, i*steps[1]))
	}
}
