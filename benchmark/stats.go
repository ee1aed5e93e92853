package main

import (
	"math"
	"slices"
)

// median returns the middle value of xs, or the mean of the two middle ones; NaN if xs is
// empty.
func median(xs []float64) float64 {
	if len(xs) == 0 {
		return math.NaN()
	}
	s := slices.Sorted(slices.Values(xs))
	h := len(s) / 2
	if len(s)%2 == 1 {
		return s[h]
	}
	return (s[h-1] + s[h]) / 2
}

// exactLimit is the largest joint sample for which uTest counts the exact distribution.
// The count takes about exactLimit^4 / 16 steps.
const exactLimit = 100

// uTest returns the two-sided p-value of the Mann-Whitney U test: the probability that
// two samples of these sizes from one distribution are ranked at least as unevenly as x
// and y. Up to exactLimit values it uses the exact permutation distribution, with ties;
// for more, the normal approximation with its corrections for ties and continuity.
func uTest(x, y []float64) float64 {
	n, m := len(x), len(y)
	if n == 0 || m == 0 {
		return 1
	}
	ranks, sum, ties := doubleRanks(x, y)
	if n+m > exactLimit {
		nm, total := float64(n)*float64(m), float64(n+m)
		u := float64(sum)/2 - float64(n*(n+1))/2
		variance := nm / 12 * (total + 1 - ties/(total*(total-1)))
		if variance <= 0 {
			return 1
		}
		z := max(0, math.Abs(u-nm/2)-0.5) / math.Sqrt(variance)
		return math.Erfc(z / math.Sqrt2)
	}
	// ways[j][s] counts the choices of j ranks whose sum is s.
	width := 0
	for _, r := range ranks {
		width += r
	}
	ways := make([][]float64, n+1)
	for j := range ways {
		ways[j] = make([]float64, width+1)
	}
	ways[0][0] = 1
	for _, r := range ranks {
		for j := n; j >= 1; j-- {
			for s := width; s >= r; s-- {
				ways[j][s] += ways[j-1][s-r]
			}
		}
	}
	var below, above, all float64
	for s, w := range ways[n] {
		all += w
		if s <= sum {
			below += w
		}
		if s >= sum {
			above += w
		}
	}
	return min(1, 2*min(below, above)/all)
}

// doubleRanks returns twice the mid-rank of every value of both samples (an
// integer, ties or not), the sum over x, and the sum of t^3 - t over the
// groups of t equal values.
func doubleRanks(x, y []float64) (ranks []int, sum int, ties float64) {
	all := slices.Sorted(slices.Values(slices.Concat(x, y)))
	ranks = make([]int, len(all))
	of := make(map[float64]int, len(all))
	for lo := 0; lo < len(all); {
		hi := lo
		for hi < len(all) && all[hi] == all[lo] {
			hi++
		}
		for i := lo; i < hi; i++ {
			ranks[i] = lo + 1 + hi
		}
		of[all[lo]] = lo + 1 + hi
		t := float64(hi - lo)
		ties += t*t*t - t
		lo = hi
	}
	for _, v := range x {
		sum += of[v]
	}
	return ranks, sum, ties
}
