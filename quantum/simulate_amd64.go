//go:build !noasm

package quantum

import "golang.org/x/sys/cpu"

// Assembly with AVX2. The Go function of the same name without the suffix specifies each.
// n is a multiple of eight or four.

//go:noescape
func rotateAVX32(xr, xi, ar, ai *float32, er, ei float32, n int)

//go:noescape
func rotateAVX64(xr, xi, ar, ai *float64, er, ei float64, n int)

//go:noescape
func doubleAVX32(r0, s0, r1, s1 *float32, e *[4]float32, n int)

//go:noescape
func doubleAVX64(r0, s0, r1, s1 *float64, e *[4]float64, n int)

//go:noescape
func timesAVX32(ar, ai, fr, fi *float32, n int)

//go:noescape
func timesAVX64(ar, ai, fr, fi *float64, n int)

//go:noescape
func pairsAVX32(r0, s0, r1, s1 *float32, u *[8]float32, n int)

//go:noescape
func pairsAVX64(r0, s0, r1, s1 *float64, u *[8]float64, n int)

func init() {
	if cpu.X86.HasAVX2 {
		loops32 = &stateLoops[float32]{8, rotateAVX32, doubleAVX32, timesAVX32, pairsAVX32}
		loops64 = &stateLoops[float64]{4, rotateAVX64, doubleAVX64, timesAVX64, pairsAVX64}
	}
}
