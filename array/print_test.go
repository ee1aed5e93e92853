package array

import (
	"fmt"
	"log"
	"math"
	"path/filepath"
	"runtime"
	"strings"
	"testing"

	"github.com/gpk-go/gpk/device"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/x448/float16"
)

// TestPrintSite checks that the error of an array that is printed names the line that
// prints.
func TestPrintSite(t *testing.T) {
	where := func() string {
		_, file, n, _ := runtime.Caller(1)
		return fmt.Sprintf(" at array/%s:%d: ", filepath.Base(file), n)
	}
	for _, n := range []int{3, 2000} {
		a := Zeros(dtype.Complex64, n)
		a.Free()
		var printed, logged strings.Builder
		logger := log.New(&logged, "", 0)
		for what, got := range map[string]string{
			"Sprint": fmt.Sprint(a) + where(), "Sprintln": fmt.Sprintln("a", []any{a}) + where(),
			"Fprintf": func() string { _, _ = fmt.Fprintf(&printed, "%.3f", a); return printed.String() + where() }(),
			"log":     func() string { logger.Print(a); return logged.String() + where() }(),
		} {
			i := strings.LastIndex(got, " at ")
			if text, want := got[:i], got[i:]; !strings.Contains(text, want) || !strings.Contains(text, device.ErrFreed.Error()) {
				t.Errorf("%s of %d elements: %q does not say %q", what, n, text, want)
			}
		}
	}
}

// TestPrint compares with NumPy's output for the same arrays.
func TestPrint(t *testing.T) {
	nan, inf := math.NaN(), math.Inf(1)
	for _, c := range []struct {
		a    *Array
		want string
	}{
		{FromSlice([]float64{1, 2, 3}), "[1. 2. 3.]"},
		{FromSlice([]float64{1.5, 2.25, -3}), "[ 1.5   2.25 -3.  ]"},
		{FromSlice([]float32{0.1, 0.2}), "[0.1 0.2]"},
		{FromSlice([]float64{nan, inf, -inf, 1}), "[ nan  inf -inf   1.]"},
		{FromSlice([]float64{1e-5, 1}), "[1.e-05 1.e+00]"},
		{FromSlice([]float64{1e8, 1}), "[1.e+08 1.e+00]"},
		{FromSlice([]float64{math.Pi}), "[3.14159265]"},
		{FromSlice([]int32{1, -20, 300}, 3), "[  1 -20 300]"},
		{FromSlice([]bool{true, false}), "[ True False]"},
		{FromSlice([]complex64{1 + 2i, 3 - 4i}), "[1.+2.j 3.-4.j]"},
		{FromSlice([]float32{1, 2, 3, 4}, 2, 2), "[[1. 2.]\n [3. 4.]]"},
		{FromSlice([]int8{1, 2, 3, 4, 5, 6, 7, 8}, 2, 2, 2), "[[[1 2]\n  [3 4]]\n\n [[5 6]\n  [7 8]]]"},
		{Full(dtype.Float32, 7), "7.0"},
		{Zeros(dtype.Float32, 0), "[]"},
		{Zeros(dtype.Float32, 2, 0), "[]"},
		{Zeros(dtype.Float32, math.MaxInt32, 0, 3), "[]"},
		{FromSlice([]float16.Float16{float16.Fromfloat32(1.5)}), "[1.5]"},
		{FromSlice([]bfloat16.BFloat16{bfloat16.FromFloat32(-2)}), "[-2.]"},
		{Arange(dtype.Int32, 1001), "[   0    1    2 ...  998  999 1000]"},
	} {
		if got := fmt.Sprint(c.a); got != c.want {
			t.Errorf("got\n%s\nwant\n%s", got, c.want)
		}
	}
	if got := fmt.Sprintf("%.2f", FromSlice([]float64{1, 10})); got != "[ 1.00 10.00]" {
		t.Error(got)
	}
	if got := fmt.Sprint(FromSlice([]float32{1, 2}, 3)); got == "" || got[0] != 'g' {
		t.Errorf("a failed array prints %q", got)
	}
	if got := fmt.Sprint((*Array)(nil)); got != "<nil>" {
		t.Error(got)
	}
}

// TestSummary checks that only the edges of a large matrix are printed.
func TestSummary(t *testing.T) {
	got := fmt.Sprint(Arange(dtype.Int32, 1600).Reshape(40, 40))
	want := `[[   0    1    2 ...   37   38   39]
 [  40   41   42 ...   77   78   79]
 [  80   81   82 ...  117  118  119]
 ...
 [1480 1481 1482 ... 1517 1518 1519]
 [1520 1521 1522 ... 1557 1558 1559]
 [1560 1561 1562 ... 1597 1598 1599]]`
	if got != want {
		t.Errorf("got\n%s\nwant\n%s", got, want)
	}
}
