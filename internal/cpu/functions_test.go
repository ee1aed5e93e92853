package cpu_test

import (
	"math"
	"os"
	"strconv"
	"strings"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/cpu"
	"github.com/gpk-go/gpk/ops"
)

// TestFunctions64 measures the errors of the float64 functions against the exact results of
// package gpktest, on the processor that runs the test, because the compiler may fuse
// operations there.
func TestFunctions64(t *testing.T) {
	text, err := os.ReadFile("../../gpktest/testdata/functions.txt")
	if err != nil {
		t.Fatal(err)
	}
	rows := map[string]*ops.Row{}
	for i := range ops.Table {
		rows[ops.Table[i].Op.String()] = &ops.Table[i]
	}
	worst, tried := map[expr.Op]float64{}, 0
	for line := range strings.Lines(string(text)) {
		words := strings.Fields(line)
		row := rows[words[0]]
		v := make([]float64, len(words)-1)
		for i, w := range words[1:] {
			if v[i], err = strconv.ParseFloat(w, 64); err != nil {
				t.Fatal(err)
			}
		}
		one, dense, got := []int{1}, []int{1}, math.NaN()
		x, dst := unsafe.Pointer(&v[0]), unsafe.Pointer(&got)
		if len(v) == 3 {
			err = cpu.Unary(row.Op, dtype.Float64, dtype.Float64, one, x, dense, dst, dense)
		} else {
			err = cpu.Binary(row.Op, dtype.Float64, dtype.Float64, one, x, dense, unsafe.Pointer(&v[1]), dense, dst, dense)
		}
		if err != nil {
			t.Fatal(err)
		}
		high, low := v[len(v)-2], v[len(v)-1]
		size := math.Abs(high)
		if row.Error.FromOne {
			size = max(size, 1, math.Abs(v[0]))
		}
		_, e := math.Frexp(size)
		tried++
		if u := math.Abs((got-high)-low) / math.Ldexp(1, max(e-53, -1074)); !(u <= row.Error.Float64) {
			t.Errorf("%v of %v: %v, want %v: %.3f ulp, at most %v", row.Op, v[:len(v)-2], got, high, u, row.Error.Float64)
		} else {
			worst[row.Op] = max(worst[row.Op], u)
		}
	}
	if tried < 1000 {
		t.Errorf("%d values", tried)
	}
	t.Log(worst)
}
