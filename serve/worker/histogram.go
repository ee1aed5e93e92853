package worker

import (
	"math"
	"math/bits"
	"time"
)

// Below 2^exactBits nanoseconds each duration has its own bucket. Above, each power of
// two has 2^partBits buckets.
const (
	exactBits = 4
	partBits  = 3
	buckets   = 1<<exactBits + (63-exactBits)<<partBits
)

// histogram counts durations in buckets. A bucket is at most an eighth of its durations
// wide, so the relative error of a quantile is at most 1/16. Its size is fixed: 3.9 KB.
type histogram struct {
	n      uint64
	counts [buckets]uint64
}

func (h *histogram) add(d time.Duration) {
	h.n++
	h.counts[bucketOf(d)]++
}

// bucketOf returns the bucket of a duration. Negative durations count as 0.
func bucketOf(d time.Duration) int {
	v := uint64(max(d, 0))
	e := bits.Len64(v) - 1
	if e < exactBits {
		return int(v)
	}
	part := int(v>>(e-partBits)) & (1<<partBits - 1)
	return 1<<exactBits + (e-exactBits)<<partBits + part
}

// middle returns the duration in the middle of a bucket.
func middle(bucket int) time.Duration {
	if bucket < 1<<exactBits {
		return time.Duration(bucket)
	}
	bucket -= 1 << exactBits
	e, part := bucket>>partBits+exactBits, bucket&(1<<partBits-1)
	width := int64(1) << (e - partBits)
	return time.Duration((1<<partBits+int64(part))*width + width/2)
}

// quantile returns the duration that a fraction q of all durations does not exceed. It
// returns 0 if there are no durations.
func (h *histogram) quantile(q float64) time.Duration {
	rank := uint64(math.Ceil(q * float64(h.n)))
	var sum uint64
	for i, c := range h.counts {
		if sum += c; c > 0 && sum >= rank {
			return middle(i)
		}
	}
	return 0
}
