package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// SearchCall is a search of values in a sorted list, whose NaNs are last. All arrays are dense.
type SearchCall struct {
	List, Values unsafe.Pointer // both have the same type
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
	numbers := list[:notNaN(list)]
	ofNaN := len(numbers)
	if c.Right {
		ofNaN = len(list)
	}
	Parallel(c.Count, searchPart, func(lo, hi int) {
		f := newFinder(numbers, c.Right)
		f.find(dst[lo:hi], values[lo:hi])
		for i, v := range values[lo:hi] {
			if v != v {
				dst[lo+i] = int64(ofNaN)
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
		f := newFinder(numbers, false)
		f.blocks(values[lo:hi], func(from int, values []T, places []int64) {
			for i, v := range values {
				at := int(places[i])
				dst[lo+from+i] = at < len(numbers) && numbers[at] == v
			}
		})
	})
}

// notNaN returns the number of elements before the NaNs at the end of a sorted list.
func notNaN[T number](list []T) int {
	n := len(list)
	for n > 0 && list[n-1] != list[n-1] {
		n--
	}
	return n
}

// finder finds the places of values in a sorted list without NaN: the number of elements below a value or, with right, not
// above it. Values are often sorted, and then a place is near the last one. near is how often the finder still tries that.
type finder[T number] struct {
	list     []T
	right    int // 1 or 0
	at, near int // at is the last place
}

func newFinder[T number](list []T, right bool) finder[T] {
	f := finder[T]{list: list}
	if right {
		f.right = 1
	}
	return f
}

// findBlock is the number of places that blocks holds between a search and their use.
const findBlock = 256

// blocks calls f for consecutive blocks of values with their places. from is the index of the first value of a block.
func (f *finder[T]) blocks(values []T, use func(from int, values []T, places []int64)) {
	var places [findBlock]int64
	for from := 0; from < len(values); from += findBlock {
		block := values[from:min(from+findBlock, len(values))]
		f.find(places[:len(block)], block)
		use(from, block, places[:len(block)])
	}
}

// find sets dst to the places of values. That of NaN is any from 0 to the length of the list.
func (f *finder[T]) find(dst []int64, values []T) {
	for i := 0; i < len(values); {
		if f.near > 0 {
			if at, ok := f.ahead(values[i]); ok {
				f.near, f.at = patience, at
				dst[i] = int64(at)
				i++
				continue
			}
			f.near--
		}
		var four [4]T
		n := copy(four[:], values[i:])
		places := f.four(&four)
		for _, at := range places[:n] {
			if f.at <= at && at <= f.at+reach {
				f.near = patience
			}
			f.at = at
			dst[i] = int64(at)
			i++
		}
	}
}

const (
	reach    = 8 // a place is near the last one if it is at most so far behind it
	patience = 8 // attempts to find a place near the last one before others are found by halving only
)

// ahead returns the place of v if it is near the last one.
func (f *finder[T]) ahead(v T) (at int, found bool) {
	at = f.at
	if at > 0 && counts(f.list[at-1], v, f.right) == 0 {
		return 0, false
	}
	for end := min(at+reach, len(f.list)); at < end; at++ {
		if counts(f.list[at], v, f.right) == 0 {
			return at, true
		}
	}
	return at, at == len(f.list)
}

// four returns the places of four values by binary searches side by side. None waits for another, and no branch depends on
// the values.
func (f *finder[T]) four(v *[4]T) [4]int {
	list, right := unsafe.SliceData(f.list), f.right
	var a, b, c, d int
	for n := len(f.list); n > 0; {
		half := (n + 1) / 2
		a += half * counts(*offset(list, a+half-1), v[0], right)
		b += half * counts(*offset(list, b+half-1), v[1], right)
		c += half * counts(*offset(list, c+half-1), v[2], right)
		d += half * counts(*offset(list, d+half-1), v[3], right)
		n -= half
	}
	return [4]int{a, b, c, d}
}

// counts returns 1 if x is less than v, or equal to it and right is 1, and otherwise 0.
func counts[T number](x, v T, right int) int {
	less, equal := 0, 0
	if x < v {
		less = 1
	}
	if x == v {
		equal = 1
	}
	return less | equal&right
}
