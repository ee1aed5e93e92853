//go:build !noasm

#include "textflag.h"

// The kernels of products that are not packed. A row panel of C, eight, four or one rows
// of up to three vectors, stays in registers: row i in V(8+3i) to V(10+3i). A step
// of k loads the vectors of B's row and, for every row, broadcasts an element of A to all
// lanes.
//
// Registers: R0 rows left, R1 columns, R3 the panel's first row of A, R4 and R5
// bytes from one row of A and one step to the next, R6 B, R7 and R9 bytes from one
// row of B and of C to the next, R8 row of C. In a panel R10 to R17 are the rows of
// A, R19 is B's row and R20 the steps left.

#define OPERANDS(shift) \
	MOVD m+0(FP), R0;    \
	MOVD n+8(FP), R1;    \
	MOVD k+16(FP), R2;   \
	MOVD a+24(FP), R3;   \
	MOVD ars+32(FP), R4; \
	MOVD acs+40(FP), R5; \
	MOVD b+48(FP), R6;   \
	MOVD brs+56(FP), R7; \
	MOVD c+64(FP), R8;   \
	MOVD ldc+72(FP), R9; \
	LSL  $shift, R4, R4; \
	LSL  $shift, R5, R5; \
	LSL  $shift, R7, R7; \
	LSL  $shift, R9, R9

#define ROWS1 MOVD R3, R10
#define ROWS4 ROWS1; ADD R4, R10, R11; ADD R4, R11, R12; ADD R4, R12, R13
#define ROWS8 ROWS4; ADD R4, R13, R14; ADD R4, R14, R15; ADD R4, R15, R16; ADD R4, R16, R17

#define ZERO(v) VEOR v.B16, v.B16, v.B16

#define ZERO1x3 ZERO(V8); ZERO(V9); ZERO(V10)
#define ZERO4x3 ZERO(V8); ZERO(V9); ZERO(V10); ZERO(V11); ZERO(V12); ZERO(V13); ZERO(V14); ZERO(V15); ZERO(V16); ZERO(V17); ZERO(V18); ZERO(V19)
#define ZERO8x3 ZERO(V8); ZERO(V9); ZERO(V10); ZERO(V11); ZERO(V12); ZERO(V13); ZERO(V14); ZERO(V15); ZERO(V16); ZERO(V17); ZERO(V18); ZERO(V19); ZERO(V20); ZERO(V21); ZERO(V22); ZERO(V23); ZERO(V24); ZERO(V25); ZERO(V26); ZERO(V27); ZERO(V28); ZERO(V29); ZERO(V30); ZERO(V31)
#define ZERO1x2 ZERO(V8); ZERO(V9)
#define ZERO4x2 ZERO(V8); ZERO(V9); ZERO(V11); ZERO(V12); ZERO(V14); ZERO(V15); ZERO(V17); ZERO(V18)
#define ZERO8x2 ZERO(V8); ZERO(V9); ZERO(V11); ZERO(V12); ZERO(V14); ZERO(V15); ZERO(V17); ZERO(V18); ZERO(V20); ZERO(V21); ZERO(V23); ZERO(V24); ZERO(V26); ZERO(V27); ZERO(V29); ZERO(V30)
#define ZERO1x1 ZERO(V8)
#define ZERO4x1 ZERO(V8); ZERO(V11); ZERO(V14); ZERO(V17)
#define ZERO8x1 ZERO(V8); ZERO(V11); ZERO(V14); ZERO(V17); ZERO(V20); ZERO(V23); ZERO(V26); ZERO(V29)

#define ROW32x3(p, a, x, y, z) \
	VLD1R.P (p)(R5), [a.S4]; \
	VFMLA   a.S4, V2.S4, x.S4; \
	VFMLA   a.S4, V3.S4, y.S4; \
	VFMLA   a.S4, V4.S4, z.S4
#define OUT32x3(x, y, z) VST1 [x.S4, y.S4, z.S4], (R8); ADD R9, R8

#define ROW32x2(p, a, x, y) \
	VLD1R.P (p)(R5), [a.S4]; \
	VFMLA   a.S4, V2.S4, x.S4; \
	VFMLA   a.S4, V3.S4, y.S4
#define OUT32x2(x, y) VST1 [x.S4, y.S4], (R8); ADD R9, R8

#define ROW32x1(p, a, x) \
	VLD1R.P (p)(R5), [a.S4]; \
	VFMLA   a.S4, V2.S4, x.S4
#define OUT32x1(x) VST1 [x.S4], (R8); ADD R9, R8

#define ROW64x3(p, a, x, y, z) \
	VLD1R.P (p)(R5), [a.D2]; \
	VFMLA   a.D2, V2.D2, x.D2; \
	VFMLA   a.D2, V3.D2, y.D2; \
	VFMLA   a.D2, V4.D2, z.D2
#define OUT64x3(x, y, z) VST1 [x.D2, y.D2, z.D2], (R8); ADD R9, R8

#define ROW64x2(p, a, x, y) \
	VLD1R.P (p)(R5), [a.D2]; \
	VFMLA   a.D2, V2.D2, x.D2; \
	VFMLA   a.D2, V3.D2, y.D2
#define OUT64x2(x, y) VST1 [x.D2, y.D2], (R8); ADD R9, R8

#define ROW64x1(p, a, x) \
	VLD1R.P (p)(R5), [a.D2]; \
	VFMLA   a.D2, V2.D2, x.D2
#define OUT64x1(x) VST1 [x.D2], (R8); ADD R9, R8

// A panel: clear the sums, run the steps of k, store to C; then advance to the next.
#define STRIP(loop, rows, STARTS, ZEROS, LOAD, STEP, OUTS, next) \
	STARTS;             \
	MOVD R6, R19;       \
	MOVD R2, R20;       \
	ZEROS;              \
loop:                \
	LOAD;               \
	STEP;               \
	SUBS $1, R20, R20;  \
	BNE  loop;          \
	OUTS;               \
	MOVD $rows, R20;    \
	MADD R4, R3, R20, R3; \
	SUB  $rows, R0, R0; \
	B    next

#define LOAD32x3 VLD1.P (R19)(R7), [V2.S4, V3.S4, V4.S4]
#define STEP32x1x3 \
	ROW32x3(R10, V0, V8, V9, V10)
#define OUTS32x1x3 \
	OUT32x3(V8, V9, V10)

#define STEP32x4x3 \
	STEP32x1x3; \
	ROW32x3(R11, V1, V11, V12, V13); \
	ROW32x3(R12, V5, V14, V15, V16); \
	ROW32x3(R13, V6, V17, V18, V19)
#define OUTS32x4x3 \
	OUTS32x1x3; \
	OUT32x3(V11, V12, V13); \
	OUT32x3(V14, V15, V16); \
	OUT32x3(V17, V18, V19)

#define STEP32x8x3 \
	STEP32x4x3; \
	ROW32x3(R14, V0, V20, V21, V22); \
	ROW32x3(R15, V1, V23, V24, V25); \
	ROW32x3(R16, V5, V26, V27, V28); \
	ROW32x3(R17, V6, V29, V30, V31)
#define OUTS32x8x3 \
	OUTS32x4x3; \
	OUT32x3(V20, V21, V22); \
	OUT32x3(V23, V24, V25); \
	OUT32x3(V26, V27, V28); \
	OUT32x3(V29, V30, V31)

#define LOAD32x2 VLD1.P (R19)(R7), [V2.S4, V3.S4]
#define STEP32x1x2 \
	ROW32x2(R10, V0, V8, V9)
#define OUTS32x1x2 \
	OUT32x2(V8, V9)

#define STEP32x4x2 \
	STEP32x1x2; \
	ROW32x2(R11, V1, V11, V12); \
	ROW32x2(R12, V5, V14, V15); \
	ROW32x2(R13, V6, V17, V18)
#define OUTS32x4x2 \
	OUTS32x1x2; \
	OUT32x2(V11, V12); \
	OUT32x2(V14, V15); \
	OUT32x2(V17, V18)

#define STEP32x8x2 \
	STEP32x4x2; \
	ROW32x2(R14, V0, V20, V21); \
	ROW32x2(R15, V1, V23, V24); \
	ROW32x2(R16, V5, V26, V27); \
	ROW32x2(R17, V6, V29, V30)
#define OUTS32x8x2 \
	OUTS32x4x2; \
	OUT32x2(V20, V21); \
	OUT32x2(V23, V24); \
	OUT32x2(V26, V27); \
	OUT32x2(V29, V30)

#define LOAD32x1 VLD1.P (R19)(R7), [V2.S4]
#define STEP32x1x1 \
	ROW32x1(R10, V0, V8)
#define OUTS32x1x1 \
	OUT32x1(V8)

#define STEP32x4x1 \
	STEP32x1x1; \
	ROW32x1(R11, V1, V11); \
	ROW32x1(R12, V5, V14); \
	ROW32x1(R13, V6, V17)
#define OUTS32x4x1 \
	OUTS32x1x1; \
	OUT32x1(V11); \
	OUT32x1(V14); \
	OUT32x1(V17)

#define STEP32x8x1 \
	STEP32x4x1; \
	ROW32x1(R14, V0, V20); \
	ROW32x1(R15, V1, V23); \
	ROW32x1(R16, V5, V26); \
	ROW32x1(R17, V6, V29)
#define OUTS32x8x1 \
	OUTS32x4x1; \
	OUT32x1(V20); \
	OUT32x1(V23); \
	OUT32x1(V26); \
	OUT32x1(V29)

#define LOAD64x3 VLD1.P (R19)(R7), [V2.D2, V3.D2, V4.D2]
#define STEP64x1x3 \
	ROW64x3(R10, V0, V8, V9, V10)
#define OUTS64x1x3 \
	OUT64x3(V8, V9, V10)

#define STEP64x4x3 \
	STEP64x1x3; \
	ROW64x3(R11, V1, V11, V12, V13); \
	ROW64x3(R12, V5, V14, V15, V16); \
	ROW64x3(R13, V6, V17, V18, V19)
#define OUTS64x4x3 \
	OUTS64x1x3; \
	OUT64x3(V11, V12, V13); \
	OUT64x3(V14, V15, V16); \
	OUT64x3(V17, V18, V19)

#define STEP64x8x3 \
	STEP64x4x3; \
	ROW64x3(R14, V0, V20, V21, V22); \
	ROW64x3(R15, V1, V23, V24, V25); \
	ROW64x3(R16, V5, V26, V27, V28); \
	ROW64x3(R17, V6, V29, V30, V31)
#define OUTS64x8x3 \
	OUTS64x4x3; \
	OUT64x3(V20, V21, V22); \
	OUT64x3(V23, V24, V25); \
	OUT64x3(V26, V27, V28); \
	OUT64x3(V29, V30, V31)

#define LOAD64x2 VLD1.P (R19)(R7), [V2.D2, V3.D2]
#define STEP64x1x2 \
	ROW64x2(R10, V0, V8, V9)
#define OUTS64x1x2 \
	OUT64x2(V8, V9)

#define STEP64x4x2 \
	STEP64x1x2; \
	ROW64x2(R11, V1, V11, V12); \
	ROW64x2(R12, V5, V14, V15); \
	ROW64x2(R13, V6, V17, V18)
#define OUTS64x4x2 \
	OUTS64x1x2; \
	OUT64x2(V11, V12); \
	OUT64x2(V14, V15); \
	OUT64x2(V17, V18)

#define STEP64x8x2 \
	STEP64x4x2; \
	ROW64x2(R14, V0, V20, V21); \
	ROW64x2(R15, V1, V23, V24); \
	ROW64x2(R16, V5, V26, V27); \
	ROW64x2(R17, V6, V29, V30)
#define OUTS64x8x2 \
	OUTS64x4x2; \
	OUT64x2(V20, V21); \
	OUT64x2(V23, V24); \
	OUT64x2(V26, V27); \
	OUT64x2(V29, V30)

#define LOAD64x1 VLD1.P (R19)(R7), [V2.D2]
#define STEP64x1x1 \
	ROW64x1(R10, V0, V8)
#define OUTS64x1x1 \
	OUT64x1(V8)

#define STEP64x4x1 \
	STEP64x1x1; \
	ROW64x1(R11, V1, V11); \
	ROW64x1(R12, V5, V14); \
	ROW64x1(R13, V6, V17)
#define OUTS64x4x1 \
	OUTS64x1x1; \
	OUT64x1(V11); \
	OUT64x1(V14); \
	OUT64x1(V17)

#define STEP64x8x1 \
	STEP64x4x1; \
	ROW64x1(R14, V0, V20); \
	ROW64x1(R15, V1, V23); \
	ROW64x1(R16, V5, V26); \
	ROW64x1(R17, V6, V29)
#define OUTS64x8x1 \
	OUTS64x4x1; \
	OUT64x1(V20); \
	OUT64x1(V23); \
	OUT64x1(V26); \
	OUT64x1(V29)

// func unpackedNEON32(m, n, k int, a *float32, ars, acs int, b *float32, brs int, c *float32, ldc int)
TEXT ·unpackedNEON32(SB), NOSPLIT, $0-80
	OPERANDS(2)
	CMP $8, R1
	BGT three
	BEQ two

one:
	CMP $8, R0
	BGE one8
	CMP $4, R0
	BGE one4
	CBZ R0, done
	STRIP(oneloop1, 1, ROWS1, ZERO1x1, LOAD32x1, STEP32x1x1, OUTS32x1x1, one)

one4:
	STRIP(oneloop4, 4, ROWS4, ZERO4x1, LOAD32x1, STEP32x4x1, OUTS32x4x1, one)

one8:
	STRIP(oneloop8, 8, ROWS8, ZERO8x1, LOAD32x1, STEP32x8x1, OUTS32x8x1, one)

two:
	CMP $8, R0
	BGE two8
	CMP $4, R0
	BGE two4
	CBZ R0, done
	STRIP(twoloop1, 1, ROWS1, ZERO1x2, LOAD32x2, STEP32x1x2, OUTS32x1x2, two)

two4:
	STRIP(twoloop4, 4, ROWS4, ZERO4x2, LOAD32x2, STEP32x4x2, OUTS32x4x2, two)

two8:
	STRIP(twoloop8, 8, ROWS8, ZERO8x2, LOAD32x2, STEP32x8x2, OUTS32x8x2, two)

three:
	CMP $8, R0
	BGE three8
	CMP $4, R0
	BGE three4
	CBZ R0, done
	STRIP(threeloop1, 1, ROWS1, ZERO1x3, LOAD32x3, STEP32x1x3, OUTS32x1x3, three)

three4:
	STRIP(threeloop4, 4, ROWS4, ZERO4x3, LOAD32x3, STEP32x4x3, OUTS32x4x3, three)

three8:
	STRIP(threeloop8, 8, ROWS8, ZERO8x3, LOAD32x3, STEP32x8x3, OUTS32x8x3, three)

done:
	RET

// func unpackedNEON64(m, n, k int, a *float64, ars, acs int, b *float64, brs int, c *float64, ldc int)
TEXT ·unpackedNEON64(SB), NOSPLIT, $0-80
	OPERANDS(3)
	CMP $4, R1
	BGT three
	BEQ two

one:
	CMP $8, R0
	BGE one8
	CMP $4, R0
	BGE one4
	CBZ R0, done
	STRIP(oneloop1, 1, ROWS1, ZERO1x1, LOAD64x1, STEP64x1x1, OUTS64x1x1, one)

one4:
	STRIP(oneloop4, 4, ROWS4, ZERO4x1, LOAD64x1, STEP64x4x1, OUTS64x4x1, one)

one8:
	STRIP(oneloop8, 8, ROWS8, ZERO8x1, LOAD64x1, STEP64x8x1, OUTS64x8x1, one)

two:
	CMP $8, R0
	BGE two8
	CMP $4, R0
	BGE two4
	CBZ R0, done
	STRIP(twoloop1, 1, ROWS1, ZERO1x2, LOAD64x2, STEP64x1x2, OUTS64x1x2, two)

two4:
	STRIP(twoloop4, 4, ROWS4, ZERO4x2, LOAD64x2, STEP64x4x2, OUTS64x4x2, two)

two8:
	STRIP(twoloop8, 8, ROWS8, ZERO8x2, LOAD64x2, STEP64x8x2, OUTS64x8x2, two)

three:
	CMP $8, R0
	BGE three8
	CMP $4, R0
	BGE three4
	CBZ R0, done
	STRIP(threeloop1, 1, ROWS1, ZERO1x3, LOAD64x3, STEP64x1x3, OUTS64x1x3, three)

three4:
	STRIP(threeloop4, 4, ROWS4, ZERO4x3, LOAD64x3, STEP64x4x3, OUTS64x4x3, three)

three8:
	STRIP(threeloop8, 8, ROWS8, ZERO8x3, LOAD64x3, STEP64x8x3, OUTS64x8x3, three)

done:
	RET
