//go:build !amd64 || noasm

package cpu

import "unsafe"

// vectorAVX is false in this build, so these functions are never called.

func addLanes32(*[lanes]float64, unsafe.Pointer, int) { panic("cpu: no assembly") }
func addLanes64(*[lanes]float64, unsafe.Pointer, int) { panic("cpu: no assembly") }

func addDeviations32(_, _ *[lanes]float64, _ unsafe.Pointer, _ int, _ float64) {
	panic("cpu: no assembly")
}

func addDeviations64(_, _ *[lanes]float64, _ unsafe.Pointer, _ int, _ float64) {
	panic("cpu: no assembly")
}

func addLanesOf8Blocks32(*[lanes]float64, unsafe.Pointer) { panic("cpu: no assembly") }
func addLanesOf8Blocks64(*[lanes]float64, unsafe.Pointer) { panic("cpu: no assembly") }

func addDeviationsOf8Blocks32(_, _ *[lanes]float64, _ unsafe.Pointer, _ float64) {
	panic("cpu: no assembly")
}

func addDeviationsOf8Blocks64(_, _ *[lanes]float64, _ unsafe.Pointer, _ float64) {
	panic("cpu: no assembly")
}

func addColumns32(_, _ unsafe.Pointer, _ int) { panic("cpu: no assembly") }

func addColumnDeviations32(_, _, _, _ unsafe.Pointer, _ int) { panic("cpu: no assembly") }
func addColumnDeviations64(_, _, _, _ unsafe.Pointer, _ int) { panic("cpu: no assembly") }
