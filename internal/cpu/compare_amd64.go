//go:build !noasm

package cpu

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// compareVector is the vector length of the functions here; n is a positive multiple of it.
const compareVector = 32

// for i := range n { dst[i] = x[i*xstep] == y[i*ystep] }, and so on for the other operators. If a step is 0, the operand
// is compareVector copies of one element. Functions with Int compare signed integers, and those with magnitude the
// absolute value of x with y.

//go:noescape
func equal32(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func equalInt32(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func unequal32(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func unequalInt32(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func less32(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func lessInt32(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func lessEqual32(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func lessEqualInt32(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func lessUint32(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func lessEqualUint32(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func equal64(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func equalInt64(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func unequal64(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func unequalInt64(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func less64(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func lessInt64(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func lessEqual64(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func lessEqualInt64(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func lessUint64(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func lessEqualUint64(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func magnitudeEqual32(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func magnitudeLess32(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func magnitudeEqual64(dst, x, y unsafe.Pointer, n, xstep, ystep int)

//go:noescape
func magnitudeLess64(dst, x, y unsafe.Pointer, n, xstep, ystep int)

// vectorCompare returns the kernels of a comparison. They are nil where the processor has no AVX2, for half types, and for
// the order of complex numbers.
func vectorCompare(op expr.Op, t dtype.DType) binary {
	switch t {
	case dtype.Float32:
		return comparing[float32](op)
	case dtype.Float64:
		return comparing[float64](op)
	case dtype.Int32:
		return comparing[int32](op)
	case dtype.Int64:
		return comparing[int64](op)
	case dtype.Uint32:
		return comparing[uint32](op)
	case dtype.Uint64:
		return comparing[uint64](op)
	case dtype.Complex64:
		return comparingParts[complex64](op)
	case dtype.Complex128:
		return comparingParts[complex128](op)
	}
	return vectorIntegers(op, t)
}

// comparingParts returns the kernels of Eq and Ne of complex numbers. They compare the parts, and then the two bytes of each number with 0.
func comparingParts[C complex64 | complex128](op expr.Op) binary {
	if !vectorAVX || op != expr.Eq && op != expr.Ne {
		return binary{}
	}
	parts, pairs, zero := comparison(expr.Ne, dtype.Of[C]().Real()).vv, comparison(op, dtype.Uint16).vs, new(uint16)
	return spread[C, bool](func(dst, x, y unsafe.Pointer, n int) {
		w := works.Get().(*work)
		defer works.Put(w)
		b := unsafe.Pointer(&w.block[0])
		for at := 0; at < n; at += blockLen {
			m := min(blockLen, n-at)
			parts(b, elementAt[C](x, at), elementAt[C](y, at), 2*m)
			pairs(elementAt[bool](dst, at), b, unsafe.Pointer(zero), m)
		}
	})
}

func comparing[T float32 | float64 | int32 | int64 | uint32 | uint64](op expr.Op) binary {
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
func compareAll[T float32 | float64 | int32 | int64 | uint32 | uint64](op expr.Op, dst, x, y unsafe.Pointer, n, xstep, ystep int) {
	var zero T
	size := int(unsafe.Sizeof(zero))
	if m := n &^ (compareVector - 1); m > 0 {
		switch any(zero).(type) {
		case float32:
			compare32(op, dst, x, y, m, xstep, ystep)
		case float64:
			compare64(op, dst, x, y, m, xstep, ystep)
		case int32:
			compareInt32(op, dst, x, y, m, xstep, ystep)
		case int64:
			compareInt64(op, dst, x, y, m, xstep, ystep)
		case uint32:
			compareUint32(op, dst, x, y, m, xstep, ystep)
		case uint64:
			compareUint64(op, dst, x, y, m, xstep, ystep)
		}
		if n -= m; n == 0 {
			return
		}
		dst, x, y = unsafe.Add(dst, m), unsafe.Add(x, m*size*xstep), unsafe.Add(y, m*size*ystep)
	}
	switch op {
	case expr.Eq:
		equal[T](dst, x, y, n)
	case expr.Ne:
		unequal[T](dst, x, y, n)
	case expr.Lt:
		less[T](dst, x, y, n)
	case expr.Le:
		lessEqual[T](dst, x, y, n)
	}
}

// These functions call the assembly by name. Operands of an indirect call would escape to the heap.

func compare32(op expr.Op, dst, x, y unsafe.Pointer, n, xstep, ystep int) {
	switch op {
	case expr.Eq:
		equal32(dst, x, y, n, xstep, ystep)
	case expr.Ne:
		unequal32(dst, x, y, n, xstep, ystep)
	case expr.Lt:
		less32(dst, x, y, n, xstep, ystep)
	case expr.Le:
		lessEqual32(dst, x, y, n, xstep, ystep)
	}
}

func compare64(op expr.Op, dst, x, y unsafe.Pointer, n, xstep, ystep int) {
	switch op {
	case expr.Eq:
		equal64(dst, x, y, n, xstep, ystep)
	case expr.Ne:
		unequal64(dst, x, y, n, xstep, ystep)
	case expr.Lt:
		less64(dst, x, y, n, xstep, ystep)
	case expr.Le:
		lessEqual64(dst, x, y, n, xstep, ystep)
	}
}

func compareInt32(op expr.Op, dst, x, y unsafe.Pointer, n, xstep, ystep int) {
	switch op {
	case expr.Eq:
		equalInt32(dst, x, y, n, xstep, ystep)
	case expr.Ne:
		unequalInt32(dst, x, y, n, xstep, ystep)
	case expr.Lt:
		lessInt32(dst, x, y, n, xstep, ystep)
	case expr.Le:
		lessEqualInt32(dst, x, y, n, xstep, ystep)
	}
}

func compareInt64(op expr.Op, dst, x, y unsafe.Pointer, n, xstep, ystep int) {
	switch op {
	case expr.Eq:
		equalInt64(dst, x, y, n, xstep, ystep)
	case expr.Ne:
		unequalInt64(dst, x, y, n, xstep, ystep)
	case expr.Lt:
		lessInt64(dst, x, y, n, xstep, ystep)
	case expr.Le:
		lessEqualInt64(dst, x, y, n, xstep, ystep)
	}
}

func compareUint32(op expr.Op, dst, x, y unsafe.Pointer, n, xstep, ystep int) {
	switch op {
	case expr.Eq, expr.Ne:
		compareInt32(op, dst, x, y, n, xstep, ystep)
	case expr.Lt:
		lessUint32(dst, x, y, n, xstep, ystep)
	case expr.Le:
		lessEqualUint32(dst, x, y, n, xstep, ystep)
	}
}

func compareUint64(op expr.Op, dst, x, y unsafe.Pointer, n, xstep, ystep int) {
	switch op {
	case expr.Eq, expr.Ne:
		compareInt64(op, dst, x, y, n, xstep, ystep)
	case expr.Lt:
		lessUint64(dst, x, y, n, xstep, ystep)
	case expr.Le:
		lessEqualUint64(dst, x, y, n, xstep, ystep)
	}
}

var (
	infinities32 = splat(float32(math.Inf(1)))
	infinities64 = splat(math.Inf(1))
)

// magnitudes computes IsInf or IsFinite of the first whole vectors. It returns how many elements these have: 0 where the
// processor has no AVX2.
func magnitudes(op expr.Op, t dtype.DType, dst, x unsafe.Pointer, n int) int {
	if n &^= compareVector - 1; !vectorAVX || n == 0 {
		return 0
	}
	switch {
	case op == expr.IsInf && t == dtype.Float32:
		magnitudeEqual32(dst, x, unsafe.Pointer(&infinities32), n, 1, 0)
	case op == expr.IsInf && t == dtype.Float64:
		magnitudeEqual64(dst, x, unsafe.Pointer(&infinities64), n, 1, 0)
	case op == expr.IsFinite && t == dtype.Float32:
		magnitudeLess32(dst, x, unsafe.Pointer(&infinities32), n, 1, 0)
	case op == expr.IsFinite && t == dtype.Float64:
		magnitudeLess64(dst, x, unsafe.Pointer(&infinities64), n, 1, 0)
	default:
		return 0
	}
	return n
}
