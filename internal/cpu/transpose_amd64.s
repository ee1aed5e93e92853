//go:build !noasm

#include "textflag.h"

// Blocks of a tile are transposed in registers. One half of a register comes from one
// column, the other half from a later column, and unpack instructions sort the elements
// within the halves.

#define BEGIN \
	MOVQ dst+0(FP), DI;    \
	MOVQ src+8(FP), SI;    \
	MOVQ pitch+16(FP), R8; \
	MOVQ n+24(FP), CX;     \
	LEAQ (R8)(R8*2), R9

// Transposes four elements of 4 bytes of eight columns, at offset `at`, to four rows of
// 1024 bytes each. R10 is column 4.
#define TRANSPOSE32(at, row) \
	VMOVUPS     at(SI), X0;                       \
	VMOVUPS     at(SI)(R8*1), X1;                 \
	VMOVUPS     at(SI)(R8*2), X2;                 \
	VMOVUPS     at(SI)(R9*1), X3;                 \
	VINSERTF128 $1, at(R10), Y0, Y0;              \
	VINSERTF128 $1, at(R10)(R8*1), Y1, Y1;        \
	VINSERTF128 $1, at(R10)(R8*2), Y2, Y2;        \
	VINSERTF128 $1, at(R10)(R9*1), Y3, Y3;        \
	VUNPCKLPS   Y1, Y0, Y4;                       \
	VUNPCKHPS   Y1, Y0, Y5;                       \
	VUNPCKLPS   Y3, Y2, Y6;                       \
	VUNPCKHPS   Y3, Y2, Y7;                       \
	VUNPCKLPD   Y6, Y4, Y0;                       \
	VUNPCKHPD   Y6, Y4, Y1;                       \
	VUNPCKLPD   Y7, Y5, Y2;                       \
	VUNPCKHPD   Y7, Y5, Y3;                       \
	VMOVUPS     Y0, (1024*row)(DI);               \
	VMOVUPS     Y1, (1024*row+1024)(DI);          \
	VMOVUPS     Y2, (1024*row+2048)(DI);          \
	VMOVUPS     Y3, (1024*row+3072)(DI)

// func transpose32AVX(dst, src unsafe.Pointer, pitch, n int)
TEXT ·transpose32AVX(SB), NOSPLIT, $0-32
	BEGIN
loop:
	LEAQ (SI)(R8*4), R10
	TRANSPOSE32(0, 0)
	TRANSPOSE32(16, 4)
	TRANSPOSE32(32, 8)
	TRANSPOSE32(48, 12)
	LEAQ (SI)(R8*8), SI
	ADDQ $32, DI
	SUBQ $8, CX
	JNE  loop
	VZEROUPPER
	RET

// Transposes two elements of 8 bytes of four columns to two rows of 2048 bytes each.
#define TRANSPOSE64(at, row) \
	VMOVUPD     at(SI), X0;                \
	VMOVUPD     at(SI)(R8*1), X1;          \
	VINSERTF128 $1, at(SI)(R8*2), Y0, Y0;  \
	VINSERTF128 $1, at(SI)(R9*1), Y1, Y1;  \
	VUNPCKLPD   Y1, Y0, Y2;                \
	VUNPCKHPD   Y1, Y0, Y3;                \
	VMOVUPD     Y2, (2048*row)(DI);        \
	VMOVUPD     Y3, (2048*row+2048)(DI)

// func transpose64AVX(dst, src unsafe.Pointer, pitch, n int)
TEXT ·transpose64AVX(SB), NOSPLIT, $0-32
	BEGIN
loop:
	TRANSPOSE64(0, 0)
	TRANSPOSE64(16, 2)
	TRANSPOSE64(32, 4)
	TRANSPOSE64(48, 6)
	LEAQ (SI)(R8*4), SI
	ADDQ $32, DI
	SUBQ $4, CX
	JNE  loop
	VZEROUPPER
	RET

// Transposes eight elements of 2 bytes of sixteen columns to eight rows of 512 bytes each.
// R10 is column 8, R11 is five times and R12 seven times the pitch.
#define TRANSPOSE16(at, row) \
	VMOVDQU     at(SI), X0;                 \
	VMOVDQU     at(SI)(R8*1), X1;           \
	VMOVDQU     at(SI)(R8*2), X2;           \
	VMOVDQU     at(SI)(R9*1), X3;           \
	VMOVDQU     at(SI)(R8*4), X4;           \
	VMOVDQU     at(SI)(R11*1), X5;          \
	VMOVDQU     at(SI)(R9*2), X6;           \
	VMOVDQU     at(SI)(R12*1), X7;          \
	VINSERTI128 $1, at(R10), Y0, Y0;        \
	VINSERTI128 $1, at(R10)(R8*1), Y1, Y1;  \
	VINSERTI128 $1, at(R10)(R8*2), Y2, Y2;  \
	VINSERTI128 $1, at(R10)(R9*1), Y3, Y3;  \
	VINSERTI128 $1, at(R10)(R8*4), Y4, Y4;  \
	VINSERTI128 $1, at(R10)(R11*1), Y5, Y5; \
	VINSERTI128 $1, at(R10)(R9*2), Y6, Y6;  \
	VINSERTI128 $1, at(R10)(R12*1), Y7, Y7; \
	VPUNPCKLWD  Y1, Y0, Y8;                 \
	VPUNPCKHWD  Y1, Y0, Y9;                 \
	VPUNPCKLWD  Y3, Y2, Y10;                \
	VPUNPCKHWD  Y3, Y2, Y11;                \
	VPUNPCKLWD  Y5, Y4, Y12;                \
	VPUNPCKHWD  Y5, Y4, Y13;                \
	VPUNPCKLWD  Y7, Y6, Y14;                \
	VPUNPCKHWD  Y7, Y6, Y15;                \
	VPUNPCKLDQ  Y10, Y8, Y0;                \
	VPUNPCKHDQ  Y10, Y8, Y1;                \
	VPUNPCKLDQ  Y11, Y9, Y2;                \
	VPUNPCKHDQ  Y11, Y9, Y3;                \
	VPUNPCKLDQ  Y14, Y12, Y4;               \
	VPUNPCKHDQ  Y14, Y12, Y5;               \
	VPUNPCKLDQ  Y15, Y13, Y6;               \
	VPUNPCKHDQ  Y15, Y13, Y7;               \
	VPUNPCKLQDQ Y4, Y0, Y8;                 \
	VPUNPCKHQDQ Y4, Y0, Y9;                 \
	VPUNPCKLQDQ Y5, Y1, Y10;                \
	VPUNPCKHQDQ Y5, Y1, Y11;                \
	VPUNPCKLQDQ Y6, Y2, Y12;                \
	VPUNPCKHQDQ Y6, Y2, Y13;                \
	VPUNPCKLQDQ Y7, Y3, Y14;                \
	VPUNPCKHQDQ Y7, Y3, Y15;                \
	VMOVDQU     Y8, (512*row)(DI);          \
	VMOVDQU     Y9, (512*row+512)(DI);      \
	VMOVDQU     Y10, (512*row+1024)(DI);    \
	VMOVDQU     Y11, (512*row+1536)(DI);    \
	VMOVDQU     Y12, (512*row+2048)(DI);    \
	VMOVDQU     Y13, (512*row+2560)(DI);    \
	VMOVDQU     Y14, (512*row+3072)(DI);    \
	VMOVDQU     Y15, (512*row+3584)(DI)

// func transpose16AVX(dst, src unsafe.Pointer, pitch, n int)
TEXT ·transpose16AVX(SB), NOSPLIT, $0-32
	BEGIN
	LEAQ (R8)(R8*4), R11
	LEAQ (R9)(R8*4), R12
loop:
	LEAQ (SI)(R8*8), R10
	TRANSPOSE16(0, 0)
	TRANSPOSE16(16, 8)
	TRANSPOSE16(32, 16)
	TRANSPOSE16(48, 24)
	LEAQ (R10)(R8*8), SI
	ADDQ $32, DI
	SUBQ $16, CX
	JNE  loop
	VZEROUPPER
	RET
