package cpu

import (
	"math"
	"runtime"
	"sync/atomic"
)

// A sequence of few queries has few blocks of queries: a decoder's step has one for each KV
// head. Its keys are cut into spans, which are computed like sequences of their own and then
// merged (Flash-Decoding: Dao, Haziza, Massa and Sizov 2023). With m the largest maximum of
// the spans,
//
//	out = sum of e^(m[s] - m) out[s] / sum of e^(m[s] - m) total[s]
//
// in the order of the spans. The spans follow from the shape of a sequence alone, and so do
// the bits.
const (
	attentionSpan  = 128 // the shortest span, in keys
	attentionSpans = 16  // the most spans of a sequence
)

// spans returns the number of spans of every sequence, and their length. The last span
// may be shorter. Sequences of a ragged batch have one span: they have as many keys as queries.
func (a *Attention) spans() (count, length int) {
	_, _, down, _ := a.cut(a.Queries)
	count = min(a.Keys/attentionSpan, attentionSpans)
	if a.Offsets != nil || down > 1 || count < 2 {
		return 1, a.Keys
	}
	length = roundUp(ceilDiv(a.Keys, count), 16)
	return ceilDiv(a.Keys, length), length
}

// spanResults are the results of the spans of some blocks of queries.
type spanResults[T floating] struct {
	count, length int // spans of a block, keys of a span
	queries, dim  int // room for a block of this many queries
	rows, largest *buffer[T]
	totals        *buffer[float64]
	left          []atomic.Int32 // number of spans of each block that are not computed yet
}

func newSpanResults[T floating](blocks, count, length, queries, dim int) *spanResults[T] {
	n := blocks * count * queries
	p := &spanResults[T]{
		count: count, length: length, queries: queries, dim: dim, left: make([]atomic.Int32, blocks),
		rows: getBuffer[T](n * dim), largest: getBuffer[T](n), totals: getBuffer[float64](n),
	}
	for i := range p.left {
		p.left[i].Store(int32(count))
	}
	return p
}

func (p *spanResults[T]) put() {
	p.rows.put()
	p.largest.put()
	p.totals.put()
}

// of returns the results of a span of a block for n queries.
func (p *spanResults[T]) of(block, span, n int) (rows, largest []T, totals []float64) {
	at := (block*p.count + span) * p.queries
	return p.rows.data[at*p.dim : (at+n)*p.dim], p.largest.data[at : at+n], p.totals.data[at : at+n]
}

// runSpans computes blocks of queries whose keys are cut into spans. Goroutines share the
// spans of a block if there are few blocks.
func (r *attention[T]) runSpans(blocks, count, length int, sizes attentionSizes) {
	rows, heads, _, _ := r.cut(r.Queries)
	units, own := blocks*count, count
	var shared *spanResults[T]
	run := Parallel
	if blocks < tasksPerCPU*runtime.GOMAXPROCS(0) {
		own, run = 1, parallelNear // a decoder reads the same keys in its next step
		shared = newSpanResults[T](blocks, count, length, rows*heads, r.ValueDim)
	}
	grain := roundUp(r.grain(units), own)
	run(units, grain, func(lo, hi int) {
		w := getBuffer[T](sizes.total)
		var s attentionScratch[T]
		s.cut(w.data, sizes)
		p := shared
		if p == nil {
			p = newSpanResults[T](1, count, length, rows*heads, r.ValueDim)
		}
		for u := lo; u < hi; u++ {
			r.span(u, p, &s)
		}
		if shared == nil {
			p.put()
		}
		w.put()
	})
	if shared != nil {
		shared.put()
	}
}

// span computes span number u. The goroutine that computes the last span of a block merges
// them.
func (r *attention[T]) span(u int, p *spanResults[T], s *attentionScratch[T]) {
	block, i := u/p.count, u%p.count
	b := r.blockAt(block)
	n := b.n()
	r.accumulate(&b, i*p.length, min((i+1)*p.length, r.visibleKeys(&b)), s)
	block %= len(p.left)
	rows, largest, totals := p.of(block, i, n)
	copy(rows, s.out)
	copy(largest, s.largest[:n])
	copy(totals, s.total[:n])
	if p.left[block].Add(-1) > 0 {
		return
	}
	p.left[block].Store(int32(p.count))
	r.merge(block, n, p, s)
	r.finish(&b, s)
}

// merge sets the maxima, sums and results of a block of n queries to those of all its spans.
func (r *attention[T]) merge(block, n int, p *spanResults[T], s *attentionScratch[T]) {
	largest, base, weights := s.largest[:n], s.recent[:n], s.alpha[:n]
	for i := range largest {
		largest[i], s.total[i] = T(math.Inf(-1)), 0
	}
	for span := range p.count {
		_, m, _ := p.of(block, span, n)
		for i, v := range m {
			largest[i] = max(largest[i], v)
		}
	}
	for i, v := range largest {
		base[i] = v
		if v == T(math.Inf(-1)) {
			base[i] = 0 // e^(-Inf - 0) is 0
		}
	}
	sums := s.out[:n*p.dim]
	clear(sums)
	for span := range p.count {
		rows, m, totals := p.of(block, span, n)
		r.sub.vv(at0(weights), at0(m), at0(base), n)
		r.exp(at0(weights), at0(weights), n)
		for i, w := range weights {
			s.total[i] += float64(float64(w) * totals[i])
			row := rows[i*p.dim : (i+1)*p.dim]
			rescale(row, sums[i*p.dim:(i+1)*p.dim], w) // products are rounded before they are added
		}
		sums = rows
	}
	copy(s.out, sums)
}
