package profile

import (
	"math"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"
	"time"
)

// callsReport has one operation with these times on the host.
func callsReport(times ...time.Duration) *Report {
	r := &Report{}
	for _, t := range times {
		r.Operations = append(r.Operations, Operation{Name: "MatMul", Site: "a.go:1", Device: "cpu", Host: t})
	}
	return r
}

func TestCompareVerdicts(t *testing.T) {
	const ms = time.Millisecond
	for _, c := range []struct {
		before, after time.Duration
		threshold     float64
		verdict       Verdict
		change        string
	}{
		{98 * ms, 138 * ms, 0.05, Regressed, "+40.8%"},
		{35 * ms, 250 * time.Microsecond, 0.05, Improved, "-99.3%"},
		{1000 * ms, 1049 * ms, 0.05, Unchanged, "+4.9%"},
		{1000 * ms, 1050 * ms, 0.05, Unchanged, "+5.0%"}, // the threshold itself is no change
		{1000 * ms, 1051 * ms, 0.05, Regressed, "+5.1%"},
		{1000 * ms, 950 * ms, 0.05, Unchanged, "-5.0%"},
		{1000 * ms, 949 * ms, 0.05, Improved, "-5.1%"},
		{1000 * ms, 1000 * ms, 0, Unchanged, "+0.0%"},
		{1000 * ms, 1001 * ms, 0, Regressed, "+0.1%"},
		{1000 * ms, 1001 * ms, -3, Regressed, "+0.1%"},
		{1000 * ms, 999 * ms, math.NaN(), Improved, "-0.1%"},
		{0, 0, 0.05, Unchanged, "+0.0%"},
		{0, 1, 0.05, Regressed, "from 0"},
		{1, 0, 0.05, Improved, "-100.0%"},
		{math.MaxInt64, 1, 0.05, Improved, "-100.0%"},
	} {
		d := Compare(callsReport(c.before), callsReport(c.after), c.threshold)
		got := d.Changes[0]
		if got.Verdict != c.verdict || got.ChangeText() != c.change || got.P != nil || got.Significance() != "too few calls, n=1+1" {
			t.Errorf("%v to %v at %v: %s %s, %s; want %s %s", c.before, c.after, c.threshold, got.Verdict, got.ChangeText(), got.Significance(), c.verdict, c.change)
		}
	}
}

func TestCompareMatches(t *testing.T) {
	op := func(name, site, dtype string, n int, host time.Duration) Operation {
		return Operation{Name: name, Site: site, DType: dtype, Shape: []int{n}, Host: host}
	}
	failed := op("Log", "a.go:9", "float32", 2, 10)
	failed.Failed = true
	before := &Report{Name: "b", Duration: 7, Operations: []Operation{
		op("Exp", "a.go:1", "float32", 2, 10),
		op("Exp", "a.go:1", "float32", 3, 20), // two shapes here: the shape counts
		op("Exp", "a.go:2", "float32", 2, 10), // one type on each side: the same operation
		op("Sin", "a.go:3", "float32", 2, 10),
		op("Cos", "a.go:5", "float32", 2, 100),
		failed,
	}}
	after := &Report{Name: "a", Duration: 9, Operations: []Operation{
		op("Exp", "a.go:1", "float32", 2, 20),
		op("Exp", "a.go:1", "float32", 3, 10),
		op("Exp", "a.go:2", "bfloat16", 2, 5),
		op("Sin", "a.go:4", "float32", 2, 10),
		op("Cos", "a.go:5", "float32", 2, 103),
		failed,
	}}
	d := Compare(before, after, 0.05)
	var got []string
	for _, c := range d.Changes {
		got = append(got, strings.Join([]string{string(c.Verdict), c.Name, c.Site, c.DType, shapeText(c.Shape), c.ChangeText()}, " "))
	}
	want := []string{
		"regressed Exp a.go:1 float32 2 +100.0%",
		"improved Exp a.go:1 float32 3 -50.0%",
		"improved Exp a.go:2  2 -50.0%",
		"new Sin a.go:4 float32 2 new",
		"removed Sin a.go:3 float32 2 removed",
		"unchanged Cos a.go:5 float32 2 +3.0%",
	}
	if !slices.Equal(got, want) {
		t.Errorf("got\n%s\nwant\n%s", strings.Join(got, "\n"), strings.Join(want, "\n"))
	}
	if d.Before != "b" || d.After != "a" || d.BeforeDuration != 7 || d.AfterDuration != 9 || d.Count(Improved) != 2 {
		t.Errorf("%+v", d)
	}
	if d.Changes[3].Before != nil || d.Changes[4].After != nil || d.Changes[3].Relative != nil {
		t.Errorf("%+v", d.Changes[3])
	}
}

// TestCompareClock checks that a comparison uses times by events if both reports have
// them, else the host's.
func TestCompareClock(t *testing.T) {
	d := durations(100, 300)
	one := func(host time.Duration, device *time.Duration) *Report {
		return &Report{Operations: []Operation{{Name: "Exp", Host: host, Time: device}}}
	}
	for _, c := range []struct {
		before, after *Report
		clock         Clock
		medians       [2]time.Duration
	}{
		{one(1, d[0]), one(2, d[1]), DeviceClock, [2]time.Duration{100, 300}},
		{one(1, d[0]), one(2, nil), HostClock, [2]time.Duration{1, 2}},
		{one(1, nil), one(2, d[1]), HostClock, [2]time.Duration{1, 2}},
	} {
		got := Compare(c.before, c.after, 0.05).Changes[0]
		if got.Clock != c.clock || [2]time.Duration{got.Before.Median, got.After.Median} != c.medians {
			t.Errorf("%s %v %v, want %s %v", got.Clock, got.Before, got.After, c.clock, c.medians)
		}
	}
	if got := Compare(&Report{}, one(1, d[0]), 0.05).Changes[0]; got.Clock != DeviceClock || got.After.Median != 100 {
		t.Errorf("new: %+v", got)
	}
}

// TestProbability compares with a count of all ways to divide the calls in two samples.
func TestProbability(t *testing.T) {
	random := newRandom(t, 17)
	for _, n := range [][2]int{{4, 4}, {3, 5}, {5, 5}, {6, 4}, {2, 8}, {7, 7}} {
		for _, values := range []int{1000, 6} { // few values: ties
			before, after := randomTimes(random, n[0], values), randomTimes(random, n[1], values)
			p := probability(before, after)
			if p == nil {
				t.Errorf("%v: too few", n)
				continue
			}
			if want := permutations(before, after); math.Abs(*p-want) > 1e-9 {
				t.Errorf("%v and %v: p = %v, want %v", before, after, *p, want)
			}
		}
	}
	same := []time.Duration{5, 5, 5, 5, 5}
	if p := probability(same, same); p == nil || *p != 1 {
		t.Errorf("equal times: %v", p)
	}
	for n := range 12 {
		for m := range 12 {
			if got, want := tooFew(n, m), n == 0 || m == 0 || 2/choose(n+m, n) >= SignificanceLevel; got != want {
				t.Errorf("too few of %d and %d: %v, want %v", n, m, got, want)
			}
		}
	}
}

// TestProbabilityOfMany: samples above the exact test's size. Of one distribution 5 % are
// significant, of two that differ nearly all.
func TestProbabilityOfMany(t *testing.T) {
	random := newRandom(t, 19)
	const trials = 400
	chance, found := 0, 0
	for range trials {
		a, b := randomTimes(random, 700, 90), randomTimes(random, 80, 90)
		if *probability(a, b) < SignificanceLevel {
			chance++
		}
		for i := range b {
			b[i] += 20
		}
		if *probability(a, b) < SignificanceLevel {
			found++
		}
	}
	// Binomial: 20 expected of 400, standard deviation 4.4.
	if chance < 3 || chance > 40 || found < trials*9/10 {
		t.Errorf("of %d, %d significant by chance, %d found", trials, chance, found)
	}
}

func randomTimes(r *rand.Rand, n, values int) []time.Duration {
	ts := make([]time.Duration, n)
	for i := range ts {
		ts[i] = time.Duration(1 + r.IntN(values))
	}
	return ts
}

func choose(n, k int) float64 {
	c := 1.0
	for i := range k {
		c = c * float64(n-i) / float64(i+1)
	}
	return math.Round(c)
}

// permutations returns twice the fraction of all divisions whose U is at most the smaller
// of the two samples' U, or 1 if these are equal.
func permutations(before, after []time.Duration) float64 {
	all := slices.Concat(before, after)
	u := func(in uint) (u float64) { // pairs of which the first sample's is larger
		for i := range all {
			for j := range all {
				if in>>i&1 == 1 && in>>j&1 == 0 {
					switch {
					case all[i] > all[j]:
						u++
					case all[i] == all[j]:
						u += 0.5
					}
				}
			}
		}
		return u
	}
	seen := u(1<<len(before) - 1)
	other := float64(len(before)*len(after)) - seen
	if seen == other {
		return 1
	}
	below, total := 0.0, 0.0
	for in := range uint(1) << len(all) {
		if bits(in) != len(before) {
			continue
		}
		total++
		if u(in) <= min(seen, other) {
			below++
		}
	}
	return min(1, 2*below/total)
}

func bits(in uint) (n int) {
	for ; in > 0; in &= in - 1 {
		n++
	}
	return n
}

// TestCompareRandom: a slower product is found, and nothing else.
func TestCompareRandom(t *testing.T) {
	random := newRandom(t, 23)
	before, after := makeReport(random, generated{steps: 60, devices: 1}), makeReport(random, generated{steps: 60, devices: 1, slower: 1.4})
	for _, c := range Compare(before, after, 0.15).Changes {
		want := Unchanged
		if c.Name == "MatMul" {
			want = Regressed
		}
		if c.Verdict != want || c.Before.N != 60 || c.P == nil || want == Regressed && *c.P > 1e-6 {
			t.Errorf("%s: %s %s %s", c.Name, c.Verdict, c.ChangeText(), c.Significance())
		}
	}
}
