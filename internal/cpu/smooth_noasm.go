//go:build !amd64 || noasm

package cpu

import "unsafe"

// The kernels of float32's smooth functions on dense blocks; dst may be x.

func exps(dst, x unsafe.Pointer, n int)      { each32(expF32, dst, x, n) }
func expm1s(dst, x unsafe.Pointer, n int)    { each32(expm1F32, dst, x, n) }
func logs(dst, x unsafe.Pointer, n int)      { each32(logF32, dst, x, n) }
func log1ps(dst, x unsafe.Pointer, n int)    { each32(log1pF32, dst, x, n) }
func sins(dst, x unsafe.Pointer, n int)      { each32(sinF32, dst, x, n) }
func coss(dst, x unsafe.Pointer, n int)      { each32(cosF32, dst, x, n) }
func tanhs(dst, x unsafe.Pointer, n int)     { each32(tanhF32, dst, x, n) }
func erfs(dst, x unsafe.Pointer, n int)      { each32(erfF32, dst, x, n) }
func sigmoids(dst, x unsafe.Pointer, n int)  { each32(sigmoidF32, dst, x, n) }
func gelus(dst, x unsafe.Pointer, n int)     { each32(geluF32, dst, x, n) }
func geluTanhs(dst, x unsafe.Pointer, n int) { each32(geluTanhF32, dst, x, n) }
func silus(dst, x unsafe.Pointer, n int)     { each32(siluF32, dst, x, n) }

func each32(f func(x float32) float32, dst, x unsafe.Pointer, n int) {
	d, s := pair[float32, float32](dst, x, n)
	for i, v := range s {
		d[i] = f(v)
	}
}
