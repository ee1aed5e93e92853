package cpu

import (
	"math"
	"unsafe"

	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/expr"
)

// Norm computes LayerNorm, (x - mean)/sqrt(var + eps) gamma + beta, or RMSNorm,
// x/sqrt(mean x^2 + eps) gamma, along the last axis, rounded once. gamma and beta
// are dense and have that axis' length; nil stands for 1 and 0. dst has x's type.
//
// Shapes, strides and aliasing are as for CumSum.
func Norm(op expr.Op, xt dtype.DType, shape []int, x unsafe.Pointer, xs []int, gamma, beta unsafe.Pointer, eps float64, dst unsafe.Pointer, ds []int) error {
	if op != expr.LayerNorm && op != expr.RMSNorm || !xt.IsFloat() || len(shape) == 0 {
		return unsupported(op, xt)
	}
	l := newLines(xt, xt, shape, len(shape)-1, x, xs, dst, ds)
	if xt == dtype.Float64 {
		each(l, lineLoader(xt), lineStorer(xt), normOf[float64](op, xt, l.n, gamma, beta, eps))
	} else {
		each(l, lineLoader(xt), lineStorer(xt), normOf[float32](op, xt, l.n, gamma, beta, eps))
	}
	return nil
}

// normOf returns the norm of one line of n elements, as T.
func normOf[T float32 | float64](op expr.Op, xt dtype.DType, n int, gamma, beta unsafe.Pointer, eps float64) func(in, out []T) {
	g, b := make([]T, n), make([]T, n)
	for i := range g {
		g[i] = 1
	}
	if gamma != nil {
		lineLoader(xt)(at0(g), gamma, xt.Size(), n)
	}
	if beta != nil {
		lineLoader(xt)(at0(b), beta, xt.Size(), n)
	}
	if g, ok := any(g).([]float32); ok && vectorAVX {
		return any(norm32(op, g, any(b).([]float32), eps)).(func(in, out []T))
	}
	if op == expr.RMSNorm {
		return func(in, out []T) {
			scale := 1 / math.Sqrt(squaresOf(in, 0)/float64(len(in))+eps)
			for i, v := range in {
				out[i] = T(float64(v) * scale * float64(g[i]))
			}
		}
	}
	return func(in, out []T) {
		mean := sumOf(in) / float64(len(in))
		mean += deviationOf(in, mean) / float64(len(in)) // corrects the rounding error of the mean
		scale := 1 / math.Sqrt(squaresOf(in, mean)/float64(len(in))+eps)
		for i, v := range in {
			out[i] = T(float64((float64(v)-mean)*scale*float64(g[i])) + float64(b[i]))
		}
	}
}

// norm32 is normOf for float32 with vector code, with the same bits.
func norm32(op expr.Op, g, b []float32, eps float64) func(in, out []float32) {
	n := len(g)
	whole := n &^ 3
	if op == expr.RMSNorm {
		return func(in, out []float32) {
			scale := 1 / math.Sqrt(squaresOf32(in, 0)/float64(n)+eps)
			if whole > 0 {
				gain32(at0(out), at0(in), at0(g), scale, whole)
			}
			for i := whole; i < n; i++ {
				out[i] = float32(float64(in[i]) * scale * float64(g[i]))
			}
		}
	}
	return func(in, out []float32) {
		mean := sumOf32(in) / float64(n)
		mean += deviationOf32(in, mean) / float64(n)
		scale := 1 / math.Sqrt(squaresOf32(in, mean)/float64(n)+eps)
		if whole > 0 {
			normalize32(at0(out), at0(in), at0(g), at0(b), mean, scale, whole)
		}
		for i := whole; i < n; i++ {
			out[i] = float32(float64((float64(in[i])-mean)*scale*float64(g[i])) + float64(b[i]))
		}
	}
}

// shortLine is the number of elements that are summed sequentially.
const shortLine = 64

// sumOf adds in float64. It splits a long slice into halves; a short one it sums in four
// independent chains.
func sumOf[T float32 | float64](x []T) float64 {
	if n := len(x); n > shortLine {
		return sumOf(x[:n/2]) + sumOf(x[n/2:])
	}
	var a, b, c, d float64
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d = a+float64(x[0]), b+float64(x[1]), c+float64(x[2]), d+float64(x[3])
	}
	for _, v := range x {
		a += float64(v)
	}
	return (a + b) + (c + d)
}

// deviationOf returns the sum of x[i] - mean, added as in sumOf.
func deviationOf[T float32 | float64](x []T, mean float64) float64 {
	if n := len(x); n > shortLine {
		return deviationOf(x[:n/2], mean) + deviationOf(x[n/2:], mean)
	}
	var a, b, c, d float64
	for ; len(x) >= 4; x = x[4:] {
		a, b, c, d = a+(float64(x[0])-mean), b+(float64(x[1])-mean), c+(float64(x[2])-mean), d+(float64(x[3])-mean)
	}
	for _, v := range x {
		a += float64(v) - mean
	}
	return (a + b) + (c + d)
}

// squaresOf returns the sum of (x[i] - mean)^2, added as in sumOf.
func squaresOf[T float32 | float64](x []T, mean float64) float64 {
	if n := len(x); n > shortLine {
		return squaresOf(x[:n/2], mean) + squaresOf(x[n/2:], mean)
	}
	var a, b, c, d float64
	for ; len(x) >= 4; x = x[4:] {
		p, q, r, s := float64(x[0])-mean, float64(x[1])-mean, float64(x[2])-mean, float64(x[3])-mean
		a, b, c, d = a+float64(p*p), b+float64(q*q), c+float64(r*r), d+float64(s*s)
	}
	for _, v := range x {
		p := float64(v) - mean
		a += float64(p * p)
	}
	return (a + b) + (c + d)
}

// deviationOf32 is deviationOf for float32.
func deviationOf32(x []float32, mean float64) float64 {
	n := len(x)
	switch {
	case n > shortLine:
		return deviationOf32(x[:n/2], mean) + deviationOf32(x[n/2:], mean)
	case !vectorAVX || n == 0 || n%4 != 0:
		return deviationOf(x, mean)
	}
	return deviation32(at0(x), mean, n)
}

// squaresOf32 is squaresOf for float32.
func squaresOf32(x []float32, mean float64) float64 {
	n := len(x)
	switch {
	case n > shortLine:
		return squaresOf32(x[:n/2], mean) + squaresOf32(x[n/2:], mean)
	case !vectorAVX || n == 0 || n%4 != 0:
		return squaresOf(x, mean)
	}
	return squares32(at0(x), mean, n)
}
