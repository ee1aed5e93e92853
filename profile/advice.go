package profile

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
)

// Advice is one thing to change in a program, and the figures that led to it.
type Advice struct {
	Rule    string   `json:"rule"`    // what found it: "transfers"
	Finding string   `json:"finding"` // what the profile shows
	Do      string   `json:"do"`      // what to try
	Figures []Figure `json:"figures"`
	// Share is the part of the time that the finding concerns, 0 to 1, of the whole that
	// the finding names. Rules that are not about time, of memory, have 0.
	Share float64 `json:"share"`
}

// Figure is a measured number that a piece of advice rests on.
type Figure struct {
	Name  string `json:"name"`
	Value string `json:"value"` // with its unit
}

// String writes the advice as one paragraph with its figures.
func (a Advice) String() string {
	figures := make([]string, len(a.Figures))
	for i, f := range a.Figures {
		figures[i] = f.Name + " " + f.Value
	}
	return fmt.Sprintf("%s (%s). %s", a.Finding, strings.Join(figures, ", "), a.Do)
}

// Advice says what to change in the program, the largest share of time first. A rule
// speaks only where the report has the figures that it needs; no advice means that no
// rule's threshold was reached, not that nothing can be faster.
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

// findings is what rules read.
type findings struct {
	report  *Report
	summary Summary
	totals  []Total
}
