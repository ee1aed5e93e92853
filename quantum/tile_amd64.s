//go:build !noasm

#include "textflag.h"

DATA ·one32(SB)/4, $1.0
GLOBL ·one32(SB), RODATA|NOPTR, $4
DATA ·one64(SB)/8, $1.0
GLOBL ·one64(SB), RODATA|NOPTR, $8

// |z|^2 of three products to Y2, row by row.
#define COMBINE(ADD, SUB, MUL, FMA, shift) \
	MOVQ out+0(FP), DI;      \
	MOVQ ld+8(FP), R10;      \
	MOVQ p1+16(FP), SI;      \
	MOVQ p2+24(FP), DX;      \
	MOVQ p3+32(FP), R8;      \
	MOVQ lp+40(FP), R11;     \
	MOVQ rows+48(FP), R12;   \
	MOVQ n+56(FP), CX;       \
	MOVBLZX first+64(FP), R9; \
	SHLQ $shift, R10;        \
	SHLQ $shift, R11;        \
	SHLQ $shift, CX;         \
row:                      \
	XORQ AX, AX;             \
loop:                     \
	VMOVUPS (SI)(AX*1), Y0;  \
	VMOVUPS (DX)(AX*1), Y1;  \
	ADD Y1, Y0, Y2;          \
	SUB Y0, Y1, Y3;          \
	ADD (R8)(AX*1), Y3, Y3;  \
	MUL Y2, Y2, Y2;          \
	FMA Y3, Y3, Y2;          \
	TESTQ R9, R9;            \
	JNZ write;               \
	MUL (DI)(AX*1), Y2, Y2;  \
write:                    \
	VMOVUPS Y2, (DI)(AX*1);  \
	ADDQ $32, AX;            \
	CMPQ AX, CX;             \
	JLT loop;                \
	ADDQ R10, DI;            \
	ADDQ R11, SI;            \
	ADDQ R11, DX;            \
	ADDQ R11, R8;            \
	DECQ R12;                \
	JNZ row;                 \
	VZEROUPPER;              \
	RET

#define SQUARE(MUL, shift) \
	MOVQ out+0(FP), DI;      \
	MOVQ ld+8(FP), R10;      \
	MOVQ p+16(FP), SI;       \
	MOVQ lp+24(FP), R11;     \
	MOVQ rows+32(FP), R12;   \
	MOVQ n+40(FP), CX;       \
	MOVBLZX first+48(FP), R9; \
	SHLQ $shift, R10;        \
	SHLQ $shift, R11;        \
	SHLQ $shift, CX;         \
row:                      \
	XORQ AX, AX;             \
loop:                     \
	VMOVUPS (SI)(AX*1), Y0;  \
	MUL Y0, Y0, Y0;          \
	TESTQ R9, R9;            \
	JNZ write;               \
	MUL (DI)(AX*1), Y0, Y0;  \
write:                    \
	VMOVUPS Y0, (DI)(AX*1);  \
	ADDQ $32, AX;            \
	CMPQ AX, CX;             \
	JLT loop;                \
	ADDQ R10, DI;            \
	ADDQ R11, SI;            \
	DECQ R12;                \
	JNZ row;                 \
	VZEROUPPER;              \
	RET

// func combine3AVX32(out *float32, ld int, p1, p2, p3 *float32, lp, rows, n int, first bool)
TEXT ·combine3AVX32(SB), NOSPLIT, $0-65
	COMBINE(VADDPS, VSUBPS, VMULPS, VFMADD231PS, 2)

// func combine3AVX64(out *float64, ld int, p1, p2, p3 *float64, lp, rows, n int, first bool)
TEXT ·combine3AVX64(SB), NOSPLIT, $0-65
	COMBINE(VADDPD, VSUBPD, VMULPD, VFMADD231PD, 3)

// func square1AVX32(out *float32, ld int, p *float32, lp, rows, n int, first bool)
TEXT ·square1AVX32(SB), NOSPLIT, $0-49
	SQUARE(VMULPS, 2)

// func square1AVX64(out *float64, ld int, p *float64, lp, rows, n int, first bool)
TEXT ·square1AVX64(SB), NOSPLIT, $0-49
	SQUARE(VMULPD, 3)

// func momentsAVX32(p *float32, ld, rows, n int, shift float64, sums *laneSums)
//
// Y0-Y3: sums, Y4-Y7: of squares.
TEXT ·momentsAVX32(SB), NOSPLIT, $0-48
	MOVQ p+0(FP), SI
	MOVQ ld+8(FP), R8
	MOVQ rows+16(FP), R9
	MOVQ n+24(FP), R10
	VBROADCASTSD shift+32(FP), Y15
	VBROADCASTSD ·one64(SB), Y14 // multiplications have units that conversions and sums leave free
	MOVQ sums+40(FP), DI
	SHLQ $2, R8
	VXORPD Y0, Y0, Y0
	VXORPD Y1, Y1, Y1
	VXORPD Y2, Y2, Y2
	VXORPD Y3, Y3, Y3
	VXORPD Y4, Y4, Y4
	VXORPD Y5, Y5, Y5
	VXORPD Y6, Y6, Y6
	VXORPD Y7, Y7, Y7

row:
	MOVQ SI, DX
	MOVQ R10, CX
	SUBQ $16, CX
	JL eight

loop:
	VCVTPS2PD (DX), Y8
	VCVTPS2PD 16(DX), Y9
	VCVTPS2PD 32(DX), Y10
	VCVTPS2PD 48(DX), Y11
	VFMSUB132PD Y14, Y15, Y8
	VFMSUB132PD Y14, Y15, Y9
	VFMSUB132PD Y14, Y15, Y10
	VFMSUB132PD Y14, Y15, Y11
	VADDPD Y8, Y0, Y0
	VADDPD Y9, Y1, Y1
	VADDPD Y10, Y2, Y2
	VADDPD Y11, Y3, Y3
	VFMADD231PD Y8, Y8, Y4
	VFMADD231PD Y9, Y9, Y5
	VFMADD231PD Y10, Y10, Y6
	VFMADD231PD Y11, Y11, Y7
	ADDQ $64, DX
	SUBQ $16, CX
	JGE loop

eight:
	CMPQ CX, $-8
	JL next
	VCVTPS2PD (DX), Y8
	VCVTPS2PD 16(DX), Y9
	VFMSUB132PD Y14, Y15, Y8
	VFMSUB132PD Y14, Y15, Y9
	VADDPD Y8, Y0, Y0
	VADDPD Y9, Y1, Y1
	VFMADD231PD Y8, Y8, Y4
	VFMADD231PD Y9, Y9, Y5

next:
	ADDQ R8, SI
	DECQ R9
	JNZ row
	VADDPD Y2, Y0, Y0
	VADDPD Y3, Y1, Y1
	VADDPD Y6, Y4, Y4
	VADDPD Y7, Y5, Y5
	VADDPD Y1, Y0, Y0
	VADDPD Y5, Y4, Y4
	VADDPD (DI), Y0, Y0
	VADDPD 32(DI), Y4, Y4
	VMOVUPD Y0, (DI)
	VMOVUPD Y4, 32(DI)
	VZEROUPPER
	RET

// func momentsAVX64(p *float64, ld, rows, n int, shift float64, sums *laneSums)
TEXT ·momentsAVX64(SB), NOSPLIT, $0-48
	MOVQ p+0(FP), SI
	MOVQ ld+8(FP), R8
	MOVQ rows+16(FP), R9
	MOVQ n+24(FP), R10
	VBROADCASTSD shift+32(FP), Y15
	VBROADCASTSD ·one64(SB), Y14 // multiplications have units that conversions and sums leave free
	MOVQ sums+40(FP), DI
	SHLQ $3, R8
	VXORPD Y0, Y0, Y0
	VXORPD Y4, Y4, Y4

row:
	MOVQ SI, DX
	MOVQ R10, CX

loop:
	VMOVUPD (DX), Y8
	VFMSUB132PD Y14, Y15, Y8
	VADDPD Y8, Y0, Y0
	VFMADD231PD Y8, Y8, Y4
	ADDQ $32, DX
	SUBQ $4, CX
	JG loop
	ADDQ R8, SI
	DECQ R9
	JNZ row
	VADDPD (DI), Y0, Y0
	VADDPD 32(DI), Y4, Y4
	VMOVUPD Y0, (DI)
	VMOVUPD Y4, 32(DI)
	VZEROUPPER
	RET

// func narrowAVX32(dst *float32, src *float64, n int)
TEXT ·narrowAVX32(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX

loop:
	VCVTPD2PSY (SI), X0
	VCVTPD2PSY 32(SI), X1
	VMOVUPS X0, (DI)
	VMOVUPS X1, 16(DI)
	ADDQ $64, SI
	ADDQ $32, DI
	SUBQ $8, CX
	JG loop
	VZEROUPPER
	RET

// func transposeAVX32(dst *float32, ld int, src *float32, ls, n int)
//
// Halves of registers come from four rows and the four after them; pairs and then
// fours change places.
TEXT ·transposeAVX32(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ ld+8(FP), R8
	MOVQ src+16(FP), SI
	MOVQ ls+24(FP), R9
	MOVQ n+32(FP), CX
	SHLQ $2, R8
	SHLQ $2, R9
	LEAQ (R8)(R8*2), R10
	LEAQ (R9)(R9*2), R11

loop:
	LEAQ (SI)(R9*4), BX
	VMOVUPS (SI), X0
	VMOVUPS (SI)(R9*1), X1
	VMOVUPS (SI)(R9*2), X2
	VMOVUPS (SI)(R11*1), X3
	VMOVUPS 16(SI), X4
	VMOVUPS 16(SI)(R9*1), X5
	VMOVUPS 16(SI)(R9*2), X6
	VMOVUPS 16(SI)(R11*1), X7
	VINSERTF128 $1, (BX), Y0, Y0
	VINSERTF128 $1, (BX)(R9*1), Y1, Y1
	VINSERTF128 $1, (BX)(R9*2), Y2, Y2
	VINSERTF128 $1, (BX)(R11*1), Y3, Y3
	VINSERTF128 $1, 16(BX), Y4, Y4
	VINSERTF128 $1, 16(BX)(R9*1), Y5, Y5
	VINSERTF128 $1, 16(BX)(R9*2), Y6, Y6
	VINSERTF128 $1, 16(BX)(R11*1), Y7, Y7
	VUNPCKLPS Y1, Y0, Y8
	VUNPCKHPS Y1, Y0, Y9
	VUNPCKLPS Y3, Y2, Y10
	VUNPCKHPS Y3, Y2, Y11
	VUNPCKLPS Y5, Y4, Y12
	VUNPCKHPS Y5, Y4, Y13
	VUNPCKLPS Y7, Y6, Y14
	VUNPCKHPS Y7, Y6, Y15
	VUNPCKLPD Y10, Y8, Y0
	VUNPCKHPD Y10, Y8, Y1
	VUNPCKLPD Y11, Y9, Y2
	VUNPCKHPD Y11, Y9, Y3
	VUNPCKLPD Y14, Y12, Y4
	VUNPCKHPD Y14, Y12, Y5
	VUNPCKLPD Y15, Y13, Y6
	VUNPCKHPD Y15, Y13, Y7
	LEAQ (DI)(R8*4), DX
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, (DI)(R8*1)
	VMOVUPS Y2, (DI)(R8*2)
	VMOVUPS Y3, (DI)(R10*1)
	VMOVUPS Y4, (DX)
	VMOVUPS Y5, (DX)(R8*1)
	VMOVUPS Y6, (DX)(R8*2)
	VMOVUPS Y7, (DX)(R10*1)
	LEAQ (SI)(R9*8), SI
	ADDQ $32, DI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// func transposeAVX64(dst *float64, ld int, src *float64, ls, n int)
TEXT ·transposeAVX64(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ ld+8(FP), R8
	MOVQ src+16(FP), SI
	MOVQ ls+24(FP), R9
	MOVQ n+32(FP), CX
	SHLQ $3, R8
	SHLQ $3, R9
	LEAQ (R8)(R8*2), R10

loop:
	LEAQ (SI)(R9*2), BX
	VMOVUPD (SI), X0
	VMOVUPD (SI)(R9*1), X1
	VMOVUPD 16(SI), X2
	VMOVUPD 16(SI)(R9*1), X3
	VINSERTF128 $1, (BX), Y0, Y0
	VINSERTF128 $1, (BX)(R9*1), Y1, Y1
	VINSERTF128 $1, 16(BX), Y2, Y2
	VINSERTF128 $1, 16(BX)(R9*1), Y3, Y3
	VUNPCKLPD Y1, Y0, Y4
	VUNPCKHPD Y1, Y0, Y5
	VUNPCKLPD Y3, Y2, Y6
	VUNPCKHPD Y3, Y2, Y7
	VMOVUPD Y4, (DI)
	VMOVUPD Y5, (DI)(R8*1)
	VMOVUPD Y6, (DI)(R8*2)
	VMOVUPD Y7, (DI)(R10*1)
	LEAQ (SI)(R9*4), SI
	ADDQ $32, DI
	DECQ CX
	JNZ loop
	VZEROUPPER
	RET

// factors: two points at a time. Y0-Y3 are the products of the first with a panel, Y4-Y7
// those of the second, Y8-Y11 coordinates of the points in every lane. AVX-512 was
// slower where it was tried, on a Zen 4: multiplications take the time there, and registers
// twice as wide take twice as long.

// The first two coordinates of two points, which lie size apart.
#define POINTS(BROADCAST, size) \
	BROADCAST 0(BX), Y8;           \
	BROADCAST size(BX), Y9;        \
	BROADCAST 128(BX), Y10;        \
	BROADCAST (128+size)(BX), Y11

// Y13 and Y14: squared distances of the points to the columns at, in two coordinates.
#define DISTANCES(SUB, MUL, FMA, at) \
	VMOVUPS at(DX), Y12;       \
	SUB     Y8, Y12, Y13;      \
	SUB     Y9, Y12, Y14;      \
	MUL     Y13, Y13, Y13;     \
	MUL     Y14, Y14, Y14;     \
	VMOVUPS (at+128)(DX), Y12; \
	SUB     Y10, Y12, Y15;     \
	SUB     Y11, Y12, Y12;     \
	FMA     Y15, Y15, Y13;     \
	FMA     Y12, Y12, Y14

// A third coordinate.
#define THIRD(BROADCAST, SUB, FMA, at, size) \
	BROADCAST 256(BX), Y15;         \
	BROADCAST (256+size)(BX), Y12;  \
	SUB       (at+256)(DX), Y15, Y15; \
	SUB       (at+256)(DX), Y12, Y12; \
	FMA       Y15, Y15, Y13;        \
	FMA       Y12, Y12, Y14

// The products p and q times 1 - a distance.
#define TIMES(FNMA, p, q) \
	FNMA Y13, p, p; \
	FNMA Y14, q, q

// func factorsAVX32(out *float32, ld int, point, panel *float32, rows, planar, full int)
TEXT ·factorsAVX32(SB), NOSPLIT, $0-56
	MOVQ out+0(FP), DI
	MOVQ ld+8(FP), R8
	MOVQ point+16(FP), SI
	MOVQ rows+32(FP), CX
	SHLQ $2, R8

two:
	MOVQ SI, BX
	MOVQ panel+24(FP), DX
	MOVQ planar+40(FP), R9
	MOVQ full+48(FP), R10
	VBROADCASTSS ·one32(SB), Y0
	VMOVAPS Y0, Y1
	VMOVAPS Y0, Y2
	VMOVAPS Y0, Y3
	VMOVAPS Y0, Y4
	VMOVAPS Y0, Y5
	VMOVAPS Y0, Y6
	VMOVAPS Y0, Y7
	TESTQ R9, R9
	JZ threes

planar:
	POINTS(VBROADCASTSS, 4)
	DISTANCES(VSUBPS, VMULPS, VFMADD231PS, 0)
	TIMES(VFNMADD231PS, Y0, Y4)
	DISTANCES(VSUBPS, VMULPS, VFMADD231PS, 32)
	TIMES(VFNMADD231PS, Y1, Y5)
	DISTANCES(VSUBPS, VMULPS, VFMADD231PS, 64)
	TIMES(VFNMADD231PS, Y2, Y6)
	DISTANCES(VSUBPS, VMULPS, VFMADD231PS, 96)
	TIMES(VFNMADD231PS, Y3, Y7)
	ADDQ $256, BX
	ADDQ $256, DX
	DECQ R9
	JNZ planar

threes:
	TESTQ R10, R10
	JZ store

full:
	POINTS(VBROADCASTSS, 4)
	DISTANCES(VSUBPS, VMULPS, VFMADD231PS, 0)
	THIRD(VBROADCASTSS, VSUBPS, VFMADD231PS, 0, 4)
	TIMES(VFNMADD231PS, Y0, Y4)
	DISTANCES(VSUBPS, VMULPS, VFMADD231PS, 32)
	THIRD(VBROADCASTSS, VSUBPS, VFMADD231PS, 32, 4)
	TIMES(VFNMADD231PS, Y1, Y5)
	DISTANCES(VSUBPS, VMULPS, VFMADD231PS, 64)
	THIRD(VBROADCASTSS, VSUBPS, VFMADD231PS, 64, 4)
	TIMES(VFNMADD231PS, Y2, Y6)
	DISTANCES(VSUBPS, VMULPS, VFMADD231PS, 96)
	THIRD(VBROADCASTSS, VSUBPS, VFMADD231PS, 96, 4)
	TIMES(VFNMADD231PS, Y3, Y7)
	ADDQ $384, BX
	ADDQ $384, DX
	DECQ R10
	JNZ full

store:
	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VMOVUPS Y4, 0(DI)(R8*1)
	VMOVUPS Y5, 32(DI)(R8*1)
	VMOVUPS Y6, 64(DI)(R8*1)
	VMOVUPS Y7, 96(DI)(R8*1)
	LEAQ (DI)(R8*2), DI
	ADDQ $8, SI
	SUBQ $2, CX
	JG two
	VZEROUPPER
	RET

// func factorsAVX64(out *float64, ld int, point, panel *float64, rows, planar, full int)
TEXT ·factorsAVX64(SB), NOSPLIT, $0-56
	MOVQ out+0(FP), DI
	MOVQ ld+8(FP), R8
	MOVQ point+16(FP), SI
	MOVQ rows+32(FP), CX
	SHLQ $3, R8

two:
	MOVQ SI, BX
	MOVQ panel+24(FP), DX
	MOVQ planar+40(FP), R9
	MOVQ full+48(FP), R10
	VBROADCASTSD ·one64(SB), Y0
	VMOVAPS Y0, Y1
	VMOVAPS Y0, Y2
	VMOVAPS Y0, Y3
	VMOVAPS Y0, Y4
	VMOVAPS Y0, Y5
	VMOVAPS Y0, Y6
	VMOVAPS Y0, Y7
	TESTQ R9, R9
	JZ threes

planar:
	POINTS(VBROADCASTSD, 8)
	DISTANCES(VSUBPD, VMULPD, VFMADD231PD, 0)
	TIMES(VFNMADD231PD, Y0, Y4)
	DISTANCES(VSUBPD, VMULPD, VFMADD231PD, 32)
	TIMES(VFNMADD231PD, Y1, Y5)
	DISTANCES(VSUBPD, VMULPD, VFMADD231PD, 64)
	TIMES(VFNMADD231PD, Y2, Y6)
	DISTANCES(VSUBPD, VMULPD, VFMADD231PD, 96)
	TIMES(VFNMADD231PD, Y3, Y7)
	ADDQ $256, BX
	ADDQ $256, DX
	DECQ R9
	JNZ planar

threes:
	TESTQ R10, R10
	JZ store

full:
	POINTS(VBROADCASTSD, 8)
	DISTANCES(VSUBPD, VMULPD, VFMADD231PD, 0)
	THIRD(VBROADCASTSD, VSUBPD, VFMADD231PD, 0, 8)
	TIMES(VFNMADD231PD, Y0, Y4)
	DISTANCES(VSUBPD, VMULPD, VFMADD231PD, 32)
	THIRD(VBROADCASTSD, VSUBPD, VFMADD231PD, 32, 8)
	TIMES(VFNMADD231PD, Y1, Y5)
	DISTANCES(VSUBPD, VMULPD, VFMADD231PD, 64)
	THIRD(VBROADCASTSD, VSUBPD, VFMADD231PD, 64, 8)
	TIMES(VFNMADD231PD, Y2, Y6)
	DISTANCES(VSUBPD, VMULPD, VFMADD231PD, 96)
	THIRD(VBROADCASTSD, VSUBPD, VFMADD231PD, 96, 8)
	TIMES(VFNMADD231PD, Y3, Y7)
	ADDQ $384, BX
	ADDQ $384, DX
	DECQ R10
	JNZ full

store:
	VMOVUPS Y0, 0(DI)
	VMOVUPS Y1, 32(DI)
	VMOVUPS Y2, 64(DI)
	VMOVUPS Y3, 96(DI)
	VMOVUPS Y4, 0(DI)(R8*1)
	VMOVUPS Y5, 32(DI)(R8*1)
	VMOVUPS Y6, 64(DI)(R8*1)
	VMOVUPS Y7, 96(DI)(R8*1)
	LEAQ (DI)(R8*2), DI
	ADDQ $16, SI
	SUBQ $2, CX
	JG two
	VZEROUPPER
	RET
