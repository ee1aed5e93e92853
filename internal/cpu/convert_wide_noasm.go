//go:build !amd64 || noasm

package cpu

import "unsafe"

var (
	widenings  [2][4][4]func(dst, src unsafe.Pointer, n int)
	narrowings [2][4][4]func(dst, src, lo, hi unsafe.Pointer, n int)
)

// Without AVX2 these functions are never called.

func int64sOf32AVX2(_, _ unsafe.Pointer, _ int) int { panic("cpu: no assembly") }
func int64sOf64AVX2(_, _ unsafe.Pointer, _ int) int { panic("cpu: no assembly") }

func float32sOfInt64sAVX2(_, _ unsafe.Pointer, _ int) { panic("cpu: no assembly") }
func float64sOfInt64sAVX2(_, _ unsafe.Pointer, _ int) { panic("cpu: no assembly") }
func float64sOfUint32s(_, _ unsafe.Pointer, _ int)    { panic("cpu: no assembly") }
func oddFloat32sAVX2(_, _ unsafe.Pointer, _ int)      { panic("cpu: no assembly") }

func maximumVSInt8(_, _, _ unsafe.Pointer, _ int)  { panic("cpu: no assembly") }
func maximumVSInt16(_, _, _ unsafe.Pointer, _ int) { panic("cpu: no assembly") }
func maximumVSInt32(_, _, _ unsafe.Pointer, _ int) { panic("cpu: no assembly") }
func maximumVSInt64(_, _, _ unsafe.Pointer, _ int) { panic("cpu: no assembly") }
