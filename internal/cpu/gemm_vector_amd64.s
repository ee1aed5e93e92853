//go:build !noasm

#include "textflag.h"

// The kernels of matrix times vector. They run at the speed of memory, which
// 32-byte vectors already saturate.

// Sums the lanes of four accumulators into X0.
#define SUM32 \
	VADDPS       Y1, Y0, Y0;  \
	VADDPS       Y3, Y2, Y2;  \
	VADDPS       Y2, Y0, Y0;  \
	VEXTRACTF128 $1, Y0, X1;  \
	VADDPS       X1, X0, X0;  \
	VMOVHLPS     X0, X0, X1;  \
	VADDPS       X1, X0, X0;  \
	VMOVSHDUP    X0, X1;      \
	VADDSS       X1, X0, X0

#define SUM64 \
	VADDPD       Y1, Y0, Y0;  \
	VADDPD       Y3, Y2, Y2;  \
	VADDPD       Y2, Y0, Y0;  \
	VEXTRACTF128 $1, Y0, X1;  \
	VADDPD       X1, X0, X0;  \
	VUNPCKHPD    X0, X0, X1;  \
	VADDSD       X1, X0, X0

#define DOT \
	MOVQ   x+0(FP), SI;  \
	MOVQ   y+8(FP), DI;  \
	MOVQ   n+16(FP), CX; \
	VXORPS Y0, Y0, Y0;   \
	VXORPS Y1, Y1, Y1;   \
	VXORPS Y2, Y2, Y2;   \
	VXORPS Y3, Y3, Y3

// Registers of axpy4: CX elements left, DI y, SI, R9, R10, R11 the rows of a.
#define AXPY(shift) \
	MOVQ y+0(FP), DI;     \
	MOVQ x+8(FP), AX;     \
	MOVQ a+16(FP), SI;    \
	MOVQ ld+24(FP), R8;   \
	MOVQ n+32(FP), CX;    \
	SHLQ $shift, R8;      \
	LEAQ (SI)(R8*1), R9;  \
	LEAQ (R9)(R8*1), R10; \
	LEAQ (R10)(R8*1), R11

#define ADVANCE(bytes) \
	ADDQ $bytes, DI;  \
	ADDQ $bytes, SI;  \
	ADDQ $bytes, R9;  \
	ADDQ $bytes, R10; \
	ADDQ $bytes, R11

// func dotAVX32(x, y *float32, n int) float32
TEXT ·dotAVX32(SB), NOSPLIT, $0-28
	DOT

loop:
	CMPQ        CX, $32
	JLT         rest
	VMOVUPS     (SI), Y4
	VMOVUPS     32(SI), Y5
	VMOVUPS     64(SI), Y6
	VMOVUPS     96(SI), Y7
	VFMADD231PS (DI), Y4, Y0
	VFMADD231PS 32(DI), Y5, Y1
	VFMADD231PS 64(DI), Y6, Y2
	VFMADD231PS 96(DI), Y7, Y3
	ADDQ        $128, SI
	ADDQ        $128, DI
	SUBQ        $32, CX
	JMP         loop

rest:
	SUM32

tail:
	TESTQ       CX, CX
	JZ          done
	VMOVSS      (SI), X4
	VFMADD231SS (DI), X4, X0
	ADDQ        $4, SI
	ADDQ        $4, DI
	DECQ        CX
	JMP         tail

done:
	VMOVSS X0, ret+24(FP)
	VZEROUPPER
	RET

// func dotAVX64(x, y *float64, n int) float64
TEXT ·dotAVX64(SB), NOSPLIT, $0-32
	DOT

loop:
	CMPQ        CX, $16
	JLT         rest
	VMOVUPD     (SI), Y4
	VMOVUPD     32(SI), Y5
	VMOVUPD     64(SI), Y6
	VMOVUPD     96(SI), Y7
	VFMADD231PD (DI), Y4, Y0
	VFMADD231PD 32(DI), Y5, Y1
	VFMADD231PD 64(DI), Y6, Y2
	VFMADD231PD 96(DI), Y7, Y3
	ADDQ        $128, SI
	ADDQ        $128, DI
	SUBQ        $16, CX
	JMP         loop

rest:
	SUM64

tail:
	TESTQ       CX, CX
	JZ          done
	VMOVSD      (SI), X4
	VFMADD231SD (DI), X4, X0
	ADDQ        $8, SI
	ADDQ        $8, DI
	DECQ        CX
	JMP         tail

done:
	VMOVSD X0, ret+24(FP)
	VZEROUPPER
	RET

// func axpy4AVX32(y, x, a *float32, ld, n int)
TEXT ·axpy4AVX32(SB), NOSPLIT, $0-40
	AXPY(2)
	VBROADCASTSS (AX), Y0
	VBROADCASTSS 4(AX), Y1
	VBROADCASTSS 8(AX), Y2
	VBROADCASTSS 12(AX), Y3

loop:
	CMPQ        CX, $16
	JLT         tail
	VMOVUPS     (DI), Y4
	VMOVUPS     32(DI), Y5
	VFMADD231PS (SI), Y0, Y4
	VFMADD231PS 32(SI), Y0, Y5
	VFMADD231PS (R9), Y1, Y4
	VFMADD231PS 32(R9), Y1, Y5
	VFMADD231PS (R10), Y2, Y4
	VFMADD231PS 32(R10), Y2, Y5
	VFMADD231PS (R11), Y3, Y4
	VFMADD231PS 32(R11), Y3, Y5
	VMOVUPS     Y4, (DI)
	VMOVUPS     Y5, 32(DI)
	ADVANCE(64)
	SUBQ        $16, CX
	JMP         loop

tail:
	TESTQ       CX, CX
	JZ          done
	VMOVSS      (DI), X4
	VFMADD231SS (SI), X0, X4
	VFMADD231SS (R9), X1, X4
	VFMADD231SS (R10), X2, X4
	VFMADD231SS (R11), X3, X4
	VMOVSS      X4, (DI)
	ADVANCE(4)
	DECQ        CX
	JMP         tail

done:
	VZEROUPPER
	RET

// func axpy4AVX64(y, x, a *float64, ld, n int)
TEXT ·axpy4AVX64(SB), NOSPLIT, $0-40
	AXPY(3)
	VBROADCASTSD (AX), Y0
	VBROADCASTSD 8(AX), Y1
	VBROADCASTSD 16(AX), Y2
	VBROADCASTSD 24(AX), Y3

loop:
	CMPQ        CX, $8
	JLT         tail
	VMOVUPD     (DI), Y4
	VMOVUPD     32(DI), Y5
	VFMADD231PD (SI), Y0, Y4
	VFMADD231PD 32(SI), Y0, Y5
	VFMADD231PD (R9), Y1, Y4
	VFMADD231PD 32(R9), Y1, Y5
	VFMADD231PD (R10), Y2, Y4
	VFMADD231PD 32(R10), Y2, Y5
	VFMADD231PD (R11), Y3, Y4
	VFMADD231PD 32(R11), Y3, Y5
	VMOVUPD     Y4, (DI)
	VMOVUPD     Y5, 32(DI)
	ADVANCE(64)
	SUBQ        $8, CX
	JMP         loop

tail:
	TESTQ       CX, CX
	JZ          done
	VMOVSD      (DI), X4
	VFMADD231SD (SI), X0, X4
	VFMADD231SD (R9), X1, X4
	VFMADD231SD (R10), X2, X4
	VFMADD231SD (R11), X3, X4
	VMOVSD      X4, (DI)
	ADVANCE(8)
	DECQ        CX
	JMP         tail

done:
	VZEROUPPER
	RET

// func dotsAVX32(dst, x, a *float32, ld, k, n int)
TEXT ·dotsAVX32(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), R8
	MOVQ x+8(FP), R9
	MOVQ a+16(FP), R10
	MOVQ ld+24(FP), R11
	MOVQ k+32(FP), R12
	MOVQ n+40(FP), R13
	SHLQ $2, R11

row:
	MOVQ   R9, SI
	MOVQ   R10, DI
	MOVQ   R12, CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3

loop:
	CMPQ        CX, $32
	JLT         rest
	VMOVUPS     (SI), Y4
	VMOVUPS     32(SI), Y5
	VMOVUPS     64(SI), Y6
	VMOVUPS     96(SI), Y7
	VFMADD231PS (DI), Y4, Y0
	VFMADD231PS 32(DI), Y5, Y1
	VFMADD231PS 64(DI), Y6, Y2
	VFMADD231PS 96(DI), Y7, Y3
	ADDQ        $128, SI
	ADDQ        $128, DI
	SUBQ        $32, CX
	JMP         loop

rest:
	SUM32

tail:
	TESTQ       CX, CX
	JZ          done
	VMOVSS      (SI), X4
	VFMADD231SS (DI), X4, X0
	ADDQ        $4, SI
	ADDQ        $4, DI
	DECQ        CX
	JMP         tail

done:
	VXORPS X4, X4, X4
	VADDSS X4, X0, X0
	VMOVSS X0, (R8)
	ADDQ   $4, R8
	ADDQ   R11, R10
	DECQ   R13
	JNZ    row
	VZEROUPPER
	RET

// func dotsAVX64(dst, x, a *float64, ld, k, n int)
TEXT ·dotsAVX64(SB), NOSPLIT, $0-48
	MOVQ dst+0(FP), R8
	MOVQ x+8(FP), R9
	MOVQ a+16(FP), R10
	MOVQ ld+24(FP), R11
	MOVQ k+32(FP), R12
	MOVQ n+40(FP), R13
	SHLQ $3, R11

row:
	MOVQ   R9, SI
	MOVQ   R10, DI
	MOVQ   R12, CX
	VXORPS Y0, Y0, Y0
	VXORPS Y1, Y1, Y1
	VXORPS Y2, Y2, Y2
	VXORPS Y3, Y3, Y3

loop:
	CMPQ        CX, $16
	JLT         rest
	VMOVUPD     (SI), Y4
	VMOVUPD     32(SI), Y5
	VMOVUPD     64(SI), Y6
	VMOVUPD     96(SI), Y7
	VFMADD231PD (DI), Y4, Y0
	VFMADD231PD 32(DI), Y5, Y1
	VFMADD231PD 64(DI), Y6, Y2
	VFMADD231PD 96(DI), Y7, Y3
	ADDQ        $128, SI
	ADDQ        $128, DI
	SUBQ        $16, CX
	JMP         loop

rest:
	SUM64

tail:
	TESTQ       CX, CX
	JZ          done
	VMOVSD      (SI), X4
	VFMADD231SD (DI), X4, X0
	ADDQ        $8, SI
	ADDQ        $8, DI
	DECQ        CX
	JMP         tail

done:
	VXORPS X4, X4, X4
	VADDSD X4, X0, X0
	VMOVSD X0, (R8)
	ADDQ   $8, R8
	ADDQ   R11, R10
	DECQ   R13
	JNZ    row
	VZEROUPPER
	RET
