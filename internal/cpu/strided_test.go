package cpu

import (
	"fmt"
	"math"
	"math/big"
	"math/rand/v2"
	"runtime"
	"testing"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/x448/float16"
)

// tensor is a strided array inside a poisoned buffer, for tests.
type tensor struct {
	t       dtype.DType
	shape   []int
	strides []int
	off     int // elements before element (0, 0, …)
	buf     []complex128
}

const poison = 0xA5

// newTensor makes a tensor whose element (0, …) lies off elements into a
// buffer of n elements, all bytes poisoned.
func newTensor(t dtype.DType, shape, strides []int, off, n int) *tensor {
	x := &tensor{t, shape, strides, off, make([]complex128, n*t.Size()/16+1)}
	b := x.bytes()
	for i := range b {
		b[i] = poison
	}
	return x
}

func (x *tensor) bytes() []byte {
	return unsafe.Slice((*byte)(unsafe.Pointer(unsafe.SliceData(x.buf))), len(x.buf)*16)
}

func (x *tensor) at(k int) unsafe.Pointer {
	return unsafe.Add(unsafe.Pointer(unsafe.SliceData(x.buf)), (x.off+k)*x.t.Size())
}

func (x *tensor) p() unsafe.Pointer { return x.at(0) }

func (x *tensor) clone() *tensor {
	c := *x
	c.buf = append([]complex128(nil), x.buf...)
	return &c
}

// each calls f with the offset of every element, in row-major order.
func (x *tensor) each(f func(i, k int)) {
	n := 1
	for _, d := range x.shape {
		n *= d
	}
	for i := range n {
		k, rest := 0, i
		for d := len(x.shape) - 1; d >= 0; d-- {
			k += rest % x.shape[d] * x.strides[d]
			rest /= x.shape[d]
		}
		f(i, k)
	}
}

// values returns the elements in row-major order.
func (x *tensor) values() []any {
	var v []any
	x.each(func(_, k int) { v = append(v, load(x.t, x.at(k))) })
	return v
}

// untouched reports the first byte outside the elements that is not poison.
func (x *tensor) untouched() error {
	mine := make([]bool, len(x.buf)*16)
	size := x.t.Size()
	x.each(func(_, k int) {
		for j := range size {
			mine[(x.off+k)*size+j] = true
		}
	})
	for i, b := range x.bytes() {
		if !mine[i] && b != poison {
			return fmt.Errorf("byte %d of the buffer was written", i)
		}
	}
	return nil
}

// load reads one element: float64 for real floats, int64 for integers, but uint64 for
// Uint64, bool, or complex128.
func load(t dtype.DType, p unsafe.Pointer) any {
	switch t {
	case dtype.Float32:
		return float64(*(*float32)(p))
	case dtype.Float64:
		return *(*float64)(p)
	case dtype.Float16:
		return float64((*(*float16.Float16)(p)).Float32())
	case dtype.BFloat16:
		return float64((*(*bfloat16.BFloat16)(p)).Float32())
	case dtype.Int8:
		return int64(*(*int8)(p))
	case dtype.Uint8:
		return int64(*(*uint8)(p))
	case dtype.Int16:
		return int64(*(*int16)(p))
	case dtype.Uint16:
		return int64(*(*uint16)(p))
	case dtype.Int32:
		return int64(*(*int32)(p))
	case dtype.Uint32:
		return int64(*(*uint32)(p))
	case dtype.Uint64:
		return *(*uint64)(p)
	case dtype.Int64:
		return *(*int64)(p)
	case dtype.Bool:
		return *(*uint8)(p) != 0
	case dtype.Complex64:
		return complex128(*(*complex64)(p))
	}
	return *(*complex128)(p)
}

// randomElement returns a random element of type t as load gives it: mostly ordinary,
// some of them special.
func randomElement(rng *rand.Rand, t dtype.DType) any {
	var specials []float64
	switch t.Real() {
	case dtype.Float64:
		specials = []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), math.MaxFloat64, 5e-324, -3e-310, 1e300, 0x1p63, -0x1p63}
	case dtype.Float16:
		specials = []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 65504, -65504, 0x1p-24, -0x1.4p-20}
	default:
		specials = []float64{0, math.Copysign(0, -1), 1, -1, math.Inf(1), math.Inf(-1), math.NaN(), 0x1p127, -0x1p-126, 0x1p-133, 1e30, 0x1p63, -0x1p63, 127, 255}
	}
	one := func() float64 {
		if rng.IntN(8) == 0 {
			return specials[rng.IntN(len(specials))]
		}
		return rng.NormFloat64() * math.Exp2(float64(rng.IntN(16)-8))
	}
	switch {
	case t == dtype.Bool:
		return rng.IntN(2) == 0
	case t.IsInteger():
		v := int64(rng.Uint64()) >> rng.IntN(64)
		if rng.IntN(8) == 0 {
			v = []int64{0, 1, -1, math.MinInt64, math.MaxInt64, math.MinInt32, math.MaxInt32, 1<<24 + 1, 1<<40 + 1<<32}[rng.IntN(9)]
		}
		if t.IsUnsigned() && v < 0 && rng.IntN(4) != 0 {
			return wrapTo(t, big.NewInt(v))
		}
		return convertValue(v, t)
	case t.IsComplex():
		return convertValue(complex(one(), one()), t)
	}
	return convertValue(one(), t)
}

// put stores a value of load or of an operation, which must be of t's domain.
func put(t dtype.DType, p unsafe.Pointer, v any) {
	switch t {
	case dtype.Float32:
		*(*float32)(p) = float32(v.(float64))
	case dtype.Float64:
		*(*float64)(p) = v.(float64)
	case dtype.Float16:
		*(*float16.Float16)(p) = float16.Fromfloat32(float32(v.(float64)))
	case dtype.BFloat16:
		*(*bfloat16.BFloat16)(p) = bfloat16.FromFloat32(float32(v.(float64)))
	case dtype.Int8:
		*(*int8)(p) = int8(v.(int64))
	case dtype.Uint8:
		*(*uint8)(p) = uint8(v.(int64))
	case dtype.Int16:
		*(*int16)(p) = int16(v.(int64))
	case dtype.Uint16:
		*(*uint16)(p) = uint16(v.(int64))
	case dtype.Int32:
		*(*int32)(p) = int32(v.(int64))
	case dtype.Uint32:
		*(*uint32)(p) = uint32(v.(int64))
	case dtype.Uint64:
		*(*uint64)(p) = v.(uint64)
	case dtype.Int64:
		*(*int64)(p) = v.(int64)
	case dtype.Bool:
		*(*bool)(p) = v.(bool)
	case dtype.Complex64:
		*(*complex64)(p) = complex64(v.(complex128))
	default:
		*(*complex128)(p) = v.(complex128)
	}
}

// same compares two elements; NaNs are equal, zeros of different sign are not.
func same(a, b any) bool {
	eq := func(x, y float64) bool {
		return x == y && math.Signbit(x) == math.Signbit(y) || x != x && y != y
	}
	switch a := a.(type) {
	case float64:
		b, ok := b.(float64)
		return ok && eq(a, b)
	case complex128:
		b, ok := b.(complex128)
		return ok && eq(real(a), real(b)) && eq(imag(a), imag(b))
	}
	return a == b
}

// arrangements are the layouts that tests use for a shape; readOnly ones repeat elements.
var arrangements = []struct {
	name     string
	readOnly bool
	make     func(t dtype.DType, shape []int) *tensor
}{
	{"dense", false, dense},
	{"reversed axes", false, func(t dtype.DType, shape []int) *tensor {
		strides, n := make([]int, len(shape)), 1
		for d := range shape {
			strides[d] = n
			n *= shape[d]
		}
		return newTensor(t, shape, strides, 0, n)
	}},
	{"swapped last two", false, func(t dtype.DType, shape []int) *tensor {
		x := dense(t, shape)
		if n := len(shape); n >= 2 {
			turned := append([]int(nil), shape...)
			turned[n-1], turned[n-2] = shape[n-2], shape[n-1]
			s := dense(t, turned).strides
			s[n-1], s[n-2] = s[n-2], s[n-1]
			x.strides = s
		}
		return x
	}},
	{"padded rows", false, func(t dtype.DType, shape []int) *tensor {
		padded := append([]int(nil), shape...)
		if len(shape) > 0 {
			padded[len(shape)-1] += 3
		}
		d := dense(t, padded)
		return newTensor(t, shape, d.strides, 1, size(padded)+1)
	}},
	{"every second, backwards", false, func(t dtype.DType, shape []int) *tensor {
		d := dense(t, shape)
		off := 0
		for i := range d.strides {
			d.strides[i] *= -2
			off -= max(shape[i]-1, 0) * d.strides[i]
		}
		if size(shape) == 0 {
			off = 0
		}
		return newTensor(t, shape, d.strides, off, 2*size(shape)+1)
	}},
	{"one row", true, func(t dtype.DType, shape []int) *tensor {
		x := dense(t, shape)
		for i := range len(shape) - 1 {
			x.strides[i] = 0
		}
		return x
	}},
	{"one column", true, func(t dtype.DType, shape []int) *tensor {
		x := dense(t, shape)
		if len(shape) > 0 {
			x.strides[len(shape)-1] = 0
		}
		return x
	}},
	{"scalar", true, func(t dtype.DType, shape []int) *tensor {
		return newTensor(t, shape, make([]int, len(shape)), 0, 1)
	}},
}

func size(shape []int) int {
	n := 1
	for _, d := range shape {
		n *= d
	}
	return n
}

func dense(t dtype.DType, shape []int) *tensor {
	strides, n := make([]int, len(shape)), 1
	for d := len(shape) - 1; d >= 0; d-- {
		strides[d] = n
		n *= shape[d]
	}
	return newTensor(t, shape, strides, 0, n)
}

func (x *tensor) randomize(rng *rand.Rand) *tensor {
	x.each(func(_, k int) { put(x.t, x.at(k), randomElement(rng, x.t)) })
	return x
}

func TestParallelCoversOnce(t *testing.T) {
	before := quietGoroutines(t)
	for _, procs := range []int{1, 2, 7} {
		old := runtime.GOMAXPROCS(procs)
		for _, n := range []int{0, 1, 2, 63, 64, 65, 1000, 4097} {
			for _, grain := range []int{-1, 0, 1, 3, 64, 5000} {
				seen := make([]int32, n)
				Parallel(n, grain, func(lo, hi int) {
					if g := max(grain, 1); lo%g != 0 || lo >= hi || hi != n && hi-lo < g {
						t.Errorf("n %d, grain %d: part [%d, %d)", n, grain, lo, hi)
					}
					for i := lo; i < hi; i++ {
						seen[i]++ // parts are disjoint, or -race says so
					}
				})
				for i, c := range seen {
					if c != 1 {
						t.Fatalf("n %d, grain %d: %d visited %d times", n, grain, i, c)
					}
				}
			}
		}
		runtime.GOMAXPROCS(old)
	}
	waitForGoroutines(t, before) // a worker spins for a moment after its last job
}
