//go:build !noasm

#include "textflag.h"

// The transposing packers read rows of k contiguous elements and write one column of the
// rows per step. Registers: SI, R9, R10, R11 rows; DI and DX destination of this step and
// of the fourth after it; R12 and R13 one and three steps of the destination in bytes. to
// and from are the logarithms of the elements' sizes.

#define ROWS(to, from) \
	MOVQ dst+0(FP), DI;        \
	MOVQ w+8(FP), R12;         \
	MOVQ src+16(FP), SI;       \
	MOVQ ld+24(FP), R8;        \
	MOVQ k+32(FP), CX;         \
	SHLQ $to, R12;             \
	SHLQ $from, R8;            \
	LEAQ (R12)(R12*2), R13;    \
	LEAQ (SI)(R8*1), R9;       \
	LEAQ (R9)(R8*1), R10;      \
	LEAQ (R10)(R8*1), R11

// Copies the steps of a panel whose elements are contiguous in the source: R12 is the
// number of groups of sixteen elements per step, R8 the bytes from one step of the source
// to the next.

#define STEPS \
	MOVQ  dst+0(FP), DI;  \
	MOVQ  w+8(FP), R12;   \
	MOVQ  src+16(FP), SI; \
	MOVQ  step+24(FP), R8; \
	MOVQ  k+32(FP), CX;   \
	SHRQ  $4, R12;        \
	SHLQ  $1, R8;         \
	TESTQ CX, CX

// The arguments of the converters: n elements, a multiple of the vector length.

#define ARGS \
	MOVQ dst+0(FP), DI; \
	MOVQ src+8(FP), SI; \
	MOVQ n+16(FP), CX

// The arguments of a block of rows: R11 groups of eight elements per row, R8 and R9 bytes
// from one row to the next.

#define BLOCK \
	MOVQ  dst+0(FP), DI;   \
	MOVQ  ldd+8(FP), R8;   \
	MOVQ  src+16(FP), SI;  \
	MOVQ  lds+24(FP), R9;  \
	MOVQ  rows+32(FP), R10; \
	MOVQ  cols+40(FP), R11; \
	SHLQ  $1, R8;          \
	SHLQ  $2, R9;          \
	SHRQ  $3, R11

// func packRows4f32(dst *float32, w int, src *float32, ld, k int)
TEXT ·packRows4f32(SB), NOSPLIT, $0-40
	ROWS(2, 2)
	SHRQ $3, CX
	JZ   done

loop:
	VMOVUPS      (SI), Y0
	VMOVUPS      (R9), Y1
	VMOVUPS      (R10), Y2
	VMOVUPS      (R11), Y3
	LEAQ         (DI)(R12*4), DX
	VUNPCKLPS    Y1, Y0, Y4
	VUNPCKHPS    Y1, Y0, Y5
	VUNPCKLPS    Y3, Y2, Y6
	VUNPCKHPS    Y3, Y2, Y7
	VUNPCKLPD    Y6, Y4, Y0
	VUNPCKHPD    Y6, Y4, Y1
	VUNPCKLPD    Y7, Y5, Y2
	VUNPCKHPD    Y7, Y5, Y3
	VMOVUPS      X0, (DI)
	VMOVUPS      X1, (DI)(R12*1)
	VMOVUPS      X2, (DI)(R12*2)
	VMOVUPS      X3, (DI)(R13*1)
	VEXTRACTF128 $1, Y0, (DX)
	VEXTRACTF128 $1, Y1, (DX)(R12*1)
	VEXTRACTF128 $1, Y2, (DX)(R12*2)
	VEXTRACTF128 $1, Y3, (DX)(R13*1)
	LEAQ         (DX)(R12*4), DI
	ADDQ         $32, SI
	ADDQ         $32, R9
	ADDQ         $32, R10
	ADDQ         $32, R11
	DECQ         CX
	JNZ          loop

done:
	VZEROUPPER
	RET

// func packRows16f32(dst *float32, w int, src *float32, ld, k int)
//
// Four rows that are four apart are loaded into the quarters of a register, and complete
// cache lines are written.
TEXT ·packRows16f32(SB), NOSPLIT, $0-40
	ROWS(2, 2)
	MOVQ R9, AX              // of rows 0 to 3: SI, AX, R10, R11
	LEAQ (R8)(R8*2), R14
	SHLQ $2, R14             // bytes of twelve rows
	LEAQ (R8*4), R9          // of four rows
	SHLQ $3, R8              // of eight rows
	SHRQ $2, CX
	JZ   done

loop:
	VMOVUPS      (SI), X0
	VMOVUPS      (AX), X1
	VMOVUPS      (R10), X2
	VMOVUPS      (R11), X3
	VINSERTF32X4 $1, (SI)(R9*1), Z0, Z0
	VINSERTF32X4 $1, (AX)(R9*1), Z1, Z1
	VINSERTF32X4 $1, (R10)(R9*1), Z2, Z2
	VINSERTF32X4 $1, (R11)(R9*1), Z3, Z3
	VINSERTF32X4 $2, (SI)(R8*1), Z0, Z0
	VINSERTF32X4 $2, (AX)(R8*1), Z1, Z1
	VINSERTF32X4 $2, (R10)(R8*1), Z2, Z2
	VINSERTF32X4 $2, (R11)(R8*1), Z3, Z3
	VINSERTF32X4 $3, (SI)(R14*1), Z0, Z0
	VINSERTF32X4 $3, (AX)(R14*1), Z1, Z1
	VINSERTF32X4 $3, (R10)(R14*1), Z2, Z2
	VINSERTF32X4 $3, (R11)(R14*1), Z3, Z3
	VUNPCKLPS    Z1, Z0, Z4
	VUNPCKHPS    Z1, Z0, Z5
	VUNPCKLPS    Z3, Z2, Z6
	VUNPCKHPS    Z3, Z2, Z7
	VUNPCKLPD    Z6, Z4, Z0
	VUNPCKHPD    Z6, Z4, Z1
	VUNPCKLPD    Z7, Z5, Z2
	VUNPCKHPD    Z7, Z5, Z3
	VMOVUPS      Z0, (DI)
	VMOVUPS      Z1, (DI)(R12*1)
	VMOVUPS      Z2, (DI)(R12*2)
	VMOVUPS      Z3, (DI)(R13*1)
	LEAQ         (DI)(R12*4), DI
	ADDQ         $16, SI
	ADDQ         $16, AX
	ADDQ         $16, R10
	ADDQ         $16, R11
	DECQ         CX
	JNZ          loop

done:
	VZEROUPPER
	RET

// func packRows2f32(dst *float32, w int, src *float32, ld, k int)
TEXT ·packRows2f32(SB), NOSPLIT, $0-40
	ROWS(2, 2)
	SHRQ $2, CX
	JZ   done

loop:
	VMOVUPS   (SI), X0
	VMOVUPS   (R9), X1
	VUNPCKLPS X1, X0, X2
	VUNPCKHPS X1, X0, X3
	VMOVLPS   X2, (DI)
	VMOVHPS   X2, (DI)(R12*1)
	VMOVLPS   X3, (DI)(R12*2)
	VMOVHPS   X3, (DI)(R13*1)
	LEAQ      (DI)(R12*4), DI
	ADDQ      $16, SI
	ADDQ      $16, R9
	DECQ      CX
	JNZ       loop

done:
	RET

// func packRows4f16(dst *float32, w int, src *uint16, ld, k int)
TEXT ·packRows4f16(SB), NOSPLIT, $0-40
	ROWS(2, 1)
	SHRQ $3, CX
	JZ   done

loop:
	VCVTPH2PS    (SI), Y0
	VCVTPH2PS    (R9), Y1
	VCVTPH2PS    (R10), Y2
	VCVTPH2PS    (R11), Y3
	LEAQ         (DI)(R12*4), DX
	VUNPCKLPS    Y1, Y0, Y4
	VUNPCKHPS    Y1, Y0, Y5
	VUNPCKLPS    Y3, Y2, Y6
	VUNPCKHPS    Y3, Y2, Y7
	VUNPCKLPD    Y6, Y4, Y0
	VUNPCKHPD    Y6, Y4, Y1
	VUNPCKLPD    Y7, Y5, Y2
	VUNPCKHPD    Y7, Y5, Y3
	VMOVUPS      X0, (DI)
	VMOVUPS      X1, (DI)(R12*1)
	VMOVUPS      X2, (DI)(R12*2)
	VMOVUPS      X3, (DI)(R13*1)
	VEXTRACTF128 $1, Y0, (DX)
	VEXTRACTF128 $1, Y1, (DX)(R12*1)
	VEXTRACTF128 $1, Y2, (DX)(R12*2)
	VEXTRACTF128 $1, Y3, (DX)(R13*1)
	LEAQ         (DX)(R12*4), DI
	ADDQ         $16, SI
	ADDQ         $16, R9
	ADDQ         $16, R10
	ADDQ         $16, R11
	DECQ         CX
	JNZ          loop

done:
	VZEROUPPER
	RET

// func packRows4bf16(dst *float32, w int, src *uint16, ld, k int)
TEXT ·packRows4bf16(SB), NOSPLIT, $0-40
	ROWS(2, 1)
	SHRQ $3, CX
	JZ   done

loop:
	VPMOVZXWD    (SI), Y0
	VPMOVZXWD    (R9), Y1
	VPMOVZXWD    (R10), Y2
	VPMOVZXWD    (R11), Y3
	VPSLLD       $16, Y0, Y0
	VPSLLD       $16, Y1, Y1
	VPSLLD       $16, Y2, Y2
	VPSLLD       $16, Y3, Y3
	LEAQ         (DI)(R12*4), DX
	VUNPCKLPS    Y1, Y0, Y4
	VUNPCKHPS    Y1, Y0, Y5
	VUNPCKLPS    Y3, Y2, Y6
	VUNPCKHPS    Y3, Y2, Y7
	VUNPCKLPD    Y6, Y4, Y0
	VUNPCKHPD    Y6, Y4, Y1
	VUNPCKLPD    Y7, Y5, Y2
	VUNPCKHPD    Y7, Y5, Y3
	VMOVUPS      X0, (DI)
	VMOVUPS      X1, (DI)(R12*1)
	VMOVUPS      X2, (DI)(R12*2)
	VMOVUPS      X3, (DI)(R13*1)
	VEXTRACTF128 $1, Y0, (DX)
	VEXTRACTF128 $1, Y1, (DX)(R12*1)
	VEXTRACTF128 $1, Y2, (DX)(R12*2)
	VEXTRACTF128 $1, Y3, (DX)(R13*1)
	LEAQ         (DX)(R12*4), DI
	ADDQ         $16, SI
	ADDQ         $16, R9
	ADDQ         $16, R10
	ADDQ         $16, R11
	DECQ         CX
	JNZ          loop

done:
	VZEROUPPER
	RET

// func packStepsF16(dst *float32, w int, src *uint16, step, k int)
TEXT ·packStepsF16(SB), NOSPLIT, $0-40
	STEPS
	JZ done

step:
	MOVQ SI, AX
	MOVQ R12, BX

loop:
	VCVTPH2PS (AX), Y0
	VCVTPH2PS 16(AX), Y1
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	ADDQ $32, AX
	ADDQ $64, DI
	DECQ BX
	JNZ  loop
	ADDQ R8, SI
	DECQ CX
	JNZ  step

done:
	VZEROUPPER
	RET

// func packStepsBF16(dst *float32, w int, src *uint16, step, k int)
TEXT ·packStepsBF16(SB), NOSPLIT, $0-40
	STEPS
	JZ done

step:
	MOVQ SI, AX
	MOVQ R12, BX

loop:
	VPMOVZXWD (AX), Y0
	VPMOVZXWD 16(AX), Y1
	VPSLLD $16, Y0, Y0
	VPSLLD $16, Y1, Y1
	VMOVUPS Y0, (DI)
	VMOVUPS Y1, 32(DI)
	ADDQ $32, AX
	ADDQ $64, DI
	DECQ BX
	JNZ  loop
	ADDQ R8, SI
	DECQ CX
	JNZ  step

done:
	VZEROUPPER
	RET

// func packRows4f64(dst *float64, w int, src *float64, ld, k int)
TEXT ·packRows4f64(SB), NOSPLIT, $0-40
	ROWS(3, 3)
	SHRQ $2, CX
	JZ   done

loop:
	VMOVUPD    (SI), Y0
	VMOVUPD    (R9), Y1
	VMOVUPD    (R10), Y2
	VMOVUPD    (R11), Y3
	VUNPCKLPD  Y1, Y0, Y4
	VUNPCKHPD  Y1, Y0, Y5
	VUNPCKLPD  Y3, Y2, Y6
	VUNPCKHPD  Y3, Y2, Y7
	VPERM2F128 $0x20, Y6, Y4, Y0
	VPERM2F128 $0x20, Y7, Y5, Y1
	VPERM2F128 $0x31, Y6, Y4, Y2
	VPERM2F128 $0x31, Y7, Y5, Y3
	VMOVUPD    Y0, (DI)
	VMOVUPD    Y1, (DI)(R12*1)
	VMOVUPD    Y2, (DI)(R12*2)
	VMOVUPD    Y3, (DI)(R13*1)
	LEAQ       (DI)(R12*4), DI
	ADDQ       $32, SI
	ADDQ       $32, R9
	ADDQ       $32, R10
	ADDQ       $32, R11
	DECQ       CX
	JNZ        loop

done:
	VZEROUPPER
	RET

// func packRows2f64(dst *float64, w int, src *float64, ld, k int)
TEXT ·packRows2f64(SB), NOSPLIT, $0-40
	ROWS(3, 3)
	SHRQ $1, CX
	JZ   done

loop:
	VMOVUPD   (SI), X0
	VMOVUPD   (R9), X1
	VUNPCKLPD X1, X0, X2
	VUNPCKHPD X1, X0, X3
	VMOVUPD   X2, (DI)
	VMOVUPD   X3, (DI)(R12*1)
	LEAQ      (DI)(R12*2), DI
	ADDQ      $16, SI
	ADDQ      $16, R9
	DECQ      CX
	JNZ       loop

done:
	RET

// func loadF16(dst *float32, src *uint16, n int)
TEXT ·loadF16(SB), NOSPLIT, $0-24
	ARGS
	SHRQ $3, CX
	JZ   done

loop:
	VCVTPH2PS (SI), Y0
	VMOVUPS   Y0, (DI)
	ADDQ      $16, SI
	ADDQ      $32, DI
	DECQ      CX
	JNZ       loop

done:
	VZEROUPPER
	RET

// func storeF16(dst *uint16, src *float32, n int)
TEXT ·storeF16(SB), NOSPLIT, $0-24
	ARGS
	SHRQ $3, CX
	JZ   done

loop:
	VMOVUPS   (SI), Y0
	VCVTPS2PH $0, Y0, (DI)
	ADDQ      $32, SI
	ADDQ      $16, DI
	DECQ      CX
	JNZ       loop

done:
	VZEROUPPER
	RET

// func loadBF16(dst *float32, src *uint16, n int)
TEXT ·loadBF16(SB), NOSPLIT, $0-24
	ARGS
	SHRQ $3, CX
	JZ   done

loop:
	VPMOVZXWD (SI), Y0
	VPSLLD    $16, Y0, Y0
	VMOVDQU   Y0, (DI)
	ADDQ      $16, SI
	ADDQ      $32, DI
	DECQ      CX
	JNZ       loop

done:
	VZEROUPPER
	RET

// func loadI8(dst *float32, src *int8, n int)
TEXT ·loadI8(SB), NOSPLIT, $0-24
	ARGS
	SHRQ $3, CX
	JZ   done

loop:
	VPMOVSXBD (SI), Y0
	VCVTDQ2PS Y0, Y0
	VMOVUPS   Y0, (DI)
	ADDQ      $8, SI
	ADDQ      $32, DI
	DECQ      CX
	JNZ       loop

done:
	VZEROUPPER
	RET

// func loadU8(dst *float32, src *uint8, n int)
TEXT ·loadU8(SB), NOSPLIT, $0-24
	ARGS
	SHRQ $3, CX
	JZ   done

loop:
	VPMOVZXBD (SI), Y0
	VCVTDQ2PS Y0, Y0
	VMOVUPS   Y0, (DI)
	ADDQ      $8, SI
	ADDQ      $32, DI
	DECQ      CX
	JNZ       loop

done:
	VZEROUPPER
	RET

// func addI32(dst *int32, src *float32, n int)
TEXT ·addI32(SB), NOSPLIT, $0-24
	ARGS
	SHRQ $3, CX
	JZ   done

loop:
	VCVTTPS2DQ (SI), Y0
	VPADDD     (DI), Y0, Y0
	VMOVDQU    Y0, (DI)
	ADDQ       $32, SI
	ADDQ       $32, DI
	DECQ       CX
	JNZ        loop

done:
	VZEROUPPER
	RET

// func splitC64(re, im *float32, src *complex64, n int)
TEXT ·splitC64(SB), NOSPLIT, $0-32
	MOVQ re+0(FP), DI
	MOVQ im+8(FP), DX
	MOVQ src+16(FP), SI
	MOVQ n+24(FP), CX
	SHRQ $3, CX
	JZ   done

loop:
	VMOVUPS (SI), Y0
	VMOVUPS 32(SI), Y1
	VSHUFPS $0x88, Y1, Y0, Y2
	VSHUFPS $0xDD, Y1, Y0, Y3
	VPERMPD $0xD8, Y2, Y2
	VPERMPD $0xD8, Y3, Y3
	VMOVUPS Y2, (DI)
	VMOVUPS Y3, (DX)
	ADDQ    $64, SI
	ADDQ    $32, DI
	ADDQ    $32, DX
	DECQ    CX
	JNZ     loop

done:
	VZEROUPPER
	RET

// func splitC128(re, im *float64, src *complex128, n int)
TEXT ·splitC128(SB), NOSPLIT, $0-32
	MOVQ re+0(FP), DI
	MOVQ im+8(FP), DX
	MOVQ src+16(FP), SI
	MOVQ n+24(FP), CX
	SHRQ $2, CX
	JZ   done

loop:
	VMOVUPD   (SI), Y0
	VMOVUPD   32(SI), Y1
	VUNPCKLPD Y1, Y0, Y2
	VUNPCKHPD Y1, Y0, Y3
	VPERMPD   $0xD8, Y2, Y2
	VPERMPD   $0xD8, Y3, Y3
	VMOVUPD   Y2, (DI)
	VMOVUPD   Y3, (DX)
	ADDQ      $64, SI
	ADDQ      $32, DI
	ADDQ      $32, DX
	DECQ      CX
	JNZ       loop

done:
	VZEROUPPER
	RET

// func joinC64(dst *complex64, re, im *float32, n int)
TEXT ·joinC64(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ re+8(FP), SI
	MOVQ im+16(FP), DX
	MOVQ n+24(FP), CX
	SHRQ $3, CX
	JZ   done

loop:
	VMOVUPS    (SI), Y0
	VMOVUPS    (DX), Y1
	VUNPCKLPS  Y1, Y0, Y2
	VUNPCKHPS  Y1, Y0, Y3
	VPERM2F128 $0x20, Y3, Y2, Y0
	VPERM2F128 $0x31, Y3, Y2, Y1
	VMOVUPS    Y0, (DI)
	VMOVUPS    Y1, 32(DI)
	ADDQ       $32, SI
	ADDQ       $32, DX
	ADDQ       $64, DI
	DECQ       CX
	JNZ        loop

done:
	VZEROUPPER
	RET

// func joinC128(dst *complex128, re, im *float64, n int)
TEXT ·joinC128(SB), NOSPLIT, $0-32
	MOVQ dst+0(FP), DI
	MOVQ re+8(FP), SI
	MOVQ im+16(FP), DX
	MOVQ n+24(FP), CX
	SHRQ $2, CX
	JZ   done

loop:
	VMOVUPD    (SI), Y0
	VMOVUPD    (DX), Y1
	VUNPCKLPD  Y1, Y0, Y2
	VUNPCKHPD  Y1, Y0, Y3
	VPERM2F128 $0x20, Y3, Y2, Y0
	VPERM2F128 $0x31, Y3, Y2, Y1
	VMOVUPD    Y0, (DI)
	VMOVUPD    Y1, 32(DI)
	ADDQ       $32, SI
	ADDQ       $32, DX
	ADDQ       $64, DI
	DECQ       CX
	JNZ        loop

done:
	VZEROUPPER
	RET

// func storeBF16(dst *bfloat16.BFloat16, src *float32, n int)
//
// Round to nearest even: add 0x7fff and the last kept bit, then truncate. A NaN
// is truncated and made quiet instead.
TEXT ·storeBF16(SB), NOSPLIT, $0-24
	ARGS
	MOVL         $1, AX
	VMOVD        AX, X4
	VPBROADCASTD X4, Y4
	MOVL         $0x7fff, AX
	VMOVD        AX, X5
	VPBROADCASTD X5, Y5
	MOVL         $0x40, AX
	VMOVD        AX, X6
	VPBROADCASTD X6, Y6
	SHRQ         $3, CX
	JZ           done

loop:
	VMOVUPS      (SI), Y0
	VPSRLD       $16, Y0, Y1
	VPAND        Y4, Y1, Y2
	VPOR         Y6, Y1, Y1
	VPADDD       Y5, Y2, Y2
	VPADDD       Y0, Y2, Y2
	VPSRLD       $16, Y2, Y2
	VCMPPS       $3, Y0, Y0, Y3
	VBLENDVPS    Y3, Y1, Y2, Y2
	VEXTRACTI128 $1, Y2, X3
	VPACKUSDW    X3, X2, X2
	VMOVDQU      X2, (DI)
	ADDQ         $32, SI
	ADDQ         $16, DI
	DECQ         CX
	JNZ          loop

done:
	VZEROUPPER
	RET

// func narrowF16(dst *uint16, ldd int, src *float32, lds, rows, cols int)
TEXT ·narrowF16(SB), NOSPLIT, $0-48
	BLOCK

row:
	MOVQ DI, AX
	MOVQ SI, BX
	MOVQ R11, CX

loop:
	VMOVUPS   (BX), Y0
	VCVTPS2PH $0, Y0, (AX)
	ADDQ      $32, BX
	ADDQ      $16, AX
	DECQ      CX
	JNZ       loop
	ADDQ      R8, DI
	ADDQ      R9, SI
	DECQ      R10
	JNZ       row
	VZEROUPPER
	RET

// func narrowBF16(dst *uint16, ldd int, src *float32, lds, rows, cols int)
//
// Applies storeBF16 to every row.
TEXT ·narrowBF16(SB), NOSPLIT, $0-48
	MOVL         $1, AX
	VMOVD        AX, X4
	VPBROADCASTD X4, Y4
	MOVL         $0x7fff, AX
	VMOVD        AX, X5
	VPBROADCASTD X5, Y5
	MOVL         $0x40, AX
	VMOVD        AX, X6
	VPBROADCASTD X6, Y6
	BLOCK

row:
	MOVQ DI, AX
	MOVQ SI, BX
	MOVQ R11, CX

loop:
	VMOVUPS      (BX), Y0
	VPSRLD       $16, Y0, Y1
	VPAND        Y4, Y1, Y2
	VPOR         Y6, Y1, Y1
	VPADDD       Y5, Y2, Y2
	VPADDD       Y0, Y2, Y2
	VPSRLD       $16, Y2, Y2
	VCMPPS       $3, Y0, Y0, Y3
	VBLENDVPS    Y3, Y1, Y2, Y2
	VEXTRACTI128 $1, Y2, X3
	VPACKUSDW    X3, X2, X2
	VMOVDQU      X2, (AX)
	ADDQ         $32, BX
	ADDQ         $16, AX
	DECQ         CX
	JNZ          loop
	ADDQ         R8, DI
	ADDQ         R9, SI
	DECQ         R10
	JNZ          row
	VZEROUPPER
	RET
