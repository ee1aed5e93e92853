package cpu

import (
	"math"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// halves32 are all float32 values that lie exactly on a half, on a tie between
// two, or beside either: of each of the 65,536 bit patterns as the upper half, the
// lower bits that make these for float16, whose ties have the bits 0x1000, and
// for bfloat16, with 0x8000; subnormals of float16 have ties in higher bits, which
// the upper half and 0, 1, 0xffff make.
func halves32() []float32 {
	lows := []uint32{0, 1, 0x0fff, 0x1000, 0x1001, 0x1fff, 0x2fff, 0x3000, 0x3001, 0x7fff, 0x8000, 0x8001, 0xcfff, 0xd000, 0xd001, 0xffff}
	x := make([]float32, 0, len(lows)<<16)
	for h := range uint32(1 << 16) {
		for _, low := range lows {
			x = append(x, math.Float32frombits(h<<16|low))
		}
	}
	return x
}

// nearestHalf rounds a finite v to the nearest half, to even at ties, by definition: p
// digits, exponents from least on, and infinity from the middle between the largest number
// and the one that would follow.
func nearestHalf(v float64, dt dtype.DType) float64 {
	digits, least, limit := 11, -24, 65520.0
	if dt == dtype.BFloat16 {
		digits, least, limit = 8, -133, 0x1.ffp127
	}
	if math.Abs(v) >= limit {
		return math.Inf(int(math.Copysign(1, v)))
	}
	_, e := math.Frexp(v)
	unit := math.Ldexp(1, max(e-digits, least))
	return math.Copysign(math.RoundToEven(v/unit)*unit, v)
}

// TestFloatsToHalf casts float32 to both halves: on every half, every tie and
// their neighbours, overflow, subnormals, infinities and NaN; with -exhaustive
// all 2^32 values.
func TestFloatsToHalf(t *testing.T) {
	check := func(x []float32) {
		for _, dt := range []dtype.DType{dtype.Float16, dtype.BFloat16} {
			y := dense(dt, []int{len(x)})
			one := []int{1}
			if err := Cast(dtype.Float32, dt, y.shape, unsafe.Pointer(&x[0]), one, y.p(), one); err != nil {
				t.Fatal(err)
			}
			for i, v := range x {
				got := load(dt, y.at(i)).(float64)
				if v != v {
					if got == got {
						t.Fatalf("NaN (%08x) to %v: %v", math.Float32bits(v), dt, got)
					}
					continue
				}
				if want := nearestHalf(float64(v), dt); got != want || math.Signbit(got) != math.Signbit(want) {
					t.Fatalf("%g (%08x) to %v: %g, not %g", v, math.Float32bits(v), dt, got, want)
				}
			}
		}
	}
	check(halves32())
	if !*exhaustive {
		return
	}
	x := make([]float32, 1<<20)
	for high := range uint32(1 << 12) {
		for low := range uint32(1 << 20) {
			x[low] = math.Float32frombits(high<<20 | low)
		}
		check(x)
	}
}

// TestHalfCasts casts all 65,536 values of both halves to every type.
func TestHalfCasts(t *testing.T) {
	const n = 1 << 16
	one := []int{1}
	for _, from := range []dtype.DType{dtype.Float16, dtype.BFloat16} {
		x := dense(from, []int{n})
		for i := range n {
			*(*uint16)(x.at(i)) = uint16(i)
		}
		for _, to := range dtype.All {
			y := dense(to, []int{n})
			if err := Cast(from, to, y.shape, x.p(), one, y.p(), one); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				v := load(from, x.at(i))
				if got, want := load(to, y.at(i)), convertValue(v, to); !same(got, want) {
					t.Fatalf("%v %v (%04x) to %v: %v, not %v", from, v, i, to, got, want)
				}
			}
		}
	}
}

// TestHalfParts tests the operations that copy elements, on all values of the halves.
func TestHalfParts(t *testing.T) {
	const n = 1 << 16
	one := []int{1}
	for _, dt := range []dtype.DType{dtype.Float16, dtype.BFloat16} {
		x, y := dense(dt, []int{n}), dense(dt, []int{n})
		for i := range n {
			*(*uint16)(x.at(i)) = uint16(i)
		}
		for _, op := range []expr.Op{expr.Conj, expr.Real, expr.Imag} {
			if err := Unary(op, dt, dt, y.shape, x.p(), one, y.p(), one); err != nil {
				t.Fatal(err)
			}
			for i := range n {
				want := uint16(i)
				if op == expr.Imag {
					want = 0
				}
				if got := *(*uint16)(y.at(i)); got != want {
					t.Fatalf("%v of %v %04x: %04x", op, dt, i, got)
				}
			}
		}
	}
}

// TestHalfUnaryComplete checks that every operation with a kernel for halves is in the tests
// over all of their values.
func TestHalfUnaryComplete(t *testing.T) {
	for op := expr.Neg; op <= expr.AbsSquare; op++ {
		f, _ := kernels.unary(op, dtype.Float32)
		if f != nil && unaryReference(op) == nil {
			t.Errorf("%v has a kernel and no reference", op)
		}
	}
}
