//go:build !noasm

package cpu

import (
	"math"
	"slices"
	"unsafe"
)

// Each function sets dst[i] = f(x[i]), where f is the Go function of its name in exponential32.go or logarithm32.go, bit for bit.
// It computes a prefix and returns its length: all groups that fit, of 8 elements with AVX2 and of singleGroup with AVX-512.

//go:noescape
func exp2_32AVX2(dst, x *float32, n int) int

//go:noescape
func expm1_32AVX2(dst, x *float32, n int) int

//go:noescape
func tanh32AVX2(dst, x *float32, n int) int

//go:noescape
func log32AVX2(dst, x *float32, n int) int

//go:noescape
func log2_32AVX2(dst, x *float32, n int) int

//go:noescape
func log10_32AVX2(dst, x *float32, n int) int

//go:noescape
func log1p32AVX2(dst, x *float32, n int) int

//go:noescape
func exp2_32AVX512(dst, x *float32, n int) int

//go:noescape
func expm1_32AVX512(dst, x *float32, n int) int

//go:noescape
func tanh32AVX512(dst, x *float32, n int) int

//go:noescape
func log32AVX512(dst, x *float32, n int) int

//go:noescape
func log2_32AVX512(dst, x *float32, n int) int

//go:noescape
func log10_32AVX512(dst, x *float32, n int) int

//go:noescape
func log1p32AVX512(dst, x *float32, n int) int

// singleTable holds the constants of the assembly, each repeated eight times, in the order of singleConstants in
// internal/asm/cpu/exponential32.go.
var singleTable = func() (t [71][8]float32) {
	b := math.Float32frombits
	inf := float32(math.Inf(1))
	constants := slices.Concat(
		[]float32{b(1<<31 - 1), b(1 << 31), 0, 0.5, 1, 2, inf, -inf, float32(math.NaN()), -1, b(126), b(126 + 64), 0x1p-64},
		[]float32{log2e32, shifter32, ln2High32, ln2Low32, exp2_32High, exp2_32Low, exp2_32Normal},
		[]float32{exp2_32C5, exp2_32C4, exp2_32C3, exp2_32C2, exp2_32C1, exp2_32C0},
		[]float32{expm1_32High, expm1_32Low, expm1_32Tiny},
		[]float32{expm1_32C5, expm1_32C4, expm1_32C3, expm1_32C2, expm1_32C1, expm1_32C0},
		[]float32{tanh32Near, tanh32High, tanh32C5, tanh32C4, tanh32C3, tanh32C2, tanh32C1, tanh32C0},
		[]float32{b(log32Split), leastNormal32, subnormalScale, 24, log1p32Far}, log32P[:], log2_32P[:],
		[]float32{log2e32Low, log10e32, log10e32Low, log10Of2High32, log10Of2Low32},
	)
	for i, v := range constants {
		for j := range t[i] {
			t[i][j] = v
		}
	}
	return t
}()

// The assembly alone reads the table; this use keeps it.
var _ = &singleTable

func exp2_32s(dst, x unsafe.Pointer, n int) { each32(exp2_32AVX512, exp2_32AVX2, exp2F32, dst, x, n) }

func expm1s(dst, x unsafe.Pointer, n int)   { each32(expm1_32AVX512, expm1_32AVX2, expm1F32, dst, x, n) }
func tanhs(dst, x unsafe.Pointer, n int)    { each32(tanh32AVX512, tanh32AVX2, tanhF32, dst, x, n) }
func logs(dst, x unsafe.Pointer, n int)     { each32(log32AVX512, log32AVX2, logF32, dst, x, n) }
func log2_32s(dst, x unsafe.Pointer, n int) { each32(log2_32AVX512, log2_32AVX2, log2F32, dst, x, n) }

func log10_32s(dst, x unsafe.Pointer, n int) {
	each32(log10_32AVX512, log10_32AVX2, log10F32, dst, x, n)
}

func log1ps(dst, x unsafe.Pointer, n int) { each32(log1p32AVX512, log1p32AVX2, log1pF32, dst, x, n) }

// singleGroup is the number of elements that the functions compute at a time with AVX-512.
const singleGroup = 32

// each32 computes dst = f(x) on dense blocks. The last elements are computed in a group with ones behind them.
func each32(wide, narrow func(dst, x *float32, n int) int, f func(x float32) float32, dst, x unsafe.Pointer, n int) {
	if n == 0 {
		return
	}
	vector := narrow
	switch {
	case smooth64AVX512:
		vector = wide
	case !smooth64AVX2:
		apply(f, dst, x, n)
		return
	}
	d, s := pair[float32, float32](dst, x, n)
	if done := vector(&d[0], &s[0], n); done < n {
		var v [singleGroup]float32
		for i := copy(v[:], s[done:]); i < len(v); i++ {
			v[i] = 1
		}
		vector(&v[0], &v[0], len(v))
		copy(d[done:], v[:])
	}
}
