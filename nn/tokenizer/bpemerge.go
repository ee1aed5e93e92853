package tokenizer

import (
	"math"
)

// maxScan is the maximum length of words for which the next merge is found by scanning
// all pairs. For a longer word a heap is used.
const maxScan = 48

// mergeShort merges ids, of which there are at most maxScan, in place, and returns the
// number of remaining ids. It always merges the pair of the smallest rank, and of several
// the leftmost.
func (p *byteBPE) mergeShort(ids []int32) int {
	var ranks, into [maxScan]int32 // rank and result of the pair that begins at i
	n := len(ids)
	pair := func(i int) {
		ranks[i] = math.MaxInt32
		if i+1 < n {
			ranks[i], into[i] = p.lookup(ids[i], ids[i+1])
		}
	}
	for i := range ids {
		pair(i)
	}
	for {
		best, at := int32(math.MaxInt32), -1
		for i, r := range ranks[:n] {
			if r < best {
				best, at = r, i
			}
		}
		if at < 0 {
			break
		}
		ids[at] = into[at]
		copy(ids[at+1:n], ids[at+2:n])
		copy(ranks[at+1:n], ranks[at+2:n])
		copy(into[at+1:n], into[at+2:n])
		n--
		if at > 0 {
			pair(at - 1)
		}
		pair(at)
	}
	return n
}

// lookup returns the rank and the result of a pair. If the pair cannot be merged, the
// rank is the largest number.
func (p *byteBPE) lookup(a, b int32) (rank, id int32) {
	if m, ok := p.merges[pairOf(a, b)]; ok {
		return m.rank, m.id
	}
	return math.MaxInt32, 0
}

// mergeScratch is the memory of mergeLong.
type mergeScratch struct {
	next, prev []int32 // linked list of the remaining ids; -1 at the ends
	heap       []uint64
}

func (w *mergeScratch) trim() {
	if cap(w.next) > maxKeptScratch/8 {
		*w = mergeScratch{}
	}
}

// mergeLong is mergeShort for any length, in time n log n. An entry of the heap is
// rank<<32 | position. Entries whose pair has changed are skipped.
func (p *byteBPE) mergeLong(ids []int32, w *mergeScratch) int {
	n := len(ids)
	w.next, w.prev, w.heap = w.next[:0], w.prev[:0], w.heap[:0]
	for i := range ids {
		w.prev = append(w.prev, int32(i)-1)
		w.next = append(w.next, int32(i)+1)
		if i+1 < n {
			w.offer(p, ids, int32(i), int32(i)+1)
		}
	}
	w.next[n-1] = -1
	for len(w.heap) > 0 {
		top := w.pop()
		at := int32(uint32(top))
		if ids[at] < 0 || w.next[at] < 0 {
			continue // it was merged into its left neighbour, or is the last
		}
		right := w.next[at]
		m, ok := p.merges[pairOf(ids[at], ids[right])]
		if !ok || uint64(m.rank) != top>>32 {
			continue
		}
		ids[at], ids[right] = m.id, -1
		after := w.next[right]
		if w.next[at] = after; after >= 0 {
			w.prev[after] = at
			w.offer(p, ids, at, after)
		}
		if before := w.prev[at]; before >= 0 {
			w.offer(p, ids, before, at)
		}
	}
	left := 0
	for _, id := range ids {
		if id >= 0 {
			ids[left] = id
			left++
		}
	}
	return left
}

// offer adds a pair to the heap if it can be merged.
func (w *mergeScratch) offer(p *byteBPE, ids []int32, a, b int32) {
	m, ok := p.merges[pairOf(ids[a], ids[b])]
	if !ok {
		return
	}
	h := append(w.heap, uint64(m.rank)<<32|uint64(uint32(a)))
	i := len(h) - 1
	for i > 0 && h[(i-1)/2] > h[i] {
		h[(i-1)/2], h[i] = h[i], h[(i-1)/2]
		i = (i - 1) / 2
	}
	w.heap = h
}

// pop removes the smallest entry from the heap.
func (w *mergeScratch) pop() uint64 {
	h := w.heap
	top := h[0]
	last := len(h) - 1
	h[0] = h[last]
	h = h[:last]
	for i := 0; ; {
		k := 2*i + 1
		if k >= last {
			break
		}
		if k+1 < last && h[k+1] < h[k] {
			k++
		}
		if h[i] <= h[k] {
			break
		}
		h[i], h[k] = h[k], h[i]
		i = k
	}
	w.heap = h
	return top
}
