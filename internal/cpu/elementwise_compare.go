package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// comparison returns the kernels of a comparison of elements of type t. They are nil if op
// is no comparison. Complex numbers support only equality.
func comparison(op expr.Op, t dtype.DType) binary {
	if op < expr.Eq || op > expr.Ge {
		return binary{}
	}
	k := vectorCompare(op, t)
	if k.vv == nil {
		k = goCompare(op, t)
	}
	k.size, k.truth = dtype.Bool.Size(), true
	return k
}

// goCompare is comparison without assembly.
func goCompare(op expr.Op, t dtype.DType) binary {
	switch t {
	case dtype.Float32:
		return compare[float32](op)
	case dtype.Float64:
		return compare[float64](op)
	case dtype.Complex64:
		return compareEqual[complex64](op)
	case dtype.Complex128:
		return compareEqual[complex128](op)
	}
	if of := wholeOf(t); of != nil {
		return of.compare(op)
	}
	return binary{}
}

func (ints[T]) compare(op expr.Op) binary { return compare[T](op) }

func compare[T number](op expr.Op) binary {
	switch op {
	case expr.Lt:
		return spread[T, bool](less[T])
	case expr.Le:
		return spread[T, bool](lessEqual[T])
	case expr.Gt:
		return spread[T, bool](func(dst, x, y unsafe.Pointer, n int) { less[T](dst, y, x, n) })
	case expr.Ge:
		return spread[T, bool](func(dst, x, y unsafe.Pointer, n int) { lessEqual[T](dst, y, x, n) })
	}
	return compareEqual[T](op)
}

func compareEqual[T comparable](op expr.Op) binary {
	switch op {
	case expr.Eq:
		return spread[T, bool](equal[T])
	case expr.Ne:
		return spread[T, bool](unequal[T])
	}
	return binary{}
}

// truths returns the operands of a comparison as slices of equal length, which lets the
// compiler drop the bounds checks.
func truths[T any](dst, x, y unsafe.Pointer, n int) (d []bool, a, b []T) {
	d = unsafe.Slice((*bool)(dst), n)
	return d, unsafe.Slice((*T)(x), n)[:len(d)], unsafe.Slice((*T)(y), n)[:len(d)]
}

func less[T number](dst, x, y unsafe.Pointer, n int) {
	d, a, b := truths[T](dst, x, y, n)
	for i := range d {
		d[i] = a[i] < b[i]
	}
}

func lessEqual[T number](dst, x, y unsafe.Pointer, n int) {
	d, a, b := truths[T](dst, x, y, n)
	for i := range d {
		d[i] = a[i] <= b[i]
	}
}

func equal[T comparable](dst, x, y unsafe.Pointer, n int) {
	d, a, b := truths[T](dst, x, y, n)
	for i := range d {
		d[i] = a[i] == b[i]
	}
}

func unequal[T comparable](dst, x, y unsafe.Pointer, n int) {
	d, a, b := truths[T](dst, x, y, n)
	for i := range d {
		d[i] = a[i] != b[i]
	}
}
