//go:build !amd64 || noasm

package cpu

import "unsafe"

// The kernels of float64's smooth functions on dense blocks; dst may be x.

func exp64s(dst, x unsafe.Pointer, n int)   { each64(expF64, dst, x, n) }
func expm164s(dst, x unsafe.Pointer, n int) { each64(expm1F64, dst, x, n) }
func log64s(dst, x unsafe.Pointer, n int)   { each64(logF64, dst, x, n) }
func log1p64s(dst, x unsafe.Pointer, n int) { each64(log1pF64, dst, x, n) }
func tanh64s(dst, x unsafe.Pointer, n int)  { each64(tanhF64, dst, x, n) }
func erf64s(dst, x unsafe.Pointer, n int)   { each64(erfF64, dst, x, n) }

func each64(f func(x float64) float64, dst, x unsafe.Pointer, n int) {
	d, s := pair[float64, float64](dst, x, n)
	for i, v := range s {
		d[i] = f(v)
	}
}

// pow64s computes dst = x^y on dense blocks.
func pow64s(dst, x, y unsafe.Pointer, n int) {
	d, a, b := vectors[float64](dst, x, y, n)
	for i := range d {
		d[i] = powF64(a[i], b[i])
	}
}
