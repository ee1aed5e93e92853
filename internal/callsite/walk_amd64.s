//go:build !noasm

#include "textflag.h"

// A frame pointer is the address of the caller's frame pointer. The return address
// lies above it. The walk follows a frame pointer only if it lies on the stack of
// this goroutine and above the one before. A g begins with the bounds of its stack.
// The loop ends after n addresses. n is above 0.

// func callers(to *uintptr, n int)
TEXT ·callers(SB), NOSPLIT|NOFRAME, $0-16
	MOVQ to+0(FP), DI
	MOVQ n+8(FP), BX
	MOVQ (TLS), R8
	MOVQ 8(R8), R9   // the end of the stack
	SUBQ $16, R9
	MOVQ SP, R8      // the frame before
	MOVQ BP, AX
	XORL CX, CX

next:
	CMPQ AX, R8
	JLS  done
	CMPQ AX, R9
	JHI  done
	MOVQ AX, R8
	MOVQ 8(AX), DX
	MOVQ 0(AX), AX
	MOVQ DX, (DI)(CX*8)
	INCQ CX
	CMPQ CX, BX
	JLT  next

done:
	RET
