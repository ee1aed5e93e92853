//go:build !noasm

#include "textflag.h"

DATA ·one32(SB)/4, $1.0
GLOBL ·one32(SB), RODATA|NOPTR, $4
DATA ·one64(SB)/8, $1.0
GLOBL ·one64(SB), RODATA|NOPTR, $8

DATA ·large32+0(SB)/4, $0x5b800000 // 2^56
DATA ·large32+4(SB)/4, $0x5b800000 // 2^56
DATA ·large32+8(SB)/4, $0x5b800000 // 2^56
DATA ·large32+12(SB)/4, $0x5b800000 // 2^56
DATA ·large32+16(SB)/4, $0x5b800000 // 2^56
DATA ·large32+20(SB)/4, $0x5b800000 // 2^56
DATA ·large32+24(SB)/4, $0x5b800000 // 2^56
DATA ·large32+28(SB)/4, $0x5b800000 // 2^56
GLOBL ·large32(SB), RODATA|NOPTR, $32

DATA ·small64(SB)/8, $0x3c70000000000000 // 2^-56
GLOBL ·small64(SB), RODATA|NOPTR, $8

DATA ·ones32+0(SB)/4, $1.0
DATA ·ones32+4(SB)/4, $1.0
DATA ·ones32+8(SB)/4, $1.0
DATA ·ones32+12(SB)/4, $1.0
DATA ·ones32+16(SB)/4, $1.0
DATA ·ones32+20(SB)/4, $1.0
DATA ·ones32+24(SB)/4, $1.0
DATA ·ones32+28(SB)/4, $1.0
GLOBL ·ones32(SB), RODATA|NOPTR, $32

DATA ·ones64+0(SB)/8, $1.0
DATA ·ones64+8(SB)/8, $1.0
DATA ·ones64+16(SB)/8, $1.0
DATA ·ones64+24(SB)/8, $1.0
GLOBL ·ones64(SB), RODATA|NOPTR, $32

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

// mirror: transposes a packed block of eight by eight, or four by four, at a time, and
// accumulates the moments.

// d is the difference between v and Y15; its square is added to q.
#define SQUARE32(v, d, q) \
	VMOVAPS     v, d;                 \
	VFMSUB132PS ·large32(SB), Y15, d; \
	VFMADD231PS d, d, q

// Four columns of the block in a, b, c and d: rows 0-3 in the lower halves, 4-7 in the
// upper ones.
#define COLUMNS32(a, b, c, d, to) \
	VUNPCKLPS b, a, Y8;      \
	VUNPCKHPS b, a, b;       \
	VUNPCKLPS d, c, a;       \
	VUNPCKHPS d, c, d;       \
	VUNPCKLPD a, Y8, c;      \
	VMOVUPS   c, (to);       \
	VUNPCKHPD a, Y8, a;      \
	VMOVUPS   a, (to)(R8*1); \
	VUNPCKLPD d, b, c;       \
	VMOVUPS   c, (to)(R8*2); \
	VUNPCKHPD d, b, d;       \
	VMOVUPS   d, (to)(R10*1)

// Y11 has sums in float64: differences in float32 lose entries far below the shift, always
// in the same direction. The transpose occupies one execution unit and leaves the others
// free. Y12 to Y14 have squares, which are converted to float64 after all rows. They are
// squares of differences times 2^56, which neither underflow nor overflow.
#define MIRROR32(START, SUMS, FOLD) \
	MOVQ dst+0(FP), DI; \
	MOVQ ld+8(FP), R8; \
	MOVQ packed+16(FP), SI; \
	MOVQ rows+24(FP), R12; \
	MOVQ cols+32(FP), R9; \
	VCVTSD2SS shift+40(FP), X15, X15; \
	VBROADCASTSS X15, Y15; \
	VMULPS ·large32(SB), Y15, Y15; \
	MOVQ sums+48(FP), R11; \
	VXORPS Y11, Y11, Y11; \
	START; \
	SHLQ $2, R8; \
	LEAQ (R8)(R8*2), R10; \
eight: \
	VXORPS Y12, Y12, Y12; \
	VXORPS Y13, Y13, Y13; \
	VXORPS Y14, Y14, Y14; \
	MOVQ SI, AX; \
	MOVQ DI, BX; \
	LEAQ (DI)(R8*4), DX; \
	MOVQ R12, CX; \
block: \
	VMOVUPS 0(AX), X0; \
	VMOVUPS 128(AX), X1; \
	VMOVUPS 256(AX), X2; \
	VMOVUPS 384(AX), X3; \
	VMOVUPS 16(AX), X4; \
	VMOVUPS 144(AX), X5; \
	VMOVUPS 272(AX), X6; \
	VMOVUPS 400(AX), X7; \
	VINSERTF128 $1, 512(AX), Y0, Y0; \
	VINSERTF128 $1, 640(AX), Y1, Y1; \
	VINSERTF128 $1, 768(AX), Y2, Y2; \
	VINSERTF128 $1, 896(AX), Y3, Y3; \
	VINSERTF128 $1, 528(AX), Y4, Y4; \
	VINSERTF128 $1, 656(AX), Y5, Y5; \
	VINSERTF128 $1, 784(AX), Y6, Y6; \
	VINSERTF128 $1, 912(AX), Y7, Y7; \
	SQUARE32(Y0, Y8, Y12); \
	SQUARE32(Y1, Y9, Y13); \
	SQUARE32(Y2, Y8, Y14); \
	SQUARE32(Y3, Y9, Y12); \
	SQUARE32(Y4, Y8, Y13); \
	SQUARE32(Y5, Y9, Y14); \
	SQUARE32(Y6, Y8, Y12); \
	SQUARE32(Y7, Y9, Y13); \
	SUMS; \
	COLUMNS32(Y0, Y1, Y2, Y3, BX); \
	COLUMNS32(Y4, Y5, Y6, Y7, DX); \
	ADDQ $1024, AX; \
	ADDQ $32, BX; \
	ADDQ $32, DX; \
	SUBQ $8, CX; \
	JG block; \
	VADDPS Y13, Y12, Y12; \
	VADDPS Y14, Y12, Y12; \
	VCVTPS2PD X12, Y9; \
	VEXTRACTF128 $1, Y12, X12; \
	VCVTPS2PD X12, Y10; \
	VADDPD Y10, Y9, Y9; \
	VBROADCASTSD ·small64(SB), Y10; \
	VMULPD Y10, Y9, Y9; \
	VFMADD213PD 32(R11), Y10, Y9; \
	VMOVUPD Y9, 32(R11); \
	ADDQ $32, SI; \
	LEAQ (DI)(R8*8), DI; \
	SUBQ $8, R9; \
	JG eight; \
	FOLD; \
	MOVQ rows+24(FP), AX; \
	IMULQ cols+32(FP), AX; \
	SHRQ $2, AX; \
	VCVTSI2SDQ AX, X9, X9; \
	VBROADCASTSD X9, Y9; \
	VBROADCASTSD shift+40(FP), Y10; \
	VFNMADD231PD Y10, Y9, Y11; \
	VADDPD (R11), Y11, Y11; \
	VMOVUPD Y11, (R11); \
	VZEROUPPER; \
	RET

#define NONE

#define SUMS256 \
	VCVTPS2PD 0(AX), Y8; \
	VCVTPS2PD 16(AX), Y9; \
	VCVTPS2PD 128(AX), Y10; \
	VADDPD Y10, Y8, Y8; \
	VCVTPS2PD 144(AX), Y10; \
	VADDPD Y10, Y9, Y9; \
	VCVTPS2PD 256(AX), Y10; \
	VADDPD Y10, Y8, Y8; \
	VCVTPS2PD 272(AX), Y10; \
	VADDPD Y10, Y9, Y9; \
	VCVTPS2PD 384(AX), Y10; \
	VADDPD Y10, Y8, Y8; \
	VCVTPS2PD 400(AX), Y10; \
	VADDPD Y10, Y9, Y9; \
	VCVTPS2PD 512(AX), Y10; \
	VADDPD Y10, Y8, Y8; \
	VCVTPS2PD 528(AX), Y10; \
	VADDPD Y10, Y9, Y9; \
	VCVTPS2PD 640(AX), Y10; \
	VADDPD Y10, Y8, Y8; \
	VCVTPS2PD 656(AX), Y10; \
	VADDPD Y10, Y9, Y9; \
	VCVTPS2PD 768(AX), Y10; \
	VADDPD Y10, Y8, Y8; \
	VCVTPS2PD 784(AX), Y10; \
	VADDPD Y10, Y9, Y9; \
	VCVTPS2PD 896(AX), Y10; \
	VADDPD Y10, Y8, Y8; \
	VCVTPS2PD 912(AX), Y10; \
	VADDPD Y10, Y9, Y9; \
	VADDPD Y9, Y8, Y8; \
	VADDPD Y8, Y11, Y11

#define START512 \
	VPXORQ Z16, Z16, Z16; \
	VPXORQ Z17, Z17, Z17; \
	VPXORQ Z18, Z18, Z18

#define SUMS512 \
	VCVTPS2PD 0(AX), Z8; \
	VCVTPS2PD 128(AX), Z9; \
	VCVTPS2PD 256(AX), Z10; \
	VADDPD Z8, Z16, Z16; \
	VADDPD Z9, Z17, Z17; \
	VADDPD Z10, Z18, Z18; \
	VCVTPS2PD 384(AX), Z8; \
	VCVTPS2PD 512(AX), Z9; \
	VCVTPS2PD 640(AX), Z10; \
	VADDPD Z8, Z16, Z16; \
	VADDPD Z9, Z17, Z17; \
	VADDPD Z10, Z18, Z18; \
	VCVTPS2PD 768(AX), Z8; \
	VCVTPS2PD 896(AX), Z9; \
	VADDPD Z8, Z16, Z16; \
	VADDPD Z9, Z17, Z17

#define FOLD512 \
	VADDPD Z17, Z16, Z16; \
	VADDPD Z18, Z16, Z16; \
	VEXTRACTF64X4 $1, Z16, Y8; \
	VMOVAPD Z16, Z11; \
	VADDPD Y8, Y11, Y11

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
	VBROADCASTSD ·one64(SB), Y14 // the units for multiplications are free, unlike those for conversions and sums
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
	VBROADCASTSD ·one64(SB), Y14 // the units for multiplications are free, unlike those for conversions and sums
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

// func transposeAVX32(dst *float32, ld int, src *float32, ls, n int)
//
// The two halves of a register come from four rows and the four after them; then pairs and
// groups of four are exchanged.
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

// func mirrorAVX32(dst *float32, ld int, packed *float32, rows, cols int, shift float64, sums *laneSums)
TEXT ·mirrorAVX32(SB), NOSPLIT, $0-56
	MIRROR32(NONE, SUMS256, NONE)

// func mirrorAVX512F32(dst *float32, ld int, packed *float32, rows, cols int, shift float64, sums *laneSums)
TEXT ·mirrorAVX512F32(SB), NOSPLIT, $0-56
	MIRROR32(START512, SUMS512, FOLD512)

// Sums to Y8 and Y9, squares to Y10 and Y11.
#define MOMENT64(v, s, q) \
	VSUBPD      Y15, v, Y12; \
	VADDPD      Y12, s, s;   \
	VFMADD231PD Y12, Y12, q

// func mirrorAVX64(dst *float64, ld int, packed *float64, rows, cols int, shift float64, sums *laneSums)
TEXT ·mirrorAVX64(SB), NOSPLIT, $0-56
	MOVQ dst+0(FP), DI
	MOVQ ld+8(FP), R8
	MOVQ packed+16(FP), SI
	MOVQ rows+24(FP), R12
	MOVQ cols+32(FP), R9
	VBROADCASTSD shift+40(FP), Y15
	VXORPD Y8, Y8, Y8
	VXORPD Y9, Y9, Y9
	VXORPD Y10, Y10, Y10
	VXORPD Y11, Y11, Y11
	SHLQ $3, R8
	LEAQ (R8)(R8*2), R10

four:
	MOVQ SI, AX
	MOVQ DI, BX
	MOVQ R12, CX

block:
	VMOVUPD 0(AX), X0
	VMOVUPD 128(AX), X1
	VMOVUPD 16(AX), X2
	VMOVUPD 144(AX), X3
	VINSERTF128 $1, 256(AX), Y0, Y0
	VINSERTF128 $1, 384(AX), Y1, Y1
	VINSERTF128 $1, 272(AX), Y2, Y2
	VINSERTF128 $1, 400(AX), Y3, Y3
	MOMENT64(Y0, Y8, Y10)
	MOMENT64(Y1, Y9, Y11)
	MOMENT64(Y2, Y8, Y10)
	MOMENT64(Y3, Y9, Y11)
	VUNPCKLPD Y1, Y0, Y4
	VUNPCKHPD Y1, Y0, Y5
	VUNPCKLPD Y3, Y2, Y6
	VUNPCKHPD Y3, Y2, Y7
	VMOVUPD Y4, (BX)
	VMOVUPD Y5, (BX)(R8*1)
	VMOVUPD Y6, (BX)(R8*2)
	VMOVUPD Y7, (BX)(R10*1)
	ADDQ $512, AX
	ADDQ $32, BX
	SUBQ $4, CX
	JG block
	ADDQ $32, SI
	LEAQ (DI)(R8*4), DI
	SUBQ $4, R9
	JG four

	MOVQ sums+48(FP), DI
	VADDPD Y9, Y8, Y8
	VADDPD Y11, Y10, Y10
	VADDPD (DI), Y8, Y8
	VADDPD 32(DI), Y10, Y10
	VMOVUPD Y8, (DI)
	VMOVUPD Y10, 32(DI)
	VZEROUPPER
	RET

// factors: two points at a time. Y0-Y3 are the products of the first point with a panel,
// Y4-Y7 those of the second, Y8-Y11 coordinates of the points in every lane.
// Multiplications are the bottleneck: three for a wire of two coordinates; additions use
// other units.

// The first two coordinates of two points; size is the size of a number.
#define POINTS(BROADCAST, size) \
	BROADCAST 0(BX), Y8;           \
	BROADCAST size(BX), Y9;        \
	BROADCAST 128(BX), Y10;        \
	BROADCAST (128+size)(BX), Y11

// Y13 and Y14: squared distances of the points to the columns at `at`, in two coordinates.
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

// The products are 1 - a distance. A subtraction, because multiplications are the
// bottleneck.
#define FIRST(SUB, ones, p, q) \
	VMOVUPS ones(SB), Y12; \
	SUB     Y13, Y12, p;   \
	SUB     Y14, Y12, q

// Stores the rows of the two points to DI and packed to R11.
#define STOREPAIR \
	VMOVUPS Y0, 0(DI);         \
	VMOVUPS Y1, 32(DI);        \
	VMOVUPS Y2, 64(DI);        \
	VMOVUPS Y3, 96(DI);        \
	VMOVUPS Y4, 0(DI)(R8*1);   \
	VMOVUPS Y5, 32(DI)(R8*1);  \
	VMOVUPS Y6, 64(DI)(R8*1);  \
	VMOVUPS Y7, 96(DI)(R8*1);  \
	LEAQ    (DI)(R8*2), DI;    \
	VMOVUPS Y0, 0(R11);        \
	VMOVUPS Y1, 32(R11);       \
	VMOVUPS Y2, 64(R11);       \
	VMOVUPS Y3, 96(R11);       \
	VMOVUPS Y4, 128(R11);      \
	VMOVUPS Y5, 160(R11);      \
	VMOVUPS Y6, 192(R11);      \
	VMOVUPS Y7, 224(R11);      \
	ADDQ    $256, R11

// Prefetches two rows of ahead, which are written after these points.
#define AHEAD \
	PREFETCHT0 (R12);   \
	PREFETCHT0 64(R12); \
	ADDQ       R13, R12; \
	PREFETCHT0 (R12);   \
	PREFETCHT0 64(R12); \
	ADDQ       R13, R12

// func factorsAVX32(out *float32, ld int, packed, point, panel *float32, rows, planar, full int, ahead *float32, la int)
TEXT ·factorsAVX32(SB), NOSPLIT, $0-80
	MOVQ out+0(FP), DI
	MOVQ ld+8(FP), R8
	MOVQ point+24(FP), SI
	MOVQ rows+40(FP), CX
	MOVQ packed+16(FP), R11
	MOVQ ahead+64(FP), R12
	MOVQ la+72(FP), R13
	SHLQ $2, R8
	SHLQ $2, R13

two:
	MOVQ SI, BX
	MOVQ panel+32(FP), DX
	MOVQ planar+48(FP), R9
	MOVQ full+56(FP), R10
	AHEAD
	TESTQ R9, R9
	JZ none
	POINTS(VBROADCASTSS, 4)
	DISTANCES(VSUBPS, VMULPS, VFMADD231PS, 0)
	FIRST(VSUBPS, ·ones32, Y0, Y4)
	DISTANCES(VSUBPS, VMULPS, VFMADD231PS, 32)
	FIRST(VSUBPS, ·ones32, Y1, Y5)
	DISTANCES(VSUBPS, VMULPS, VFMADD231PS, 64)
	FIRST(VSUBPS, ·ones32, Y2, Y6)
	DISTANCES(VSUBPS, VMULPS, VFMADD231PS, 96)
	FIRST(VSUBPS, ·ones32, Y3, Y7)
	ADDQ $256, BX
	ADDQ $256, DX
	DECQ R9
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
	STOREPAIR
	ADDQ $8, SI
	SUBQ $2, CX
	JG two
	VZEROUPPER
	RET

none:
	VMOVUPS ·ones32(SB), Y0
	VMOVAPS Y0, Y1
	VMOVAPS Y0, Y2
	VMOVAPS Y0, Y3
	VMOVAPS Y0, Y4
	VMOVAPS Y0, Y5
	VMOVAPS Y0, Y6
	VMOVAPS Y0, Y7
	JMP threes

// func factorsAVX64(out *float64, ld int, packed, point, panel *float64, rows, planar, full int, ahead *float64, la int)
TEXT ·factorsAVX64(SB), NOSPLIT, $0-80
	MOVQ out+0(FP), DI
	MOVQ ld+8(FP), R8
	MOVQ point+24(FP), SI
	MOVQ rows+40(FP), CX
	MOVQ packed+16(FP), R11
	MOVQ ahead+64(FP), R12
	MOVQ la+72(FP), R13
	SHLQ $3, R8
	SHLQ $3, R13

two:
	MOVQ SI, BX
	MOVQ panel+32(FP), DX
	MOVQ planar+48(FP), R9
	MOVQ full+56(FP), R10
	AHEAD
	TESTQ R9, R9
	JZ none
	POINTS(VBROADCASTSD, 8)
	DISTANCES(VSUBPD, VMULPD, VFMADD231PD, 0)
	FIRST(VSUBPD, ·ones64, Y0, Y4)
	DISTANCES(VSUBPD, VMULPD, VFMADD231PD, 32)
	FIRST(VSUBPD, ·ones64, Y1, Y5)
	DISTANCES(VSUBPD, VMULPD, VFMADD231PD, 64)
	FIRST(VSUBPD, ·ones64, Y2, Y6)
	DISTANCES(VSUBPD, VMULPD, VFMADD231PD, 96)
	FIRST(VSUBPD, ·ones64, Y3, Y7)
	ADDQ $256, BX
	ADDQ $256, DX
	DECQ R9
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
	STOREPAIR
	ADDQ $16, SI
	SUBQ $2, CX
	JG two
	VZEROUPPER
	RET

none:
	VMOVUPS ·ones64(SB), Y0
	VMOVAPS Y0, Y1
	VMOVAPS Y0, Y2
	VMOVAPS Y0, Y3
	VMOVAPS Y0, Y4
	VMOVAPS Y0, Y5
	VMOVAPS Y0, Y6
	VMOVAPS Y0, Y7
	JMP threes

// With AVX-512: four points at a time. Z0-Z7 are their products with the two halves of a
// panel, Z16-Z21 the panel's coordinates. On processors with 256-bit units, such as Zen 4,
// this is as much work as with AVX2, but comes closer to full utilization.

// A and B: squared distances of the point at off to the columns, in two coordinates.
#define WIDE(SUB, MUL, FMA, off, A, B, C, D) \
	SUB off(BX), Z16, A;       \
	SUB off(BX), Z17, B;       \
	SUB (off+128)(BX), Z18, C; \
	SUB (off+128)(BX), Z19, D; \
	MUL A, A, A;               \
	MUL B, B, B;               \
	FMA C, C, A;               \
	FMA D, D, B

// A third coordinate.
#define WIDETHIRD(SUB, FMA, off, A, B, C, D) \
	SUB (off+256)(BX), Z20, C; \
	SUB (off+256)(BX), Z21, D; \
	FMA C, C, A;               \
	FMA D, D, B

// The products p and q times 1 - a distance, or that.
#define WIDETIMES(FNMA, A, B, p, q) \
	FNMA A, p, p; \
	FNMA B, q, q

#define WIDEFIRST(SUB, A, B, p, q) \
	SUB A, Z15, p; \
	SUB B, Z15, q

#define WIDELOADS \
	VMOVUPS 0(DX), Z16;   \
	VMOVUPS 64(DX), Z17;  \
	VMOVUPS 128(DX), Z18; \
	VMOVUPS 192(DX), Z19

#define WIDESTORES \
	VMOVUPS Z0, 0(DI);         \
	VMOVUPS Z1, 64(DI);        \
	VMOVUPS Z2, 0(DI)(R8*1);   \
	VMOVUPS Z3, 64(DI)(R8*1);  \
	VMOVUPS Z4, 0(DI)(R8*2);   \
	VMOVUPS Z5, 64(DI)(R8*2);  \
	VMOVUPS Z6, 0(DI)(R10*1);  \
	VMOVUPS Z7, 64(DI)(R10*1); \
	LEAQ    (DI)(R8*4), DI;    \
	VMOVUPS Z0, 0(R11);        \
	VMOVUPS Z1, 64(R11);       \
	VMOVUPS Z2, 128(R11);      \
	VMOVUPS Z3, 192(R11);      \
	VMOVUPS Z4, 256(R11);      \
	VMOVUPS Z5, 320(R11);      \
	VMOVUPS Z6, 384(R11);      \
	VMOVUPS Z7, 448(R11);      \
	ADDQ    $512, R11

// func factorsAVX512F32(out *float32, ld int, packed, point, panel *float32, rows, planar, full int, ahead *float32, la int)
TEXT ·factorsAVX512F32(SB), NOSPLIT, $0-80
	MOVQ out+0(FP), DI
	MOVQ ld+8(FP), R8
	MOVQ packed+16(FP), R11
	MOVQ point+24(FP), SI
	MOVQ rows+40(FP), CX
	MOVQ ahead+64(FP), R12
	MOVQ la+72(FP), R13
	SHLQ $2, R8
	SHLQ $2, R13
	LEAQ (R8)(R8*2), R10
	VBROADCASTSS ·one32(SB), Z15

four:
	MOVQ SI, BX
	MOVQ panel+32(FP), DX
	MOVQ planar+48(FP), R9
	MOVQ full+56(FP), AX
	AHEAD
	AHEAD
	TESTQ R9, R9
	JZ none
	WIDELOADS
	WIDE(VSUBPS.BCST, VMULPS, VFMADD231PS, 0, Z22, Z23, Z24, Z25)
	WIDEFIRST(VSUBPS, Z22, Z23, Z0, Z1)
	WIDE(VSUBPS.BCST, VMULPS, VFMADD231PS, 4, Z26, Z27, Z28, Z29)
	WIDEFIRST(VSUBPS, Z26, Z27, Z2, Z3)
	WIDE(VSUBPS.BCST, VMULPS, VFMADD231PS, 8, Z22, Z23, Z24, Z25)
	WIDEFIRST(VSUBPS, Z22, Z23, Z4, Z5)
	WIDE(VSUBPS.BCST, VMULPS, VFMADD231PS, 12, Z26, Z27, Z28, Z29)
	WIDEFIRST(VSUBPS, Z26, Z27, Z6, Z7)
	ADDQ $256, BX
	ADDQ $256, DX
	DECQ R9
	JZ threes

planar:
	WIDELOADS
	WIDE(VSUBPS.BCST, VMULPS, VFMADD231PS, 0, Z22, Z23, Z24, Z25)
	WIDETIMES(VFNMADD231PS, Z22, Z23, Z0, Z1)
	WIDE(VSUBPS.BCST, VMULPS, VFMADD231PS, 4, Z26, Z27, Z28, Z29)
	WIDETIMES(VFNMADD231PS, Z26, Z27, Z2, Z3)
	WIDE(VSUBPS.BCST, VMULPS, VFMADD231PS, 8, Z22, Z23, Z24, Z25)
	WIDETIMES(VFNMADD231PS, Z22, Z23, Z4, Z5)
	WIDE(VSUBPS.BCST, VMULPS, VFMADD231PS, 12, Z26, Z27, Z28, Z29)
	WIDETIMES(VFNMADD231PS, Z26, Z27, Z6, Z7)
	ADDQ $256, BX
	ADDQ $256, DX
	DECQ R9
	JNZ planar

threes:
	TESTQ AX, AX
	JZ store

full:
	WIDELOADS
	VMOVUPS 256(DX), Z20
	VMOVUPS 320(DX), Z21
	WIDE(VSUBPS.BCST, VMULPS, VFMADD231PS, 0, Z22, Z23, Z24, Z25)
	WIDETHIRD(VSUBPS.BCST, VFMADD231PS, 0, Z22, Z23, Z24, Z25)
	WIDETIMES(VFNMADD231PS, Z22, Z23, Z0, Z1)
	WIDE(VSUBPS.BCST, VMULPS, VFMADD231PS, 4, Z26, Z27, Z28, Z29)
	WIDETHIRD(VSUBPS.BCST, VFMADD231PS, 4, Z26, Z27, Z28, Z29)
	WIDETIMES(VFNMADD231PS, Z26, Z27, Z2, Z3)
	WIDE(VSUBPS.BCST, VMULPS, VFMADD231PS, 8, Z22, Z23, Z24, Z25)
	WIDETHIRD(VSUBPS.BCST, VFMADD231PS, 8, Z22, Z23, Z24, Z25)
	WIDETIMES(VFNMADD231PS, Z22, Z23, Z4, Z5)
	WIDE(VSUBPS.BCST, VMULPS, VFMADD231PS, 12, Z26, Z27, Z28, Z29)
	WIDETHIRD(VSUBPS.BCST, VFMADD231PS, 12, Z26, Z27, Z28, Z29)
	WIDETIMES(VFNMADD231PS, Z26, Z27, Z6, Z7)
	ADDQ $384, BX
	ADDQ $384, DX
	DECQ AX
	JNZ full

store:
	WIDESTORES
	ADDQ $16, SI
	SUBQ $4, CX
	JG four
	VZEROUPPER
	RET

none:
	VMOVAPS Z15, Z0
	VMOVAPS Z15, Z1
	VMOVAPS Z15, Z2
	VMOVAPS Z15, Z3
	VMOVAPS Z15, Z4
	VMOVAPS Z15, Z5
	VMOVAPS Z15, Z6
	VMOVAPS Z15, Z7
	JMP threes

// func factorsAVX512F64(out *float64, ld int, packed, point, panel *float64, rows, planar, full int, ahead *float64, la int)
TEXT ·factorsAVX512F64(SB), NOSPLIT, $0-80
	MOVQ out+0(FP), DI
	MOVQ ld+8(FP), R8
	MOVQ packed+16(FP), R11
	MOVQ point+24(FP), SI
	MOVQ rows+40(FP), CX
	MOVQ ahead+64(FP), R12
	MOVQ la+72(FP), R13
	SHLQ $3, R8
	SHLQ $3, R13
	LEAQ (R8)(R8*2), R10
	VBROADCASTSD ·one64(SB), Z15

four:
	MOVQ SI, BX
	MOVQ panel+32(FP), DX
	MOVQ planar+48(FP), R9
	MOVQ full+56(FP), AX
	AHEAD
	AHEAD
	TESTQ R9, R9
	JZ none
	WIDELOADS
	WIDE(VSUBPD.BCST, VMULPD, VFMADD231PD, 0, Z22, Z23, Z24, Z25)
	WIDEFIRST(VSUBPD, Z22, Z23, Z0, Z1)
	WIDE(VSUBPD.BCST, VMULPD, VFMADD231PD, 8, Z26, Z27, Z28, Z29)
	WIDEFIRST(VSUBPD, Z26, Z27, Z2, Z3)
	WIDE(VSUBPD.BCST, VMULPD, VFMADD231PD, 16, Z22, Z23, Z24, Z25)
	WIDEFIRST(VSUBPD, Z22, Z23, Z4, Z5)
	WIDE(VSUBPD.BCST, VMULPD, VFMADD231PD, 24, Z26, Z27, Z28, Z29)
	WIDEFIRST(VSUBPD, Z26, Z27, Z6, Z7)
	ADDQ $256, BX
	ADDQ $256, DX
	DECQ R9
	JZ threes

planar:
	WIDELOADS
	WIDE(VSUBPD.BCST, VMULPD, VFMADD231PD, 0, Z22, Z23, Z24, Z25)
	WIDETIMES(VFNMADD231PD, Z22, Z23, Z0, Z1)
	WIDE(VSUBPD.BCST, VMULPD, VFMADD231PD, 8, Z26, Z27, Z28, Z29)
	WIDETIMES(VFNMADD231PD, Z26, Z27, Z2, Z3)
	WIDE(VSUBPD.BCST, VMULPD, VFMADD231PD, 16, Z22, Z23, Z24, Z25)
	WIDETIMES(VFNMADD231PD, Z22, Z23, Z4, Z5)
	WIDE(VSUBPD.BCST, VMULPD, VFMADD231PD, 24, Z26, Z27, Z28, Z29)
	WIDETIMES(VFNMADD231PD, Z26, Z27, Z6, Z7)
	ADDQ $256, BX
	ADDQ $256, DX
	DECQ R9
	JNZ planar

threes:
	TESTQ AX, AX
	JZ store

full:
	WIDELOADS
	VMOVUPS 256(DX), Z20
	VMOVUPS 320(DX), Z21
	WIDE(VSUBPD.BCST, VMULPD, VFMADD231PD, 0, Z22, Z23, Z24, Z25)
	WIDETHIRD(VSUBPD.BCST, VFMADD231PD, 0, Z22, Z23, Z24, Z25)
	WIDETIMES(VFNMADD231PD, Z22, Z23, Z0, Z1)
	WIDE(VSUBPD.BCST, VMULPD, VFMADD231PD, 8, Z26, Z27, Z28, Z29)
	WIDETHIRD(VSUBPD.BCST, VFMADD231PD, 8, Z26, Z27, Z28, Z29)
	WIDETIMES(VFNMADD231PD, Z26, Z27, Z2, Z3)
	WIDE(VSUBPD.BCST, VMULPD, VFMADD231PD, 16, Z22, Z23, Z24, Z25)
	WIDETHIRD(VSUBPD.BCST, VFMADD231PD, 16, Z22, Z23, Z24, Z25)
	WIDETIMES(VFNMADD231PD, Z22, Z23, Z4, Z5)
	WIDE(VSUBPD.BCST, VMULPD, VFMADD231PD, 24, Z26, Z27, Z28, Z29)
	WIDETHIRD(VSUBPD.BCST, VFMADD231PD, 24, Z26, Z27, Z28, Z29)
	WIDETIMES(VFNMADD231PD, Z26, Z27, Z6, Z7)
	ADDQ $384, BX
	ADDQ $384, DX
	DECQ AX
	JNZ full

store:
	WIDESTORES
	ADDQ $32, SI
	SUBQ $4, CX
	JG four
	VZEROUPPER
	RET

none:
	VMOVAPS Z15, Z0
	VMOVAPS Z15, Z1
	VMOVAPS Z15, Z2
	VMOVAPS Z15, Z3
	VMOVAPS Z15, Z4
	VMOVAPS Z15, Z5
	VMOVAPS Z15, Z6
	VMOVAPS Z15, Z7
	JMP threes
