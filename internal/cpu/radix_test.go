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

// TestSortKeys compares with a comparison sort: keys that differ in their upper bits, lower bits or few bits, in long
// runs of equal upper bits, and at the lengths at which the algorithm changes.
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
	want := slices.Clone(x)
	slices.Sort(want)
	check := func(name string, sort func(x, spare []K)) {
		got := slices.Clone(x)
		if sort(got, make([]K, len(x))); !slices.Equal(got, want) {
			t.Fatalf("%s: %d keys of %T", name, len(x), x[0])
		}
	}
	check("sortKeys", func(x, spare []K) { sortKeys(x, spare, 0) })
	check("radixSort", func(x, spare []K) { radixSort(x, spare, 0) })
	if !sortsByVectors[K]() {
		return
	}
	check("quickSort", quickSort)
	for depth := range 3 {
		check("a radix sort after partitions", func(x, spare []K) { quickSortFrom(x, x, spare, depth) })
	}
}

// TestSortNetwork sorts every number of keys that one sorting network supports, and checks that nothing beside them is
// written.
func TestSortNetwork(t *testing.T) {
	if !vectorAVX {
		t.Skip("NOT RUN: this processor has no AVX2, which the assembly under test needs")
	}
	rng := testrand.New(t)
	for n := range networkKeys[uint32]() + 1 {
		for _, mask := range []uint64{3, 3<<62 | 3<<30, math.MaxUint64} {
			x := make([]uint64, n+1)
			for i := range x {
				x[i] = rng.Uint64() & mask
			}
			if n <= networkKeys[uint64]() {
				testSortNetwork(t, x)
			}
			testSortNetwork(t, converted[uint32](x))
		}
	}
}

// testSortNetwork sorts all keys but the last one.
func testSortNetwork[K key](t *testing.T, x []K) {
	t.Helper()
	n := len(x) - 1
	got, want := slices.Repeat([]K{^K(7)}, n+2), slices.Clone(x[:n])
	slices.Sort(want)
	if sortNetwork(got[1:n+1], x[:n]); !slices.Equal(got[1:n+1], want) || got[0] != ^K(7) || got[n+1] != ^K(7) {
		t.Fatalf("%d keys of %T: %v, want %v", n, x[0], got, want)
	}
}

// TestPartition compares the keys on both sides of a pivot with those that are below it and not.
func TestPartition(t *testing.T) {
	if !vectorAVX {
		t.Skip("NOT RUN: this processor has no AVX2, which the assembly under test needs")
	}
	rng := testrand.New(t)
	for n := 16; n < 300; n++ {
		x := make([]uint64, n)
		for i := range x {
			x[i] = rng.Uint64() >> rng.IntN(64)
		}
		testPartition(t, x)
		testPartition(t, converted[uint32](x))
	}
}

func testPartition[K key](t *testing.T, x []K) {
	t.Helper()
	for _, pivot := range []K{0, x[0], ^K(0)} {
		n := len(x)
		all, high := slices.Concat([]K{^K(7)}, x, []K{^K(7)}), slices.Repeat([]K{^K(7)}, n+2)
		low := all[1 : n+1]
		below := partition(low, high[1:n+1], pivot)
		got, want := append(slices.Clone(low[:below]), high[1+below:n+1]...), slices.Clone(x)
		for i, v := range got {
			if (v < pivot) != (i < below) {
				t.Fatalf("%d keys of %T: %d is on the wrong side of %d", n, v, v, pivot)
			}
		}
		slices.Sort(got)
		slices.Sort(want)
		if !slices.Equal(got, want) || all[0] != ^K(7) || all[n+1] != ^K(7) || high[0] != ^K(7) || high[n+1] != ^K(7) {
			t.Fatalf("%d keys of %T about %d: %v, want %v", n, pivot, pivot, got, want)
		}
	}
}

// TestFloatKeys compares the vector conversions of keys with those of single elements.
func TestFloatKeys(t *testing.T) {
	rng := testrand.New(t)
	x := make([]uint64, 4096)
	for i := range x {
		x[i] = rng.Uint64()
		if i%4 == 0 { // zeros, infinities, NaNs
			x[i] = x[i]&(1<<63|1<<31) | []uint64{0, 0x7ff<<52 | 0x7f800000, 0x7ff<<52 | 0x7f800001, 1<<63 - 1}[i/4%4]
		}
	}
	testFloatKeys(t, dtype.Float64, x)
	testFloatKeys(t, dtype.Float32, converted[uint32](x))
}

func testFloatKeys[K key](t *testing.T, dt dtype.DType, x []K) {
	t.Helper()
	o, _ := orderOf(dt)
	keys := slices.Clone(x)
	keysOf(o, keys, false)
	back := slices.Clone(keys)
	elementsOf(o, back)
	for i, v := range x {
		one := []K{v}
		keysOf(o, one, false)
		want := v
		if v&^K(o.sign) > K(o.infinity) {
			want = K(o.infinity | o.infinity>>1)
		}
		if elements := []K{keys[i]}; keys[i] != one[0] || back[i] != want {
			elementsOf(o, elements)
			t.Fatalf("%v %#x: key %#x, alone %#x; back %#x, alone %#x, want %#x", dt, v, keys[i], one[0], back[i], elements[0], want)
		}
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
