//go:build !noasm

#include "textflag.h"

// func scale32(x unsafe.Pointer, scale float64, n int)
TEXT ·scale32(SB), NOSPLIT, $0-24
	MOVQ         x+0(FP), SI
	VBROADCASTSD scale+8(FP), Y2
	MOVQ         n+16(FP), CX
	XORQ         AX, AX
	JMP          check

next:
	VCVTPS2PD  (SI)(AX*4), Y0
	VCVTPS2PD  16(SI)(AX*4), Y1
	VMULPD     Y2, Y0, Y0
	VMULPD     Y2, Y1, Y1
	VCVTPD2PSY Y0, X0
	VCVTPD2PSY Y1, X1
	VMOVUPS    X0, (SI)(AX*4)
	VMOVUPS    X1, 16(SI)(AX*4)
	ADDQ       $8, AX

check:
	CMPQ AX, CX
	JLT  next
	VZEROUPPER
	RET

// func sum32(x unsafe.Pointer, n int) float64
TEXT ·sum32(SB), NOSPLIT, $0-24
	MOVQ   x+0(FP), SI
	MOVQ   n+8(FP), CX
	XORQ   AX, AX
	VXORPD Y0, Y0, Y0

next:
	VCVTPS2PD (SI)(AX*4), Y1
	VADDPD    Y1, Y0, Y0
	ADDQ      $4, AX
	CMPQ      AX, CX
	JLT       next
	VHADDPD      Y0, Y0, Y0
	VEXTRACTF128 $1, Y0, X1
	VADDSD       X1, X0, X0
	VMOVSD       X0, ret+16(FP)
	VZEROUPPER
	RET
