//go:build !amd64 || noasm

package cpu

import "unsafe"

// vectorAVX and vectorAVX512 are false in this build, so these functions are never called.

func subtractFour32AVX2(_ unsafe.Pointer, _, _ int, _ unsafe.Pointer, _, _ int, _ unsafe.Pointer, _, _ int) {
	panic("cpu: no assembly")
}

func subtractFour32AVX512(_ unsafe.Pointer, _, _ int, _ unsafe.Pointer, _, _ int, _ unsafe.Pointer, _, _ int) {
	panic("cpu: no assembly")
}

func subtractFour64AVX2(_ unsafe.Pointer, _, _ int, _ unsafe.Pointer, _, _ int, _ unsafe.Pointer, _, _ int) {
	panic("cpu: no assembly")
}

func subtractFour64AVX512(_ unsafe.Pointer, _, _ int, _ unsafe.Pointer, _, _ int, _ unsafe.Pointer, _, _ int) {
	panic("cpu: no assembly")
}
