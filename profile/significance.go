package profile

import (
	"fmt"
	"time"

	"github.com/aclements/go-moremath/stats"
)

// SignificanceLevel is the P below which Significance calls a difference significant. Of
// twenty unchanged operations, one is called significant by chance.
const SignificanceLevel = 0.05

// maxSample is the maximum number of calls of a side that enter the test; of more calls,
// evenly spaced ones are taken. It limits the time of the test, and its sums of cubes of
// ties to 31 bits.
const maxSample = 600

// probability returns the two-sided p of the Mann-Whitney U test of the hypothesis that
// two samples have the same distribution. It is exact for few calls, and otherwise uses
// the normal approximation with a correction for ties (H. B. Mann, D. R. Whitney, Annals
// of Mathematical Statistics 18, 1947). It returns nil if there are so few calls that no
// outcome would be significant.
func probability(before, after []time.Duration) *float64 {
	if tooFew(len(before), len(after)) {
		return nil
	}
	t, err := stats.MannWhitneyUTest(sample(before), sample(after), stats.LocationDiffers)
	p := 1.0 // the only possible error of the test: all calls took the same time
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

// Significance returns a text that says whether the difference is significant: "p=0.029
// n=4+4", "not significant, p=0.343 n=4+4", or "too few calls, n=1+1". It is empty for
// operations that are in only one report.
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
