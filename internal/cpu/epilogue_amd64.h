// The epilogue of float32 rows on vectors V0 to V14 of four or eight float64. The including file
// defines these as Y or Z registers. Each operation and its order is that of normalCDF and nearExp,
// without fused multiply-adds, and so the bits are the same. With GOAMD64=v3 the compiler fuses
// some of theirs, and a rounded float32 may differ: of 41 million none did. R8 points to
// epilogueTable, SI to x, BX to the bias. AX counts the elements done, CX is their number. V14 is
// alpha.

#define K(i) (32*(i))(R8)

#define C_LIMIT 0
#define C_ROOTHALF 1
#define C_CENTER 2
#define C_ONE 3
#define C_TWO 4
#define C_TWO52 5
#define C_LOG2E 6
#define C_SHIFT 7
#define C_LN2 8
#define C_UNBIAS 9
#define C_SIGN 10
#define C_CDF 11
#define C_EXP 23
#define C_SILU 31
#define C_GATE 32
#define C_CUBIC 33

// d = K(i) + K(i+1) x
#define LINE(i, x, d) \
	MULK(i+1, x, d) \
	ADDK(i, d, d)

// V0 = alpha x + bias
#define BIASED \
	VCVTPS2PD (SI)(AX*4), V0      \
	VMULPD    V14, V0, V0         \
	VADDPD    (BX)(AX*8), V0, V0

// V1 = |V0|. It jumps to out if an element is beyond K(limit), or NaN.
#define WITHIN(limit) \
	VPSLLQ    $1, V0, V1          \
	VPSRLQ    $1, V1, V1          \
	LOADK(limit, V2)              \
	VPSUBQ    V1, V2, V2          \
	SIGNS(V2)                     \
	JNZ       out

// V7 = nearExp(V5), if |V5| < 708. It overwrites V5, V6, V9, V10 and V11.
#define NEAREXP \
	MULK(C_LOG2E, V5, V9)         \
	ADDK(C_SHIFT, V9, V9)         \
	SUBK(C_SHIFT, V9, V10)        \
	MULK(C_LN2, V10, V10)         \
	VSUBPD    V10, V5, V5         \
	VMULPD    V5, V5, V6          \
	LINE(C_EXP, V5, V7)           \
	LINE(C_EXP+2, V5, V10)        \
	VMULPD    V10, V6, V10        \
	VADDPD    V10, V7, V7         \
	LINE(C_EXP+4, V5, V10)        \
	LINE(C_EXP+6, V5, V11)        \
	VMULPD    V11, V6, V11        \
	VADDPD    V11, V10, V10       \
	VMULPD    V6, V6, V6          \
	VMULPD    V10, V6, V10        \
	VADDPD    V10, V7, V7         \
	ADDQK(C_UNBIAS, V9, V9)       \
	VPSLLQ    $52, V9, V9         \
	VMULPD    V9, V7, V7

// V0 = V0 normalCDF(V0). It jumps to out if an element is beyond C_LIMIT, or NaN.
#define GELU \
	WITHIN(C_LIMIT)               \
	MULK(C_ROOTHALF, V1, V1)      \
	ADDK(C_CENTER, V1, V2)        \
	ADDK(C_ONE, V1, V3)           \
	VMULPD    V3, V2, V4          \
	LOADK(C_ONE, V5)              \
	VDIVPD    V4, V5, V4          \
	SUBK(C_CENTER, V1, V5)        \
	VMULPD    V3, V5, V5          \
	VMULPD    V4, V5, V5          \
	VMULPD    V5, V5, V6          \
	VMULPD    V6, V6, V7          \
	LINE(C_CDF, V5, V8)           \
	LINE(C_CDF+2, V5, V9)         \
	VMULPD    V9, V6, V9          \
	VADDPD    V9, V8, V8          \
	LINE(C_CDF+4, V5, V9)         \
	LINE(C_CDF+6, V5, V10)        \
	VMULPD    V10, V6, V10        \
	VADDPD    V10, V9, V9         \
	LINE(C_CDF+8, V5, V10)        \
	LINE(C_CDF+10, V5, V11)       \
	VMULPD    V11, V6, V11        \
	VADDPD    V11, V10, V10       \
	VMULPD    V10, V7, V10        \
	VADDPD    V10, V9, V9         \
	VMULPD    V9, V7, V9          \
	VADDPD    V9, V8, V8          \
	VMULPD    V1, V1, V5          \
	CLEAR(V10)                    \
	VSUBPD    V5, V10, V5         \
	NEAREXP                       \
	VMULPD    V2, V7, V7          \
	VMULPD    V4, V7, V7          \
	VMULPD    V7, V8, V8          \
	VPSRLQ    $63, V0, V1         \
	ADDQK(C_TWO52, V1, V1)        \
	SUBK(C_TWO52, V1, V1)         \
	LOADK(C_ONE, V3)              \
	VSUBPD    V1, V3, V1          \
	MULK(C_TWO, V8, V5)           \
	VSUBPD    V5, V3, V5          \
	VMULPD    V5, V1, V5          \
	VADDPD    V5, V8, V8          \
	VMULPD    V8, V0, V0

// V0 = V0 / (1 + nearExp(V5))
#define GATED \
	NEAREXP                       \
	LOADK(C_ONE, V3)              \
	VADDPD    V7, V3, V7          \
	VDIVPD    V7, V0, V0

#define SILU \
	WITHIN(C_SILU)                \
	CLEAR(V5)                     \
	VSUBPD    V0, V5, V5          \
	GATED

#define GELUTANH \
	WITHIN(C_LIMIT)               \
	MULK(C_CUBIC, V0, V5)         \
	VMULPD    V0, V5, V5          \
	VMULPD    V0, V5, V5          \
	VADDPD    V5, V0, V5          \
	MULK(C_GATE, V5, V5)          \
	GATED
