//go:build !noasm

package cpu

import (
	"math"
	"unsafe"

	"golang.org/x/sys/cpu"
)

// Each function sets dst[i] = f(x[i]) for f of smooth.go, bit for bit. It computes a prefix and returns its
// length, a multiple of 4 with AVX2 and of 8 with AVX-512. It stops at the first vector with an element that f computes on
// another path.

//go:noescape
func sigmoid32AVX2(dst, x *float32, n int) int

//go:noescape
func silu32AVX2(dst, x *float32, n int) int

//go:noescape
func geluTanh32AVX2(dst, x *float32, n int) int

//go:noescape
func gelu32AVX2(dst, x *float32, n int) int

//go:noescape
func erf32AVX2(dst, x *float32, n int) int

//go:noescape
func sigmoid32AVX512(dst, x *float32, n int) int

//go:noescape
func silu32AVX512(dst, x *float32, n int) int

//go:noescape
func geluTanh32AVX512(dst, x *float32, n int) int

//go:noescape
func gelu32AVX512(dst, x *float32, n int) int

//go:noescape
func erf32AVX512(dst, x *float32, n int) int

// expAVX computes eight elements at a time and never stops early.
//
//go:noescape
func expAVX(dst, x *float32, n int) int

// expAVX512 computes sixteen elements at a time. It stops at the first group of sixteen with an element beyond
// exp32Limit.
//
//go:noescape
func expAVX512(dst, x *float32, n int) int

// smoothTable holds the constants of the assembly, each repeated four times, in the order
// of smoothConstants in internal/asm/cpu/smooth.go.
var smoothTable = func() (t [47][4]float64) {
	b := math.Float64frombits
	for i, v := range []float64{
		-expLimit, expLimit, log2e, shifter, ln2, expC6, expC5, expC4, expC3, expC2, expC1, expC0,
		b(1023), 1, b(1<<63 - 1), b(1 << 63),
		erfC8, erfC7, erfC6, erfC5, erfC4, erfC3, erfC2, erfC1, erfC0,
		erfcMax, 3, erfcC13, erfcC12, erfcC11, erfcC10, erfcC9, erfcC8, erfcC7, erfcC6, erfcC5, erfcC4, erfcC3, erfcC2, erfcC1, erfcC0,
		sqrt1_2, gateOuter, gateInner, 0,
	} {
		t[i] = [4]float64{v, v, v, v}
	}
	return t
}()

// exp32Table holds the constants of expF32, each repeated eight times.
var exp32Table = func() (t [12][8]float32) {
	for i, v := range []float32{
		math.Float32frombits(1<<31 - 1), exp32Limit, log2e32, shifter32, ln2High32, ln2Low32,
		exp32C4, exp32C3, exp32C2, exp32C1, exp32C0, 1,
	} {
		for j := range t[i] {
			t[i][j] = v
		}
	}
	return t
}()

// Only the assembly reads the tables; this use keeps them in the program.
var _, _ = &smoothTable, &exp32Table

// smoothAVX and smoothAVX512 report whether the processor supports the functions here.
var (
	smoothAVX    = cpu.X86.HasAVX2
	smoothAVX512 = cpu.X86.HasAVX512F
)

// expVector computes the longest prefix that the assembly supports, of at least sixteen elements.
func expVector(dst, x *float32, n int) int {
	if !smoothAVX512 {
		return expAVX(dst, x, n)
	}
	d, s := unsafe.Slice(dst, n), unsafe.Slice(x, n)
	done := 0
	for n-done >= 16 {
		done += expAVX512(&d[done], &s[done], n-done)
		if n-done >= 16 {
			done += expAVX(&d[done], &s[done], 16)
		}
	}
	if n-done >= 8 {
		done += expAVX(&d[done], &s[done], 8)
	}
	return done
}

func erfs(dst, x unsafe.Pointer, n int) { each64(erf32AVX512, erf32AVX2, erfF32, dst, x, n) }
func sigmoids(dst, x unsafe.Pointer, n int) {
	each64(sigmoid32AVX512, sigmoid32AVX2, sigmoidF32, dst, x, n)
}
func gelus(dst, x unsafe.Pointer, n int) { each64(gelu32AVX512, gelu32AVX2, geluF32, dst, x, n) }
func geluTanhs(dst, x unsafe.Pointer, n int) {
	each64(geluTanh32AVX512, geluTanh32AVX2, geluTanhF32, dst, x, n)
}
func silus(dst, x unsafe.Pointer, n int) { each64(silu32AVX512, silu32AVX2, siluF32, dst, x, n) }

// exps computes exponentials with the assembly for every vector that it supports.
func exps(dst, x unsafe.Pointer, n int) {
	d, s := pair[float32, float32](dst, x, n)
	for len(s) > 0 {
		if smoothAVX && len(s) >= 4 {
			done := expVector(&d[0], &s[0], len(s))
			d, s = d[done:], s[done:]
		}
		m := min(4, len(s))
		for i, v := range s[:m] {
			d[i] = expF32(v)
		}
		d, s = d[m:], s[m:]
	}
}
