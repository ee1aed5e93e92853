//go:build !noasm

#include "textflag.h"

// The micro-kernels compute an mr x nr tile of C from a packed panel of A (mr elements per
// step of k) and one of B (nr elements per step of k). Each row of the tile is kept in two
// vector registers; a step loads the two vectors of B, broadcasts the mr elements of A from
// memory and does 2*mr FMAs.
//
// Registers: CX steps left, SI panel of A, DI panel of B, DX row of C,
// R8 bytes from one row of C to the next, R9 rows left.

#define PROLOGUE(shift) \
	MOVQ k+0(FP), CX;   \
	MOVQ a+8(FP), SI;   \
	MOVQ b+16(FP), DI;  \
	MOVQ c+24(FP), DX;  \
	MOVQ ldc+32(FP), R8; \
	SHLQ $shift, R8

// AVX-512: accumulators Z8 to Z31, B in Z0 and Z1, A in Z2 to Z7.

#define ZERO512 \
	VPXORQ Z8, Z8, Z8;    \
	VPXORQ Z9, Z9, Z9;    \
	VPXORQ Z10, Z10, Z10; \
	VPXORQ Z11, Z11, Z11; \
	VPXORQ Z12, Z12, Z12; \
	VPXORQ Z13, Z13, Z13; \
	VPXORQ Z14, Z14, Z14; \
	VPXORQ Z15, Z15, Z15; \
	VPXORQ Z16, Z16, Z16; \
	VPXORQ Z17, Z17, Z17; \
	VPXORQ Z18, Z18, Z18; \
	VPXORQ Z19, Z19, Z19; \
	VPXORQ Z20, Z20, Z20; \
	VPXORQ Z21, Z21, Z21; \
	VPXORQ Z22, Z22, Z22; \
	VPXORQ Z23, Z23, Z23; \
	VPXORQ Z24, Z24, Z24; \
	VPXORQ Z25, Z25, Z25; \
	VPXORQ Z26, Z26, Z26; \
	VPXORQ Z27, Z27, Z27; \
	VPXORQ Z28, Z28, Z28; \
	VPXORQ Z29, Z29, Z29; \
	VPXORQ Z30, Z30, Z30; \
	VPXORQ Z31, Z31, Z31

// Prefetch the tile of C: it is needed at the end.
#define PREFETCHC(rows) \
	MOVQ DX, AX;         \
	MOVQ $rows, R9;      \
prefetch:                \
	PREFETCHT0 (AX);     \
	PREFETCHT0 64(AX);   \
	ADDQ R8, AX;         \
	DECQ R9;             \
	JNZ  prefetch

#define ROW32(off, zb, z0, z1) \
	VBROADCASTSS off(SI), zb;  \
	VFMADD231PS  Z0, zb, z0;   \
	VFMADD231PS  Z1, zb, z1

#define STEP32(ka, kb) \
	VMOVUPS kb(DI), Z0;              \
	VMOVUPS (kb+64)(DI), Z1;         \
	ROW32((ka+0), Z2, Z8, Z9);       \
	ROW32((ka+4), Z3, Z10, Z11);     \
	ROW32((ka+8), Z4, Z12, Z13);     \
	ROW32((ka+12), Z5, Z14, Z15);    \
	ROW32((ka+16), Z6, Z16, Z17);    \
	ROW32((ka+20), Z7, Z18, Z19);    \
	ROW32((ka+24), Z2, Z20, Z21);    \
	ROW32((ka+28), Z3, Z22, Z23);    \
	ROW32((ka+32), Z4, Z24, Z25);    \
	ROW32((ka+36), Z5, Z26, Z27);    \
	ROW32((ka+40), Z6, Z28, Z29);    \
	ROW32((ka+44), Z7, Z30, Z31)

#define OUT512(z0, z1) \
	VMOVUPS z0, (DX);   \
	VMOVUPS z1, 64(DX); \
	ADDQ    R8, DX

#define ADDPS512(z0, z1) \
	VADDPS (DX), z0, z0;   \
	VADDPS 64(DX), z1, z1; \
	OUT512(z0, z1)

#define ADDPD512(z0, z1) \
	VADDPD (DX), z0, z0;   \
	VADDPD 64(DX), z1, z1; \
	OUT512(z0, z1)

#define TILE512(ROW) \
	ROW(Z8, Z9);   \
	ROW(Z10, Z11); \
	ROW(Z12, Z13); \
	ROW(Z14, Z15); \
	ROW(Z16, Z17); \
	ROW(Z18, Z19); \
	ROW(Z20, Z21); \
	ROW(Z22, Z23); \
	ROW(Z24, Z25); \
	ROW(Z26, Z27); \
	ROW(Z28, Z29); \
	ROW(Z30, Z31)

// func kernel12x32(k int, a, b, c *float32, ldc int, add bool)
TEXT ·kernel12x32(SB), NOSPLIT, $0-41
	PROLOGUE(2)
	ZERO512
	PREFETCHC(12)
	MOVQ CX, R10
	SHRQ $2, CX
	JZ   rest

loop:
	PREFETCHT0 768(SI)
	PREFETCHT0 832(SI)
	PREFETCHT0 896(SI)
	STEP32(0, 0)
	STEP32(48, 128)
	STEP32(96, 256)
	STEP32(144, 384)
	ADDQ $192, SI
	ADDQ $512, DI
	DECQ CX
	JNZ  loop

rest:
	ANDQ $3, R10
	JZ   out

one:
	STEP32(0, 0)
	ADDQ $48, SI
	ADDQ $128, DI
	DECQ R10
	JNZ  one

out:
	CMPB add+40(FP), $0
	JNE  sum
	TILE512(OUT512)
	VZEROUPPER
	RET

sum:
	TILE512(ADDPS512)
	VZEROUPPER
	RET

#define ROW16D(off, zb, z0, z1) \
	VBROADCASTSD off(SI), zb;   \
	VFMADD231PD  Z0, zb, z0;    \
	VFMADD231PD  Z1, zb, z1

#define STEP16D(ka, kb) \
	VMOVUPD kb(DI), Z0;               \
	VMOVUPD (kb+64)(DI), Z1;          \
	ROW16D((ka+0), Z2, Z8, Z9);       \
	ROW16D((ka+8), Z3, Z10, Z11);     \
	ROW16D((ka+16), Z4, Z12, Z13);    \
	ROW16D((ka+24), Z5, Z14, Z15);    \
	ROW16D((ka+32), Z6, Z16, Z17);    \
	ROW16D((ka+40), Z7, Z18, Z19);    \
	ROW16D((ka+48), Z2, Z20, Z21);    \
	ROW16D((ka+56), Z3, Z22, Z23);    \
	ROW16D((ka+64), Z4, Z24, Z25);    \
	ROW16D((ka+72), Z5, Z26, Z27);    \
	ROW16D((ka+80), Z6, Z28, Z29);    \
	ROW16D((ka+88), Z7, Z30, Z31)

// func kernel12x16(k int, a, b, c *float64, ldc int, add bool)
TEXT ·kernel12x16(SB), NOSPLIT, $0-41
	PROLOGUE(3)
	ZERO512
	PREFETCHC(12)
	MOVQ CX, R10
	SHRQ $2, CX
	JZ   rest

loop:
	PREFETCHT0 768(SI)
	PREFETCHT0 832(SI)
	PREFETCHT0 896(SI)
	PREFETCHT0 960(SI)
	PREFETCHT0 1024(SI)
	PREFETCHT0 1088(SI)
	STEP16D(0, 0)
	STEP16D(96, 128)
	STEP16D(192, 256)
	STEP16D(288, 384)
	ADDQ $384, SI
	ADDQ $512, DI
	DECQ CX
	JNZ  loop

rest:
	ANDQ $3, R10
	JZ   out

one:
	STEP16D(0, 0)
	ADDQ $96, SI
	ADDQ $128, DI
	DECQ R10
	JNZ  one

out:
	CMPB add+40(FP), $0
	JNE  sum
	TILE512(OUT512)
	VZEROUPPER
	RET

sum:
	TILE512(ADDPD512)
	VZEROUPPER
	RET

// The left half of a tile: accumulators Z8 to Z19, B in Z0.

#define ZEROHALF \
	VPXORQ Z8, Z8, Z8;    \
	VPXORQ Z9, Z9, Z9;    \
	VPXORQ Z10, Z10, Z10; \
	VPXORQ Z11, Z11, Z11; \
	VPXORQ Z12, Z12, Z12; \
	VPXORQ Z13, Z13, Z13; \
	VPXORQ Z14, Z14, Z14; \
	VPXORQ Z15, Z15, Z15; \
	VPXORQ Z16, Z16, Z16; \
	VPXORQ Z17, Z17, Z17; \
	VPXORQ Z18, Z18, Z18; \
	VPXORQ Z19, Z19, Z19

// One step; elements of A are size bytes.
#define HALFSTEP(FMA, size) \
	VMOVUPS (DI), Z0;             \
	FMA (0*size)(SI), Z0, Z8;   \
	FMA (1*size)(SI), Z0, Z9;   \
	FMA (2*size)(SI), Z0, Z10;  \
	FMA (3*size)(SI), Z0, Z11;  \
	FMA (4*size)(SI), Z0, Z12;  \
	FMA (5*size)(SI), Z0, Z13;  \
	FMA (6*size)(SI), Z0, Z14;  \
	FMA (7*size)(SI), Z0, Z15;  \
	FMA (8*size)(SI), Z0, Z16;  \
	FMA (9*size)(SI), Z0, Z17;  \
	FMA (10*size)(SI), Z0, Z18; \
	FMA (11*size)(SI), Z0, Z19; \
	ADDQ $(12*size), SI;        \
	ADDQ $128, DI

#define OUTHALF(ADD, z) \
	VMOVUPS z, (DX); \
	ADDQ R8, DX

#define ADDHALF(ADD, z) \
	ADD (DX), z, z; \
	OUTHALF(ADD, z)

#define TILEHALF(ROW, ADD) \
	ROW(ADD, Z8);  \
	ROW(ADD, Z9);  \
	ROW(ADD, Z10); \
	ROW(ADD, Z11); \
	ROW(ADD, Z12); \
	ROW(ADD, Z13); \
	ROW(ADD, Z14); \
	ROW(ADD, Z15); \
	ROW(ADD, Z16); \
	ROW(ADD, Z17); \
	ROW(ADD, Z18); \
	ROW(ADD, Z19)

#define HALF(FMA, ADD, size) \
	ZEROHALF;                  \
loop:                       \
	HALFSTEP(FMA, size);       \
	DECQ CX;                   \
	JNZ  loop;                 \
	CMPB add+40(FP), $0;       \
	JNE  sum;                  \
	TILEHALF(OUTHALF, ADD);    \
	VZEROUPPER;                \
	RET;                       \
sum:                        \
	TILEHALF(ADDHALF, ADD);    \
	VZEROUPPER;                \
	RET

// func half12x32(k int, a, b, c *float32, ldc int, add bool)
TEXT ·half12x32(SB), NOSPLIT, $0-41
	PROLOGUE(2)
	HALF(VFMADD231PS.BCST, VADDPS, 4)

// func half12x16(k int, a, b, c *float64, ldc int, add bool)
TEXT ·half12x16(SB), NOSPLIT, $0-41
	PROLOGUE(3)
	HALF(VFMADD231PD.BCST, VADDPD, 8)

// AVX2: accumulators Y4 to Y15, B in Y0 and Y1, A in Y2 and Y3.

#define ZERO256 \
	VXORPS Y4, Y4, Y4;    \
	VXORPS Y5, Y5, Y5;    \
	VXORPS Y6, Y6, Y6;    \
	VXORPS Y7, Y7, Y7;    \
	VXORPS Y8, Y8, Y8;    \
	VXORPS Y9, Y9, Y9;    \
	VXORPS Y10, Y10, Y10; \
	VXORPS Y11, Y11, Y11; \
	VXORPS Y12, Y12, Y12; \
	VXORPS Y13, Y13, Y13; \
	VXORPS Y14, Y14, Y14; \
	VXORPS Y15, Y15, Y15

#define ROW16(off, yb, y0, y1) \
	VBROADCASTSS off(SI), yb;  \
	VFMADD231PS  Y0, yb, y0;   \
	VFMADD231PS  Y1, yb, y1

#define STEP16(ka, kb) \
	VMOVUPS kb(DI), Y0;           \
	VMOVUPS (kb+32)(DI), Y1;      \
	ROW16((ka+0), Y2, Y4, Y5);    \
	ROW16((ka+4), Y3, Y6, Y7);    \
	ROW16((ka+8), Y2, Y8, Y9);    \
	ROW16((ka+12), Y3, Y10, Y11); \
	ROW16((ka+16), Y2, Y12, Y13); \
	ROW16((ka+20), Y3, Y14, Y15)

#define OUT256(y0, y1) \
	VMOVUPS y0, (DX);   \
	VMOVUPS y1, 32(DX); \
	ADDQ    R8, DX

#define ADDPS256(y0, y1) \
	VADDPS (DX), y0, y0;   \
	VADDPS 32(DX), y1, y1; \
	OUT256(y0, y1)

#define ADDPD256(y0, y1) \
	VADDPD (DX), y0, y0;   \
	VADDPD 32(DX), y1, y1; \
	OUT256(y0, y1)

#define TILE256(ROW) \
	ROW(Y4, Y5);   \
	ROW(Y6, Y7);   \
	ROW(Y8, Y9);   \
	ROW(Y10, Y11); \
	ROW(Y12, Y13); \
	ROW(Y14, Y15)

// func kernel6x16(k int, a, b, c *float32, ldc int, add bool)
TEXT ·kernel6x16(SB), NOSPLIT, $0-41
	PROLOGUE(2)
	ZERO256
	PREFETCHC(6)
	MOVQ CX, R10
	SHRQ $2, CX
	JZ   rest

loop:
	PREFETCHT0 384(SI)
	PREFETCHT0 448(SI)
	STEP16(0, 0)
	STEP16(24, 64)
	STEP16(48, 128)
	STEP16(72, 192)
	ADDQ $96, SI
	ADDQ $256, DI
	DECQ CX
	JNZ  loop

rest:
	ANDQ $3, R10
	JZ   out

one:
	STEP16(0, 0)
	ADDQ $24, SI
	ADDQ $64, DI
	DECQ R10
	JNZ  one

out:
	CMPB add+40(FP), $0
	JNE  sum
	TILE256(OUT256)
	VZEROUPPER
	RET

sum:
	TILE256(ADDPS256)
	VZEROUPPER
	RET

#define ROW8D(off, yb, y0, y1) \
	VBROADCASTSD off(SI), yb;  \
	VFMADD231PD  Y0, yb, y0;   \
	VFMADD231PD  Y1, yb, y1

#define STEP8D(ka, kb) \
	VMOVUPD kb(DI), Y0;           \
	VMOVUPD (kb+32)(DI), Y1;      \
	ROW8D((ka+0), Y2, Y4, Y5);    \
	ROW8D((ka+8), Y3, Y6, Y7);    \
	ROW8D((ka+16), Y2, Y8, Y9);   \
	ROW8D((ka+24), Y3, Y10, Y11); \
	ROW8D((ka+32), Y2, Y12, Y13); \
	ROW8D((ka+40), Y3, Y14, Y15)

// func kernel6x8(k int, a, b, c *float64, ldc int, add bool)
TEXT ·kernel6x8(SB), NOSPLIT, $0-41
	PROLOGUE(3)
	ZERO256
	PREFETCHC(6)
	MOVQ CX, R10
	SHRQ $2, CX
	JZ   rest

loop:
	PREFETCHT0 768(SI)
	PREFETCHT0 832(SI)
	PREFETCHT0 896(SI)
	STEP8D(0, 0)
	STEP8D(48, 64)
	STEP8D(96, 128)
	STEP8D(144, 192)
	ADDQ $192, SI
	ADDQ $256, DI
	DECQ CX
	JNZ  loop

rest:
	ANDQ $3, R10
	JZ   out

one:
	STEP8D(0, 0)
	ADDQ $48, SI
	ADDQ $64, DI
	DECQ R10
	JNZ  one

out:
	CMPB add+40(FP), $0
	JNE  sum
	TILE256(OUT256)
	VZEROUPPER
	RET

sum:
	TILE256(ADDPD256)
	VZEROUPPER
	RET
