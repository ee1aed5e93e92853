//go:build !noasm

package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/expr"
)

// compareVector is how many elements the functions here compare at once; n is a
// multiple of it, and not 0.
const compareVector = 32

// for i := range n { dst[i] = x[i*xstep] == y[i*ystep] }, and so on, where a step of 0
// stands for compareVector times the same element, in a row.

//go:noescape
func equal32(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func unequal32(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func less32(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func lessEqual32(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func equal64(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func unequal64(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func less64(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func lessEqual64(dst, x, y unsafe.Pointer, n, xstep, ystep int)

// vectorCompare32 returns the kernels of a comparison of float32. They are nil where the
// processor has no AVX2.
func vectorCompare32(op expr.Op) binary { return comparing[float32](op) }

// vectorCompare64 is vectorCompare32 of float64.
func vectorCompare64(op expr.Op) binary { return comparing[float64](op) }

func comparing[T float32 | float64](op expr.Op) binary {
	switch {
	case !vectorAVX:
		return binary{}
	case op == expr.Gt || op == expr.Ge:
		k := comparing[T](op - expr.Gt + expr.Lt)
		return binary{
			vv: func(dst, x, y unsafe.Pointer, n int) { k.vv(dst, y, x, n) },
			vs: func(dst, x, y unsafe.Pointer, n int) { k.sv(dst, y, x, n) },
			sv: func(dst, x, y unsafe.Pointer, n int) { k.vs(dst, y, x, n) },
		}
	}
	return binary{
		vv: func(dst, x, y unsafe.Pointer, n int) { compareAll[T](op, dst, x, y, n, 1, 1) },
		vs: func(dst, x, y unsafe.Pointer, n int) {
			b := row(*(*T)(y))
			compareAll[T](op, dst, x, unsafe.Pointer(&b), n, 1, 0)
		},
		sv: func(dst, x, y unsafe.Pointer, n int) {
			b := row(*(*T)(x))
			compareAll[T](op, dst, unsafe.Pointer(&b), y, n, 0, 1)
		},
	}
}

// row is an element as often as a vector has elements.
func row[T any](v T) (b [compareVector]T) {
	for i := range b {
		b[i] = v
	}
	return b
}

// compareAll compares whole vectors, and the rest in Go: nothing may point behind the
// last element.
func compareAll[T float32 | float64](op expr.Op, dst, x, y unsafe.Pointer, n, xstep, ystep int) {
	size := int(unsafe.Sizeof(T(0)))
	m := n &^ (compareVector - 1)
	if m > 0 {
		compareVectors(op, size, dst, x, y, m, xstep, ystep)
	}
	if m == n {
		return
	}
	dst, x, y = unsafe.Add(dst, m), unsafe.Add(x, m*size*xstep), unsafe.Add(y, m*size*ystep)
	switch op {
	case expr.Eq:
		equal[T](dst, x, y, n-m)
	case expr.Ne:
		unequal[T](dst, x, y, n-m)
	case expr.Lt:
		less[T](dst, x, y, n-m)
	case expr.Le:
		lessEqual[T](dst, x, y, n-m)
	}
}

// compareVectors calls the function of an operation and of elements of a size.
func compareVectors(op expr.Op, size int, dst, x, y unsafe.Pointer, n, xstep, ystep int) {
	switch {
	case op == expr.Eq && size == 4:
		equal32(dst, x, y, n, xstep, ystep)
	case op == expr.Eq:
		equal64(dst, x, y, n, xstep, ystep)
	case op == expr.Ne && size == 4:
		unequal32(dst, x, y, n, xstep, ystep)
	case op == expr.Ne:
		unequal64(dst, x, y, n, xstep, ystep)
	case op == expr.Lt && size == 4:
		less32(dst, x, y, n, xstep, ystep)
	case op == expr.Lt:
		less64(dst, x, y, n, xstep, ystep)
	case op == expr.Le && size == 4:
		lessEqual32(dst, x, y, n, xstep, ystep)
	case op == expr.Le:
		lessEqual64(dst, x, y, n, xstep, ystep)
	}
}
