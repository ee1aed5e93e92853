package cpu

import (
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"github.com/gpk-go/gpk/internal/testrand"
)

// TestDivisionByNumber compares FloorDivide and Remainder by a number with Go's division.
func TestDivisionByNumber(t *testing.T) {
	rng := testrand.New(t)
	bits := func() uint64 { return rng.Uint64() >> rng.IntN(64) }
	divideByNumbers[int8](t, bits)
	divideByNumbers[int16](t, bits)
	divideByNumbers[int32](t, bits)
	divideByNumbers[int64](t, bits)
	divideByNumbers[uint8](t, bits)
	divideByNumbers[uint16](t, bits)
	divideByNumbers[uint32](t, bits)
	divideByNumbers[uint64](t, bits)
}

func divideByNumbers[T integer](t *testing.T, bits func() uint64) {
	t.Helper()
	dt := dtype.Of[T]()
	lo, hi := bounds[T]()
	x := []T{0, 1, 2, lo, lo + 1, hi, hi - 1}
	for i := range 100 {
		v := T(bits())
		x = append(x, v, -v, T(1)<<(i%(8*int(unsafe.Sizeof(v)))))
	}
	by := append([]T{3, 7, 10}, x...)
	got := make([]T, len(x))
	for _, op := range []expr.Op{expr.FloorDivide, expr.Remainder} {
		k, want := binaryKernel(op, dt), floorDivideInt[T]
		if op == expr.Remainder {
			want = remainderInt[T]
		}
		for _, d := range by {
			for i := range got {
				got[i] = 77
			}
			k.vs(at0(got), at0(x), unsafe.Pointer(&d), len(x))
			for i, v := range x {
				if got[i] != want(v, d) {
					t.Fatalf("%v of %v, %v and %v: %v, want %v", op, dt, v, d, got[i], want(v, d))
				}
			}
		}
	}
}
