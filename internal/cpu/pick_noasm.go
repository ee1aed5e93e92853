//go:build !amd64 || noasm

package cpu

import "unsafe"

// vectorAVX is false in this build, so these functions are never called.

func largest32(unsafe.Pointer, int) float32        { panic("cpu: no assembly") }
func smallest32(unsafe.Pointer, int) float32       { panic("cpu: no assembly") }
func largest64(unsafe.Pointer, int) float64        { panic("cpu: no assembly") }
func smallest64(unsafe.Pointer, int) float64       { panic("cpu: no assembly") }
func index64(unsafe.Pointer, float64, int) int     { panic("cpu: no assembly") }
func index32(unsafe.Pointer, float32, int) int     { panic("cpu: no assembly") }
func choose32(_, _, _, _ unsafe.Pointer, _ int)    { panic("cpu: no assembly") }
func choose64(_, _, _, _ unsafe.Pointer, _ int)    { panic("cpu: no assembly") }
func floats8(dst, src unsafe.Pointer, n int)       { panic("cpu: no assembly") }
func largest32AVX512(unsafe.Pointer, int) float32  { panic("cpu: no assembly") }
func largest64AVX512(unsafe.Pointer, int) float64  { panic("cpu: no assembly") }
func smallest32AVX512(unsafe.Pointer, int) float32 { panic("cpu: no assembly") }
func smallest64AVX512(unsafe.Pointer, int) float64 { panic("cpu: no assembly") }
