package cpu

import (
	"sync/atomic"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// CheckIndices finds the indices that are out of range for an axis of the given length. It
// returns the least index below -length and the greatest above length-1; each is 0 if there
// is none. indices, of type it, Int32 or Int64, have the given shape and strides.
func CheckIndices(it dtype.DType, shape []int, length int, indices unsafe.Pointer, strides []int) [2]int64 {
	var least, greatest atomic.Int64
	t := newNest(shape, operand{indices, strides, it.Size()})
	t.run(func(s span, _ *work) {
		lo, hi := int64(0), int64(0)
		for i := range s.n {
			v := indexAt(it, unsafe.Add(s.p[0], i*s.step[0]))
			lo, hi = min(lo, v), max(hi, v)
		}
		if lo < -int64(length) {
			atomicMin(&least, lo)
		}
		if hi >= int64(length) {
			for old := greatest.Load(); hi > old && !greatest.CompareAndSwap(old, hi); old = greatest.Load() {
			}
		}
	})
	return [2]int64{least.Load(), greatest.Load()}
}

// atomicMin sets a to the smaller of its value and v.
func atomicMin(a *atomic.Int64, v int64) {
	for old := a.Load(); v < old && !a.CompareAndSwap(old, v); old = a.Load() {
	}
}

func indexAt(it dtype.DType, p unsafe.Pointer) int64 {
	if it == dtype.Int32 {
		return int64(*(*int32)(p))
	}
	return *(*int64)(p)
}

// Take copies elements of size bytes from an axis of x with the given length, in which
// neighbours are step apart. The caller has checked the indices with CheckIndices. shape is
// dst's; xs are 0 along the dimensions that the indices span, and is are 0 along all
// others. Strides and step count elements.
func Take(size int, it dtype.DType, shape []int, x unsafe.Pointer, xs []int, length, step int, indices unsafe.Pointer, is []int, dst unsafe.Pointer, ds []int) {
	t := newNest(shape, operand{dst, ds, size}, operand{x, xs, size}, operand{indices, is, it.Size()})
	pick := func(s span, _ *work) {
		if it == dtype.Int32 {
			takeElements[int32](s, size, length, step*size)
		} else {
			takeElements[int64](s, size, length, step*size)
		}
	}
	// Tiles would ignore the indices.
	Parallel(t.n, minPart, func(lo, hi int) { t.walk(lo, hi, pick) })
}

// takeElements copies a span by indices of type I. Neighbours on the axis are scale bytes apart.
func takeElements[I int32 | int64](s span, size, length, scale int) {
	if s.step[2] == 0 {
		copySpan(s.p[0], s.step[0], unsafe.Add(s.p[1], place[I](s.p[2], length)*scale), s.step[1], size, s.n)
		return
	}
	switch size {
	case 1:
		takeSpan[uint8, I](s, length, scale)
	case 2:
		takeSpan[uint16, I](s, length, scale)
	case 4:
		takeSpan[uint32, I](s, length, scale)
	case 8:
		takeSpan[uint64, I](s, length, scale)
	default:
		takeSpan[complex128, I](s, length, scale)
	}
}

// place returns the index at p, counted from the front.
func place[I int32 | int64](p unsafe.Pointer, length int) int {
	i := int(*(*I)(p))
	if i < 0 {
		i += length
	}
	return i
}

func takeSpan[T any, I int32 | int64](s span, length, scale int) {
	for i := range s.n {
		at := place[I](unsafe.Add(s.p[2], i*s.step[2]), length) * scale
		*(*T)(unsafe.Add(s.p[0], i*s.step[0])) = *(*T)(unsafe.Add(s.p[1], i*s.step[1]+at))
	}
}
