package cpu

import (
	"unsafe"

	"github.com/gpk-go/gpk/expr"
)

// Divide divides the elements of x by d, which is no element of x.
func Divide[T float32 | float64 | complex64 | complex128](x []T, d *T) {
	if len(x) >= 4 { // the loop is as fast on fewer
		var f func(dst, x, y unsafe.Pointer, n int)
		switch any(x).(type) {
		case []float32:
			f = vectorBinary32(expr.Div).vs
		case []float64:
			f = vectorBinary64(expr.Div).vs
		}
		if f != nil {
			f(at0(x), at0(x), unsafe.Pointer(d), len(x))
			return
		}
	}
	v := *d
	for i := range x {
		x[i] /= v
	}
}
