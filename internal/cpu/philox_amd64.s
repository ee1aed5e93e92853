//go:build !noasm

#include "textflag.h"

// A word is in the low half of 64 bits; the upper half is ignored.
// One round of four blocks; the new c1 and c3 are in n1 and n3.
#define ROUND(c0, c1, c2, c3, n1, n3, k) \
	VPMULUDQ Y9, c2, n1;            \
	VPMULUDQ Y8, c0, n3;            \
	VPSRLQ   $32, n1, c0;           \
	VPXOR    c1, c0, c0;            \
	VPXOR    (64*k)(R8), c0, c0;    \
	VPSRLQ   $32, n3, c2;           \
	VPXOR    c3, c2, c2;            \
	VPXOR    (64*k+32)(R8), c2, c2

#define ROUNDS(c0, c1, c2, c3, n1, n3) \
	ROUND(c0, c1, c2, c3, n1, n3, 0); \
	ROUND(c0, n1, c2, n3, c1, c3, 1); \
	ROUND(c0, c1, c2, c3, n1, n3, 2); \
	ROUND(c0, n1, c2, n3, c1, c3, 3); \
	ROUND(c0, c1, c2, c3, n1, n3, 4); \
	ROUND(c0, n1, c2, n3, c1, c3, 5); \
	ROUND(c0, c1, c2, c3, n1, n3, 6); \
	ROUND(c0, n1, c2, n3, c1, c3, 7); \
	ROUND(c0, c1, c2, c3, n1, n3, 8); \
	ROUND(c0, n1, c2, n3, c1, c3, 9)

// Store four blocks to the next 64 bytes and to the 64 bytes after them.
#define STORE(c0, c1, c2, c3, t0, t1, at) \
	VPSLLQ     $32, c1, c1;         \
	VPBLENDD   $0xAA, c1, c0, c0;   \
	VPSLLQ     $32, c3, c3;         \
	VPBLENDD   $0xAA, c3, c2, c2;   \
	VPUNPCKLQDQ c2, c0, t0;         \
	VPUNPCKHQDQ c2, c0, t1;         \
	VPERM2I128 $0x20, t1, t0, c0;   \
	VPERM2I128 $0x31, t1, t0, c2;   \
	VMOVDQU    c0, (at)(DI);        \
	VMOVDQU    c2, (at+32)(DI)

// func philoxAVX2(words *uint32, groups int, keys *philoxKeys, counter, high uint32)
TEXT ·philoxAVX2(SB), NOSPLIT, $0-32
	MOVQ words+0(FP), DI
	MOVQ groups+8(FP), CX
	MOVQ keys+16(FP), R8

	// The counters of the next four blocks.
	MOVL         counter+24(FP), AX
	MOVQ         AX, X10
	VPBROADCASTD X10, Y10
	VPADDD       640(R8), Y10, Y10
	MOVL         high+28(FP), AX
	MOVQ         AX, X11
	VPBROADCASTD X11, Y11
	VPBROADCASTD 704(R8), Y8
	VPBROADCASTD 708(R8), Y9

loop:
	SUBQ    $1, CX
	JLT     done
	VMOVDQA Y10, Y0
	VMOVDQA Y11, Y1
	VPXOR   Y2, Y2, Y2
	VPXOR   Y3, Y3, Y3
	VPADDD  672(R8), Y10, Y4
	VMOVDQA Y11, Y5
	VPXOR   Y6, Y6, Y6
	VPXOR   Y7, Y7, Y7
	VPADDD  672(R8), Y4, Y10
	ROUNDS(Y0, Y1, Y2, Y3, Y12, Y13)
	ROUNDS(Y4, Y5, Y6, Y7, Y14, Y15)
	STORE(Y0, Y1, Y2, Y3, Y12, Y13, 0)
	STORE(Y4, Y5, Y6, Y7, Y14, Y15, 64)
	ADDQ    $128, DI
	JMP     loop

done:
	VZEROUPPER
	RET

// func uniformAVX2(x *float32, words *uint32, n int, lo, width, below float32)
TEXT ·uniformAVX2(SB), NOSPLIT, $0-36
	MOVQ         x+0(FP), DI
	MOVQ         words+8(FP), SI
	MOVQ         n+16(FP), CX
	VBROADCASTSS lo+24(FP), Y8
	VBROADCASTSS width+28(FP), Y9
	VBROADCASTSS below+32(FP), Y10
	MOVL         $0x33800000, AX // 2^-24
	MOVQ         AX, X11
	VBROADCASTSS X11, Y11

loop:
	SUBQ      $8, CX
	JLT       done
	VMOVDQU   (SI), Y0
	VPSRLD    $8, Y0, Y0
	VCVTDQ2PS Y0, Y0
	VMULPS    Y11, Y0, Y0
	VMULPS    Y9, Y0, Y0
	VADDPS    Y8, Y0, Y0
	VMINPS    Y10, Y0, Y0
	VMOVUPS   Y0, (DI)
	ADDQ      $32, SI
	ADDQ      $32, DI
	JMP       loop

done:
	VZEROUPPER
	RET

#define BROADCAST(value, x, y) \
	MOVL         $value, AX; \
	MOVQ         AX, x;      \
	VBROADCASTSS x, y

// func normalAVX2(x *float32, words *uint32, n int, mean, std float32)
TEXT ·normalAVX2(SB), NOSPLIT, $0-32
	MOVQ         x+0(FP), DI
	MOVQ         words+8(FP), SI
	MOVQ         n+16(FP), CX
	VBROADCASTSS mean+24(FP), Y6
	VBROADCASTSS std+28(FP), Y7
	LEAQ         ·normalTable(SB), R8
	BROADCAST(1, X8, Y8)
	BROADCAST(0x47800000, X9, Y9)    // 2^16
	BROADCAST(0xffff, X10, Y10)
	BROADCAST(1016, X11, Y11)        // 127 << 3
	BROADCAST(0xfffff, X12, Y12)
	BROADCAST(0x3f800000, X13, Y13)  // 1
	BROADCAST(0x3fc00000, X14, Y14)  // 1.5
	BROADCAST(0x80000000, X15, Y15)

loop:
	SUBQ       $8, CX
	JLT        done
	VMOVDQU    (SI), Y0
	VPADDD     Y0, Y0, Y1
	VPOR       Y8, Y1, Y1
	VPSRLD     $16, Y1, Y2
	VCVTDQ2PS  Y2, Y2
	VMULPS     Y9, Y2, Y2
	VPAND      Y10, Y1, Y3
	VCVTDQ2PS  Y3, Y3
	VADDPS     Y3, Y2, Y1 // the odd number; this sum is the only rounding
	VPSRLD     $20, Y1, Y2
	VPSUBD     Y11, Y2, Y2
	VPSLLD     $2, Y2, Y2
	VPAND      Y12, Y1, Y1
	VPSLLD     $3, Y1, Y1
	VPOR       Y13, Y1, Y1
	VSUBPS     Y14, Y1, Y1
	VPCMPEQD   Y3, Y3, Y3
	VGATHERDPS Y3, 12(R8)(Y2*4), Y5
	VMULPS     Y1, Y5, Y5
	VPCMPEQD   Y3, Y3, Y3
	VGATHERDPS Y3, 8(R8)(Y2*4), Y4
	VADDPS     Y4, Y5, Y5
	VMULPS     Y1, Y5, Y5
	VPCMPEQD   Y3, Y3, Y3
	VGATHERDPS Y3, 4(R8)(Y2*4), Y4
	VADDPS     Y4, Y5, Y5
	VMULPS     Y1, Y5, Y5
	VPCMPEQD   Y3, Y3, Y3
	VGATHERDPS Y3, (R8)(Y2*4), Y4
	VADDPS     Y4, Y5, Y5
	VPAND      Y15, Y0, Y0
	VPOR       Y0, Y5, Y5
	VMULPS     Y7, Y5, Y5
	VADDPS     Y6, Y5, Y5
	VMOVUPS    Y5, (DI)
	ADDQ       $32, SI
	ADDQ       $32, DI
	JMP        loop

done:
	VZEROUPPER
	RET
