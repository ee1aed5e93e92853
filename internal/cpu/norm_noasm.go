//go:build !amd64 || noasm

package cpu

import "unsafe"

// vectorAVX is false in this build, so these functions are never called.

func deviation32(unsafe.Pointer, float64, int) float64 { panic("cpu: no assembly") }
func squares32(unsafe.Pointer, float64, int) float64   { panic("cpu: no assembly") }
func normalize32(dst, x, gamma, beta unsafe.Pointer, mean, scale float64, n int) {
	panic("cpu: no assembly")
}
func gain32(dst, x, gamma unsafe.Pointer, scale float64, n int) { panic("cpu: no assembly") }
