package main

import (
	"bytes"
	"encoding/xml"
	"errors"
	"image/png"
	"io"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"
)

func TestProductOf(t *testing.T) {
	for name, c := range map[string]struct {
		series       string
		flops, bytes float64
	}{
		"MatMul/dtype=bf16/m=2/k=3/n=5":          {"bf16", 60, 2 * (6 + 15 + 10)},
		"MatMul/dtype=tf32/b=packed/m=2/k=3/n=5": {"tf32, B packed", 60, 4 * (6 + 15 + 10)},
		"MatMul/dtype=c64/m=2/k=3/n=5":           {"c64", 240, 8 * (6 + 15 + 10)},
		"MatMul/dtype=i8/m=2/k=3/n=5":            {"i8", 60, 6 + 15 + 4*10},
		"BatchedMatMul/dtype=bf16/b=7/n=4":       {"bf16", 7 * 128, 7 * 2 * 48},
		"MatMul/dtype=bf16/m=2":                  {},
		"MatMul/dtype=fp12/m=2/k=3/n=5":          {},
		"LinearGELU/dtype=bf16/m=2/k=3/n=5":      {},
		"Host/op=add":                            {},
	} {
		series, flops, bytes, ok := productOf(name)
		if ok != (c.series != "") || ok && (series != c.series || flops != c.flops || bytes != c.bytes) {
			t.Errorf("%s: %q, %v FLOP, %v bytes, %v", name, series, flops, bytes, ok)
		}
	}
}

func TestPlotOf(t *testing.T) {
	ns := func(v float64) []metric { return []metric{{v, "ns/op"}} }
	series := plotOf([]result{
		{Name: "MatMul/dtype=bf16/m=100/k=100/n=100", Metrics: ns(1000)},
		{Name: "MatMul/dtype=bf16/m=100/k=100/n=100", Metrics: ns(2000)},
		{Name: "MatMul/dtype=bf16/m=100/k=100/n=100", Metrics: ns(9000)},
		{Name: "MatMul/dtype=bf16/m=10/k=10/n=10", Metrics: ns(500)},
		{Name: "MatMul/dtype=bf16/m=20/k=20/n=20", Failure: "wrong"},
		{Name: "MatMul/dtype=tf32/b=packed/m=10/k=10/n=10", Metrics: ns(500)},
	})
	if len(series) != 2 || series[0].name != "bf16" || series[1].name != "tf32, B packed" || len(series[0].points) != 2 {
		t.Fatalf("%+v", series)
	}
	// 2e6 FLOP in the median's 2000 ns are 1 TFLOP/s, over 60,000 bytes.
	if q := series[0].points[1]; math.Abs(q.rate-1) > 1e-12 || math.Abs(q.intensity-2e6/6e4) > 1e-12 {
		t.Errorf("%+v", q)
	}
}

// TestPlot draws saved results, and reads the files back.
func TestPlot(t *testing.T) {
	dir := t.TempDir()
	saved := filepath.Join(dir, "results.txt")
	text := "gpu: NVIDIA H200\n" +
		"BenchmarkMatMul/dtype=bf16/m=4096/k=4096/n=4096 10 200000 ns/op\n" +
		"BenchmarkMatMul/dtype=tf32/b=packed/m=1/k=4096/n=14336 10 60000 ns/op\n"
	if err := os.WriteFile(saved, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, name := range []string{"roof.svg", "roof.png"} {
		path := filepath.Join(dir, name)
		var stdout, stderr bytes.Buffer
		if code := run([]string{"-results", saved, "-plot", path}, &stdout, &stderr, realLibrary{}); code != exitOK || stdout.Len() > 0 {
			t.Fatalf("%s: exit %d, %s %s", name, code, stdout.String(), stderr.String())
		}
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		if strings.HasSuffix(name, "png") {
			if img, err := png.Decode(bytes.NewReader(data)); err != nil || img.Bounds().Dx() < 300 {
				t.Errorf("%s: %v", name, err)
			}
			continue
		}
		for d := xml.NewDecoder(bytes.NewReader(data)); ; {
			if _, err := d.Token(); errors.Is(err, io.EOF) {
				break
			} else if err != nil {
				t.Fatalf("%s: %v", name, err)
			}
		}
		for _, want := range []string{"NVIDIA H200", ">tf32<", "rings: B packed", "989.4", "TFLOP/s"} {
			if !bytes.Contains(data, []byte(want)) {
				t.Errorf("%s: no %q", name, want)
			}
		}
	}
	for what, args := range map[string][]string{
		"a format":   {"-results", saved, "-plot", filepath.Join(dir, "roof.gif")},
		"no plot":    {"-results", saved},
		"no results": {"-results", filepath.Join(dir, "none.txt"), "-plot", filepath.Join(dir, "x.svg")},
	} {
		var stdout, stderr bytes.Buffer
		if code := run(args, &stdout, &stderr, realLibrary{}); code == exitOK || stderr.Len() == 0 {
			t.Errorf("%s: exit %d, %q", what, code, stderr.String())
		}
	}
}

// TestPlotSweep checks the medians by size, and the times with options relative to those without.
func TestPlotSweep(t *testing.T) {
	dir := t.TempDir()
	saved, path := filepath.Join(dir, "sweep.txt"), filepath.Join(dir, "sweep.svg")
	text := "gpu: NVIDIA H200\n" +
		"BenchmarkGramSweep/circuit=ryrz_cz/option=none/qubits=4/n=2000 3 100000 ns/op\n" +
		"BenchmarkGramSweep/circuit=ryrz_cz/option=none/qubits=4/n=5000 3 900000 ns/op\n" +
		"BenchmarkGramSweep/circuit=ryrz_cz/option=none/qubits=4/n=5000 3 400000 ns/op\n" +
		"BenchmarkGramSweep/circuit=ryrz_cz/option=none/qubits=4/n=5000 3 300000 ns/op\n" +
		"BenchmarkGramSweep/circuit=ryrz_cz/option=keep-recompute/qubits=4/n=5000 3 1000000 ns/op\n" +
		"BenchmarkGramSweep/circuit=ry_cz/option=real-off/qubits=4/n=5000 3 1000000 ns/op\n" + // nothing to compare with
		"BenchmarkGram/circuit=ryrz_cz/precision=standard/qubits=4/n=5000 3 7 ns/op\n"
	if err := os.WriteFile(saved, []byte(text), 0o600); err != nil {
		t.Fatal(err)
	}
	_, rs, err := readResults(saved)
	if err != nil {
		t.Fatal(err)
	}
	points := sweepOf(rs)
	if len(points) != 4 || points[0].seconds != 1e-4 || points[3].seconds != 4e-4 || points[3].option != "none" {
		t.Errorf("%+v", points)
	}
	var stdout, stderr bytes.Buffer
	if code := run([]string{"-results", saved, "-plot", path}, &stdout, &stderr, realLibrary{}); code != exitOK {
		t.Fatalf("exit %d, %s", code, stderr.String())
	}
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	for _, want := range []string{"NVIDIA H200", "4 qubits", "keep-recompute", " 2.50", "samples"} {
		if !bytes.Contains(data, []byte(want)) {
			t.Errorf("no %q", want)
		}
	}
	if bytes.Contains(data, []byte("real-off")) {
		t.Error("an option is drawn that is compared with nothing")
	}
	// With -run, the results may hold only a part of the sweep.
	other := sweepPoint{"ry_cz", "none", 4, 5000, 1}
	if err := plotSweep(path, "svg", header{}, []sweepPoint{other, {"ry_cz", "real-off", 4, 5000, 2}}); err != nil {
		t.Error(err)
	}
	if err := plotSweep(path, "svg", header{}, []sweepPoint{other}); err == nil {
		t.Error("nothing was drawn, without an error")
	}
}
