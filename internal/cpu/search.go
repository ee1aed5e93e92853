package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// SearchCall is a search of values in a sorted list, whose NaNs are last. All arrays are dense.
type SearchCall struct {
	List, Values unsafe.Pointer // of one type
	N, Count     int            // their lengths
	Right        bool           // the index behind equal elements, not before them
	Dst          unsafe.Pointer // Count elements
}

// Search writes, for each value, the number of elements of the list below it, or with Right not above it, as int64. NaN is
// the largest. It reports false for a type without a kernel.
func Search(dt dtype.DType, c SearchCall) bool {
	switch k := wholeOf(dt); {
	case dt == dtype.Float32:
		search[float32](c)
	case dt == dtype.Float64:
		search[float64](c)
	case k != nil:
		k.search(c)
	default:
		return false
	}
	return true
}

// IsIn writes whether each value is in the list, as bool. NaN is in nothing. The list has at least one element. It reports
// false for a type without a kernel.
func IsIn(dt dtype.DType, c SearchCall) bool {
	switch k := wholeOf(dt); {
	case dt == dtype.Float32:
		isIn[float32](c)
	case dt == dtype.Float64:
		isIn[float64](c)
	case k != nil:
		k.isIn(c)
	default:
		return false
	}
	return true
}

func (ints[T]) search(c SearchCall) { search[T](c) }

// isIn is IsIn for T. If the list's numbers are close together, a table says which of them it has.
func (ints[T]) isIn(c SearchCall) {
	list, values, dst := unsafe.Slice((*T)(c.List), c.N), unsafe.Slice((*T)(c.Values), c.Count), unsafe.Slice((*bool)(c.Dst), c.Count)
	least := uint64(list[0])
	span := uint64(list[c.N-1]) - least
	if span >= 8*uint64(c.N+c.Count) {
		isIn[T](c)
		return
	}
	has := make([]bool, span+1)
	for _, v := range list {
		has[uint64(v)-least] = true
	}
	Parallel(c.Count, minPart, func(lo, hi int) {
		for i, v := range values[lo:hi] {
			d := uint64(v) - least
			dst[lo+i] = d < uint64(len(has)) && has[d]
		}
	})
}

// search is Search for T.
func search[T number](c SearchCall) {
	list, values, dst := unsafe.Slice((*T)(c.List), c.N), unsafe.Slice((*T)(c.Values), c.Count), unsafe.Slice((*int64)(c.Dst), c.Count)
	numbers, find := list[:notNaN(list)], lower[T]
	if c.Right {
		find = upper[T]
	}
	Parallel(c.Count, searchPart, func(lo, hi int) {
		var h hunt
		for i, v := range values[lo:hi] {
			switch {
			case v == v:
				h.found(find(numbers, v, h.guess()))
				dst[lo+i] = int64(h.at)
			case c.Right:
				dst[lo+i] = int64(len(list))
			default:
				dst[lo+i] = int64(len(numbers))
			}
		}
	})
}

// searchPart is the number of searches that one goroutine makes at least.
const searchPart = 1 << 10

func isIn[T number](c SearchCall) {
	list, values, dst := unsafe.Slice((*T)(c.List), c.N), unsafe.Slice((*T)(c.Values), c.Count), unsafe.Slice((*bool)(c.Dst), c.Count)
	numbers := list[:notNaN(list)]
	Parallel(c.Count, searchPart, func(lo, hi int) {
		var h hunt
		for i, v := range values[lo:hi] {
			h.found(lower(numbers, v, h.guess()))
			dst[lo+i] = h.at < len(numbers) && numbers[h.at] == v
		}
	})
}

// hunt is the last result of several searches. Values are often sorted, and then the next result is the same or the one
// after it. near is how often the hunt still tries that.
type hunt struct{ at, near int }

// guess returns the last result, or -1 if the next one is unlikely to be near it.
func (h *hunt) guess() int {
	if h.near == 0 {
		return -1
	}
	return h.at
}

func (h *hunt) found(at int) {
	if at == h.at || at == h.at+1 {
		h.near = 8
	} else if h.near > 0 {
		h.near--
	}
	h.at = at
}

// notNaN returns the number of elements before the NaNs at the end of a sorted list.
func notNaN[T number](list []T) int {
	n := len(list)
	for n > 0 && list[n-1] != list[n-1] {
		n--
	}
	return n
}

// lower returns the number of elements of a sorted list that are below v. It first tries guess and guess+1, unless guess
// is -1.
func lower[T number](list []T, v T, guess int) int {
	for g := guess; g >= 0 && g <= min(guess+1, len(list)); g++ {
		if (g == 0 || list[g-1] < v) && (g == len(list) || !(list[g] < v)) {
			return g
		}
	}
	base, n := 0, len(list)
	for n > 0 {
		half := (n + 1) / 2
		if list[base+half-1] < v {
			base += half
		}
		n -= half
	}
	return base
}

// upper returns the number of elements of a sorted list that are not above v, as lower.
func upper[T number](list []T, v T, guess int) int {
	for g := guess; g >= 0 && g <= min(guess+1, len(list)); g++ {
		if (g == 0 || list[g-1] <= v) && (g == len(list) || !(list[g] <= v)) {
			return g
		}
	}
	base, n := 0, len(list)
	for n > 0 {
		half := (n + 1) / 2
		if list[base+half-1] <= v {
			base += half
		}
		n -= half
	}
	return base
}
