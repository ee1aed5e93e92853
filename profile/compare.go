package profile

import (
	"cmp"
	"slices"
	"time"
)

// DefaultThreshold is the relative change from which pages and the command line call an
// operation improved or regressed. Medians of repeated runs on one machine differ by
// less. With a threshold of 0, every difference is a change.
const DefaultThreshold = 0.05

// Verdict is the result of comparing an operation in two reports.
type Verdict string

// The verdicts.
const (
	Improved  Verdict = "improved"  // faster by more than the threshold
	Regressed Verdict = "regressed" // slower by more than the threshold
	Unchanged Verdict = "unchanged"
	New       Verdict = "new"     // only in the second report
	Removed   Verdict = "removed" // only in the first report
)

// Diff is the comparison of two reports.
type Diff struct {
	Before    string  `json:"before,omitempty"` // Report.Name
	After     string  `json:"after,omitempty"`
	Threshold float64 `json:"threshold"`
	// BeforeDuration and AfterDuration are the durations of the profiles.
	BeforeDuration time.Duration `json:"before_duration_ns"`
	AfterDuration  time.Duration `json:"after_duration_ns"`
	// Changes are in the order regressed, improved, new, removed, unchanged. Within each
	// verdict they are sorted by time, the longest first.
	Changes []Change `json:"changes"`
}

// Change is one operation in two reports.
type Change struct {
	Name  string `json:"name"`
	Site  string `json:"site,omitempty"`
	DType string `json:"dtype,omitempty"` // empty if it differs between calls
	Shape []int  `json:"shape,omitempty"` // nil if it differs between calls

	Verdict Verdict `json:"verdict"`
	// Clock is the clock of all times here: DeviceClock if both reports were measured by
	// events, otherwise HostClock.
	Clock  Clock  `json:"clock"`
	Before *Calls `json:"before,omitempty"` // nil: New
	After  *Calls `json:"after,omitempty"`  // nil: Removed
	// Relative is After.Median / Before.Median - 1: 0.408 is 40.8 % slower. It is nil if
	// Before or After is, or if Before.Median is 0 and After.Median is not.
	Relative *float64 `json:"relative,omitempty"`
	// P is the probability that the times of unchanged calls differ at least as much, by
	// the two-sided Mann-Whitney U test. It is nil if there are too few calls for the
	// test.
	P *float64 `json:"p,omitempty"`
}

// Calls summarizes the calls of an operation that did not fail.
type Calls struct {
	N      int           `json:"n"`
	Median time.Duration `json:"median_ns"`
	Total  time.Duration `json:"total_ns"`
}

// Compare compares the time of each operation in two reports. Operations are matched by
// name and site. If calls with the same name and site differ in element type or shape in
// either report, these must match too.
//
// The verdict depends on the median time of a call. A change of more than threshold (0.05
// is 5 %) is Improved or Regressed, and a smaller one is Unchanged. A negative threshold
// counts as 0. The verdict does not say whether the difference is significant: see
// Change.P. Failed calls are ignored. A nil report counts as empty.
func Compare(before, after *Report, threshold float64) *Diff {
	before, after = before.orEmpty(), after.orEmpty()
	d := &Diff{
		Before: before.Name, After: after.Name, Threshold: max(0, threshold),
		BeforeDuration: before.Duration, AfterDuration: after.Duration,
	}
	if threshold != threshold { // NaN
		d.Threshold = 0
	}
	for _, p := range pairs(before.groups(), after.groups()) {
		if c, ok := p.change(d.Threshold); ok {
			d.Changes = append(d.Changes, c)
		}
	}
	slices.SortStableFunc(d.Changes, func(a, b Change) int {
		return cmp.Or(cmp.Compare(a.Verdict.order(), b.Verdict.order()), cmp.Compare(b.weight(), a.weight()),
			cmp.Compare(a.Name, b.Name), cmp.Compare(a.Site, b.Site))
	})
	return d
}

func (v Verdict) order() int {
	return slices.Index([]Verdict{Regressed, Improved, New, Removed, Unchanged}, v)
}

// weight returns the larger of the two total times.
func (c *Change) weight() (t time.Duration) {
	for _, side := range []*Calls{c.Before, c.After} {
		if side != nil {
			t = max(t, side.Total)
		}
	}
	return t
}

// pair is an operation in two reports. A side without calls is nil.
type pair struct {
	key           operationKey // with type and shape only if they are the same for every call
	before, after group
}

// pairs matches the operations of two reports.
func pairs(before, after []group) []pair {
	type line struct{ name, site string }
	kinds := map[line]map[operationKey]bool{} // for the line of each report
	several := map[line]bool{}
	for _, side := range [][]group{before, after} {
		clear(kinds)
		for _, g := range side {
			l := line{g.key.name, g.key.site}
			if kinds[l] == nil {
				kinds[l] = map[operationKey]bool{}
			}
			kinds[l][g.key] = true
			several[l] = several[l] || len(kinds[l]) > 1
		}
	}
	var out []pair
	at := map[operationKey]int{}
	for n, side := range [][]group{before, after} {
		for _, g := range side {
			k := operationKey{name: g.key.name, site: g.key.site}
			if several[line{k.name, k.site}] {
				k = g.key
			}
			i, ok := at[k]
			if !ok {
				i = len(out)
				at[k] = i
				out = append(out, pair{key: k})
			}
			if n == 0 {
				out[i].before = g
			} else {
				out[i].after = g
			}
		}
	}
	return out
}

// change compares the two sides. ok is false if every call failed.
func (p *pair) change(threshold float64) (c Change, ok bool) {
	c = Change{Name: p.key.name, Site: p.key.site, Clock: p.clock()}
	c.DType, c.Shape = p.sameKind()
	before, after := p.before.times(c.Clock), p.after.times(c.Clock)
	c.P = probability(before, after) // before the medians, because computing them sorts
	c.Before, c.After = callsOf(before), callsOf(after)
	switch {
	case c.Before == nil && c.After == nil:
		return c, false
	case c.Before == nil:
		c.Verdict = New
	case c.After == nil:
		c.Verdict = Removed
	default:
		c.judge(threshold)
	}
	return c, true
}

// sameKind returns the element type and shape of all calls. Each is empty if calls differ
// in it.
func (p *pair) sameKind() (dtype string, shape []int) {
	b, a := p.before.calls, p.after.calls
	switch {
	case len(b) == 0:
		return a[0].DType, slices.Clone(a[0].Shape)
	case len(a) == 0 || p.before.key == p.after.key:
		return b[0].DType, slices.Clone(b[0].Shape)
	}
	if b[0].DType == a[0].DType {
		dtype = b[0].DType
	}
	if slices.Equal(b[0].Shape, a[0].Shape) {
		shape = slices.Clone(b[0].Shape)
	}
	return dtype, shape
}

// clock returns the clock by which both sides were measured.
func (p *pair) clock() Clock {
	for _, g := range []*group{&p.before, &p.after} {
		if len(g.calls) > 0 && len(g.times(DeviceClock)) == 0 {
			return HostClock
		}
	}
	return DeviceClock
}

// judge sets the verdict by comparing the medians.
func (c *Change) judge(threshold float64) {
	before, after := float64(c.Before.Median), float64(c.After.Median)
	if before == 0 {
		c.Verdict = Unchanged
		if after > 0 {
			c.Verdict = Regressed
			return
		}
	}
	relative := 0.0
	if before > 0 {
		relative = after/before - 1
	}
	c.Relative = &relative
	// after - before is exact. With after / before - 1, rounding could make 0.05 exceed 5
	// %.
	switch limit := threshold * before; {
	case after-before > limit:
		c.Verdict = Regressed
	case before-after > limit:
		c.Verdict = Improved
	default:
		c.Verdict = Unchanged
	}
}

func callsOf(ts []time.Duration) *Calls {
	if len(ts) == 0 {
		return nil
	}
	c := &Calls{N: len(ts), Median: median(ts)}
	for _, t := range ts {
		c.Total = addUp(c.Total, t)
	}
	return c
}
