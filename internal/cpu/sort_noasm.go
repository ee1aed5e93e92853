//go:build !amd64 || noasm

package cpu

import "unsafe"

// vectorAVX and vectorAVX512 are false in this build, so these functions are never called.

func partition32AVX512(_, _ unsafe.Pointer, _ int, _ uint64) int { panic("cpu: no assembly") }
func partition64AVX512(_, _ unsafe.Pointer, _ int, _ uint64) int { panic("cpu: no assembly") }
func sort32x32AVX512(_, _ unsafe.Pointer, _ int)                 { panic("cpu: no assembly") }
func sort32x64AVX512(_, _ unsafe.Pointer, _ int)                 { panic("cpu: no assembly") }
func sort32x128AVX512(_, _ unsafe.Pointer, _ int)                { panic("cpu: no assembly") }
func sort64x32AVX512(_, _ unsafe.Pointer, _ int)                 { panic("cpu: no assembly") }
func sort64x64AVX512(_, _ unsafe.Pointer, _ int)                 { panic("cpu: no assembly") }
func sort64x128AVX512(_, _ unsafe.Pointer, _ int)                { panic("cpu: no assembly") }
func keysOf32AVX512(_, _ unsafe.Pointer, _ int)                  { panic("cpu: no assembly") }
func keysOf64AVX512(_, _ unsafe.Pointer, _ int)                  { panic("cpu: no assembly") }
func elementsOf32AVX512(_, _ unsafe.Pointer, _ int)              { panic("cpu: no assembly") }
func elementsOf64AVX512(_, _ unsafe.Pointer, _ int)              { panic("cpu: no assembly") }
func partition32AVX2(_, _ unsafe.Pointer, _ int, _ uint64) int   { panic("cpu: no assembly") }
func partition64AVX2(_, _ unsafe.Pointer, _ int, _ uint64) int   { panic("cpu: no assembly") }
func sort32x32AVX2(_, _ unsafe.Pointer, _ int)                   { panic("cpu: no assembly") }
func sort32x64AVX2(_, _ unsafe.Pointer, _ int)                   { panic("cpu: no assembly") }
func sort32x128AVX2(_, _ unsafe.Pointer, _ int)                  { panic("cpu: no assembly") }
func sort64x16AVX2(_, _ unsafe.Pointer, _ int)                   { panic("cpu: no assembly") }
func sort64x32AVX2(_, _ unsafe.Pointer, _ int)                   { panic("cpu: no assembly") }
func sort64x64AVX2(_, _ unsafe.Pointer, _ int)                   { panic("cpu: no assembly") }
func keysOf32AVX2(_, _ unsafe.Pointer, _ int)                    { panic("cpu: no assembly") }
func keysOf64AVX2(_, _ unsafe.Pointer, _ int)                    { panic("cpu: no assembly") }
func elementsOf32AVX2(_, _ unsafe.Pointer, _ int)                { panic("cpu: no assembly") }
func elementsOf64AVX2(_, _ unsafe.Pointer, _ int)                { panic("cpu: no assembly") }
