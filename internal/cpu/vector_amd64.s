//go:build !noasm

#include "textflag.h"

// Element-wise operations on dense blocks, and the additions of sums, with AVX2. The
// equivalent Go loop is beside each function's declaration.

// The loop of a binary operation. FOUR computes 128 bytes at offset AX, ONE the last
// elements, of `size` bytes, one by one.
#define LOOP(FOUR, ONE, size, shift) \
	SHLQ $shift, CX; \
	XORQ AX, AX;     \
	SUBQ $128, CX;   \
	JLT  few;        \
four:               \
	FOUR;            \
	ADDQ $128, AX;   \
	CMPQ AX, CX;     \
	JLE  four;       \
few:                \
	ADDQ $128, CX;   \
	JMP  check;      \
one:                \
	ONE;             \
	ADDQ $size, AX;  \
check:              \
	CMPQ AX, CX;     \
	JLT  one;        \
	VZEROUPPER;      \
	RET

#define ARGS \
	MOVQ dst+0(FP), DI; \
	MOVQ x+8(FP), SI;   \
	MOVQ y+16(FP), DX;  \
	MOVQ n+24(FP), CX

#define LOAD4 \
	VMOVUPS (SI)(AX*1), Y0;   \
	VMOVUPS 32(SI)(AX*1), Y1; \
	VMOVUPS 64(SI)(AX*1), Y2; \
	VMOVUPS 96(SI)(AX*1), Y3

#define STORE4 \
	VMOVUPS Y0, (DI)(AX*1);   \
	VMOVUPS Y1, 32(DI)(AX*1); \
	VMOVUPS Y2, 64(DI)(AX*1); \
	VMOVUPS Y3, 96(DI)(AX*1)

// Two vectors.
#define VV4(VEC) \
	LOAD4;                    \
	VEC (DX)(AX*1), Y0, Y0;   \
	VEC 32(DX)(AX*1), Y1, Y1; \
	VEC 64(DX)(AX*1), Y2, Y2; \
	VEC 96(DX)(AX*1), Y3, Y3; \
	STORE4

#define VV1(MOVE, ONE) \
	MOVE (SI)(AX*1), X0;    \
	ONE  (DX)(AX*1), X0, X0; \
	MOVE X0, (DI)(AX*1)

// A vector and a scalar, in Y4.
#define VS4(VEC) \
	LOAD4;          \
	VEC Y4, Y0, Y0; \
	VEC Y4, Y1, Y1; \
	VEC Y4, Y2, Y2; \
	VEC Y4, Y3, Y3; \
	STORE4

#define VS1(MOVE, ONE) \
	MOVE (SI)(AX*1), X0; \
	ONE  X4, X0, X0;     \
	MOVE X0, (DI)(AX*1)

// A scalar, in Y4, and a vector.
#define SV4(VEC) \
	LOAD4;          \
	VEC Y0, Y4, Y0; \
	VEC Y1, Y4, Y1; \
	VEC Y2, Y4, Y2; \
	VEC Y3, Y4, Y3; \
	STORE4

#define SV1(MOVE, ONE) \
	MOVE (SI)(AX*1), X0; \
	ONE  X0, X4, X0;     \
	MOVE X0, (DI)(AX*1)

#define VV32(VEC, ONE) \
	ARGS; \
	LOOP(VV4(VEC), VV1(VMOVSS, ONE), 4, 2)

#define VV64(VEC, ONE) \
	ARGS; \
	LOOP(VV4(VEC), VV1(VMOVSD, ONE), 8, 3)

#define VS32(VEC, ONE) \
	ARGS;                  \
	VBROADCASTSS (DX), Y4; \
	LOOP(VS4(VEC), VS1(VMOVSS, ONE), 4, 2)

#define VS64(VEC, ONE) \
	ARGS;                  \
	VBROADCASTSD (DX), Y4; \
	LOOP(VS4(VEC), VS1(VMOVSD, ONE), 8, 3)

// The scalar is x.
#define SV32(VEC, ONE) \
	ARGS;                  \
	XCHGQ SI, DX;          \
	VBROADCASTSS (DX), Y4; \
	LOOP(SV4(VEC), SV1(VMOVSS, ONE), 4, 2)

#define SV64(VEC, ONE) \
	ARGS;                  \
	XCHGQ SI, DX;          \
	VBROADCASTSD (DX), Y4; \
	LOOP(SV4(VEC), SV1(VMOVSD, ONE), 8, 3)

// func addVV32(dst, x, y unsafe.Pointer, n int)
TEXT ·addVV32(SB), NOSPLIT, $0-32
	VV32(VADDPS, VADDSS)

// func subVV32(dst, x, y unsafe.Pointer, n int)
TEXT ·subVV32(SB), NOSPLIT, $0-32
	VV32(VSUBPS, VSUBSS)

// func mulVV32(dst, x, y unsafe.Pointer, n int)
TEXT ·mulVV32(SB), NOSPLIT, $0-32
	VV32(VMULPS, VMULSS)

// func divVV32(dst, x, y unsafe.Pointer, n int)
TEXT ·divVV32(SB), NOSPLIT, $0-32
	VV32(VDIVPS, VDIVSS)

// func addVS32(dst, x, y unsafe.Pointer, n int)
TEXT ·addVS32(SB), NOSPLIT, $0-32
	VS32(VADDPS, VADDSS)

// func subVS32(dst, x, y unsafe.Pointer, n int)
TEXT ·subVS32(SB), NOSPLIT, $0-32
	VS32(VSUBPS, VSUBSS)

// func mulVS32(dst, x, y unsafe.Pointer, n int)
TEXT ·mulVS32(SB), NOSPLIT, $0-32
	VS32(VMULPS, VMULSS)

// func divVS32(dst, x, y unsafe.Pointer, n int)
TEXT ·divVS32(SB), NOSPLIT, $0-32
	VS32(VDIVPS, VDIVSS)

// func subSV32(dst, x, y unsafe.Pointer, n int)
TEXT ·subSV32(SB), NOSPLIT, $0-32
	SV32(VSUBPS, VSUBSS)

// func divSV32(dst, x, y unsafe.Pointer, n int)
TEXT ·divSV32(SB), NOSPLIT, $0-32
	SV32(VDIVPS, VDIVSS)

// func addVV64(dst, x, y unsafe.Pointer, n int)
TEXT ·addVV64(SB), NOSPLIT, $0-32
	VV64(VADDPD, VADDSD)

// func subVV64(dst, x, y unsafe.Pointer, n int)
TEXT ·subVV64(SB), NOSPLIT, $0-32
	VV64(VSUBPD, VSUBSD)

// func mulVV64(dst, x, y unsafe.Pointer, n int)
TEXT ·mulVV64(SB), NOSPLIT, $0-32
	VV64(VMULPD, VMULSD)

// func divVV64(dst, x, y unsafe.Pointer, n int)
TEXT ·divVV64(SB), NOSPLIT, $0-32
	VV64(VDIVPD, VDIVSD)

// func addVS64(dst, x, y unsafe.Pointer, n int)
TEXT ·addVS64(SB), NOSPLIT, $0-32
	VS64(VADDPD, VADDSD)

// func subVS64(dst, x, y unsafe.Pointer, n int)
TEXT ·subVS64(SB), NOSPLIT, $0-32
	VS64(VSUBPD, VSUBSD)

// func mulVS64(dst, x, y unsafe.Pointer, n int)
TEXT ·mulVS64(SB), NOSPLIT, $0-32
	VS64(VMULPD, VMULSD)

// func divVS64(dst, x, y unsafe.Pointer, n int)
TEXT ·divVS64(SB), NOSPLIT, $0-32
	VS64(VDIVPD, VDIVSD)

// func subSV64(dst, x, y unsafe.Pointer, n int)
TEXT ·subSV64(SB), NOSPLIT, $0-32
	SV64(VSUBPD, VSUBSD)

// func divSV64(dst, x, y unsafe.Pointer, n int)
TEXT ·divSV64(SB), NOSPLIT, $0-32
	SV64(VDIVPD, VDIVSD)

// d = the larger of a and b: NaN if one is NaN, 0 over -0. VMAXPS returns its second
// operand if one is NaN or both are zeros, so the results of both operand orders
// together show these cases. Uses Y5 and Y6.
#define LARGER(a, b, d) \
	VCMPPS $3, a, b, Y6; \
	VMAXPS a, b, Y5;     \
	VMAXPS b, a, d;      \
	VANDPS Y5, d, d;     \
	VORPS  Y6, d, d

#define SMALLER(a, b, d) \
	VCMPPS $3, a, b, Y6; \
	VMINPS a, b, Y5;     \
	VMINPS b, a, d;      \
	VORPS  Y5, d, d;     \
	VORPS  Y6, d, d

// Loops over a multiple of 64 bytes; BODY computes the 64 bytes at AX.
#define LOOP64(BODY) \
	SHLQ $2, CX;   \
	XORQ AX, AX;   \
	JMP  check;    \
loop:             \
	BODY;          \
	ADDQ $64, AX;  \
check:            \
	CMPQ AX, CX;   \
	JLT  loop;     \
	VZEROUPPER;    \
	RET

#define EXTREME(PICK) \
	VMOVUPS (SI)(AX*1), Y0;   \
	VMOVUPS (DX)(AX*1), Y1;   \
	PICK(Y0, Y1, Y2);         \
	VMOVUPS Y2, (DI)(AX*1);   \
	VMOVUPS 32(SI)(AX*1), Y0; \
	VMOVUPS 32(DX)(AX*1), Y1; \
	PICK(Y0, Y1, Y2);         \
	VMOVUPS Y2, 32(DI)(AX*1)

// The same with a scalar, in Y1.
#define EXTREMEVS(PICK) \
	VMOVUPS (SI)(AX*1), Y0;   \
	PICK(Y0, Y1, Y2);         \
	VMOVUPS Y2, (DI)(AX*1);   \
	VMOVUPS 32(SI)(AX*1), Y0; \
	PICK(Y0, Y1, Y2);         \
	VMOVUPS Y2, 32(DI)(AX*1)

// func max32(dst, x, y unsafe.Pointer, n int)
TEXT ·max32(SB), NOSPLIT, $0-32
	ARGS
	LOOP64(EXTREME(LARGER))

// func min32(dst, x, y unsafe.Pointer, n int)
TEXT ·min32(SB), NOSPLIT, $0-32
	ARGS
	LOOP64(EXTREME(SMALLER))

// func maxVS32(dst, x, y unsafe.Pointer, n int)
TEXT ·maxVS32(SB), NOSPLIT, $0-32
	ARGS
	VBROADCASTSS (DX), Y1
	LOOP64(EXTREMEVS(LARGER))

// func minVS32(dst, x, y unsafe.Pointer, n int)
TEXT ·minVS32(SB), NOSPLIT, $0-32
	ARGS
	VBROADCASTSS (DX), Y1
	LOOP64(EXTREMEVS(SMALLER))

// func streamAVX(dst, src unsafe.Pointer, n int)
TEXT ·streamAVX(SB), NOSPLIT, $0-24
	MOVQ dst+0(FP), DI
	MOVQ src+8(FP), SI
	MOVQ n+16(FP), CX
	XORQ AX, AX
loop:
	VMOVUPS  (SI)(AX*1), Y0
	VMOVUPS  32(SI)(AX*1), Y1
	VMOVNTPS Y0, (DI)(AX*1)
	VMOVNTPS Y1, 32(DI)(AX*1)
	ADDQ     $64, AX
	CMPQ     AX, CX
	JLT      loop
	VZEROUPPER
	RET

// func fenceStores()
TEXT ·fenceStores(SB), NOSPLIT, $0-0
	SFENCE
	RET

// d = the sum of 8 rows, R9 bytes apart, for the vector at offset `at` of the chunk at SI,
// added in pairs. Uses Y0 to Y3; R10 is 3 R9, R11 is 4 rows after SI.
#define ROWS(at, VEC, d) \
	VMOVUPS at(SI), d;             \
	VMOVUPS at(SI)(R9*2), Y1;      \
	VEC at(SI)(R9*1), d, d;        \
	VEC at(SI)(R10*1), Y1, Y1;     \
	VMOVUPS at(R11), Y2;           \
	VMOVUPS at(R11)(R9*2), Y3;     \
	VEC at(R11)(R9*1), Y2, Y2;     \
	VEC at(R11)(R10*1), Y3, Y3;    \
	VEC Y1, d, d;                  \
	VEC Y3, Y2, Y2;                \
	VEC Y2, d, d

// Prefetches 512 bytes of the chunk after the next, 8192 bytes ahead. Memory is fastest
// when read in order.
#define AHEAD(at) \
	PREFETCHT0 (8192+8*at)(SI);     \
	PREFETCHT0 (8192+8*at+64)(SI);  \
	PREFETCHT0 (8192+8*at+128)(SI); \
	PREFETCHT0 (8192+8*at+192)(SI); \
	PREFETCHT0 (8192+8*at+256)(SI); \
	PREFETCHT0 (8192+8*at+320)(SI); \
	PREFETCHT0 (8192+8*at+384)(SI); \
	PREFETCHT0 (8192+8*at+448)(SI)

// d = the sums of neighbours in a and b, in order.
#define NEIGHBOURS(HADD, a, b, d) \
	HADD   b, a, d;      \
	VPERMPD $0xD8, d, d

// func chunkSum32(x *float32) float32
TEXT ·chunkSum32(SB), NOSPLIT, $0-12
	MOVQ x+0(FP), SI
	MOVQ $512, R9
	LEAQ (R9)(R9*2), R10
	LEAQ (SI)(R9*4), R11
	AHEAD(0)
	ROWS(0, VADDPS, Y4)
	ROWS(32, VADDPS, Y5)
	NEIGHBOURS(VHADDPS, Y4, Y5, Y8)
	AHEAD(64)
	ROWS(64, VADDPS, Y4)
	ROWS(96, VADDPS, Y5)
	NEIGHBOURS(VHADDPS, Y4, Y5, Y9)
	AHEAD(128)
	ROWS(128, VADDPS, Y4)
	ROWS(160, VADDPS, Y5)
	NEIGHBOURS(VHADDPS, Y4, Y5, Y10)
	AHEAD(192)
	ROWS(192, VADDPS, Y4)
	ROWS(224, VADDPS, Y5)
	NEIGHBOURS(VHADDPS, Y4, Y5, Y11)
	AHEAD(256)
	ROWS(256, VADDPS, Y4)
	ROWS(288, VADDPS, Y5)
	NEIGHBOURS(VHADDPS, Y4, Y5, Y12)
	AHEAD(320)
	ROWS(320, VADDPS, Y4)
	ROWS(352, VADDPS, Y5)
	NEIGHBOURS(VHADDPS, Y4, Y5, Y13)
	AHEAD(384)
	ROWS(384, VADDPS, Y4)
	ROWS(416, VADDPS, Y5)
	NEIGHBOURS(VHADDPS, Y4, Y5, Y14)
	AHEAD(448)
	ROWS(448, VADDPS, Y4)
	ROWS(480, VADDPS, Y5)
	NEIGHBOURS(VHADDPS, Y4, Y5, Y15)
	NEIGHBOURS(VHADDPS, Y8, Y9, Y8)
	NEIGHBOURS(VHADDPS, Y10, Y11, Y10)
	NEIGHBOURS(VHADDPS, Y12, Y13, Y12)
	NEIGHBOURS(VHADDPS, Y14, Y15, Y14)
	NEIGHBOURS(VHADDPS, Y8, Y10, Y8)
	NEIGHBOURS(VHADDPS, Y12, Y14, Y12)
	NEIGHBOURS(VHADDPS, Y8, Y12, Y8)
	VEXTRACTF128 $1, Y8, X9
	VHADDPS X9, X8, X8
	VHADDPS X8, X8, X8
	VHADDPS X8, X8, X8
	VMOVSS  X8, ret+8(FP)
	VZEROUPPER
	RET

// func chunkSum64(x *float64) float64
TEXT ·chunkSum64(SB), NOSPLIT, $0-16
	MOVQ x+0(FP), SI
	MOVQ $512, R9
	LEAQ (R9)(R9*2), R10
	LEAQ (SI)(R9*4), R11
	AHEAD(0)
	ROWS(0, VADDPD, Y4)
	ROWS(32, VADDPD, Y5)
	NEIGHBOURS(VHADDPD, Y4, Y5, Y8)
	AHEAD(64)
	ROWS(64, VADDPD, Y4)
	ROWS(96, VADDPD, Y5)
	NEIGHBOURS(VHADDPD, Y4, Y5, Y9)
	AHEAD(128)
	ROWS(128, VADDPD, Y4)
	ROWS(160, VADDPD, Y5)
	NEIGHBOURS(VHADDPD, Y4, Y5, Y10)
	AHEAD(192)
	ROWS(192, VADDPD, Y4)
	ROWS(224, VADDPD, Y5)
	NEIGHBOURS(VHADDPD, Y4, Y5, Y11)
	AHEAD(256)
	ROWS(256, VADDPD, Y4)
	ROWS(288, VADDPD, Y5)
	NEIGHBOURS(VHADDPD, Y4, Y5, Y12)
	AHEAD(320)
	ROWS(320, VADDPD, Y4)
	ROWS(352, VADDPD, Y5)
	NEIGHBOURS(VHADDPD, Y4, Y5, Y13)
	AHEAD(384)
	ROWS(384, VADDPD, Y4)
	ROWS(416, VADDPD, Y5)
	NEIGHBOURS(VHADDPD, Y4, Y5, Y14)
	AHEAD(448)
	ROWS(448, VADDPD, Y4)
	ROWS(480, VADDPD, Y5)
	NEIGHBOURS(VHADDPD, Y4, Y5, Y15)
	NEIGHBOURS(VHADDPD, Y8, Y9, Y8)
	NEIGHBOURS(VHADDPD, Y10, Y11, Y10)
	NEIGHBOURS(VHADDPD, Y12, Y13, Y12)
	NEIGHBOURS(VHADDPD, Y14, Y15, Y14)
	NEIGHBOURS(VHADDPD, Y8, Y10, Y8)
	NEIGHBOURS(VHADDPD, Y12, Y14, Y12)
	NEIGHBOURS(VHADDPD, Y8, Y12, Y8)
	VEXTRACTF128 $1, Y8, X9
	VHADDPD X9, X8, X8
	VHADDPD X8, X8, X8
	VMOVSD  X8, ret+8(FP)
	VZEROUPPER
	RET

// func rowSums32(dst, x unsafe.Pointer, pitch, n int)
TEXT ·rowSums32(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ pitch+16(FP), R9
	MOVQ n+24(FP), CX
	LEAQ (R9)(R9*2), R10
	LEAQ (SI)(R9*4), R11
	JMP  check
loop:
	ROWS(0, VADDPS, Y4)
	VMOVUPS Y4, (DI)
	ADDQ $32, SI
	ADDQ $32, R11
	ADDQ $32, DI
check:
	SUBQ $8, CX
	JGE  loop
	VZEROUPPER
	RET

// func rowSums64(dst, x unsafe.Pointer, pitch, n int)
TEXT ·rowSums64(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ x+8(FP), SI
	MOVQ pitch+16(FP), R9
	MOVQ n+24(FP), CX
	LEAQ (R9)(R9*2), R10
	LEAQ (SI)(R9*4), R11
	JMP  check
loop:
	ROWS(0, VADDPD, Y4)
	VMOVUPS Y4, (DI)
	ADDQ $32, SI
	ADDQ $32, R11
	ADDQ $32, DI
check:
	SUBQ $4, CX
	JGE  loop
	VZEROUPPER
	RET

// a = the sums of neighbours in a and b, in order. Uses Z4; Z30 selects the even elements
// of both, Z31 the odd ones.
#define NEIGHBOURS512(PERM, VEC, a, b) \
	VMOVAPD a, Z4;      \
	PERM    b, Z30, a;  \
	PERM    b, Z31, Z4; \
	VEC     Z4, a, a

// Adds rows k and k+1 of a chunk, whose 128 lanes are eight registers, to eight registers.
#define PAIR(k, VEC, a, b, c, d, e, f, g, h) \
	VMOVUPS (512*k)(SI), a;           \
	VMOVUPS (512*k+64)(SI), b;        \
	VMOVUPS (512*k+128)(SI), c;       \
	VMOVUPS (512*k+192)(SI), d;       \
	VMOVUPS (512*k+256)(SI), e;       \
	VMOVUPS (512*k+320)(SI), f;       \
	VMOVUPS (512*k+384)(SI), g;       \
	VMOVUPS (512*k+448)(SI), h;       \
	VEC     (512*k+512)(SI), a, a;    \
	VEC     (512*k+512+64)(SI), b, b; \
	VEC     (512*k+512+128)(SI), c, c; \
	VEC     (512*k+512+192)(SI), d, d; \
	VEC     (512*k+512+256)(SI), e, e; \
	VEC     (512*k+512+320)(SI), f, f; \
	VEC     (512*k+512+384)(SI), g, g; \
	VEC     (512*k+512+448)(SI), h, h

#define LOWERMIDDLE(VEC) \
	VEC Z16, Z8, Z8;   \
	VEC Z17, Z9, Z9;   \
	VEC Z18, Z10, Z10; \
	VEC Z19, Z11, Z11; \
	VEC Z20, Z12, Z12; \
	VEC Z21, Z13, Z13; \
	VEC Z22, Z14, Z14; \
	VEC Z23, Z15, Z15

#define MIDDLEUPPER(VEC) \
	VEC Z24, Z16, Z16; \
	VEC Z25, Z17, Z17; \
	VEC Z26, Z18, Z18; \
	VEC Z27, Z19, Z19; \
	VEC Z28, Z20, Z20; \
	VEC Z29, Z21, Z21; \
	VEC Z30, Z22, Z22; \
	VEC Z31, Z23, Z23

// Z8 = the sums of a full chunk, each over eight neighbouring lanes. The chunk is read in
// order, because memory is fastest then.
#define CHUNK512(PERM, VEC) \
	PAIR(0, VEC, Z8, Z9, Z10, Z11, Z12, Z13, Z14, Z15);      \
	PAIR(2, VEC, Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23);    \
	LOWERMIDDLE(VEC);                                        \
	PAIR(4, VEC, Z16, Z17, Z18, Z19, Z20, Z21, Z22, Z23);    \
	PAIR(6, VEC, Z24, Z25, Z26, Z27, Z28, Z29, Z30, Z31);    \
	MIDDLEUPPER(VEC);                                        \
	LOWERMIDDLE(VEC);                                        \
	VMOVUPS (R8), Z30;                  \
	VMOVUPS 64(R8), Z31;                \
	NEIGHBOURS512(PERM, VEC, Z8, Z9);   \
	NEIGHBOURS512(PERM, VEC, Z10, Z11); \
	NEIGHBOURS512(PERM, VEC, Z12, Z13); \
	NEIGHBOURS512(PERM, VEC, Z14, Z15); \
	NEIGHBOURS512(PERM, VEC, Z8, Z10);  \
	NEIGHBOURS512(PERM, VEC, Z12, Z14); \
	NEIGHBOURS512(PERM, VEC, Z8, Z12)

// func chunkSum512x32(x *float32) float32
TEXT ·chunkSum512x32(SB), NOSPLIT, $0-12
	MOVQ x+0(FP), SI
	LEAQ ·neighbours32(SB), R8
	CHUNK512(VPERMT2PS, VADDPS)
	VEXTRACTF64X4 $1, Z8, Y9
	NEIGHBOURS(VHADDPS, Y8, Y9, Y8)
	VEXTRACTF128  $1, Y8, X9
	VHADDPS X9, X8, X8
	VHADDPS X8, X8, X8
	VHADDPS X8, X8, X8
	VMOVSS  X8, ret+8(FP)
	VZEROUPPER
	RET

// func chunkSum512x64(x *float64) float64
TEXT ·chunkSum512x64(SB), NOSPLIT, $0-16
	MOVQ x+0(FP), SI
	LEAQ ·neighbours64(SB), R8
	CHUNK512(VPERMT2PD, VADDPD)
	VEXTRACTF64X4 $1, Z8, Y9
	NEIGHBOURS(VHADDPD, Y8, Y9, Y8)
	VEXTRACTF128  $1, Y8, X9
	VHADDPD X9, X8, X8
	VHADDPD X8, X8, X8
	VMOVSD  X8, ret+8(FP)
	VZEROUPPER
	RET
