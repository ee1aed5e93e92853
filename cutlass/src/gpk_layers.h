/* gpk_layers.h: the part of libgpk.so's C ABI that computes layers of neural networks other than attention. It is
 * separate from gpk.h, so that a change here recompiles only one unit.
 *
 * An entry point has a structure as its argument. The first member is the structure's size, which is its version:
 * members are appended, and an entry point rejects an unknown size. Types are GPK_F32, GPK_F64, GPK_F16 and
 * GPK_BF16. Except in gpk_pool and gpk_rope, lines and weights must be aligned to 16 bytes, and their length must
 * be a multiple of 16 bytes; otherwise the code is GPK_ERR_UNSUPPORTED. */
#ifndef GPK_LAYERS_H
#define GPK_LAYERS_H
#include "gpk_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The maximum number of tables of a gpk_embed_norm. */
#define GPK_EMBED_TABLES 4

/* Line i of dst, which is dense, is LayerNorm of the sum of one row of each table: row ids[t][i] of table t. The
 * rows are added in order. Each sum is rounded to `type`, as by separate additions. The norm has the bits of
 * gpk_line's. If ids[t] is 0, every line reads row 0 of table t. Negative indices count from the end. gamma and
 * beta may be 0.
 *
 * An index outside a table reads row 0. If flags is not 0, it is the address of an int64 that is initially 0. That
 * becomes the maximum over all such indices of
 *     (t + 1) 2^48 + the lower 48 bits of the index, clamped to 48 bits with sign. */
typedef struct gpk_embed_norm_args {
  uint64_t size; /* sizeof(gpk_embed_norm_args) */
  uint64_t stream;
  uint64_t table[GPK_EMBED_TABLES], ids[GPK_EMBED_TABLES];
  int64_t rows[GPK_EMBED_TABLES];  /* of a table */
  int64_t pitch[GPK_EMBED_TABLES]; /* elements from one row of a table to the next */
  uint64_t gamma, beta, dst, flags;
  int64_t lines, n;
  double eps;
  int32_t device, type;
  int32_t tables;
  int32_t wide; /* bit t: ids[t] are int64, else int32; both are dense */
} gpk_embed_norm_args;

GPK_API int gpk_embed_norm(gpk_embed_norm_args const* args);

/* Line i of dst is the mean of the rows offsets[i] to offsets[i + 1] of x, or the first of them (first). If
 * normalize is set, it is divided by the larger of its length and 1e-12. dst is dense, float64 for GPK_F64 and
 * otherwise float32. Sums are float64 and rounded once. A sequence without rows gives zeros. offsets has batch + 1
 * int32, which are clamped to 0 ... rows. batch is less than 2^28.
 *
 * If flags is not 0, it is the address of an int64 that is initially 0. That becomes the maximum over all errors in
 * offsets of
 *     (4 - kind) 2^60 + (2^28 - 1 - index of the offset) 2^32 + the offset's 32 bits
 * where kind is one of GPK_OFFSETS_* of gpk_attention.h. */
typedef struct gpk_pool_args {
  uint64_t size; /* sizeof(gpk_pool_args) */
  uint64_t stream;
  uint64_t x, offsets, dst, flags;
  int64_t pitch; /* elements from one row of x to the next */
  int64_t rows, n, batch;
  int32_t device, type;
  int32_t first, normalize;
} gpk_pool_args;

GPK_API int gpk_pool(gpk_pool_args const* args);

/* sum = x + residual, rounded to `type`, and normed = RMSNorm(sum) gamma. Both have the bits of gpk_binary and
 * gpk_line. sum and normed are dense and must not overlap other operands. gamma may be 0. */
typedef struct gpk_norm_residual_args {
  uint64_t size; /* sizeof(gpk_norm_residual_args) */
  uint64_t stream;
  uint64_t x, residual, gamma, sum, normed;
  int64_t x_pitch, residual_pitch; /* elements from one line to the next */
  int64_t lines, n;
  double eps;
  int32_t device, type;
} gpk_norm_residual_args;

GPK_API int gpk_norm_residual(gpk_norm_residual_args const* args);

/* The maximum number of pairs of features per line that gpk_rope rotates. */
#define GPK_ROPE_PAIRS 128

/* out is x, [batch, heads, rows, dim], with `pairs` pairs of features of each line rotated. The angle of pair i is
 * a = p frequencies[i], where p is the position of the line's row:
 *     x1 cos a - x2 sin a,  x2 cos a + x1 sin a
 * Pair i consists of the features i and i + pairs or, if interleaved is set, 2i and 2i + 1. Other features are
 * copied. Angles, sines, cosines, products and sums are float64. They are rounded once to float64 or float32, and
 * from float32 to a half type. Strides count elements. Operands need only the alignment of an element. If positions
 * is 0, p is the row. frequencies are in host memory and are read before the call returns. out must not overlap an
 * operand. */
typedef struct gpk_rope_args {
  uint64_t size; /* sizeof(gpk_rope_args) */
  uint64_t stream;
  uint64_t x, out, positions;
  int64_t x_stride[4], out_stride[4]; /* of batch, heads, rows and dim */
  int64_t position_batch, position_row;
  int64_t batch, heads, rows, dim, pairs;
  int32_t device, type;
  int32_t interleaved;
  int32_t wide; /* positions are int64, else int32 */
} gpk_rope_args;

GPK_API int gpk_rope(gpk_rope_args const* args, double const* frequencies);

#ifdef __cplusplus
}
#endif
#endif
