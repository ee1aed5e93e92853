package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
)

// gemmHalf widens the operands while it packs them. It collects the sums for a float32 C in
// C itself, and those for a half C in memory of the task.
func gemmHalf(t, out dtype.DType, m, n, k int, a, b Operand, c unsafe.Pointer, ldc int, ep *Epilogue) {
	load := use.real[t]
	p := product[float32]{
		v: use32, m: m, n: n, k: k,
		a: linesOf(a, 2, load), b: columnsOf(b, 2, load),
	}
	p.a.converting, p.b.converting = use.converting[t], use.converting[t]
	e := newEpilogue[float32](ep, n, out)
	if out == dtype.Float32 {
		p.c, p.ldc = (*float32)(c), ldc
	}
	plain := ep.isNone()
	if plain && p.c != nil {
		p.run()
		return
	}
	p.finish = func(o region[float32]) {
		for i := range o.rows {
			if plain {
				break
			}
			e.apply(unsafe.Slice(offset(o.data, i*o.ld), o.cols), o.j)
		}
		if round, ok := use.narrow[out]; ok {
			round(c, o.i*ldc+o.j, ldc, o)
		}
	}
	p.run()
}

// narrowWith returns a function that rounds a region to C, from the element at on. Its
// arguments are those of narrow.
func narrowWith[E any](block func(*E, int, *float32, int, int, int), vector func(*E, *float32, int), scalar func(float32) E) func(c unsafe.Pointer, at, ldc int, o region[float32]) {
	return func(c unsafe.Pointer, at, ldc int, o region[float32]) {
		narrow(offset((*E)(c), at), ldc, o, block, vector, scalar)
	}
}

// narrow rounds a region to dst, with row pitch ldd. block converts eight columns of all
// rows, vector those of one row, and scalar one element; block and vector may be nil.
func narrow[E any](dst *E, ldd int, o region[float32], block func(*E, int, *float32, int, int, int), vector func(*E, *float32, int), scalar func(float32) E) {
	whole := o.cols &^ 7
	switch {
	case whole == 0 || block == nil && vector == nil:
		whole = 0
	case block != nil:
		block(dst, ldd, o.data, o.ld, o.rows, whole)
	default:
		for i := range o.rows {
			vector(offset(dst, i*ldd), offset(o.data, i*o.ld), whole)
		}
	}
	for i := range o.rows {
		for j := whole; j < o.cols; j++ {
			*offset(dst, i*ldd+j) = scalar(*offset(o.data, i*o.ld+j))
		}
	}
}
