//go:build !noasm

#include "textflag.h"

// The micro-kernels compute an 8 x 12 (float32) or 8 x 6 (float64) tile of C from a packed
// panel of A (8 elements per step of k) and one of B. Row i of the tile is kept in V(8+3i)
// to V(10+3i); a step loads its elements of A and B and multiplies each vector of B by each
// element of A.
//
// The assembler has no mnemonic for FMLA by element and for FADD on vectors.

// FMLA d.4S, n.4S, m.S[i] and FMLA d.2D, n.2D, m.D[i]
#define FMLAS(m, i, n, d) WORD $(0x4F801000 | ((i&1)<<21) | ((i>>1)<<11) | (m<<16) | (n<<5) | d)
#define FMLAD(m, i, n, d) WORD $(0x4FC01000 | (i<<11) | (m<<16) | (n<<5) | d)

// FADD d, d, m
#define VADDS4(m, d) WORD $(0x4E20D400 | (m<<16) | (d<<5) | d)
#define VADDD2(m, d) WORD $(0x4E60D400 | (m<<16) | (d<<5) | d)

#define PROLOGUE(shift) \
	MOVD k+0(FP), R0;        \
	MOVD a+8(FP), R1;        \
	MOVD b+16(FP), R2;       \
	MOVD c+24(FP), R3;       \
	MOVD ldc+32(FP), R4;     \
	LSL  $shift, R4, R4;     \
	MOVBU add+40(FP), R5

#define ZERO(v) VEOR v.B16, v.B16, v.B16

#define ZEROS \
	ZERO(V8);  \
	ZERO(V9);  \
	ZERO(V10); \
	ZERO(V11); \
	ZERO(V12); \
	ZERO(V13); \
	ZERO(V14); \
	ZERO(V15); \
	ZERO(V16); \
	ZERO(V17); \
	ZERO(V18); \
	ZERO(V19); \
	ZERO(V20); \
	ZERO(V21); \
	ZERO(V22); \
	ZERO(V23); \
	ZERO(V24); \
	ZERO(V25); \
	ZERO(V26); \
	ZERO(V27); \
	ZERO(V28); \
	ZERO(V29); \
	ZERO(V30); \
	ZERO(V31)

// ROWS32(m, i, d): row d/3 of the tile += V2, V3, V4 times Vm.S[i].
#define ROWS32(m, i, d) \
	FMLAS(m, i, 2, (d));   \
	FMLAS(m, i, 3, (d+1)); \
	FMLAS(m, i, 4, (d+2))

#define ROWS64(m, i, d) \
	FMLAD(m, i, 4, (d));   \
	FMLAD(m, i, 5, (d+1)); \
	FMLAD(m, i, 6, (d+2))

#define OUT32(v0, v1, v2) \
	VST1 [v0.S4, v1.S4, v2.S4], (R3); \
	ADD  R4, R3, R3

#define ADD32(v0, v1, v2, d) \
	VLD1 (R3), [V0.S4, V1.S4, V2.S4]; \
	VADDS4(0, (d));                    \
	VADDS4(1, (d+1));                  \
	VADDS4(2, (d+2));                  \
	OUT32(v0, v1, v2)

#define OUT64(v0, v1, v2) \
	VST1 [v0.D2, v1.D2, v2.D2], (R3); \
	ADD  R4, R3, R3

#define ADD64(v0, v1, v2, d) \
	VLD1 (R3), [V0.D2, V1.D2, V2.D2]; \
	VADDD2(0, (d));                    \
	VADDD2(1, (d+1));                  \
	VADDD2(2, (d+2));                  \
	OUT64(v0, v1, v2)

// Registers of axpy4: R0 elements left, R1 y, R2 to R5 the rows of a; x in V16.
#define AXPY(shift) \
	MOVD y+0(FP), R1;    \
	MOVD x+8(FP), R6;    \
	MOVD a+16(FP), R2;   \
	MOVD ld+24(FP), R7;  \
	MOVD n+32(FP), R0;   \
	LSL  $shift, R7, R7; \
	ADD  R7, R2, R3;     \
	ADD  R7, R3, R4;     \
	ADD  R7, R4, R5

// func kernel8x12(k int, a, b, c *float32, ldc int, add bool)
TEXT ·kernel8x12(SB), NOSPLIT, $0-41
	PROLOGUE(2)
	ZEROS

loop:
	VLD1.P 32(R1), [V0.S4, V1.S4]
	VLD1.P 48(R2), [V2.S4, V3.S4, V4.S4]
	ROWS32(0, 0, 8)
	ROWS32(0, 1, 11)
	ROWS32(0, 2, 14)
	ROWS32(0, 3, 17)
	ROWS32(1, 0, 20)
	ROWS32(1, 1, 23)
	ROWS32(1, 2, 26)
	ROWS32(1, 3, 29)
	SUBS   $1, R0, R0
	BNE    loop

	CBNZ R5, sum
	OUT32(V8, V9, V10)
	OUT32(V11, V12, V13)
	OUT32(V14, V15, V16)
	OUT32(V17, V18, V19)
	OUT32(V20, V21, V22)
	OUT32(V23, V24, V25)
	OUT32(V26, V27, V28)
	OUT32(V29, V30, V31)
	RET

sum:
	ADD32(V8, V9, V10, 8)
	ADD32(V11, V12, V13, 11)
	ADD32(V14, V15, V16, 14)
	ADD32(V17, V18, V19, 17)
	ADD32(V20, V21, V22, 20)
	ADD32(V23, V24, V25, 23)
	ADD32(V26, V27, V28, 26)
	ADD32(V29, V30, V31, 29)
	RET

// func kernel8x6(k int, a, b, c *float64, ldc int, add bool)
TEXT ·kernel8x6(SB), NOSPLIT, $0-41
	PROLOGUE(3)
	ZEROS

loop:
	VLD1.P 64(R1), [V0.D2, V1.D2, V2.D2, V3.D2]
	VLD1.P 48(R2), [V4.D2, V5.D2, V6.D2]
	ROWS64(0, 0, 8)
	ROWS64(0, 1, 11)
	ROWS64(1, 0, 14)
	ROWS64(1, 1, 17)
	ROWS64(2, 0, 20)
	ROWS64(2, 1, 23)
	ROWS64(3, 0, 26)
	ROWS64(3, 1, 29)
	SUBS   $1, R0, R0
	BNE    loop

	CBNZ R5, sum
	OUT64(V8, V9, V10)
	OUT64(V11, V12, V13)
	OUT64(V14, V15, V16)
	OUT64(V17, V18, V19)
	OUT64(V20, V21, V22)
	OUT64(V23, V24, V25)
	OUT64(V26, V27, V28)
	OUT64(V29, V30, V31)
	RET

sum:
	ADD64(V8, V9, V10, 8)
	ADD64(V11, V12, V13, 11)
	ADD64(V14, V15, V16, 14)
	ADD64(V17, V18, V19, 17)
	ADD64(V20, V21, V22, 20)
	ADD64(V23, V24, V25, 23)
	ADD64(V26, V27, V28, 26)
	ADD64(V29, V30, V31, 29)
	RET

// func dotNEON32(x, y *float32, n int) float32
TEXT ·dotNEON32(SB), NOSPLIT, $0-28
	MOVD x+0(FP), R1
	MOVD y+8(FP), R2
	MOVD n+16(FP), R0
	ZERO(V8)
	ZERO(V9)
	ZERO(V10)
	ZERO(V11)

loop:
	CMP    $16, R0
	BLT    rest
	VLD1.P 64(R1), [V0.S4, V1.S4, V2.S4, V3.S4]
	VLD1.P 64(R2), [V4.S4, V5.S4, V6.S4, V7.S4]
	VFMLA  V0.S4, V4.S4, V8.S4
	VFMLA  V1.S4, V5.S4, V9.S4
	VFMLA  V2.S4, V6.S4, V10.S4
	VFMLA  V3.S4, V7.S4, V11.S4
	SUB    $16, R0, R0
	B      loop

rest:
	VADDS4(9, 8)
	VADDS4(11, 10)
	VADDS4(10, 8)
	VMOV  V8.S[1], V9.S[0]
	VMOV  V8.S[2], V10.S[0]
	VMOV  V8.S[3], V11.S[0]
	FADDS F9, F8, F8
	FADDS F11, F10, F10
	FADDS F10, F8, F8

tail:
	CBZ     R0, done
	FMOVS.P 4(R1), F0
	FMOVS.P 4(R2), F1
	FMADDS  F1, F8, F0, F8
	SUB     $1, R0, R0
	B       tail

done:
	FMOVS F8, ret+24(FP)
	RET

// func dotNEON64(x, y *float64, n int) float64
TEXT ·dotNEON64(SB), NOSPLIT, $0-32
	MOVD x+0(FP), R1
	MOVD y+8(FP), R2
	MOVD n+16(FP), R0
	ZERO(V8)
	ZERO(V9)
	ZERO(V10)
	ZERO(V11)

loop:
	CMP    $8, R0
	BLT    rest
	VLD1.P 64(R1), [V0.D2, V1.D2, V2.D2, V3.D2]
	VLD1.P 64(R2), [V4.D2, V5.D2, V6.D2, V7.D2]
	VFMLA  V0.D2, V4.D2, V8.D2
	VFMLA  V1.D2, V5.D2, V9.D2
	VFMLA  V2.D2, V6.D2, V10.D2
	VFMLA  V3.D2, V7.D2, V11.D2
	SUB    $8, R0, R0
	B      loop

rest:
	VADDD2(9, 8)
	VADDD2(11, 10)
	VADDD2(10, 8)
	VMOV  V8.D[1], V9.D[0]
	FADDD F9, F8, F8

tail:
	CBZ     R0, done
	FMOVD.P 8(R1), F0
	FMOVD.P 8(R2), F1
	FMADDD  F1, F8, F0, F8
	SUB     $1, R0, R0
	B       tail

done:
	FMOVD F8, ret+24(FP)
	RET

// func axpy4NEON32(y, x, a *float32, ld, n int)
TEXT ·axpy4NEON32(SB), NOSPLIT, $0-40
	AXPY(2)
	FMOVS (R6), F16
	FMOVS 4(R6), F17
	FMOVS 8(R6), F18
	FMOVS 12(R6), F19
	VDUP  V16.S[0], V20.S4
	VDUP  V17.S[0], V21.S4
	VDUP  V18.S[0], V22.S4
	VDUP  V19.S[0], V23.S4

loop:
	CMP    $8, R0
	BLT    tail
	VLD1   (R1), [V0.S4, V1.S4]
	VLD1.P 32(R2), [V2.S4, V3.S4]
	VLD1.P 32(R3), [V4.S4, V5.S4]
	VLD1.P 32(R4), [V6.S4, V7.S4]
	VLD1.P 32(R5), [V8.S4, V9.S4]
	VFMLA  V20.S4, V2.S4, V0.S4
	VFMLA  V20.S4, V3.S4, V1.S4
	VFMLA  V21.S4, V4.S4, V0.S4
	VFMLA  V21.S4, V5.S4, V1.S4
	VFMLA  V22.S4, V6.S4, V0.S4
	VFMLA  V22.S4, V7.S4, V1.S4
	VFMLA  V23.S4, V8.S4, V0.S4
	VFMLA  V23.S4, V9.S4, V1.S4
	VST1.P [V0.S4, V1.S4], 32(R1)
	SUB    $8, R0, R0
	B      loop

tail:
	CBZ     R0, done
	FMOVS   (R1), F0
	FMOVS.P 4(R2), F2
	FMOVS.P 4(R3), F3
	FMOVS.P 4(R4), F4
	FMOVS.P 4(R5), F5
	FMADDS  F2, F0, F16, F0
	FMADDS  F3, F0, F17, F0
	FMADDS  F4, F0, F18, F0
	FMADDS  F5, F0, F19, F0
	FMOVS.P F0, 4(R1)
	SUB     $1, R0, R0
	B       tail

done:
	RET

// func axpy4NEON64(y, x, a *float64, ld, n int)
TEXT ·axpy4NEON64(SB), NOSPLIT, $0-40
	AXPY(3)
	FMOVD (R6), F16
	FMOVD 8(R6), F17
	FMOVD 16(R6), F18
	FMOVD 24(R6), F19
	VDUP  V16.D[0], V20.D2
	VDUP  V17.D[0], V21.D2
	VDUP  V18.D[0], V22.D2
	VDUP  V19.D[0], V23.D2

loop:
	CMP    $4, R0
	BLT    tail
	VLD1   (R1), [V0.D2, V1.D2]
	VLD1.P 32(R2), [V2.D2, V3.D2]
	VLD1.P 32(R3), [V4.D2, V5.D2]
	VLD1.P 32(R4), [V6.D2, V7.D2]
	VLD1.P 32(R5), [V8.D2, V9.D2]
	VFMLA  V20.D2, V2.D2, V0.D2
	VFMLA  V20.D2, V3.D2, V1.D2
	VFMLA  V21.D2, V4.D2, V0.D2
	VFMLA  V21.D2, V5.D2, V1.D2
	VFMLA  V22.D2, V6.D2, V0.D2
	VFMLA  V22.D2, V7.D2, V1.D2
	VFMLA  V23.D2, V8.D2, V0.D2
	VFMLA  V23.D2, V9.D2, V1.D2
	VST1.P [V0.D2, V1.D2], 32(R1)
	SUB    $4, R0, R0
	B      loop

tail:
	CBZ     R0, done
	FMOVD   (R1), F0
	FMOVD.P 8(R2), F2
	FMOVD.P 8(R3), F3
	FMOVD.P 8(R4), F4
	FMOVD.P 8(R5), F5
	FMADDD  F2, F0, F16, F0
	FMADDD  F3, F0, F17, F0
	FMADDD  F4, F0, F18, F0
	FMADDD  F5, F0, F19, F0
	FMOVD.P F0, 8(R1)
	SUB     $1, R0, R0
	B       tail

done:
	RET
