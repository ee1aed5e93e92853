package fft

import (
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/cufft"
)

// FFT returns the transform along the last axis, or that of Axes: complex64 of float32 and
// complex64, else complex128. N sets the length.
//
// Errors, of all transforms: gpk.ErrShape for a length below 1, an axis that is not there or
// stands twice; gpk.ErrDType for other types; gpk.ErrUnsupported for options that are not there.
func FFT(a *gpk.Array, opts ...Option) *gpk.Array { return complexTransform("FFT", a, 1, false, opts) }

// IFFT returns the inverse of FFT.
func IFFT(a *gpk.Array, opts ...Option) *gpk.Array { return complexTransform("IFFT", a, 1, true, opts) }

// FFT2 returns the transform along the last two axes, or those of Axes. N sets two lengths.
func FFT2(a *gpk.Array, opts ...Option) *gpk.Array {
	return complexTransform("FFT2", a, 2, false, opts)
}

// IFFT2 returns the inverse of FFT2.
func IFFT2(a *gpk.Array, opts ...Option) *gpk.Array {
	return complexTransform("IFFT2", a, 2, true, opts)
}

// FFTN returns the transform along all axes, or those of Axes. N without Axes sets the lengths of
// the last ones and has them alone transformed.
func FFTN(a *gpk.Array, opts ...Option) *gpk.Array {
	return complexTransform("FFTN", a, -1, false, opts)
}

// IFFTN returns the inverse of FFTN.
func IFFTN(a *gpk.Array, opts ...Option) *gpk.Array {
	return complexTransform("IFFTN", a, -1, true, opts)
}

func complexTransform(name string, a *gpk.Array, few int, inverse bool, opts []Option) *gpk.Array {
	op, err := begin(name, a, few, complexToComplex, opts)
	if err != nil {
		return op.Failed(err)
	}
	return op.others(a, len(op.axes), inverse)
}

// others transforms the first axes of the list, the last of them first.
func (op *operation) others(a *gpk.Array, n int, inverse bool) *gpk.Array {
	if op.library(a) == nil {
		for n > 0 {
			first := max(0, n-cufft.MaxRank)
			a, n = op.onGPU(a, op.axes[first:n], op.lengths[first:n], complexToComplex, inverse), first
		}
		return a
	}
	for i := n - 1; i >= 0; i-- {
		a = op.along(a, op.axes[i], op.lengths[i], complexToComplex, inverse)
	}
	return a
}

// RFFT returns the transform of n real numbers along the last axis, or that of Axes: the n/2+1
// numbers X[0] … X[n/2] of FFT, of which the others are conjugates, X[n-k] = conj X[k].
// Complex arrays are gpk.ErrDType.
func RFFT(a *gpk.Array, opts ...Option) *gpk.Array { return realTransform("RFFT", a, 1, opts) }

// RFFT2 returns RFFT along the last of two axes and FFT along the first.
func RFFT2(a *gpk.Array, opts ...Option) *gpk.Array { return realTransform("RFFT2", a, 2, opts) }

// RFFTN returns RFFT along the last of all axes, or of those of Axes, and FFT along the others.
func RFFTN(a *gpk.Array, opts ...Option) *gpk.Array { return realTransform("RFFTN", a, -1, opts) }

func realTransform(name string, a *gpk.Array, few int, opts []Option) *gpk.Array {
	op, err := begin(name, a, few, realToComplex, opts)
	if err != nil {
		return op.Failed(err)
	}
	last := len(op.axes) - 1
	if op.library(a) == nil {
		first := max(0, last+1-cufft.MaxRank)
		return op.others(op.onGPU(a, op.axes[first:], op.lengths[first:], realToComplex, false), first, false)
	}
	return op.others(op.along(a, op.axes[last], op.lengths[last], realToComplex, false), last, false)
}

// IRFFT returns the inverse of RFFT: n real numbers, float32 of float32 and complex64, else
// float64. n is that of N, or 2 (m-1) for m elements: an odd length must be given. Of X[0], and of
// X[n/2] for an even n, the real part counts.
func IRFFT(a *gpk.Array, opts ...Option) *gpk.Array { return realInverse("IRFFT", a, 1, opts) }

// IRFFT2 returns the inverse of RFFT2. The last of N's lengths is that of IRFFT.
func IRFFT2(a *gpk.Array, opts ...Option) *gpk.Array { return realInverse("IRFFT2", a, 2, opts) }

// IRFFTN returns the inverse of RFFTN. The last of N's lengths is that of IRFFT.
func IRFFTN(a *gpk.Array, opts ...Option) *gpk.Array { return realInverse("IRFFTN", a, -1, opts) }

func realInverse(name string, a *gpk.Array, few int, opts []Option) *gpk.Array {
	op, err := begin(name, a, few, complexToReal, opts)
	if err != nil {
		return op.Failed(err)
	}
	last := len(op.axes) - 1
	return op.along(op.others(a, last, true), op.axes[last], op.lengths[last], complexToReal, true)
}

// HFFT returns the transform of a line that is Hermitian, x[n-j] = conj x[j], of which the n/2+1
// first elements are given: n real numbers. Options and lengths are as for IRFFT.
func HFFT(a *gpk.Array, opts ...Option) *gpk.Array {
	op, err := begin("HFFT", a, 1, complexToReal, opts)
	if err != nil {
		return op.Failed(err)
	}
	op.norm = op.norm.other()
	return op.along(a.Conj(), op.axes[0], op.lengths[0], complexToReal, true)
}

// IHFFT returns the inverse of HFFT: n/2+1 complex numbers of n real ones.
func IHFFT(a *gpk.Array, opts ...Option) *gpk.Array {
	op, err := begin("IHFFT", a, 1, realToComplex, opts)
	if err != nil {
		return op.Failed(err)
	}
	op.norm = op.norm.other()
	return op.along(a, op.axes[0], op.lengths[0], realToComplex, false).Conj()
}

// other returns the norm with the factor in the other direction.
func (n Norm) other() Norm {
	switch n {
	case Backward:
		return Forward
	case Forward:
		return Backward
	}
	return n
}

// FFTShift returns a with the frequency 0, the first element, in the middle: element n/2 of each of
// the axes, or of all. Axes are those of Roll.
func FFTShift(a *gpk.Array, axes ...int) *gpk.Array { return shifted(a, 1, axes) }

// IFFTShift returns the inverse of FFTShift, which differs from it for odd lengths.
func IFFTShift(a *gpk.Array, axes ...int) *gpk.Array { return shifted(a, -1, axes) }

func shifted(a *gpk.Array, sign int, axes []int) *gpk.Array {
	shape := a.Shape()
	if axes == nil {
		for d := range shape {
			axes = append(axes, d)
		}
	}
	for _, d := range slices.Clone(axes) {
		n := 0
		if i := d + len(shape); d < len(shape) && i >= 0 {
			n = shape[i%len(shape)]
		}
		by := n / 2
		if sign < 0 {
			by = -by
		}
		a = a.Roll(by, d) // which refuses axes that are not there
	}
	return a
}

// FFTFreq returns the n frequencies of FFT, in cycles a unit of d, the distance of the samples: k /
// (n d) for k = 0, 1, …, (n-1)/2, -(n/2), …, -1. An n below 1 is gpk.ErrShape.
func FFTFreq(dt gpk.DType, n int, d float64) *gpk.Array {
	return frequencies("FFTFreq", dt, n, true, d)
}

// RFFTFreq returns the n/2+1 frequencies of RFFT of n samples: k / (n d) for k = 0, 1, …, n/2.
func RFFTFreq(dt gpk.DType, n int, d float64) *gpk.Array {
	return frequencies("RFFTFreq", dt, n, false, d)
}
