package cpu

import (
	"math/bits"
	"unsafe"
)

// networkKeys returns the largest number of keys that a sorting network sorts.
func networkKeys[K key]() int {
	if vectorAVX512 || unsafe.Sizeof(K(0)) == 4 {
		return 128
	}
	return 64
}

// sortsByVectors reports whether quickSort sorts keys of type K on this processor.
func sortsByVectors[K key]() bool { return vectorAVX && unsafe.Sizeof(K(0)) >= 4 }

// quickSort sorts x with vector instructions. spare is scratch memory of the same length. It is not used if x has at most
// networkKeys keys.
func quickSort[K key](x, spare []K) {
	quickSortFrom(x, x, spare, 2*bits.Len(uint(len(x))))
}

// quickSortFrom sorts the keys of from, which is dst or other, into dst; all three have the same length. After depth
// partitions a radix sort takes over, so that no order of the keys takes quadratic time.
func quickSortFrom[K key](dst, from, other []K, depth int) {
	for len(from) > networkKeys[K]() {
		if depth--; depth < 0 {
			if &dst[0] != &from[0] {
				copy(dst, from)
				other = from
			}
			radixSort(dst, other, 0)
			return
		}
		pivot, same := middleKey(from)
		if same && onlyKey(from, pivot) {
			copy(dst, from)
			return
		}
		n := partition(from, other, pivot)
		if n == 0 { // the pivot is the least key, and all keys are in other; those equal to it come first
			from, other = other, from
			if n = len(from); pivot != ^K(0) {
				n = partition(from, other, pivot+1)
			}
			for i := range dst[:n] {
				dst[i] = pivot
			}
		} else {
			quickSortFrom(dst[:n], from[:n], other[:n], depth)
		}
		dst, from, other = dst[n:], other[n:], from[n:]
	}
	sortNetwork(dst, from)
}

// quickPick sets out[i] to the key at places[i] - first of the sorted x. places ascends. It partitions as quickSort does, but only
// parts with a place, and overwrites x and spare, which have the same length. After depth partitions a selection by digits
// takes over.
func quickPick[K key](x, spare []K, first int, places []int, out []K, depth int) {
	for len(places) > 0 {
		if len(x) <= networkKeys[K]() {
			sortNetwork(x, x)
			for i, at := range places {
				out[i] = x[at-first]
			}
			return
		}
		if depth--; depth < 0 {
			within := make([]int, len(places))
			for i, at := range places {
				within[i] = at - first
			}
			one := ranker[K]{parts: 1}
			one.pickByDigits(x, spare, within, out, int(unsafe.Sizeof(K(0)))*8)
			return
		}
		pivot, same := middleKey(x)
		if same && onlyKey(x, pivot) {
			for i := range out {
				out[i] = pivot
			}
			return
		}
		n, least := partition(x, spare, pivot), false
		if n == 0 { // the pivot is the least key, and all keys are in spare
			x, spare, least = spare, x, true
			if n = len(x); pivot != ^K(0) {
				n = partition(x, spare, pivot+1)
			}
		}
		below := 0
		for below < len(places) && places[below]-first < n {
			if least {
				out[below] = pivot
			}
			below++
		}
		if !least {
			quickPick(x[:n], spare[:n], first, places[:below], out[:below], depth)
		}
		x, spare, places, out, first = spare[n:], x[n:], places[below:], out[below:], first+n
	}
}

// onlyKey reports whether all keys of x are k.
func onlyKey[K key](x []K, k K) bool {
	for len(x) >= 8 {
		if (x[0]^k)|(x[1]^k)|(x[2]^k)|(x[3]^k)|(x[4]^k)|(x[5]^k)|(x[6]^k)|(x[7]^k) != 0 {
			return false
		}
		x = x[8:]
	}
	for _, v := range x {
		if v != k {
			return false
		}
	}
	return true
}

// middleKey returns the median of some keys of x, which has at least as many, and whether these keys are all the same.
func middleKey[K key](x []K) (median K, same bool) {
	var some [32]K
	for i, step := 0, len(x)/len(some); i < len(some); i++ {
		some[i] = x[i*step]
	}
	sortNetwork(some[:], some[:])
	return some[len(some)/2], some[0] == some[len(some)-1]
}

// partition moves the keys of x below the pivot to its front and the others to the end of high, which has the same length, and
// returns the number of the former. There are at least 16 keys.
func partition[K key](x, high []K, pivot K) int {
	below, from, n := at0(x), at0(high), len(x)
	switch is32 := unsafe.Sizeof(pivot) == 4; {
	case is32 && vectorAVX512:
		return partition32AVX512(below, from, n, uint64(pivot))
	case is32:
		return partition32AVX2(below, from, n, uint64(pivot))
	case vectorAVX512:
		return partition64AVX512(below, from, n, uint64(pivot))
	}
	return partition64AVX2(below, from, n, uint64(pivot))
}

// sortNetwork writes the keys of src, at most networkKeys, to dst in ascending order.
func sortNetwork[K key](dst, src []K) {
	to, from, n := at0(dst), at0(src), len(src)
	switch is32 := unsafe.Sizeof(K(0)) == 4; {
	case is32 && vectorAVX512:
		switch {
		case n <= 32:
			sort32x32AVX512(to, from, n)
		case n <= 64:
			sort32x64AVX512(to, from, n)
		default:
			sort32x128AVX512(to, from, n)
		}
	case is32:
		switch {
		case n <= 32:
			sort32x32AVX2(to, from, n)
		case n <= 64:
			sort32x64AVX2(to, from, n)
		default:
			sort32x128AVX2(to, from, n)
		}
	case vectorAVX512:
		switch {
		case n <= 32:
			sort64x32AVX512(to, from, n)
		case n <= 64:
			sort64x64AVX512(to, from, n)
		default:
			sort64x128AVX512(to, from, n)
		}
	case n <= 16:
		sort64x16AVX2(to, from, n)
	case n <= 32:
		sort64x32AVX2(to, from, n)
	default:
		sort64x64AVX2(to, from, n)
	}
}
