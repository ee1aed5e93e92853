/* gpk_factor.h: the part of libgpk.so's C ABI that factors matrices and solves triangular systems. It is a separate
 * header so that a change here recompiles only one unit. Codes are those of gpk.h.
 *
 * The arguments are in a structure. Its first member is its size, which serves as the version: new members are appended,
 * and the entry point rejects an unknown size. Types are GPK_F32, GPK_F64, GPK_C64 and GPK_C128. Strides count
 * elements and may be negative: element (i, j) of member k of an operand x is at x + k x_member + i x_row + j x_col.
 * No call synchronizes. The bits of the results do not depend on timing.
 *
 * Failures are collected in two int64 at flags, which GPK_FACTOR_BEGIN sets before the first call of a
 * factorization: flags[0] becomes the smallest of
 *     member 2^32 + order
 * over the failed matrices. order is that of the first leading minor that is not positive, from 1; for LU, pivot
 * order - 1 is zero. A leading minor with a NaN or an infinity is not positive. */
#ifndef GPK_FACTOR_H
#define GPK_FACTOR_H
#include "gpk_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

#define GPK_FACTOR_NONE 0x7f7f7f7f7f7f7f7f

/* The largest order for GPK_FACTOR_CHOLESKY_SMALL, and the largest matrix that GPK_FACTOR_LU factors in one CTA. */
#define GPK_FACTOR_SMALL 64

/* The least number of rows of a row block. GPK_FACTOR_CHOLESKY needs 1 + batch ceil(rows / GPK_FACTOR_BLOCK) int32 of
 * workspace. */
#define GPK_FACTOR_BLOCK 32

/* The largest number of rows for GPK_FACTOR_LU, and its workspace in bytes per matrix. */
#define GPK_FACTOR_LU_ROWS 8192
#define GPK_FACTOR_LU_BYTES 2048

enum {
  /* Sets both flags to GPK_FACTOR_NONE. */
  GPK_FACTOR_BEGIN = 1,
  /* b = the lower triangle of a, rows x cols, with zeros above; GPK_FACTOR_CONJ: of the conjugate of a. */
  GPK_FACTOR_LOWER,
  /* b -= a on and below the diagonal; rows x cols, rows dense. */
  GPK_FACTOR_SUBTRACT_LOWER,
  /* a is rows x cols with rows >= cols and a_col = 1. The lower triangle of its first cols rows is that of a Hermitian
   * matrix, and becomes its Cholesky factor L. The rows R below become R L^-H. Elements above the diagonal do not change.
   * first is the number of columns that were factored before; it is added to the order of a failure. */
  GPK_FACTOR_CHOLESKY,
  /* b = L, with zeros above the diagonal, for matrices a of order rows <= GPK_FACTOR_SMALL, of which only the lower
   * triangle is read. GPK_FACTOR_CONJ: the conjugate of a is factored, and the conjugate of its factor is written. */
  GPK_FACTOR_CHOLESKY_SMALL,
  /* b = a^-1 b for a lower triangular a of order rows, and b of cols columns. GPK_FACTOR_UPPER: a is upper triangular.
   * GPK_FACTOR_CONJ: the conjugate of a is used. GPK_FACTOR_UNIT: the diagonal is taken as 1. */
  GPK_FACTOR_SOLVE,
  /* As GPK_FACTOR_SOLVE, with the inverses of a's diagonal blocks of `first` rows (the last one may have fewer). The
   * inverse of the block from row k on is at c + k first, with the strides c_row and c_col. The solution is written to d,
   * dense rows x cols with cols <= 4, and b is overwritten. GPK_FACTOR_CONJ: the conjugates of a and c are used. */
  GPK_FACTOR_SOLVE_INVERSES,
  /* a, rows x cols with a_col = 1, is replaced by L below its diagonal, without L's unit diagonal, and U on and above it,
   * with partial pivoting by |re| + |im|. c is int64, rows per matrix with the stride c_member: row i of L U is row c[i]
   * of the matrix. If there are more than GPK_FACTOR_SMALL rows or columns, it requires thread block clusters and
   * rows <= GPK_FACTOR_LU_ROWS. */
  GPK_FACTOR_LU,
  /* a is a square matrix after GPK_FACTOR_LU, with rows <= GPK_FACTOR_SMALL, and c is the order of its rows. If d is 0, the
   * determinant of the matrix is written to b. Otherwise its sign, a number of absolute value 1 or 0, is written to b, and
   * the natural logarithm of its absolute value, of the real type, to d. b and d have one element for each matrix. */
  GPK_FACTOR_DET
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
