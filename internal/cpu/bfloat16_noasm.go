//go:build !amd64 || noasm

package cpu

import "unsafe"

const bfloat16Vector = 16

func widenBFloat16s(_, _ unsafe.Pointer, _ int) {}

func roundBFloat16s(_, _ unsafe.Pointer, _ int) {}
