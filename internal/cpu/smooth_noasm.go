//go:build !amd64 || noasm

package cpu

import "unsafe"

// The kernels of smooth functions on dense blocks, of float32 and then of float64; dst may be x.

func exps(dst, x unsafe.Pointer, n int)      { apply(expF32, dst, x, n) }
func expm1s(dst, x unsafe.Pointer, n int)    { apply(expm1F32, dst, x, n) }
func logs(dst, x unsafe.Pointer, n int)      { apply(logF32, dst, x, n) }
func log1ps(dst, x unsafe.Pointer, n int)    { apply(log1pF32, dst, x, n) }
func sins(dst, x unsafe.Pointer, n int)      { apply(sinF32, dst, x, n) }
func coss(dst, x unsafe.Pointer, n int)      { apply(cosF32, dst, x, n) }
func tanhs(dst, x unsafe.Pointer, n int)     { apply(tanhF32, dst, x, n) }
func erfs(dst, x unsafe.Pointer, n int)      { apply(erfF32, dst, x, n) }
func sigmoids(dst, x unsafe.Pointer, n int)  { apply(sigmoidF32, dst, x, n) }
func gelus(dst, x unsafe.Pointer, n int)     { apply(geluF32, dst, x, n) }
func geluTanhs(dst, x unsafe.Pointer, n int) { apply(geluTanhF32, dst, x, n) }
func tan32s(dst, x unsafe.Pointer, n int)    { apply(tanF32, dst, x, n) }
func silus(dst, x unsafe.Pointer, n int)     { apply(siluF32, dst, x, n) }

func exp64s(dst, x unsafe.Pointer, n int)   { apply(expF64, dst, x, n) }
func expm164s(dst, x unsafe.Pointer, n int) { apply(expm1F64, dst, x, n) }
func log64s(dst, x unsafe.Pointer, n int)   { apply(logF64, dst, x, n) }
func log1p64s(dst, x unsafe.Pointer, n int) { apply(log1pF64, dst, x, n) }
func tanh64s(dst, x unsafe.Pointer, n int)  { apply(tanhF64, dst, x, n) }
func erf64s(dst, x unsafe.Pointer, n int)   { apply(erfF64, dst, x, n) }

func exp2_64s(dst, x unsafe.Pointer, n int)  { apply(exp2F64, dst, x, n) }
func log2_64s(dst, x unsafe.Pointer, n int)  { apply(log2F64, dst, x, n) }
func log10_64s(dst, x unsafe.Pointer, n int) { apply(log10F64, dst, x, n) }

func exp2_32s(dst, x unsafe.Pointer, n int)  { apply(exp2F32, dst, x, n) }
func log2_32s(dst, x unsafe.Pointer, n int)  { apply(log2F32, dst, x, n) }
func log10_32s(dst, x unsafe.Pointer, n int) { apply(log10F32, dst, x, n) }

func cbrt64s(dst, x unsafe.Pointer, n int) { apply(cbrtF64, dst, x, n) }
func cbrt32s(dst, x unsafe.Pointer, n int) { apply(cbrtF32, dst, x, n) }

func sinh64s(dst, x unsafe.Pointer, n int)  { apply(sinhF64, dst, x, n) }
func cosh64s(dst, x unsafe.Pointer, n int)  { apply(coshF64, dst, x, n) }
func asinh64s(dst, x unsafe.Pointer, n int) { apply(asinhF64, dst, x, n) }
func acosh64s(dst, x unsafe.Pointer, n int) { apply(acoshF64, dst, x, n) }
func atanh64s(dst, x unsafe.Pointer, n int) { apply(atanhF64, dst, x, n) }

func sinh32s(dst, x unsafe.Pointer, n int)  { apply(sinhF32, dst, x, n) }
func cosh32s(dst, x unsafe.Pointer, n int)  { apply(coshF32, dst, x, n) }
func asinh32s(dst, x unsafe.Pointer, n int) { apply(asinhF32, dst, x, n) }
func acosh32s(dst, x unsafe.Pointer, n int) { apply(acoshF32, dst, x, n) }
func atanh32s(dst, x unsafe.Pointer, n int) { apply(atanhF32, dst, x, n) }

func sin64s(dst, x unsafe.Pointer, n int) { apply(sinF64, dst, x, n) }
func cos64s(dst, x unsafe.Pointer, n int) { apply(cosF64, dst, x, n) }
func tan64s(dst, x unsafe.Pointer, n int) { apply(tanF64, dst, x, n) }

// pow64s computes dst[i] = x[i]^y[i] of n float64, and pow32s of n float32.
func pow64s(dst, x, y unsafe.Pointer, n int) { mapped(powF64).vv(dst, x, y, n) }
func pow32s(dst, x, y unsafe.Pointer, n int) { mapped(powF32).vv(dst, x, y, n) }

func floorDivideBlock(x, y, _ []float64) { divideBlock(floorDivideF64, x, y) }
func remainderBlock(x, y, _ []float64)   { divideBlock(remainderF64, x, y) }

func divideBlock(f func(x, y float64) float64, x, y []float64) {
	for i, v := range x {
		x[i] = f(v, y[i])
	}
}
