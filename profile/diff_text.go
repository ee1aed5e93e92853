package profile

import (
	"bufio"
	"fmt"
	"io"
	"strings"
)

// WriteText writes the changes as a table, with the test's p and the calls of each side.
// It contains the first 20 operations; unchanged ones are last.
func (d *Diff) WriteText(w io.Writer) error {
	if err := writable("WriteText", d != nil, w); err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	fmt.Fprintf(b, "%s against %s: %s, before %s; threshold %s\n",
		printable(orDefault(d.After, "after")), printable(orDefault(d.Before, "before")), timeText(d.AfterDuration), timeText(d.BeforeDuration), percentText(d.Threshold))
	fmt.Fprintln(b, d.countsText())
	t := newTable(b, "operations, medians a call", len(d.Changes), "verdict\toperation\tbefore\tafter\tchange\tsignificance\tclock\tkind\tsite")
	for i := range d.Changes[:min(len(d.Changes), textRows)] {
		c := &d.Changes[i]
		t.row(string(c.Verdict), c.Name, c.Before.medianText(), c.After.medianText(), c.ChangeText(), orDefault(c.Significance(), "-"),
			string(c.Clock), strings.TrimSpace(c.DType+" "+shapeText(c.Shape)), c.Site)
	}
	t.end()
	if err := b.Flush(); err != nil {
		return fmt.Errorf("profile: writing text: %w", err)
	}
	return nil
}

// Count returns the number of changes with a verdict.
func (d *Diff) Count(v Verdict) (n int) {
	if d == nil {
		return 0
	}
	for i := range d.Changes {
		if d.Changes[i].Verdict == v {
			n++
		}
	}
	return n
}

func (d *Diff) countsText() string {
	var parts []string
	for _, v := range []Verdict{Regressed, Improved, New, Removed, Unchanged} {
		parts = append(parts, fmt.Sprintf("%s %s", countText(d.Count(v)), v))
	}
	return strings.Join(parts, ", ")
}

// ChangeText returns the relative change in percent with its sign, such as "+40.8%" or
// "-99.3%". For operations that are in only one report it returns "new" or "removed".
func (c *Change) ChangeText() string {
	if c == nil {
		return ""
	}
	if c.Before == nil || c.After == nil {
		return string(c.Verdict)
	}
	return changeText(c.Relative)
}

func (c *Calls) medianText() string {
	if c == nil {
		return "-"
	}
	return timeText(c.Median)
}

func orDefault(s, instead string) string {
	if s == "" {
		return instead
	}
	return s
}
