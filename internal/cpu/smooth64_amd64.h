// The functions of float64 on vectors V0 to V15 of four or eight numbers. The including file
// defines these as Y or Z registers. Each macro does the operations of the Go function of its name
// in the same order, and so gives the same bits. R8 points to smooth64Table, DI to dst, SI to x; CX
// counts the elements left, DX the elements done. V15 keeps the argument x.

#define K(i) (32*(i))(R8)

#define C_ONE 0
#define C_TWO 1
#define C_HALF 2
#define C_ABS 3
#define C_SIGN 4
#define C_ZERO 5
#define C_INF 6
#define C_BIAS 7
#define C_LOG2E 8
#define C_SHIFTER 9
#define C_LN2HIGH 10
#define C_LN2LOW 11
#define C_EXP 12
#define C_EXPMAX 22
#define C_EXPM1LOW 23
#define C_EXPM1HIGH 24
#define C_TANHHIGH 25
#define C_NORMAL 26
#define C_SPLIT 27
#define C_TWO52 28
#define C_UNBIAS 29
#define C_LOG 30
#define C_MINUSONE 37
#define C_LOG1PUP 38
#define C_SCALES 39
#define C_INVERSE 40
#define C_MANTISSA 43
#define C_ERFMAX 44
#define C_LOGERFC 45
#define C_LOGERFCREST 46
#define C_ERFR 47
#define C_ERFG 58
#define C_ERFMID 77
#define C_POW 78
#define C_THIRD 86
#define C_THIRDREST 87
#define C_FIFTH 88
#define C_FIFTHREST 89
#define C_ROOTHALF 90

#define BEGIN \
	MOVQ dst+0(FP), DI; \
	MOVQ x+8(FP), SI;   \
	MOVQ n+16(FP), CX;  \
	XORQ DX, DX;        \
	LEAQ ·smooth64Table(SB), R8

// Load the next elements to V15, or leave the loop.
#define NEXT \
	SUBQ $LANES, CX; \
	JLT  out;        \
	VMOVUPD (SI), V15

// Store the results r to dst.
#define DONE(r) \
	VMOVUPD r, (DI);     \
	ADDQ $(8*LANES), SI; \
	ADDQ $(8*LANES), DI; \
	ADDQ $LANES, DX;     \
	JMP  loop

#define END \
	VZEROUPPER;          \
	MOVQ DX, ret+24(FP); \
	RET

// Copy the sign of V15 to r. Uses V1.
#define COPYSIGN(r) \
	ANDK(C_ABS, r, r);     \
	ANDK(C_SIGN, V15, V1); \
	OR(V1, r, r)

// A polynomial in x with the coefficients from i on, highest first, an odd number of them. The
// result is in even. FIRST2 begins it, STEP2 adds two coefficients, LAST the last one. zz is x^2.
#define FIRST2(i, even, odd) \
	LOADK(i, even);   \
	LOADK(i+1, odd)
#define STEP2(i, zz, even, odd) \
	STEP(i, zz, even);  \
	STEP(i+1, zz, odd)
#define LAST(i, x, zz, even, odd) \
	STEP(i, zz, even);        \
	VFMADD231PD x, odd, even

// V0 = expF64(V15), or leave the loop above C_EXPMAX.
#define EXP \
	ANDK(C_ABS, V15, V0);       \
	OUTUNLESS(LE, C_EXPMAX, V0); \
	VMOVAPD V15, V0;            \
	CLEAR(V1);                  \
	EXPPARTS

// reduceExp64(V0, V1): t in V2, r in V3, low in V1. Uses V0.
#define REDUCEEXP \
	LOADK(C_LOG2E, V2);       \
	STEP(C_SHIFTER, V0, V2);  \
	SUBK(C_SHIFTER, V2, V3);  \
	LESSK(C_LN2HIGH, V3, V0); \
	LESSK(C_LN2LOW, V3, V1);  \
	VADDPD V1, V0, V3;        \
	VSUBPD V0, V3, V0;        \
	VSUBPD V0, V1, V1

// V5 = r^2 for r in V3, V4 = cubic64. Uses V6.
#define CUBIC \
	VMULPD V3, V3, V5;       \
	LOADK(C_EXP+1, V4);      \
	LOADK(C_EXP, V6);        \
	STEP(C_EXP+3, V5, V4);   \
	STEP(C_EXP+2, V5, V6);   \
	STEP(C_EXP+5, V5, V4);   \
	STEP(C_EXP+4, V5, V6);   \
	STEP(C_EXP+7, V5, V4);   \
	STEP(C_EXP+6, V5, V6);   \
	STEP(C_EXP+9, V5, V4);   \
	STEP(C_EXP+8, V5, V6);   \
	VFMADD231PD V3, V6, V4

// V0 = v 2^n of expParts64(V0, V1). Uses V1 to V6.
#define EXPPARTS \
	REDUCEEXP;                \
	VFMADD213PD V1, V3, V1; \
	CUBIC;                  \
	STEP(C_HALF, V3, V4);   \
	VFMADD213PD V1, V5, V4; \ // p
	POWEROF(V2);            \
	VADDPD V3, V4, V4;      \
	ADDK(C_ONE, V4, V4);    \
	VMULPD V2, V4, V0

// t = powerOf(t).
#define POWEROF(t) \
	ADDQK(C_BIAS, t, t); \
	VPSLLQ $52, t, t

// expm1Sum64(V0): high in V0, low in V11. Uses V1 to V12.
#define EXPM1SUM \
	CLEAR(V1);                  \
	REDUCEEXP;                    \
	CUBIC;                      \
	VMULPD V3, V5, V12;         \
	LOADK(C_BIAS, V5);          \
	VPSUBQ V2, V5, V5;          \
	VPSLLQ $52, V5, V5;         \ // down
	LOADK(C_ONE, V6);           \
	VSUBPD V5, V6, V7;          \ // c
	VSUBPD V7, V6, V6;          \
	VSUBPD V5, V6, V6;          \ // c1
	MULK(C_HALF, V3, V8);       \
	VMULPD V3, V8, V9;          \ // h
	VFMSUB213PD V9, V3, V8;     \ // h1
	VADDPD V3, V7, V10;         \ // a
	VSUBPD V10, V7, V7;         \
	VADDPD V3, V7, V7;          \ // a1
	VADDPD V9, V10, V11;        \ // b
	VSUBPD V11, V10, V10;       \
	VADDPD V9, V10, V10;        \ // b1
	VFMADD213PD V8, V12, V4;    \
	VFMADD213PD V1, V3, V1;     \
	VADDPD V10, V7, V7;         \
	VADDPD V6, V7, V7;          \
	VADDPD V1, V7, V7;          \
	VADDPD V7, V4, V4;          \ // small
	VADDPD V4, V11, V0;         \ // v
	VSUBPD V0, V11, V11;        \
	VADDPD V4, V11, V11;        \
	POWEROF(V2);                \
	VMULPD V2, V0, V0;          \
	VMULPD V2, V11, V11

// V0 = expm1F64(V15), or leave the loop above C_EXPM1HIGH.
#define EXPM1 \
	OUTUNLESS(LE, C_EXPM1HIGH, V15); \
	LOADK(C_EXPM1LOW, V0);           \
	VMAXPD V0, V15, V0;              \
	EXPM1SUM;                           \
	COPYSIGN(V0)

// V10 = tanhF64(V15). If an operand is NaN, VMINPD returns its first operand.
#define TANH \
	ANDK(C_ABS, V15, V0);       \
	VADDPD V0, V0, V0;          \
	LOADK(C_TANHHIGH, V1);      \
	VMINPD V0, V1, V0;          \
	EXPM1SUM;                      \
	ADDK(C_TWO, V0, V5);        \ // d
	VSUBPD V0, V5, V6;          \ // back
	VSUBPD V6, V5, V7;          \
	VSUBPD V7, V0, V7;          \
	LOADK(C_TWO, V8);           \
	VSUBPD V6, V8, V8;          \
	VADDPD V8, V7, V7;          \
	VADDPD V11, V7, V7;         \ // d1
	LOADK(C_ONE, V9);           \
	VDIVPD V5, V9, V9;          \ // w
	VMULPD V9, V0, V10;         \ // q
	VFNMADD231PD V5, V10, V0;   \
	VFNMADD231PD V7, V10, V11;  \
	VADDPD V11, V0, V0;         \ // e
	VFMADD231PD V9, V0, V10;    \
	COPYSIGN(V10)

// logParts(x): n in V2, f in V3, the exponent bits of n in V1. V4 = f + 2, which is as exact
// when computed from 1 + f.
#define LOGPARTS(x) \
	ADDQK(C_SPLIT, x, V3);     \
	VPSRLQ $52, V3, V1;        \
	ORK(C_TWO52, V1, V2);      \
	SUBK(C_UNBIAS, V2, V2);    \
	ANDK(C_MANTISSA, V3, V3);  \
	ADDQK(C_ROOTHALF, V3, V3); \
	ADDK(C_ONE, V3, V4);       \
	SUBK(C_ONE, V3, V3)

// V0 = log64(V2, V3) with f + 2 in V4; the macro `rest` adds to V9. Uses V4 to V11.
#define LOG64(rest) \
	VDIVPD V4, V3, V4;             \ // s
	MULK(C_HALF, V3, V7);          \
	VMULPD V3, V7, V10;            \ // h
	VMULPD V4, V4, V5;             \ // z
	VMULPD V5, V5, V9;             \
	FIRST2(C_LOG, V6, V8);         \
	STEP2(C_LOG+2, V9, V6, V8);    \
	STEP2(C_LOG+4, V9, V6, V8);    \
	LAST(C_LOG+6, V5, V9, V6, V8); \
	VFMADD213PD V10, V5, V6;       \ // h + R
	VMOVAPD V3, V10;               \
	VFNMADD231PD V3, V7, V10;      \ // d
	VSUBPD V10, V3, V8;            \
	VFNMADD231PD V3, V7, V8;       \ // d1
	MULK(C_LN2HIGH, V2, V9);       \ // a
	VADDPD V10, V9, V11;           \ // sum
	VSUBPD V11, V9, V9;            \
	VADDPD V10, V9, V9;            \ // sum1
	VADDPD V8, V9, V9;             \
	PLUSK(C_LN2LOW, V2, V9);       \
	rest;                          \ // low
	VFMADD231PD V6, V4, V9;        \
	VADDPD V9, V11, V0

#define NOREST
#define ADDREST VADDPD V12, V9, V9

// V0 = logF64(V15) for positive finite normal numbers; otherwise leave the loop.
#define LOG \
	OUTUNLESS2(GE, C_NORMAL, LT, C_INF, V15); \
	LOGPARTS(V15);                            \
	LOG64(NOREST)

// V0 = log1pF64(V15) between -1 and C_LOG1PUP; otherwise leave the loop.
#define LOG1P \
	OUTUNLESS2(GT, C_MINUSONE, LT, C_LOG1PUP, V15); \
	ADDK(C_ONE, V15, V0);         \ // u
	SUBK(C_ONE, V0, V1);          \ // back
	VSUBPD V1, V15, V12;          \
	VSUBPD V1, V0, V1;            \
	LOADK(C_ONE, V2);             \
	VSUBPD V1, V2, V1;            \
	VADDPD V1, V12, V12;          \ // c
	LOGPARTS(V0);                 \
	VPSLLQ $52, V1, V1;           \
	LOADK(C_SCALES, V13);         \
	VPSUBQ V1, V13, V13;          \
	VMULPD V13, V12, V12;         \
	LOADK(C_INVERSE, V13);        \
	STEP(C_INVERSE+1, V3, V13);   \
	STEP(C_INVERSE+2, V3, V13);   \
	STEP(C_ONE, V3, V13);         \
	VMULPD V13, V12, V12;         \
	LOG64(ADDREST);               \
	COPYSIGN(V0)

// V0 = erfF64(V15).
#define ERF \
	ANDK(C_ABS, V15, V14);           \ // a
	VMULPD V14, V14, V10;            \
	LOADK(C_ERFMAX, V0);             \
	VMINPD V14, V0, V0;              \ // if an operand is NaN, the result is the first operand
	SUBK(C_ONE, V0, V13);            \ // b
	VMULPD V10, V10, V8;             \
	VMULPD V13, V13, V9;             \
	FIRST2(C_ERFG, V12, V7);         \
	FIRST2(C_ERFR, V11, V6);         \
	STEP2(C_ERFG+2, V9, V12, V7);    \
	STEP2(C_ERFR+2, V8, V11, V6);    \
	STEP2(C_ERFG+4, V9, V12, V7);    \
	STEP2(C_ERFR+4, V8, V11, V6);    \
	STEP2(C_ERFG+6, V9, V12, V7);    \
	STEP2(C_ERFR+6, V8, V11, V6);    \
	STEP2(C_ERFG+8, V9, V12, V7);    \
	STEP2(C_ERFR+8, V8, V11, V6);    \
	STEP2(C_ERFG+10, V9, V12, V7);    \
	LAST(C_ERFR+10, V10, V8, V11, V6); \
	STEP2(C_ERFG+12, V9, V12, V7);    \
	STEP2(C_ERFG+14, V9, V12, V7);    \
	STEP2(C_ERFG+16, V9, V12, V7);    \
	LAST(C_ERFG+18, V13, V9, V12, V7); \
	VFMADD213PD V15, V15, V11;       \ // x + x R
	VMULPD V13, V12, V12;            \ // p
	LOADK(C_LOGERFC, V1);            \
	VADDPD V12, V1, V0;              \ // g
	VSUBPD V0, V1, V1;               \
	VADDPD V12, V1, V1;              \
	ADDK(C_LOGERFCREST, V1, V1);     \
	EXPPARTS;                           \
	LOADK(C_ONE, V1);                \
	VSUBPD V0, V1, V0;               \
	COPYSIGN(V0);                    \
	COMPARE(LT, C_ERFMID, V14, V1);  \
	CHOOSE(V1, V11, V0, V0)

// Load the next elements of two operands to V15 and V14, or leave the loop. R9 points to y.
#define NEXTPAIR \
	SUBQ $LANES, CX;   \
	JLT  out;          \
	VMOVUPD (SI), V15; \
	VMOVUPD (R9), V14

// V0 = powF64(V15, V14) if x is positive, finite and normal and the result is normal; otherwise
// leave the loop.
#define POW \
	OUTUNLESS2(GE, C_NORMAL, LT, C_INF, V15); \
	LOGPARTS(V15);                 \ // n in V2, f in V3, d in V4
	SUBK(C_TWO, V4, V5);           \
	VSUBPD V5, V3, V5;             \ // d1
	LOADK(C_ONE, V6);              \
	VDIVPD V4, V6, V6;             \ // r
	VMULPD V6, V3, V7;             \ // s
	VFNMADD231PD V4, V7, V3;       \
	VFNMADD231PD V5, V7, V3;       \
	VMULPD V6, V3, V8;             \ // s1
	VMULPD V7, V7, V9;             \ // z
	VMOVAPD V7, V10;               \
	VFMSUB213PD V9, V7, V10;       \
	VADDPD V7, V7, V11;            \ // 2s
	VFMADD231PD V8, V11, V10;      \ // z1
	VADDPD V8, V8, V12;            \ // 2 s1
	VMULPD V9, V9, V4;             \
	LOADK(C_POW+1, V3);            \
	LOADK(C_POW, V5);              \
	STEP(C_POW+3, V4, V3);         \
	STEP(C_POW+2, V4, V5);         \
	STEP(C_POW+5, V4, V3);         \
	STEP(C_POW+4, V4, V5);         \
	STEP(C_POW+7, V4, V3);         \
	STEP(C_POW+6, V4, V5);         \
	VFMADD231PD V9, V5, V3;        \ // p
	MULK(C_HALF, V9, V4);          \
	VMULPD V3, V4, V3;             \ // e
	ADDK(C_FIFTH, V3, V4);         \ // u
	LOADK(C_FIFTH, V5);            \
	VSUBPD V4, V5, V5;             \
	VADDPD V3, V5, V5;             \
	ADDK(C_FIFTHREST, V5, V5);     \ // u1
	VMULPD V4, V9, V6;             \ // w
	VMOVAPD V9, V7;                \
	VFMSUB213PD V6, V4, V7;        \
	VFMADD231PD V5, V9, V7;        \
	VFMADD231PD V4, V10, V7;       \ // w1
	ADDK(C_THIRD, V6, V4);         \ // v
	LOADK(C_THIRD, V5);            \
	VSUBPD V4, V5, V5;             \
	VADDPD V6, V5, V5;             \
	ADDK(C_THIRDREST, V7, V7);     \
	VADDPD V7, V5, V5;             \ // v1
	VMULPD V4, V9, V6;             \ // t
	VMOVAPD V9, V7;                \
	VFMSUB213PD V6, V4, V7;        \
	VFMADD231PD V5, V9, V7;        \
	VFMADD231PD V4, V10, V7;       \ // t1
	VMULPD V6, V11, V4;            \ // g
	VMOVAPD V11, V5;               \
	VFMSUB213PD V4, V6, V5;        \
	VFMADD231PD V7, V11, V5;       \
	VFMADD231PD V6, V12, V5;       \ // g1
	MULK(C_LN2HIGH, V2, V6);       \ // a
	VADDPD V11, V6, V7;            \ // sum
	VSUBPD V7, V6, V6;             \
	VADDPD V11, V6, V6;            \ // rest
	VADDPD V4, V7, V8;             \ // high
	VSUBPD V8, V7, V7;             \
	VADDPD V4, V7, V7;             \
	VADDPD V7, V6, V6;             \
	VADDPD V12, V5, V5;            \
	PLUSK(C_LN2LOW, V2, V5);       \
	VADDPD V5, V6, V6;             \ // low
	VMULPD V8, V14, V0;            \ // p
	VMOVAPD V14, V1;               \
	VFMSUB213PD V0, V8, V1;        \
	VFMADD231PD V6, V14, V1;       \ // rest
	ANDK(C_ABS, V0, V2);           \
	OUTUNLESS(LE, C_EXPMAX, V2);   \
	EXPPARTS
