//go:build !amd64 || noasm

package cpu

import "unsafe"

// vectorAVX is false in this build, so these functions are never called.

func scale32(unsafe.Pointer, float64, int) { panic("cpu: no assembly") }
func sum32(unsafe.Pointer, int) float64    { panic("cpu: no assembly") }
