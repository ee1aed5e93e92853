package cpu

import (
	"cmp"
	"math"
	"math/rand/v2"
	"runtime"
	"slices"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// above orders numbers, NaN above all and -0 below 0.
func above(a, b float32) int {
	switch x, y := a != a, b != b; {
	case x && y:
		return 0
	case x:
		return 1
	case y:
		return -1
	case a == b:
		return cmp.Compare(-b2i(math.Signbit(float64(a))), -b2i(math.Signbit(float64(b))))
	}
	return cmp.Compare(a, b)
}

func b2i(b bool) int {
	if b {
		return 1
	}
	return 0
}

// TestSortLines compares with a comparison sort, at the lengths at which the algorithm
// changes and with several goroutines.
func TestSortLines(t *testing.T) {
	defer runtime.GOMAXPROCS(runtime.GOMAXPROCS(3))
	rng := testrand.New(t)
	for _, n := range []int{1, 2, shortSort - 1, shortSort, shortSort + 1, 4097, 2*minPart - 1, 2 * minPart, 2*minPart + 1, 5*minPart + 7} {
		for _, few := range []bool{false, true} {
			x := make([]float32, n)
			for i := range x {
				switch x[i] = float32(rng.NormFloat64()); {
				case few:
					x[i] = float32(rng.IntN(7) - 3)
				case rng.IntN(100) == 0:
					x[i] = math.Float32frombits(rng.Uint32() | 0x7f800000)
				case rng.IntN(100) == 0:
					x[i] = float32(math.Copysign(0, -1))
				}
			}
			want := slices.Clone(x)
			slices.SortFunc(want, above)
			for _, descending := range []bool{false, true} {
				got := make([]float32, n)
				for i := range got {
					got[i] = float32(math.NaN())
				}
				if err := Sort(dtype.Float32, []int{n}, 0, descending, unsafe.Pointer(&x[0]), []int{1}, unsafe.Pointer(&got[0]), []int{1}); err != nil {
					t.Fatal(err)
				}
				for i, w := range want {
					j := i
					if descending {
						j = n - 1 - i
					}
					if above(got[j], w) != 0 {
						t.Fatalf("%d elements, descending %v: element %d is %v, want %v", n, descending, j, got[j], w)
					}
				}
			}
		}
	}
}

// TestKeys turns every float16 and bfloat16 into a key and back.
func TestKeys(t *testing.T) {
	for _, dt := range []dtype.DType{dtype.Float16, dtype.BFloat16, dtype.Int8, dtype.Uint8, dtype.Int16, dtype.Uint16, dtype.Bool} {
		o, ok := orderOf(dt)
		if !ok {
			t.Fatal(dt)
		}
		for i := range 1 << 16 {
			x := []uint16{uint16(i)}
			keysOf(o, x, false)
			if o.infinity != 0 {
				elementsOf(o, x)
				want := uint16(i)
				if want&0x7fff > uint16(o.infinity) {
					want = uint16(o.infinity | o.infinity>>1)
				}
				if x[0] != want {
					t.Fatalf("%v: %#x comes back as %#x", dt, i, x[0])
				}
			}
		}
	}
	if _, ok := orderOf(dtype.Complex64); ok {
		t.Error("complex numbers have an order")
	}
}

// TestLargestOf compares with a sort of all.
func TestLargestOf(t *testing.T) {
	rng := testrand.New(t)
	for _, n := range []int{1, 4, 100, 1000} {
		line := make([]uint64, n)
		all := make([]indexedKey, n)
		for i := range line {
			line[i] = uint64(rng.IntN(n/2 + 1))
			all[i] = indexedKey{line[i], int64(i)}
		}
		slices.SortStableFunc(all, func(a, b indexedKey) int { return cmp.Compare(b.key, a.key) })
		for k := 1; k <= n; k += 1 + n/9 {
			for _, stretch := range []int{1, 7, n, keyStretch} {
				load := func(to []uint64, at int) { copy(to, line[at:]) }
				if got := largestOf(n, k, nil, make([]uint64, stretch), load); !slices.Equal(got, all[:k]) {
					t.Fatalf("the %d largest of %d, %d at a time", k, n, stretch)
				}
			}
		}
	}
}

// TestTopKMemory checks that the k largest of many elements take memory for few elements.
func TestTopKMemory(t *testing.T) {
	const n, k, room = 1 << 22, 8, 1 << 20
	x := make([]int8, n)
	for i := range x {
		x[i] = int8(i * 7919 >> 8)
	}
	var values [k]int8
	var places [k]int64
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	err := TopK(dtype.Int8, []int{n}, 0, k, unsafe.Pointer(&x[0]), []int{1}, unsafe.Pointer(&values), []int{1}, unsafe.Pointer(&places), []int{1})
	runtime.ReadMemStats(&after)
	if took := after.TotalAlloc - before.TotalAlloc; err != nil || took > room {
		t.Errorf("%d bytes were taken for %d of %d, more than %d; error %v", took, k, n, room, err)
	}
	if values[0] != 127 || values[k-1] != 127 || x[places[0]] != 127 {
		t.Errorf("values %d at %d", values, places)
	}
}

// TestTopKOne checks the largest element of each line, with values and places in any order of the axes.
func TestTopKOne(t *testing.T) {
	rng := testrand.New(t)
	for range 200 {
		shape := []int{1 + rng.IntN(3), 1 + rng.IntN(4), 1 + rng.IntN(5)}
		axis := rng.IntN(3)
		x := make([]float32, shape[0]*shape[1]*shape[2])
		for i := range x {
			x[i] = float32(rng.IntN(9))
		}
		xs := []int{shape[1] * shape[2], shape[2], 1}
		out, strides, n := slices.Clone(shape), make([]int, 3), 1
		out[axis] = 1
		for _, d := range rng.Perm(3) {
			strides[d], n = n, n*out[d]
		}
		values, places := make([]float32, n), make([]int64, n)
		if err := TopK(dtype.Float32, shape, axis, 1, at0(x), xs, at0(values), strides, at0(places), strides); err != nil {
			t.Fatal(err)
		}
		for i, v := range x {
			ix := []int{i / xs[0], i / xs[1] % shape[1], i % shape[2]}
			k := ix[axis]
			ix[axis] = 0
			to := ix[0]*strides[0] + ix[1]*strides[1] + ix[2]*strides[2]
			if best, place := values[to], int(places[to]); v > best || k == place && v != best || v == best && k < place {
				t.Fatalf("%v, axis %d: %v at %d, but number %d of the line is %v", shape, axis, best, place, k, v)
			}
		}
	}
}

// TestCheckIndices checks the least and the greatest index that are out of range.
func TestCheckIndices(t *testing.T) {
	x := make([]int64, 3*minPart)
	x[5], x[minPart+1], x[2*minPart+9], x[7] = -11, 10, math.MaxInt64, -10
	for _, c := range []struct {
		n    int
		want [2]int64
	}{{6, [2]int64{-11, 0}}, {5, [2]int64{}}, {3 * minPart, [2]int64{-11, math.MaxInt64}}} {
		if got := CheckIndices(dtype.Int64, []int{c.n}, 10, unsafe.Pointer(&x[0]), []int{1}); got != c.want {
			t.Errorf("of %d: %v, want %v", c.n, got, c.want)
		}
	}
}

func BenchmarkSort(b *testing.B) {
	rng := rand.New(rand.NewPCG(1, 2))
	for _, n := range []int{1 << 10, 10_000_000} {
		b.Run(map[int]string{1 << 10: "lines", 10_000_000: "one"}[n], func(b *testing.B) {
			x, y := make([]float32, 10_000_000/n*n), make([]float32, 10_000_000/n*n)
			for i := range x {
				x[i] = rng.Float32()
			}
			b.SetBytes(int64(4 * len(x)))
			for b.Loop() {
				if err := Sort(dtype.Float32, []int{len(x) / n, n}, 1, false, unsafe.Pointer(&x[0]), []int{n, 1}, unsafe.Pointer(&y[0]), []int{n, 1}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
