package cpu

import (
	"runtime/debug"
	"slices"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestQuickSortPages sorts keys that begin or end at an unmapped page. So does the scratch memory. An access outside of either
// faults.
func TestQuickSortPages(t *testing.T) {
	if !vectorAVX {
		t.Skip("NOT RUN: this processor has no AVX2, which the assembly under test needs")
	}
	quickSortPages[float32, uint32](t)
	quickSortPages[float64, uint64](t)
}

// quickSortPages sorts keys of the width of T, the type of the fenced memory.
func quickSortPages[T floating, K key](t *testing.T) {
	rng := testrand.New(t)
	x, spare := newFenced[T](t), newFenced[T](t)
	n := 0
	defer debug.SetPanicOnFault(debug.SetPanicOnFault(true))
	defer func() {
		if e := recover(); e != nil {
			t.Fatalf("%d keys of %T: %v", n, K(0), e)
		}
	}()
	for n = 1; n <= 300; n++ {
		for place := range 4 {
			keys := unsafe.Slice((*K)(unsafe.Pointer(x.place(n, place&1 > 0))), n)
			for i := range keys {
				keys[i] = K(rng.Uint64())
			}
			want := slices.Clone(keys)
			slices.Sort(want)
			if quickSort(keys, unsafe.Slice((*K)(unsafe.Pointer(spare.place(n, place&2 > 0))), n)); !slices.Equal(keys, want) {
				t.Fatalf("%d keys of %T: %v, want %v", n, K(0), keys, want)
			}
		}
	}
}
