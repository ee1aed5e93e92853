package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/golden"
	"github.com/gpk-go/gpk/interop/npy"
)

func TestEmbedUsage(t *testing.T) {
	dir := t.TempDir()
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{[]string{"embed"}, 2, "-model names no folder"},
		{[]string{"embed", "-model", dir}, 2, "no texts"},
		{[]string{"embed", "-model", dir, "-dtype", "fp7", "a"}, 2, "-dtype"},
		{[]string{"embed", "-model", dir, "-dtype", "fp64", "a"}, 2, "fp32, fp16, bf16"},
		{[]string{"embed", "-model", dir, "-out", filepath.Join(dir, "none", "e.npy"), "a"}, 1, "-out"},
		{[]string{"embed", "-model", dir, "-device", "tpu", "a"}, 1, "-device"},
		{[]string{"embed", "-model", dir, "-in", filepath.Join(dir, "none.txt")}, 1, "none.txt"},
		{[]string{"embed", "-model", dir, "a"}, 1, "config.json"},
	} {
		var out, errs bytes.Buffer
		if status := run(context.Background(), c.args, streams{&out, &errs}); status != c.status || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%v: status %d, %s; want %d and %q", c.args, status, &errs, c.status, c.says)
		}
	}
}

// miniLM returns the folder of the model that GPK_MINILM names, and its golden embeddings.
func miniLM(t *testing.T) (model string, cases []golden.Text) {
	t.Helper()
	if model = os.Getenv("GPK_MINILM"); model == "" {
		t.Skip("NOT run: GPK_MINILM names no folder of all-MiniLM-L6-v2")
	}
	cases, err := golden.MiniLM()
	if err != nil {
		t.Fatal(err)
	}
	return model, cases
}

// TestEmbed embeds golden texts from the command line and from a file.
func TestEmbed(t *testing.T) {
	model, cases := miniLM(t)
	dir := t.TempDir()
	in, out := filepath.Join(dir, "lines.txt"), filepath.Join(dir, "e.npy")
	if err := os.WriteFile(in, []byte(cases[0].Text+"\n"+cases[1].Text+"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	var text, errs bytes.Buffer
	args := []string{"embed", "-model", model, "-dtype", "fp32", "-in", in}
	if status := run(context.Background(), append(args, "-out", out, cases[2].Text), streams{&text, &errs}); status != 0 {
		t.Fatalf("status %d\n%s", status, &errs)
	}
	a, err := npy.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := gpk.ToSlice[float32](a)
	if err != nil || len(rows) != 3*384 {
		t.Fatalf("%v %v (%v)", a.Shape(), a.DType(), err)
	}
	for i := range 3 {
		if cosine, _ := golden.Compare(rows[i*384:(i+1)*384], cases[i].Embedding); !(cosine > 0.9999) {
			t.Errorf("row %d: cosine %v", i, cosine)
		}
	}
	if status := run(context.Background(), append(args, "a", "\xff"), streams{&text, &errs}); status != 1 || !strings.Contains(errs.String(), "text 2 of the command line") {
		t.Errorf("a text that is not UTF-8: status %d\n%s", status, &errs)
	}
	if status := run(context.Background(), args, streams{&text, &errs}); status != 0 {
		t.Fatalf("status %d\n%s", status, &errs)
	}
	lines := strings.Split(strings.TrimSuffix(text.String(), "\n"), "\n")
	if len(lines) != 2 {
		t.Fatalf("%d lines", len(lines))
	}
	for i, line := range lines {
		for j, word := range strings.Fields(line) {
			if v, err := strconv.ParseFloat(word, 32); err != nil || float32(v) != rows[i*384+j] {
				t.Fatalf("line %d, number %d is %s (%v), want %v", i, j, word, err, rows[i*384+j])
			}
		}
	}
}

// TestEmbedLong embeds a file of more lines than one part has: progress is shown, rows stay in order across
// the parts, and an error names a line of a later part.
func TestEmbedLong(t *testing.T) {
	model, cases := miniLM(t)
	dir := t.TempDir()
	in, out := filepath.Join(dir, "lines.txt"), filepath.Join(dir, "e.npy")
	lines := slices.Repeat([]string{"a"}, 1100)
	lines[1049] = cases[0].Text
	write := func() {
		if err := os.WriteFile(in, []byte(strings.Join(lines, "\n")), 0o600); err != nil {
			t.Fatal(err)
		}
	}
	write()
	args := []string{"embed", "-model", model, "-device", "cpu", "-in", in, "-out", out}
	var text, errs bytes.Buffer
	if status := run(context.Background(), args, streams{&text, &errs}); status != 0 {
		t.Fatalf("status %d\n%s", status, &errs)
	}
	for _, want := range []string{"90 % of 1100 texts", "100 % of 1100 texts"} {
		if !strings.Contains(errs.String(), want) {
			t.Errorf("the progress lacks %q: %q", want, errs.String())
		}
	}
	a, err := npy.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	rows, err := gpk.ToSlice[float32](a)
	if err != nil || len(rows) != 1100*384 {
		t.Fatalf("%v (%v)", a.Shape(), err)
	}
	if cosine, _ := golden.Compare(rows[1049*384:1050*384], cases[0].Embedding); !(cosine > 0.9999) {
		t.Errorf("row 1049: cosine %v", cosine)
	}
	lines[1049] = "\xff"
	write()
	errs.Reset()
	if status := run(context.Background(), args, streams{&text, &errs}); status != 1 || !strings.Contains(errs.String(), in+", line 1050") {
		t.Errorf("a line that is not UTF-8: status %d\n%s", status, &errs)
	}
}
