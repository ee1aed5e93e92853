//go:build !noasm

#include "textflag.h"

// The functions of smooth.go on four float32s at a time, in float64. R8 points to
// smoothTable, DI to dst, SI to x; CX counts the elements left, DX the elements done. Y15
// keeps the argument x.

#define K(i) (32*(i))(R8)

#define C_LOW 0
#define C_HIGH 1
#define C_LOG2E 2
#define C_SHIFTER 3
#define C_LN2 4
#define C_EXP 5
#define C_BIAS 12
#define C_ONE 13
#define C_ABS 14
#define C_SIGN 15
#define C_TWO 16
#define C_TRIGLIMIT 17
#define C_TWOOVERPI 18
#define C_HALFPIHIGH 19
#define C_HALFPILOW 20
#define C_SIN 21
#define C_COS 25
#define C_HALF 29
#define C_ERF 30
#define C_ERFCMAX 39
#define C_THREE 40
#define C_ERFC 41
#define C_SQRT1_2 55
#define C_OUTER 56
#define C_INNER 57
#define C_SPLIT 58
#define C_TWO52 59
#define C_UNBIAS 60
#define C_LOG 61
#define C_ZERO 66
#define C_UNIT 67
#define C_INF 68
#define C_MINUSONE 69

#define BEGIN \
	MOVQ dst+0(FP), DI; \
	MOVQ x+8(FP), SI;   \
	MOVQ n+16(FP), CX;  \
	XORQ DX, DX;        \
	LEAQ ·smoothTable(SB), R8

// Load the next four elements to Y15, or leave the loop.
#define NEXT \
	SUBQ $4, CX;   \
	JLT  out;      \
	VCVTPS2PD (SI), Y15

// Store Y0 to the next four results.
#define DONE \
	VCVTPD2PSY Y0, X0; \
	VMOVUPS X0, (DI);  \
	ADDQ $16, SI;      \
	ADDQ $16, DI;      \
	ADDQ $4, DX;       \
	JMP  loop

#define END \
	VZEROUPPER;       \
	MOVQ DX, ret+24(FP); \
	RET

// acc = acc x + K(i)
#define STEP(i, x, acc) \
	VMULPD x, acc, acc; \
	VADDPD K(i), acc, acc

// expParts(Y0): p in Y4, s in Y5. Uses Y0 to Y2.
#define EXPPARTS \
	VMOVUPD K(C_LOW), Y1;          \
	VMAXPD  Y0, Y1, Y0;            \ // if an operand is NaN, the result is the first operand
	VMOVUPD K(C_HIGH), Y1;         \
	VMINPD  Y0, Y1, Y0;            \
	VMULPD  K(C_LOG2E), Y0, Y1;    \
	VADDPD  K(C_SHIFTER), Y1, Y1;  \
	VSUBPD  K(C_SHIFTER), Y1, Y2;  \
	VMULPD  K(C_LN2), Y2, Y2;      \
	VSUBPD  Y2, Y0, Y0;            \
	VPADDQ  K(C_BIAS), Y1, Y5;     \
	VPSLLQ  $52, Y5, Y5;           \
	VMULPD  K(C_EXP), Y0, Y4;      \
	VADDPD  K(C_EXP+1), Y4, Y4;    \
	STEP(C_EXP+2, Y0, Y4);         \
	STEP(C_EXP+3, Y0, Y4);         \
	STEP(C_EXP+4, Y0, Y4);         \
	STEP(C_EXP+5, Y0, Y4);         \
	STEP(C_EXP+6, Y0, Y4);         \
	VMULPD  Y0, Y0, Y1;            \
	VMULPD  Y1, Y4, Y4;            \
	VADDPD  Y0, Y4, Y4

// Y4 = expOf(Y0).
#define EXPOF \
	EXPPARTS;            \
	VMULPD Y5, Y4, Y4; \
	VADDPD Y5, Y4, Y4

// Y4 = expm1Of(Y0).
#define EXPM1OF \
	EXPPARTS;                  \
	VMULPD Y5, Y4, Y4;       \
	VSUBPD K(C_ONE), Y5, Y5; \
	VADDPD Y5, Y4, Y4

// Copy the sign of Y15 to Y0.
#define COPYSIGN \
	VANDPD K(C_ABS), Y0, Y0;   \
	VANDPD K(C_SIGN), Y15, Y1; \
	VORPD  Y1, Y0, Y0

// Y0 = nanAtMinusInf(Y0, Y15).
#define NANATMINUSINF \
	VMOVUPD K(C_ZERO), Y1; \
	VMINPD  Y15, Y1, Y1;   \
	VSUBPD  Y1, Y1, Y1;    \
	VORPD   Y1, Y0, Y0

// Y0 = Y15/(1 + e^-Y0).
#define GATE \
	VXORPD K(C_SIGN), Y0, Y0; \
	EXPOF;                    \
	VADDPD K(C_ONE), Y4, Y4;  \
	VDIVPD Y4, Y15, Y0;       \
	NANATMINUSINF

// Y0 = erfcOf(Y14). Uses Y0 to Y5 and Y10 to Y13.
#define ERFCOF \
	VADDPD  Y14, Y14, Y10;         \
	VADDPD  K(C_ONE), Y10, Y10;    \ // b
	VADDPD  K(C_THREE), Y14, Y11;  \
	VMULPD  Y10, Y11, Y12;         \
	VMOVUPD K(C_ONE), Y13;         \
	VDIVPD  Y12, Y13, Y12;         \ // q
	VSUBPD  K(C_THREE), Y14, Y13;  \
	VMULPD  Y10, Y13, Y13;         \
	VMULPD  Y12, Y13, Y13;         \ // t
	VMULPD  Y12, Y11, Y11;         \
	VMULPD  K(C_ERFC), Y13, Y10;   \
	VADDPD  K(C_ERFC+1), Y10, Y10; \
	STEP(C_ERFC+2, Y13, Y10);      \
	STEP(C_ERFC+3, Y13, Y10);      \
	STEP(C_ERFC+4, Y13, Y10);      \
	STEP(C_ERFC+5, Y13, Y10);      \
	STEP(C_ERFC+6, Y13, Y10);      \
	STEP(C_ERFC+7, Y13, Y10);      \
	STEP(C_ERFC+8, Y13, Y10);      \
	STEP(C_ERFC+9, Y13, Y10);      \
	STEP(C_ERFC+10, Y13, Y10);     \
	STEP(C_ERFC+11, Y13, Y10);     \
	STEP(C_ERFC+12, Y13, Y10);     \
	STEP(C_ERFC+13, Y13, Y10);     \
	VMULPD  Y11, Y10, Y10;         \
	VMULPD  Y14, Y14, Y0;          \
	VXORPD  K(C_SIGN), Y0, Y0;     \
	EXPOF;                         \
	VMULPD  Y4, Y10, Y0

// logParts(Y0): n in Y2, f in Y3. Uses Y1.
#define LOGPARTS \
	VPADDQ K(C_SPLIT), Y0, Y1;  \
	VPSRLQ $52, Y1, Y1;         \
	VPOR   K(C_TWO52), Y1, Y2;  \
	VSUBPD K(C_UNBIAS), Y2, Y2; \
	VPSLLQ $52, Y1, Y1;         \
	VPSUBQ Y1, Y0, Y3;          \
	VPADDQ K(C_ONE), Y3, Y3;    \
	VSUBPD K(C_ONE), Y3, Y3

// Y0 = logOf(Y2, Y3). Uses Y1, Y4 and Y5.
#define LOGOF \
	VADDPD K(C_TWO), Y3, Y1;    \
	VDIVPD Y1, Y3, Y1;          \ // s
	VMULPD Y1, Y1, Y4;          \ // z
	VMULPD K(C_LOG), Y4, Y5;    \
	VADDPD K(C_LOG+1), Y5, Y5;  \
	STEP(C_LOG+2, Y4, Y5);      \
	STEP(C_LOG+3, Y4, Y5);      \
	STEP(C_LOG+4, Y4, Y5);      \
	VMULPD Y1, Y4, Y4;          \
	VMULPD Y5, Y4, Y4;          \
	VADDPD Y1, Y1, Y1;          \
	VADDPD Y1, Y4, Y4;          \
	VMULPD K(C_LN2), Y2, Y2;    \
	VADDPD Y4, Y2, Y0

// Leave the loop unless K(low) < Y15 < infinity in all lanes.
#define WITHIN(low) \
	VCMPPD    $0x1E, K(low), Y15, Y1;   \
	VCMPPD    $0x11, K(C_INF), Y15, Y2; \
	VANDPD    Y1, Y2, Y1;               \
	VMOVMSKPD Y1, AX;                   \
	CMPL      AX, $15;                  \
	JNE       out

// Y0 = sinQuarter(Y15); the macro `shift` adds the quarter to Y1.
#define SINQUARTER(shift) \
	VANDPD    K(C_ABS), Y15, Y0;             \
	VCMPPD    $0x1E, K(C_TRIGLIMIT), Y0, Y0; \
	VMOVMSKPD Y0, AX;                        \
	TESTL     AX, AX;                        \
	JNE       out;                           \
	VMULPD    K(C_TWOOVERPI), Y15, Y1;       \
	VADDPD    K(C_SHIFTER), Y1, Y1;          \
	VSUBPD    K(C_SHIFTER), Y1, Y2;          \
	VMULPD    K(C_HALFPIHIGH), Y2, Y3;       \
	VSUBPD    Y3, Y15, Y0;                   \
	VMULPD    K(C_HALFPILOW), Y2, Y3;        \
	VSUBPD    Y3, Y0, Y0;                    \ // r
	shift;                                   \
	VMULPD    Y0, Y0, Y2;                    \ // z
	VMULPD    K(C_SIN), Y2, Y3;              \
	VADDPD    K(C_SIN+1), Y3, Y3;            \
	STEP(C_SIN+2, Y2, Y3);                   \
	STEP(C_SIN+3, Y2, Y3);                   \
	VMULPD    Y2, Y3, Y3;                    \
	VADDPD    K(C_ONE), Y3, Y3;              \
	VMULPD    Y0, Y3, Y3;                    \
	VMULPD    K(C_COS), Y2, Y4;              \
	VADDPD    K(C_COS+1), Y4, Y4;            \
	STEP(C_COS+2, Y2, Y4);                   \
	STEP(C_COS+3, Y2, Y4);                   \
	VMULPD    Y2, Y4, Y4;                    \
	VMULPD    Y2, Y4, Y4;                    \
	VMULPD    K(C_HALF), Y2, Y2;             \
	VMOVUPD   K(C_ONE), Y5;                  \
	VSUBPD    Y2, Y5, Y5;                    \
	VADDPD    Y5, Y4, Y4;                    \
	VPSLLQ    $63, Y1, Y2;                   \
	VBLENDVPD Y2, Y4, Y3, Y0;                \
	VPSRLQ    $1, Y1, Y1;                    \
	VPSLLQ    $63, Y1, Y1;                   \
	VXORPD    Y1, Y0, Y0

// func expm1AVX(dst, x *float32, n int) int
TEXT ·expm1AVX(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	VMOVAPD Y15, Y0
	EXPM1OF
	VMOVAPD Y4, Y0
	COPYSIGN
	DONE
out:
	END

// func tanhAVX(dst, x *float32, n int) int
TEXT ·tanhAVX(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	VANDPD K(C_ABS), Y15, Y0
	VADDPD Y0, Y0, Y0
	EXPM1OF
	VADDPD K(C_TWO), Y4, Y0
	VDIVPD Y0, Y4, Y0
	COPYSIGN
	DONE
out:
	END

// func sigmoidAVX(dst, x *float32, n int) int
TEXT ·sigmoidAVX(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	VXORPD  K(C_SIGN), Y15, Y0
	EXPOF
	VADDPD  K(C_ONE), Y4, Y4
	VMOVUPD K(C_ONE), Y0
	VDIVPD  Y4, Y0, Y0
	DONE
out:
	END

// func siluAVX(dst, x *float32, n int) int
TEXT ·siluAVX(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	VMOVAPD Y15, Y0
	GATE
	DONE
out:
	END

// func geluTanhAVX(dst, x *float32, n int) int
TEXT ·geluTanhAVX(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	VMULPD Y15, Y15, Y0
	VMULPD K(C_INNER), Y0, Y0
	VADDPD K(C_ONE), Y0, Y0
	VMULPD K(C_OUTER), Y15, Y1
	VMULPD Y1, Y0, Y0
	GATE
	DONE
out:
	END

// func geluAVX(dst, x *float32, n int) int
TEXT ·geluAVX(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	VANDPD  K(C_ABS), Y15, Y0
	VMULPD  K(C_SQRT1_2), Y0, Y0
	VMOVUPD K(C_ERFCMAX), Y14
	VMINPD  Y0, Y14, Y14
	ERFCOF
	VMULPD  K(C_SQRT1_2), Y14, Y1
	VMULPD  Y1, Y0, Y0
	VMOVUPD K(C_ZERO), Y1
	VMAXPD  Y15, Y1, Y1
	VSUBPD  Y0, Y1, Y0
	NANATMINUSINF
	DONE
out:
	END

// func erfAVX(dst, x *float32, n int) int
TEXT ·erfAVX(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	VANDPD    K(C_ABS), Y15, Y9
	VMOVUPD   K(C_ERFCMAX), Y14
	VMINPD    Y9, Y14, Y14
	ERFCOF
	VMOVUPD   K(C_ONE), Y1
	VSUBPD    Y0, Y1, Y0
	COPYSIGN
	VMULPD    Y9, Y9, Y1
	VMULPD    K(C_ERF), Y1, Y2
	VADDPD    K(C_ERF+1), Y2, Y2
	STEP(C_ERF+2, Y1, Y2)
	STEP(C_ERF+3, Y1, Y2)
	STEP(C_ERF+4, Y1, Y2)
	STEP(C_ERF+5, Y1, Y2)
	STEP(C_ERF+6, Y1, Y2)
	STEP(C_ERF+7, Y1, Y2)
	STEP(C_ERF+8, Y1, Y2)
	VMULPD    Y15, Y2, Y2
	VCMPPD    $0x11, K(C_ONE), Y9, Y1
	VBLENDVPD Y1, Y2, Y0, Y0
	DONE
out:
	END

// func logAVX(dst, x *float32, n int) int
TEXT ·logAVX(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	WITHIN(C_ZERO)
	VMOVAPD Y15, Y0
	LOGPARTS
	LOGOF
	DONE
out:
	END

// func log1pAVX(dst, x *float32, n int) int
TEXT ·log1pAVX(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	WITHIN(C_MINUSONE)
	VADDPD    K(C_ONE), Y15, Y0
	LOGPARTS
	VCMPPD    $0, K(C_ZERO), Y2, Y1
	VBLENDVPD Y1, Y15, Y3, Y3
	LOGOF
	COPYSIGN
	DONE
out:
	END

#define NOTHING
#define QUARTER VPADDQ K(C_UNIT), Y1, Y1

// func sinAVX(dst, x *float32, n int) int
TEXT ·sinAVX(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	SINQUARTER(NOTHING)
	DONE
out:
	END

// func cosAVX(dst, x *float32, n int) int
TEXT ·cosAVX(SB), NOSPLIT, $0-32
	BEGIN
loop:
	NEXT
	SINQUARTER(QUARTER)
	DONE
out:
	END

// R9 points to exp32Table.
#define E(i) (32*(i))(R9)

// func expAVX(dst, x *float32, n int) int
TEXT ·expAVX(SB), NOSPLIT, $0-32
	BEGIN
	LEAQ    ·exp32Table(SB), R9
	VMOVUPS E(2), Y8
	VMOVUPS E(3), Y9
	VMOVUPS E(4), Y10
	VMOVUPS E(5), Y11
	VMOVUPS E(6), Y12
	VMOVUPS E(7), Y13
	VMOVUPS E(8), Y14
	VMOVUPS E(11), Y15
loop:
	SUBQ    $8, CX
	JLT     out
	VMOVUPS (SI), Y0
	VANDPS  E(0), Y0, Y7
	VCMPPS  $0x16, E(1), Y7, Y7 // not <=, so NaN too
	VMULPS  Y8, Y0, Y1
	VADDPS  Y9, Y1, Y1
	VSUBPS  Y9, Y1, Y2
	VMULPS  Y10, Y2, Y3
	VSUBPS  Y3, Y0, Y6
	VMULPS  Y11, Y2, Y2
	VSUBPS  Y2, Y6, Y6
	VMULPS  Y12, Y6, Y2
	VADDPS  Y13, Y2, Y2
	VMULPS  Y6, Y2, Y2
	VADDPS  Y14, Y2, Y2
	VMULPS  Y6, Y2, Y2
	VADDPS  E(9), Y2, Y2
	VMULPS  Y6, Y2, Y2
	VADDPS  E(10), Y2, Y2
	VMULPS  Y6, Y6, Y3
	VMULPS  Y3, Y2, Y2
	VADDPS  Y6, Y2, Y2
	VADDPS  Y15, Y2, Y2
	VPSLLD  $23, Y1, Y1
	VPADDD  Y1, Y2, Y6
	VMOVMSKPS Y7, AX
	TESTL   AX, AX
	JNE     far
store:
	VMOVUPS Y6, (DI)
	ADDQ    $32, SI
	ADDQ    $32, DI
	ADDQ    $8, DX
	JMP     loop
far:
	VCVTPS2PD    (SI), Y0
	EXPOF
	VCVTPD2PSY   Y4, X3
	VCVTPS2PD    16(SI), Y0
	EXPOF
	VCVTPD2PSY   Y4, X4
	VINSERTF128  $1, X4, Y3, Y3
	VBLENDVPS    Y7, Y3, Y6, Y6
	JMP          store
out:
	END

// Apply a step to the four vectors of expAVX512. Each has x, t and two scratch registers.
#define EACH(step) \
	step(Z0, Z1, Z2, Z3);   \
	step(Z4, Z5, Z6, Z7);   \
	step(Z8, Z9, Z10, Z11); \
	step(Z12, Z13, Z14, Z15)

// Apply a step to one vector.
#define ONE(step) step(Z0, Z1, Z2, Z3)

// The steps of expF32, from x to the result in q.
#define MAGNITUDE(x, t, q, s) VPANDD Z16, x, s
#define SCALED(x, t, q, s)    VMULPS Z18, x, t
#define SHIFTED(x, t, q, s)   VADDPS Z19, t, t
#define WHOLE(x, t, q, s)     VSUBPS Z19, t, q
#define HIGH(x, t, q, s)      VMULPS Z20, q, s
#define LOW(x, t, q, s)       VMULPS Z21, q, q
#define LESSHIGH(x, t, q, s)  VSUBPS s, x, x
#define LESSLOW(x, t, q, s)   VSUBPS q, x, x
#define TIMES4(x, t, q, s)    VMULPS Z22, x, q
#define SQUARE(x, t, q, s)    VMULPS x, x, s
#define PLUS3(x, t, q, s)     VADDPS Z23, q, q
#define PLUS2(x, t, q, s)     VADDPS Z24, q, q
#define PLUS1(x, t, q, s)     VADDPS Z25, q, q
#define PLUS0(x, t, q, s)     VADDPS Z26, q, q
#define TIMESR(x, t, q, s)    VMULPS x, q, q
#define TIMESRR(x, t, q, s)   VMULPS s, q, q
#define PLUSR(x, t, q, s)     VADDPS x, q, q
#define PLUSONE(x, t, q, s)   VADDPS Z27, q, q
#define POWER(x, t, q, s)     VPSLLD $23, t, t
#define RAISED(x, t, q, s)    VPADDD t, q, q

#define EXP32(OF) \
	OF(SCALED);   \
	OF(SHIFTED);  \
	OF(WHOLE);    \
	OF(HIGH);     \
	OF(LESSHIGH); \
	OF(LOW);      \
	OF(LESSLOW);  \
	OF(TIMES4);   \
	OF(SQUARE);   \
	OF(PLUS3);    \
	OF(TIMESR);   \
	OF(PLUS2);    \
	OF(TIMESR);   \
	OF(PLUS1);    \
	OF(TIMESR);   \
	OF(PLUS0);    \
	OF(TIMESRR);  \
	OF(POWER);    \
	OF(PLUSR);    \
	OF(PLUSONE);  \
	OF(RAISED)

// func expAVX512(dst, x *float32, n int) int
//
// The steps of one vector depend on each other; four independent vectors keep the
// execution units busy.
TEXT ·expAVX512(SB), NOSPLIT, $0-32
	BEGIN
	LEAQ         ·exp32Table(SB), R9
	VBROADCASTSS E(0), Z16
	VBROADCASTSS E(1), Z17
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
four:
	CMPQ     CX, $64
	JLT      one
	VMOVUPS  (SI), Z0
	VMOVUPS  64(SI), Z4
	VMOVUPS  128(SI), Z8
	VMOVUPS  192(SI), Z12
	EACH(MAGNITUDE)
	VPMAXUD  Z7, Z3, Z3 // as integers, magnitudes are ordered, with NaN above all
	VPMAXUD  Z15, Z11, Z11
	VPMAXUD  Z11, Z3, Z3
	VPCMPUD  $6, Z17, Z3, K1 // greater
	KORTESTW K1, K1
	JNE      one
	EXP32(EACH)
	VMOVUPS  Z2, (DI)
	VMOVUPS  Z6, 64(DI)
	VMOVUPS  Z10, 128(DI)
	VMOVUPS  Z14, 192(DI)
	ADDQ     $256, SI
	ADDQ     $256, DI
	ADDQ     $64, DX
	SUBQ     $64, CX
	JMP      four
one:
	SUBQ     $16, CX
	JLT      out
	VMOVUPS  (SI), Z0
	ONE(MAGNITUDE)
	VPCMPUD  $6, Z17, Z3, K1
	KORTESTW K1, K1
	JNE      out
	EXP32(ONE)
	VMOVUPS  Z2, (DI)
	ADDQ     $64, SI
	ADDQ     $64, DI
	ADDQ     $16, DX
	JMP      one
out:
	END
