//go:build !noasm

package cpu

import (
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/x448/float16"
)

// mulLoop(8, 12, …)
//
//go:noescape
func kernel8x12(k int, a, b, c *float32, ldc int, add bool)

// mulLoop(8, 6, …)
//
//go:noescape
func kernel8x6(k int, a, b, c *float64, ldc int, add bool)

// The functions of variant.

//go:noescape
func unpackedNEON32(m, n, k int, a *float32, ars, acs int, b *float32, brs int, c *float32, ldc int)

//go:noescape
func unpackedNEON64(m, n, k int, a *float64, ars, acs int, b *float64, brs int, c *float64, ldc int)

//go:noescape
func dotNEON32(x, y *float32, n int) float32

//go:noescape
func dotNEON64(x, y *float64, n int) float64

//go:noescape
func axpy4NEON32(y, x, a *float32, ld, n int)

//go:noescape
func axpy4NEON64(y, x, a *float64, ld, n int)

// for y := range k { for x := range 4 { dst[y*w+x] = src[x*ld+y] } }, k%4 == 0
//
//go:noescape
func packRows4f32(dst *float32, w int, src *float32, ld, k int)

// for y := range k { for x := range 2 { dst[y*w+x] = src[x*ld+y] } }, k%2 == 0
//
//go:noescape
func packRows2f64(dst *float64, w int, src *float64, ld, k int)

// The functions of converters, n a multiple of 8.

//go:noescape
func loadF16(dst *float32, src *float16.Float16, n int)

//go:noescape
func loadBF16(dst *float32, src *bfloat16.BFloat16, n int)

//go:noescape
func storeF16(dst *float16.Float16, src *float32, n int)

// machine returns the NEON variants: every arm64 processor has it.
func machine() ([]*variant[float32], []*variant[float64], converters) {
	v32 := &variant[float32]{
		name: "neon 8x12", mr: 8, nr: 12, kc: 256, mul: kernel8x12,
		mulUnpacked: unpackedNEON32, lanes: 4, vectors: 3,
		packRows4: packRows4f32, dot: dotNEON32, axpy4: axpy4NEON32,
	}
	v64 := &variant[float64]{
		name: "neon 8x6", mr: 8, nr: 6, kc: 256, mul: kernel8x6,
		mulUnpacked: unpackedNEON64, lanes: 2, vectors: 3,
		packRows2: packRows2f64, dot: dotNEON64, axpy4: axpy4NEON64,
	}
	return []*variant[float32]{v32, goVariant[float32]()}, []*variant[float64]{v64, goVariant[float64]()},
		converters{loadF16: loadF16, loadBF16: loadBF16, storeF16: storeF16}
}
