package cpu

import (
	"sort"
	"sync"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// Histogram counts the n dense elements of x, of a real type, in the intervals between edges, which ascend. Elements
// are compared as float64. counts has one element fewer than edges. Element i is set to the number of elements of x
// from edges[i] to below edges[i+1]; the last interval includes its upper edge. If edges do not ascend, or are NaN, the
// counts are arbitrary.
func Histogram(dt dtype.DType, n int, x unsafe.Pointer, edges []float64, counts []int64) {
	b := newBins(edges)
	load := newCast(dt, dtype.Float64)
	countParts(n, counts, func(lo, hi int, counts []int64) {
		var values [blockLen]float64
		w := works.Get().(*work)
		for ; lo < hi; lo += len(values) {
			s := span{n: min(len(values), hi-lo)}
			s.p[0], s.step[0] = unsafe.Pointer(&values), 8
			s.p[1], s.step[1] = unsafe.Add(x, lo*dt.Size()), dt.Size()
			load.span(s, w)
			for _, v := range values[:s.n] {
				if i := b.find(v); i >= 0 {
					counts[i]++
				}
			}
		}
		works.Put(w)
	})
}

// BinCount sets counts[i] to the number of elements of x that equal i. Elements outside counts are ignored.
func BinCount(x, counts []int64) {
	countParts(len(x), counts, func(lo, hi int, counts []int64) {
		for _, v := range x[lo:hi] {
			if uint64(v) < uint64(len(counts)) {
				counts[v]++
			}
		}
	})
}

// countParts counts n elements in parallel. It calls count for each part of them, with counts of the part's own, and sets counts to
// the sums of these.
func countParts(n int, counts []int64, count func(lo, hi int, counts []int64)) {
	clear(counts)
	part := max(minPart, 8*len(counts)) // the counts of all parts take at most a byte an element
	if n <= part {
		count(0, n, counts)
		return
	}
	var mu sync.Mutex
	Parallel(n, part, func(lo, hi int) {
		own := make([]int64, len(counts))
		count(lo, hi, own)
		mu.Lock()
		defer mu.Unlock()
		for i, c := range own {
			counts[i] += c
		}
	})
}

// bins finds the interval of a number between edges.
type bins struct {
	edges  []float64
	lo, hi float64
	rate   float64 // intervals of a unit, if all have one width
}

func newBins(edges []float64) bins {
	last := len(edges) - 1
	lo, hi := edges[0], edges[last]
	return bins{edges, lo, hi, float64(last) / (hi - lo)}
}

// find returns the interval that contains v, or -1.
func (b *bins) find(v float64) int {
	last := len(b.edges) - 2
	switch {
	case v == b.hi:
		return last
	case !(v >= b.lo && v < b.hi): // or NaN
		return -1
	}
	// Intervals of equal width give the index at once. Rounding and other widths may make it wrong, so the edges are compared.
	if i := min(max(int((v-b.lo)*b.rate), 0), last); b.edges[i] <= v && v < b.edges[i+1] {
		return i
	}
	i := sort.Search(len(b.edges), func(i int) bool { return b.edges[i] > v }) - 1
	return min(i, last)
}
