//go:build !noasm

package cpu

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
	"golang.org/x/sys/cpu"
)

// vectorAVX and vectorAVX512 report whether the processor supports the functions here.
var (
	vectorAVX    = cpu.X86.HasAVX2
	vectorAVX512 = cpu.X86.HasAVX512F
)

// for i := range n { dst[i] = x[i] + y[i] }, and so on. In the functions with vs, y is one number, and in those
// with sv, x is.

//go:noescape
func addVV32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subVV32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mulVV32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func divVV32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func addVS32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subVS32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mulVS32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func divVS32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subSV32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func divSV32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func addVV64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subVV64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mulVV64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func divVV64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func addVS64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subVS64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func mulVS64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func divVS64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func subSV64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func divSV64(dst, x, y unsafe.Pointer, n int)

// dst[i] = max(x[i], y[i]) or min(x[i], y[i]); in the functions with VS, y is one element. n is a multiple of 16.

//go:noescape
func max32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func maxVS32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minVS32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func min32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func max64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func maxVS64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minVS64(dst, x, y unsafe.Pointer, n int)

//go:noescape
func min64(dst, x, y unsafe.Pointer, n int)

// dst[i] = min(max(x[i], numbers[0]), numbers[2]). n is a multiple of 16. No number is NaN, and numbers[2] is not -0. numbers[1]
// is 0 if numbers[0] is 0, and otherwise -0.

//go:noescape
func clampNumbers32(dst, x, numbers unsafe.Pointer, n int)

//go:noescape
func clampNumbers64(dst, x, numbers unsafe.Pointer, n int)

// copy(dst[:n], src[:n]) for a multiple of 128 bytes that do not overlap.
//
//go:noescape
func copyAVX(dst, src unsafe.Pointer, n int)

// copy(dst[:n], src[:n]) with non-temporal stores; dst is aligned to 32 bytes, n is a
// multiple of 64.
//
//go:noescape
func streamAVX(dst, src unsafe.Pointer, n int)

// fenceStores orders streamAVX's stores before later stores.
func fenceStores()

// foldRows and fold of a full chunk.

//go:noescape
func chunkSum32(x *float32) float32

//go:noescape
func chunkSum64(x *float64) float64

// The same with AVX-512.

//go:noescape
func chunkSum512x32(x *float32) float32

//go:noescape
func chunkSum512x64(x *float64) float64

// The same of the products x[i] y[i], which are rounded before they are added.

//go:noescape
func chunkProducts32(x, y *float32) float32

//go:noescape
func chunkProducts64(x, y *float64) float64

//go:noescape
func chunkProducts512x32(x, y *float32) float32

//go:noescape
func chunkProducts512x64(x, y *float64) float64

// neighbours32 and neighbours64 are the permutations that select the even elements of two
// vectors, and then the odd ones.
var (
	neighbours32 = numbers[uint32, [32]uint32](16)
	neighbours64 = numbers[uint64, [16]uint64](8)
)

// Only the assembly reads the tables; this use keeps them in the program.
var _, _ = &neighbours32, &neighbours64

func numbers[T uint32 | uint64, A [32]T | [16]T](n int) (a A) {
	for i := range n {
		a[i], a[n+i] = T(2*i), T(2*i+1)
	}
	return a
}

// foldRows of rows with a pitch in bytes; n is a multiple of 8 for float32 and of 4 for float64.

//go:noescape
func rowSums32(dst, x unsafe.Pointer, pitch, n int)

//go:noescape
func rowSums64(dst, x unsafe.Pointer, pitch, n int)

// numbersClamp returns the loop of Clamp between two numbers of type t, for a multiple of 16 elements, or nil. It does not
// support a number that is NaN, or -0 as the larger one.
func numbersClamp(t dtype.DType, lo, hi unsafe.Pointer) func(dst, x unsafe.Pointer, n int) {
	switch t {
	case dtype.Float32:
		return clampBetween(clampNumbers32, *(*float32)(lo), *(*float32)(hi))
	case dtype.Float64:
		return clampBetween(clampNumbers64, *(*float64)(lo), *(*float64)(hi))
	}
	return nil
}

func clampBetween[T float32 | float64](loop func(dst, x, numbers unsafe.Pointer, n int), lo, hi T) func(dst, x unsafe.Pointer, n int) {
	if lo != lo || hi != hi || hi == 0 && math.Signbit(float64(hi)) {
		return nil
	}
	numbers := [3]T{lo, T(math.Copysign(0, -1)), hi}
	if lo == 0 && !math.Signbit(float64(lo)) {
		numbers[1] = 0
	}
	return func(dst, x unsafe.Pointer, n int) { loop(dst, x, unsafe.Pointer(&numbers), n) }
}

// vectorBinary32 returns the kernels of an operation on float32. They are nil if there is
// no assembly for it.
func vectorBinary32(op expr.Op) binary {
	if !vectorAVX {
		return binary{}
	}
	switch op {
	case expr.Add:
		return binary{vv: addVV32, vs: addVS32, sv: swapped(addVS32)}
	case expr.Sub:
		return binary{vv: subVV32, vs: subVS32, sv: subSV32}
	case expr.Mul:
		return binary{vv: mulVV32, vs: mulVS32, sv: swapped(mulVS32)}
	case expr.Div:
		return binary{vv: divVV32, vs: divVS32, sv: divSV32}
	case expr.Maximum:
		return extremeKernels[float32](max32, maxVS32, maximums[float32])
	case expr.Minimum:
		return extremeKernels[float32](min32, minVS32, minimums[float32])
	}
	return binary{}
}

// extremeKernels makes the kernels of Maximum or Minimum from loops over multiples of 16
// elements and one for the rest. Both operations are commutative.
func extremeKernels[T float32 | float64](vv, vs, rest func(dst, x, y unsafe.Pointer, n int)) binary {
	size := int(unsafe.Sizeof(T(0)))
	number := func(dst, x, y unsafe.Pointer, n int) {
		m := n &^ 15
		vs(dst, x, y, m)
		if m == n {
			return // a pointer must not point after the last element
		}
		var b [16]T
		for i := range b {
			b[i] = *(*T)(y)
		}
		rest(unsafe.Add(dst, size*m), unsafe.Add(x, size*m), unsafe.Pointer(&b), n-m)
	}
	return binary{
		vv: func(dst, x, y unsafe.Pointer, n int) {
			m := n &^ 15
			vv(dst, x, y, m)
			if m == n {
				return
			}
			rest(unsafe.Add(dst, size*m), unsafe.Add(x, size*m), unsafe.Add(y, size*m), n-m)
		},
		vs: number,
		sv: swapped(number),
	}
}

func vectorBinary64(op expr.Op) binary {
	if !vectorAVX {
		return binary{}
	}
	switch op {
	case expr.Add:
		return binary{vv: addVV64, vs: addVS64, sv: swapped(addVS64)}
	case expr.Sub:
		return binary{vv: subVV64, vs: subVS64, sv: subSV64}
	case expr.Mul:
		return binary{vv: mulVV64, vs: mulVS64, sv: swapped(mulVS64)}
	case expr.Div:
		return binary{vv: divVV64, vs: divVS64, sv: divSV64}
	case expr.Maximum:
		return extremeKernels[float64](max64, maxVS64, maximums[float64])
	case expr.Minimum:
		return extremeKernels[float64](min64, minVS64, minimums[float64])
	}
	return binary{}
}

// streams reports whether a destination of the given size should be written with
// non-temporal stores, because it would evict the cache's contents.
func streams(bytes int) bool { return vectorAVX && bytes >= streamBytes }

const streamBytes = 16 << 20

// vectorCopy is the number of bytes from which copyBytes uses vector code. Go's copy then takes up to 1.6 times as long where
// both operands have the same place in large pages, as those of most arrays have.
const vectorCopy = 32 << 10

// copyBytes copies n bytes between operands that do not overlap.
func copyBytes(dst, src unsafe.Pointer, n int) {
	if n >= vectorCopy && vectorAVX {
		m := n &^ 127
		copyAVX(dst, src, m)
		if n -= m; n == 0 {
			return // a pointer must not point after the last element
		}
		dst, src = unsafe.Add(dst, m), unsafe.Add(src, m)
	}
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
}

// stream copies n bytes, with non-temporal stores if the alignment allows them.
func stream(dst, src unsafe.Pointer, n int) {
	if m := n &^ 63; uintptr(dst)%32 == 0 && m > 0 {
		streamAVX(dst, src, m)
		if n -= m; n == 0 {
			return // a pointer must not point after the last element
		}
		dst, src = unsafe.Add(dst, m), unsafe.Add(src, m)
	}
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
}

// sumKernels holds the assembly loops for sums of type A. They are nil if there is no assembly.
type sumKernels[A sum] struct {
	chunk    func(x unsafe.Pointer) A                  // the sum of a full chunk
	products func(x, y unsafe.Pointer) A               // the sum of the products of the elements of two full chunks
	rows     func(dst, x unsafe.Pointer, pitch, n int) // the sums of the rows of n lanes
	add      func(dst, x, y unsafe.Pointer, n int)     // the sums of two vectors
	width    int                                       // n of rows must be a multiple of it
}

func newSumKernels[A sum]() sumKernels[A] {
	var zero A
	if !vectorAVX {
		return sumKernels[A]{}
	}
	kernels := any(nil)
	switch any(zero).(type) {
	case float32:
		if kernels = sums32; vectorAVX512 {
			kernels = sums512x32
		}
	case float64:
		if kernels = sums64; vectorAVX512 {
			kernels = sums512x64
		}
	case complex64:
		kernels = sumsComplex64
	case complex128:
		kernels = sumsComplex128
	}
	found, _ := kernels.(sumKernels[A])
	return found
}

// The kernels of sums, each a sumKernels. They are interfaces so that newSumKernels
// allocates nothing.
var (
	sums32         any = sumKernels[float32]{chunkOf(chunkSum32), chunkOf2(chunkProducts32), rowSums32, addVV32, 8}
	sums64         any = sumKernels[float64]{chunkOf(chunkSum64), chunkOf2(chunkProducts64), rowSums64, addVV64, 4}
	sumsComplex64  any = complexSums[complex64](rowSums32, addVV32)
	sumsComplex128 any = complexSums[complex128](rowSums64, addVV64)

	sums512x32 any = sumKernels[float32]{chunkOf(chunkSum512x32), chunkOf2(chunkProducts512x32), rowSums32, addVV32, 8}
	sums512x64 any = sumKernels[float64]{chunkOf(chunkSum512x64), chunkOf2(chunkProducts512x64), rowSums64, addVV64, 4}
)

func chunkOf[A sum](f func(x *A) A) func(x unsafe.Pointer) A {
	return func(x unsafe.Pointer) A { return f((*A)(x)) }
}

func chunkOf2[A sum](f func(x, y *A) A) func(x, y unsafe.Pointer) A {
	return func(x, y unsafe.Pointer) A { return f((*A)(x), (*A)(y)) }
}

// complexSums returns the kernels of sums of complex numbers, from those of their parts.
func complexSums[C complex64 | complex128](rows func(dst, x unsafe.Pointer, pitch, n int), add func(dst, x, y unsafe.Pointer, n int)) sumKernels[C] {
	size := int(unsafe.Sizeof(C(0)))
	lanes := warpVectors * vectorBytes / size
	return sumKernels[C]{
		chunk: func(x unsafe.Pointer) C {
			w := works.Get().(*work)
			defer works.Put(w)
			sums := unsafe.Slice((*C)(unsafe.Pointer(&w.block[0])), lanes)
			rows(at0(sums), x, lanes*size, 2*lanes)
			fold(sums, 1)
			return sums[0]
		},
		rows:  func(dst, x unsafe.Pointer, pitch, n int) { rows(dst, x, pitch, 2*n) },
		add:   ofParts(add),
		width: 4,
	}
}
