package ci

import (
	"bytes"
	"os"
	"path/filepath"
	"testing"
)

// TestLintAssembly writes the amd64 assembly again and compares it with the files of the repository. It needs the
// module of avo, so it belongs to step lint and not to go test ./....
func TestLintAssembly(t *testing.T) {
	root := wanted(t)
	programs := filepath.Join(root, "internal", "asm")
	logged(t, programs, nil, "go", "vet", "./...")
	logged(t, programs, nil, "go", "mod", "tidy", "-diff")
	out := t.TempDir()
	logged(t, programs, nil, "go", "run", "./generate", "-out", out)
	written := 0
	err := filepath.WalkDir(out, func(path string, entry os.DirEntry, err error) error {
		if err != nil || entry.IsDir() {
			return err
		}
		name, err := filepath.Rel(out, path)
		if err != nil {
			return err
		}
		want, err := os.ReadFile(path)
		if err != nil {
			return err
		}
		got, err := os.ReadFile(filepath.Join(root, name))
		if err != nil {
			return err
		}
		if !bytes.Equal(got, want) {
			t.Errorf("%s is not what internal/asm writes: run go generate .", name)
		}
		written++
		return nil
	})
	if err != nil {
		t.Fatal(err)
	}
	if written == 0 {
		t.Error("internal/asm wrote no file")
	}
}
