package profile

import (
	"bufio"
	"bytes"
	"fmt"
	"io"
	"strings"
	"text/tabwriter"
	"time"
	"unicode"
)

// Maximum numbers of rows of the text report's tables.
const (
	textRows        = 20
	textBottlenecks = 5
)

// WriteText writes the report for a terminal: totals, time by operation and by span,
// transfers, memory, the five largest bottlenecks, and advice. It contains the first 20
// rows of each table. A figure that was not measured is left out or printed as a dash.
func (r *Report) WriteText(w io.Writer) error {
	if err := writable("WriteText", r != nil, w); err != nil {
		return err
	}
	b := bufio.NewWriter(w)
	r.textTotals(b)
	r.textOperations(b)
	r.textSpans(b)
	r.textTransfers(b)
	r.textMemory(b)
	r.textFindings(b)
	if err := b.Flush(); err != nil {
		return fmt.Errorf("profile: writing text: %w", err)
	}
	return nil
}

func (r *Report) textTotals(w io.Writer) {
	s := r.Summary()
	name := r.Name
	if name == "" {
		name = "profile"
	}
	fmt.Fprintf(w, "%s: %s\n", printable(name), timeText(r.Duration))
	for _, d := range r.Devices {
		fmt.Fprintf(w, "device %s\n", printable(strings.Join(deviceFacts(&d), ", ")))
	}
	for _, f := range summaryFigures(r, &s) {
		fmt.Fprintf(w, "%s %s\n", f.Name, f.Value)
	}
}

// deviceFacts returns the properties of a device in a report.
func deviceFacts(d *Device) []string {
	facts := []string{d.Name}
	if d.Model != "" {
		facts = append(facts, d.Model)
	}
	if d.Driver != "" {
		facts = append(facts, "driver "+d.Driver)
	}
	if d.MemoryBytes > 0 {
		facts = append(facts, bytesText(d.MemoryBytes))
	}
	if d.PeakBytes != nil {
		facts = append(facts, "peak "+bytesText(*d.PeakBytes))
	}
	return facts
}

// summaryFigures returns the measured figures of the whole report.
func summaryFigures(r *Report, s *Summary) []Figure {
	fs := []Figure{{"launches", countText(s.Launches)}}
	add := func(name, value string) {
		if value != "" {
			fs = append(fs, Figure{name, value})
		}
	}
	if s.Failed > 0 {
		add("failed operations", countText(s.Failed))
	}
	if r.Dropped > 0 {
		add("events not kept", countText(r.Dropped))
	}
	add("throughput", rateText(s.LaunchesPerSecond, "launches/s"))
	add("host time", timeText(s.HostTime))
	if s.DeviceTime != nil {
		add("device time", timeText(*s.DeviceTime))
	}
	if s.TransferTime != nil {
		add("transfer time", timeText(*s.TransferTime))
	}
	add("products", rateText(s.TFlops, "TFLOP/s"))
	add("memory rate", rateText(s.GBPerSecond, "GB/s"))
	if s.GraphReplays != nil {
		add("graph replays", countText(*s.GraphReplays))
	}
	if s.GraphHitRate != nil {
		add("graph hit rate", percentText(*s.GraphHitRate))
	}
	if k := r.Kernels; k != nil {
		add("kernels compiled", fmt.Sprintf("%s in %s", countText(k.Compiled), timeText(k.Time)))
	}
	if s.KernelHitRate != nil {
		add("kernel hit rate", percentText(*s.KernelHitRate))
	}
	for i, b := range s.Streams {
		if i == textRows {
			add("streams not listed", countText(len(s.Streams)-i))
			break
		}
		add(fmt.Sprintf("busy %s stream %d", printable(b.Device), b.Stream), percentText(b.Busy))
	}
	return fs
}

func (r *Report) textOperations(w io.Writer) {
	totals := r.Totals()
	t := newTable(w, "time by operation", len(totals), "operation\tcalls\thost\tdevice\tmedian\tshare\tkind\tsite")
	for i := range totals[:min(len(totals), textRows)] {
		o := &totals[i]
		t.row(o.Name, countText(o.Calls), timeText(o.Host), optionalTime(o.Device), timeText(o.Median), percentText(o.Share),
			strings.TrimSpace(o.DType+" "+shapeText(o.Shape)), o.Site)
	}
	t.end()
}

func (r *Report) textSpans(w io.Writer) {
	totals := r.SpanTotals()
	t := newTable(w, "time by span", len(totals), "span\tcalls\thost\tdevice\tmedian\toperations")
	for i := range totals[:min(len(totals), textRows)] {
		s := &totals[i]
		indent := strings.Repeat("  ", min(s.Depth, textRows))
		t.row(indent+s.Name, countText(s.Calls), timeText(s.Host), optionalTime(s.Device), timeText(s.Median), countText(s.Operations))
	}
	t.end()
}

func (r *Report) textTransfers(w io.Writer) {
	totals := r.TransferTotals()
	t := newTable(w, "transfers", len(totals), "direction\tcopies\tbytes\tdevice\tGB/s")
	for i := range totals {
		x := &totals[i]
		rate := "-"
		if x.GBPerSecond != nil {
			rate = threeDigits(*x.GBPerSecond)
		}
		t.row(string(x.Kind), countText(x.Calls), bytesText(x.Bytes), optionalTime(x.Device), rate)
	}
	t.end()
}

func (r *Report) textMemory(w io.Writer) {
	t := newTable(w, "allocations", len(r.Allocations), "name\tpeak\tbuffers\tbytes of all\tat the end\tdevice\tsite")
	for i := range r.Allocations[:min(len(r.Allocations), textRows)] {
		a := &r.Allocations[i]
		t.row(a.Name, bytesText(a.Peak), countText(a.Count), bytesText(a.Bytes), bytesText(a.InUse), a.Device, a.Site)
	}
	t.end()
}

func (r *Report) textFindings(w io.Writer) {
	if bs := r.Bottlenecks(textBottlenecks); len(bs) > 0 {
		t := newTable(w, "bottlenecks", len(bs), "what\ttime\tof the profile\tsite\tdetail")
		for _, b := range bs {
			t.row(b.What, timeText(b.Time), percentText(b.Share), b.Site, b.Detail)
		}
		t.end()
	}
	if advice := r.Advice(); len(advice) > 0 {
		fmt.Fprintln(w, "\nadvice")
		for _, a := range advice {
			fmt.Fprintf(w, "- %s\n", printable(a.String()))
		}
	}
}

// table writes aligned columns. A table without rows is not written.
type table struct {
	w       io.Writer
	aligned bytes.Buffer
	columns *tabwriter.Writer
	left    int // rows that are not shown
}

func newTable(w io.Writer, title string, rows int, head string) *table {
	t := &table{w: w, left: max(0, rows-textRows)}
	t.columns = tabwriter.NewWriter(&t.aligned, 0, 0, 2, ' ', 0)
	if rows > 0 {
		fmt.Fprintf(w, "\n%s\n", title)
		fmt.Fprintln(t.columns, head)
	}
	return t
}

func (t *table) row(cells ...string) {
	for i := range cells {
		cells[i] = printable(cells[i])
	}
	fmt.Fprintln(t.columns, strings.Join(cells, "\t"))
}

func (t *table) end() {
	t.columns.Flush()
	for line := range strings.Lines(t.aligned.String()) {
		fmt.Fprintln(t.w, strings.TrimRight(line, " \n"))
	}
	if t.left > 0 {
		fmt.Fprintf(t.w, "and %s more\n", countText(t.left))
	}
}

// printable replaces characters that would move a terminal's cursor or break a table's
// columns.
func printable(s string) string {
	return strings.Map(func(c rune) rune {
		if unicode.IsPrint(c) {
			return c
		}
		return '?'
	}, s)
}

func optionalTime(d *time.Duration) string {
	if d == nil {
		return "-"
	}
	return timeText(*d)
}
