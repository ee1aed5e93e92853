//go:build !amd64 || noasm

package cpu

import "unsafe"

// Without AVX2 these functions are never called.

func float32sOfFloat64s(_, _ unsafe.Pointer, _ int)     { panic("cpu: no assembly") }
func float64sOfFloat32s(_, _ unsafe.Pointer, _ int)     { panic("cpu: no assembly") }
func float32sOfInt32s(_, _ unsafe.Pointer, _ int)       { panic("cpu: no assembly") }
func float64sOfInt32s(_, _ unsafe.Pointer, _ int)       { panic("cpu: no assembly") }
func float32sOfInt64sAVX512(_, _ unsafe.Pointer, _ int) { panic("cpu: no assembly") }
func float64sOfInt64sAVX512(_, _ unsafe.Pointer, _ int) { panic("cpu: no assembly") }
