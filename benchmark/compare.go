package main

import (
	"bufio"
	"bytes"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"os"
	"regexp"
	"slices"
	"strconv"
	"strings"
	"text/tabwriter"
)

// compared lists the units that -compare compares; less is better in all of them. Rates
// follow from ns/op and add nothing.
var compared = []string{"ns/op", "relerr"}

// alpha is the significance level of the U test, the same as in benchstat.
const alpha = 0.05

// testedSamples is the least number of rounds on both sides for which the U test can
// reach alpha: 4 and 4 rounds can reach 2/70, 3 and 4 only 2/35.
const testedSamples = 4

// readResults reads a file that -save wrote, or any file of Go benchmark
// lines, the peers' too.
func readResults(path string) (header, []result, error) {
	data, err := os.ReadFile(path)
	if err != nil {
		return header{}, nil, err
	}
	if trimmed := bytes.TrimSpace(data); len(trimmed) > 0 && trimmed[0] == '{' {
		var doc jsonDocument
		if err := json.Unmarshal(trimmed, &doc); err != nil {
			return header{}, nil, fmt.Errorf("%s: %w", path, err)
		}
		return doc.Header, doc.Results, nil
	}
	h, rs, err := parseGo(bytes.NewReader(data))
	if err == nil && len(rs) == 0 {
		err = fmt.Errorf("no benchmark line in it")
	}
	if err != nil {
		return header{}, nil, fmt.Errorf("%s: %w", path, err)
	}
	return h, rs, nil
}

// procs is the suffix such as -8 that "go test" appends to a name. The names here end in
// a number too, but never after a hyphen.
var procs = regexp.MustCompile(`-\d+$`)

// parseGo reads Go benchmark lines and the header lines above them. It skips all other
// lines, and values that are not finite numbers.
func parseGo(r io.Reader) (header, []result, error) {
	var h header
	var out []result
	lines := bufio.NewScanner(r)
	for lines.Scan() {
		if key, value, ok := strings.Cut(lines.Text(), ": "); ok {
			switch key {
			case "cpu":
				h.CPU = value
			case "gpu":
				h.GPU = value
			case "driver":
				h.Driver = value
			}
		}
		f := strings.Fields(lines.Text())
		if len(f) < 4 || !strings.HasPrefix(f[0], "Benchmark") {
			continue
		}
		n, err := strconv.Atoi(f[1])
		if err != nil {
			continue
		}
		one := result{Name: procs.ReplaceAllString(strings.TrimPrefix(f[0], "Benchmark"), ""), Iterations: n}
		for i := 2; i+1 < len(f); i += 2 {
			if v, err := strconv.ParseFloat(f[i], 64); err == nil && !math.IsNaN(v) && !math.IsInf(v, 0) {
				one.Metrics = append(one.Metrics, metric{v, f[i+1]})
			}
		}
		out = append(out, one)
	}
	return h, out, lines.Err()
}

// series identifies all rounds of one case in one unit.
type series struct{ name, unit string }

// collect groups results, in the order in which the cases first appear.
func collect(rs []result) (order []series, samples map[series][]float64) {
	samples = map[series][]float64{}
	for _, r := range rs {
		for _, unit := range compared {
			v, ok := r.value(unit)
			if !ok {
				continue
			}
			key := series{r.Name, unit}
			if samples[key] == nil {
				order = append(order, key)
			}
			samples[key] = append(samples[key], v)
		}
	}
	return order, samples
}

// verdict is the result of -compare for one case.
type verdict struct {
	series
	before, after float64 // medians; NaN where a side lacks the case
	change        float64 // after/before - 1
	p             float64 // p-value of the U test; NaN where there are too few rounds
	word          string  // "same", "better", "REGRESSION", "new", "missing"
}

// compareResults compares two runs. A case differs if its median moved by more than
// threshold and, with at least testedSamples rounds on both sides, the U test rules out
// chance. It is a regression if its median grew. New cases come in the order in which
// they ran, then those that the new run lacks.
func compareResults(before, after []result, threshold float64) []verdict {
	oldOrder, old := collect(before)
	newOrder, now := collect(after)
	var out []verdict
	for _, key := range newOrder {
		v := verdict{series: key, before: math.NaN(), after: median(now[key]), change: math.NaN(), p: math.NaN(), word: "new"}
		if x := old[key]; x != nil {
			v.before = median(x)
			v.change = v.after/v.before - 1
			if min(len(x), len(now[key])) >= testedSamples {
				v.p = uTest(x, now[key])
			}
			v.word = judge(v.change, v.p, threshold)
		}
		out = append(out, v)
	}
	for _, key := range oldOrder {
		if now[key] == nil {
			out = append(out, verdict{series: key, before: median(old[key]), after: math.NaN(), change: math.NaN(), p: math.NaN(), word: "missing"})
		}
	}
	return out
}

// judge names a change; p is NaN if it was not tested. A change of NaN, from 0/0, is no
// change.
func judge(change, p, threshold float64) string {
	if p >= alpha || !(math.Abs(change) > threshold) {
		return "same"
	}
	if change < 0 {
		return "better"
	}
	return "REGRESSION"
}

// writeComparison prints the verdicts and reports whether any is a regression.
func writeComparison(w io.Writer, path string, old, now header, vs []verdict, threshold float64) bool {
	fmt.Fprintf(w, "\ncompared with %s, threshold %.3g %%\n", path, 100*threshold)
	for _, d := range []struct{ what, a, b string }{{"cpu", old.CPU, now.CPU}, {"gpu", old.GPU, now.GPU}, {"driver", old.Driver, now.Driver}} {
		if d.a != d.b {
			fmt.Fprintf(w, "note: %s was %q, is %q: only ratios from one machine are evidence\n", d.what, d.a, d.b)
		}
	}
	t := tabwriter.NewWriter(w, 0, 0, 2, ' ', 0)
	fmt.Fprintln(t, "case\tunit\tbefore\tafter\tchange\tp\tverdict")
	for _, v := range vs {
		fmt.Fprintf(t, "%s\t%s\t%s\t%s\t%s\t%s\t%s\n", v.name, v.unit, number("%.4g", v.before), number("%.4g", v.after), number("%+.1f %%", 100*v.change), number("%.3f", v.p), v.word)
	}
	t.Flush()
	return slices.ContainsFunc(vs, func(v verdict) bool { return v.word == "REGRESSION" })
}

// number formats v, or returns a hyphen if v is NaN.
func number(format string, v float64) string {
	if math.IsNaN(v) {
		return "-"
	}
	return fmt.Sprintf(format, v)
}
