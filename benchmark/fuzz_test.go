package main

import (
	"bytes"
	"errors"
	"io"
	"math"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

// FuzzResults reads any input as the results of a run, as Go lines or JSON. -compare and
// -plot do not panic and print no NaN, and the output of the Go report can be read back.
func FuzzResults(f *testing.F) {
	for _, text := range []string{
		"goos: linux\ncpu: AMD EPYC\ngpu: NVIDIA H200\ndriver: 580.1\nBenchmarkMatMul/dtype=bf16/m=64/k=64/n=64-8\t10\t12345.6 ns/op\t11.1 TFLOP/s\n",
		"BenchmarkMatMul/dtype=fp32/b=packed/m=1/k=2/n=3 1 NaN ns/op Inf relerr 1e400 x\n",
		"BenchmarkBatchedMatMul/dtype=tf32/b=8/n=128\t5\t1 ns/op\nBenchmarkBatchedMatMul/dtype=tf32/b=8/n=128\t5\t2 ns/op\n",
		"Benchmark x\nBenchmarkA 99999999999999999999 1 ns/op\nBenchmarkA 1 -1 ns/op 0 relerr\n",
		`{"header":{"gpu":"H200","seed":1},"results":[{"name":"MatMul/dtype=c64/m=2/k=2/n=2","metrics":[{"value":5,"unit":"ns/op"}]},{"name":"a/b=","failure":"x"}]}`,
		`{"results":[{"name":"MatMul/dtype=/m=/k=/n=","metrics":[{"value":-1e308,"unit":"ns/op"},{"value":1e308,"unit":"ns/op"}]}]}`,
		"{}", "{", "",
	} {
		f.Add([]byte(text))
	}
	dir := f.TempDir()
	f.Fuzz(func(t *testing.T, text []byte) {
		path := filepath.Join(dir, "results")
		if err := os.WriteFile(path, text, 0o600); err != nil {
			t.Fatal(err)
		}
		h, rs, err := readResults(path)
		if err != nil {
			if !strings.Contains(err.Error(), path) {
				t.Errorf("an error that does not name the file: %v", err)
			}
			return
		}
		for _, r := range rs {
			for _, m := range r.Metrics {
				if math.IsNaN(m.Value) || math.IsInf(m.Value, 0) {
					t.Fatalf("%s: %v %s", r.Name, m.Value, m.Unit)
				}
			}
		}
		vs := compareResults(rs, rs, 0.05)
		for _, v := range vs {
			if v.word == "new" || v.word == "missing" || v.word == "REGRESSION" && v.after > 0 {
				t.Errorf("compared with itself: %+v", v)
			}
		}
		writeComparison(io.Discard, path, h, h, vs, 0.05)
		plotOf(rs)

		if bytes.HasPrefix(bytes.TrimSpace(text), []byte("{")) {
			return
		}
		var out bytes.Buffer
		report := formats["go"](&out)
		report.begin(h, nil)
		rs = slices.DeleteFunc(rs, func(r result) bool { return len(r.Metrics) == 0 }) // a result without metrics has no line
		for _, r := range rs {
			report.add(r)
		}
		report.end()
		_, again, err := parseGo(&out)
		if err != nil || len(again) != len(rs) {
			t.Fatalf("%d results were written and %d read: %v", len(rs), len(again), err)
		}
		for i := range rs {
			if again[i].Iterations != rs[i].Iterations || len(again[i].Metrics) != len(rs[i].Metrics) {
				t.Errorf("%+v became %+v", rs[i], again[i])
			}
		}
	})
}

// FuzzArgs reads anything as a command line: usage or options that are in range.
func FuzzArgs(f *testing.F) {
	for _, line := range []string{
		"-quick", "-suite gemm,linear -sizes 2048,4096 -dtypes fp32,tf32", "-sizes 512x768x3072 64 -count 3", "-sizes 0x1x2", "-threshold NaN",
		"-format json -save x.json", "-plot x.svg -results y", "-iterations -1", "-sizes 99999999999999999999", "-sizes 1X2x3,4", "--", "-sizes 1 -quick 2",
	} {
		f.Add(line)
	}
	f.Fuzz(func(t *testing.T, line string) {
		o, err := parseArgs(strings.Split(line, " "), io.Discard)
		if err != nil {
			if !errors.Is(err, errUsage) {
				t.Errorf("%q: %v", line, err)
			}
			return
		}
		if o.count < 1 || o.warmup < 0 || o.iterations < 0 || !(o.threshold >= 0) || len(o.suites) == 0 || formats[o.format] == nil {
			t.Errorf("%q: %+v", line, o)
		}
		if slices.ContainsFunc(o.shapes, func(s shape) bool { return s.m < 1 || s.k < 1 || s.n < 1 }) {
			t.Errorf("%q: shapes %v", line, o.shapes)
		}
	})
}
