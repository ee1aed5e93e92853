//go:build !noasm

#include "textflag.h"

#define LANES 4
#define V0 Y0
#define V1 Y1
#define V2 Y2
#define V3 Y3
#define V4 Y4
#define V5 Y5
#define V6 Y6
#define V7 Y7
#define V8 Y8
#define V9 Y9
#define V10 Y10
#define V11 Y11
#define V14 Y14

#define LOADK(i, d)    VMOVUPD K(i), d
#define ADDK(i, a, d)  VADDPD K(i), a, d
#define SUBK(i, a, d)  VSUBPD K(i), a, d
#define MULK(i, a, d)  VMULPD K(i), a, d
#define ADDQK(i, a, d) VPADDQ K(i), a, d
#define CLEAR(d)       VXORPD d, d, d

#define SIGNS(v) \
	VMOVMSKPD v, R9 \
	TESTL     R9, R9

#define STORE \
	VCVTPD2PSY Y0, X0 \
	VMOVUPS    X0, (SI)(AX*4)

#include "epilogue_amd64.h"

// func biasRowAVX2(x *float32, bias *float64, alpha float64, n int)
TEXT ·biasRowAVX2(SB), NOSPLIT, $0-32
	MOVQ         x+0(FP), SI
	MOVQ         bias+8(FP), BX
	VBROADCASTSD alpha+16(FP), V14
	MOVQ         n+24(FP), CX
	XORQ         AX, AX

next:
	BIASED
	STORE
	ADDQ $LANES, AX
	CMPQ AX, CX
	JLT  next
	VZEROUPPER
	RET

// func geluRowAVX2(x *float32, bias *float64, alpha float64, table *float64, n int) (done int)
TEXT ·geluRowAVX2(SB), NOSPLIT, $0-48
	MOVQ         x+0(FP), SI
	MOVQ         bias+8(FP), BX
	VBROADCASTSD alpha+16(FP), V14
	MOVQ         table+24(FP), R8
	MOVQ         n+32(FP), CX
	XORQ         AX, AX

next:
	BIASED
	GELU
	STORE
	ADDQ $LANES, AX
	CMPQ AX, CX
	JLT  next

out:
	MOVQ AX, done+40(FP)
	VZEROUPPER
	RET

// func geluTanhRowAVX2(x *float32, bias *float64, alpha float64, table *float64, n int) (done int)
TEXT ·geluTanhRowAVX2(SB), NOSPLIT, $0-48
	MOVQ         x+0(FP), SI
	MOVQ         bias+8(FP), BX
	VBROADCASTSD alpha+16(FP), V14
	MOVQ         table+24(FP), R8
	MOVQ         n+32(FP), CX
	XORQ         AX, AX

next:
	BIASED
	GELUTANH
	STORE
	ADDQ $LANES, AX
	CMPQ AX, CX
	JLT  next

out:
	MOVQ AX, done+40(FP)
	VZEROUPPER
	RET

// func siluRowAVX2(x *float32, bias *float64, alpha float64, table *float64, n int) (done int)
TEXT ·siluRowAVX2(SB), NOSPLIT, $0-48
	MOVQ         x+0(FP), SI
	MOVQ         bias+8(FP), BX
	VBROADCASTSD alpha+16(FP), V14
	MOVQ         table+24(FP), R8
	MOVQ         n+32(FP), CX
	XORQ         AX, AX

next:
	BIASED
	SILU
	STORE
	ADDQ $LANES, AX
	CMPQ AX, CX
	JLT  next

out:
	MOVQ AX, done+40(FP)
	VZEROUPPER
	RET
