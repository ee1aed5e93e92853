//go:build !noasm

#include "textflag.h"

// Programs on tiles: see tileCode. AX is the offset of the tile in every dense operand,
// CX the offset of the end of the tiles, R8 the current step, R10 the first step, R12 the
// end of the steps, R11 the table of operations, DI the address of the step's operand in
// this tile. Y0 to Y7 hold the tile.

// One step. Each step of a program has a call site of its own, which calls the same
// operation in every tile. That makes the branches predictable.
#define STEP \
	MOVQ 16(R8), DI;       \
	MOVQ (R8), R9;         \
	ANDQ AX, DI;           \
	ADDQ 8(R8), DI;        \
	MOVQ (R11)(R9*8), R9;  \
	CALL R9;               \
	ADDQ $24, R8;          \
	CMPQ R8, R12;          \
	JEQ  tiled

#define STEPS \
	STEP; \
	STEP; \
	STEP; \
	STEP; \
	STEP; \
	STEP; \
	STEP; \
	STEP

// func runTiles(steps *tileStep, n, bytes int)
TEXT ·runTiles(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ steps+0(FP), R10
	MOVQ n+8(FP), R12
	MOVQ bytes+16(FP), CX
	LEAQ (R12)(R12*2), R12
	LEAQ (R10)(R12*8), R12
	LEAQ tileTable<>(SB), R11
	XORQ AX, AX
tile:
	MOVQ R10, R8
	STEPS
	STEPS
	STEPS
	STEPS
	STEPS
	STEPS
tiled:
	ADDQ $256, AX
	CMPQ AX, CX
	JLT  tile
	VZEROUPPER
	RET

#define LOADS(a, b, c, d, e, f, g, h) \
	VMOVUPS (DI), a;    \
	VMOVUPS 32(DI), b;  \
	VMOVUPS 64(DI), c;  \
	VMOVUPS 96(DI), d;  \
	VMOVUPS 128(DI), e; \
	VMOVUPS 160(DI), f; \
	VMOVUPS 192(DI), g; \
	VMOVUPS 224(DI), h

#define STORES(MOVE) \
	MOVE Y0, (DI);    \
	MOVE Y1, 32(DI);  \
	MOVE Y2, 64(DI);  \
	MOVE Y3, 96(DI);  \
	MOVE Y4, 128(DI); \
	MOVE Y5, 160(DI); \
	MOVE Y6, 192(DI); \
	MOVE Y7, 224(DI)

TEXT tileLoad<>(SB), NOSPLIT|NOFRAME, $0-0
	LOADS(Y0, Y1, Y2, Y3, Y4, Y5, Y6, Y7)
	RET

TEXT tileStore<>(SB), NOSPLIT|NOFRAME, $0-0
	STORES(VMOVUPS)
	RET

TEXT tileStream<>(SB), NOSPLIT|NOFRAME, $0-0
	STORES(VMOVNTPS)
	RET

// The tile op an operand in memory.
#define BINARY(VEC) \
	VEC (DI), Y0, Y0;    \
	VEC 32(DI), Y1, Y1;  \
	VEC 64(DI), Y2, Y2;  \
	VEC 96(DI), Y3, Y3;  \
	VEC 128(DI), Y4, Y4; \
	VEC 160(DI), Y5, Y5; \
	VEC 192(DI), Y6, Y6; \
	VEC 224(DI), Y7, Y7; \
	RET

// An operand in memory op the tile.
#define REVERSED(VEC) \
	LOADS(Y8, Y9, Y10, Y11, Y12, Y13, Y14, Y15); \
	VEC Y0, Y8, Y0;  \
	VEC Y1, Y9, Y1;  \
	VEC Y2, Y10, Y2; \
	VEC Y3, Y11, Y3; \
	VEC Y4, Y12, Y4; \
	VEC Y5, Y13, Y5; \
	VEC Y6, Y14, Y6; \
	VEC Y7, Y15, Y7; \
	RET

#define UNARY(EACH) \
	EACH(Y0); \
	EACH(Y1); \
	EACH(Y2); \
	EACH(Y3); \
	EACH(Y4); \
	EACH(Y5); \
	EACH(Y6); \
	EACH(Y7); \
	RET

// a = the larger of a and the operand at off, as LARGER defines it.
#define LARGEST(CMP, MAX, off, a) \
	VMOVUPS off(DI), Y8; \
	CMP    $3, a, Y8, Y9; \
	MAX    a, Y8, Y10;    \
	MAX    Y8, a, a;      \
	VANDPS Y10, a, a;     \
	VORPS  Y9, a, a

#define SMALLEST(CMP, MIN, off, a) \
	VMOVUPS off(DI), Y8; \
	CMP   $3, a, Y8, Y9; \
	MIN   a, Y8, Y10;    \
	MIN   Y8, a, a;      \
	VORPS Y10, a, a;     \
	VORPS Y9, a, a

#define EXTREMES(PICK, CMP, VEC) \
	PICK(CMP, VEC, 0, Y0);   \
	PICK(CMP, VEC, 32, Y1);  \
	PICK(CMP, VEC, 64, Y2);  \
	PICK(CMP, VEC, 96, Y3);  \
	PICK(CMP, VEC, 128, Y4); \
	PICK(CMP, VEC, 160, Y5); \
	PICK(CMP, VEC, 192, Y6); \
	PICK(CMP, VEC, 224, Y7); \
	RET

// Y8 = the sign bits of either type.
#define SIGNS(SHIFT, by) \
	VPCMPEQD Y8, Y8, Y8; \
	SHIFT    $by, Y8, Y8

#define NEGATE(a) VXORPS Y8, a, a
#define ABSOLUTE(a) VANDNPS a, Y8, a
#define SQUARE32(a) VMULPS a, a, a
#define SQUARE64(a) VMULPD a, a, a
#define ROOT32(a) VSQRTPS a, a
#define ROOT64(a) VSQRTPD a, a
#define FLOOR32(a) VROUNDPS $9, a, a
#define FLOOR64(a) VROUNDPD $9, a, a
#define CEIL32(a) VROUNDPS $10, a, a
#define CEIL64(a) VROUNDPD $10, a, a
#define ROUND32(a) VROUNDPS $8, a, a
#define ROUND64(a) VROUNDPD $8, a, a

// max(a, 0). VMAXPS returns its second operand, here a, if that is NaN or both are zeros;
// adding 0 turns -0 into 0. Y8 is 0.
#define RECTIFY32(a) \
	VMAXPS a, Y8, a; \
	VADDPS Y8, a, a

#define RECTIFY64(a) \
	VMAXPD a, Y8, a; \
	VADDPD Y8, a, a

TEXT tileAdd32<>(SB), NOSPLIT|NOFRAME, $0-0
	BINARY(VADDPS)

TEXT tileAdd64<>(SB), NOSPLIT|NOFRAME, $0-0
	BINARY(VADDPD)

TEXT tileSub32<>(SB), NOSPLIT|NOFRAME, $0-0
	BINARY(VSUBPS)

TEXT tileSub64<>(SB), NOSPLIT|NOFRAME, $0-0
	BINARY(VSUBPD)

TEXT tileSubFrom32<>(SB), NOSPLIT|NOFRAME, $0-0
	REVERSED(VSUBPS)

TEXT tileSubFrom64<>(SB), NOSPLIT|NOFRAME, $0-0
	REVERSED(VSUBPD)

TEXT tileMul32<>(SB), NOSPLIT|NOFRAME, $0-0
	BINARY(VMULPS)

TEXT tileMul64<>(SB), NOSPLIT|NOFRAME, $0-0
	BINARY(VMULPD)

TEXT tileDiv32<>(SB), NOSPLIT|NOFRAME, $0-0
	BINARY(VDIVPS)

TEXT tileDiv64<>(SB), NOSPLIT|NOFRAME, $0-0
	BINARY(VDIVPD)

TEXT tileDivInto32<>(SB), NOSPLIT|NOFRAME, $0-0
	REVERSED(VDIVPS)

TEXT tileDivInto64<>(SB), NOSPLIT|NOFRAME, $0-0
	REVERSED(VDIVPD)

TEXT tileMax32<>(SB), NOSPLIT|NOFRAME, $0-0
	EXTREMES(LARGEST, VCMPPS, VMAXPS)

TEXT tileMax64<>(SB), NOSPLIT|NOFRAME, $0-0
	EXTREMES(LARGEST, VCMPPD, VMAXPD)

TEXT tileMin32<>(SB), NOSPLIT|NOFRAME, $0-0
	EXTREMES(SMALLEST, VCMPPS, VMINPS)

TEXT tileMin64<>(SB), NOSPLIT|NOFRAME, $0-0
	EXTREMES(SMALLEST, VCMPPD, VMINPD)

TEXT tileNeg32<>(SB), NOSPLIT|NOFRAME, $0-0
	SIGNS(VPSLLD, 31)
	UNARY(NEGATE)

TEXT tileNeg64<>(SB), NOSPLIT|NOFRAME, $0-0
	SIGNS(VPSLLQ, 63)
	UNARY(NEGATE)

TEXT tileAbs32<>(SB), NOSPLIT|NOFRAME, $0-0
	SIGNS(VPSLLD, 31)
	UNARY(ABSOLUTE)

TEXT tileAbs64<>(SB), NOSPLIT|NOFRAME, $0-0
	SIGNS(VPSLLQ, 63)
	UNARY(ABSOLUTE)

TEXT tileSquare32<>(SB), NOSPLIT|NOFRAME, $0-0
	UNARY(SQUARE32)

TEXT tileSquare64<>(SB), NOSPLIT|NOFRAME, $0-0
	UNARY(SQUARE64)

TEXT tileSqrt32<>(SB), NOSPLIT|NOFRAME, $0-0
	UNARY(ROOT32)

TEXT tileSqrt64<>(SB), NOSPLIT|NOFRAME, $0-0
	UNARY(ROOT64)

TEXT tileFloor32<>(SB), NOSPLIT|NOFRAME, $0-0
	UNARY(FLOOR32)

TEXT tileFloor64<>(SB), NOSPLIT|NOFRAME, $0-0
	UNARY(FLOOR64)

TEXT tileCeil32<>(SB), NOSPLIT|NOFRAME, $0-0
	UNARY(CEIL32)

TEXT tileCeil64<>(SB), NOSPLIT|NOFRAME, $0-0
	UNARY(CEIL64)

TEXT tileRound32<>(SB), NOSPLIT|NOFRAME, $0-0
	UNARY(ROUND32)

TEXT tileRound64<>(SB), NOSPLIT|NOFRAME, $0-0
	UNARY(ROUND64)

TEXT tileReLU32<>(SB), NOSPLIT|NOFRAME, $0-0
	VXORPS Y8, Y8, Y8
	UNARY(RECTIFY32)

TEXT tileReLU64<>(SB), NOSPLIT|NOFRAME, $0-0
	VXORPS Y8, Y8, Y8
	UNARY(RECTIFY64)

// In the order of tileOp: the functions for float32, then those for float64.
DATA tileTable<>+0(SB)/8, $tileLoad<>(SB)
DATA tileTable<>+8(SB)/8, $tileStore<>(SB)
DATA tileTable<>+16(SB)/8, $tileStream<>(SB)
DATA tileTable<>+24(SB)/8, $tileAdd32<>(SB)
DATA tileTable<>+32(SB)/8, $tileSub32<>(SB)
DATA tileTable<>+40(SB)/8, $tileSubFrom32<>(SB)
DATA tileTable<>+48(SB)/8, $tileMul32<>(SB)
DATA tileTable<>+56(SB)/8, $tileDiv32<>(SB)
DATA tileTable<>+64(SB)/8, $tileDivInto32<>(SB)
DATA tileTable<>+72(SB)/8, $tileMax32<>(SB)
DATA tileTable<>+80(SB)/8, $tileMin32<>(SB)
DATA tileTable<>+88(SB)/8, $tileNeg32<>(SB)
DATA tileTable<>+96(SB)/8, $tileAbs32<>(SB)
DATA tileTable<>+104(SB)/8, $tileSquare32<>(SB)
DATA tileTable<>+112(SB)/8, $tileSqrt32<>(SB)
DATA tileTable<>+120(SB)/8, $tileFloor32<>(SB)
DATA tileTable<>+128(SB)/8, $tileCeil32<>(SB)
DATA tileTable<>+136(SB)/8, $tileRound32<>(SB)
DATA tileTable<>+144(SB)/8, $tileReLU32<>(SB)
DATA tileTable<>+152(SB)/8, $tileAdd64<>(SB)
DATA tileTable<>+160(SB)/8, $tileSub64<>(SB)
DATA tileTable<>+168(SB)/8, $tileSubFrom64<>(SB)
DATA tileTable<>+176(SB)/8, $tileMul64<>(SB)
DATA tileTable<>+184(SB)/8, $tileDiv64<>(SB)
DATA tileTable<>+192(SB)/8, $tileDivInto64<>(SB)
DATA tileTable<>+200(SB)/8, $tileMax64<>(SB)
DATA tileTable<>+208(SB)/8, $tileMin64<>(SB)
DATA tileTable<>+216(SB)/8, $tileNeg64<>(SB)
DATA tileTable<>+224(SB)/8, $tileAbs64<>(SB)
DATA tileTable<>+232(SB)/8, $tileSquare64<>(SB)
DATA tileTable<>+240(SB)/8, $tileSqrt64<>(SB)
DATA tileTable<>+248(SB)/8, $tileFloor64<>(SB)
DATA tileTable<>+256(SB)/8, $tileCeil64<>(SB)
DATA tileTable<>+264(SB)/8, $tileRound64<>(SB)
DATA tileTable<>+272(SB)/8, $tileReLU64<>(SB)
GLOBL tileTable<>(SB), NOPTR, $280
