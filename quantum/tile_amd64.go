//go:build !noasm

package quantum

import "golang.org/x/sys/cpu"

// Assembly with AVX2 and FMA, or with AVX-512F if the name contains AVX512F. The Go
// function of the same name without the suffix specifies each.

//go:noescape
func combine3AVX32(out *float32, ld int, p1, p2, p3 *float32, lp, rows, n int, first bool)

//go:noescape
func combine3AVX64(out *float64, ld int, p1, p2, p3 *float64, lp, rows, n int, first bool)

//go:noescape
func momentsAVX32(p *float32, ld, rows, n int, shift float64, sums *laneSums)

//go:noescape
func momentsAVX64(p *float64, ld, rows, n int, shift float64, sums *laneSums)

//go:noescape
func factorsAVX32(out *float32, ld int, packed, point, panel *float32, rows, planar, full int, ahead *float32, la int)

//go:noescape
func factorsAVX64(out *float64, ld int, packed, point, panel *float64, rows, planar, full int, ahead *float64, la int)

//go:noescape
func mirrorAVX32(dst *float32, ld int, packed *float32, rows, cols int, shift float64, sums *laneSums)

//go:noescape
func mirrorAVX64(dst *float64, ld int, packed *float64, rows, cols int, shift float64, sums *laneSums)

//go:noescape
func factorsAVX512F32(out *float32, ld int, packed, point, panel *float32, rows, planar, full int, ahead *float32, la int)

//go:noescape
func factorsAVX512F64(out *float64, ld int, packed, point, panel *float64, rows, planar, full int, ahead *float64, la int)

func init() {
	if !cpu.X86.HasAVX2 || !cpu.X86.HasFMA {
		return
	}
	kernels32 = &tileKernels[float32]{8, combine3AVX32, momentsAVX32, factorsAVX32, mirrorAVX32}
	kernels64 = &tileKernels[float64]{4, combine3AVX64, momentsAVX64, factorsAVX64, mirrorAVX64}
	if cpu.X86.HasAVX512F {
		without32, without64 := *kernels32, *kernels64
		narrower32, narrower64 = &without32, &without64
		kernels32.factors, kernels64.factors = factorsAVX512F32, factorsAVX512F64
	}
}
