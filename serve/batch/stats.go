package batch

import (
	"slices"
	"sort"
)

// Stats holds the counters of a Batcher since New. Accepted is the sum of Left, Dropped,
// Done, Failed, Queued and Running.
type Stats struct {
	Accepted uint64 // items that Do added to the queue
	Rejected uint64 // items that Do rejected with ErrQueueFull
	Left     uint64 // items whose caller stopped waiting before their batch started
	Dropped  uint64 // items whose batch had not started when Close gave up
	Done     uint64 // items that got an output
	Failed   uint64 // items for which the function returned an error
	Queued   int    // items that wait for their batch to start
	Running  int    // items of the running batch

	Sizes     Histogram // sizes of the batches that have started, in items
	Waiting   Histogram // seconds in the queue, of the items of these batches
	Computing Histogram // seconds in the function, of the batches that have ended
}

// Histogram counts values by their size. Counts[i] is the number of values above
// Bounds[i-1] and up to Bounds[i]. The last element of Counts is the number of values
// above all bounds.
type Histogram struct {
	Bounds []float64
	Counts []uint64
	Sum    float64 // sum of all values
}

// Count returns the number of values.
func (h Histogram) Count() uint64 {
	var n uint64
	for _, c := range h.Counts {
		n += c
	}
	return n
}

func (h *Histogram) observe(v float64) {
	h.Counts[sort.SearchFloat64s(h.Bounds, v)]++
	h.Sum += v
}

func (h Histogram) clone() Histogram {
	h.Bounds, h.Counts = slices.Clone(h.Bounds), slices.Clone(h.Counts)
	return h
}

// newStats returns the counters of a Batcher. The bounds of its histograms are powers of
// two: sizes from 1 to maxItems, and times from 1/4 ms to 8.192 s.
func newStats(maxItems int) Stats {
	var sizes, times []float64
	for n := 1; n < maxItems && len(sizes) < 32; n *= 2 {
		sizes = append(sizes, float64(n))
	}
	sizes = append(sizes, float64(maxItems))
	for t := 1.0; t <= 1<<15; t *= 2 {
		times = append(times, t/4000)
	}
	histogram := func(bounds []float64) Histogram {
		return Histogram{Bounds: bounds, Counts: make([]uint64, len(bounds)+1)}
	}
	return Stats{Sizes: histogram(sizes), Waiting: histogram(times), Computing: histogram(times)}
}

// Stats returns the current counters. Those of a nil Batcher are zero.
func (b *Batcher[In, Out]) Stats() Stats {
	if b == nil {
		return Stats{}
	}
	b.mu.Lock()
	defer b.mu.Unlock()
	s := b.counted
	s.Queued = b.queue.Len()
	s.Sizes, s.Waiting, s.Computing = s.Sizes.clone(), s.Waiting.clone(), s.Computing.clone()
	return s
}
