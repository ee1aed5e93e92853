package linalg

import (
	"fmt"
	"testing"

	"github.com/gpk-go/gpk"
)

// checkZeros checks that vectors begin at a multiple of 16 bytes, whatever was allocated before.
func checkZeros[T number](t *testing.T) {
	var held [][]byte
	for n := range 40 {
		held = append(held, make([]byte, 24), make([]byte, 8))
		x := zeros[T](n)
		if at := uintptr(pointer(x)) % 16; len(x) != n || cap(x) != n || n > 0 && at != 0 {
			t.Errorf("%T: %d of %d elements, %d bytes behind a multiple of 16", x, len(x), cap(x), at)
		}
		for _, v := range x {
			if v != 0 {
				t.Errorf("%T: %v", x, x)
			}
		}
	}
	if len(held) != 80 {
		t.Error("nothing was allocated between")
	}
}

func TestZeros(t *testing.T) {
	checkZeros[float32](t)
	checkZeros[float64](t)
	checkZeros[complex64](t)
	checkZeros[complex128](t)
}

// TestSameBits: results do not depend on where the allocator places small vectors.
func TestSameBits(t *testing.T) {
	r := random(t)
	var held [][]byte
	for _, dt := range types {
		for _, n := range []int{3, 4, 5, 6, 7, 17} {
			a := rounded(dt, nil, positive(r, dt, "random", n))
			want := ""
			for i := range 40 {
				held = append(held, make([]byte, 24))
				values, vectors := Eigh(a)
				u, s, vh := SVD(a)
				q, right := QR(a)
				got := ""
				for _, x := range []*gpk.Array{values, vectors, u, s, vh, q, right} {
					got += fmt.Sprintf("%x", widen(t, x.Reshape(1, -1))[0].data)
				}
				if i == 0 {
					want = got
				} else if got != want {
					t.Errorf("%v, order %d: run %d has other bits", dt, n, i)
					break
				}
			}
		}
	}
	if len(held) == 0 {
		t.Error("nothing was allocated")
	}
}
