package array

import (
	"bufio"
	"encoding/hex"
	"encoding/json"
	"fmt"
	"io"
	"os"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/numpytest"
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

// firstDifference returns the first line that differs, of either text.
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
// as GPK_NUMPY_CASES says.
func TestPrintNumPy(t *testing.T) {
	cases, count := numpytest.Cases(t, 2000), map[string]int(nil)
	numpytest.Run(t, "testdata/numpy_print.py", cases, func(out io.Reader) { count = compareWithNumPy(t, out) })
	t.Logf("arrays: %v", count)
	for _, dt := range dtype.All {
		if count[dt.String()] != cases {
			t.Errorf("%d arrays of %v", count[dt.String()], dt)
		}
	}
}
