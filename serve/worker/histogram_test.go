package worker

import (
	"math"
	"slices"
	"testing"
	"time"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestBuckets checks that buckets are in order, and that the middle of each is near all of
// its durations.
func TestBuckets(t *testing.T) {
	last := -1
	for _, d := range []time.Duration{math.MinInt64, -1, 0, 1, 15, 16, 17, 18, 31, 32, 1000, 1 << 40, 1<<62 - 1, 1 << 62, math.MaxInt64} {
		b := bucketOf(d)
		if b < last || b >= buckets {
			t.Errorf("%d is in bucket %d, behind %d", d, b, last)
		}
		last = b
		d = max(d, 0)
		if off := math.Abs(float64(middle(b) - d)); off > float64(d)/16 {
			t.Errorf("bucket %d of %d stands for %d", b, d, middle(b))
		}
	}
	for b := range buckets {
		if got := bucketOf(middle(b)); got != b {
			t.Errorf("the middle of bucket %d, %d, is in bucket %d", b, middle(b), got)
		}
	}
}

// TestQuantiles compares quantiles with those of the sorted durations.
func TestQuantiles(t *testing.T) {
	rng := testrand.New(t)
	var h histogram
	if h.times() != (Times{}) {
		t.Error(h.times())
	}
	var all []time.Duration
	for n := 1; n < 3000; n++ {
		d := time.Duration(math.Exp(25 * rng.Float64()))
		h.add(d)
		all = append(all, d)
		if n > 5 && n%97 != 0 {
			continue
		}
		sorted := slices.Sorted(slices.Values(all))
		for q, got := range map[float64]time.Duration{0.5: h.times().Median, 0.99: h.times().P99} {
			want := sorted[int(math.Ceil(q*float64(n)))-1]
			if math.Abs(float64(got-want)) > float64(want)/16 {
				t.Errorf("%v of %d durations: %v, want %v", q, n, got, want)
			}
		}
	}
}
