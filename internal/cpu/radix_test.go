package cpu

import (
	"cmp"
	"math"
	"slices"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestSortKeys compares with a comparison sort: keys that differ in their upper, lower or few bits, in long runs of
// equal upper bits, and at the lengths where the way of sorting changes.
func TestSortKeys(t *testing.T) {
	rng := testrand.New(t)
	for _, n := range []int{2, shortSort, shortSort + 1, 1000, wideDigits - 1, wideDigits, 30000} {
		for _, mask := range []uint64{0, 1, 1 << 63, 7<<60 | 0xfff, 0xff << 20, 1<<40 - 1, math.MaxUint64} {
			x := make([]uint64, n)
			for i := range x {
				x[i] = rng.Uint64() & mask
				if rng.IntN(3) == 0 {
					x[i] &= 3
				}
			}
			testSortKeys(t, x)
			testSortKeys(t, converted[uint32](x))
			testSortKeys(t, converted[uint16](x))
			testSortKeys(t, converted[uint8](x))
			want, places, spare := make([]uint64, n), make([]uint64, n), make([]uint64, n)
			for i := range want {
				want[i] = uint64(i)
			}
			slices.SortStableFunc(want, func(a, b uint64) int { return cmp.Compare(x[a], x[b]) })
			if sortPlaces(x, places, spare); !slices.Equal(places, want) {
				t.Fatalf("the places of %d keys with the bits %#x", n, mask)
			}
		}
	}
}

func converted[K key](x []uint64) []K {
	out := make([]K, len(x))
	for i, v := range x {
		out[i] = K(v)
	}
	return out
}

func testSortKeys[K key](t *testing.T, x []K) {
	t.Helper()
	got, want := slices.Clone(x), slices.Clone(x)
	slices.Sort(want)
	if sortKeys(got, make([]K, len(x)), 0); !slices.Equal(got, want) {
		t.Fatalf("%d keys of %T", len(x), x[0])
	}
}

// TestArgSort compares the order of lines of every type with that of a stable sort of their keys.
func TestArgSort(t *testing.T) {
	rng := testrand.New(t)
	for dt := dtype.DType(0); dt < kernelTypes; dt++ {
		if !dt.Valid() || dt.IsComplex() {
			continue
		}
		o, _ := orderOf(dt)
		for _, shape := range [][]int{{0, 3}, {3, 0}, {1, 1}, {5, 40}, {3, 700}} {
			for _, descending := range []bool{false, true} {
				a := arrangements[rng.IntN(len(arrangements))]
				x, got := a.make(dt, shape).randomize(rng), dense(dtype.Int64, shape)
				if err := ArgSort(dt, shape, 1, descending, x.p(), x.strides, got.p(), got.strides); err != nil {
					t.Fatal(err)
				}
				for row := range shape[0] {
					n := shape[1]
					keys, want := make([]uint64, n), make([]int64, n)
					for i := range want {
						loadKeys(o, keys[i:i+1], x.at(row*x.strides[0]+i*x.strides[1]), dt.Size())
						want[i] = int64(i)
					}
					slices.SortStableFunc(want, func(a, b int64) int {
						if descending {
							a, b = b, a
						}
						return cmp.Compare(keys[a], keys[b])
					})
					if n > 0 && !slices.Equal(unsafe.Slice((*int64)(got.at(row*n)), n), want) {
						t.Fatalf("%v, %s, shape %v, descending %v: row %d", dt, a.name, shape, descending, row)
					}
				}
			}
		}
	}
}
