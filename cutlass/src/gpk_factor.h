/* gpk_factor.h: the part of libgpk.so's C ABI that factors matrices and solves triangular systems. It is a separate
 * header so that a change here recompiles only one unit. Codes are those of gpk.h.
 *
 * One entry point takes a structure, whose first member is its size, which is its version: members are appended,
 * and the entry point rejects an unknown size. Types are GPK_F32, GPK_F64, GPK_C64 and GPK_C128. Strides count
 * elements and may be negative: element (i, j) of member k of an operand x is at x + k x_member + i x_row + j x_col.
 * No call waits; the bits of the results do not depend on timing.
 *
 * Failures are collected in two int64 at flags, which GPK_FACTOR_BEGIN sets before the first call of a
 * factorization: flags[0] becomes the smallest of
 *     member 2^32 + order
 * over the matrices whose leading minor of that order, from 1, is not positive, or (LU) whose pivot order - 1 is
 * zero. An element that is NaN or infinite makes a leading minor not positive. */
#ifndef GPK_FACTOR_H
#define GPK_FACTOR_H
#include "gpk_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPK_FACTOR_NONE 0x7f7f7f7f7f7f7f7f

/* The order up to which GPK_FACTOR_CHOLESKY_SMALL takes matrices. */
#define GPK_FACTOR_SMALL 64

/* The rows of a row block, at least: GPK_FACTOR_CHOLESKY needs 1 + batch ceil(rows / GPK_FACTOR_BLOCK) int32 of
 * workspace. */
#define GPK_FACTOR_BLOCK 32

/* The rows that GPK_FACTOR_LU takes, and its workspace. */
#define GPK_FACTOR_LU_ROWS 8192
#define GPK_FACTOR_LU_BYTES 2048

enum {
  /* Sets both flags to GPK_FACTOR_NONE. */
  GPK_FACTOR_BEGIN = 1,
  /* b = the lower triangle of a, rows x cols, and zeros above; with GPK_FACTOR_CONJ of its conjugate. */
  GPK_FACTOR_LOWER,
  /* b -= a on and below the diagonal; rows x cols, rows dense. */
  GPK_FACTOR_SUBTRACT_LOWER,
  /* The first cols rows of a, rows x cols with rows >= cols and a_col = 1, hold a Hermitian matrix in their lower
   * triangle. They become its Cholesky factor L, lower triangular, and the rows R below become R L^-H. Elements
   * above the diagonal are not changed. first is the number of columns factored before, which failures count from. */
  GPK_FACTOR_CHOLESKY,
  /* b = L, with zeros above the diagonal, for each matrix a of order rows <= GPK_FACTOR_SMALL, of which the lower
   * triangle is read; with GPK_FACTOR_CONJ its conjugate, and the conjugate of L is written. */
  GPK_FACTOR_CHOLESKY_SMALL,
  /* b = a^-1 b for a triangular a of order rows, and cols columns of b; a is lower triangular or, with
   * GPK_FACTOR_UPPER, upper; GPK_FACTOR_CONJ: its conjugate. GPK_FACTOR_UNIT: the diagonal counts as 1. */
  GPK_FACTOR_SOLVE,
  /* As GPK_FACTOR_SOLVE, with the inverses of the diagonal blocks of `first` rows, of which the last may have fewer:
   * that of the block from row k on is at c + k first, with c_row and c_col. The solution is written to d, dense rows
   * x cols with cols <= 4, and b is overwritten. With GPK_FACTOR_CONJ the conjugates of a and c are read. */
  GPK_FACTOR_SOLVE_INVERSES,
  /* a, rows x cols with a_col = 1, becomes L below its diagonal, which is 1, and U on and above it, with partial
   * pivoting by |re| + |im|. c receives int64, rows of c_member: row i of L U is row c[i] of the matrix. Needs clusters,
   * rows <= GPK_FACTOR_LU_ROWS and GPK_FACTOR_LU_BYTES of workspace a matrix. */
  GPK_FACTOR_LU
};

enum { GPK_FACTOR_CONJ = 1, GPK_FACTOR_UPPER = 2, GPK_FACTOR_UNIT = 4 };

typedef struct gpk_factor_args {
  uint64_t size; /* sizeof(gpk_factor_args) */
  uint64_t stream;
  uint64_t a, b, c, d;
  uint64_t flags;
  uint64_t workspace;
  int64_t workspace_bytes;
  int64_t rows, cols, batch, first;
  int64_t a_row, a_col, a_member;
  int64_t b_row, b_col, b_member;
  int64_t c_row, c_col, c_member;
  int64_t d_member;
  int32_t device, type, op, bits;
} gpk_factor_args;

GPK_API int gpk_factor(gpk_factor_args const* args);

#ifdef __cplusplus
}
#endif
#endif
