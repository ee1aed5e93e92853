package cpu

import (
	"math"
	"sync"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// functionBlock is the number of elements of a block.
const functionBlock = 256

// functionScratch is the memory of a block.
type functionScratch struct{ x, y, s [functionBlock]float64 }

var functionScratches = sync.Pool{New: func() any { return new(functionScratch) }}

// vectorFunction returns the kernel of an operation on type t that calls vector code, or
// nil.
func vectorFunction(op expr.Op, t dtype.DType) func(dst, x unsafe.Pointer, n int) {
	switch t {
	case dtype.Float32:
		return vectorFunction32(op)
	case dtype.Float64:
		return vectorFunction64(op)
	}
	return nil
}

// vectorFunction32 is vectorFunction for float32.
func vectorFunction32(op expr.Op) func(dst, x unsafe.Pointer, n int) {
	switch op {
	case expr.Tan:
		return tan32s
	case expr.Atan:
		return atan32s
	case expr.Asin:
		return asin32s
	case expr.Acos:
		return acos32s
	case expr.Cbrt:
		return cbrt32s
	case expr.Sinh:
		return sinh32s
	case expr.Cosh:
		return cosh32s
	case expr.Asinh:
		return asinh32s
	case expr.Acosh:
		return acosh32s
	case expr.Atanh:
		return atanh32s
	case expr.Exp2:
		return exp2_32s
	case expr.Log2:
		return log2_32s
	case expr.Log10:
		return log10_32s
	}
	return nil
}

// vectorFunction64 is vectorFunction for float64.
func vectorFunction64(op expr.Op) func(dst, x unsafe.Pointer, n int) {
	switch op {
	case expr.Exp2:
		return exp2_64s
	case expr.Log2:
		return log2_64s
	case expr.Log10:
		return log10_64s
	case expr.Atan:
		return atan64s
	case expr.Asin:
		return asin64s
	case expr.Acos:
		return acos64s
	case expr.Cbrt:
		return cbrt64s
	case expr.Sinh:
		return sinh64s
	case expr.Cosh:
		return cosh64s
	case expr.Asinh:
		return asinh64s
	case expr.Acosh:
		return acosh64s
	case expr.Atanh:
		return atanh64s
	case expr.Tan:
		return tan64s
	}
	return nil
}

// inPlace calls a vector function on all of x.
func inPlace(f func(dst, x unsafe.Pointer, n int), x []float64) {
	p := unsafe.Pointer(unsafe.SliceData(x))
	f(p, p, len(x))
}

// binaryBlock returns a function of two operands that is computed in float64, in place of the first, or nil.
func binaryBlock(op expr.Op) func(x, y, s []float64) {
	switch op {
	case expr.LogAddExp:
		return logAddExpBlock
	case expr.FloorDivide:
		return floorDivideBlock
	case expr.Remainder:
		return remainderBlock
	}
	return nil
}

// logAddExpBlock sets x to log(e^x + e^y). s is scratch memory.
func logAddExpBlock(x, y, s []float64) {
	for i, v := range x {
		s[i] = -math.Abs(v - y[i])
	}
	inPlace(exp64s, s)
	inPlace(log1p64s, s)
	for i, v := range x {
		switch w := y[i]; {
		case v > w:
			x[i] = v + s[i]
		case v < w:
			x[i] = w + s[i]
		default: // equal or NaN
			x[i] = logAddExpF64(v, w)
		}
	}
}

// blockBinary returns a kernel on elements of type T, float32 or float64. f computes a block of float64 and overwrites x with the result.
func blockBinary[T float32 | float64](f func(x, y, s []float64)) binary {
	return spread[T, T](func(dst, x, y unsafe.Pointer, n int) {
		w := functionScratches.Get().(*functionScratch)
		defer functionScratches.Put(w)
		d, a, b := vectors[T](dst, x, y, n)
		for len(d) > 0 {
			m := min(len(d), functionBlock)
			p, q := w.x[:m], w.y[:m]
			for i := range p {
				p[i], q[i] = float64(a[i]), float64(b[i])
			}
			f(p, q, w.s[:m])
			for i, v := range p {
				d[i] = T(v)
			}
			d, a, b = d[m:], a[m:], b[m:]
		}
	})
}
