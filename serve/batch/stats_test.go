package batch

import (
	"context"
	"errors"
	"fmt"
	"math"
	"sync"
	"testing"
	"testing/synctest"
	"time"
)

// TestStats takes items along every path and checks the counters after each step. The
// clock is synctest's, so that times are exact.
func TestStats(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		broken := errors.New("broken")
		b := New(func(_ context.Context, in []int) ([]int, error) {
			time.Sleep(100 * time.Millisecond)
			errs := make(Errors, len(in))
			for i, v := range in {
				if v < 0 {
					errs[i] = broken
				}
			}
			return in, errs
		}, Options{MaxItems: 4, MaxQueue: 5, Linger: 10 * time.Millisecond})
		check := func(step, want string) {
			t.Helper()
			s := b.Stats()
			got := fmt.Sprintf("accepted %d rejected %d left %d dropped %d done %d failed %d queued %d running %d",
				s.Accepted, s.Rejected, s.Left, s.Dropped, s.Done, s.Failed, s.Queued, s.Running)
			if got != want {
				t.Errorf("%s: %s, want %s", step, got, want)
			}
			if sum := s.Left + s.Dropped + s.Done + s.Failed + uint64(s.Queued) + uint64(s.Running); sum != s.Accepted {
				t.Errorf("%s: %d items are accounted for, %d were accepted", step, sum, s.Accepted)
			}
		}
		var wg sync.WaitGroup
		do := func(ctx context.Context, v int) {
			wg.Go(func() { _, _ = b.Do(ctx, v) })
			synctest.Wait()
		}
		check("new", "accepted 0 rejected 0 left 0 dropped 0 done 0 failed 0 queued 0 running 0")

		for _, v := range []int{1, -2, 3} { // a batch after 10 ms
			do(t.Context(), v)
		}
		check("queued", "accepted 3 rejected 0 left 0 dropped 0 done 0 failed 0 queued 3 running 0")
		time.Sleep(20 * time.Millisecond)
		check("running", "accepted 3 rejected 0 left 0 dropped 0 done 0 failed 0 queued 0 running 3")

		ctx, cancel := context.WithCancel(t.Context())
		do(ctx, 4)
		for range 5 { // at 20 ms; the last one finds the queue full
			do(t.Context(), 5)
		}
		check("full", "accepted 8 rejected 1 left 0 dropped 0 done 0 failed 0 queued 5 running 3")
		cancel()
		synctest.Wait()
		check("left", "accepted 8 rejected 1 left 1 dropped 0 done 0 failed 0 queued 4 running 3")
		do(t.Context(), 6)
		time.Sleep(100 * time.Millisecond) // at 120 ms; the second batch began at 110 ms
		check("second batch", "accepted 9 rejected 1 left 1 dropped 0 done 2 failed 1 queued 1 running 4")

		ctx, cancel = context.WithCancel(t.Context())
		cancel()
		var gaveUp *CloseError
		if err := b.Close(ctx); !errors.As(err, &gaveUp) {
			t.Error(err)
		}
		wg.Wait()
		if err := b.Close(t.Context()); err != nil {
			t.Error(err)
		}
		check("closed", "accepted 9 rejected 1 left 1 dropped 1 done 6 failed 1 queued 0 running 0")

		checkHistograms(t, b)
	})
	if s := (*Batcher[int, int])(nil).Stats(); s.Accepted != 0 || s.Sizes.Count() != 0 {
		t.Error(s)
	}
}

// checkHistograms checks those of TestStats: three items waited 10 ms, four 90 ms, and both
// batches took 100 ms.
func checkHistograms(t *testing.T, b *Batcher[int, int]) {
	t.Helper()
	s := b.Stats()
	near := func(x, y float64) bool { return math.Abs(x-y) < 1e-9 }
	if got := fmt.Sprint(s.Sizes.Bounds, s.Sizes.Counts, s.Sizes.Sum, s.Sizes.Count()); got != "[1 2 4] [0 0 2 0] 7 2" {
		t.Error("sizes:", got)
	}
	if !near(s.Waiting.Sum, 3*0.01+4*0.09) || s.Waiting.Count() != 7 || !near(s.Computing.Sum, 0.2) || s.Computing.Count() != 2 {
		t.Errorf("waiting %v, computing %v", s.Waiting, s.Computing)
	}
	for i, bound := range s.Waiting.Bounds { // 10 ms are below 16 ms, 90 ms below 128 ms
		if want := map[float64]uint64{0.016: 3, 0.128: 4}[bound]; s.Waiting.Counts[i] != want {
			t.Errorf("%d items waited up to %v s, want %d", s.Waiting.Counts[i], bound, want)
		}
	}
	s.Sizes.Counts[2], s.Sizes.Bounds[0] = 99, 99
	if again := b.Stats().Sizes; again.Counts[2] != 2 || again.Bounds[0] != 1 {
		t.Error("Stats shares its slices with the Batcher:", again)
	}
}
