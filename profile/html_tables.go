package profile

import (
	"fmt"
	"slices"
	"strings"
	"time"
)

// newPageTable makes a table of the first rows of n rows, at most maxRows.
func newPageTable(n int, columns []string, cells func(i int) []cell) *pageTable {
	if n == 0 {
		return nil
	}
	t := &pageTable{Columns: columns, LeftOut: max(0, n-maxRows)}
	for i := range min(n, maxRows) {
		t.Rows = append(t.Rows, pageRow{Cells: cells(i), More: i >= firstRows})
	}
	t.dropEmpty()
	return t
}

// dropEmpty removes columns that are empty in every row.
func (t *pageTable) dropEmpty() {
	for c := len(t.Columns) - 1; c >= 0; c-- {
		used := slices.ContainsFunc(t.Rows, func(r pageRow) bool { return r.Cells[c].Text != "" && r.Cells[c].Text != notMeasured })
		if used {
			continue
		}
		t.Columns = slices.Delete(t.Columns, c, c+1)
		for i := range t.Rows {
			t.Rows[i].Cells = slices.Delete(t.Rows[i].Cells, c, c+1)
		}
	}
}

// notMeasured is the text of a figure that was not measured.
const notMeasured = "–"

// Hidden returns the number of rows that are hidden at first.
func (t *pageTable) Hidden() int { return max(0, len(t.Rows)-firstRows) }

func textCell(s string) cell { return cell{Text: s} }

func countCell[T ~int | ~int64](n T) cell {
	return cell{Text: countText(n), Sort: float64(n), Number: true}
}

func timeCell(d time.Duration) cell {
	return cell{Text: timeText(d), Sort: float64(d), Number: true}
}

func optionalTimeCell(d *time.Duration) cell {
	if d == nil {
		return cell{Text: notMeasured, Sort: -1, Number: true}
	}
	return timeCell(*d)
}

func bytesCell(n int64) cell { return cell{Text: bytesText(n), Sort: float64(n), Number: true} }

// rateCell returns the cell of a rate. Its unit is in the column's heading.
func rateCell(v *float64) cell {
	if v == nil {
		return cell{Text: notMeasured, Sort: -1, Number: true}
	}
	return cell{Text: threeDigits(*v), Sort: *v, Number: true}
}

func operationTable(totals []Total) *pageTable {
	columns := []string{"operation", "share", "calls", "median", "device", "host", "TFLOP/s", "GB/s", "site", "result", "kernel"}
	return newPageTable(len(totals), columns, func(i int) []cell {
		t := &totals[i]
		share := cell{Text: percentText(t.Share), Sort: t.Share, Number: true, Percent: 100 * t.Share / max(totals[0].Share, 1e-9)}
		return []cell{
			textCell(t.Name), share, countCell(t.Calls), timeCell(t.Median), optionalTimeCell(t.Device), timeCell(t.Host),
			rateCell(t.TFlops), rateCell(t.GBPerSecond), textCell(t.Site), textCell(strings.TrimSpace(t.DType + " " + shapeText(t.Shape))), textCell(t.Kernel),
		}
	})
}

func spanTable(totals []SpanTotal) *pageTable {
	columns := []string{"span", "calls", "host", "median", "device", "operations", "transfers"}
	return newPageTable(len(totals), columns, func(i int) []cell {
		t := &totals[i]
		name := textCell(t.Name)
		name.Indent = min(t.Depth, maxNestedSpans)
		return []cell{name, countCell(t.Calls), timeCell(t.Host), timeCell(t.Median), optionalTimeCell(t.Device), countCell(t.Operations), countCell(t.Transfers)}
	})
}

func transferTable(totals []TransferTotal) *pageTable {
	columns := []string{"direction", "copies", "bytes", "device", "GB/s", "host"}
	fastest := 0.0
	for i := range totals {
		if v := totals[i].GBPerSecond; v != nil {
			fastest = max(fastest, *v)
		}
	}
	return newPageTable(len(totals), columns, func(i int) []cell {
		t := &totals[i]
		rate := rateCell(t.GBPerSecond)
		if t.GBPerSecond != nil {
			rate.Percent = 100 * *t.GBPerSecond / fastest
		}
		return []cell{textCell(t.Kind.words() + " (" + string(t.Kind) + ")"), countCell(t.Calls), bytesCell(t.Bytes), optionalTimeCell(t.Device), rate, timeCell(t.Host)}
	})
}

func allocationTable(as []Allocation) *pageTable {
	columns := []string{"made by", "peak", "buffers", "bytes of all", "at the end", "device", "site"}
	return newPageTable(len(as), columns, func(i int) []cell {
		a := &as[i]
		peak := bytesCell(a.Peak)
		if as[0].Peak > 0 {
			peak.Percent = min(100, 100*float64(a.Peak)/float64(as[0].Peak))
		}
		return []cell{textCell(a.Name), peak, countCell(a.Count), bytesCell(a.Bytes), bytesCell(a.InUse), textCell(a.Device), textCell(a.Site)}
	})
}

func newDiffPage(d *Diff) *diffPage {
	p := &diffPage{Counts: d.countsText()}
	p.Title = fmt.Sprintf("This run took %s. The earlier one, %s, took %s.", timeText(d.AfterDuration), orDefault(d.Before, "without a name"), timeText(d.BeforeDuration))
	p.Counts += fmt.Sprintf(" at a threshold of %s.", percentText(d.Threshold))
	columns := []string{"verdict", "change", "operation", "before", "after", "significance", "site", "result", "clock"}
	p.Table = newPageTable(len(d.Changes), columns, func(i int) []cell {
		c := &d.Changes[i]
		change := cell{Text: c.ChangeText(), Number: true}
		if c.Relative != nil {
			change.Sort = *c.Relative
		}
		return []cell{
			{Text: string(c.Verdict), Sort: float64(c.Verdict.order()), Verdict: c.Verdict, Unsure: c.Relative != nil && (c.P == nil || *c.P >= SignificanceLevel)},
			change, textCell(c.Name), callsCell(c.Before, c), callsCell(c.After, c), textCell(c.Significance()),
			textCell(c.Site), textCell(strings.TrimSpace(c.DType + " " + shapeText(c.Shape))), textCell(string(c.Clock)),
		}
	})
	return p
}

// callsCell returns the cell of one side's median, with a bar that compares it with the
// other side's.
func callsCell(side *Calls, c *Change) cell {
	if side == nil {
		return optionalTimeCell(nil)
	}
	out := timeCell(side.Median)
	if c.Before != nil && c.After != nil {
		if longer := max(c.Before.Median, c.After.Median); longer > 0 {
			out.Percent = 100 * float64(side.Median) / float64(longer)
		}
	}
	return out
}
