//go:build !noasm

package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/expr"
)

// compareVector is the vector length of the functions here; n is a positive multiple of it.
const compareVector = 32

// for i := range n { dst[i] = x[i*xstep] == y[i*ystep] }, and so on for the other
// operators. If a step is 0, the operand is compareVector copies of one element.

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
			b := splat(*(*T)(y))
			compareAll[T](op, dst, x, unsafe.Pointer(&b), n, 1, 0)
		},
		sv: func(dst, x, y unsafe.Pointer, n int) {
			b := splat(*(*T)(x))
			compareAll[T](op, dst, unsafe.Pointer(&b), y, n, 0, 1)
		},
	}
}

// splat returns a vector of copies of v.
func splat[T any](v T) (b [compareVector]T) {
	for i := range b {
		b[i] = v
	}
	return b
}

// compareAll compares full vectors with the assembly and the rest in Go, because the
// assembly would read beyond the last element.
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

// compareVectors calls the assembly function of an operation and an element size.
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
