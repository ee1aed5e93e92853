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
