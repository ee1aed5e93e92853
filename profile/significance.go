package profile

import (
	"fmt"
	"time"

	"github.com/aclements/go-moremath/stats"
)

// SignificanceLevel is the P below which Significance calls a difference significant.
// Of twenty operations that did not change, one is called so by chance.
const SignificanceLevel = 0.05

// maxSample is the number of calls of a side that enter the test: evenly spaced ones
// of more. It bounds the test's time, and its sums of cubes of ties to 31 bits.
const maxSample = 600

// probability is the two-sided p of the Mann-Whitney U test that two samples are of one
// distribution: exact for few calls, else by the normal approximation corrected for
// ties (H. B. Mann, D. R. Whitney, Annals of Mathematical Statistics 18, 1947). It is nil
// where even the clearest outcome would not be significant.
func probability(before, after []time.Duration) *float64 {
	if tooFew(len(before), len(after)) {
		return nil
	}
	t, err := stats.MannWhitneyUTest(sample(before), sample(after), stats.LocationDiffers)
	p := 1.0 // the test's only error here: every call took the same time
	if err == nil {
		p = min(t.P, 1)
	}
	return &p
}

// tooFew reports whether the smallest p that n and m calls can give, 2 / C(n+m, n), is
// not below SignificanceLevel.
func tooFew(n, m int) bool {
	if n == 0 || m == 0 {
		return true
	}
	outcomes := 1.0
	for i := 1; i <= min(n, m) && outcomes*SignificanceLevel <= 2; i++ {
		outcomes *= float64(n+m-i+1) / float64(i)
	}
	return outcomes*SignificanceLevel <= 2
}

func sample(ts []time.Duration) []float64 {
	n := min(len(ts), maxSample)
	x := make([]float64, n)
	for i := range x {
		x[i] = float64(ts[i*len(ts)/n])
	}
	return x
}

// Significance says whether the difference is more than chance: "p=0.029 n=4+4",
// "not significant, p=0.343 n=4+4", or "too few calls, n=1+1". It is empty for
// operations that only one report has.
func (c *Change) Significance() string {
	if c == nil || c.Before == nil || c.After == nil {
		return ""
	}
	n := fmt.Sprintf("n=%d+%d", c.Before.N, c.After.N)
	switch {
	case c.P == nil:
		return "too few calls, " + n
	case *c.P < 0.001:
		return "p<0.001 " + n
	case *c.P < SignificanceLevel:
		return fmt.Sprintf("p=%.3f %s", *c.P, n)
	}
	return fmt.Sprintf("not significant, p=%.3f %s", *c.P, n)
}
