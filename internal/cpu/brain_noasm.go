//go:build !amd64 || noasm

package cpu

import "unsafe"

const brainVector = 16

func widenBrains(_, _ unsafe.Pointer, _ int) {}

func roundBrains(_, _ unsafe.Pointer, _ int) {}
