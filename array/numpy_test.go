package array

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"math/rand/v2"
	"os"
	"os/exec"
	"strconv"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
)

// compareWithNumPy prints the arrays that testdata/numpy_print.py wrote, and returns how
// many there are of each type.
func compareWithNumPy(t *testing.T, lines io.Reader) map[string]int {
	t.Helper()
	count, failed := map[string]int{}, map[string]int{}
	scanner := bufio.NewScanner(lines)
	scanner.Buffer(nil, 1<<24)
	for scanner.Scan() {
		var c struct {
			DType, Elements, Text string
			Shape                 []int
		}
		if err := json.Unmarshal(scanner.Bytes(), &c); err != nil {
			t.Fatalf("%v in %.200s", err, scanner.Bytes())
		}
		dt, err := dtype.Parse(c.DType)
		if err != nil {
			t.Fatal(err)
		}
		size := 1
		for _, d := range c.Shape {
			size *= d
		}
		pattern, err := hex.DecodeString(c.Elements)
		if err != nil {
			t.Fatal(err)
		}
		raw := make([]byte, size*dt.Size())
		for n := 0; n < len(raw) && len(pattern) > 0; {
			n += copy(raw[n:], pattern)
		}
		a := fromBytes(call{"FromSlice", here()}, device.Default(), dt, raw, size, c.Shape)
		count[c.DType]++
		if got := fmt.Sprint(a); got != c.Text {
			if failed[c.DType]++; failed[c.DType] <= 3 {
				t.Errorf("%v %v %.200s:\n%s", dt, c.Shape, c.Elements, firstDifference(got, c.Text))
			}
		}
	}
	if err := scanner.Err(); err != nil {
		t.Fatal(err)
	}
	for name, n := range failed {
		t.Errorf("%d of %d arrays of %s differ", n, count[name], name)
	}
	return count
}

// firstDifference is the first line that differs, of either text.
func firstDifference(got, want string) string {
	g, w := strings.Split(got, "\n"), strings.Split(want, "\n")
	for i := range min(len(g), len(w)) {
		if g[i] != w[i] {
			return fmt.Sprintf("line %d: got\n%s\nwant\n%s", i+1, g[i], w[i])
		}
	}
	return fmt.Sprintf("%d lines, want %d", len(g), len(w))
}

// TestPrintNumPyGolden compares with texts that NumPy 2.4.6 has written.
func TestPrintNumPyGolden(t *testing.T) {
	f, err := os.Open("testdata/numpy_print.jsonl")
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	count := compareWithNumPy(t, f)
	for _, dt := range dtype.All {
		if count[dt.String()] < 15 {
			t.Errorf("%d arrays of %v", count[dt.String()], dt)
		}
	}
}

// TestPrintNumPy compares random arrays with NumPy itself: 2,000 of each type, or as many
// as GPK_NUMPY_CASES says. GPK_NUMPY_PYTHON names a Python that has NumPy 2.
func TestPrintNumPy(t *testing.T) {
	python := os.Getenv("GPK_NUMPY_PYTHON")
	if python == "" {
		t.Skip("NOT RUN: GPK_NUMPY_PYTHON names no Python with NumPy 2, the reference")
	}
	cases := 2000
	if s := os.Getenv("GPK_NUMPY_CASES"); s != "" {
		var err error
		if cases, err = strconv.Atoi(s); err != nil {
			t.Fatal(err)
		}
	}
	seed := rand.Uint32()
	t.Logf("seed %d", seed)
	command := exec.CommandContext(t.Context(), python, "testdata/numpy_print.py", fmt.Sprint(seed), fmt.Sprint(cases))
	command.Stderr = os.Stderr
	out, err := command.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := command.Start(); err != nil {
		t.Fatal(err)
	}
	count := compareWithNumPy(t, out)
	if err := command.Wait(); err != nil {
		t.Fatal(err)
	}
	t.Logf("arrays: %v", count)
	for _, dt := range dtype.All {
		if count[dt.String()] != cases {
			t.Errorf("%d arrays of %v", count[dt.String()], dt)
		}
	}
}
