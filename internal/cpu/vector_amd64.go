//go:build !noasm

package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/expr"
	"golang.org/x/sys/cpu"
)

// vectorAVX and vectorAVX512 are whether the processor has what the functions here
// use.
var (
	vectorAVX    = cpu.X86.HasAVX2
	vectorAVX512 = cpu.X86.HasAVX512F
)

// for i := range n { dst[i] = x[i] + y[i] }, and so on; in vs y is one number, in
// sv x.

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

// maximums and minimums of float32, n a multiple of 16; VS: y is one element

//go:noescape
func max32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func maxVS32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func minVS32(dst, x, y unsafe.Pointer, n int)

//go:noescape
func min32(dst, x, y unsafe.Pointer, n int)

// copy(dst[:n], src[:n]) past the cache; dst is aligned to 32 bytes, n a multiple
// of 64.
//
//go:noescape
func streamAVX(dst, src unsafe.Pointer, n int)

// fenceStores orders what streamAVX stored before what is stored later.
func fenceStores()

// foldRows and fold of a whole chunk.

//go:noescape
func chunkSum32(x *float32) float32

//go:noescape
func chunkSum64(x *float64) float64

// The same with AVX-512.

//go:noescape
func chunkSum512x32(x *float32) float32

//go:noescape
func chunkSum512x64(x *float64) float64

// neighbours32 and neighbours64 number the even elements of two vectors, and then
// the odd ones.
var (
	neighbours32 = numbers[uint32, [32]uint32](16)
	neighbours64 = numbers[uint64, [16]uint64](8)
)

// The assembly alone reads them.
var _, _ = &neighbours32, &neighbours64

func numbers[T uint32 | uint64, A [32]T | [16]T](n int) (a A) {
	for i := range n {
		a[i], a[n+i] = T(2*i), T(2*i+1)
	}
	return a
}

// foldRows of rows that lie pitch bytes apart, n a multiple of 8 and of 4.

//go:noescape
func rowSums32(dst, x unsafe.Pointer, pitch, n int)

//go:noescape
func rowSums64(dst, x unsafe.Pointer, pitch, n int)

// vectorBinary32 returns the kernels of an operation on float32, without functions
// where there are none.
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
		return extreme32(max32, maxVS32, maximums[float32])
	case expr.Minimum:
		return extreme32(min32, minVS32, minimums[float32])
	}
	return binary{}
}

// extreme32 makes the forms of Maximum or Minimum, which do not mind the order of
// their operands, of loops over multiples of 16 elements and one for the rest.
func extreme32(vv, vs, rest func(dst, x, y unsafe.Pointer, n int)) binary {
	number := func(dst, x, y unsafe.Pointer, n int) {
		m := n &^ 15
		vs(dst, x, y, m)
		if m == n {
			return // nothing may point behind the last element
		}
		var b [16]float32
		for i := range b {
			b[i] = *(*float32)(y)
		}
		rest(unsafe.Add(dst, 4*m), unsafe.Add(x, 4*m), unsafe.Pointer(&b), n-m)
	}
	return binary{
		vv: func(dst, x, y unsafe.Pointer, n int) {
			m := n &^ 15
			vv(dst, x, y, m)
			if m == n {
				return
			}
			rest(unsafe.Add(dst, 4*m), unsafe.Add(x, 4*m), unsafe.Add(y, 4*m), n-m)
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
	}
	return binary{}
}

// streams reports whether a destination of so many bytes is better stored past
// the cache, which it would only sweep.
func streams(bytes int) bool { return vectorAVX && bytes >= streamBytes }

const streamBytes = 16 << 20

// stream copies n bytes, past the cache where their place allows it.
func stream(dst, src unsafe.Pointer, n int) {
	if m := n &^ 63; uintptr(dst)%32 == 0 && m > 0 {
		streamAVX(dst, src, m)
		dst, src, n = unsafe.Add(dst, m), unsafe.Add(src, m), n-m
	}
	copy(unsafe.Slice((*byte)(dst), n), unsafe.Slice((*byte)(src), n))
}

// sumKernels are the loops of sums in A; nil where there is no assembly.
type sumKernels[A sum] struct {
	chunk func(x unsafe.Pointer) A                  // the sum of a whole chunk
	rows  func(dst, x unsafe.Pointer, pitch, n int) // the sums of the rows of n lanes
	add   func(dst, x, y unsafe.Pointer, n int)     // of two vectors
	width int                                       // what n of rows must be a multiple of
}

func newSumKernels[A sum]() sumKernels[A] {
	var zero A
	if !vectorAVX {
		return sumKernels[A]{}
	}
	switch any(zero).(type) {
	case float32:
		chunk := func(x unsafe.Pointer) float32 { return chunkSum32((*float32)(x)) }
		if vectorAVX512 {
			chunk = func(x unsafe.Pointer) float32 { return chunkSum512x32((*float32)(x)) }
		}
		return sumKernels[A]{any(chunk).(func(unsafe.Pointer) A), rowSums32, addVV32, 8}
	case float64:
		chunk := func(x unsafe.Pointer) float64 { return chunkSum64((*float64)(x)) }
		if vectorAVX512 {
			chunk = func(x unsafe.Pointer) float64 { return chunkSum512x64((*float64)(x)) }
		}
		return sumKernels[A]{any(chunk).(func(unsafe.Pointer) A), rowSums64, addVV64, 4}
	}
	return sumKernels[A]{}
}
