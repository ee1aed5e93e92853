package fft

import (
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/internal/cufft"
)

// FFT returns the transform along the last axis, or along that of Axes. The result is complex64 for
// float32 and complex64, and complex128 for other types. N sets the length.
//
// Errors of all transforms: gpk.ErrShape for a length below 1, and for an axis that does not exist
// or occurs twice; gpk.ErrDType for other types; gpk.ErrUnsupported for unknown options.
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
// the last axes, and only these are transformed.
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

// others transforms all axes but the last of the list, from back to front.
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
// numbers X[0] … X[n/2] of FFT. The other numbers of FFT are their conjugates, X[n-k] = conj X[k].
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

// IRFFT returns the inverse of RFFT: n real numbers, float32 for float32 and complex64, and float64
// for other types. N sets n. The default is 2 (m-1) for m elements, so an odd n must be set. Of
// X[0], and of X[n/2] if n is even, only the real part is used.
func IRFFT(a *gpk.Array, opts ...Option) *gpk.Array { return realInverse("IRFFT", a, 1, opts) }

// IRFFT2 returns the inverse of RFFT2. The last length of N is that of IRFFT.
func IRFFT2(a *gpk.Array, opts ...Option) *gpk.Array { return realInverse("IRFFT2", a, 2, opts) }

// IRFFTN returns the inverse of RFFTN. The last length of N is that of IRFFT.
func IRFFTN(a *gpk.Array, opts ...Option) *gpk.Array { return realInverse("IRFFTN", a, -1, opts) }

func realInverse(name string, a *gpk.Array, few int, opts []Option) *gpk.Array {
	op, err := begin(name, a, few, complexToReal, opts)
	if err != nil {
		return op.Failed(err)
	}
	last := len(op.axes) - 1
	return op.along(op.others(a, last, true), op.axes[last], op.lengths[last], complexToReal, true)
}

// HFFT returns the transform of a Hermitian line, x[n-j] = conj x[j]: n real numbers. a holds the
// first n/2+1 elements of the line. Options and lengths are as for IRFFT.
func HFFT(a *gpk.Array, opts ...Option) *gpk.Array {
	op, err := begin("HFFT", a, 1, complexToReal, opts)
	if err != nil {
		return op.Failed(err)
	}
	op.norm = op.norm.other()
	return op.along(a.Conj(), op.axes[0], op.lengths[0], complexToReal, true)
}

// IHFFT returns the inverse of HFFT: n/2+1 complex numbers for n real ones.
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

// FFTShift returns a with the frequency 0, its first element, moved to element n/2 of each of the
// given axes, or of all. Axes are those of Roll.
func FFTShift(a *gpk.Array, axes ...int) *gpk.Array { return shifted(a, 1, axes) }

// IFFTShift returns the inverse of FFTShift. The two differ for odd lengths.
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
		a = a.Roll(by, d) // Roll rejects axes that do not exist
	}
	return a
}

// FFTFreq returns the n frequencies of FFT: k / (n d) for k = 0, 1, …, (n-1)/2, -(n/2), …, -1. d is
// the distance of the samples, and the frequencies are in cycles per unit of d. An n below 1 is
// gpk.ErrShape.
func FFTFreq(dt gpk.DType, n int, d float64) *gpk.Array {
	return frequencies("FFTFreq", dt, n, true, d)
}

// RFFTFreq returns the n/2+1 frequencies of RFFT of n samples: k / (n d) for k = 0, 1, …, n/2.
func RFFTFreq(dt gpk.DType, n int, d float64) *gpk.Array {
	return frequencies("RFFTFreq", dt, n, false, d)
}
