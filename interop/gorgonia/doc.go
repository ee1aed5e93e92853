// Package gorgonia converts between gpk's arrays and the dense tensors of
// gorgonia.org/tensor, and gives those tensors an engine that multiplies with gpk.
//
// FromDense, ToDense and IntoDense copy between a *tensor.Dense and a *gpk.Array. Views,
// transposed and column-major tensors are read and written as their strides say; masked
// tensors and tensors whose memory Go cannot read are gpk.ErrUnsupported. The element
// types are those of both packages: float32, float64, the integers of a fixed size, bool,
// complex64, complex128, and the half types, whose tensor.Dtype package gorgonia defines.
// tensor.Int, Go's int, is not supported.
//
// NewEngine makes an engine for tensor.WithEngine. It sends MatMul, MatVecMul and Outer
// to gpk and leaves everything else to the tensor package.
//
// This package is for programs that already use such tensors. It is a separate package,
// so that programs that import only gpk do not import gorgonia.org. A program that
// imports it with Go 1.26 needs go4.org/unsafe/assume-no-moving-gc
// v0.0.0-20231121144256-b99613f794b6 or newer; gpk's own go.mod requires it. With the
// version that the tensor package requires, the program panics at start.
package gorgonia
