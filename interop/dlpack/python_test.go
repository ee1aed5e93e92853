//go:build cgo && linux && (amd64 || arm64)

package dlpack

import (
	"bytes"
	"cmp"
	"os"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestPython exchanges tensors with NumPy, in the process of a Python, which is GPK_PYTHON
// or python3.
func TestPython(t *testing.T) {
	named := os.Getenv("GPK_PYTHON")
	python := cmp.Or(named, "python3")
	if out, err := exec.Command(python, "-c", "import numpy").CombinedOutput(); err != nil {
		t.Skipf("NOT RUN: %s has no NumPy; pip install numpy, or name another in GPK_PYTHON: %v %s", python, err, bytes.TrimSpace(out))
	}
	library := filepath.Join(t.TempDir(), "shared.so")
	if out, err := exec.Command("go", "build", "-buildmode=c-shared", "-o", library, "./testdata/shared").CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	out, err := exec.Command(python, "testdata/peers.py", library, "cpu", "numpy").CombinedOutput()
	if err != nil {
		t.Fatalf("%v: %s", err, out)
	}
	t.Logf("%s", bytes.TrimSpace(out))
}
