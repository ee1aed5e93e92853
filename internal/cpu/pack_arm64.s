//go:build !noasm

#include "textflag.h"

// func packRows4f32(dst *float32, w int, src *float32, ld, k int)
//
// R0 destination of this step, R1 bytes to the next, R2 to R5 rows.
TEXT ·packRows4f32(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD w+8(FP), R1
	MOVD src+16(FP), R2
	MOVD ld+24(FP), R6
	MOVD k+32(FP), R7
	LSL  $2, R1, R1
	LSL  $2, R6, R6
	ADD  R6, R2, R3
	ADD  R6, R3, R4
	ADD  R6, R4, R5
	LSR  $2, R7, R7
	CBZ  R7, done

loop:
	VLD1.P 16(R2), [V0.S4]
	VLD1.P 16(R3), [V1.S4]
	VLD1.P 16(R4), [V2.S4]
	VLD1.P 16(R5), [V3.S4]
	VZIP1  V2.S4, V0.S4, V4.S4
	VZIP2  V2.S4, V0.S4, V5.S4
	VZIP1  V3.S4, V1.S4, V6.S4
	VZIP2  V3.S4, V1.S4, V7.S4
	VZIP1  V6.S4, V4.S4, V16.S4
	VZIP2  V6.S4, V4.S4, V17.S4
	VZIP1  V7.S4, V5.S4, V18.S4
	VZIP2  V7.S4, V5.S4, V19.S4
	VST1.P [V16.S4], (R0)(R1)
	VST1.P [V17.S4], (R0)(R1)
	VST1.P [V18.S4], (R0)(R1)
	VST1.P [V19.S4], (R0)(R1)
	SUB    $1, R7, R7
	CBNZ   R7, loop

done:
	RET

// func packRows2f64(dst *float64, w int, src *float64, ld, k int)
TEXT ·packRows2f64(SB), NOSPLIT, $0-40
	MOVD dst+0(FP), R0
	MOVD w+8(FP), R1
	MOVD src+16(FP), R2
	MOVD ld+24(FP), R6
	MOVD k+32(FP), R7
	LSL  $3, R1, R1
	ADD  R6<<3, R2, R3
	LSR  $1, R7, R7
	CBZ  R7, done

loop:
	VLD1.P 16(R2), [V0.D2]
	VLD1.P 16(R3), [V1.D2]
	VZIP1  V1.D2, V0.D2, V2.D2
	VZIP2  V1.D2, V0.D2, V3.D2
	VST1.P [V2.D2], (R0)(R1)
	VST1.P [V3.D2], (R0)(R1)
	SUB    $1, R7, R7
	CBNZ   R7, loop

done:
	RET

// The converters; n is a multiple of 8. The assembler has no mnemonics for the conversions.

// func loadF16(dst *float32, src *float16.Float16, n int)
TEXT ·loadF16(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	LSR  $3, R2, R2
	CBZ  R2, done

loop:
	VLD1.P 16(R1), [V0.H8]
	WORD   $0x0E217801                     // FCVTL V1.4S, V0.4H
	WORD   $0x4E217802                     // FCVTL2 V2.4S, V0.8H
	VST1.P [V1.S4, V2.S4], 32(R0)
	SUB    $1, R2, R2
	CBNZ   R2, loop

done:
	RET

// func loadBF16(dst *float32, src *bfloat16.BFloat16, n int)
TEXT ·loadBF16(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	LSR  $3, R2, R2
	CBZ  R2, done

loop:
	VLD1.P 16(R1), [V0.H8]
	WORD   $0x2E613801                     // SHLL V1.4S, V0.4H, #16
	WORD   $0x6E613802                     // SHLL2 V2.4S, V0.8H, #16
	VST1.P [V1.S4, V2.S4], 32(R0)
	SUB    $1, R2, R2
	CBNZ   R2, loop

done:
	RET

// func storeF16(dst *float16.Float16, src *float32, n int)
TEXT ·storeF16(SB), NOSPLIT, $0-24
	MOVD dst+0(FP), R0
	MOVD src+8(FP), R1
	MOVD n+16(FP), R2
	LSR  $3, R2, R2
	CBZ  R2, done

loop:
	VLD1.P 32(R1), [V1.S4, V2.S4]
	WORD   $0x0E216820                     // FCVTN V0.4H, V1.4S
	WORD   $0x4E216840                     // FCVTN2 V0.8H, V2.4S
	VST1.P [V0.H8], 16(R0)
	SUB    $1, R2, R2
	CBNZ   R2, loop

done:
	RET
