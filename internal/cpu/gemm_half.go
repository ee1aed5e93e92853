package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/x448/float16"
)

// GemmHalf computes C = A B for the half types: t is Float16 or BFloat16, out
// is t or Float32. Sums are float32; ep may be nil. See Gemm.
func GemmHalf(t, out dtype.DType, m, n, k int, a Operand, b Operand, c unsafe.Pointer, crs int, ep *Epilogue) error {
	if !t.IsHalf() {
		return errPair(t, out)
	}
	return Gemm(t, out, m, n, k, a, b, c, crs, ep)
}

// gemmHalf widens the operands while packing them. Sums for a float32 C are
// collected in C, those for a half C in a task's own memory.
func gemmHalf(t, out dtype.DType, m, n, k int, a, b Operand, c unsafe.Pointer, ldc int, ep *Epilogue) {
	load := use.real[t]
	p := product[float32]{
		v: use32, m: m, n: n, k: k,
		a: linesOf(a, 2, load), b: columnsOf(b, 2, load),
	}
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
			row := unsafe.Slice(offset(o.data, i*o.ld), o.cols)
			if !plain {
				e.apply(row, o.j)
			}
			switch at := (o.i+i)*ldc + o.j; out {
			case dtype.Float16:
				narrow(unsafe.Slice(offset((*float16.Float16)(c), at), o.cols), row, use.storeF16, float16.Fromfloat32)
			case dtype.BFloat16:
				narrow(unsafe.Slice(offset((*bfloat16.BFloat16)(c), at), o.cols), row, use.storeBF16, bfloat16.FromFloat32)
			}
		}
	}
	p.run()
}

// narrow rounds src to dst by a converter, which may be nil, and its scalar
// form.
func narrow[E any](dst []E, src []float32, vector func(*E, *float32, int), scalar func(float32) E) {
	done := 0
	if vector != nil {
		done = len(src) &^ 7
		vector(&dst[0], &src[0], done)
	}
	for j := done; j < len(src); j++ {
		dst[j] = scalar(src[j])
	}
}
