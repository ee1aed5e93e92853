//go:build !noasm

package quantum

import "golang.org/x/sys/cpu"

// With AVX2 and FMA; what each does stands with the Go form of its name.

//go:noescape
func combine3AVX32(out, p1, p2, p3 *float32, n int, first bool)

//go:noescape
func combine3AVX64(out, p1, p2, p3 *float64, n int, first bool)

// lanes are four sums of v - shift, then four of its square.
//
//go:noescape
func momentsAVX32(p *float32, n int, shift float64, lanes *[8]float64)

//go:noescape
func momentsAVX64(p *float64, n int, shift float64, lanes *[8]float64)

// 8 x 8
//
//go:noescape
func transposeAVX32(dst *float32, ld int, src *float32, ls int)

// 4 x 4
//
//go:noescape
func transposeAVX64(dst *float64, ld int, src *float64, ls int)

// a panel of 32 columns
//
//go:noescape
func factorsAVX32(out, point, panel *float32, planar, full int)

// a panel of 16 columns
//
//go:noescape
func factorsAVX64(out, point, panel *float64, planar, full int)

func init() {
	if cpu.X86.HasAVX2 && cpu.X86.HasFMA {
		kernels32 = &tileKernels[float32]{8, 8, combine3AVX32, momentsAVX32, transposeAVX32, factorsAVX32}
		kernels64 = &tileKernels[float64]{4, 4, combine3AVX64, momentsAVX64, transposeAVX64, factorsAVX64}
	}
}
