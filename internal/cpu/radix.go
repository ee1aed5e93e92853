package cpu

import (
	"cmp"
	"math/bits"
	"slices"
)

const (
	// shortSort is the largest number of keys for which a comparison sort is faster.
	shortSort = 64
	// shortRun is shortSort for keys that insertion sorts.
	shortRun = 16
	// wideDigits is the number of keys from which digits have 11 bits instead of 8.
	wideDigits = 4096
	// digitBits is the largest number of bits of a digit: more counts would not stay in the first-level cache.
	digitBits  = 11
	mostDigits = 1 << digitBits
	// The radix sort looks at spareBits more bits than are needed to number the keys. Then few keys of most
	// distributions have equal bits.
	spareBits = 11
)

// sortKeys sorts x; spare is scratch of the same length. Keys whose bits from `least` on are equal must be in order.
func sortKeys[K key](x, spare []K, least int) {
	switch {
	case sortsByVectors[K]() && len(x) <= networkKeys[K]():
		sortNetwork(x, x)
	case len(x) <= shortSort:
		slices.Sort(x)
	case least == 0 && countingSort(x):
	case sortsByVectors[K]() && (least == 0 || bits.Len64(differing(x))-least > 2*digitBits): // two digits take less time
		quickSort(x, spare)
	default:
		radixSort(x, spare, least)
	}
}

// radixSort is sortKeys by a radix sort, least significant digit first, of the upper bits in which keys differ. Runs of
// keys with equal upper bits, which are usually short, are then sorted separately.
func radixSort[K key](x, spare []K, least int) {
	if len(x) <= shortSort {
		slices.Sort(x)
		return
	}
	width := bits.Len64(differing(x)) - least // number of bits to sort by
	if width <= 0 {
		return
	}
	digit := 8
	if len(x) >= wideDigits {
		digit = digitBits
	}
	passes := (min(width, bits.Len(uint(len(x)))+spareBits) + digit - 1) / digit
	base := least + max(0, width-passes*digit)
	from, to := x, spare
	var counts [mostDigits]int
	for p := range passes {
		c, shift, mask := counts[:1<<digit], base+p*digit, uint64(1)<<digit-1
		clear(c)
		countDigits(from, shift, mask, &counts)
		at := 0
		for d, n := range c {
			c[d] = at
			at += n
		}
		for _, v := range from {
			d := uint64(v) >> shift & mask
			to[c[d]] = v
			c[d]++
		}
		from, to = to, from
	}
	if passes%2 == 1 {
		copy(x, spare)
	}
	if base > least {
		eachRun(x, base, func(lo, hi int) {
			if hi-lo > shortRun {
				radixSort(x[lo:hi], spare[lo:hi], least)
				return
			}
			insertionSort(x[lo:hi])
		})
	}
}

// countingSort sorts keys that differ in their lowest digitBits bits only. It counts how often each key occurs, and
// overwrites x with the keys in order. If the keys differ in other bits, or if there are fewer than mostDigits, it
// returns false and leaves x unchanged.
func countingSort[K key](x []K) bool {
	const part = 256 // number of keys between checks of the bits so far
	if len(x) < mostDigits {
		return false
	}
	var d uint64
	for i := 0; i < len(x); i += part {
		for _, v := range x[i:min(i+part, len(x))] {
			d |= uint64(v ^ x[0])
		}
		if d >= mostDigits {
			return false
		}
	}
	var counts [mostDigits]int
	mask := uint64(1)<<bits.Len64(d) - 1
	countDigits(x, 0, mask, &counts)
	base, at := uint64(x[0])&^mask, 0
	for digit, n := range counts[:mask+1] {
		same := x[at : at+n]
		for i := range same {
			same[i] = K(base | uint64(digit))
		}
		at += n
	}
	return true
}

// countDigits adds the number of keys with each digit, the bits from shift on that mask has, to counts.
func countDigits[K key](x []K, shift int, mask uint64, counts *[mostDigits]int) {
	mask &= mostDigits - 1
	for _, v := range x {
		counts[uint64(v)>>(shift&63)&mask&(mostDigits-1)]++
	}
}

// differing returns the bits in which keys differ.
func differing[K key](x []K) uint64 {
	var d K
	for _, v := range x {
		d |= v ^ x[0]
	}
	return uint64(d)
}

// eachRun calls f with the bounds of each run of two or more keys whose bits from base on are equal.
func eachRun[K key](x []K, base int, f func(lo, hi int)) {
	for i := 1; i < len(x); i++ {
		if (x[i]^x[i-1])>>base != 0 {
			continue
		}
		lo := i - 1
		for i++; i < len(x) && (x[i]^x[lo])>>base == 0; {
			i++
		}
		f(lo, i)
	}
}

func insertionSort[K key](x []K) {
	for i := 1; i < len(x); i++ {
		v, j := x[i], i
		for ; j > 0 && x[j-1] > v; j-- {
			x[j] = x[j-1]
		}
		x[j] = v
	}
}

// sortPlaces sets places to the indices of keys in ascending order. Equal keys are in the order of their indices.
// places and spare have the length of keys.
//
// A 64-bit number holds an index and, above it, as many as fit of the bits in which keys differ.
func sortPlaces(keys, places, spare []uint64) {
	if len(keys) == 0 {
		return
	}
	of := bits.Len(uint(len(keys) - 1)) // bits of an index
	width := bits.Len64(differing(keys))
	dropped := max(0, width+of-64)
	for i, v := range keys {
		places[i] = v<<(64-width)>>(64-width)>>dropped<<of | uint64(i)
	}
	sortKeys(places, spare, of)
	mask := uint64(1)<<of - 1
	if dropped > 0 {
		eachRun(places, of, func(lo, hi int) {
			slices.SortFunc(places[lo:hi], func(a, b uint64) int {
				if c := cmp.Compare(keys[a&mask], keys[b&mask]); c != 0 {
					return c
				}
				return cmp.Compare(a, b)
			})
		})
	}
	for i := range places {
		places[i] &= mask
	}
}
