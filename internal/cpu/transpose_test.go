package cpu

import (
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestTransposeTile compares tiles of every size of element with the loop that defines
// them, and looks for writes outside.
func TestTransposeTile(t *testing.T) {
	rng := testrand.New(t)
	random := func(b []byte) []byte {
		for i := range b {
			b[i] = byte(rng.Uint32())
		}
		return b
	}
	for _, size := range []int{1, 2, 4, 8, 16} {
		height := lineBytes / size
		for range 300 {
			rows, cols := 1+rng.IntN(height), 1+rng.IntN(tileWidth)
			if rng.IntN(2) == 0 {
				rows = height
			}
			pitch := (rows + rng.IntN(5)) * size
			src := random(make([]byte, (cols-1)*pitch+rows*size))
			dst := make([]complex128, tileWidth*lineBytes/16+8) // aligned for every size
			raw := random(unsafe.Slice((*byte)(unsafe.Pointer(&dst[0])), 16*len(dst)))
			want := append([]byte{}, raw...)
			for c := range cols {
				for r := range rows {
					copy(want[64+(r*tileWidth+c)*size:][:size], src[c*pitch+r*size:])
				}
			}
			transposeTile(unsafe.Pointer(&raw[64]), unsafe.Pointer(&src[0]), pitch, size, rows, cols)
			for i := range raw {
				if raw[i] != want[i] {
					t.Fatalf("elements of %d bytes, %d rows, %d columns, a pitch of %d: byte %d of the tile is %d, not %d", size, rows, cols, pitch, i-64, raw[i], want[i])
				}
			}
		}
	}
}

// TestLargeTranspose copies transposed operands that are large enough for non-temporal stores,
// in several goroutines.
func TestLargeTranspose(t *testing.T) {
	rng := testrand.New(t)
	for _, dt := range []dtype.DType{dtype.BFloat16, dtype.Float32, dtype.Complex64, dtype.Complex128} {
		rows := 2000 + rng.IntN(100)
		cols := 1 + (streamedBytes+1<<20)/dt.Size()/rows
		x, y := dense(dt, []int{cols, rows}), dense(dt, []int{rows, cols})
		for i := range x.buf {
			x.buf[i] = complex(rng.Float64(), rng.Float64())
		}
		if err := Cast(dt, dt, y.shape, x.p(), []int{1, rows}, y.p(), y.strides); err != nil {
			t.Fatal(err)
		}
		n := dt.Size()
		for r := range rows {
			for c := rng.IntN(13); c < cols; c += 13 {
				got, want := unsafe.Slice((*byte)(y.at(r*cols+c)), n), unsafe.Slice((*byte)(x.at(c*rows+r)), n)
				if string(got) != string(want) {
					t.Fatalf("%v, %d x %d: element %d, %d is % x, not % x", dt, rows, cols, r, c, got, want)
				}
			}
		}
		if err := y.untouched(); err != nil {
			t.Errorf("%v: %v", dt, err)
		}
	}
}

// streamedBytes is the size from which results are written with non-temporal stores, on
// machines that use them.
const streamedBytes = 16 << 20
