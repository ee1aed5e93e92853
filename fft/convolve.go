package fft

import (
	"fmt"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/layout"
)

// Mode says which part of a convolution of lines of m and n elements is returned.
type Mode int

// The modes of NumPy.
const (
	Full  Mode = iota // all m + n - 1 sums
	Same              // max(m, n) of them, in the middle
	Valid             // the max(m, n) - min(m, n) + 1 sums that use every element of the shorter line
)

// directLength is the largest length of the shorter line for which sums are computed as products
// of windows. An element then takes as many multiplications as the shorter line has elements; the
// transforms take about as long as 64.
const directLength = 64

// Convolve returns the convolution along the last axis,
//
//	c[k] = sum over j of a[j] b[k-j]
//
// of a and b. Both have the same type: float32, float64, complex64 or complex128. The other axes
// broadcast. If the shorter line has at most 64 elements, the sums are computed directly, as a
// product of full precision. Otherwise they are computed by transforms, and the error is relative
// to |a| |b|, not to each sum.
//
// Errors: gpk.ErrShape for lines without elements; gpk.ErrDType; gpk.ErrUnsupported for an
// unknown mode.
func Convolve(a, b *gpk.Array, mode Mode) *gpk.Array {
	op := array.NewOperation("fft.Convolve", []*gpk.Array{a, b})
	return convolved(op, a, b, mode, false)
}

// Correlate returns the cross-correlation along the last axis: with n elements of b,
//
//	c[k] = sum over j of a[j+k-n+1] conj(b[j])
//
// which is the convolution of a with the reversed conjugate of b. Errors and accuracy are those
// of Convolve.
func Correlate(a, b *gpk.Array, mode Mode) *gpk.Array {
	op := array.NewOperation("fft.Correlate", []*gpk.Array{a, b})
	return convolved(op, a, b, mode, true)
}

func convolved(op *array.Operation, a, b *gpk.Array, mode Mode, correlate bool) *gpk.Array {
	if err := checkLines(op, a, b, mode); err != nil {
		return op.Failed(err)
	}
	m, n := a.Shape()[a.NDim()-1], b.Shape()[b.NDim()-1]
	short := min(m, n)
	start, length := 0, m+n-1
	switch mode {
	case Same:
		start, length = (short-1)/2, max(m, n)
		if correlate && n > m { // NumPy exchanges the lines and reverses the result
			start = short / 2
		}
	case Valid:
		start, length = short-1, max(m, n)-short+1
	}
	if correlate {
		b = b.Flip(-1).Conj()
	}
	if m < n {
		a, b = b, a
	}
	if short <= directLength {
		return direct(a, b, start, length)
	}
	return transformed(a, b, m+n-1).Slice(-1, start, start+length)
}

func checkLines(op *array.Operation, a, b *gpk.Array, mode Mode) error {
	if err := op.Check(); err != nil {
		return err
	}
	if err := op.SameType(a, b); err != nil {
		return err
	}
	if dt := a.DType(); dt.Real() != dtype.Float32 && dt.Real() != dtype.Float64 {
		return fmt.Errorf("%w: %v; convolutions support float32, float64, complex64 and complex128: Cast first", gpk.ErrDType, dt)
	}
	if mode < Full || mode > Valid {
		return fmt.Errorf("%w: Mode(%d); the modes are Full, Same and Valid", gpk.ErrUnsupported, int(mode))
	}
	for _, x := range []*gpk.Array{a, b} {
		if s := x.Shape(); len(s) == 0 || s[len(s)-1] == 0 {
			return layout.Errorf("%v: lines without elements", s)
		}
	}
	_, err := layout.Broadcast(a.Shape()[:a.NDim()-1], b.Shape()[:b.NDim()-1])
	return err
}

// direct returns the products of b, the shorter line, with the windows of a.
func direct(a, b *gpk.Array, start, length int) *gpk.Array {
	n := b.Shape()[b.NDim()-1]
	widths := make([][2]int, a.NDim())
	widths[len(widths)-1] = [2]int{n - 1, n - 1}
	windows := a.Pad(widths, 0).Windows(n, -1).Slice(-2, start, start+length)
	return windows.MatMul(b.Flip(-1).Unsqueeze(-1), gpk.FullPrecision).Squeeze(-1)
}

// transformed returns the n sums of the convolution, by transforms of at least n elements.
func transformed(a, b *gpk.Array, n int) *gpk.Array {
	length := N(smooth(n))
	if a.DType().IsComplex() {
		return IFFT(FFT(a, length).Mul(FFT(b, length))).Slice(-1, 0, n)
	}
	return IRFFT(RFFT(a, length).Mul(RFFT(b, length)), length).Slice(-1, 0, n)
}
