//go:build !noasm

#include "textflag.h"

// a = the larger of a and off(SI): NaN if one is NaN, 0 over -0. See LARGER in
// vector_amd64.s. Uses Y8, Y9 and Y10.
#define LARGEST(off, a) \
	VMOVUPS off(SI), Y8;  \
	VCMPPS  $3, a, Y8, Y9; \
	VMAXPS  a, Y8, Y10;   \
	VMAXPS  Y8, a, a;     \
	VANDPS  Y10, a, a;    \
	VORPS   Y9, a, a

#define SMALLEST(off, a) \
	VMOVUPS off(SI), Y8;  \
	VCMPPS  $3, a, Y8, Y9; \
	VMINPS  a, Y8, Y10;   \
	VMINPS  Y8, a, a;     \
	VORPS   Y10, a, a;    \
	VORPS   Y9, a, a

// The same for two registers.
#define LARGER(b, a) \
	VCMPPS $3, a, b, Y9; \
	VMAXPS a, b, Y10;    \
	VMAXPS b, a, a;      \
	VANDPS Y10, a, a;    \
	VORPS  Y9, a, a

#define SMALLER(b, a) \
	VCMPPS $3, a, b, Y9; \
	VMINPS a, b, Y10;    \
	VMINPS b, a, a;      \
	VORPS  Y10, a, a;    \
	VORPS  Y9, a, a

// Four independent vectors at a time, then one at a time.
#define EXTREME(MEMORY, REGISTERS) \
	MOVQ    x+0(FP), SI;       \
	MOVQ    n+8(FP), CX;       \
	VMOVUPS (SI), Y0;          \
	VMOVUPS Y0, Y1;            \
	VMOVUPS Y0, Y2;            \
	VMOVUPS Y0, Y3;            \
	JMP     fours;             \
four:                              \
	MEMORY(0, Y0);             \
	MEMORY(32, Y1);            \
	MEMORY(64, Y2);            \
	MEMORY(96, Y3);            \
	ADDQ    $128, SI;          \
	SUBQ    $32, CX;           \
fours:                             \
	CMPQ    CX, $32;           \
	JGE     four;              \
	JMP     ones;              \
one:                               \
	MEMORY(0, Y0);             \
	ADDQ    $32, SI;           \
	SUBQ    $8, CX;            \
ones:                              \
	CMPQ    CX, $8;            \
	JGE     one;               \
	REGISTERS(Y1, Y0);         \
	REGISTERS(Y3, Y2);         \
	REGISTERS(Y2, Y0);         \
	VPERM2F128 $1, Y0, Y0, Y1; \
	REGISTERS(Y1, Y0);         \
	VSHUFPS $0x4e, Y0, Y0, Y1; \
	REGISTERS(Y1, Y0);         \
	VSHUFPS $0xb1, Y0, Y0, Y1; \
	REGISTERS(Y1, Y0);         \
	VMOVSS  X0, ret+16(FP);    \
	VZEROUPPER;                \
	RET

// func largest32(x unsafe.Pointer, n int) float32
TEXT ·largest32(SB), NOSPLIT, $0-20
	EXTREME(LARGEST, LARGER)

// func smallest32(x unsafe.Pointer, n int) float32
TEXT ·smallest32(SB), NOSPLIT, $0-20
	EXTREME(SMALLEST, SMALLER)

// func index32(x unsafe.Pointer, v float32, n int) int
TEXT ·index32(SB), NOSPLIT, $0-32
	MOVQ         x+0(FP), SI
	VBROADCASTSS v+8(FP), Y1
	MOVQ         n+16(FP), CX
	XORQ         AX, AX
	JMP          check

next:
	VCMPPS    $0, (SI)(AX*4), Y1, Y0
	VMOVMSKPS Y0, DX
	TESTL     DX, DX
	JNZ       found
	ADDQ      $8, AX

check:
	CMPQ AX, CX
	JLT  next
	MOVQ CX, ret+24(FP)
	VZEROUPPER
	RET

found:
	BSFL DX, DX
	ADDQ DX, AX
	MOVQ AX, ret+24(FP)
	VZEROUPPER
	RET

// func choose32(dst, x, y, z unsafe.Pointer, n int)
TEXT ·choose32(SB), NOSPLIT, $0-40
	MOVQ  dst+0(FP), DI
	MOVQ  x+8(FP), SI
	MOVQ  y+16(FP), DX
	MOVQ  z+24(FP), BX
	MOVQ  n+32(FP), CX
	XORQ  AX, AX
	VPXOR Y3, Y3, Y3
	JMP   check

next:
	VPMOVZXBD (SI)(AX*1), Y0
	VPCMPEQD  Y3, Y0, Y0
	VMOVUPS   (DX)(AX*4), Y1
	VBLENDVPS Y0, (BX)(AX*4), Y1, Y1
	VMOVUPS   Y1, (DI)(AX*4)
	ADDQ      $8, AX

check:
	CMPQ AX, CX
	JLT  next
	VZEROUPPER
	RET

// func floats8(dst, src unsafe.Pointer, n int)
TEXT ·floats8(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX
	JMP  check

next:
	VPMOVZXBD (SI)(AX*1), Y0
	VCVTDQ2PS Y0, Y0
	VMOVUPS   Y0, (DI)(AX*4)
	ADDQ      $8, AX

check:
	CMPQ AX, CX
	JLT  next
	VZEROUPPER
	RET
