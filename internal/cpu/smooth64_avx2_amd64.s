//go:build !noasm

#include "textflag.h"

#define LANES 4
#define V0 Y0
#define V1 Y1
#define V2 Y2
#define V3 Y3
#define V4 Y4
#define V5 Y5
#define V6 Y6
#define V7 Y7
#define V8 Y8
#define V9 Y9
#define V10 Y10
#define V11 Y11
#define V12 Y12
#define V13 Y13
#define V14 Y14
#define V15 Y15

// Operations with constant i of the table: d = a op K(i).
#define LOADK(i, d)    VMOVUPD K(i), d
#define ADDK(i, a, d)  VADDPD K(i), a, d
#define SUBK(i, a, d)  VSUBPD K(i), a, d
#define MULK(i, a, d)  VMULPD K(i), a, d
#define ANDK(i, a, d)  VPAND K(i), a, d
#define ORK(i, a, d)   VPOR K(i), a, d
#define ADDQK(i, a, d) VPADDQ K(i), a, d
#define OR(a, b, d)    VPOR a, b, d
#define CLEAR(d)       VPXOR d, d, d

// acc = acc x + K(i), d = d + K(i) x and d = d - K(i) x, rounded once.
#define STEP(i, x, acc) VFMADD213PD K(i), x, acc
#define PLUSK(i, x, d)  VFMADD231PD K(i), x, d
#define LESSK(i, x, d)  VFNMADD231PD K(i), x, d

// Comparison predicates; all are false for NaN.
#define EQ $0x00
#define LT $0x11
#define LE $0x12
#define GE $0x1D
#define GT $0x1E

// COMPARE: m = x op K(i). CHOOSE: d = m ? yes : no.
#define COMPARE(op, i, x, m)     VCMPPD op, K(i), x, m
#define CHOOSE(m, yes, no, d)    VBLENDVPD m, yes, no, d

// Leave the loop unless x op K(i) holds in all lanes. Uses V1 and V3.
#define OUTUNLESS(op, i, x) \
	VCMPPD    op, K(i), x, V3; \
	VMOVMSKPD V3, AX;          \
	CMPL      AX, $15;         \
	JNE       out
#define OUTUNLESS2(op, i, other, j, x) \
	VCMPPD    op, K(i), x, V1;    \
	VCMPPD    other, K(j), x, V3; \
	VANDPD    V1, V3, V3;         \
	VMOVMSKPD V3, AX;             \
	CMPL      AX, $15;            \
	JNE       out

#include "smooth64_amd64.h"

// func exp64AVX2(dst, x *float64, n int) int
TEXT ·exp64AVX2(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	EXP
	DONE(V0)
out:
	END

// func expm164AVX2(dst, x *float64, n int) int
TEXT ·expm164AVX2(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	EXPM1
	DONE(V0)
out:
	END

// func log64AVX2(dst, x *float64, n int) int
TEXT ·log64AVX2(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	LOG
	DONE(V0)
out:
	END

// func log1p64AVX2(dst, x *float64, n int) int
TEXT ·log1p64AVX2(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	LOG1P
	DONE(V0)
out:
	END

// func tanh64AVX2(dst, x *float64, n int) int
TEXT ·tanh64AVX2(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	TANH
	DONE(V10)
out:
	END

// func erf64AVX2(dst, x *float64, n int) int
TEXT ·erf64AVX2(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	ERF
	DONE(V0)
out:
	END

// func pow64AVX2(dst, x, y *float64, n int) int
TEXT ·pow64AVX2(SB), NOSPLIT, $0-40
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
