package cpu

import (
	"math"
	"sync"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Functions based on exponentials and logarithms, which have vector code, are computed
// block by block: a vector function of one argument per element, and arithmetic. The ends
// of a function's range are left to the scalar function, nameF64.

// functionBlock is the number of elements of a block.
const functionBlock = 256

// functionScratch is the memory of a block.
type functionScratch struct{ x, y, s [functionBlock]float64 }

var functionScratches = sync.Pool{New: func() any { return new(functionScratch) }}

// blockFunction computes f of x in place; s is scratch memory of the same length.
type blockFunction func(x, s []float64)

// blockOf returns the block function of an operation on type t, or nil.
func blockOf(op expr.Op, t dtype.DType) blockFunction {
	switch op {
	case expr.Sinh:
		return sinhBlock
	case expr.Cosh:
		return coshBlock
	case expr.Asinh:
		return asinhBlock
	case expr.Acosh:
		return acoshBlock
	case expr.Atanh:
		return atanhBlock
	}
	if t == dtype.Float32 { // the error of the product is negligible in float32
		switch op {
		case expr.Log2:
			return func(x, _ []float64) { timesLog(x, 1/math.Ln2) }
		case expr.Log10:
			return func(x, _ []float64) { timesLog(x, 1/math.Ln10) }
		case expr.Exp2:
			return exp2Block
		}
	}
	return nil
}

// vectorFunction returns the kernel of an operation on type t that calls vector code, or
// nil.
func vectorFunction(op expr.Op, t dtype.DType) func(dst, x unsafe.Pointer, n int) {
	f := blockOf(op, t)
	switch t {
	case dtype.Float32:
		if f != nil {
			return blockUnary[float32](f)
		}
		return wholeVector32(op)
	case dtype.Float64:
		if f != nil {
			return blockUnary[float64](f)
		}
		return wholeVector64(op)
	}
	return nil
}

// wholeVector32 returns the kernel of an operation on float32 that needs no arithmetic besides vector code, or nil.
func wholeVector32(op expr.Op) func(dst, x unsafe.Pointer, n int) {
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
	}
	return nil
}

// wholeVector64 is wholeVector32 for float64.
func wholeVector64(op expr.Op) func(dst, x unsafe.Pointer, n int) {
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
	}
	return nil
}

// blockUnary makes a kernel on elements of type T, float32 or float64.
func blockUnary[T float32 | float64](f blockFunction) func(dst, x unsafe.Pointer, n int) {
	return func(dst, x unsafe.Pointer, n int) {
		w := functionScratches.Get().(*functionScratch)
		defer functionScratches.Put(w)
		d, a := pair[T, T](dst, x, n)
		for len(a) > 0 {
			m := min(len(a), functionBlock)
			b := w.x[:m]
			for i, v := range a[:m] {
				b[i] = float64(v)
			}
			f(b, w.s[:m])
			for i, v := range b {
				d[i] = T(v)
			}
			d, a = d[m:], a[m:]
		}
	}
}

// tan32s computes the tangents of float32 as quotients of sines and cosines whose error is
// at most 1/2 + 2^-10 ulp: 1.51 ulp.
func tan32s(dst, x unsafe.Pointer, n int) {
	w := functionScratches.Get().(*functionScratch)
	defer functionScratches.Put(w)
	s, c := unsafe.Pointer(&w.x), unsafe.Pointer(&w.y)
	sine, cosine := unsafe.Slice((*float32)(s), 2*functionBlock), unsafe.Slice((*float32)(c), 2*functionBlock)
	d, a := pair[float32, float32](dst, x, n)
	for len(a) > 0 {
		m := min(len(a), 2*functionBlock)
		sins(s, unsafe.Pointer(&a[0]), m)
		coss(c, unsafe.Pointer(&a[0]), m)
		for i, v := range sine[:m] {
			d[i] = v / cosine[i]
		}
		d, a = d[m:], a[m:]
	}
}

// inPlace calls a vector function on all of x.
func inPlace(f func(dst, x unsafe.Pointer, n int), x []float64) {
	p := unsafe.Pointer(unsafe.SliceData(x))
	f(p, p, len(x))
}

func sinhBlock(x, s []float64) {
	for i, v := range x {
		s[i] = math.Abs(v)
	}
	inPlace(expm164s, s)
	for i, e := range s {
		if a := math.Abs(x[i]); a >= 0x1p-28 && a < hyperbolicMax {
			x[i] = math.Copysign(0.5*(e+e/(e+1)), x[i])
		} else {
			x[i] = sinhF64(x[i])
		}
	}
}

func coshBlock(x, s []float64) {
	for i, v := range x {
		s[i] = math.Abs(v)
	}
	inPlace(exp64s, s)
	for i, e := range s {
		if math.Abs(x[i]) < hyperbolicMax {
			x[i] = 0.5*e + 0.5/e
		} else {
			x[i] = coshF64(x[i])
		}
	}
}

func asinhBlock(x, s []float64) {
	for i, v := range x {
		a := math.Abs(v)
		z := a * a
		s[i] = a + z/(1+math.Sqrt(1+z))
	}
	inPlace(log1p64s, s)
	for i, v := range s {
		if a := math.Abs(x[i]); a >= 0x1p-28 && a <= 2 {
			x[i] = math.Copysign(v, x[i])
		} else {
			x[i] = asinhF64(x[i])
		}
	}
}

func acoshBlock(x, s []float64) {
	for i, v := range x {
		t := v - 1
		s[i] = t + math.Sqrt(math.FMA(t, t, 2*t))
	}
	inPlace(log1p64s, s)
	for i, v := range s {
		if x[i] >= 1 && x[i] <= 2 {
			x[i] = v
		} else {
			x[i] = acoshF64(x[i])
		}
	}
}

func atanhBlock(x, s []float64) {
	for i, v := range x {
		a := math.Abs(v)
		if a < 0.5 {
			s[i] = 2*a + 2*a*a/(1-a)
		} else {
			s[i] = 2 * a / (1 - a)
		}
	}
	inPlace(log1p64s, s)
	for i, v := range s {
		if a := math.Abs(x[i]); a >= 0x1p-28 && a < 1 {
			x[i] = math.Copysign(0.5*v, x[i])
		} else {
			x[i] = atanhF64(x[i])
		}
	}
}

// timesLog computes log(x) scale, with an error far below that of rounding to float32.
func timesLog(x []float64, scale float64) {
	inPlace(log64s, x)
	for i, v := range x {
		x[i] = v * scale
	}
}

// exp2Block computes 2^x, of float32: the product x log 2 has an error below 2^-45.
func exp2Block(x, _ []float64) {
	for i, v := range x {
		x[i] = v * math.Ln2
	}
	inPlace(exp64s, x)
}

// logAddExpBlock computes log(e^x + e^y) in place of x.
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

// blockBinary is blockUnary for two operands.
func blockBinary[T float32 | float64](f func(x, y, s []float64)) binary {
	return spread[T](func(dst, x, y unsafe.Pointer, n int) {
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
