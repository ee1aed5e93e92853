package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"regexp"
	"strings"
	"testing"
)

var reportResults = []result{
	{Name: "MatMul/dtype=tf32/m=1/k=2/n=3", label: "tf32 1x2x3", Iterations: 700, Metrics: []metric{{12345.67, "ns/op"}, {1.23456789, "TFLOP/s"}}, Error: 2.9e-4, Bound: 4e-4, Kernel: "kernel_a", Note: "a note"},
	{Name: "MatMul/dtype=i8/m=1/k=2/n=3", Iterations: 7, Metrics: []metric{{5, "ns/op"}}},
	{Name: "Accuracy/n=4", Iterations: 1, Metrics: []metric{{5.7361e-7, "relerr"}, {3.3664e-7, "elementwise"}}, Error: 5.7e-7, Bound: 3e-6},
	{Name: "MatMul/dtype=fp32/m=1/k=2/n=3", Failure: "wrong result: 0.5"},
}

func written(format string) string {
	var out bytes.Buffer
	r := formats[format](&out)
	r.begin(header{GOOS: "linux", GOARCH: "amd64", Pkg: "p", Go: "go1", CPU: "Some CPU", GPU: "Some GPU", Driver: "580", Date: "today", Seed: 9, notes: []string{"for people"}}, []benchCase{{name: strings.Repeat("n", 30)}})
	for _, one := range reportResults {
		r.add(one)
	}
	if format == "go" { // a second round
		r.add(reportResults[0])
	}
	r.end()
	return out.String()
}

func TestGoReport(t *testing.T) {
	want := "goos: linux\ngoarch: amd64\npkg: p\ncpu: Some CPU\ngpu: Some GPU\ndriver: 580\n# today, go1, seed 9\n" +
		"# MatMul/dtype=tf32/m=1/k=2/n=3: a note\n" +
		"BenchmarkMatMul/dtype=tf32/m=1/k=2/n=3\t700\t12345.7 ns/op\t1.23457 TFLOP/s\n" +
		"BenchmarkMatMul/dtype=i8/m=1/k=2/n=3\t7\t5.0 ns/op\n" +
		"BenchmarkAccuracy/n=4\t1\t5.736e-07 relerr\t3.366e-07 elementwise\n" +
		"FAIL: MatMul/dtype=fp32/m=1/k=2/n=3: wrong result: 0.5\n" +
		"BenchmarkMatMul/dtype=tf32/m=1/k=2/n=3\t700\t12345.7 ns/op\t1.23457 TFLOP/s\n"
	if got := written("go"); got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
	// The Go benchmark format reads "key: value" lines as configuration, by
	// which benchstat splits its tables: a comment must not look like one.
	config := regexp.MustCompile(`^[a-z][^ :A-Z]*:`)
	for _, line := range strings.Split(strings.SplitAfter(want, "driver: 580\n")[1], "\n") {
		if config.MatchString(line) {
			t.Errorf("benchstat takes %q for configuration", line)
		}
	}
}

func TestTableReport(t *testing.T) {
	got := written("table")
	for _, want := range []string{"Some GPU\n", "for people\n", "\ntf32 1x2x3 ", " 12.35 us  ", "1.235 TFLOP/s", " 2.9e-04 ", " 4e-04  ok    kernel_a; a note\n", " exact  ok\n", "FAIL  wrong result: 0.5\n"} {
		if !strings.Contains(got, want) {
			t.Errorf("no %q in\n%s", want, got)
		}
	}
	if strings.Contains(got, "MatMul/dtype=tf32") {
		t.Errorf("the long name stands where the label should:\n%s", got)
	}
}

func TestMarkdownReport(t *testing.T) {
	got := written("markdown")
	var table []string
	for _, l := range strings.Split(got, "\n") {
		if strings.HasPrefix(l, "|") {
			table = append(table, l)
			if n := strings.Count(l, "|"); n != len(tableColumns)+1 {
				t.Errorf("%d bars in %q", n, l)
			}
		}
	}
	if len(table) != 2+len(reportResults) || !strings.HasPrefix(table[1], "| --- | ---: |") {
		t.Errorf("got\n%s", got)
	}
}

func TestJSONReport(t *testing.T) {
	var doc struct {
		Header  map[string]any
		Results []map[string]any
	}
	if err := json.Unmarshal([]byte(written("json")), &doc); err != nil {
		t.Fatal(err)
	}
	if doc.Header["gpu"] != "Some GPU" || doc.Header["seed"] != 9.0 || len(doc.Results) != len(reportResults) {
		t.Errorf("got %+v", doc)
	}
	if doc.Results[0]["kernel"] != "kernel_a" || doc.Results[3]["failure"] != "wrong result: 0.5" || doc.Results[3]["metrics"] != nil {
		t.Errorf("got %+v", doc.Results)
	}
}

func TestFormatDuration(t *testing.T) {
	for ns, want := range map[float64]string{12.34: "12.34 ns", 4838.4: "4.838 us", 1607278.4: "1.607 ms", 2.5e9: "2.5 s"} {
		if got := formatDuration(ns); got != want {
			t.Errorf("%v ns prints as %q, want %q", ns, got, want)
		}
	}
}

type brokenPipe struct{ writes int }

func (b *brokenPipe) Write([]byte) (int, error) { b.writes++; return 0, errors.New("broken pipe") }

func TestStickyWriter(t *testing.T) {
	pipe := &brokenPipe{}
	w := &stickyWriter{w: pipe}
	for range 3 {
		if _, err := w.Write([]byte("x")); err == nil {
			t.Fatal("no error")
		}
	}
	if pipe.writes != 1 {
		t.Errorf("%d writes after the first error", pipe.writes-1)
	}
}
