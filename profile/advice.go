package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Advice is a recommendation to change a program, with the figures that led to it.
type Advice struct {
	Rule    string   `json:"rule"`    // what found it: "transfers"
	Finding string   `json:"finding"` // what the profile shows
	Do      string   `json:"do"`      // what to try
	Figures []Figure `json:"figures"`
	// Share is the fraction of the time that the finding concerns, from 0 to 1. The
	// finding states the whole. For rules that are not about time, such as those about
	// memory, it is 0.
	Share float64 `json:"share"`
}

// Figure is a measured number that supports a piece of advice.
type Figure struct {
	Name  string `json:"name"`
	Value string `json:"value"` // the number with its unit
}

// String writes the advice as one paragraph with its figures.
func (a Advice) String() string {
	figures := make([]string, len(a.Figures))
	for i, f := range a.Figures {
		figures[i] = f.Name + " " + f.Value
	}
	return fmt.Sprintf("%s (%s). %s", a.Finding, strings.Join(figures, ", "), a.Do)
}

// Advice returns recommendations, those for the largest share of time first. A rule
// applies only if the report has the figures that it needs. No advice means that no
// rule's threshold was reached. It does not mean that nothing can be faster.
func (r *Report) Advice() []Advice {
	r = r.orEmpty()
	f := &findings{report: r, summary: r.Summary(), totals: r.Totals()}
	var out []Advice
	for _, rule := range []func(*findings) []Advice{
		adviseTransfers, advisePinned, adviseLaunches, adviseIdle, adviseDominant, adviseCompiling, adviseMemory, adviseAllocations,
	} {
		out = append(out, rule(f)...)
	}
	slices.SortStableFunc(out, func(a, b Advice) int { return cmp.Compare(b.Share, a.Share) })
	return out
}

// findings holds the figures that rules read.
type findings struct {
	report  *Report
	summary Summary
	totals  []Total
}
