package profile

import (
	"fmt"
	"html/template"
	"strings"
)

// maxRows is the maximum number of rows of a table of the page. firstRows of them are
// shown at first.
const (
	maxRows         = 1000
	firstRows       = 12
	pageBottlenecks = 5
)

// page holds the data of the template.
type page struct {
	Title    string
	Facts    []string // facts about the run and the host
	Devices  []string
	Figures  []Figure
	Notices  []string
	Style    template.CSS
	Script   template.JS
	Policy   string
	Timeline *timeline
	Memory   []memoryChart

	Bottlenecks []bar
	Advice      []Advice
	Tables      tables
	Diff        *diffPage

	ChartWidth, ChartHeight int
}

// tables holds the page's tables.
type tables struct{ Operations, Spans, Transfers, Allocations *pageTable }

// bar is a row with a bar.
type bar struct {
	Bottleneck
	Percent float64 // percent of the longest bar
	Text    string
}

// pageTable is a table with columns that can be sorted.
type pageTable struct {
	Columns []string
	Rows    []pageRow
	LeftOut int
}

type pageRow struct {
	Cells []cell
	More  bool // hidden at first
}

// cell is a text with the number by which it is sorted.
type cell struct {
	Text   string
	Sort   float64
	Number bool
	// Percent is the length of the cell's bar; 0 draws none.
	Percent float64
	Indent  int
	Verdict Verdict // set if the cell shows a verdict
	Unsure  bool    // the verdict is not significant
}

// diffPage holds the data of the comparison.
type diffPage struct {
	Title, Counts string
	Table         *pageTable
}

func newPage(r *Report, o *htmlOptions) *page {
	s := r.Summary()
	script := pageScript + timelineScript
	p := &page{
		Title: orDefault(r.Name, "Profile"), Style: template.CSS(pageStyle), Script: template.JS(script), Policy: policy(script),
		Timeline: r.timeline(), Memory: r.memoryCharts(), Advice: r.Advice(),
		Figures: append([]Figure{{"duration", timeText(r.Duration)}}, summaryFigures(r, &s)...),
		Facts:   r.facts(), Notices: r.notices(&s),
		ChartWidth: chartWidth, ChartHeight: chartHeight,
	}
	for i := range r.Devices {
		if i == maxRows {
			p.Notices = append(p.Notices, "Devices not listed: "+countText(len(r.Devices)-i)+".")
			break
		}
		p.Devices = append(p.Devices, strings.Join(deviceFacts(&r.Devices[i]), ", "))
	}
	p.Bottlenecks = bars(r.Bottlenecks(pageBottlenecks))
	p.Tables = tables{operationTable(r.Totals()), spanTable(r.SpanTotals()), transferTable(s.Transfers), allocationTable(r.Allocations)}
	if o.before != nil {
		p.Diff = newDiffPage(Compare(o.before, r, o.threshold))
	}
	return p
}

// facts returns when and where the profile ran.
func (r *Report) facts() (facts []string) {
	if !r.Started.IsZero() {
		facts = append(facts, r.Started.UTC().Format("2006-01-02 15:04:05 UTC"))
	}
	h := &r.Host
	for _, s := range []string{h.GoVersion, strings.Trim(h.OS+"/"+h.Arch, "/")} {
		if s != "" {
			facts = append(facts, s)
		}
	}
	if h.CPUs > 0 {
		facts = append(facts, fmt.Sprintf("GOMAXPROCS %d", h.CPUs))
	}
	return facts
}

// notices returns remarks that a reader must know before the figures.
func (r *Report) notices(s *Summary) (out []string) {
	if r.Dropped > 0 {
		out = append(out, "Events not kept: "+countText(r.Dropped)+". Totals leave them out.")
	}
	if s.Failed > 0 {
		out = append(out, counted(s.Failed, "operation", "operations")+" failed.")
	}
	if len(r.Operations) == 0 {
		out = append(out, "No operations were recorded.")
	} else if s.DeviceTime == nil {
		out = append(out, "Operations were not measured by events. Times are those of the host's calls.")
	}
	return out
}

func bars(bs []Bottleneck) []bar {
	out := make([]bar, len(bs))
	for i, b := range bs {
		out[i] = bar{Bottleneck: b, Text: timeText(b.Time), Percent: 100 * float64(b.Time) / float64(bs[0].Time)}
	}
	return out
}
