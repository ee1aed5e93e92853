//go:build !noasm

#include "textflag.h"

#define LANES 8
#define V0 Z0
#define V1 Z1
#define V2 Z2
#define V3 Z3
#define V4 Z4
#define V5 Z5
#define V6 Z6
#define V7 Z7
#define V8 Z8
#define V9 Z9
#define V10 Z10
#define V11 Z11
#define V14 Z14

// As in epilogue_avx2_amd64.s; the instructions broadcast one copy of a constant.
#define LOADK(i, d)    VBROADCASTSD K(i), d
#define ADDK(i, a, d)  VADDPD.BCST K(i), a, d
#define SUBK(i, a, d)  VSUBPD.BCST K(i), a, d
#define MULK(i, a, d)  VMULPD.BCST K(i), a, d
#define ADDQK(i, a, d) VPADDQ.BCST K(i), a, d
#define CLEAR(d)       VPXORQ d, d, d

#define SIGNS(v) \
	VPTESTMQ.BCST K(C_SIGN), v, K1 \
	KMOVW         K1, R9           \
	TESTL         R9, R9

#define STORE \
	VCVTPD2PS Z0, Y0 \
	VMOVUPS   Y0, (SI)(AX*4)

#include "epilogue_amd64.h"

// func biasRowAVX512(x *float32, bias *float64, alpha float64, n int)
TEXT ·biasRowAVX512(SB), NOSPLIT, $0-32
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

// func geluRowAVX512(x *float32, bias *float64, alpha float64, table *float64, n int) (done int)
TEXT ·geluRowAVX512(SB), NOSPLIT, $0-48
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

// func geluTanhRowAVX512(x *float32, bias *float64, alpha float64, table *float64, n int) (done int)
TEXT ·geluTanhRowAVX512(SB), NOSPLIT, $0-48
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

// func siluRowAVX512(x *float32, bias *float64, alpha float64, table *float64, n int) (done int)
TEXT ·siluRowAVX512(SB), NOSPLIT, $0-48
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
