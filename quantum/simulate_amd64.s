//go:build !noasm

#include "textflag.h"

// Loops over amplitudes in two planes, 32 bytes at a time; every product and every sum is
// rounded, as in the Go forms.

// Y0 + iY1 times Y6 + iY7, stored. Uses Y2 and Y3.
#define PRODUCT(MUL, ADD, SUB) \
	MUL Y6, Y0, Y2;         \
	MUL Y7, Y1, Y3;         \
	SUB Y3, Y2, Y2;         \
	MUL Y7, Y0, Y0;         \
	MUL Y6, Y1, Y1;         \
	ADD Y1, Y0, Y0;         \
	VMOVUPS Y2, (DI)(AX*1); \
	VMOVUPS Y0, (R8)(AX*1)

// SI, DX: the amplitudes a; DI, R8: the destination of e a; e is in Y6, Y7.
#define TURN(MUL, ADD, SUB, shift) \
	SHLQ $shift, CX;        \
	XORQ AX, AX;            \
loop:                      \
	VMOVUPS (SI)(AX*1), Y0; \
	VMOVUPS (DX)(AX*1), Y1; \
	PRODUCT(MUL, ADD, SUB); \
	ADDQ $32, AX;           \
	CMPQ AX, CX;            \
	JLT  loop;              \
	VZEROUPPER;             \
	RET

#define TIMES(MUL, ADD, SUB, shift) \
	MOVQ ar+0(FP), DI;      \
	MOVQ ai+8(FP), R8;      \
	MOVQ fr+16(FP), SI;     \
	MOVQ fi+24(FP), DX;     \
	MOVQ n+32(FP), CX;      \
	SHLQ $shift, CX;        \
	XORQ AX, AX;            \
loop:                      \
	VMOVUPS (DI)(AX*1), Y0; \
	VMOVUPS (R8)(AX*1), Y1; \
	VMOVUPS (SI)(AX*1), Y6; \
	VMOVUPS (DX)(AX*1), Y7; \
	PRODUCT(MUL, ADD, SUB); \
	ADDQ $32, AX;           \
	CMPQ AX, CX;            \
	JLT  loop;              \
	VZEROUPPER;             \
	RET

// Y0 + iY1 times e, Y8 + iY9 or Y10 + iY11, to two planes.
#define SCALED(MUL, ADD, SUB, er, ei, re, im) \
	MUL er, Y0, Y2;         \
	MUL ei, Y1, Y3;         \
	SUB Y3, Y2, Y2;         \
	MUL ei, Y0, Y4;         \
	MUL er, Y1, Y5;         \
	ADD Y5, Y4, Y4;         \
	VMOVUPS Y2, (re)(AX*1); \
	VMOVUPS Y4, (im)(AX*1)

#define DOUBLE(BROADCAST, size, MUL, ADD, SUB, shift) \
	MOVQ r0+0(FP), DI;           \
	MOVQ s0+8(FP), R8;           \
	MOVQ r1+16(FP), SI;          \
	MOVQ s1+24(FP), DX;          \
	MOVQ e+32(FP), R9;           \
	MOVQ n+40(FP), CX;           \
	BROADCAST (R9), Y8;          \
	BROADCAST (1*size)(R9), Y9;  \
	BROADCAST (2*size)(R9), Y10; \
	BROADCAST (3*size)(R9), Y11; \
	SHLQ $shift, CX;             \
	XORQ AX, AX;                 \
loop:                         \
	VMOVUPS (DI)(AX*1), Y0;      \
	VMOVUPS (R8)(AX*1), Y1;      \
	SCALED(MUL, ADD, SUB, Y8, Y9, DI, R8);   \
	SCALED(MUL, ADD, SUB, Y10, Y11, SI, DX); \
	ADDQ $32, AX;                \
	CMPQ AX, CX;                 \
	JLT  loop;                   \
	VZEROUPPER;                  \
	RET

// One row of the matrix, (a + ib, c + id) in four registers, times amplitudes Y0 + iY1
// and Y2 + iY3, to Y4 + iY5. Uses Y6 and Y7.
#define ROW(MUL, ADD, SUB, a, b, c, d) \
	MUL a, Y0, Y4;  \
	MUL b, Y1, Y6;  \
	SUB Y6, Y4, Y4; \
	MUL c, Y2, Y6;  \
	MUL d, Y3, Y7;  \
	SUB Y7, Y6, Y6; \
	ADD Y6, Y4, Y4; \
	MUL a, Y1, Y5;  \
	MUL b, Y0, Y6;  \
	ADD Y6, Y5, Y5; \
	MUL c, Y3, Y6;  \
	MUL d, Y2, Y7;  \
	ADD Y7, Y6, Y6; \
	ADD Y6, Y5, Y5

#define PAIRS(BROADCAST, size, MUL, ADD, SUB, shift) \
	MOVQ r0+0(FP), DI;       \
	MOVQ s0+8(FP), R8;       \
	MOVQ r1+16(FP), SI;      \
	MOVQ s1+24(FP), DX;      \
	MOVQ u+32(FP), R9;       \
	MOVQ n+40(FP), CX;       \
	BROADCAST (R9), Y8;           \
	BROADCAST (1*size)(R9), Y9;   \
	BROADCAST (2*size)(R9), Y10;  \
	BROADCAST (3*size)(R9), Y11;  \
	BROADCAST (4*size)(R9), Y12;  \
	BROADCAST (5*size)(R9), Y13;  \
	BROADCAST (6*size)(R9), Y14;  \
	BROADCAST (7*size)(R9), Y15;  \
	SHLQ $shift, CX;        \
	XORQ AX, AX;            \
loop:                      \
	VMOVUPS (DI)(AX*1), Y0; \
	VMOVUPS (R8)(AX*1), Y1; \
	VMOVUPS (SI)(AX*1), Y2; \
	VMOVUPS (DX)(AX*1), Y3; \
	ROW(MUL, ADD, SUB, Y8, Y9, Y10, Y11);   \
	VMOVUPS Y4, (DI)(AX*1); \
	VMOVUPS Y5, (R8)(AX*1); \
	ROW(MUL, ADD, SUB, Y12, Y13, Y14, Y15); \
	VMOVUPS Y4, (SI)(AX*1); \
	VMOVUPS Y5, (DX)(AX*1); \
	ADDQ $32, AX;           \
	CMPQ AX, CX;            \
	JLT  loop;              \
	VZEROUPPER;             \
	RET

// func rotateAVX32(xr, xi, ar, ai *float32, er, ei float32, n int)
TEXT ·rotateAVX32(SB), NOSPLIT, $0-48
	MOVQ xr+0(FP), DI
	MOVQ xi+8(FP), R8
	MOVQ ar+16(FP), SI
	MOVQ ai+24(FP), DX
	VBROADCASTSS er+32(FP), Y6
	VBROADCASTSS ei+36(FP), Y7
	MOVQ n+40(FP), CX
	TURN(VMULPS, VADDPS, VSUBPS, 2)

// func rotateAVX64(xr, xi, ar, ai *float64, er, ei float64, n int)
TEXT ·rotateAVX64(SB), NOSPLIT, $0-56
	MOVQ xr+0(FP), DI
	MOVQ xi+8(FP), R8
	MOVQ ar+16(FP), SI
	MOVQ ai+24(FP), DX
	VBROADCASTSD er+32(FP), Y6
	VBROADCASTSD ei+40(FP), Y7
	MOVQ n+48(FP), CX
	TURN(VMULPD, VADDPD, VSUBPD, 3)

// func doubleAVX32(r0, s0, r1, s1 *float32, e *[4]float32, n int)
TEXT ·doubleAVX32(SB), NOSPLIT, $0-48
	DOUBLE(VBROADCASTSS, 4, VMULPS, VADDPS, VSUBPS, 2)

// func doubleAVX64(r0, s0, r1, s1 *float64, e *[4]float64, n int)
TEXT ·doubleAVX64(SB), NOSPLIT, $0-48
	DOUBLE(VBROADCASTSD, 8, VMULPD, VADDPD, VSUBPD, 3)

// func timesAVX32(ar, ai, fr, fi *float32, n int)
TEXT ·timesAVX32(SB), NOSPLIT, $0-40
	TIMES(VMULPS, VADDPS, VSUBPS, 2)

// func timesAVX64(ar, ai, fr, fi *float64, n int)
TEXT ·timesAVX64(SB), NOSPLIT, $0-40
	TIMES(VMULPD, VADDPD, VSUBPD, 3)

// func pairsAVX32(r0, s0, r1, s1 *float32, u *[8]float32, n int)
TEXT ·pairsAVX32(SB), NOSPLIT, $0-48
	PAIRS(VBROADCASTSS, 4, VMULPS, VADDPS, VSUBPS, 2)

// func pairsAVX64(r0, s0, r1, s1 *float64, u *[8]float64, n int)
TEXT ·pairsAVX64(SB), NOSPLIT, $0-48
	PAIRS(VBROADCASTSD, 8, VMULPD, VADDPD, VSUBPD, 3)
