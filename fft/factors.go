package fft

import (
	"math"
	"math/bits"
)

// number is the set of types of a transform's numbers.
type number interface{ complex64 | complex128 }

// largestFactor is the largest prime factor of a length that is transformed by factors. A factor
// p takes p multiplications an element; with larger ones Bluestein's algorithm is faster.
const largestFactor = 13

// factors returns the radices of n, or nil if a prime factor exceeds largestFactor.
func factors(n int) []int {
	list := []int{}
	for _, p := range []int{4, 2, 3, 5, 7, 11, 13} {
		for n%p == 0 {
			list = append(list, p)
			n /= p
		}
	}
	if n > 1 {
		return nil
	}
	return list
}

// smooth returns the least length of at least n that is 2^k, 3 2^k or 5 2^k.
func smooth(n int) int {
	best := 1 << bits.Len(uint(n-1))
	for _, p := range [...]int{3, 5} {
		m := p
		for m < n {
			m *= 2
		}
		best = min(best, m)
	}
	return best
}

// root returns e^(-2 pi i k / n) for 0 <= k < n. The angle is reduced without rounding to at most
// pi/4 from the nearest multiple of pi/2, so that the result has the errors of one product and of
// Sincos.
func root(k, n int) complex128 {
	// 4 k = quarter n + rest with |rest| <= n/2: the angle is quarter pi/2 + rest/n pi/2.
	hi, lo := bits.Mul64(8, uint64(k))
	q, _ := bits.Div64(hi, lo, uint64(n)) // k/n in eighths of a turn, rounded down
	quarter := (q + 1) / 2
	rest := int64(4*uint64(k) - quarter*uint64(n)) // wraps to a small number
	s, c := math.Sincos(math.Pi / 2 * (float64(rest) / float64(n)))
	switch quarter % 4 {
	case 1:
		s, c = c, -s
	case 2:
		s, c = -s, -c
	case 3:
		s, c = -c, s
	}
	return complex(c, -s)
}
