//go:build !noasm

#include "textflag.h"

// func sincosAVX(sin, cos, x *float64, n int, table *[24][4]float64) int
//
// With q the multiple of pi/2 nearest to x and r the remainder, the sine and cosine of r
// are exchanged if q is odd, and their signs follow from the next bit.
TEXT ·sincosAVX(SB), NOSPLIT, $0-48
	MOVQ    sin+0(FP), DI
	MOVQ    cos+8(FP), DX
	MOVQ    x+16(FP), SI
	MOVQ    n+24(FP), CX
	MOVQ    table+32(FP), R8
	XORQ    AX, AX
	VMOVUPD 64(R8), Y15       // 2/pi
	VMOVUPD 96(R8), Y14       // 1.5 2^52
	VMOVUPD 128(R8), Y13      // pi/2
	VMOVUPD 160(R8), Y12      // the rest of pi/2
	VMOVUPD 704(R8), Y11      // bit 0

loop:
	VMOVUPD      (SI)(AX*8), Y0
	VANDPD       0(R8), Y0, Y1
	VCMPPD       $5, 32(R8), Y1, Y1   // not below the limit
	VMOVMSKPD    Y1, R9
	TESTL        R9, R9
	JNZ          done
	VMOVAPD      Y14, Y1
	VFMADD231PD  Y15, Y0, Y1          // q in the lowest bits
	VSUBPD       Y14, Y1, Y2
	VFNMADD231PD Y13, Y2, Y0
	VFNMADD231PD Y12, Y2, Y0          // r
	VMULPD       Y0, Y0, Y2           // z
	VMOVUPD      448(R8), Y3
	VMOVUPD      672(R8), Y4
	VFMADD213PD  416(R8), Y2, Y3
	VFMADD213PD  640(R8), Y2, Y4
	VFMADD213PD  384(R8), Y2, Y3
	VFMADD213PD  608(R8), Y2, Y4
	VFMADD213PD  352(R8), Y2, Y3
	VFMADD213PD  576(R8), Y2, Y4
	VFMADD213PD  320(R8), Y2, Y3
	VFMADD213PD  544(R8), Y2, Y4
	VFMADD213PD  288(R8), Y2, Y3
	VFMADD213PD  512(R8), Y2, Y4
	VFMADD213PD  256(R8), Y2, Y3
	VFMADD213PD  480(R8), Y2, Y4
	VMULPD       Y0, Y2, Y5           // r z
	VFMADD213PD  Y0, Y5, Y3           // sin r
	VMULPD       Y2, Y2, Y6           // z z
	VMOVUPD      224(R8), Y7
	VFNMADD231PD 192(R8), Y2, Y7      // 1 - z/2
	VFMADD213PD  Y7, Y6, Y4           // cos r
	VPSLLQ       $63, Y1, Y5          // q is odd
	VBLENDVPD    Y5, Y4, Y3, Y6
	VBLENDVPD    Y5, Y3, Y4, Y7
	VPADDQ       Y11, Y1, Y2
	VPSRLQ       $1, Y1, Y1
	VPSRLQ       $1, Y2, Y2
	VPSLLQ       $63, Y1, Y1
	VPSLLQ       $63, Y2, Y2
	VXORPD       Y1, Y6, Y6
	VXORPD       Y2, Y7, Y7
	VMOVUPD      Y6, (DI)(AX*8)
	VMOVUPD      Y7, (DX)(AX*8)
	ADDQ         $4, AX
	CMPQ         AX, CX
	JLT          loop

done:
	MOVQ AX, ret+40(FP)
	VZEROUPPER
	RET
