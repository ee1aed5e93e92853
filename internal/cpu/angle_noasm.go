//go:build !amd64 || noasm

package cpu

import "unsafe"

// The kernels of inverse trigonometric functions on dense blocks; dst may be an operand.

func atan64s(dst, x unsafe.Pointer, n int) { apply(atanF64, dst, x, n) }
func asin64s(dst, x unsafe.Pointer, n int) { apply(asinF64, dst, x, n) }
func acos64s(dst, x unsafe.Pointer, n int) { apply(acosF64, dst, x, n) }

func atan32s(dst, x unsafe.Pointer, n int) { apply(atanF32, dst, x, n) }
func asin32s(dst, x unsafe.Pointer, n int) { apply(asinF32, dst, x, n) }
func acos32s(dst, x unsafe.Pointer, n int) { apply(acosF32, dst, x, n) }

func atan2_64s(dst, y, x unsafe.Pointer, n int) { mapped(atan2F64).vv(dst, y, x, n) }
func atan2_32s(dst, y, x unsafe.Pointer, n int) { mapped(atan2F32).vv(dst, y, x, n) }
