//go:build !noasm

#include "textflag.h"

// func word(offset uintptr) uint64
TEXT ·word(SB), NOSPLIT, $0-16
	MOVQ (TLS), AX
	ADDQ offset+0(FP), AX
	MOVQ (AX), AX
	MOVQ AX, ret+8(FP)
	RET
