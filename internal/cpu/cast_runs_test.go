package cpu

import (
	"bytes"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// TestCopyRuns compares copies whose elements are in short runs, with the other axes in any order,
// with a loop over indices. Bytes between the elements of the destination must not change.
func TestCopyRuns(t *testing.T) {
	seed := rand.Uint64()
	rng := rand.New(rand.NewPCG(seed, 0))
	types := []dtype.DType{dtype.Uint8, dtype.Float16, dtype.Float32, dtype.Float64, dtype.Complex128}
	for round := range 400 {
		dt := types[round%len(types)]
		size := dt.Size()
		longest, others := 4*loopedRun, 12
		if round%8 == 0 {
			longest, others = 2*longestRun/size, 4
		}
		shape := make([]int, 1+rng.IntN(5))
		for d := range shape {
			shape[d] = 1 + rng.IntN(others)
		}
		shape[len(shape)-1] = 1 + rng.IntN(longest)
		switch {
		case round%100 == 4: // Complex128, large enough for non-temporal stores
			shape = []int{40, 300, 100 + rng.IntN(100)}
		case round%20 == 0:
			shape = []int{3, 5000, 1 + rng.IntN(4*loopedRun)} // large enough for several goroutines
		}
		source, n := scattered(rng, shape, rng.IntN(2) == 0)
		base := 0
		for d := range len(shape) - 1 {
			if rng.IntN(4) == 0 { // a view in reverse
				base += (shape[d] - 1) * source[d]
				source[d] = -source[d]
			}
		}
		target, m := scattered(rng, shape, false)
		x, got := make([]byte, n*size), make([]byte, m*size)
		for i := range x {
			x[i] = byte(rng.Uint32())
		}
		for i := range got {
			got[i] = 0xa5
		}
		want := bytes.Clone(got)
		var from []int
		(&tensor{shape: shape, strides: source}).each(func(_, at int) { from = append(from, base+at) })
		(&tensor{shape: shape, strides: target}).each(func(i, to int) { copy(want[to*size:(to+1)*size], x[from[i]*size:]) })
		if err := Cast(dt, dt, shape, unsafe.Pointer(&x[base*size]), source, unsafe.Pointer(&got[0]), target); err != nil {
			t.Fatal(err)
		}
		if !bytes.Equal(got, want) {
			t.Fatalf("seed %#x, round %d: %v of shape %v, strides %v to %v: a wrong copy", seed, round, dt, shape, source, target)
		}
	}
}

// scattered returns strides of a shape whose last axis is dense, and the number of elements that
// they span. Axes may be permuted and have gaps, and with overlap they share elements.
func scattered(rng *rand.Rand, shape []int, overlap bool) (strides []int, n int) {
	strides = make([]int, len(shape))
	last := len(shape) - 1
	strides[last] = 1
	pitch := shape[last] + rng.IntN(3)
	for _, d := range rng.Perm(last) {
		strides[d] = pitch
		pitch *= shape[d]
		if overlap {
			strides[d] = rng.IntN(5)
		}
	}
	n = 1
	for d, s := range strides {
		n += (shape[d] - 1) * s
	}
	return strides, n
}
