package devicetest

import (
	"testing"
	"time"
)

// AtMost fails if a figure exceeds a limit in every round for 10 s. Other work on the machine
// makes a round slower, never faster, so one round within the limit is enough. Under the race
// detector it skips the test.
func AtMost(t *testing.T, name string, limit time.Duration, round func() time.Duration) {
	t.Helper()
	if Race {
		t.Skip("NOT run: the race detector's times are not the program's")
	}
	best := round()
	for deadline := time.Now().Add(10 * time.Second); best > limit && time.Now().Before(deadline); {
		best = min(best, round())
	}
	t.Logf("%s: %v, at most %v", name, best, limit)
	if best > limit {
		t.Errorf("%s: %v in the best round, want at most %v", name, best, limit)
	}
}

// CallTime returns the time of one of many calls in a row.
func CallTime(calls int, f func()) time.Duration {
	begin := time.Now()
	for range calls {
		f()
	}
	return time.Since(begin) / time.Duration(calls)
}

// LeastAllocs returns the smallest of five results of testing.AllocsPerRun, which also counts the
// allocations of other goroutines (cleanups, collections). These only ever add to the count.
func LeastAllocs(runs int, f func()) float64 {
	least := testing.AllocsPerRun(runs, f)
	for range 4 {
		least = min(least, testing.AllocsPerRun(runs, f))
	}
	return least
}
