package main

import (
	"os"
	"path/filepath"
	"slices"
	"strconv"
	"strings"
	"testing"
)

// TestEverySuiteHasAPeer looks for the parts of the names of every suite in the
// text of its peer: the kind, every key, and every value that is no number.
func TestEverySuiteHasAPeer(t *testing.T) {
	for _, s := range suiteTable {
		if s.peer == "" {
			if s.name != "gram-sweep" && s.name != "training" { // gpk's alone
				t.Errorf("suite %s names no peer", s.name)
			}
			continue
		}
		text, err := os.ReadFile(filepath.Join("peers", s.peer))
		if err != nil {
			t.Error(err)
			continue
		}
		cases, err := s.cases(options{}, true)
		if err != nil {
			t.Fatal(err)
		}
		var missing []string
		for _, c := range cases {
			missing = append(missing, partsMissing(string(text), c.name)...)
		}
		slices.Sort(missing)
		if missing = slices.Compact(missing); len(missing) > 0 {
			t.Errorf("%s does not print %s of suite %s", s.peer, strings.Join(missing, ", "), s.name)
		}
	}
	if len(partsMissing(`print(f"Op/op={op}") # exp`, "Op/op=sum/rows=3")) != 2 {
		t.Error("a name that a script lacks is found in it")
	}
}

// partsMissing returns the parts of a case's name that a script's text lacks.
func partsMissing(text, name string) []string {
	parts := strings.Split(name, "/")
	var missing []string
	if !strings.Contains(text, parts[0]+"/") {
		missing = append(missing, parts[0])
	}
	for _, part := range parts[1:] {
		key, value, _ := strings.Cut(part, "=")
		if !strings.Contains(text, key+"=") {
			missing = append(missing, key)
		}
		if _, err := strconv.ParseBool(value); err == nil {
			continue // a script prints it out of a variable
		}
		if _, err := strconv.Atoi(value); err != nil && !strings.Contains(text, value) {
			missing = append(missing, part)
		}
	}
	return missing
}
