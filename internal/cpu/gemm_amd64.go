//go:build !noasm

package cpu

import (
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/x448/float16"
	"golang.org/x/sys/cpu"
)

// mulLoop(12, 32, …) with AVX-512
//
//go:noescape
func kernel12x32(k int, a, b, c *float32, ldc int, add bool)

// mulLoop(12, 16, …) with AVX-512
//
//go:noescape
func kernel12x16(k int, a, b, c *float64, ldc int, add bool)

// The left half of kernel12x32, and of kernel12x16
//
//go:noescape
func half12x32(k int, a, b, c *float32, ldc int, add bool)

//go:noescape
func half12x16(k int, a, b, c *float64, ldc int, add bool)

// mulLoop(6, 16, …) with AVX2 and FMA
//
//go:noescape
func kernel6x16(k int, a, b, c *float32, ldc int, add bool)

// mulLoop(6, 8, …) with AVX2 and FMA
//
//go:noescape
func kernel6x8(k int, a, b, c *float64, ldc int, add bool)

// variant.mulUnpacked with AVX-512, and with AVX2 and FMA
//
//go:noescape
func unpacked512x32(m, n, k int, a *float32, ars, acs int, b *float32, brs int, c *float32, ldc int)

//go:noescape
func unpacked512x64(m, n, k int, a *float64, ars, acs int, b *float64, brs int, c *float64, ldc int)

//go:noescape
func unpacked256x32(m, n, k int, a *float32, ars, acs int, b *float32, brs int, c *float32, ldc int)

//go:noescape
func unpacked256x64(m, n, k int, a *float64, ars, acs int, b *float64, brs int, c *float64, ldc int)

// for y := range k { for x := range 16 { dst[y*w+x] = src[x*ld+y] } }, k%4 == 0, with AVX-512
//
//go:noescape
func packRows16f32(dst *float32, w int, src *float32, ld, k int)

// for y := range k { for x := range 4 { dst[y*w+x] = src[x*ld+y] } }, k%8 == 0
//
//go:noescape
func packRows4f32(dst *float32, w int, src *float32, ld, k int)

// for y := range k { for x := range 2 { dst[y*w+x] = src[x*ld+y] } }, k%4 == 0
//
//go:noescape
func packRows2f32(dst *float32, w int, src *float32, ld, k int)

// for y := range k { for x := range 4 { dst[y*w+x] = src[x*ld+y] } }, k%4 == 0
//
//go:noescape
func packRows4f64(dst *float64, w int, src *float64, ld, k int)

// for y := range k { for x := range 2 { dst[y*w+x] = src[x*ld+y] } }, k%2 == 0
//
//go:noescape
func packRows2f64(dst *float64, w int, src *float64, ld, k int)

// The functions of convertingPacker and converters for 16-bit elements.

//go:noescape
func packRows4f16(dst *float32, w int, src *float16.Float16, ld, k int)

//go:noescape
func packRows4bf16(dst *float32, w int, src *bfloat16.BFloat16, ld, k int)

//go:noescape
func packStepsF16(dst *float32, w int, src *float16.Float16, step, k int)

//go:noescape
func packStepsBF16(dst *float32, w int, src *bfloat16.BFloat16, step, k int)

//go:noescape
func narrowF16(dst *float16.Float16, ldd int, src *float32, lds, rows, cols int)

//go:noescape
func narrowBF16(dst *bfloat16.BFloat16, ldd int, src *float32, lds, rows, cols int)

// The functions of variant, with AVX2 and FMA.

//go:noescape
func dotAVX32(x, y *float32, n int) float32

//go:noescape
func dotAVX64(x, y *float64, n int) float64

//go:noescape
func dotsAVX32(dst, x, a *float32, ld, k, n int)

//go:noescape
func dotsAVX64(dst, x, a *float64, ld, k, n int)

// variant.dots for n rows, a multiple of 3 (256 bits) or 4.

//go:noescape
func dots256x32(dst, x, a *float32, ld, k, n int)

//go:noescape
func dots256x64(dst, x, a *float64, ld, k, n int)

//go:noescape
func dots512x32(dst, x, a *float32, ld, k, n int)

//go:noescape
func dots512x64(dst, x, a *float64, ld, k, n int)

// rowDots makes variant.dots from several, which needs a multiple of `rows` rows, and rest.
func rowDots[T floating](rows int, several, rest func(dst, x, a *T, ld, k, n int)) func(dst, x, a *T, ld, k, n int) {
	return func(dst, x, a *T, ld, k, n int) {
		whole := n - n%rows
		if whole > 0 {
			several(dst, x, a, ld, k, whole)
		}
		if n > whole {
			rest(offset(dst, whole), x, offset(a, whole*ld), ld, k, n-whole)
		}
	}
}

// k steps of axpy on 256 bytes of y, k > 0.

//go:noescape
func columns512x32(y, x, a *float32, ld, k int)

//go:noescape
func columns512x64(y, x, a *float64, ld, k int)

//go:noescape
func axpy4AVX32(y, x, a *float32, ld, n int)

//go:noescape
func axpy4AVX64(y, x, a *float64, ld, n int)

// The functions of converters, n a multiple of 8.

//go:noescape
func loadF16(dst *float32, src *float16.Float16, n int)

//go:noescape
func loadBF16(dst *float32, src *bfloat16.BFloat16, n int)

//go:noescape
func loadI8(dst *float32, src *int8, n int)

//go:noescape
func loadU8(dst *float32, src *uint8, n int)

//go:noescape
func splitC64(re, im *float32, src *complex64, n int)

//go:noescape
func splitC128(re, im *float64, src *complex128, n int)

//go:noescape
func storeF16(dst *float16.Float16, src *float32, n int)

//go:noescape
func storeBF16(dst *bfloat16.BFloat16, src *float32, n int)

//go:noescape
func addI32(dst *int32, src *float32, n int)

//go:noescape
func joinC64(dst *complex64, re, im *float32, n int)

//go:noescape
func joinC128(dst *complex128, re, im *float64, n int)

// machine returns the variants and converters that the processor supports.
func machine() (v32 []*variant[float32], v64 []*variant[float64], c converters) {
	avx2 := cpu.X86.HasAVX2 && cpu.X86.HasFMA
	if avx2 && cpu.X86.HasAVX512F {
		v32 = append(v32, &variant[float32]{
			name: "avx512 12x32", mr: 12, nr: 32, kc: 256, mul: kernel12x32, mulHalf: half12x32,
			mulUnpacked: unpacked512x32, mulNarrow: unpacked256x32, lanes: 16, vectors: 2, masked: true,
			packRows16: packRows16f32, packRows4: packRows4f32, packRows2: packRows2f32, dot: dotAVX32, dots: rowDots(4, dots512x32, dotsAVX32), columns: columns512x32, columnsWidth: 64, axpy4: axpy4AVX32,
			dotsFour: dotsFour512, columnsFour: columnsFour512,
		})
		v64 = append(v64, &variant[float64]{
			name: "avx512 12x16", mr: 12, nr: 16, kc: 192, mul: kernel12x16, mulHalf: half12x16,
			mulUnpacked: unpacked512x64, mulNarrow: unpacked256x64, lanes: 8, vectors: 2, masked: true,
			packRows4: packRows4f64, packRows2: packRows2f64, dot: dotAVX64, dots: rowDots(4, dots512x64, dotsAVX64), columns: columns512x64, columnsWidth: 32, axpy4: axpy4AVX64,
		})
	}
	if avx2 {
		v32 = append(v32, &variant[float32]{
			name: "avx2 6x16", mr: 6, nr: 16, kc: 256, mul: kernel6x16,
			mulUnpacked: unpacked256x32, lanes: 8, vectors: 2, masked: true,
			packRows4: packRows4f32, packRows2: packRows2f32, dot: dotAVX32, dots: rowDots(3, dots256x32, dotsAVX32), axpy4: axpy4AVX32,
		})
		v64 = append(v64, &variant[float64]{
			name: "avx2 6x8", mr: 6, nr: 8, kc: 256, mul: kernel6x8,
			mulUnpacked: unpacked256x64, lanes: 4, vectors: 2, masked: true,
			packRows4: packRows4f64, packRows2: packRows2f64, dot: dotAVX64, dots: rowDots(3, dots256x64, dotsAVX64), axpy4: axpy4AVX64,
		})
		c = converters{
			loadBF16: loadBF16, storeBF16: storeBF16, loadI8: loadI8, loadU8: loadU8, addI32: addI32,
			splitC64: splitC64, splitC128: splitC128, joinC64: joinC64, joinC128: joinC128,
			rows4BF16: packRows4bf16, stepsBF16: packStepsBF16, narrowBF16: narrowBF16,
		}
		const f16c = 1 << 29 // a bit of ECX of leaf 1; a processor with AVX2 has it, an emulator may not
		if _, _, ecx, _ := cpuid(1, 0); ecx&f16c != 0 {
			c.loadF16, c.storeF16 = loadF16, storeF16
			c.rows4F16, c.stepsF16, c.narrowF16 = packRows4f16, packStepsF16, narrowF16
		}
	}
	return append(v32, goVariant[float32]()), append(v64, goVariant[float64]()), c
}
