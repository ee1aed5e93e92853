package route

import (
	"testing"
	"testing/synctest"
	"time"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// TestBudget: on a machine so slow that a point takes 20 ms, each pass of the brief survey takes its budget and at most
// one point a curve more, and every curve has the same number of points, from the smallest size on.
func TestBudget(t *testing.T) {
	synctest.Test(t, func(t *testing.T) {
		const cost = 20 * time.Millisecond
		begun := time.Now()
		all, err := probe(func(_ class, _ dtype.DType, n, calls int) (sample, bool, error) {
			time.Sleep(cost)
			return sample{point{float64(n), 1e-6}, n, max(calls, 1)}, true, nil
		}).survey(device.CPU, brief)
		if err != nil || len(all) == 0 {
			t.Fatal(len(all), err)
		}
		share := brief.budget / time.Duration(len(all))
		for _, s := range all {
			if got, want := len(s.samples), int(share/cost)+1; got != want || s.samples[0].n != 1 {
				t.Errorf("%v of %v has %d points from %d on, want %d from 1 on", s.class, s.dtype, got, s.samples[0].n, want)
			}
		}
		if took, most := time.Since(begun), time.Duration(brief.passes)*(brief.budget+time.Duration(len(all))*cost); took > most {
			t.Errorf("the survey took %v, more than %v", took, most)
		}
	})
}
