package main

import (
	"bytes"
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"github.com/gpk-go/gpk/profile"
)

// writeReport writes a report of one operation.
func writeReport(t *testing.T, name string, took time.Duration) string {
	t.Helper()
	var b bytes.Buffer
	r := &profile.Report{Name: "run " + name, Duration: took, Operations: []profile.Operation{{Name: "MatMul", Site: "a.go:1", Device: "cpu", Host: took}}}
	if err := r.WriteJSON(&b); err != nil {
		t.Fatal(err)
	}
	file := filepath.Join(t.TempDir(), name+".json")
	if err := os.WriteFile(file, b.Bytes(), 0o600); err != nil {
		t.Fatal(err)
	}
	return file
}

func TestProfile(t *testing.T) {
	before, after := writeReport(t, "before", 98*time.Millisecond), writeReport(t, "after", 138*time.Millisecond)
	page := filepath.Join(t.TempDir(), "page.html")
	for _, c := range []struct {
		args []string
		out  string // standard output contains
		page string // the page contains; "": no page
	}{
		{[]string{after}, "run after: 138ms", ""},
		{[]string{after, "-against", before}, "+40.8%", ""},
		{[]string{"-against", before, "-threshold", "0.5", after}, "1 unchanged", ""},
		{[]string{after, "-o", page}, page, "run after"},
		{[]string{"-o", page, after, "-against", before}, page, "+40.8%"},
	} {
		os.Remove(page)
		var out, errs bytes.Buffer
		status := run(context.Background(), append([]string{"profile"}, c.args...), streams{&out, &errs})
		if status != 0 || errs.Len() > 0 || !strings.Contains(out.String(), c.out) {
			t.Errorf("%v: status %d\n%s%s\nwant %q", c.args, status, &out, &errs, c.out)
		}
		html, err := os.ReadFile(page)
		if (err == nil) != (c.page != "") || !strings.Contains(strings.ReplaceAll(string(html), "&#43;", "+"), c.page) {
			t.Errorf("%v: page %.200s, %v; want %q", c.args, html, err, c.page)
		}
	}
}

func TestProfileRefuses(t *testing.T) {
	report := writeReport(t, "report", time.Second)
	dir := t.TempDir()
	bad := filepath.Join(dir, "bad.json")
	if err := os.WriteFile(bad, []byte(`{"format":1,"duration_ns":-1}`), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args   []string
		status int
		says   string
	}{
		{nil, 2, "want one report"},
		{[]string{report, report}, 2, "unexpected argument"},
		{[]string{report, "-threshold", "-1"}, 2, "below 0"},
		{[]string{report, "-threshold", "NaN"}, 2, "below 0"},
		{[]string{report, "-nonsense"}, 2, "-nonsense"},
		{[]string{filepath.Join(dir, "none.json")}, 1, "none.json"},
		{[]string{bad}, 1, "bad.json: profile: not a profile report of format 1: field duration_ns: -1 is negative"},
		{[]string{report, "-against", bad}, 1, "bad.json"},
		{[]string{report, "-o", dir}, 1, "not a regular file"},
		{[]string{report, "-o", report}, 1, "a report that is an input"},
		{[]string{report, "-o", filepath.Join(dir, "none", "page.html")}, 1, "-o"},
	} {
		var out, errs bytes.Buffer
		status := run(context.Background(), append([]string{"profile"}, c.args...), streams{&out, &errs})
		if status != c.status || out.Len() > 0 || !strings.Contains(errs.String(), c.says) {
			t.Errorf("%v: status %d\n%s%s\nwant %d and %q", c.args, status, &out, &errs, c.status, c.says)
		}
	}
	left, err := filepath.Glob(filepath.Join(dir, ".*"))
	if err != nil || len(left) > 0 {
		t.Errorf("files left: %v, %v", left, err)
	}
}
