//go:build !amd64 || noasm

package cpu

import "unsafe"

const (
	castAVX512 = false
	halfF16C   = false
	halfVector = 16
)

// Without their instructions these functions are never called.

func int32sOf32AVX512(_, _ unsafe.Pointer, _ int) { panic("cpu: no assembly") }
func int32sOf64AVX512(_, _ unsafe.Pointer, _ int) { panic("cpu: no assembly") }
func int32sOf32AVX2(_, _ unsafe.Pointer, _ int)   { panic("cpu: no assembly") }
func int32sOf64AVX2(_, _ unsafe.Pointer, _ int)   { panic("cpu: no assembly") }
func int64sOf32AVX512(_, _ unsafe.Pointer, _ int) { panic("cpu: no assembly") }
func int64sOf64AVX512(_, _ unsafe.Pointer, _ int) { panic("cpu: no assembly") }
func signs32AVX512(_, _ unsafe.Pointer, _ int)    { panic("cpu: no assembly") }
func signs64AVX512(_, _ unsafe.Pointer, _ int)    { panic("cpu: no assembly") }
func signs32AVX2(_, _ unsafe.Pointer, _ int)      { panic("cpu: no assembly") }
func signs64AVX2(_, _ unsafe.Pointer, _ int)      { panic("cpu: no assembly") }

func floors64(_, _ unsafe.Pointer, _ int, _ divisor) { panic("cpu: no assembly") }

func widenHalvesAVX2(_, _ unsafe.Pointer, _ int)     { panic("cpu: no assembly") }
func roundHalvesF16C(_, _ unsafe.Pointer, _ int)     { panic("cpu: no assembly") }
func roundHalves64AVX512(_, _ unsafe.Pointer, _ int) { panic("cpu: no assembly") }
