package dist

import (
	"slices"

	"github.com/gpk-go/gpk"
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/dtype/bfloat16"
	"github.com/x448/float16"
)

// tensor is a dense array of float64 numbers, the reference of every type.
type tensor struct {
	shape []int
	data  []complex128
}

func (x tensor) at(index []int) complex128 {
	at := 0
	for d, i := range index {
		at = at*x.shape[d] + i
	}
	return x.data[at]
}

// each calls f for every index of a shape, in row-major order.
func each(shape []int, f func(index []int)) {
	for _, n := range shape {
		if n == 0 {
			return
		}
	}
	index := make([]int, len(shape))
	for {
		f(index)
		d := len(shape) - 1
		for ; d >= 0; d-- {
			if index[d]++; index[d] < shape[d] {
				break
			}
			index[d] = 0
		}
		if d < 0 {
			return
		}
	}
}

// build makes a tensor from a function of the index.
func build(shape []int, f func(index []int) complex128) tensor {
	x := tensor{shape: slices.Clone(shape)}
	each(shape, func(index []int) { x.data = append(x.data, f(index)) })
	return x
}

// types has, of each type, how a tensor becomes an array, and an array a tensor.
var types = []struct {
	dt    dtype.DType
	array func(x tensor) *gpk.Array
	read  func(a *gpk.Array) ([]complex128, error)
}{
	{dtype.Float32, arrayOf(func(v complex128) float32 { return float32(real(v)) }), readOf(func(v float32) complex128 { return complex(float64(v), 0) })},
	{dtype.Float64, arrayOf(func(v complex128) float64 { return real(v) }), readOf(func(v float64) complex128 { return complex(v, 0) })},
	{dtype.Float16, arrayOf(func(v complex128) float16.Float16 { return float16.Fromfloat32(float32(real(v))) }), readOf(func(v float16.Float16) complex128 { return complex(float64(v.Float32()), 0) })},
	{dtype.BFloat16, arrayOf(func(v complex128) bfloat16.BFloat16 { return bfloat16.FromFloat32(float32(real(v))) }), readOf(func(v bfloat16.BFloat16) complex128 { return complex(float64(v.Float32()), 0) })},
	{dtype.Int8, arrayOf(func(v complex128) int8 { return int8(real(v)) }), readOf(func(v int8) complex128 { return complex(float64(v), 0) })},
	{dtype.Uint8, arrayOf(func(v complex128) uint8 { return uint8(int8(real(v))) }), readOf(func(v uint8) complex128 { return complex(float64(v), 0) })},
	{dtype.Int32, arrayOf(func(v complex128) int32 { return int32(real(v)) }), readOf(func(v int32) complex128 { return complex(float64(v), 0) })},
	{dtype.Int64, arrayOf(func(v complex128) int64 { return int64(real(v)) }), readOf(func(v int64) complex128 { return complex(float64(v), 0) })},
	{dtype.Bool, arrayOf(func(v complex128) bool { return real(v) > 0 }), readOf(func(v bool) complex128 { return map[bool]complex128{true: 1}[v] })},
	{dtype.Complex64, arrayOf(func(v complex128) complex64 { return complex64(v) }), readOf(func(v complex64) complex128 { return complex128(v) })},
	{dtype.Complex128, arrayOf(func(v complex128) complex128 { return v }), readOf(func(v complex128) complex128 { return v })},
}

func arrayOf[T gpk.Elem](f func(complex128) T) func(x tensor) *gpk.Array {
	return func(x tensor) *gpk.Array {
		data := make([]T, len(x.data))
		for i, v := range x.data {
			data[i] = f(v)
		}
		if len(x.shape) == 0 {
			return gpk.FromSlice(data).Reshape()
		}
		return gpk.FromSlice(data, x.shape...)
	}
}

func readOf[T gpk.Elem](f func(T) complex128) func(a *gpk.Array) ([]complex128, error) {
	return func(a *gpk.Array) ([]complex128, error) {
		data, err := gpk.ToSlice[T](a)
		out := make([]complex128, len(data))
		for i, v := range data {
			out[i] = f(v)
		}
		return out, err
	}
}

// laid returns the array under another layout with the same elements: dense, transposed, reversed,
// or every second element of a longer one.
func laid(a *gpk.Array, how int) *gpk.Array {
	n := a.NDim()
	switch {
	case n == 0 || how == 0:
		return a
	case how == 1:
		return a.Transpose().Contiguous().Transpose()
	case how == 2:
		return a.Flip(0).Contiguous().Flip(0)
	}
	shape := a.Shape()
	wide := gpk.Stack(n, a, a).Reshape(append(slices.Clone(shape[:n-1]), 2*shape[n-1])...)
	return wide.Slice(n-1, 0, 2*shape[n-1], 2)
}
