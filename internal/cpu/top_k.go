package cpu

import (
	"cmp"
	"math/bits"
	"slices"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// indexedKey is a key and the index of its element.
type indexedKey struct {
	key   uint64
	place int64
}

// compare orders larger keys first, and equal keys by index.
func (a indexedKey) compare(b indexedKey) int {
	if c := cmp.Compare(b.key, a.key); c != 0 {
		return c
	}
	return cmp.Compare(a.place, b.place)
}

// firstLargest is TopK for k = 1. lines are the lines of values, x and places.
func firstLargest(dt dtype.DType, shape []int, axis int, x unsafe.Pointer, xs []int, lines []operand) error {
	rest, size := without(shape, axis), dt.Size()
	n, strides := 1, make([]int, len(rest))
	for d := len(rest) - 1; d >= 0; d-- {
		strides[d], n = n, n*rest[d]
	}
	if n == 0 {
		return nil
	}
	largest := make([]int64, n)
	if err := Reduce(expr.ArgMax, dt, dtype.Int64, shape, 1<<axis, x, xs, at0(largest)); err != nil {
		return err
	}
	t := newNest(rest, append(lines, operand{at0(largest), strides, 8})...)
	for i := range n {
		p := t.at(i)
		place := *(*int64)(p[3])
		copySpan(p[0], size, unsafe.Add(p[1], int(place)*xs[axis]*size), size, size, 1)
		*(*int64)(p[2]) = place
	}
	return nil
}

// TopK writes the k largest elements of each line along an axis of x, in descending order,
// and their indices, of type Int64. NaN is the largest. Equal elements, including -0 and 0,
// are in the order of their indices. shape is x's; strides count elements.
func TopK(dt dtype.DType, shape []int, axis, k int, x unsafe.Pointer, xs []int, values unsafe.Pointer, vs []int, places unsafe.Pointer, ps []int) error {
	o, ok := orderOf(dt)
	if !ok {
		return unsupported(expr.TopK, dt)
	}
	n := shape[axis]
	if n == 0 || k == 0 {
		return nil
	}
	rest, step := without(shape, axis), xs[axis]*o.size
	lines := []operand{{values, without(vs, axis), o.size}, {x, without(xs, axis), o.size}, {places, without(ps, axis), 8}}
	if k == 1 {
		return firstLargest(dt, shape, axis, x, xs, lines)
	}
	t := newNest(rest, lines...)
	var dense func(room *keepRoom, x unsafe.Pointer, n, k int, out []indexedKey) []indexedKey
	if step == o.size && candidates(n, k) < n {
		dense = denseLargest(dt, o)
	}
	Parallel(t.n, max(minPart/n, 1), func(lo, hi int) {
		part := make([]uint64, min(n, keyStretch))
		best, room := make([]indexedKey, 0, candidates(n, k)), new(keepRoom)
		for i := lo; i < hi; i++ {
			p := t.at(i)
			if dense != nil {
				best = dense(room, p[1], n, k, best[:0])
			} else {
				best = largestOf(n, k, best[:0], part, func(to []uint64, at int) {
					loadKeys(o, to, unsafe.Add(p[1], at*step), step)
				})
			}
			for j, b := range best {
				copySpan(unsafe.Add(p[0], j*vs[axis]*o.size), o.size, unsafe.Add(p[1], int(b.place)*xs[axis]*o.size), o.size, o.size, 1)
				*(*int64)(unsafe.Add(p[2], j*ps[axis]*8)) = b.place
			}
		}
	})
	return nil
}

// denseLargest returns a function that appends the first k of n contiguous elements, in the order of indexedKey, to out.
// It is nil for types without comparisons of their own.
func denseLargest(dt dtype.DType, o order) func(room *keepRoom, x unsafe.Pointer, n, k int, out []indexedKey) []indexedKey {
	atMost := comparison(expr.Le, dt).vs
	if atMost == nil {
		return nil
	}
	keep := keepLargestDense[uint64]
	switch o.size {
	case 1:
		keep = keepLargestDense[uint8]
	case 2:
		keep = keepLargestDense[uint16]
	case 4:
		keep = keepLargestDense[uint32]
	}
	return func(room *keepRoom, x unsafe.Pointer, n, k int, out []indexedKey) []indexedKey {
		out = keep(room, o, atMost, x, n, k, out)
		slices.SortFunc(out, indexedKey.compare)
		return out
	}
}

// keepRoom is the scratch memory of keepLargestDense.
type keepRoom struct {
	truths [512]uint8
	key    uint64
}

// keepLargestDense is keepLargest for n contiguous elements. Vector code compares a block of them with the smallest of the
// k largest so far. Only elements that are larger than it, or NaN, become keys. The first blocks are short, because many of
// their elements are among the k largest so far. atMost writes x[i] <= y[0] as bytes.
func keepLargestDense[K key](room *keepRoom, o order, atMost func(dst, x, y unsafe.Pointer, n int), x unsafe.Pointer, n, k int, out []indexedKey) []indexedKey {
	const ones = 0x0101010101010101
	elements := unsafe.Slice((*K)(x), n)
	truths, one := &room.truths, unsafe.Slice((*K)(unsafe.Pointer(&room.key)), 1)
	consider := func(i int) {
		one[0] = elements[i]
		keysOf(o, one, true)
		out = keepLargest([]uint64{uint64(one[0])}, i, k, out)
	}
	for i := range k {
		consider(i)
	}
	for at := k; at < n; {
		block := elements[at:][:min(max(at&^31, 32), len(truths), n-at)]
		atMost(unsafe.Pointer(truths), at0(block), unsafe.Pointer(&elements[out[0].place]), len(block))
		for i := len(block); i%8 != 0; i++ {
			truths[i] = 1
		}
		for i := 0; i < len(block); i += 8 {
			for larger := *(*uint64)(unsafe.Pointer(&truths[i])) ^ ones; larger != 0; larger &= larger - 1 {
				consider(at + i + bits.TrailingZeros64(larger)/8)
			}
		}
		at += len(block)
	}
	return out
}

// loadKeys reads a line as keys; -0 and 0 have the same key.
func loadKeys(o order, to []uint64, x unsafe.Pointer, step int) {
	switch o.size {
	case 1:
		loadKeysOf[uint8](o, to, x, step)
	case 2:
		loadKeysOf[uint16](o, to, x, step)
	case 4:
		loadKeysOf[uint32](o, to, x, step)
	default:
		loadKeysOf[uint64](o, to, x, step)
	}
}

func loadKeysOf[K key](o order, to []uint64, x unsafe.Pointer, step int) {
	var some [256]K
	for i := 0; i < len(to); i += len(some) {
		m := min(len(some), len(to)-i)
		copySpan(unsafe.Pointer(&some), o.size, unsafe.Add(x, i*step), step, o.size, m)
		keysOf(o, some[:m], true)
		for j, v := range some[:m] {
			to[i+j] = uint64(v)
		}
	}
}

// keyStretch is the number of keys of a line that are in memory at a time: a broadcast line
// may be longer than memory.
const keyStretch = 4096

// candidates returns the number of a line's n keys that are kept to find the k largest. If k
// is not much smaller than n, all are kept and sorted.
func candidates(n, k int) int {
	if k > n/4 {
		return n
	}
	return k
}

// largestOf appends the first k of a line's n keys, in the order of indexedKey, to out. load
// fills a slice, which is part or shorter, with the keys from an index on.
func largestOf(n, k int, out []indexedKey, part []uint64, load func(to []uint64, at int)) []indexedKey {
	all := candidates(n, k) == n
	for at := 0; at < n; at += len(part) {
		keys := part[:min(len(part), n-at)]
		load(keys, at)
		if !all {
			out = keepLargest(keys, at, k, out)
			continue
		}
		for i, v := range keys {
			out = append(out, indexedKey{v, int64(at + i)})
		}
	}
	if all {
		sortIndexed(out)
	} else {
		slices.SortFunc(out, indexedKey.compare)
	}
	return out[:k]
}

// keepLargest merges a line's keys from index at on into the k largest, a heap whose root
// is the last of them in order.
func keepLargest(keys []uint64, at, k int, out []indexedKey) []indexedKey {
	for i, v := range keys {
		if len(out) == k && v <= out[0].key {
			continue
		}
		b := indexedKey{v, int64(at + i)}
		if len(out) < k {
			out = append(out, b)
			for c := len(out) - 1; c > 0; {
				parent := (c - 1) / 2
				if out[c].compare(out[parent]) <= 0 {
					break
				}
				out[c], out[parent] = out[parent], out[c]
				c = parent
			}
			continue
		}
		out[0] = b
		for parent := 0; ; {
			c := 2*parent + 1
			if c >= k {
				break
			}
			if c+1 < k && out[c+1].compare(out[c]) > 0 {
				c++
			}
			if out[c].compare(out[parent]) <= 0 {
				break
			}
			out[c], out[parent] = out[parent], out[c]
			parent = c
		}
	}
	return out
}
