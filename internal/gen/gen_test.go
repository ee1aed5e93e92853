package main

import (
	"bytes"
	"os"
	"path/filepath"
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
