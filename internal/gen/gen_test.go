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

// TestNumPyTargets: a name that numpy.txt gives as gpk's is there, or the line says why not.
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

// TestStandard: every function of the array API standard is compared with NumPy or has a reason
// why it is missing, and at least 95 % of them are compared.
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
			t.Errorf("%s: called: %t; the reason why it is missing: %q", r.name, called, r.miss)
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
	for _, r := range standardRows(standardText) { // what a row shows instead of the call is in the call
		for _, m := range regexp.MustCompile(`\.([A-Z]\w*)`).FindAllStringSubmatch(r.code, -1) {
			if !regexp.MustCompile(`\.` + m[1] + `\b`).MatchString(tables) {
				t.Errorf("%s: %s is called by no table", r.name, m[0])
			}
		}
	}
	for name := range calls {
		if base, _, _ := strings.Cut(name, " of "); !rows[base] {
			t.Errorf("%s is called and not listed", name)
		}
	}
	works, all := standardShare("../..")
	if all != 176 || works*100 < all*95 {
		t.Errorf("%d of %d functions work; the standard has 176, and 95 %% are the least", works, all)
	}
}
