//go:build !noasm

#include "textflag.h"

#define LANES 8
#define V0 Z0
#define V1 Z1
#define V2 Z2
#define V3 Z3
#define V4 Z4
#define V5 Z5
#define V6 Z6
#define V7 Z7
#define V8 Z8
#define V9 Z9
#define V10 Z10
#define V11 Z11
#define V12 Z12
#define V13 Z13
#define V14 Z14
#define V15 Z15

// As in smooth64_avx2_amd64.s; the instructions broadcast one copy of a constant.
#define LOADK(i, d)    VBROADCASTSD K(i), d
#define ADDK(i, a, d)  VADDPD.BCST K(i), a, d
#define SUBK(i, a, d)  VSUBPD.BCST K(i), a, d
#define MULK(i, a, d)  VMULPD.BCST K(i), a, d
#define ANDK(i, a, d)  VPANDQ.BCST K(i), a, d
#define ORK(i, a, d)   VPORQ.BCST K(i), a, d
#define ADDQK(i, a, d) VPADDQ.BCST K(i), a, d
#define OR(a, b, d)    VPORQ a, b, d
#define CLEAR(d)       VPXORQ d, d, d

#define STEP(i, x, acc) VFMADD213PD.BCST K(i), x, acc
#define PLUSK(i, x, d)  VFMADD231PD.BCST K(i), x, d
#define LESSK(i, x, d)  VFNMADD231PD.BCST K(i), x, d

#define EQ $0x00
#define LT $0x11
#define LE $0x12
#define GE $0x1D
#define GT $0x1E

// The mask is always K1; m is ignored.
#define COMPARE(op, i, x, m)  VCMPPD.BCST op, K(i), x, K1
#define CHOOSE(m, yes, no, d) VBLENDMPD yes, no, K1, d

#define OUTUNLESS(op, i, x) \
	VCMPPD.BCST op, K(i), x, K2; \
	KMOVW       K2, AX;          \
	CMPL        AX, $255;        \
	JNE         out
#define OUTUNLESS2(op, i, other, j, x) \
	VCMPPD.BCST op, K(i), x, K2;        \
	VCMPPD.BCST other, K(j), x, K2, K3; \
	KMOVW       K3, AX;                 \
	CMPL        AX, $255;               \
	JNE         out

#include "smooth64_amd64.h"

// func exp64AVX512(dst, x *float64, n int) int
TEXT ·exp64AVX512(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	EXP
	DONE(V0)
out:
	END

// func expm164AVX512(dst, x *float64, n int) int
TEXT ·expm164AVX512(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	EXPM1
	DONE(V0)
out:
	END

// func log64AVX512(dst, x *float64, n int) int
TEXT ·log64AVX512(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	LOG
	DONE(V0)
out:
	END

// func log1p64AVX512(dst, x *float64, n int) int
TEXT ·log1p64AVX512(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	LOG1P
	DONE(V0)
out:
	END

// func tanh64AVX512(dst, x *float64, n int) int
TEXT ·tanh64AVX512(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	TANH
	DONE(V10)
out:
	END

// func erf64AVX512(dst, x *float64, n int) int
TEXT ·erf64AVX512(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	ERF
	DONE(V0)
out:
	END

// func pow64AVX512(dst, x, y *float64, n int) int
TEXT ·pow64AVX512(SB), NOSPLIT, $0-40
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ y+16(FP), R9
	MOVQ n+24(FP), CX
	XORQ DX, DX
	LEAQ ·smooth64Table(SB), R8
loop:
	NEXTPAIR
	POW
	ADDQ $(8*LANES), R9
	DONE(V0)
out:
	VZEROUPPER
	MOVQ DX, ret+32(FP)
	RET
