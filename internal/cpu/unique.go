package cpu

import (
	"sort"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// Unique moves the distinct ones of n elements, which Sort has sorted, to the beginning of sorted, and returns their
// number. x holds the elements before the sort, step elements apart. All NaNs count as one element, and so do -0 and 0.
// Of these the first one in x remains.
func Unique(dt dtype.DType, n int, x unsafe.Pointer, step int, sorted unsafe.Pointer) int {
	switch dt {
	case dtype.Float32:
		return uniqueFloats[float32](n, x, step, sorted)
	case dtype.Float64:
		return uniqueFloats[float64](n, x, step, sorted)
	}
	if h, ok := dt.Half(); ok {
		return uniqueHalves(n, x, step, sorted, h.Infinity())
	}
	switch dt.Size() {
	case 1:
		return uniqueBits[uint8](n, sorted)
	case 2:
		return uniqueBits[uint16](n, sorted)
	case 4:
		return uniqueBits[uint32](n, sorted)
	}
	return uniqueBits[uint64](n, sorted)
}

// compact moves the first of each run of equal elements to the front, and returns the number of runs. It has no branch
// that depends on the elements.
func compact[T comparable](v []T) int {
	if len(v) == 0 {
		return 0
	}
	k, last := 0, v[0]
	for _, e := range v {
		k += int(bit(e != last))
		v[k] = e
		last = e
	}
	return k + 1
}

func uniqueBits[T comparable](n int, sorted unsafe.Pointer) int {
	return compact(unsafe.Slice((*T)(sorted), n))
}

func uniqueFloats[T float32 | float64](n int, x unsafe.Pointer, step int, sorted unsafe.Pointer) int {
	return uniqueNumbers(n, x, step, sorted, func(e T) bool { return e < 0 }, func(e T) bool { return e == 0 }, func(e T) bool { return e != e })
}

// uniqueHalves is Unique for a half type, whose infinity has the given bits.
func uniqueHalves(n int, x unsafe.Pointer, step int, sorted unsafe.Pointer, infinity uint16) int {
	const sign = 1 << 15
	return uniqueNumbers(n, x, step, sorted, func(e uint16) bool { return e > sign }, func(e uint16) bool { return e&^sign == 0 }, func(e uint16) bool { return e&^sign > infinity })
}

func uniqueNumbers[T float32 | float64 | uint16](n int, x unsafe.Pointer, step int, sorted unsafe.Pointer, isNegative, isZero, isNaN func(T) bool) int {
	first := func(is func(T) bool) (e T) {
		for i := range n {
			if e = *(*T)(unsafe.Add(x, i*step*int(unsafe.Sizeof(e)))); is(e) {
				break
			}
		}
		return e
	}
	v := unsafe.Slice((*T)(sorted), n)
	numbers := sort.Search(n, func(i int) bool { return isNaN(v[i]) }) // NaNs are last
	k := compact(v[:numbers])
	if at := sort.Search(k, func(i int) bool { return !isNegative(v[i]) }); at < k && isZero(v[at]) {
		if at+1 < k && isZero(v[at+1]) { // the bits of -0 and 0 differ
			k = at + 1 + copy(v[at+1:k], v[at+2:k])
		}
		v[at] = first(isZero)
	}
	if numbers < n {
		v[k] = first(isNaN)
		k++
	}
	return k
}
