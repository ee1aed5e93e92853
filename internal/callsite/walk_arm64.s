//go:build !noasm

#include "textflag.h"

// This is the walk of walk_amd64.s. The first frame pointer is in R29.

// func callers(to *uintptr, n int)
TEXT ·callers(SB), NOSPLIT|NOFRAME, $0-16
	MOVD to+0(FP), R0
	MOVD n+8(FP), R6
	MOVD 8(g), R1    // the end of the stack
	SUB  $16, R1
	MOVD RSP, R2
	SUB  $16, R2     // the frame before: its pointer lies below it
	MOVD R29, R3
	MOVD ZR, R4

next:
	CMP  R2, R3
	BLS  done
	CMP  R1, R3
	BHI  done
	MOVD R3, R2
	MOVD 8(R3), R5
	MOVD 0(R3), R3
	MOVD R5, (R0)(R4<<3)
	ADD  $1, R4
	CMP  R6, R4
	BLT  next

done:
	RET
