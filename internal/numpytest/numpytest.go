// Package numpytest compares with NumPy: it runs Python scripts that print NumPy's results for
// random operands. GPK_NUMPY_PYTHON is the path of a Python interpreter with NumPy 2; without it
// the tests are skipped. GPK_NUMPY_CASES sets the number of cases.
package numpytest

import (
	"bufio"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"testing"
)

// Cases returns GPK_NUMPY_CASES, or n if it is not set.
func Cases(t *testing.T, n int) int {
	t.Helper()
	if s := os.Getenv("GPK_NUMPY_CASES"); s != "" {
		var err error
		if n, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	return n
}

// Python returns GPK_NUMPY_PYTHON. If it is not set, the test is skipped.
func Python(t *testing.T) string {
	t.Helper()
	python := os.Getenv("GPK_NUMPY_PYTHON")
	if python == "" {
		t.Skip("NOT RUN: GPK_NUMPY_PYTHON names no Python with NumPy 2, the reference")
	}
	return python
}

// Run runs a script with a random seed and the number of cases as arguments. read reads the
// output of the script.
func Run(t *testing.T, script string, cases int, read func(out io.Reader)) {
	t.Helper()
	python, seed := Python(t), rand.Uint32()
	t.Logf("seed %d", seed)
	command := exec.CommandContext(t.Context(), python, "-B", script, fmt.Sprint(seed), fmt.Sprint(cases))
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	read(out)
	if err := command.Wait(); err != nil {
		t.Fatal(err)
	}
}

// Each runs a script that prints a case per line, as JSON, and calls f for each case.
func Each[C any](t *testing.T, script string, cases int, f func(c *C)) {
	t.Helper()
	Run(t, script, cases, func(out io.Reader) {
		lines := bufio.NewScanner(out)
		lines.Buffer(nil, 1<<24)
		for lines.Scan() {
			var c C
			if err := json.Unmarshal(lines.Bytes(), &c); err != nil {
				t.Fatalf("%v: %s", err, lines.Bytes())
			}
			f(&c)
		}
		if err := lines.Err(); err != nil {
			t.Fatal(err)
		}
	})
}
