package main

import (
	"bytes"
	"encoding/json"
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/matmul"
)

// spoiled is a library that computes one thing wrong.
type spoiled struct {
	matMul func(a, b *gpk.Array, opts []matmul.Option) *gpk.Array
	linear func(x, w, bias *gpk.Array, opts []matmul.Option) *gpk.Array
	attend func(q, k, v *gpk.Array, opts gpk.AttentionOptions) *gpk.Array
}

func (s spoiled) MatMul(a, b *gpk.Array, opts ...matmul.Option) *gpk.Array {
	if s.matMul != nil {
		return s.matMul(a, b, opts)
	}
	return realLibrary{}.MatMul(a, b, opts...)
}

func (s spoiled) LinearBiasGELUTanh(x, w, bias *gpk.Array, opts ...matmul.Option) *gpk.Array {
	if s.linear != nil {
		return s.linear(x, w, bias, opts)
	}
	return realLibrary{}.LinearBiasGELUTanh(x, w, bias, opts...)
}

func (s spoiled) Attention(q, k, v *gpk.Array, opts gpk.AttentionOptions) *gpk.Array {
	if s.attend != nil {
		return s.attend(q, k, v, opts)
	}
	return realLibrary{}.Attention(q, k, v, opts)
}

func program(lib library, args ...string) (status int, stdout, stderr string) {
	var out, err bytes.Buffer
	status = run(append(args, "-device", "cpu", "-warmup", "0", "-iterations", "1"), &out, &err, lib)
	return status, out.String(), err.String()
}

func TestQuick(t *testing.T) {
	status, out, errs := program(realLibrary{}, "-quick", "-sizes", "48")
	if status != exitOK {
		t.Fatalf("exit %d\n%s%s", status, out, errs)
	}
	for _, p := range precisions {
		if !strings.Contains(out, "\n"+p.name+" ") {
			t.Errorf("no line for %s", p.name)
		}
	}
	if n := strings.Count(out, "  ok  "); n != len(precisions)+1 { // and the heading
		t.Errorf("%d precisions are ok", n-1)
	}
	if !strings.Contains(out, "GFLOP/s") || strings.Contains(out, "TFLOP/s") || !strings.Contains(out, "IEEE float32 on the CPU") {
		t.Errorf("got\n%s", out)
	}
}

// TestSuitesRun runs every suite at a small size. Its lines must parse as benchmark
// lines, and be complete.
func TestSuitesRun(t *testing.T) {
	sizes := map[string]string{
		"gemm": "33", "unaligned": "17x19x23", "skinny": "1x40x30", "complex": "24", "accuracy": "40",
		"linear": "9x16x20", "bmm": "128", "attention": "17", "transfer": "4099", "host": "", "training": "", "cpu": "31", "ops": "36", "programs": "40", "gram": "20", "gram-sweep": "", "embed": "", "collective": "4099", "parallel": "9x16x20", "fft": "64", "linalg": "24", "index": "40", "einsum": "8",
	}
	for _, s := range suiteTable {
		size, ok := sizes[s.name]
		if !ok {
			t.Errorf("suite %s is not tested", s.name)
		}
		args := []string{"-suite", s.name, "-sizes", size, "-count", "2"}
		switch s.name {
		case "bmm":
			args = append(args, "-dtypes", "tf32")
		case "embed":
			model := os.Getenv("GPK_MINILM")
			if model == "" {
				t.Log("suite embed was NOT run: GPK_MINILM names no folder of all-MiniLM-L6-v2")
				continue
			}
			args = append(args, "-model", model)
		}
		status, out, errs := program(realLibrary{}, args...)
		_, rs, err := parseGo(strings.NewReader(out))
		if status != exitOK || err != nil || len(rs) == 0 {
			t.Errorf("%s: exit %d, %v\n%s%s", s.name, status, err, out, errs)
		}
		for _, r := range rs {
			if len(r.Metrics) == 0 {
				t.Errorf("%s has no figure", r.Name)
			}
		}
	}
}

// TestWrongResultFails checks that for each kind of wrong result the exit status is 1,
// the report has FAIL, and no figure of that case is printed.
func TestWrongResultFails(t *testing.T) {
	swap := func(a, b *gpk.Array, opts []matmul.Option) *gpk.Array { return gpk.MatMul(b, a, opts...) }
	for _, c := range []struct {
		what string
		lib  spoiled
		args string
	}{
		{"operands swapped", spoiled{matMul: swap}, "-suite gemm -dtypes fp32 -sizes 32"},
		{"operands swapped, quick", spoiled{matMul: swap}, "-quick -dtypes c128 -sizes 32"},
		{"operands swapped, batched", spoiled{matMul: swap}, "-suite bmm -dtypes tf32 -sizes 128"},
		{"operands swapped, accuracy", spoiled{matMul: swap}, "-suite accuracy -dtypes fp32 -sizes 32"},
		{"half the precision", spoiled{matMul: func(a, b *gpk.Array, opts []matmul.Option) *gpk.Array {
			return gpk.MatMul(a.Cast(gpk.Float16).Cast(gpk.Float32), b, opts...)
		}}, "-suite gemm -dtypes fp32 -sizes 32"},
		{"one too many", spoiled{matMul: func(a, b *gpk.Array, opts []matmul.Option) *gpk.Array {
			return gpk.MatMul(a, b, opts...).Add(1)
		}}, "-suite cpu -dtypes i8 -sizes 32"},
		{"bias forgotten", spoiled{linear: func(x, w, bias *gpk.Array, opts []matmul.Option) *gpk.Array {
			return gpk.LinearBiasGELUTanh(x, w, nil, opts...)
		}}, "-suite linear -dtypes tf32 -sizes 8x16x24"},
		{"another scale", spoiled{attend: func(q, k, v *gpk.Array, opts gpk.AttentionOptions) *gpk.Array {
			opts.Scale = 1
			return gpk.Attention(q, k, v, opts)
		}}, "-suite attention -dtypes fp32 -sizes 9"},
		{"nothing computed", spoiled{matMul: func(a, b *gpk.Array, _ []matmul.Option) *gpk.Array {
			return poisoned(a.DType(), a.Shape()[0], b.Shape()[1])
		}}, "-suite cpu -dtypes fp64 -sizes 16"},
	} {
		for _, format := range formatNames() {
			status, out, errs := program(c.lib, append(strings.Fields(c.args), "-format", format)...)
			if status != exitFailure || !strings.Contains(errs, "cases failed") || !strings.Contains(out, "wrong") || strings.Contains(out, "/s") && strings.Contains(out, "ns/op") {
				t.Errorf("%s, %s: exit %d\n%s%s", c.what, format, status, out, errs)
			}
		}
	}
}

// TestErrorIsAFailure checks that a case that cannot run is reported as a failure.
func TestErrorIsAFailure(t *testing.T) {
	status, out, _ := program(spoiled{matMul: func(a, b *gpk.Array, opts []matmul.Option) *gpk.Array {
		return gpk.MatMul(a, b.Reshape(-1), opts...)
	}}, "-suite", "cpu", "-sizes", "8")
	if status != exitFailure || strings.Count(out, "FAIL: CPUMatMul") != 2 {
		t.Errorf("exit %d\n%s", status, out)
	}
}

func TestExitStatuses(t *testing.T) {
	missing := filepath.Join(t.TempDir(), "none")
	for _, c := range []struct {
		args string
		want int
	}{
		{"-h", exitOK},
		{"-suite embed", exitUsage},
		{"-suite bmm -sizes 7", exitUsage},
		{"-format xml", exitUsage},
		{"-suite cpu -sizes 8 -compare " + missing, exitFailure},
		{"-suite cpu -sizes 8 -save " + missing + "/x", exitFailure},
	} {
		if status, out, errs := program(realLibrary{}, strings.Fields(c.args)...); status != c.want {
			t.Errorf("%s: exit %d, want %d\n%s%s", c.args, status, c.want, out, errs)
		}
	}
	var errs bytes.Buffer
	if status := run([]string{"-device", "cuda:999"}, &errs, &errs, realLibrary{}); status != exitFailure {
		t.Errorf("a device that is not here: exit %d", status)
	}
}

// TestSaveAndCompare compares a saved run with edited copies of itself.
func TestSaveAndCompare(t *testing.T) {
	dir := t.TempDir()
	base := filepath.Join(dir, "base.json")
	args := strings.Fields("-suite cpu -dtypes fp32 -sizes 24 -count 4")
	if status, out, errs := program(realLibrary{}, append(args, "-save", base)...); status != exitOK {
		t.Fatalf("exit %d\n%s%s", status, out, errs)
	}
	data, err := os.ReadFile(base)
	if err != nil {
		t.Fatal(err)
	}
	var doc jsonDocument
	if err := json.Unmarshal(data, &doc); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		factor  float64 // old times divided by new ones
		rename  bool
		status  int
		verdict []string
	}{
		{1e-6, false, exitFailure, []string{"REGRESSION"}},
		{1e6, false, exitOK, []string{"better"}},
		{1, true, exitOK, []string{"new", "missing"}},
	} {
		old := jsonDocument{Header: doc.Header}
		for _, r := range doc.Results {
			ns, _ := r.value("ns/op")
			r.Metrics = []metric{{ns * c.factor, "ns/op"}}
			if c.rename {
				r.Name += "/old"
			}
			old.Results = append(old.Results, r)
		}
		text, err := json.Marshal(old)
		if err != nil {
			t.Fatal(err)
		}
		path := filepath.Join(dir, "old.json")
		if err := os.WriteFile(path, text, 0o644); err != nil {
			t.Fatal(err)
		}
		status, out, errs := program(realLibrary{}, append(args, "-compare", path, "-format", "json")...)
		if status != c.status {
			t.Errorf("%+v: exit %d\n%s", c, status, errs)
		}
		for _, v := range c.verdict {
			if !strings.Contains(errs, v) {
				t.Errorf("%+v: no %q in\n%s", c, v, errs)
			}
		}
		if !json.Valid([]byte(out)) {
			t.Errorf("the comparison spoiled the JSON:\n%s", out)
		}
	}
}

func TestBrokenOutput(t *testing.T) {
	var errs bytes.Buffer
	pipe := &brokenPipe{}
	status := run(strings.Fields("-suite cpu -sizes 8 -device cpu -iterations 1 -warmup 0"), pipe, &errs, realLibrary{})
	if status != exitFailure || !strings.Contains(errs.String(), "broken pipe") {
		t.Errorf("exit %d: %s", status, &errs)
	}
}

func TestMissingGPU(t *testing.T) {
	for reason, command := range map[string]string{
		"no driver\nwas found":                         "go run ./cmd/gpk doctor",
		"no kernel library; build it with `gpk setup`": "go run ./cmd/gpk setup",
	} {
		lines := missingGPU(errors.New(reason))
		if len(lines) != 2 || strings.Contains(lines[0], "\n") || !strings.Contains(lines[0], strings.Fields(reason)[1]) || !strings.HasSuffix(lines[1], command) {
			t.Errorf("%q: %q", reason, lines)
		}
	}
}
