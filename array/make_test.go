package array

import (
	"github.com/gpk-go/gpk/dtype"
	"github.com/gpk-go/gpk/internal/compose"
)

// The constructors of package gpk, for the tests of this package.

func Zeros(dt dtype.DType, shape ...int) *Array {
	return compose.Zeros[*Array](NewOperation("Zeros", nil), dt, shape...)
}

func Ones(dt dtype.DType, shape ...int) *Array {
	return compose.Ones[*Array](NewOperation("Ones", nil), dt, shape...)
}

func Full(dt dtype.DType, value any, shape ...int) *Array {
	return compose.Full[*Array](NewOperation("Full", nil), dt, value, shape...)
}

func Arange(dt dtype.DType, n int) *Array {
	return compose.Arange[*Array](NewOperation("Arange", nil), dt, n)
}

func Linspace(dt dtype.DType, lo, hi float64, n int) *Array {
	return compose.Linspace[*Array](NewOperation("Linspace", nil), dt, lo, hi, n)
}

func Concat(axis int, as ...*Array) *Array {
	return compose.Concat(NewOperation("Concat", as), axis, as...)
}

func Stack(axis int, as ...*Array) *Array {
	return compose.Stack(NewOperation("Stack", as), axis, as...)
}

func Take(a, indices *Array, axis int) *Array {
	return compose.Take(NewOperation("Take", []*Array{a, indices}), a, indices, axis)
}
