package arraytest

import (
	"bytes"
	"reflect"
	"slices"
	"testing"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
)

// TestTypes makes an array of each type, and reads its elements back.
func TestTypes(t *testing.T) {
	for _, dt := range dtype.All {
		if _, ok := byType[dt]; !ok {
			t.Errorf("%v is missing", dt)
			continue
		}
		for _, shape := range [][]int{nil, {0}, {2, 3}} {
			want := make([]byte, dt.Size())
			for _, n := range shape {
				want = bytes.Repeat(want, n)
			}
			for i := range want {
				want[i] = byte(i & 1)
			}
			a := FromBytes(dt, want, shape...)
			if a.DType() != dt || !slices.Equal(a.Shape(), shape) || !bytes.Equal(Bytes(t, a), want) {
				t.Errorf("%v %v: %v", dt, shape, a)
			}
		}
	}
	want := []int16{1, -2}
	if a := gpk.FromSlice(want); !reflect.DeepEqual(Slice(t, a), any(want)) || !slices.Equal(Elements[int16](t, a), want) {
		t.Errorf("%v, want %v", a, want)
	}
}
