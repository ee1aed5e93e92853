//go:build !amd64 || noasm

package cpu

import "unsafe"

// vectorAVX is false in this build, so these functions are never called.

func subtractOuter32(_ unsafe.Pointer, _, _, _ int, _ unsafe.Pointer, _ int, _ unsafe.Pointer) {
	panic("cpu: no assembly")
}

func subtractOuter64(_ unsafe.Pointer, _, _, _ int, _ unsafe.Pointer, _ int, _ unsafe.Pointer) {
	panic("cpu: no assembly")
}
