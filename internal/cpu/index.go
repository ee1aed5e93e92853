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
		if inside(it, s, length) {
			return
		}
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

// inside reports that the indices of a span are dense and within an axis of the given length.
func inside(it dtype.DType, s span, length int) bool {
	if s.step[0] != it.Size() {
		return false
	}
	if it == dtype.Int32 {
		return allInside(unsafe.Slice((*int32)(s.p[0]), s.n), length)
	}
	return allInside(unsafe.Slice((*int64)(s.p[0]), s.n), length)
}

// allInside reports whether -length <= v < length for all indices v. For such v neither v + length nor
// length - 1 - v is negative. For any other v one of them is, even if the other overflows.
func allInside[I int32 | int64](indices []I, length int) bool {
	outside := 0
	for _, v := range indices {
		outside |= (int(v) + length) | (length - 1 - int(v))
	}
	return outside >= 0
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

// Take copies elements of size bytes from an axis of x, which has the given length and the stride step.
// shape is dst's. xs are 0 along the dimensions of the indices, and is are 0 along all others. Strides and
// step count elements. Take reports whether all indices that it has read are within the axis. If not, a
// part of dst was written; CheckIndices can check the indices before.
func Take(size int, it dtype.DType, shape []int, x unsafe.Pointer, xs []int, length, step int, indices unsafe.Pointer, is []int, dst unsafe.Pointer, ds []int) bool {
	t := newNest(shape, operand{dst, ds, size}, operand{x, xs, size}, operand{indices, is, it.Size()})
	if len(t.axes) == 1 && t.n <= minPart {
		ok := true
		t.walk(0, t.n, func(s span, _ *work) { ok = takeSome(it, s, size, length, step*size) && ok })
		return ok
	}
	return takeParts(t, it, size, length, step)
}

// takeParts is Take by several goroutines, each of which computes a part.
func takeParts(t nest, it dtype.DType, size, length, step int) bool {
	var outside atomic.Bool
	pick := func(s span, _ *work) {
		if !takeSome(it, s, size, length, step*size) {
			outside.Store(true)
		}
	}
	if long, ok := t.longAxis(); ok {
		t.runAlong(long, pick)
		return !outside.Load()
	}
	// Tiles would ignore the indices.
	Parallel(t.n, minPart, func(lo, hi int) { t.walk(lo, hi, pick) })
	return !outside.Load()
}

// takeSome is takeElements for indices of type it.
func takeSome(it dtype.DType, s span, size, length, scale int) bool {
	if it == dtype.Int32 {
		return takeElements[int32](s, size, length, scale)
	}
	return takeElements[int64](s, size, length, scale)
}

// takeElements copies a span by indices of type I. Neighbours on the axis are scale bytes apart.
func takeElements[I int32 | int64](s span, size, length, scale int) bool {
	if s.step[2] == 0 {
		i := place(*(*I)(s.p[2]), length)
		if uint(i) >= uint(length) {
			return false
		}
		copySpan(s.p[0], s.step[0], unsafe.Add(s.p[1], i*scale), s.step[1], size, s.n)
		return true
	}
	switch size {
	case 1:
		return takeSpan[uint8, I](s, length, scale)
	case 2:
		return takeSpan[uint16, I](s, length, scale)
	case 4:
		return takeSpan[uint32, I](s, length, scale)
	case 8:
		return takeSpan[uint64, I](s, length, scale)
	}
	return takeSpan[complex128, I](s, length, scale)
}

// place returns an index counted from the front. If int cannot hold it, it returns -1. If int has 64 bits,
// it has no branch, because the signs of indices may be random.
func place[I int32 | int64](i I, length int) int {
	j := int64(i)
	j += int64(length) & (j >> 63)
	if int64(int(j)) != j {
		return -1
	}
	return int(j)
}

func takeSpan[T any, I int32 | int64](s span, length, scale int) bool {
	var t T
	size, index := int(unsafe.Sizeof(t)), int(unsafe.Sizeof(I(0)))
	if s.step[0] == size && s.step[1] == 0 && s.step[2] == index && scale == size {
		return takeDense(unsafe.Slice((*T)(s.p[0]), s.n), unsafe.Slice((*T)(s.p[1]), length), unsafe.Slice((*I)(s.p[2]), s.n))
	}
	for i := range s.n {
		at := place(*(*I)(unsafe.Add(s.p[2], i*s.step[2])), length)
		if uint(at) >= uint(length) {
			return false
		}
		*(*T)(unsafe.Add(s.p[0], i*s.step[0])) = *(*T)(unsafe.Add(s.p[1], i*s.step[1]+at*scale))
	}
	return true
}

// takeDense sets dst[i] = x[indices[i]].
func takeDense[T any, I int32 | int64](dst, x []T, indices []I) bool {
	n, i := len(x), 0
	dst = dst[:len(indices)]
	for ; i+4 <= len(indices); i += 4 {
		p, q := indices[i:i+4:i+4], dst[i:i+4:i+4]
		a, b, c, d := int(p[0]), int(p[1]), int(p[2]), int(p[3])
		if a|b|c|d < 0 {
			a, b, c, d = place(p[0], n), place(p[1], n), place(p[2], n), place(p[3], n)
		}
		if uint(a) >= uint(n) || uint(b) >= uint(n) || uint(c) >= uint(n) || uint(d) >= uint(n) {
			return false
		}
		q[0], q[1], q[2], q[3] = x[a], x[b], x[c], x[d]
	}
	for ; i < len(indices); i++ {
		at := place(indices[i], n)
		if uint(at) >= uint(n) {
			return false
		}
		dst[i] = x[at]
	}
	return true
}
