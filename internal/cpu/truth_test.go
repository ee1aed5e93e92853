package cpu

import (
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestTruths compares All, Any and Sum of bytes with loops, along either axis of a matrix whose rows and elements may
// have gaps.
func TestTruths(t *testing.T) {
	rng := testrand.New(t)
	for range 3000 {
		rows, cols, step := 1+rng.IntN(40), 1+rng.IntN(40), 1+rng.IntN(3)
		pitch := cols*step + rng.IntN(3)
		data := make([]uint8, rows*pitch+rng.IntN(8))
		data = data[len(data)-rows*pitch:] // at any address
		rare, common := uint8(rng.IntN(2)), rng.IntN(30)
		for i := range data {
			if data[i] = rare; rng.IntN(1+common) > 0 {
				data[i] = 1 - rare
			}
		}
		axis := rng.IntN(2)
		kept := rows + cols - []int{rows, cols}[axis]
		type truth struct {
			all, some bool
			count     int64
		}
		want := make([]truth, kept)
		for i := range want {
			want[i].all = true
		}
		for i := range rows {
			for j := range cols {
				w, v := &want[[]int{j, i}[axis]], data[i*pitch+j*step]
				w.all, w.some, w.count = w.all && v != 0, w.some || v != 0, w.count+int64(v)
			}
		}
		all, some, counts := make([]uint8, kept), make([]uint8, kept), make([]int64, kept)
		for i := range kept {
			all[i], some[i], counts[i] = 77, 77, 77
		}
		for op, dst := range map[expr.Op]unsafe.Pointer{expr.All: at0(all), expr.Any: at0(some), expr.Sum: at0(counts)} {
			result := dtype.Bool
			if op == expr.Sum {
				result = dtype.Int64
			}
			if err := Reduce(op, dtype.Bool, result, []int{rows, cols}, 1<<axis, at0(data), []int{pitch, step}, dst); err != nil {
				t.Fatal(err)
			}
		}
		for i, w := range want {
			if all[i] != bit(w.all) || some[i] != bit(w.some) || counts[i] != w.count {
				t.Fatalf("%d x %d, axis %d, number %d: %v %v %v, want %+v", rows, cols, axis, i, all[i], some[i], counts[i], w)
			}
		}
	}
}

// TestTruthSearch checks anyTrue and allTrue on bytes of any address and length of which none or one differs from the others.
func TestTruthSearch(t *testing.T) {
	rng := testrand.New(t)
	for range 5000 {
		x := make([]uint8, 1+rng.IntN(3*truthSearch))[rng.IntN(2):]
		common := uint8(rng.IntN(2))
		for i := range x {
			x[i] = common
		}
		if len(x) > 0 && rng.IntN(2) > 0 {
			x[rng.IntN(len(x))] = []uint8{1 + uint8(rng.IntN(255)), 0}[common]
		}
		some, all := false, true
		for _, v := range x {
			some, all = some || v != 0, all && v != 0
		}
		if anyTrue(x) != some || allTrue(x) != all {
			t.Fatalf("%d bytes, most of them %d: any %v, all %v; want %v, %v", len(x), common, anyTrue(x), allTrue(x), some, all)
		}
	}
}
