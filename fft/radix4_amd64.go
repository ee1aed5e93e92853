//go:build amd64 && !noasm

package fft

import "golang.org/x/sys/cpu"

// vector reports whether the processor has the instructions of the assembly.
var vector = cpu.X86.HasAVX2

// vector4x64 computes count rows of n butterflies of four. In row r, with x[r*ys:], y[4*r*ys:] and w[3*r:] for x, y and w,
//
//	a, b, c, d := four(x[i], x[xs+i], x[2*xs+i], x[3*xs+i])
//	y[i], y[ys+i], y[2*ys+i], y[3*ys+i] = a, b*w[0], c*w[1], d*w[2]
//
// n > 0 is a multiple of 2, and count > 0. The bits are those of run4's loop.
//
//go:noescape
func vector4x64(y, x, w *complex128, ys, xs, n, count int)

// vector4x32 is vector4x64 with float32 products; n is a multiple of 4. The loop's products of
// complex64 are sums in float64.
//
//go:noescape
func vector4x32(y, x, w *complex64, ys, xs, n, count int)

// first4x64 computes n butterflies of the first stage: with the twiddle factors of butterfly i at
// w[i], w[m+i] and w[2*m+i],
//
//	a, b, c, d := four(x[i], x[m+i], x[2*m+i], x[3*m+i])
//	y[4*i], y[4*i+1], y[4*i+2], y[4*i+3] = a, b*w[i], c*w[m+i], d*w[2*m+i]
//
// n > 0 is a multiple of 2. The bits are those of first4's loop.
//
//go:noescape
func first4x64(y, x, w *complex128, m, n int)

// first4x32 is first4x64 with float32 products; n is a multiple of 4.
//
//go:noescape
func first4x32(y, x, w *complex64, m, n int)
