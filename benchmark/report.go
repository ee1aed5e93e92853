package main

import (
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strings"
	"unicode/utf8"
)

// header describes the machine and the versions of a run.
type header struct {
	GOOS   string `json:"goos"`
	GOARCH string `json:"goarch"`
	Pkg    string `json:"pkg"`
	Go     string `json:"go"`
	CPU    string `json:"cpu,omitempty"`
	GPU    string `json:"gpu,omitempty"`
	Driver string `json:"driver,omitempty"`
	Date   string `json:"date"`
	Seed   uint64 `json:"seed"`

	notes []string // lines for people: what is missing here and the like
}

// metric is one figure: 42.5 "ns/op".
type metric struct {
	Value float64 `json:"value"`
	Unit  string  `json:"unit"`
}

// result is one round of one case. A result with a Failure has no metrics.
type result struct {
	Name       string   `json:"name"`
	Iterations int      `json:"iterations,omitempty"` // timed calls
	Metrics    []metric `json:"metrics,omitempty"`
	Error      float64  `json:"error"` // relative Frobenius error against the reference
	Bound      float64  `json:"bound"` // the largest that passes
	Kernel     string   `json:"kernel,omitempty"`
	Note       string   `json:"note,omitempty"`
	Failure    string   `json:"failure,omitempty"`

	label string // a shorter name of the case for tables, or empty
}

// value returns the figure in the given unit.
func (r result) value(unit string) (float64, bool) {
	for _, m := range r.Metrics {
		if m.Unit == unit {
			return m.Value, true
		}
	}
	return 0, false
}

// reporter writes results as they arrive. Write errors are kept by the writer: see
// stickyWriter.
type reporter interface {
	// begin writes the lines that precede the results of the cases.
	begin(h header, cases []benchCase)
	add(r result)
	end()
}

var formats = map[string]func(w io.Writer) reporter{
	"go":       func(w io.Writer) reporter { return &goReport{w: w} },
	"table":    func(w io.Writer) reporter { return &tableReport{w: w} },
	"markdown": func(w io.Writer) reporter { return &tableReport{w: w, markdown: true} },
	"json":     func(w io.Writer) reporter { return &jsonReport{w: w} },
}

// formatNames lists the formats in alphabetical order.
func formatNames() []string {
	names := make([]string, 0, len(formats))
	for n := range formats {
		names = append(names, n)
	}
	slices.Sort(names)
	return names
}

// stickyWriter keeps the first error of its writer, and writes nothing after it.
type stickyWriter struct {
	w   io.Writer
	err error
}

func (s *stickyWriter) Write(p []byte) (int, error) {
	if s.err != nil {
		return 0, s.err
	}
	n, err := s.w.Write(p)
	s.err = err
	return n, err
}

// goReport writes Go benchmark lines after the header lines that benchstat knows. All
// other text is in comments, which benchstat skips.
type goReport struct {
	w     io.Writer
	noted string // the case whose note stands above already
}

func (g *goReport) begin(h header, _ []benchCase) {
	for _, l := range []struct{ key, value string }{{"goos", h.GOOS}, {"goarch", h.GOARCH}, {"pkg", h.Pkg}, {"cpu", h.CPU}, {"gpu", h.GPU}, {"driver", h.Driver}} {
		if l.value != "" {
			fmt.Fprintf(g.w, "%s: %s\n", l.key, l.value)
		}
	}
	fmt.Fprintf(g.w, "# %s, %s, seed %d\n", h.Date, h.Go, h.Seed)
}

func (g *goReport) add(r result) {
	if r.Failure != "" {
		fmt.Fprintf(g.w, "FAIL: %s: %s\n", r.Name, r.Failure)
		return
	}
	if r.Note != "" && g.noted != r.Name {
		g.noted = r.Name
		fmt.Fprintf(g.w, "# %s: %s\n", r.Name, r.Note)
	}
	fmt.Fprintf(g.w, "Benchmark%s\t%d", r.Name, r.Iterations)
	for _, m := range r.Metrics {
		fmt.Fprintf(g.w, "\t%s %s", formatMetric(m), m.Unit)
	}
	fmt.Fprintln(g.w)
}

func (g *goReport) end() {}

// formatMetric prints a value with the digits that the peers print.
func formatMetric(m metric) string {
	switch m.Unit {
	case "ns/op":
		return fmt.Sprintf("%.1f", m.Value)
	case "relerr", "elementwise":
		return fmt.Sprintf("%.3e", m.Value)
	}
	return fmt.Sprintf("%.6g", m.Value)
}

// tableReport writes a table for people, aligned or in Markdown.
type tableReport struct {
	w        io.Writer
	markdown bool
	widths   []int
}

var tableColumns = []string{"case", "time", "rate", "error", "bound", "ok", "kernel"}

func (t *tableReport) begin(h header, cases []benchCase) {
	for _, l := range []struct{ key, value string }{{"gpu", h.GPU}, {"driver", h.Driver}, {"cpu", h.CPU}} {
		if l.value != "" {
			fmt.Fprintf(t.w, "%-7s %s%s\n", l.key, l.value, t.lineEnd())
		}
	}
	fmt.Fprintf(t.w, "%-7s %s/%s, %s, seed %d%s\n", "run", h.GOOS, h.GOARCH, h.Go, h.Seed, t.lineEnd())
	for _, n := range h.notes {
		fmt.Fprintln(t.w, n+t.lineEnd())
	}
	t.widths = []int{4, 9, 15, 8, 8, 4, 6}
	for _, c := range cases {
		t.widths[0] = max(t.widths[0], utf8.RuneCountInString(c.title()))
	}
	fmt.Fprintln(t.w)
	t.row(tableColumns)
	if t.markdown {
		t.row([]string{"---", "---:", "---:", "---:", "---:", "---", "---"})
	}
}

// lineEnd keeps Markdown from joining the lines above the table.
func (t *tableReport) lineEnd() string {
	if t.markdown {
		return "  "
	}
	return ""
}

func (t *tableReport) add(r result) {
	title := r.label
	if title == "" {
		title = r.Name
	}
	if r.Failure != "" {
		t.row([]string{title, "", "", "", "", "FAIL", r.Failure})
		return
	}
	kernel := r.Kernel
	if r.Note != "" {
		kernel = strings.TrimPrefix(kernel+"; "+r.Note, "; ")
	}
	var duration, rate, relerr, bound string
	for _, m := range r.Metrics {
		switch m.Unit {
		case "ns/op":
			duration = formatDuration(m.Value)
		case "relerr":
		default:
			rate = strings.TrimPrefix(rate+" "+fmt.Sprintf("%.4g %s", m.Value, m.Unit), " ")
		}
	}
	relerr, bound = fmt.Sprintf("%.1e", r.Error), fmt.Sprintf("%.0e", r.Bound)
	if r.Bound == 0 {
		bound = "exact"
	}
	t.row([]string{title, duration, rate, relerr, bound, "ok", kernel})
}

func (t *tableReport) row(cells []string) {
	if t.markdown {
		fmt.Fprintf(t.w, "| %s |\n", strings.Join(cells, " | "))
		return
	}
	line := fmt.Sprintf("%-*s", t.widths[0], cells[0])
	for i, c := range cells[1:] {
		if i < 4 { // figures stand at the right
			line += fmt.Sprintf("  %*s", t.widths[i+1], c)
		} else {
			line += fmt.Sprintf("  %-*s", t.widths[i+1], c)
		}
	}
	fmt.Fprintln(t.w, strings.TrimRight(line, " "))
}

func (t *tableReport) end() {}

// formatDuration prints nanoseconds with four significant digits.
func formatDuration(ns float64) string {
	switch {
	case ns < 1e3:
		return fmt.Sprintf("%.4g ns", ns)
	case ns < 1e6:
		return fmt.Sprintf("%.4g us", ns/1e3)
	case ns < 1e9:
		return fmt.Sprintf("%.4g ms", ns/1e6)
	}
	return fmt.Sprintf("%.4g s", ns/1e9)
}

// jsonReport writes one object when everything is measured:
//
//	{
//	  "header": {
//	    "goos", "goarch", "pkg", "go", "date": strings,
//	    "cpu", "gpu", "driver": strings, absent where unknown,
//	    "seed": integer
//	  },
//	  "results": [{
//	    "name": "MatMul/dtype=bf16/m=4096/k=4096/n=4096",
//	    "iterations": timed calls,
//	    "metrics": [{"value": 12345.6, "unit": "ns/op"}, {"value": 11.1, "unit": "TFLOP/s"}],
//	    "error": relative Frobenius error of the checked rows,
//	    "bound": the largest error that passes, 0: the result is exact,
//	    "kernel", "note": strings, absent where empty,
//	    "failure": why there are no metrics; absent where there are
//	  }]
//	}
//
// One result is one round of one case: -count 6 gives six of each name.
type jsonReport struct {
	w   io.Writer
	doc jsonDocument
}

type jsonDocument struct {
	Header  header   `json:"header"`
	Results []result `json:"results"`
}

func (j *jsonReport) begin(h header, _ []benchCase) {
	j.doc = jsonDocument{Header: h, Results: []result{}}
}

func (j *jsonReport) add(r result) { j.doc.Results = append(j.doc.Results, r) }

func (j *jsonReport) end() {
	e := json.NewEncoder(j.w)
	e.SetIndent("", "  ")
	// Every field is a finite number or a string: only the writer can fail,
	// and it keeps its error.
	_ = e.Encode(j.doc)
}
