// Package nccltest builds a libnccl.so.2 over the host's memory, with which tests run the
// callers of NCCL without a GPU.
package nccltest

import (
	_ "embed"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gpk-go/gpk/cutlass"
)

//go:embed testdata/fake.c
var source []byte

// Build compiles the library into a folder with the system's C compiler, and returns its file. If it
// cannot, why is the reason.
func Build(dir string) (file, why string) {
	if err := cutlass.Built(); err != nil {
		return "", err.Error()
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		return "", "no C compiler: " + err.Error()
	}
	c, file := filepath.Join(dir, "fake.c"), filepath.Join(dir, "libnccl.so.2")
	if err := os.WriteFile(c, source, 0o600); err != nil {
		return "", err.Error()
	}
	if out, err := exec.Command(cc, "-shared", "-fPIC", "-O1", "-Wall", "-Wextra", "-pthread", "-o", file, c).CombinedOutput(); err != nil {
		return "", err.Error() + ": " + string(out)
	}
	return file, ""
}
