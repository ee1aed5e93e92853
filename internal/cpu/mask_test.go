package cpu

import (
	"bytes"
	"slices"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/internal/testrand"
)

// TestMask compares the kernels of masks with loops.
func TestMask(t *testing.T) {
	rng := testrand.New(t)
	for range 300 {
		shape := make([]int, 1+rng.IntN(4))
		n := 1
		for d := range shape {
			shape[d] = 1 + rng.IntN(12)
			n *= shape[d]
		}
		mask, rare := make([]byte, 2*n), 1+rng.IntN(4)
		want := make([][]int64, len(shape))
		var places []int
		mstep := 1 + rng.IntN(2)
		for i := range n {
			if rng.IntN(rare) != 0 {
				continue
			}
			mask[i*mstep] = 1 + byte(rng.IntN(2))
			places = append(places, i)
			for d, rest := len(shape)-1, i; d >= 0; d-- {
				want[d] = append(want[d], int64(rest%shape[d]))
				rest /= shape[d]
			}
		}
		count := len(places)
		if mstep == 1 {
			got := make([][]int64, len(shape))
			for d := range got {
				got[d] = make([]int64, count)
			}
			Coordinates(shape, at0(mask), got)
			for d := range got {
				if !slices.Equal(got[d], want[d]) {
					t.Fatalf("%v, mask %v, axis %d: %v, not %v", shape, mask[:n], d, got[d], want[d])
				}
			}
		}
		dstep := 1 + rng.IntN(2)
		trues := make([]int64, max(1, (count-1)*dstep+1))
		if count > 0 {
			Trues(n, at0(mask), mstep, trues, dstep)
		}
		size := 1 << rng.IntN(5)
		x, got := make([]byte, n*size), make([]byte, (count+1)*dstep*size)
		for i := range x {
			x[i] = byte(rng.Uint32())
		}
		Select(size, n, at0(mask), mstep, at0(x), at0(got), count, dstep*size)
		for k, i := range places {
			if trues[k*dstep] != int64(i) {
				t.Fatalf("mask %v: place %d is %d, not %d", mask, k, trues[k*dstep], i)
			}
			if from, to := i*size, k*dstep*size; !bytes.Equal(got[to:to+size], x[from:from+size]) {
				t.Fatalf("mask %v, size %d: element %d is wrong", mask, size, k)
			}
		}
		if !bytes.Equal(got[count*dstep*size:], make([]byte, dstep*size)) {
			t.Fatalf("mask %v, size %d: written behind the end", mask, size)
		}
	}
}

// TestOneHot compares rows with a loop. Indices outside a row give zeros.
func TestOneHot(t *testing.T) {
	rng := testrand.New(t)
	for _, n := range []int{1, 5, 1000} {
		for _, rows := range []int{0, 1, 3, 300} {
			indices := make([]int64, rows)
			size := 1 << rng.IntN(5)
			one, got := make([]byte, size), bytes.Repeat([]byte{0xa5}, rows*n*size+1)
			for i := range one {
				one[i] = byte(1 + i)
			}
			want := make([]byte, rows*n*size, rows*n*size+1)
			for i := range indices {
				indices[i] = int64(rng.IntN(n+4) - 2)
				if rng.IntN(10) == 0 {
					indices[i] = int64(rng.Uint64())
				}
				if at := indices[i]; at >= 0 && at < int64(n) {
					copy(want[(i*n+int(at))*size:], one)
				}
			}
			OneHot(size, n, indices, unsafe.Pointer(&one[0]), at0(got))
			if !bytes.Equal(got, append(want, 0xa5)) {
				t.Fatalf("%d rows of %d elements of %d bytes: wrong for the indices %v", rows, n, size, indices)
			}
		}
	}
}
