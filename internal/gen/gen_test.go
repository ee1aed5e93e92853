package main

import (
	"bytes"
	"os"
	"path/filepath"
	"regexp"
	"strings"
	"testing"
)

func TestFilesAreUpToDate(t *testing.T) {
	for name, want := range files("../..") {
		got, err := os.ReadFile(filepath.Join("../..", name))
		if err != nil {
			t.Error(err)
		} else if !bytes.Equal(got, want) {
			t.Errorf("%s is not what the table of operations gives: run go generate ./...", name)
		}
	}
}

// TestNumPyTargets checks that each gpk name in numpy.txt exists, or that its line gives the
// reason why not.
func TestNumPyTargets(t *testing.T) {
	names := gpkNamesIn("../..")
	seen := map[string]bool{}
	for _, s := range numpySections(numpyText) {
		for _, e := range s.entries {
			for _, name := range e.names {
				if seen[name] {
					t.Errorf("%s is listed twice", name)
				}
				seen[name] = true
			}
			if _, ok := names.look(e); !ok && e.code == "" && e.miss == "" && s.miss == "" {
				t.Errorf("%s: gpk has no %q, and the line gives no reason", e.names[0], e.target)
			}
		}
	}
	if len(seen) < 300 {
		t.Errorf("only %d names of NumPy are listed", len(seen))
	}
}

// TestStandard checks that every function of the array API standard is either compared with NumPy
// or has a reason why it is missing, and that at least 95 % are compared.
func TestStandard(t *testing.T) {
	calls, rows := tested("../.."), map[string]bool{}
	for _, r := range standardRows(standardText) {
		if rows[r.name] {
			t.Errorf("%s is listed twice", r.name)
		}
		rows[r.name] = true
		_, called := calls[r.name]
		if r.same != "" {
			_, called = calls[r.same]
		}
		if called == (r.miss != "") {
			t.Errorf("%s: called %t, with the reason %q why it is missing", r.name, called, r.miss)
		}
	}
	tables := ""
	paths, err := filepath.Glob("../../gpktest/standard_*_test.go")
	if err != nil {
		t.Fatal(err)
	}
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tables += string(text)
	}
	for _, r := range standardRows(standardText) { // code shown instead of the call must be in a call
		for _, m := range regexp.MustCompile(`\.([A-Z]\w*)`).FindAllStringSubmatch(r.code, -1) {
			if !regexp.MustCompile(`\.` + m[1] + `\b`).MatchString(tables) {
				t.Errorf("%s: no table calls %s", r.name, m[0])
			}
		}
	}
	for name := range calls {
		if base, _, _ := strings.Cut(name, " of "); !rows[base] {
			t.Errorf("%s is called but not listed", name)
		}
	}
	works, all := standardShare("../..")
	if all != 176 || works*100 < all*95 {
		t.Errorf("%d of %d functions work, want at least 95 %% of 176", works, all)
	}
}

// untested are the beginnings of code in docs/numpy.md that gpktest/standard_row*_test.go need not have,
// because other tests call it or NumPy has no counterpart of the same value.
var untested = []string{
	"gpk.FromSlice(", "npy.", "dlpack.", "fmt.", "rng.", "a.Take(rng.", "gpk.Into(", "linalg.SVDVals(", "x.ScatterAdd(", "x.ScatterMax(", "x.ScatterMin(",
	"a.SplitAt(axis", "a.IndexSelect(", "a.SearchSorted(", "a.Cross(", "a.MatMul(b)", "gpk.Concat(axis, a, b)",
}

// TestNumPyExpressions checks that TestNumPyStandard of package gpktest compares the expressions of
// docs/numpy.md with NumPy.
func TestNumPyExpressions(t *testing.T) {
	plain := func(s string) string { return strings.Join(strings.Fields(s), "") }
	paths, err := filepath.Glob("../../gpktest/standard_row*_test.go")
	if err != nil || len(paths) < 2 {
		t.Fatal(paths, err)
	}
	tables := ""
	for _, path := range paths {
		text, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		tables += plain(shown(string(text)))
	}
	var codes []string
	for line := range strings.Lines(numpyText) {
		if !strings.HasPrefix(line, "#") {
			for _, m := range regexp.MustCompile("`([^`]*\\([^`]*)`").FindAllStringSubmatch(line, -1) {
				codes = append(codes, m[1])
			}
		}
	}
	for line := range strings.Lines(numpyLonger) {
		if _, code, ok := strings.Cut(line, ":= "); ok {
			codes = append(codes, code)
		}
	}
	if len(codes) < 100 {
		t.Errorf("only %d expressions", len(codes))
	}
	for _, code := range codes {
		known := strings.Contains(tables, plain(code))
		for _, start := range untested {
			known = known || strings.HasPrefix(code, start)
		}
		if !known {
			t.Errorf("no table of gpktest has %s", code)
		}
	}
}
