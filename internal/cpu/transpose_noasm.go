//go:build !amd64 || noasm

package cpu

import "unsafe"

func transposeLines(_, _ unsafe.Pointer, _, _, _ int) int { return 0 }
