//go:build cgo

package cutlass

import (
	"fmt"
	"math/rand/v2"
	"os/exec"
	"path/filepath"
	"testing"
)

// TestEmulated compiles the kernels of gpk_factor for the host, which runs the threads of a CTA one
// after the other, and compares their results with the definitions. A machine without a C compiler has
// no C++ compiler either; the test is skipped there.
func TestEmulated(t *testing.T) {
	program := emulated(t, "factor", "-fcx-limited-range")
	seed := rand.Uint64()
	if out, err := exec.Command(program, fmt.Sprint(seed)).CombinedOutput(); err != nil {
		t.Errorf("%v, seed %d\n%s", err, seed, out)
	}
}

// TestEmulatedNumbers compares the functions of single numbers with those of the C library.
func TestEmulatedNumbers(t *testing.T) {
	program := emulated(t, "numbers", "-ffp-contract=off")
	seed := rand.Uint64()
	if out, err := exec.Command(program, fmt.Sprint(seed)).CombinedOutput(); err != nil {
		t.Errorf("%v, seed %d\n%s", err, seed, out)
	}
}

// emulated compiles testdata/emulate/NAME.cpp and returns the program's path.
func emulated(t *testing.T, name string, flags ...string) string {
	t.Helper()
	if testing.Short() {
		t.Skip("NOT RUN with -short: it compiles C++ for some seconds")
	}
	compiler, err := exec.LookPath("g++")
	if err != nil {
		t.Skipf("NOT RUN: the kernels of testdata/emulate/%s.cpp on the host: %v", name, err)
	}
	program := filepath.Join(t.TempDir(), name)
	build := exec.Command(compiler, append(flags, "-std=c++17", "-O2", "-U_FORTIFY_SOURCE", "-Wall", "-Wno-unknown-pragmas",
		"-Isrc", "-Itestdata/emulate", "testdata/emulate/"+name+".cpp", "-o", program)...)
	if out, err := build.CombinedOutput(); err != nil {
		t.Fatalf("%v\n%s", err, out)
	}
	return program
}
