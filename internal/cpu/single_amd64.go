//go:build !noasm

package cpu

import (
	"math"
	"slices"
	"unsafe"
)

// Each function sets dst[i] = f(x[i]), where f is the Go function of its name, bit for bit. It computes a prefix and returns its
// length: all groups that fit, of 8 elements with AVX2 and of singleGroup with AVX-512. Sin, cos, tan, asinh, acosh, atanh and atan2 stop
// before a group with an element that f computes on another path. Atan2 has groups of 16 with AVX-512.

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

//go:noescape
func atan32AVX2(dst, x *float32, n int) int

//go:noescape
func asin32AVX2(dst, x *float32, n int) int

//go:noescape
func acos32AVX2(dst, x *float32, n int) int

//go:noescape
func sinh32AVX2(dst, x *float32, n int) int

//go:noescape
func cosh32AVX2(dst, x *float32, n int) int

//go:noescape
func cbrt32AVX2(dst, x *float32, n int) int

//go:noescape
func sin32AVX2(dst, x *float32, n int) int

//go:noescape
func cos32AVX2(dst, x *float32, n int) int

//go:noescape
func tan32AVX2(dst, x *float32, n int) int

//go:noescape
func asinh32AVX2(dst, x *float32, n int) int

//go:noescape
func acosh32AVX2(dst, x *float32, n int) int

//go:noescape
func atanh32AVX2(dst, x *float32, n int) int

//go:noescape
func atan32AVX512(dst, x *float32, n int) int

//go:noescape
func asin32AVX512(dst, x *float32, n int) int

//go:noescape
func acos32AVX512(dst, x *float32, n int) int

//go:noescape
func sinh32AVX512(dst, x *float32, n int) int

//go:noescape
func cosh32AVX512(dst, x *float32, n int) int

//go:noescape
func cbrt32AVX512(dst, x *float32, n int) int

//go:noescape
func sin32AVX512(dst, x *float32, n int) int

//go:noescape
func cos32AVX512(dst, x *float32, n int) int

//go:noescape
func tan32AVX512(dst, x *float32, n int) int

//go:noescape
func asinh32AVX512(dst, x *float32, n int) int

//go:noescape
func acosh32AVX512(dst, x *float32, n int) int

//go:noescape
func atanh32AVX512(dst, x *float32, n int) int

//go:noescape
func atan2_32AVX2(dst, x, y *float32, n int) int

//go:noescape
func atan2_32AVX512(dst, x, y *float32, n int) int

// singleTable holds the constants of the assembly, each repeated eight times, in the order of singleConstants in
// internal/asm/cpu/exponential32.go.
var singleTable = func() (t [146][8]float32) {
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
		[]float32{b(1), trig32Tiny, trig32Limit, twoOverPi32, halfPi32A, halfPi32B, halfPi32C},
		[]float32{sin32C3, sin32C2, sin32C1, sin32C0, cos32C2, cos32C1, cos32C0}, tan32P[:],
		[]float32{halfPi32, halfPi32Rest, 2 * halfPi32, 2 * halfPi32Rest, atan32Far}, atan32P[:], asin32P[:],
		[]float32{b(125), b(250 << 23), sinh32C2, sinh32C1, sinh32C0, cosh32C2, cosh32C1, cosh32C0},
		[]float32{hyperbolic32High, hyperbolic32Tiny, arc32Far, arc32Least, asinh32Near}, asinh32P[:], atanh32P[:], []float32{-1.0 / 3, 7.0 / 6},
		[]float32{b(cbrt32Start), third32, twoNinths32, cbrt32Small, cbrt32Up, cbrt32Down},
	)
	for i, v := range constants {
		for j := range t[i] {
			t[i][j] = v
		}
	}
	return t
}()

// Only the assembly reads the table; this use keeps it in the program.
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

func atan32s(dst, x unsafe.Pointer, n int) { each32(atan32AVX512, atan32AVX2, atanF32, dst, x, n) }
func asin32s(dst, x unsafe.Pointer, n int) { each32(asin32AVX512, asin32AVX2, asinF32, dst, x, n) }
func acos32s(dst, x unsafe.Pointer, n int) { each32(acos32AVX512, acos32AVX2, acosF32, dst, x, n) }
func sinh32s(dst, x unsafe.Pointer, n int) { each32(sinh32AVX512, sinh32AVX2, sinhF32, dst, x, n) }
func cosh32s(dst, x unsafe.Pointer, n int) { each32(cosh32AVX512, cosh32AVX2, coshF32, dst, x, n) }
func cbrt32s(dst, x unsafe.Pointer, n int) { each32(cbrt32AVX512, cbrt32AVX2, cbrtF32, dst, x, n) }

// Each of these computes the elements between two bounds in float32, and the others in float64.

func sins(dst, x unsafe.Pointer, n int) {
	partly32(sin32AVX512, sin32AVX2, sinF32, sin64s, -trig32Limit, trig32Limit, dst, x, n)
}

func coss(dst, x unsafe.Pointer, n int) {
	partly32(cos32AVX512, cos32AVX2, cosF32, cos64s, -trig32Limit, trig32Limit, dst, x, n)
}

func tan32s(dst, x unsafe.Pointer, n int) {
	partly32(tan32AVX512, tan32AVX2, tanF32, tan64s, -trig32Limit, trig32Limit, dst, x, n)
}

func asinh32s(dst, x unsafe.Pointer, n int) {
	partly32(asinh32AVX512, asinh32AVX2, asinhF32, asinh64s, -math.MaxFloat32, math.MaxFloat32, dst, x, n)
}

func acosh32s(dst, x unsafe.Pointer, n int) {
	partly32(acosh32AVX512, acosh32AVX2, acoshF32, acosh64s, 1, math.MaxFloat32, dst, x, n)
}

func atanh32s(dst, x unsafe.Pointer, n int) {
	partly32(atanh32AVX512, atanh32AVX2, atanhF32, atanh64s, -below1, below1, dst, x, n)
}

// below1 is the largest float32 below 1.
const below1 = 1 - 0x1p-24

// atan2_32s computes the angles of the points (x, y). y is the first operand.
func atan2_32s(dst, y, x unsafe.Pointer, n int) {
	vector, group := atan2_32AVX2, 8
	switch {
	case smooth64AVX512:
		vector, group = atan2_32AVX512, 16
	case !smooth64AVX2:
		mapped(atan2F32).vv(dst, y, x, n)
		return
	}
	d, a, b := vectors[float32](dst, y, x, n)
	for len(d) > 0 {
		done := vector(&d[0], &a[0], &b[0], len(d))
		d, a, b = d[done:], a[done:], b[done:]
		m := min(group, len(d))
		if m == 0 {
			return
		}
		var v, w [singleGroup]float32
		for i := range group {
			v[i], w[i] = 1, 1
			if i < m && atan2Inside(a[i], b[i]) {
				v[i], w[i] = a[i], b[i]
			}
		}
		vector(&v[0], &v[0], &w[0], group)
		for i, y := range a[:m] {
			if x := b[i]; atan2Inside(y, x) {
				d[i] = v[i]
			} else {
				d[i] = atan2F32(y, x)
			}
		}
		d, a, b = d[m:], a[m:], b[m:]
	}
}

// singleGroup is the number of elements that the functions compute at a time with AVX-512.
const singleGroup = 32

// each32 computes dst = f(x) on dense blocks. The last elements are computed in a group with ones after them.
func each32(wide, narrow func(dst, x *float32, n int) int, f func(x float32) float32, dst, x unsafe.Pointer, n int) {
	vector, group := narrow, 8
	switch {
	case n == 0:
		return
	case smooth64AVX512:
		vector, group = wide, singleGroup
	case !smooth64AVX2:
		apply(f, dst, x, n)
		return
	}
	d, s := pair[float32, float32](dst, x, n)
	if done := vector(&d[0], &s[0], n); done < n {
		var v [singleGroup]float32
		for i := copy(v[:], s[done:]); i < group; i++ {
			v[i] = 1
		}
		vector(&v[0], &v[0], group)
		copy(d[done:], v[:])
	}
}

// partly32 computes dst = f(x) on dense blocks. In a group that the assembly leaves out, and in the last one, it replaces the
// elements that are not between low and high by high. The kernel far of float64 computes these elements.
func partly32(wide, narrow func(dst, x *float32, n int) int, f func(x float32) float32, far func(dst, x unsafe.Pointer, n int), low, high float32, dst, x unsafe.Pointer, n int) {
	vector, group := narrow, 8
	switch {
	case smooth64AVX512:
		vector, group = wide, singleGroup
	case !smooth64AVX2:
		apply(f, dst, x, n)
		return
	}
	d, s := pair[float32, float32](dst, x, n)
	for len(s) > 0 {
		done := vector(&d[0], &s[0], len(s))
		d, s = d[done:], s[done:]
		m := min(group, len(s))
		if m == 0 {
			return
		}
		var v [singleGroup]float32
		var rest [singleGroup]float64
		var places [singleGroup]uint8
		count := 0
		for i := range group {
			v[i] = high
			switch {
			case i >= m:
			case s[i] >= low && s[i] <= high:
				v[i] = s[i]
			default:
				rest[count], places[count] = float64(s[i]), uint8(i)
				count++
			}
		}
		vector(&v[0], &v[0], group)
		copy(d[:m], v[:])
		if count > 0 {
			far(unsafe.Pointer(&rest), unsafe.Pointer(&rest), count)
			for i, place := range places[:count] {
				d[place] = float32(rest[i])
			}
		}
		d, s = d[m:], s[m:]
	}
}
