// The epilogue of float32 rows on vectors V0 to V14 of four or eight float64. The including file
// defines these as Y or Z registers. The operations and their order are those of normalCDF and nearExp,
// without fused multiply-adds, so the bits are the same. R8 points to epilogueTable, SI to x, BX to
// the bias. AX is the number of elements done, CX that of all. V14 is alpha.

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

// d = K(i) + K(i+1) x
#define LINE(i, x, d) \
	MULK(i+1, x, d) \
	ADDK(i, d, d)

// V0 = alpha x + bias
#define BIASED \
	VCVTPS2PD (SI)(AX*4), V0      \
	VMULPD    V14, V0, V0         \
	VADDPD    (BX)(AX*8), V0, V0

// V0 = V0 normalCDF(V0). It jumps to out if an element is beyond C_LIMIT, or NaN.
#define GELU \
	VPSLLQ    $1, V0, V1          \
	VPSRLQ    $1, V1, V1          \
	LOADK(C_LIMIT, V2)            \
	VPSUBQ    V1, V2, V2          \
	SIGNS(V2)                     \
	JNZ       out                 \
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
	VMULPD    V9, V7, V7          \
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
