//go:build !noasm

#include "textflag.h"

// The kernels of matrix times vector with AVX-512. Four rows at a time are four streams
// from memory. The bits are those of dotAVX32 and axpy4AVX32.

// Sums two accumulators, which hold the lanes of SUM32's four, in its order. Uses Y10.
#define SUM512x32(za, zb, ya, yb, xa) \
	VEXTRACTF64X4 $1, za, Y10; \
	VADDPS        Y10, ya, ya; \
	VEXTRACTF64X4 $1, zb, Y10; \
	VADDPS        Y10, yb, yb; \
	VADDPS        yb, ya, ya;  \
	VEXTRACTF128  $1, ya, X10; \
	VADDPS        X10, xa, xa; \
	VMOVHLPS      xa, xa, X10; \
	VADDPS        X10, xa, xa; \
	VMOVSHDUP     xa, X10;     \
	VADDSS        X10, xa, xa

// Sums two accumulators, which hold the lanes of SUM64's four, in its order. Uses Y10.
#define SUM512x64(za, zb, ya, yb, xa) \
	VEXTRACTF64X4 $1, za, Y10; \
	VADDPD        Y10, ya, ya; \
	VEXTRACTF64X4 $1, zb, Y10; \
	VADDPD        Y10, yb, yb; \
	VADDPD        yb, ya, ya;  \
	VEXTRACTF128  $1, ya, X10; \
	VADDPD        X10, xa, xa; \
	VUNPCKHPD     xa, xa, X10; \
	VADDSD        X10, xa, xa

// func dots512x32(dst, x, a *float32, ld, k, n int)
TEXT ·dots512x32(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), R8
	MOVQ x+8(FP), SI
	MOVQ a+16(FP), R10
	MOVQ ld+24(FP), R9
	MOVQ n+40(FP), DX
	SHLQ $2, R9

rows:
	LEAQ   (R10)(R9*1), R11
	LEAQ   (R11)(R9*1), R12
	LEAQ   (R12)(R9*1), R13
	MOVQ   k+32(FP), CX
	XORQ   AX, AX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7

loop:
	CMPQ        CX, $32
	JLT         rest
	VMOVUPS     (SI)(AX*1), Z8
	VMOVUPS     64(SI)(AX*1), Z9
	VFMADD231PS (R10)(AX*1), Z8, Z0
	VFMADD231PS 64(R10)(AX*1), Z9, Z1
	VFMADD231PS (R11)(AX*1), Z8, Z2
	VFMADD231PS 64(R11)(AX*1), Z9, Z3
	VFMADD231PS (R12)(AX*1), Z8, Z4
	VFMADD231PS 64(R12)(AX*1), Z9, Z5
	VFMADD231PS (R13)(AX*1), Z8, Z6
	VFMADD231PS 64(R13)(AX*1), Z9, Z7
	ADDQ        $128, AX
	SUBQ        $32, CX
	JMP         loop

rest:
	SUM512x32(Z0, Z1, Y0, Y1, X0)
	SUM512x32(Z2, Z3, Y2, Y3, X2)
	SUM512x32(Z4, Z5, Y4, Y5, X4)
	SUM512x32(Z6, Z7, Y6, Y7, X6)

tail:
	TESTQ       CX, CX
	JZ          done
	VMOVSS      (SI)(AX*1), X8
	VFMADD231SS (R10)(AX*1), X8, X0
	VFMADD231SS (R11)(AX*1), X8, X2
	VFMADD231SS (R12)(AX*1), X8, X4
	VFMADD231SS (R13)(AX*1), X8, X6
	ADDQ        $4, AX
	DECQ        CX
	JMP         tail

done:
	VXORPS X8, X8, X8
	VADDSS X8, X0, X0
	VADDSS X8, X2, X2
	VADDSS X8, X4, X4
	VADDSS X8, X6, X6
	VMOVSS X0, (R8)
	VMOVSS X2, 4(R8)
	VMOVSS X4, 8(R8)
	VMOVSS X6, 12(R8)
	ADDQ   $16, R8
	LEAQ   (R13)(R9*1), R10
	SUBQ   $4, DX
	JNZ    rows
	VZEROUPPER
	RET

// func dots512x64(dst, x, a *float64, ld, k, n int)
TEXT ·dots512x64(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), R8
	MOVQ x+8(FP), SI
	MOVQ a+16(FP), R10
	MOVQ ld+24(FP), R9
	MOVQ n+40(FP), DX
	SHLQ $3, R9

rows:
	LEAQ   (R10)(R9*1), R11
	LEAQ   (R11)(R9*1), R12
	LEAQ   (R12)(R9*1), R13
	MOVQ   k+32(FP), CX
	XORQ   AX, AX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3
	VXORPS Y4, Y4, Y4
	VXORPS Y5, Y5, Y5
	VXORPS Y6, Y6, Y6
	VXORPS Y7, Y7, Y7

loop:
	CMPQ        CX, $16
	JLT         rest
	VMOVUPS     (SI)(AX*1), Z8
	VMOVUPS     64(SI)(AX*1), Z9
	VFMADD231PD (R10)(AX*1), Z8, Z0
	VFMADD231PD 64(R10)(AX*1), Z9, Z1
	VFMADD231PD (R11)(AX*1), Z8, Z2
	VFMADD231PD 64(R11)(AX*1), Z9, Z3
	VFMADD231PD (R12)(AX*1), Z8, Z4
	VFMADD231PD 64(R12)(AX*1), Z9, Z5
	VFMADD231PD (R13)(AX*1), Z8, Z6
	VFMADD231PD 64(R13)(AX*1), Z9, Z7
	ADDQ        $128, AX
	SUBQ        $16, CX
	JMP         loop

rest:
	SUM512x64(Z0, Z1, Y0, Y1, X0)
	SUM512x64(Z2, Z3, Y2, Y3, X2)
	SUM512x64(Z4, Z5, Y4, Y5, X4)
	SUM512x64(Z6, Z7, Y6, Y7, X6)

tail:
	TESTQ       CX, CX
	JZ          done
	VMOVSD      (SI)(AX*1), X8
	VFMADD231SD (R10)(AX*1), X8, X0
	VFMADD231SD (R11)(AX*1), X8, X2
	VFMADD231SD (R12)(AX*1), X8, X4
	VFMADD231SD (R13)(AX*1), X8, X6
	ADDQ        $8, AX
	DECQ        CX
	JMP         tail

done:
	VXORPS X8, X8, X8
	VADDSD X8, X0, X0
	VADDSD X8, X2, X2
	VADDSD X8, X4, X4
	VADDSD X8, X6, X6
	VMOVSD X0, (R8)
	VMOVSD X2, 8(R8)
	VMOVSD X4, 16(R8)
	VMOVSD X6, 24(R8)
	ADDQ   $32, R8
	LEAQ   (R13)(R9*1), R10
	SUBQ   $4, DX
	JNZ    rows
	VZEROUPPER
	RET

// func columns512x32(y, x, a *float32, ld, k int)
TEXT ·columns512x32(SB), NOSPLIT, $0-40
	MOVQ    y+0(FP), DI
	MOVQ    x+8(FP), SI
	MOVQ    a+16(FP), R10
	MOVQ    ld+24(FP), R9
	MOVQ    k+32(FP), CX
	SHLQ    $2, R9
	VMOVUPS (DI), Z0
	VMOVUPS 64(DI), Z1
	VMOVUPS 128(DI), Z2
	VMOVUPS 192(DI), Z3

step:
	VBROADCASTSS (SI), Z4
	VFMADD231PS  (R10), Z4, Z0
	VFMADD231PS  64(R10), Z4, Z1
	VFMADD231PS  128(R10), Z4, Z2
	VFMADD231PS  192(R10), Z4, Z3
	ADDQ         $4, SI
	ADDQ         R9, R10
	DECQ         CX
	JNZ          step
	VMOVUPS      Z0, (DI)
	VMOVUPS      Z1, 64(DI)
	VMOVUPS      Z2, 128(DI)
	VMOVUPS      Z3, 192(DI)
	VZEROUPPER
	RET

// func columns512x64(y, x, a *float64, ld, k int)
TEXT ·columns512x64(SB), NOSPLIT, $0-40
	MOVQ    y+0(FP), DI
	MOVQ    x+8(FP), SI
	MOVQ    a+16(FP), R10
	MOVQ    ld+24(FP), R9
	MOVQ    k+32(FP), CX
	SHLQ    $3, R9
	VMOVUPS (DI), Z0
	VMOVUPS 64(DI), Z1
	VMOVUPS 128(DI), Z2
	VMOVUPS 192(DI), Z3

step:
	VBROADCASTSD (SI), Z4
	VFMADD231PD  (R10), Z4, Z0
	VFMADD231PD  64(R10), Z4, Z1
	VFMADD231PD  128(R10), Z4, Z2
	VFMADD231PD  192(R10), Z4, Z3
	ADDQ         $8, SI
	ADDQ         R9, R10
	DECQ         CX
	JNZ          step
	VMOVUPS      Z0, (DI)
	VMOVUPS      Z1, 64(DI)
	VMOVUPS      Z2, 128(DI)
	VMOVUPS      Z3, 192(DI)
	VZEROUPPER
	RET
