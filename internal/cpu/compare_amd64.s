//go:build !noasm

#include "textflag.h"

// Comparisons of 32 elements at a time, with results 0 and 1 in bytes, with AVX2. The
// equivalent Go loop is beside each function's declaration.

DATA ones<>+0(SB)/8, $0x0101010101010101
GLOBL ones<>(SB), RODATA|NOPTR, $8

// The order of the four-byte groups of masks 0 to 3 after packing: first the lower halves.
DATA order<>+0(SB)/8, $0x0000000400000000
DATA order<>+8(SB)/8, $0x0000000500000001
DATA order<>+16(SB)/8, $0x0000000600000002
DATA order<>+24(SB)/8, $0x0000000700000003
GLOBL order<>(SB), RODATA|NOPTR, $32

// The steps are 0 or 1; R8 and R9 become the offsets in bytes from 32 elements to the next.
#define COMPARE_ARGS(shift) \
	MOVQ         dst+0(FP), DI;     \
	MOVQ         x+8(FP), SI;       \
	MOVQ         y+16(FP), DX;      \
	MOVQ         n+24(FP), CX;      \
	MOVQ         xstep+32(FP), R8;  \
	MOVQ         ystep+40(FP), R9;  \
	SHLQ         $(5+shift), R8;    \
	SHLQ         $(5+shift), R9;    \
	VPBROADCASTQ ones<>(SB), Y14;   \
	VMOVDQU      order<>(SB), Y15

// Compares 8 float32; predicate is that of VCMPPS.
#define MASK32(predicate, at, m) \
	VMOVUPS at(SI), m; \
	VCMPPS  $predicate, at(DX), m, m

// Compares 8 float64, and narrows the masks to 32 bits each.
#define MASK64(predicate, at, m, t) \
	VMOVUPD at(SI), m;                  \
	VCMPPD  $predicate, at(DX), m, m;   \
	VMOVUPD at+32(SI), t;               \
	VCMPPD  $predicate, at+32(DX), t, t; \
	VSHUFPS $0x88, t, m, m;             \
	VPERMQ  $0xD8, m, m

// Stores the masks of 32 elements, in Y0 to Y3, as bytes.
#define STORE_TRUTHS \
	VPACKSSDW Y1, Y0, Y0;   \
	VPACKSSDW Y3, Y2, Y2;   \
	VPACKSSWB Y2, Y0, Y0;   \
	VPERMD    Y0, Y15, Y0;  \
	VPAND     Y14, Y0, Y0;  \
	VMOVDQU   Y0, (DI);     \
	ADDQ      $32, DI;      \
	ADDQ      R8, SI;       \
	ADDQ      R9, DX;       \
	SUBQ      $32, CX

#define COMPARE32(predicate) \
	COMPARE_ARGS(2);           \
loop:                         \
	MASK32(predicate, 0, Y0);  \
	MASK32(predicate, 32, Y1); \
	MASK32(predicate, 64, Y2); \
	MASK32(predicate, 96, Y3); \
	STORE_TRUTHS;              \
	JGT loop;                  \
	VZEROUPPER;                \
	RET

#define COMPARE64(predicate) \
	COMPARE_ARGS(3);                \
loop:                              \
	MASK64(predicate, 0, Y0, Y4);   \
	MASK64(predicate, 64, Y1, Y5);  \
	MASK64(predicate, 128, Y2, Y6); \
	MASK64(predicate, 192, Y3, Y7); \
	STORE_TRUTHS;                   \
	JGT loop;                       \
	VZEROUPPER;                     \
	RET

// The predicates are ordered and quiet, except 4, which is true if an operand is NaN.

// func equal32(dst, x, y unsafe.Pointer, n, xstep, ystep int)
TEXT ·equal32(SB), NOSPLIT, $0-48
	COMPARE32(0)

// func unequal32(dst, x, y unsafe.Pointer, n, xstep, ystep int)
TEXT ·unequal32(SB), NOSPLIT, $0-48
	COMPARE32(4)

// func less32(dst, x, y unsafe.Pointer, n, xstep, ystep int)
TEXT ·less32(SB), NOSPLIT, $0-48
	COMPARE32(17)

// func lessEqual32(dst, x, y unsafe.Pointer, n, xstep, ystep int)
TEXT ·lessEqual32(SB), NOSPLIT, $0-48
	COMPARE32(18)

// func equal64(dst, x, y unsafe.Pointer, n, xstep, ystep int)
TEXT ·equal64(SB), NOSPLIT, $0-48
	COMPARE64(0)

// func unequal64(dst, x, y unsafe.Pointer, n, xstep, ystep int)
TEXT ·unequal64(SB), NOSPLIT, $0-48
	COMPARE64(4)

// func less64(dst, x, y unsafe.Pointer, n, xstep, ystep int)
TEXT ·less64(SB), NOSPLIT, $0-48
	COMPARE64(17)

// func lessEqual64(dst, x, y unsafe.Pointer, n, xstep, ystep int)
TEXT ·lessEqual64(SB), NOSPLIT, $0-48
	COMPARE64(18)
