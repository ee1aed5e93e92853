//go:build !noasm

package cpu

import (
	"math"
	"unsafe"
)

// philoxKeys are the constants of philoxAVX2 and philoxAVX512: two keys a round, the numbers 0 to 7, the number of blocks
// in a vector, and the factors. Each key and the number of blocks are repeated four times, in 64 bits.
type philoxKeys struct {
	keys    [philoxRounds][2][4]uint64
	first   [8]uint64
	step    [4]uint64
	factors [2]uint32
}

// philoxAVX2 fills words with groups of eight blocks. counter and high belong to the first
// block. The counter's low word must not overflow.
//
//go:noescape
func philoxAVX2(words *uint32, groups int, keys *philoxKeys, counter, high uint32)

// philoxAVX512 is philoxAVX2 for groups of sixteen blocks, with AVX-512.
//
//go:noescape
func philoxAVX512(words *uint32, groups int, keys *philoxKeys, counter, high uint32)

// uniform64AVX2 is uniform64 for n numbers, a multiple of four.
//
//go:noescape
func uniform64AVX2(x *float64, words *uint32, n int, lo, width, below float64)

// uniformAVX2 is uniform32 for n numbers, a multiple of eight.
//
//go:noescape
func uniformAVX2(x *float32, words *uint32, n int, lo, width, below float32)

// normalAVX2 sets x[i] = mean + float32(std*normal32(words[i])) for n numbers, a
// multiple of eight.
//
//go:noescape
func normalAVX2(x *float32, words *uint32, n int, mean, std float32)

// philoxVector fills as many blocks as make complete groups of one kernel, and returns the number of words written.
func philoxVector(words []uint32, seed, block uint64) int {
	step := 4 // blocks of a vector, half of a group
	if vectorAVX512 && len(words) >= 16*philoxWords {
		step = 8
	}
	groups := len(words) / (2 * step * philoxWords)
	if !vectorAVX || groups == 0 || block&math.MaxUint32+uint64(2*step*groups) > 1<<32 {
		return 0
	}
	s := uint64(step)
	k := philoxKeys{
		first: [8]uint64{0, 1, 2, 3, 4, 5, 6, 7}, step: [4]uint64{s, s, s, s},
		factors: [2]uint32{philoxMul0, philoxMul1},
	}
	k0, k1 := uint32(seed), uint32(seed>>32)
	for r := range k.keys {
		a, b := uint64(k0), uint64(k1)
		k.keys[r] = [2][4]uint64{{a, a, a, a}, {b, b, b, b}}
		k0 += philoxKey0
		k1 += philoxKey1
	}
	if step == 8 {
		philoxAVX512(unsafe.SliceData(words), groups, &k, uint32(block), uint32(block>>32))
	} else {
		philoxAVX2(unsafe.SliceData(words), groups, &k, uint32(block), uint32(block>>32))
	}
	return 2 * step * groups * philoxWords
}

// uniformVector64 computes a prefix of uniform64 and returns its length.
func uniformVector64(x []float64, words []uint32, lo, width, below float64) int {
	n := len(x) &^ 3
	if !vectorAVX || n == 0 {
		return 0
	}
	uniform64AVX2(unsafe.SliceData(x), unsafe.SliceData(words), n, lo, width, below)
	return n
}

// uniformVector computes a prefix of uniform32 and returns its length.
func uniformVector(x []float32, words []uint32, lo, width, below float32) int {
	n := len(x) &^ 7
	if !vectorAVX || n == 0 {
		return 0
	}
	uniformAVX2(unsafe.SliceData(x), unsafe.SliceData(words), n, lo, width, below)
	return n
}

// normalVector computes a prefix of normals32 and returns its length.
func normalVector(x []float32, words []uint32, mean, std float32) int {
	n := len(x) &^ 7
	if !vectorAVX || n == 0 {
		return 0
	}
	normalAVX2(unsafe.SliceData(x), unsafe.SliceData(words), n, mean, std)
	return n
}
