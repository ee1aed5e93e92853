// Package cusolvertest builds a libcusolver.so.12 over the host's memory, with which tests run the
// callers of cuSOLVER without a GPU.
package cusolvertest

import (
	"embed"
	"os"
	"os/exec"
	"path/filepath"

	"github.com/gpk-go/gpk/cutlass"
)

//go:embed testdata/*.c testdata/*.h
var sources embed.FS

// Build compiles the library into a folder with the system's C compiler, and returns its file. If it
// cannot, why is the reason. flags are passed to the compiler: -DOLD leaves SyevBatched out, as older
// versions do, and -DPART leaves out a function that gpk needs.
func Build(dir string, flags ...string) (file, why string) {
	if err := cutlass.Built(); err != nil {
		return "", err.Error()
	}
	cc, err := exec.LookPath("cc")
	if err != nil {
		return "", "no C compiler: " + err.Error()
	}
	if err := os.CopyFS(dir, sources); err != nil {
		return "", err.Error()
	}
	c, file := filepath.Join(dir, "testdata", "fake.c"), filepath.Join(dir, "libcusolver.so.12")
	args := append(flags[:len(flags):len(flags)], "-shared", "-fPIC", "-O2", "-std=c11", "-Wall", "-Wextra", "-o", file, c, "-lm")
	if out, err := exec.Command(cc, args...).CombinedOutput(); err != nil {
		return "", err.Error() + ": " + string(out)
	}
	return file, ""
}
