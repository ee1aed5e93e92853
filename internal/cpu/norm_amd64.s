//go:build !noasm

#include "textflag.h"

// REDUCE returns (a + b) + (c + d) of the chains in Y0.
#define REDUCE \
	VHADDPD      Y0, Y0, Y0  \
	VEXTRACTF128 $1, Y0, X1  \
	VADDSD       X1, X0, X0

// func deviation32(x unsafe.Pointer, mean float64, n int) float64
TEXT ·deviation32(SB), NOSPLIT, $0-32
	MOVQ         x+0(FP), SI
	VBROADCASTSD mean+8(FP), Y2
	MOVQ         n+16(FP), CX
	XORQ         AX, AX
	VXORPD       Y0, Y0, Y0

next:
	VCVTPS2PD (SI)(AX*4), Y1
	VSUBPD    Y2, Y1, Y1
	VADDPD    Y1, Y0, Y0
	ADDQ      $4, AX
	CMPQ      AX, CX
	JLT       next
	REDUCE
	VMOVSD    X0, ret+24(FP)
	VZEROUPPER
	RET

// func squares32(x unsafe.Pointer, mean float64, n int) float64
TEXT ·squares32(SB), NOSPLIT, $0-32
	MOVQ         x+0(FP), SI
	VBROADCASTSD mean+8(FP), Y2
	MOVQ         n+16(FP), CX
	XORQ         AX, AX
	VXORPD       Y0, Y0, Y0

next:
	VCVTPS2PD (SI)(AX*4), Y1
	VSUBPD    Y2, Y1, Y1
	VMULPD    Y1, Y1, Y1
	VADDPD    Y1, Y0, Y0
	ADDQ      $4, AX
	CMPQ      AX, CX
	JLT       next
	REDUCE
	VMOVSD    X0, ret+24(FP)
	VZEROUPPER
	RET

// func normalize32(dst, x, gamma, beta unsafe.Pointer, mean, scale float64, n int)
TEXT ·normalize32(SB), NOSPLIT, $0-56
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         gamma+16(FP), R8
	MOVQ         beta+24(FP), R9
	VBROADCASTSD mean+32(FP), Y2
	VBROADCASTSD scale+40(FP), Y3
	MOVQ         n+48(FP), CX
	XORQ         AX, AX

next:
	VCVTPS2PD  (SI)(AX*4), Y0
	VCVTPS2PD  (R8)(AX*4), Y1
	VCVTPS2PD  (R9)(AX*4), Y4
	VSUBPD     Y2, Y0, Y0
	VMULPD     Y3, Y0, Y0
	VMULPD     Y1, Y0, Y0
	VADDPD     Y4, Y0, Y0
	VCVTPD2PSY Y0, X0
	VMOVUPS    X0, (DI)(AX*4)
	ADDQ       $4, AX
	CMPQ       AX, CX
	JLT        next
	VZEROUPPER
	RET

// func gain32(dst, x, gamma unsafe.Pointer, scale float64, n int)
TEXT ·gain32(SB), NOSPLIT, $0-40
	MOVQ         dst+0(FP), DI
	MOVQ         x+8(FP), SI
	MOVQ         gamma+16(FP), R8
	VBROADCASTSD scale+24(FP), Y3
	MOVQ         n+32(FP), CX
	XORQ         AX, AX

next:
	VCVTPS2PD  (SI)(AX*4), Y0
	VCVTPS2PD  (R8)(AX*4), Y1
	VMULPD     Y3, Y0, Y0
	VMULPD     Y1, Y0, Y0
	VCVTPD2PSY Y0, X0
	VMOVUPS    X0, (DI)(AX*4)
	ADDQ       $4, AX
	CMPQ       AX, CX
	JLT        next
	VZEROUPPER
	RET
