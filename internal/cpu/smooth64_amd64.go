//go:build !noasm

package cpu

import (
	"math"
	"slices"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// Each function sets dst[i] = f(x[i]), where f is the Go function of its name, bit for bit. It
// computes a prefix and returns its length, a multiple of 4 with AVX2 and of 8 with AVX-512. It
// stops at the first vector with an element that f computes on another path.

//go:noescape
func exp64AVX2(dst, x *float64, n int) int

//go:noescape
func expm164AVX2(dst, x *float64, n int) int

//go:noescape
func log64AVX2(dst, x *float64, n int) int

//go:noescape
func log1p64AVX2(dst, x *float64, n int) int

//go:noescape
func tanh64AVX2(dst, x *float64, n int) int

//go:noescape
func erf64AVX2(dst, x *float64, n int) int

//go:noescape
func exp2_64AVX2(dst, x *float64, n int) int

//go:noescape
func log2_64AVX2(dst, x *float64, n int) int

//go:noescape
func log10_64AVX2(dst, x *float64, n int) int

//go:noescape
func cbrt64AVX2(dst, x *float64, n int) int

//go:noescape
func pow64AVX2(dst, x, y *float64, n int) int

//go:noescape
func pow32AVX2(dst, x, y *float32, n int) int

//go:noescape
func exp64AVX512(dst, x *float64, n int) int

//go:noescape
func expm164AVX512(dst, x *float64, n int) int

//go:noescape
func log64AVX512(dst, x *float64, n int) int

//go:noescape
func log1p64AVX512(dst, x *float64, n int) int

//go:noescape
func tanh64AVX512(dst, x *float64, n int) int

//go:noescape
func erf64AVX512(dst, x *float64, n int) int

//go:noescape
func exp2_64AVX512(dst, x *float64, n int) int

//go:noescape
func log2_64AVX512(dst, x *float64, n int) int

//go:noescape
func log10_64AVX512(dst, x *float64, n int) int

//go:noescape
func cbrt64AVX512(dst, x *float64, n int) int

//go:noescape
func pow64AVX512(dst, x, y *float64, n int) int

//go:noescape
func pow32AVX512(dst, x, y *float32, n int) int

//go:noescape
func sin64AVX2(dst, x *float64, n int) int

//go:noescape
func cos64AVX2(dst, x *float64, n int) int

//go:noescape
func tan64AVX2(dst, x *float64, n int) int

//go:noescape
func sin64AVX512(dst, x *float64, n int) int

//go:noescape
func cos64AVX512(dst, x *float64, n int) int

//go:noescape
func tan64AVX512(dst, x *float64, n int) int

// smooth64Table holds the constants of the assembly, each repeated four times, in the order of
// smooth64Constants in internal/asm/cpu/smooth64.go.
var smooth64Table = func() (t [170][4]float64) {
	b := math.Float64frombits
	constants := slices.Concat(
		[]float64{1, 2, 0.5, b(1<<63 - 1), b(1 << 63), 0, math.Inf(1), b(1023), log2e, shifter, ln2High, ln2Low},
		[]float64{exp64C9, exp64C8, exp64C7, exp64C6, exp64C5, exp64C4, exp64C3, exp64C2, exp64C1, exp64C0},
		[]float64{normalExponent, expm1Low, expm1High, tanhHigh, leastNormal, b(one64 - half64), b(0x4330 << 48), 0x1p52 + 1023},
		[]float64{log64C6, log64C5, log64C4, log64C3, log64C2, log64C1, log64C0, -1, log1p64Up, b(2046 << 52)},
		[]float64{inverseC2, inverseC1, inverseC0, b(1<<52 - 1), erf64Max, logErfc1, logErfc1Rest},
		erf64R[:], erf64G[:],
		[]float64{erf64Mid, b(half64), math.Ln2, ln2Rest, -0.5, b(one64 - logFrom), b(logFrom), b(one64 - powFrom), b(powFrom)}, powLog[:],
		[]float64{logBase2.two, logBase2.twoLow, logBase2.e, logBase2.eLow}, logBase2.c[:],
		[]float64{logBase10.two, logBase10.twoLow, logBase10.e, logBase10.eLow}, logBase10.c[:],
		[]float64{b(cbrtStart), b(cbrtMask), b((1<<32 + 2) / 3), twoThirds, fiveNinths}, cbrtC[:],
		[]float64{hyperbolicTiny, hyperbolicFar, math.Pi / 4, trigLimit, twoOverPi, halfPi1, halfPi2, halfPi3, halfPiCancelled, b(1)},
		[]float64{sin64C6, sin64C5, sin64C4, sin64C3, sin64C2, sin64C1, sin64C0},
		[]float64{cos64C6, cos64C5, cos64C4, cos64C3, cos64C2, cos64C1, cos64C0, leastNormal32},
		pow32Log[:], pow32Exp[:], []float64{pow32Limit, -pow32Limit, math.NaN()},
	)
	for i, v := range constants {
		t[i] = [4]float64{v, v, v, v}
	}
	return t
}()

// Only the assembly reads the table; this use keeps it in the program.
var _ = &smooth64Table

// smooth64AVX2 and smooth64AVX512 report whether the processor supports the functions here.
var (
	smooth64AVX2   = cpu.X86.HasAVX2 && cpu.X86.HasFMA
	smooth64AVX512 = smooth64AVX2 && cpu.X86.HasAVX512F
)

func exp64s(dst, x unsafe.Pointer, n int)   { each64(exp64AVX512, exp64AVX2, expF64, dst, x, n) }
func expm164s(dst, x unsafe.Pointer, n int) { each64(expm164AVX512, expm164AVX2, expm1F64, dst, x, n) }
func log64s(dst, x unsafe.Pointer, n int)   { each64(log64AVX512, log64AVX2, logF64, dst, x, n) }
func log1p64s(dst, x unsafe.Pointer, n int) { each64(log1p64AVX512, log1p64AVX2, log1pF64, dst, x, n) }
func tanh64s(dst, x unsafe.Pointer, n int)  { each64(tanh64AVX512, tanh64AVX2, tanhF64, dst, x, n) }
func erf64s(dst, x unsafe.Pointer, n int)   { each64(erf64AVX512, erf64AVX2, erfF64, dst, x, n) }

func exp2_64s(dst, x unsafe.Pointer, n int) { each64(exp2_64AVX512, exp2_64AVX2, exp2F64, dst, x, n) }

func log2_64s(dst, x unsafe.Pointer, n int) { each64(log2_64AVX512, log2_64AVX2, log2F64, dst, x, n) }

func log10_64s(dst, x unsafe.Pointer, n int) {
	each64(log10_64AVX512, log10_64AVX2, log10F64, dst, x, n)
}

func cbrt64s(dst, x unsafe.Pointer, n int) { each64(cbrt64AVX512, cbrt64AVX2, cbrtF64, dst, x, n) }

func sin64s(dst, x unsafe.Pointer, n int) { each64(sin64AVX512, sin64AVX2, sinF64, dst, x, n) }
func cos64s(dst, x unsafe.Pointer, n int) { each64(cos64AVX512, cos64AVX2, cosF64, dst, x, n) }
func tan64s(dst, x unsafe.Pointer, n int) { each64(tan64AVX512, tan64AVX2, tanF64, dst, x, n) }

// each64 computes dst = f(x) on dense blocks. It uses the assembly for every vector that it supports. The assembly computes
// in float64, whatever T is.
func each64[T float32 | float64](wide, narrow func(dst, x *T, n int) int, f func(x T) T, dst, x unsafe.Pointer, n int) {
	d, s := pair[T, T](dst, x, n)
	for len(s) > 0 {
		if smooth64AVX512 && len(s) >= 8 {
			done := wide(&d[0], &s[0], len(s))
			d, s = d[done:], s[done:]
		}
		if smooth64AVX2 && len(s) >= 4 {
			m := len(s)
			if smooth64AVX512 {
				m = 4 // then wide again
			}
			done := narrow(&d[0], &s[0], m)
			d, s = d[done:], s[done:]
			if done > 0 {
				continue
			}
		}
		m := min(4, len(s))
		for i, v := range s[:m] {
			d[i] = f(v)
		}
		d, s = d[m:], s[m:]
	}
}

// pow64s computes dst[i] = x[i]^y[i] of n float64, and pow32s of n float32.
func pow64s(dst, x, y unsafe.Pointer, n int) {
	both64(pow64AVX512, pow64AVX2, powF64, dst, x, y, n)
}

func pow32s(dst, x, y unsafe.Pointer, n int) {
	both64(pow32AVX512, pow32AVX2, powF32, dst, x, y, n)
}

// both64 is each64 for functions of two operands.
func both64[T float32 | float64](wide, narrow func(dst, x, y *T, n int) int, f func(x, y T) T, dst, x, y unsafe.Pointer, n int) {
	d, a, b := vectors[T](dst, x, y, n)
	for len(d) > 0 {
		done := 0
		switch {
		case smooth64AVX512 && len(d) >= 8:
			done = wide(&d[0], &a[0], &b[0], len(d))
		case smooth64AVX2 && len(d) >= 4:
			done = narrow(&d[0], &a[0], &b[0], len(d))
		}
		d, a, b = d[done:], a[done:], b[done:]
		m := min(4, len(d))
		for i := range d[:m] {
			d[i] = f(a[i], b[i])
		}
		d, a, b = d[m:], a[m:], b[m:]
	}
}
