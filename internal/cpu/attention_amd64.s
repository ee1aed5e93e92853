//go:build !noasm

#include "textflag.h"

// Softmax of columns and products of four queries, with AVX-512. A column is the scores of
// one query, and at most 16 columns are computed at a time.

// K1 = the mask of the columns.
#define COLUMNS(cols) \
	MOVQ  cols, CX    \
	MOVL  $1, AX      \
	SHLL  CX, AX      \
	DECL  AX          \
	KMOVW AX, K1

#define E(i) (32*(i))(R9)

// Z2 = e^Z0, as expF32 for |Z0| <= exp32Limit. Without the integer addition of the exponent,
// NaN stays NaN.
#define EXP \
	VMULPS    Z18, Z0, Z1 \
	VADDPS    Z19, Z1, Z1 \
	VSUBPS    Z19, Z1, Z1 \
	VMULPS    Z20, Z1, Z3 \
	VSUBPS    Z3, Z0, Z0  \
	VMULPS    Z21, Z1, Z3 \
	VSUBPS    Z3, Z0, Z0  \
	VMULPS    Z22, Z0, Z2 \
	VMULPS    Z0, Z0, Z3  \
	VADDPS    Z23, Z2, Z2 \
	VMULPS    Z0, Z2, Z2  \
	VADDPS    Z24, Z2, Z2 \
	VMULPS    Z0, Z2, Z2  \
	VADDPS    Z25, Z2, Z2 \
	VMULPS    Z0, Z2, Z2  \
	VADDPS    Z26, Z2, Z2 \
	VMULPS    Z3, Z2, Z2  \
	VADDPS    Z0, Z2, Z2  \
	VADDPS    Z27, Z2, Z2 \
	VSCALEFPS Z1, Z2, Z2

// One row: x = e^max(x - largest, -limit) - e^-limit, and sum += x.
#define WEIGH(sum) \
	VMOVUPS.Z (DI), K1, Z0   \
	VSUBPS    Z31, Z0, Z0    \
	VMAXPS    Z0, Z28, Z0    \
	EXP                      \
	VSUBPS    Z29, Z2, Z2    \
	VMOVUPS   Z2, K1, (DI)   \
	VADDPS    Z2, sum, sum   \
	ADDQ      R8, DI

// func weighColumns512(x *float32, ld, rows, cols int, largest, sums *float32)
TEXT ·weighColumns512(SB), NOSPLIT, $0-48
	COLUMNS(cols+24(FP))
	MOVQ         x+0(FP), DI
	MOVQ         ld+8(FP), R8
	SHLQ         $2, R8
	MOVQ         rows+16(FP), DX
	MOVQ         largest+32(FP), SI
	VMOVUPS.Z    (SI), K1, Z31
	LEAQ         ·exp32Table(SB), R9
	VBROADCASTSS E(1), Z0
	VBROADCASTSS E(2), Z18
	VBROADCASTSS E(3), Z19
	VBROADCASTSS E(4), Z20
	VBROADCASTSS E(5), Z21
	VBROADCASTSS E(6), Z22
	VBROADCASTSS E(7), Z23
	VBROADCASTSS E(8), Z24
	VBROADCASTSS E(9), Z25
	VBROADCASTSS E(10), Z26
	VBROADCASTSS E(11), Z27
	VPXORQ       Z12, Z12, Z12
	VPXORQ       Z13, Z13, Z13
	VPXORQ       Z14, Z14, Z14
	VPXORQ       Z15, Z15, Z15
	VSUBPS       Z0, Z12, Z28
	VMOVAPS      Z28, Z0
	EXP
	VMOVAPS      Z2, Z29

four:
	SUBQ $4, DX
	JLT  rest
	WEIGH(Z12)
	WEIGH(Z13)
	WEIGH(Z14)
	WEIGH(Z15)
	JMP  four

rest:
	ADDQ $4, DX
	JZ   done
	WEIGH(Z12)
	DECQ DX
	JZ   done
	WEIGH(Z13)
	DECQ DX
	JZ   done
	WEIGH(Z14)

done:
	VADDPS  Z13, Z12, Z12
	VADDPS  Z15, Z14, Z14
	VADDPS  Z14, Z12, Z12
	MOVQ    sums+40(FP), SI
	VMOVUPS Z12, K1, (SI)
	VZEROUPPER
	RET

// func maxColumns512(x *float32, ld, rows, cols int, largest *float32)
TEXT ·maxColumns512(SB), NOSPLIT, $0-40
	COLUMNS(cols+24(FP))
	MOVQ      x+0(FP), DI
	MOVQ      ld+8(FP), R8
	SHLQ      $2, R8
	MOVQ      rows+16(FP), DX
	VMOVUPS.Z (DI), K1, Z0
	VMOVAPS   Z0, Z1
	VMOVAPS   Z0, Z2
	VMOVAPS   Z0, Z3

four:
	SUBQ   $4, DX
	JLT    rest
	LEAQ   (DI)(R8*2), R10
	VMAXPS (DI), Z0, K1, Z0
	VMAXPS (DI)(R8*1), Z1, K1, Z1
	VMAXPS (R10), Z2, K1, Z2
	VMAXPS (R10)(R8*1), Z3, K1, Z3
	LEAQ   (R10)(R8*2), DI
	JMP    four

rest:
	ADDQ $4, DX
	JZ   done

one:
	VMAXPS (DI), Z0, K1, Z0
	ADDQ   R8, DI
	DECQ   DX
	JNZ    one

done:
	VMAXPS  Z1, Z0, Z0
	VMAXPS  Z3, Z2, Z2
	VMAXPS  Z2, Z0, Z0
	MOVQ    largest+32(FP), SI
	VMOVUPS Z0, K1, (SI)
	VZEROUPPER
	RET

// func rescaleAVX(x, y *float32, alpha float32, n int)
TEXT ·rescaleAVX(SB), NOSPLIT, $0-32
	MOVQ         x+0(FP), DI
	MOVQ         y+8(FP), SI
	VBROADCASTSS alpha+16(FP), Y1
	MOVQ         n+24(FP), CX
	XORQ         AX, AX

next:
	VMULPS  (DI)(AX*4), Y1, Y0
	VADDPS  (SI)(AX*4), Y0, Y0
	VMOVUPS Y0, (DI)(AX*4)
	ADDQ    $8, AX
	CMPQ    AX, CX
	JLT     next
	VZEROUPPER
	RET

// The eight sums of two vectors p and q, as SUM512x32 adds the halves: p in the lower half.
#define HALVES(p, q, d) \
	VSHUFF64X2 $0x44, q, p, Z16 \
	VSHUFF64X2 $0xee, q, p, Z17 \
	VADDPS     Z17, Z16, d

// The four sums of four vectors of halves, each in a quarter: those of p, then those of q.
#define QUARTERS(p, q, d) \
	VSHUFF32X4 $0x88, q, p, Z16 \
	VSHUFF32X4 $0xdd, q, p, Z17 \
	VADDPS     Z17, Z16, d

// func dotsFour512(dst *float32, ldd int, x *float32, ldx int, a *float32, ld, k, n int)
TEXT ·dotsFour512(SB), NOSPLIT, $0-64
	MOVQ dst+0(FP), R8
	MOVQ ldd+8(FP), DX
	SHLQ $2, DX
	MOVQ a+32(FP), R10
	MOVQ ld+40(FP), R9
	SHLQ $2, R9

rows:
	LEAQ   (R10)(R9*1), R11
	MOVQ   x+16(FP), SI
	MOVQ   ldx+24(FP), R13
	LEAQ   (SI)(R13*4), R12
	SHLQ   $2, R13
	MOVQ   k+48(FP), CX
	XORQ   AX, AX
	VPXORQ Z0, Z0, Z0
	VPXORQ Z1, Z1, Z1
	VPXORQ Z2, Z2, Z2
	VPXORQ Z3, Z3, Z3
	VPXORQ Z4, Z4, Z4
	VPXORQ Z5, Z5, Z5
	VPXORQ Z6, Z6, Z6
	VPXORQ Z7, Z7, Z7
	VPXORQ Z8, Z8, Z8
	VPXORQ Z9, Z9, Z9
	VPXORQ Z10, Z10, Z10
	VPXORQ Z11, Z11, Z11
	VPXORQ Z12, Z12, Z12
	VPXORQ Z13, Z13, Z13
	VPXORQ Z14, Z14, Z14
	VPXORQ Z15, Z15, Z15
	LEAQ   (SI)(R13*2), BX     // query 2
	LEAQ   (R12)(R13*2), DI    // query 3
	LEAQ   (R10)(R9*8), R14    // sixteen rows ahead, to prefetch
	LEAQ   (R14)(R9*8), R14
	LEAQ   (R14)(R9*1), R15

loop:
	PREFETCHT0  (R14)(AX*1)
	PREFETCHT0  64(R14)(AX*1)
	PREFETCHT0  (R15)(AX*1)
	PREFETCHT0  64(R15)(AX*1)
	VMOVUPS     (R10)(AX*1), Z16
	VMOVUPS     (R11)(AX*1), Z17
	VMOVUPS     (SI)(AX*1), Z18
	VMOVUPS     (R12)(AX*1), Z19
	VMOVUPS     (BX)(AX*1), Z20
	VMOVUPS     (DI)(AX*1), Z21
	VFMADD231PS Z16, Z18, Z0
	VFMADD231PS Z16, Z19, Z2
	VFMADD231PS Z16, Z20, Z4
	VFMADD231PS Z16, Z21, Z6
	VFMADD231PS Z17, Z18, Z8
	VFMADD231PS Z17, Z19, Z10
	VFMADD231PS Z17, Z20, Z12
	VFMADD231PS Z17, Z21, Z14
	VMOVUPS     64(R10)(AX*1), Z16
	VMOVUPS     64(R11)(AX*1), Z17
	VMOVUPS     64(SI)(AX*1), Z18
	VMOVUPS     64(R12)(AX*1), Z19
	VMOVUPS     64(BX)(AX*1), Z20
	VMOVUPS     64(DI)(AX*1), Z21
	VFMADD231PS Z16, Z18, Z1
	VFMADD231PS Z16, Z19, Z3
	VFMADD231PS Z16, Z20, Z5
	VFMADD231PS Z16, Z21, Z7
	VFMADD231PS Z17, Z18, Z9
	VFMADD231PS Z17, Z19, Z11
	VFMADD231PS Z17, Z20, Z13
	VFMADD231PS Z17, Z21, Z15
	ADDQ        $128, AX
	SUBQ        $32, CX
	JNZ         loop

	// Z0, Z2, Z4, Z6: the first row's sums of even vectors, Z1 to Z7 of odd ones
	HALVES(Z0, Z2, Z0)
	HALVES(Z1, Z3, Z1)
	HALVES(Z4, Z6, Z4)
	HALVES(Z5, Z7, Z5)
	HALVES(Z8, Z10, Z8)
	HALVES(Z9, Z11, Z9)
	HALVES(Z12, Z14, Z12)
	HALVES(Z13, Z15, Z13)
	VADDPS      Z1, Z0, Z0
	VADDPS      Z5, Z4, Z4
	VADDPS      Z9, Z8, Z8
	VADDPS      Z13, Z12, Z12
	QUARTERS(Z0, Z4, Z0)
	QUARTERS(Z8, Z12, Z8)
	VSHUFPS     $0x44, Z8, Z0, Z1
	VSHUFPS     $0xee, Z8, Z0, Z2
	VADDPS      Z2, Z1, Z1
	VMOVSHDUP   Z1, Z2
	VADDPS      Z2, Z1, Z1
	VPXORQ      Z3, Z3, Z3
	VADDPS      Z3, Z1, Z1       // turns a negative zero into 0
	VPERMILPS   $0x08, Z1, Z1

	// Each quarter begins with a query's two sums.
	VEXTRACTF32X4 $1, Z1, X2
	VEXTRACTF32X4 $2, Z1, X3
	VEXTRACTF32X4 $3, Z1, X4
	LEAQ          (R8)(DX*2), BX
	VMOVLPS       X1, (R8)
	VMOVLPS       X2, (R8)(DX*1)
	VMOVLPS       X3, (BX)
	VMOVLPS       X4, (BX)(DX*1)
	ADDQ          $8, R8
	LEAQ          (R11)(R9*1), R10
	SUBQ          $2, n+56(FP)
	JNZ           rows
	VZEROUPPER
	RET

// A step of a query, whose weight is at an address, with sums s0 to s3.
#define STEP(at, s0, s1, s2, s3) \
	VBROADCASTSS at, Z20    \
	VFMADD231PS  Z16, Z20, s0 \
	VFMADD231PS  Z17, Z20, s1 \
	VFMADD231PS  Z18, Z20, s2 \
	VFMADD231PS  Z19, Z20, s3

#define SUMS(at, s0, s1, s2, s3, MOVE) \
	MOVE(0, at, s0)   \
	MOVE(64, at, s1)  \
	MOVE(128, at, s2) \
	MOVE(192, at, s3)

#define LOADSUM(off, at, s) VMOVUPS off(at), s
#define STORESUM(off, at, s) VMOVUPS s, off(at)

// func columnsFour512(y *float32, ldy int, x *float32, ldx int, a *float32, ld, k int)
TEXT ·columnsFour512(SB), NOSPLIT, $0-56
	MOVQ y+0(FP), DI
	MOVQ ldy+8(FP), R8
	MOVQ x+16(FP), SI
	MOVQ ldx+24(FP), R13
	MOVQ a+32(FP), R10
	MOVQ ld+40(FP), R9
	MOVQ k+48(FP), CX
	SHLQ $2, R8
	SHLQ $2, R9
	SHLQ $2, R13
	LEAQ (DI)(R8*1), R11
	LEAQ (R11)(R8*1), R12
	LEAQ (R12)(R8*1), BX
	LEAQ (SI)(R13*2), DX
	SUMS(DI, Z0, Z1, Z2, Z3, LOADSUM)
	SUMS(R11, Z4, Z5, Z6, Z7, LOADSUM)
	SUMS(R12, Z8, Z9, Z10, Z11, LOADSUM)
	SUMS(BX, Z12, Z13, Z14, Z15, LOADSUM)

	LEAQ (R10)(R9*8), R14 // sixteen rows ahead, to prefetch
	LEAQ (R14)(R9*8), R14

step:
	PREFETCHT0 (R14)
	PREFETCHT0 64(R14)
	PREFETCHT0 128(R14)
	PREFETCHT0 192(R14)
	ADDQ       R9, R14
	VMOVUPS (R10), Z16
	VMOVUPS 64(R10), Z17
	VMOVUPS 128(R10), Z18
	VMOVUPS 192(R10), Z19
	STEP((SI), Z0, Z1, Z2, Z3)
	STEP((SI)(R13*1), Z4, Z5, Z6, Z7)
	STEP((DX), Z8, Z9, Z10, Z11)
	STEP((DX)(R13*1), Z12, Z13, Z14, Z15)
	ADDQ    $4, SI
	ADDQ    $4, DX
	ADDQ    R9, R10
	DECQ    CX
	JNZ     step
	SUMS(DI, Z0, Z1, Z2, Z3, STORESUM)
	SUMS(R11, Z4, Z5, Z6, Z7, STORESUM)
	SUMS(R12, Z8, Z9, Z10, Z11, STORESUM)
	SUMS(BX, Z12, Z13, Z14, Z15, STORESUM)
	VZEROUPPER
	RET
