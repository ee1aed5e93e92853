//go:build !noasm

package cpu

import "unsafe"

// Hyperbolic functions and their inverses as the functions of smooth64_amd64.go.

//go:noescape
func sinh64AVX2(dst, x *float64, n int) int

//go:noescape
func cosh64AVX2(dst, x *float64, n int) int

//go:noescape
func asinh64AVX2(dst, x *float64, n int) int

//go:noescape
func acosh64AVX2(dst, x *float64, n int) int

//go:noescape
func atanh64AVX2(dst, x *float64, n int) int

//go:noescape
func sinh64AVX512(dst, x *float64, n int) int

//go:noescape
func cosh64AVX512(dst, x *float64, n int) int

//go:noescape
func asinh64AVX512(dst, x *float64, n int) int

//go:noescape
func acosh64AVX512(dst, x *float64, n int) int

//go:noescape
func atanh64AVX512(dst, x *float64, n int) int

func sinh64s(dst, x unsafe.Pointer, n int) {
	each64(sinh64AVX512, sinh64AVX2, sinhF64, dst, x, n)
}

func cosh64s(dst, x unsafe.Pointer, n int) {
	each64(cosh64AVX512, cosh64AVX2, coshF64, dst, x, n)
}

func asinh64s(dst, x unsafe.Pointer, n int) {
	each64(asinh64AVX512, asinh64AVX2, asinhF64, dst, x, n)
}

func acosh64s(dst, x unsafe.Pointer, n int) {
	each64(acosh64AVX512, acosh64AVX2, acoshF64, dst, x, n)
}

func atanh64s(dst, x unsafe.Pointer, n int) {
	each64(atanh64AVX512, atanh64AVX2, atanhF64, dst, x, n)
}
