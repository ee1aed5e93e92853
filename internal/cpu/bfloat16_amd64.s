//go:build !noasm

#include "textflag.h"

// func widenBFloat16s(dst, src unsafe.Pointer, n int)
TEXT ·widenBFloat16s(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
widen:
	VPMOVZXWD (SI), Y0
	VPMOVZXWD 16(SI), Y1
	VPSLLD    $16, Y0, Y0
	VPSLLD    $16, Y1, Y1
	VMOVDQU   Y0, (DI)
	VMOVDQU   Y1, 32(DI)
	ADDQ      $32, SI
	ADDQ      $64, DI
	SUBQ      $16, CX
	JGT       widen
	VZEROUPPER
	RET

// Rounds 8 floats in x to bfloat16, in the lower halves of r's words: adds 0x7fff, and 1 more
// if the last kept bit is set. A NaN gets its quiet bit instead. Every lane of Y12 is 1, of
// Y13 0x7fff, of Y14 0x40.
#define ROUND(x, r, upper, nan) \
	VPSRLD    $16, x, upper;      \
	VPAND     Y12, upper, r;      \
	VPADDD    Y13, r, r;          \
	VPADDD    x, r, r;            \
	VPSRLD    $16, r, r;          \
	VCMPPS    $3, x, x, nan;      \
	VPOR      Y14, upper, upper;  \
	VPBLENDVB nan, upper, r, r

// func roundBFloat16s(dst, src unsafe.Pointer, n int)
TEXT ·roundBFloat16s(SB), NOSPLIT|NOFRAME, $0-24
	MOVQ     dst+0(FP), DI
	MOVQ     src+8(FP), SI
	MOVQ     n+16(FP), CX
	VPCMPEQD Y12, Y12, Y12
	VPSRLD   $17, Y12, Y13
	VPSRLD   $31, Y12, Y12
	VPSLLD   $6, Y12, Y14
round:
	VMOVDQU   (SI), Y0
	VMOVDQU   32(SI), Y1
	ROUND(Y0, Y2, Y4, Y6)
	ROUND(Y1, Y3, Y5, Y7)
	VPACKUSDW Y3, Y2, Y2
	VPERMQ    $0xd8, Y2, Y2
	VMOVDQU   Y2, (DI)
	ADDQ      $64, SI
	ADDQ      $32, DI
	SUBQ      $16, CX
	JGT       round
	VZEROUPPER
	RET
