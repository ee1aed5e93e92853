//go:build !noasm

package cpu

import (
	"bytes"
	"math"
	"math/rand/v2"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestVectorTwins compares the assembly with the Go loops that it equals, bit for
// bit, at every alignment and length.
func TestVectorTwins(t *testing.T) {
	if !vectorAVX {
		t.Skip("needs AVX2")
	}
	rng := testrand.New(t)
	for op := expr.Add; op <= expr.Minimum; op++ {
		twins(t, rng, op, vectorBinary32(op), floatBinary[float32](op, binary{}), func(v float32) uint64 { return uint64(math.Float32bits(v)) })
		twins(t, rng, op, vectorBinary64(op), floatBinary[float64](op, binary{}), math.Float64bits)
	}
}

func twins[T float32 | float64](t *testing.T, rng *rand.Rand, op expr.Op, fast, slow binary, bits func(T) uint64) {
	if fast.vv == nil {
		return
	}
	values := func(n int) []T {
		v := make([]T, n)
		for i := range v {
			v[i] = T(rng.NormFloat64())
			if rng.IntN(5) == 0 {
				v[i] = T(specials32[rng.IntN(len(specials32))])
			}
		}
		return v
	}
	for n := range 150 {
		for form := range 3 {
			x, y := values(n+4), values(n+4)
			got, want := values(n+4), make([]T, n+4)
			copy(want, got)
			f, g := []func(dst, x, y unsafe.Pointer, n int){fast.vv, fast.vs, fast.sv}[form], []func(dst, x, y unsafe.Pointer, n int){slow.vv, slow.vs, slow.sv}[form]
			off := n % 3
			f(at0(got[off:]), at0(x[1:]), at0(y[off:]), n)
			g(at0(want[off:]), at0(x[1:]), at0(y[off:]), n)
			for i := range got {
				if bits(got[i]) != bits(want[i]) && (got[i] == got[i] || want[i] == want[i]) {
					t.Fatalf("%v of %d %T, form %d, element %d: %v, not %v", op, n, got[i], form, i, got[i], want[i])
				}
			}
		}
	}
}

// TestSumTwins compares the sums of whole chunks and of rows with foldRows and fold.
func TestSumTwins(t *testing.T) {
	if !vectorAVX {
		t.Skip("needs AVX2")
	}
	rng := testrand.New(t)
	chunks32, chunks64 := []func(*float32) float32{chunkSum32}, []func(*float64) float64{chunkSum64}
	if vectorAVX512 {
		chunks32, chunks64 = append(chunks32, chunkSum512x32), append(chunks64, chunkSum512x64)
	}
	sumTwins(t, rng, 128, chunks32, rowSums32)
	sumTwins(t, rng, 64, chunks64, rowSums64)
}

func sumTwins[A float32 | float64](t *testing.T, rng *rand.Rand, lanes int, chunks []func(*A) A, rows func(dst, x unsafe.Pointer, pitch, n int)) {
	for range 100 {
		x := make([]A, chunkRows*lanes+1)[1:]
		for i := range x {
			x[i] = A(rng.NormFloat64() * math.Exp2(float64(rng.IntN(20))))
		}
		buf, got := make([]A, lanes), make([]A, lanes)
		foldRows(buf, x)
		rows(at0(got), at0(x), lanes*int(unsafe.Sizeof(x[0])), lanes)
		for i := range got {
			if got[i] != buf[i] {
				t.Fatalf("%T: the sum of rows in lane %d is %v, not %v", x[0], i, got[i], buf[i])
			}
		}
		fold(buf, 1)
		for k, f := range chunks {
			if s := f(&x[0]); s != buf[0] {
				t.Fatalf("%T: chunk sum %d is %v, not %v", x[0], k, s, buf[0])
			}
		}
	}
}

// TestStreamEnds copies to the last byte of slices that do not fill their pages. With -race, Go
// reports a pointer to the bytes after the slice.
func TestStreamEnds(t *testing.T) {
	for _, n := range []int{5<<13 + 64, 5<<13 + 96} {
		src, dst := bytes.Repeat([]byte{7}, n), make([]byte, n)
		stream(at0(dst), at0(src), n)
		fenceStores()
		if !bytes.Equal(dst, src) {
			t.Errorf("%d bytes: not the same", n)
		}
	}
}

// TestStream copies with non-temporal stores, at every alignment.
func TestStream(t *testing.T) {
	rng := testrand.New(t)
	for off := range 70 {
		n := rng.IntN(500)
		src, dst := make([]byte, n+100), make([]byte, n+100)
		for i := range src {
			src[i] = byte(rng.Uint32())
		}
		stream(at0(dst[off:]), at0(src[1:]), n)
		fenceStores()
		for i, v := range dst {
			want := byte(0)
			if i >= off && i < off+n {
				want = src[1+i-off]
			}
			if v != want {
				t.Fatalf("offset %d, %d bytes: byte %d is %d, not %d", off, n, i, v, want)
			}
		}
	}
}
