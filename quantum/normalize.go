package quantum

import (
	"fmt"
	"math"
	"strings"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/array"
	"github.com/gpk-go/gpk/internal/callsite"
)

// leastDiagonal is the lower bound for K_ii, so that a sample without a norm gives zeros
// instead of NaN.
const leastDiagonal = 1e-12

// square checks that k is a square matrix of a valid type.
func square(k *gpk.Array) error {
	switch {
	case k == nil:
		return fmt.Errorf("%w: a nil Array", gpk.ErrShape)
	case k.Err() != nil:
		return k.Err()
	case k.DType() != gpk.Float32 && k.DType() != gpk.Float64:
		return fmt.Errorf("%w: a kernel matrix is float32 or float64, not %v", gpk.ErrDType, k.DType())
	case k.NDim() != 2 || k.Shape()[0] != k.Shape()[1]:
		return fmt.Errorf("%w: a kernel matrix is square, not %v", gpk.ErrShape, k.Shape())
	}
	return nil
}

// Normalize returns K_ij / sqrt((K_ii + jitter)(K_jj + jitter)) for a square k, with
// exactly 1 on the diagonal. A K_ii + jitter below 1e-12 counts as 1e-12. k is not changed;
// for a symmetric k the result is symmetric bit for bit.
func Normalize(k *gpk.Array, jitter float64) *gpk.Array {
	out, err := normalize(k, jitter)
	return result("Normalize", out, err)
}

func normalize(k *gpk.Array, jitter float64) (*gpk.Array, error) {
	if err := square(k); err != nil {
		return nil, err
	}
	if !(jitter >= 0) || math.IsInf(jitter, 0) {
		return nil, fmt.Errorf("%w: a jitter of %v; it is finite and at least 0", gpk.ErrUnsupported, jitter)
	}
	n := k.Shape()[0]
	if n == 0 {
		return k.Clone(), nil
	}
	dense := k.Contiguous()
	if err := dense.Err(); err != nil { // it may carry an error, such as that of a packed array
		return nil, err
	}
	d, err := gpk.ToSlice[float64](diagonalView(dense).Cast(gpk.Float64))
	if err != nil {
		return nil, err
	}
	for i, v := range d {
		d[i] = 1 / math.Sqrt(max(v+jitter, leastDiagonal))
	}
	scale := gpk.FromSlice(d).To(k.Device())
	// Computed in float64 until the end: the square of 1e-12 is below float32's range.
	out := k.Cast(gpk.Float64).Mul(scale.Unsqueeze(1).Mul(scale)).Cast(k.DType())
	if err := gpk.Eval(out); err != nil {
		return nil, err
	}
	return out, diagonalView(out).CopyFrom(1)
}

// diagonalView returns a view of the diagonal of a dense square matrix.
func diagonalView(k *gpk.Array) *gpk.Array {
	n := k.Shape()[0]
	return k.Reshape(n*n).Slice(0, 0, n*n, n+1)
}

// Center returns the kernel matrix of the samples after subtracting their mean in feature
// space: H k H with H = I - 1/n (Schölkopf, Smola and Müller, Neural Computation 10, 1998).
func Center(k *gpk.Array) *gpk.Array {
	out, err := center(k)
	return result("Center", out, err)
}

func center(k *gpk.Array) (*gpk.Array, error) {
	if err := square(k); err != nil {
		return nil, err
	}
	n := k.Shape()[0]
	if n == 0 {
		return k.Clone(), nil
	}
	wide := k.Cast(gpk.Float64)
	mean := wide.Sum(0).Div(float64(n))
	rowMean := wide.Sum(1).Div(float64(n))
	all := mean.Sum().Div(float64(n))
	return wide.Sub(rowMean.Unsqueeze(1).Add(mean)).Add(all).Cast(k.DType()), nil
}

// result returns the array of the exported function op. It starts the recorded operations, so that
// an error is reported with the user's line. A line of this file would be of no use to the user.
func result(op string, a *gpk.Array, err error) *gpk.Array {
	if err == nil {
		err = gpk.Eval(a)
	}
	if err == nil {
		return a
	}
	if inner, ok := err.(*gpk.OpError); ok && strings.HasPrefix(inner.Site, "quantum/normalize.go:") { //nolint:errorlint // only the outermost error
		err = inner.Err
	}
	return array.Failed(fail(callsite.Here(), op, err))
}

// CenterCross returns the kernel of test samples against training samples, [m, n], centered by the
// mean that Center subtracts from train, [n, n]. It is the input for a machine trained on
// Center(train). test and train must not be centered.
func CenterCross(test, train *gpk.Array) *gpk.Array {
	out, err := centerCross(test, train)
	return result("CenterCross", out, err)
}

func centerCross(test, train *gpk.Array) (*gpk.Array, error) {
	if err := crossShapes(test, train); err != nil {
		return nil, err
	}
	n := train.Shape()[0]
	if test.Size() == 0 {
		return test.Clone(), nil
	}
	wide, of := test.Cast(gpk.Float64), train.Cast(gpk.Float64)
	mean := of.Sum(0).Div(float64(n))
	rowMean := wide.Sum(1).Div(float64(n))
	all := mean.Sum().Div(float64(n))
	return wide.Sub(mean).Sub(rowMean.Unsqueeze(1)).Add(all).Cast(test.DType()), nil
}

func crossShapes(test, train *gpk.Array) error {
	if err := square(train); err != nil {
		return fmt.Errorf("train: %w", err)
	}
	switch {
	case test == nil:
		return fmt.Errorf("%w: test is nil", gpk.ErrShape)
	case test.Err() != nil:
		return test.Err()
	case test.DType() != train.DType():
		return fmt.Errorf("%w: test is %v, train %v; Cast one", gpk.ErrDType, test.DType(), train.DType())
	case test.NDim() != 2 || test.Shape()[1] != train.Shape()[0]:
		return fmt.Errorf("%w: test is %v, train %v; want [m, n] and [n, n]", gpk.ErrShape, test.Shape(), train.Shape())
	}
	return nil
}
