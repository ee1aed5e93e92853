package main

import (
	"bytes"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

// rounds makes results of one case with the given times.
func rounds(name string, unit string, values ...float64) []result {
	var rs []result
	for _, v := range values {
		rs = append(rs, result{Name: name, Iterations: 1, Metrics: []metric{{v, unit}}})
	}
	return rs
}

func TestCompareVerdicts(t *testing.T) {
	for _, c := range []struct {
		what          string
		before, after []float64
		want          string
	}{
		{"one round, slower", []float64{100}, []float64{106}, "REGRESSION"},
		{"one round, within the threshold", []float64{100}, []float64{104}, "same"},
		{"one round, faster", []float64{100}, []float64{90}, "better"},
		{"three rounds decide by medians", []float64{100, 101, 300}, []float64{110, 111, 50}, "REGRESSION"},
		{"four rounds, clearly slower", []float64{100, 101, 102, 103}, []float64{110, 111, 112, 113}, "REGRESSION"},
		{"four rounds, slower by chance", []float64{90, 100, 120, 130}, []float64{95, 118, 125, 128}, "same"},
		{"four rounds, surely slower but within the threshold", []float64{100, 100.1, 100.2, 100.3}, []float64{101, 101.1, 101.2, 101.3}, "same"},
		{"four rounds, clearly faster", []float64{110, 111, 112, 113}, []float64{80, 81, 82, 83}, "better"},
		{"nothing to nothing", []float64{0}, []float64{0}, "same"},
		{"nothing to something", []float64{0}, []float64{1}, "REGRESSION"},
		{"new", nil, []float64{1}, "new"},
		{"missing", []float64{1}, nil, "missing"},
	} {
		for _, unit := range compared {
			vs := compareResults(rounds("X", unit, c.before...), rounds("X", unit, c.after...), 0.05)
			if len(vs) != 1 || vs[0].word != c.want {
				t.Errorf("%s, %s: %+v, want %s", c.what, unit, vs, c.want)
			}
			var out bytes.Buffer
			if got := writeComparison(&out, "f", header{}, header{}, vs, 0.05); got != (c.want == "REGRESSION") {
				t.Errorf("%s: writeComparison reports %v", c.what, got)
			}
			if !strings.Contains(out.String(), c.want) || !strings.Contains(out.String(), "X") {
				t.Errorf("%s: the table does not name case and verdict:\n%s", c.what, &out)
			}
		}
	}
}

// TestCompareRates checks that a rate that fell is not reported as a second regression.
func TestCompareRates(t *testing.T) {
	if vs := compareResults(rounds("X", "TFLOP/s", 5), rounds("X", "TFLOP/s", 1), 0.05); len(vs) != 0 {
		t.Errorf("rates were compared: %+v", vs)
	}
}

func TestComparisonNamesMachines(t *testing.T) {
	var out bytes.Buffer
	writeComparison(&out, "f", header{CPU: "a", GPU: "x"}, header{CPU: "a", GPU: "y"}, nil, 0.05)
	if !strings.Contains(out.String(), `gpu was "x", is "y"`) || strings.Contains(out.String(), "cpu was") {
		t.Errorf("got %s", &out)
	}
}

func TestReadResults(t *testing.T) {
	const lines = "goos: linux\npkg: torch\ngpu: NVIDIA H200\ncpu: Some CPU: 3 GHz\n# note: skipped\nFAIL: Foo: wrong\n" +
		"BenchmarkMatMul/dtype=bf16/m=1/k=2/n=3\t1\t3197.8 ns/op\t83.943 TFLOP/s\n" +
		"BenchmarkAccuracy/data=normal/dtype=fp32/n=1024\t1\t5.736e-07 relerr\t3.366e-07 elementwise\n" +
		"BenchmarkPlain-8   \t  100\t  12 ns/op\t NaN relerr\n" +
		"BenchmarkBroken\tx\t12 ns/op\n"
	path := filepath.Join(t.TempDir(), "old.txt")
	if err := os.WriteFile(path, []byte(lines), 0o644); err != nil {
		t.Fatal(err)
	}
	h, rs, err := readResults(path)
	if err != nil {
		t.Fatal(err)
	}
	if h.GPU != "NVIDIA H200" || h.CPU != "Some CPU: 3 GHz" {
		t.Errorf("header %+v", h)
	}
	if len(rs) != 3 || rs[0].Name != "MatMul/dtype=bf16/m=1/k=2/n=3" || rs[2].Name != "Plain" || len(rs[2].Metrics) != 1 {
		t.Errorf("results %+v", rs)
	}
	if v, ok := rs[1].value("relerr"); !ok || v != 5.736e-07 {
		t.Errorf("relerr %v, %v", v, ok)
	}
	for _, text := range []string{"", "nothing here\n", "{not json"} {
		if err := os.WriteFile(path, []byte(text), 0o644); err != nil {
			t.Fatal(err)
		}
		if _, _, err := readResults(path); err == nil || !strings.Contains(err.Error(), path) {
			t.Errorf("%q: error %v, want one that names the file", text, err)
		}
	}
	if _, _, err := readResults(path + "x"); err == nil {
		t.Error("a file that is not there was read")
	}
}

// TestSaveAndRead checks that readResults reads the output of save in both forms.
func TestSaveAndRead(t *testing.T) {
	want := []result{
		{Name: "MatMul/dtype=bf16/m=1/k=2/n=3", Iterations: 700, Metrics: []metric{{12345.6, "ns/op"}, {1.5, "TFLOP/s"}}, Error: 1e-3, Bound: 4e-3},
		{Name: "Bad", Failure: "wrong result"},
		{Name: "Accuracy/n=1", Iterations: 1, Metrics: []metric{{2.5e-7, "relerr"}}},
	}
	for _, file := range []string{"r.txt", "r.json"} {
		path := filepath.Join(t.TempDir(), file)
		if err := save(path, header{GOOS: "linux", CPU: "c", GPU: "g", Driver: "d"}, want); err != nil {
			t.Fatal(err)
		}
		h, got, err := readResults(path)
		if err != nil {
			t.Fatal(err)
		}
		if h.CPU != "c" || h.GPU != "g" || h.Driver != "d" {
			t.Errorf("%s: header %+v", file, h)
		}
		_, samples := collect(got)
		if len(samples) != 2 || samples[series{want[0].Name, "ns/op"}][0] != 12345.6 || samples[series{want[2].Name, "relerr"}][0] != 2.5e-7 {
			t.Errorf("%s: read %v", file, samples)
		}
	}
}

func TestNumber(t *testing.T) {
	if got := number("%.1f", math.NaN()); got != "-" {
		t.Errorf("no number prints as %q", got)
	}
}
