//go:build !noasm

#include "textflag.h"

// The kernels of products that are not packed. A row panel of C, at most eight rows (six
// with AVX2) of one or two vectors, stays in registers. A step of k loads the vectors of
// B's row, broadcasts an element of A for every row and accumulates their products. There
// is a loop for every number of rows, so that no row is computed and discarded. The last
// two panels share their rows evenly.
//
// Registers: R13 rows left, SI the panel's first row of A, R8 and R9 bytes from
// one row of A to the next and to the third after it, R10 from one step of k to the next,
// R11 from one row of B to the next, DX row of C, R12 from one of its rows to the
// next. In a panel AX and BX are A's first and fifth row, DI is B's row and CX
// the steps left.

#define OPERANDS(shift) \
	MOVQ m+0(FP), R13;    \
	MOVQ a+24(FP), SI;    \
	MOVQ ars+32(FP), R8;  \
	MOVQ acs+40(FP), R10; \
	MOVQ brs+56(FP), R11; \
	MOVQ c+64(FP), DX;    \
	MOVQ ldc+72(FP), R12; \
	SHLQ $shift, R8;      \
	SHLQ $shift, R10;     \
	SHLQ $shift, R11;     \
	SHLQ $shift, R12;     \
	LEAQ (R8)(R8*2), R9;  \
	MOVQ n+8(FP), CX

// A panel: clear the sums, run the steps of k, store to C.
#define STRIP(loop, ZEROS, LOADS, ROWS, OUTS) \
	MOVQ k+16(FP), CX;      \
	MOVQ b+48(FP), DI;      \
	MOVQ SI, AX;            \
	LEAQ (SI)(R8*4), BX;    \
	ZEROS;                  \
loop:                    \
	LOADS;                  \
	ROWS;                   \
	ADDQ R11, DI;           \
	ADDQ R10, AX;           \
	ADDQ R10, BX;           \
	DECQ CX;                \
	JNZ  loop;              \
	OUTS

// Advance to the panel after one of the given number of rows.
#define ADVANCE(rows, next, done) \
	SUBQ  $rows, R13;    \
	JZ    done;          \
	IMUL3Q $rows, R8, BX; \
	ADDQ  BX, SI;        \
	JMP   next

// CX = the rows of the next panel: most, or half of the rows left, or all of them.
#define SHARE(most, share) \
	MOVQ R13, CX;         \
	CMPQ CX, $most;       \
	JLE  share;           \
	INCQ CX;              \
	SHRQ $1, CX;          \
	CMPQ CX, $most;       \
	JLE  share;           \
	MOVQ $most, CX;       \
share:

// AVX-512: sums in Z8 to Z23, B in Z0 and Z1, A in Z2 to Z5; one vector is masked by K1.

#define TWO512(BCAST, FMA, at, a, x, y) \
	BCAST at, a;  \
	FMA   Z0, a, x; \
	FMA   Z1, a, y

#define ONE512(BCAST, FMA, at, a, x) \
	BCAST at, a;  \
	FMA   Z0, a, x

#define LOADTWO512 \
	VMOVUPS (DI), Z0; \
	VMOVUPS 64(DI), Z1

#define OUTTWO512(x, y) \
	VMOVUPS x, (DX);   \
	VMOVUPS y, 64(DX); \
	ADDQ    R12, DX

#define OUTONE512(STORE, x) \
	STORE(x); \
	ADDQ R12, DX

#define ZEROTWO1_512 VPXORQ Z8, Z8, Z8; VPXORQ Z9, Z9, Z9
#define ZEROTWO2_512 ZEROTWO1_512; VPXORQ Z10, Z10, Z10; VPXORQ Z11, Z11, Z11
#define ZEROTWO3_512 ZEROTWO2_512; VPXORQ Z12, Z12, Z12; VPXORQ Z13, Z13, Z13
#define ZEROTWO4_512 ZEROTWO3_512; VPXORQ Z14, Z14, Z14; VPXORQ Z15, Z15, Z15
#define ZEROTWO5_512 ZEROTWO4_512; VPXORQ Z16, Z16, Z16; VPXORQ Z17, Z17, Z17
#define ZEROTWO6_512 ZEROTWO5_512; VPXORQ Z18, Z18, Z18; VPXORQ Z19, Z19, Z19
#define ZEROTWO7_512 ZEROTWO6_512; VPXORQ Z20, Z20, Z20; VPXORQ Z21, Z21, Z21
#define ZEROTWO8_512 ZEROTWO7_512; VPXORQ Z22, Z22, Z22; VPXORQ Z23, Z23, Z23
#define ZEROONE1_512 VPXORQ Z8, Z8, Z8
#define ZEROONE2_512 ZEROONE1_512; VPXORQ Z10, Z10, Z10
#define ZEROONE3_512 ZEROONE2_512; VPXORQ Z12, Z12, Z12
#define ZEROONE4_512 ZEROONE3_512; VPXORQ Z14, Z14, Z14
#define ZEROONE5_512 ZEROONE4_512; VPXORQ Z16, Z16, Z16
#define ZEROONE6_512 ZEROONE5_512; VPXORQ Z18, Z18, Z18
#define ZEROONE7_512 ZEROONE6_512; VPXORQ Z20, Z20, Z20
#define ZEROONE8_512 ZEROONE7_512; VPXORQ Z22, Z22, Z22
#define TWO1_512(BCAST, FMA) TWO512(BCAST, FMA, (AX), Z2, Z8, Z9)
#define TWO2_512(BCAST, FMA) TWO1_512(BCAST, FMA); TWO512(BCAST, FMA, (AX)(R8*1), Z3, Z10, Z11)
#define TWO3_512(BCAST, FMA) TWO2_512(BCAST, FMA); TWO512(BCAST, FMA, (AX)(R8*2), Z4, Z12, Z13)
#define TWO4_512(BCAST, FMA) TWO3_512(BCAST, FMA); TWO512(BCAST, FMA, (AX)(R9*1), Z5, Z14, Z15)
#define TWO5_512(BCAST, FMA) TWO4_512(BCAST, FMA); TWO512(BCAST, FMA, (BX), Z2, Z16, Z17)
#define TWO6_512(BCAST, FMA) TWO5_512(BCAST, FMA); TWO512(BCAST, FMA, (BX)(R8*1), Z3, Z18, Z19)
#define TWO7_512(BCAST, FMA) TWO6_512(BCAST, FMA); TWO512(BCAST, FMA, (BX)(R8*2), Z4, Z20, Z21)
#define TWO8_512(BCAST, FMA) TWO7_512(BCAST, FMA); TWO512(BCAST, FMA, (BX)(R9*1), Z5, Z22, Z23)
#define ONE1_512(BCAST, FMA) ONE512(BCAST, FMA, (AX), Z2, Z8)
#define ONE2_512(BCAST, FMA) ONE1_512(BCAST, FMA); ONE512(BCAST, FMA, (AX)(R8*1), Z3, Z10)
#define ONE3_512(BCAST, FMA) ONE2_512(BCAST, FMA); ONE512(BCAST, FMA, (AX)(R8*2), Z4, Z12)
#define ONE4_512(BCAST, FMA) ONE3_512(BCAST, FMA); ONE512(BCAST, FMA, (AX)(R9*1), Z5, Z14)
#define ONE5_512(BCAST, FMA) ONE4_512(BCAST, FMA); ONE512(BCAST, FMA, (BX), Z2, Z16)
#define ONE6_512(BCAST, FMA) ONE5_512(BCAST, FMA); ONE512(BCAST, FMA, (BX)(R8*1), Z3, Z18)
#define ONE7_512(BCAST, FMA) ONE6_512(BCAST, FMA); ONE512(BCAST, FMA, (BX)(R8*2), Z4, Z20)
#define ONE8_512(BCAST, FMA) ONE7_512(BCAST, FMA); ONE512(BCAST, FMA, (BX)(R9*1), Z5, Z22)
#define OUTTWO1_512 OUTTWO512(Z8, Z9)
#define OUTTWO2_512 OUTTWO1_512; OUTTWO512(Z10, Z11)
#define OUTTWO3_512 OUTTWO2_512; OUTTWO512(Z12, Z13)
#define OUTTWO4_512 OUTTWO3_512; OUTTWO512(Z14, Z15)
#define OUTTWO5_512 OUTTWO4_512; OUTTWO512(Z16, Z17)
#define OUTTWO6_512 OUTTWO5_512; OUTTWO512(Z18, Z19)
#define OUTTWO7_512 OUTTWO6_512; OUTTWO512(Z20, Z21)
#define OUTTWO8_512 OUTTWO7_512; OUTTWO512(Z22, Z23)
#define OUTONE1_512(STORE) OUTONE512(STORE, Z8)
#define OUTONE2_512(STORE) OUTONE1_512(STORE); OUTONE512(STORE, Z10)
#define OUTONE3_512(STORE) OUTONE2_512(STORE); OUTONE512(STORE, Z12)
#define OUTONE4_512(STORE) OUTONE3_512(STORE); OUTONE512(STORE, Z14)
#define OUTONE5_512(STORE) OUTONE4_512(STORE); OUTONE512(STORE, Z16)
#define OUTONE6_512(STORE) OUTONE5_512(STORE); OUTONE512(STORE, Z18)
#define OUTONE7_512(STORE) OUTONE6_512(STORE); OUTONE512(STORE, Z20)
#define OUTONE8_512(STORE) OUTONE7_512(STORE); OUTONE512(STORE, Z22)

#define UNPACKED512(BCAST, FMA, LOAD, STORE) \
one: \
	SHARE(8, onerows) \
	CMPQ CX, $8; \
	JEQ  one8; \
	CMPQ CX, $7; \
	JEQ  one7; \
	CMPQ CX, $6; \
	JEQ  one6; \
	CMPQ CX, $5; \
	JEQ  one5; \
	CMPQ CX, $4; \
	JEQ  one4; \
	CMPQ CX, $3; \
	JEQ  one3; \
	CMPQ CX, $2; \
	JEQ  one2; \
one1: \
	STRIP(oneloop1, ZEROONE1_512, LOAD, ONE1_512(BCAST, FMA), OUTONE1_512(STORE)); \
	ADVANCE(1, one, done); \
one2: \
	STRIP(oneloop2, ZEROONE2_512, LOAD, ONE2_512(BCAST, FMA), OUTONE2_512(STORE)); \
	ADVANCE(2, one, done); \
one3: \
	STRIP(oneloop3, ZEROONE3_512, LOAD, ONE3_512(BCAST, FMA), OUTONE3_512(STORE)); \
	ADVANCE(3, one, done); \
one4: \
	STRIP(oneloop4, ZEROONE4_512, LOAD, ONE4_512(BCAST, FMA), OUTONE4_512(STORE)); \
	ADVANCE(4, one, done); \
one5: \
	STRIP(oneloop5, ZEROONE5_512, LOAD, ONE5_512(BCAST, FMA), OUTONE5_512(STORE)); \
	ADVANCE(5, one, done); \
one6: \
	STRIP(oneloop6, ZEROONE6_512, LOAD, ONE6_512(BCAST, FMA), OUTONE6_512(STORE)); \
	ADVANCE(6, one, done); \
one7: \
	STRIP(oneloop7, ZEROONE7_512, LOAD, ONE7_512(BCAST, FMA), OUTONE7_512(STORE)); \
	ADVANCE(7, one, done); \
one8: \
	STRIP(oneloop8, ZEROONE8_512, LOAD, ONE8_512(BCAST, FMA), OUTONE8_512(STORE)); \
	ADVANCE(8, one, done); \
two: \
	SHARE(8, tworows) \
	CMPQ CX, $8; \
	JEQ  two8; \
	CMPQ CX, $7; \
	JEQ  two7; \
	CMPQ CX, $6; \
	JEQ  two6; \
	CMPQ CX, $5; \
	JEQ  two5; \
	CMPQ CX, $4; \
	JEQ  two4; \
	CMPQ CX, $3; \
	JEQ  two3; \
	CMPQ CX, $2; \
	JEQ  two2; \
two1: \
	STRIP(twoloop1, ZEROTWO1_512, LOADTWO512, TWO1_512(BCAST, FMA), OUTTWO1_512); \
	ADVANCE(1, two, done); \
two2: \
	STRIP(twoloop2, ZEROTWO2_512, LOADTWO512, TWO2_512(BCAST, FMA), OUTTWO2_512); \
	ADVANCE(2, two, done); \
two3: \
	STRIP(twoloop3, ZEROTWO3_512, LOADTWO512, TWO3_512(BCAST, FMA), OUTTWO3_512); \
	ADVANCE(3, two, done); \
two4: \
	STRIP(twoloop4, ZEROTWO4_512, LOADTWO512, TWO4_512(BCAST, FMA), OUTTWO4_512); \
	ADVANCE(4, two, done); \
two5: \
	STRIP(twoloop5, ZEROTWO5_512, LOADTWO512, TWO5_512(BCAST, FMA), OUTTWO5_512); \
	ADVANCE(5, two, done); \
two6: \
	STRIP(twoloop6, ZEROTWO6_512, LOADTWO512, TWO6_512(BCAST, FMA), OUTTWO6_512); \
	ADVANCE(6, two, done); \
two7: \
	STRIP(twoloop7, ZEROTWO7_512, LOADTWO512, TWO7_512(BCAST, FMA), OUTTWO7_512); \
	ADVANCE(7, two, done); \
two8: \
	STRIP(twoloop8, ZEROTWO8_512, LOADTWO512, TWO8_512(BCAST, FMA), OUTTWO8_512); \
	ADVANCE(8, two, done); \
done: \
	VZEROUPPER; \
	RET

#define MASK512 \
	MOVQ  $1, AX; \
	SHLQ  CX, AX; \
	DECQ  AX;     \
	KMOVW AX, K1

#define LOADPS512 VMOVUPS.Z (DI), K1, Z0
#define LOADPD512 VMOVUPD.Z (DI), K1, Z0
#define STOREPS512(x) VMOVUPS x, K1, (DX)
#define STOREPD512(x) VMOVUPD x, K1, (DX)

// func unpacked512x32(m, n, k int, a *float32, ars, acs int, b *float32, brs int, c *float32, ldc int)
TEXT ·unpacked512x32(SB), NOSPLIT, $0-80
	OPERANDS(2)
	CMPQ CX, $16
	JGT  two
	MASK512
	UNPACKED512(VBROADCASTSS, VFMADD231PS, LOADPS512, STOREPS512)

// func unpacked512x64(m, n, k int, a *float64, ars, acs int, b *float64, brs int, c *float64, ldc int)
TEXT ·unpacked512x64(SB), NOSPLIT, $0-80
	OPERANDS(3)
	CMPQ CX, $8
	JGT  two
	MASK512
	UNPACKED512(VBROADCASTSD, VFMADD231PD, LOADPD512, STOREPD512)

// AVX2: sums in Y4 to Y15, B in Y0 and Y1, A in Y2 and Y3; one vector is masked by Y1.

#define TWO256(BCAST, FMA, at, a, x, y) \
	BCAST at, a;  \
	FMA   Y0, a, x; \
	FMA   Y1, a, y

#define ONE256(BCAST, FMA, at, a, x) \
	BCAST at, a;  \
	FMA   Y0, a, x

#define LOADTWO256 \
	VMOVUPS (DI), Y0; \
	VMOVUPS 32(DI), Y1

#define OUTTWO256(x, y) \
	VMOVUPS x, (DX);   \
	VMOVUPS y, 32(DX); \
	ADDQ    R12, DX

#define OUTONE256(STORE, x) \
	STORE(x); \
	ADDQ R12, DX

#define ZEROTWO1_256 VXORPS Y4, Y4, Y4; VXORPS Y5, Y5, Y5
#define ZEROTWO2_256 ZEROTWO1_256; VXORPS Y6, Y6, Y6; VXORPS Y7, Y7, Y7
#define ZEROTWO3_256 ZEROTWO2_256; VXORPS Y8, Y8, Y8; VXORPS Y9, Y9, Y9
#define ZEROTWO4_256 ZEROTWO3_256; VXORPS Y10, Y10, Y10; VXORPS Y11, Y11, Y11
#define ZEROTWO5_256 ZEROTWO4_256; VXORPS Y12, Y12, Y12; VXORPS Y13, Y13, Y13
#define ZEROTWO6_256 ZEROTWO5_256; VXORPS Y14, Y14, Y14; VXORPS Y15, Y15, Y15
#define ZEROONE1_256 VXORPS Y4, Y4, Y4
#define ZEROONE2_256 ZEROONE1_256; VXORPS Y6, Y6, Y6
#define ZEROONE3_256 ZEROONE2_256; VXORPS Y8, Y8, Y8
#define ZEROONE4_256 ZEROONE3_256; VXORPS Y10, Y10, Y10
#define ZEROONE5_256 ZEROONE4_256; VXORPS Y12, Y12, Y12
#define ZEROONE6_256 ZEROONE5_256; VXORPS Y14, Y14, Y14
#define TWO1_256(BCAST, FMA) TWO256(BCAST, FMA, (AX), Y2, Y4, Y5)
#define TWO2_256(BCAST, FMA) TWO1_256(BCAST, FMA); TWO256(BCAST, FMA, (AX)(R8*1), Y3, Y6, Y7)
#define TWO3_256(BCAST, FMA) TWO2_256(BCAST, FMA); TWO256(BCAST, FMA, (AX)(R8*2), Y2, Y8, Y9)
#define TWO4_256(BCAST, FMA) TWO3_256(BCAST, FMA); TWO256(BCAST, FMA, (AX)(R9*1), Y3, Y10, Y11)
#define TWO5_256(BCAST, FMA) TWO4_256(BCAST, FMA); TWO256(BCAST, FMA, (BX), Y2, Y12, Y13)
#define TWO6_256(BCAST, FMA) TWO5_256(BCAST, FMA); TWO256(BCAST, FMA, (BX)(R8*1), Y3, Y14, Y15)
#define ONE1_256(BCAST, FMA) ONE256(BCAST, FMA, (AX), Y2, Y4)
#define ONE2_256(BCAST, FMA) ONE1_256(BCAST, FMA); ONE256(BCAST, FMA, (AX)(R8*1), Y3, Y6)
#define ONE3_256(BCAST, FMA) ONE2_256(BCAST, FMA); ONE256(BCAST, FMA, (AX)(R8*2), Y2, Y8)
#define ONE4_256(BCAST, FMA) ONE3_256(BCAST, FMA); ONE256(BCAST, FMA, (AX)(R9*1), Y3, Y10)
#define ONE5_256(BCAST, FMA) ONE4_256(BCAST, FMA); ONE256(BCAST, FMA, (BX), Y2, Y12)
#define ONE6_256(BCAST, FMA) ONE5_256(BCAST, FMA); ONE256(BCAST, FMA, (BX)(R8*1), Y3, Y14)
#define OUTTWO1_256 OUTTWO256(Y4, Y5)
#define OUTTWO2_256 OUTTWO1_256; OUTTWO256(Y6, Y7)
#define OUTTWO3_256 OUTTWO2_256; OUTTWO256(Y8, Y9)
#define OUTTWO4_256 OUTTWO3_256; OUTTWO256(Y10, Y11)
#define OUTTWO5_256 OUTTWO4_256; OUTTWO256(Y12, Y13)
#define OUTTWO6_256 OUTTWO5_256; OUTTWO256(Y14, Y15)
#define OUTONE1_256(STORE) OUTONE256(STORE, Y4)
#define OUTONE2_256(STORE) OUTONE1_256(STORE); OUTONE256(STORE, Y6)
#define OUTONE3_256(STORE) OUTONE2_256(STORE); OUTONE256(STORE, Y8)
#define OUTONE4_256(STORE) OUTONE3_256(STORE); OUTONE256(STORE, Y10)
#define OUTONE5_256(STORE) OUTONE4_256(STORE); OUTONE256(STORE, Y12)
#define OUTONE6_256(STORE) OUTONE5_256(STORE); OUTONE256(STORE, Y14)

#define UNPACKED256(BCAST, FMA, LOAD, STORE) \
one: \
	SHARE(6, onerows) \
	CMPQ CX, $6; \
	JEQ  one6; \
	CMPQ CX, $5; \
	JEQ  one5; \
	CMPQ CX, $4; \
	JEQ  one4; \
	CMPQ CX, $3; \
	JEQ  one3; \
	CMPQ CX, $2; \
	JEQ  one2; \
one1: \
	STRIP(oneloop1, ZEROONE1_256, LOAD, ONE1_256(BCAST, FMA), OUTONE1_256(STORE)); \
	ADVANCE(1, one, done); \
one2: \
	STRIP(oneloop2, ZEROONE2_256, LOAD, ONE2_256(BCAST, FMA), OUTONE2_256(STORE)); \
	ADVANCE(2, one, done); \
one3: \
	STRIP(oneloop3, ZEROONE3_256, LOAD, ONE3_256(BCAST, FMA), OUTONE3_256(STORE)); \
	ADVANCE(3, one, done); \
one4: \
	STRIP(oneloop4, ZEROONE4_256, LOAD, ONE4_256(BCAST, FMA), OUTONE4_256(STORE)); \
	ADVANCE(4, one, done); \
one5: \
	STRIP(oneloop5, ZEROONE5_256, LOAD, ONE5_256(BCAST, FMA), OUTONE5_256(STORE)); \
	ADVANCE(5, one, done); \
one6: \
	STRIP(oneloop6, ZEROONE6_256, LOAD, ONE6_256(BCAST, FMA), OUTONE6_256(STORE)); \
	ADVANCE(6, one, done); \
two: \
	SHARE(6, tworows) \
	CMPQ CX, $6; \
	JEQ  two6; \
	CMPQ CX, $5; \
	JEQ  two5; \
	CMPQ CX, $4; \
	JEQ  two4; \
	CMPQ CX, $3; \
	JEQ  two3; \
	CMPQ CX, $2; \
	JEQ  two2; \
two1: \
	STRIP(twoloop1, ZEROTWO1_256, LOADTWO256, TWO1_256(BCAST, FMA), OUTTWO1_256); \
	ADVANCE(1, two, done); \
two2: \
	STRIP(twoloop2, ZEROTWO2_256, LOADTWO256, TWO2_256(BCAST, FMA), OUTTWO2_256); \
	ADVANCE(2, two, done); \
two3: \
	STRIP(twoloop3, ZEROTWO3_256, LOADTWO256, TWO3_256(BCAST, FMA), OUTTWO3_256); \
	ADVANCE(3, two, done); \
two4: \
	STRIP(twoloop4, ZEROTWO4_256, LOADTWO256, TWO4_256(BCAST, FMA), OUTTWO4_256); \
	ADVANCE(4, two, done); \
two5: \
	STRIP(twoloop5, ZEROTWO5_256, LOADTWO256, TWO5_256(BCAST, FMA), OUTTWO5_256); \
	ADVANCE(5, two, done); \
two6: \
	STRIP(twoloop6, ZEROTWO6_256, LOADTWO256, TWO6_256(BCAST, FMA), OUTTWO6_256); \
	ADVANCE(6, two, done); \
done: \
	VZEROUPPER; \
	RET

// Eight lanes of ones, then eight of zeros: a mask of the first n lanes begins n
// before the zeros.
DATA lanes<>+0(SB)/8, $-1
DATA lanes<>+8(SB)/8, $-1
DATA lanes<>+16(SB)/8, $-1
DATA lanes<>+24(SB)/8, $-1
DATA lanes<>+32(SB)/8, $0
DATA lanes<>+40(SB)/8, $0
DATA lanes<>+48(SB)/8, $0
DATA lanes<>+56(SB)/8, $0
GLOBL lanes<>(SB), RODATA|NOPTR, $64

#define MASK256(shift) \
	SHLQ    $shift, CX;           \
	LEAQ    lanes<>+32(SB), AX; \
	SUBQ    CX, AX;               \
	VMOVUPS (AX), Y1

#define LOADPS256 VMASKMOVPS (DI), Y1, Y0
#define LOADPD256 VMASKMOVPD (DI), Y1, Y0
#define STOREPS256(x) VMASKMOVPS x, Y1, (DX)
#define STOREPD256(x) VMASKMOVPD x, Y1, (DX)

// func unpacked256x32(m, n, k int, a *float32, ars, acs int, b *float32, brs int, c *float32, ldc int)
TEXT ·unpacked256x32(SB), NOSPLIT, $0-80
	OPERANDS(2)
	CMPQ CX, $8
	JGT  two
	MASK256(2)
	UNPACKED256(VBROADCASTSS, VFMADD231PS, LOADPS256, STOREPS256)

// func unpacked256x64(m, n, k int, a *float64, ars, acs int, b *float64, brs int, c *float64, ldc int)
TEXT ·unpacked256x64(SB), NOSPLIT, $0-80
	OPERANDS(3)
	CMPQ CX, $4
	JGT  two
	MASK256(3)
	UNPACKED256(VBROADCASTSD, VFMADD231PD, LOADPD256, STOREPD256)
