//go:build !amd64 || noasm

package cpu

import "unsafe"

// vectorAVX is false in this build, so these functions are never called.

func countFalse(unsafe.Pointer, int) int { panic("cpu: no assembly") }

func andTruths(_, _ unsafe.Pointer, _ int) { panic("cpu: no assembly") }
