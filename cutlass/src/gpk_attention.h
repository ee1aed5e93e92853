/* gpk_attention.h: the part of libgpk.so's C ABI that computes attention. It is separate from gpk.h, so that a
 * change here rebuilds only the attention kernels.
 *
 * These entry points take a structure because they have too many arguments for a flat list. Its first member is
 * its size, which is its version: members are appended, and an entry point refuses an unknown size. */
#ifndef GPK_ATTENTION_H
#define GPK_ATTENTION_H
#include "gpk_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The least number of queries for which the Hopper kernel computes a sequence. The choice of the kernel is a
 * function of the sequence alone, so that its bits do not depend on the batch. */
#define GPK_ATTENTION_LONG 256

/* The layout of an operand's rows. Distances count elements; the elements of a row are contiguous. A ragged
 * operand has no batch. */
typedef struct gpk_attention_rows {
  uint64_t data;
  int64_t batch, head, row;
} gpk_attention_rows;

/* out = softmax(scale q k^T + mask) v of every sequence and head.
 *
 * q is [batch, heads, queries, dim], k [batch, kv_heads, keys, dim], v [batch, kv_heads,
 * keys, value_dim] and out [batch, heads, queries, value_dim], all of `type`: GPK_F32, GPK_F16
 * or GPK_BF16. Query head h reads KV head h / (heads / kv_heads). Addresses need only the alignment of
 * their element; out overlaps no operand.
 *
 * causal: query i of n sees key j of m where j <= i + m - n. A key whose score is -Inf has no
 * weight, but a value that is not finite may spread to queries of the sequence that do not see it. Nothing
 * spreads from one sequence or head to another. A query that sees no key gives 0.
 *
 * offsets: not 0 for a ragged batch: batch + 1 int32 on the device. q is then [heads, queries, dim], and so on,
 * queries and keys count all rows, and sequence i is the rows offsets[i] to offsets[i + 1] of all
 * operands. There is no mask. Offsets are clamped to 0 ... queries, so that bad ones touch nothing outside. */
typedef struct gpk_attention_args {
  uint64_t size; /* sizeof(gpk_attention_args) */
  uint64_t stream;
  gpk_attention_rows q, k, v, out;

  uint64_t mask; /* 0: none */
  int64_t mask_batch, mask_head, mask_row, mask_step; /* 0 where the mask is broadcast */

  uint64_t offsets, flags;
  /* For a ragged batch: sequences with fewer rows than shortest or more than longest are skipped, and computed by
   * another kernel of the same call. Callers of gpk_attention set shortest to 0, and longest to a number of rows
   * that no sequence exceeds, or INT64_MAX. A value below GPK_ATTENTION_LONG saves the launch of the kernel for long
   * sequences. */
  int64_t shortest, longest;

  int64_t batch, heads, kv_heads, queries, keys, dim, value_dim;
  double scale;

  uint64_t workspace; /* a multiple of 256 */
  int64_t workspace_bytes;

  int32_t device;
  int32_t type;
  int32_t mask_type; /* GPK_BOOL selects, GPK_F32 is added to the scaled scores */
  int32_t causal;
  int32_t full; /* of GPK_F32: not 0 for the error of IEEE float32 products, 0 for TF32's */
  int32_t reserved;
} gpk_attention_args;

/* The values of flags[0]; the first that applies is reported: the offsets do not begin at 0; one is less than the
 * one before it; they do not end at queries. flags[1]: the upper 32 bits are the index of the offset, the lower
 * ones the offset. */
enum { GPK_OFFSETS_FINE = 0, GPK_OFFSETS_BEGIN, GPK_OFFSETS_FALL, GPK_OFFSETS_END };

/* Bytes of workspace that gpk_attention needs: a function of type, offsets (0 or not), counts and device, not of
 * addresses and strides. Negative: the negated code. GPK_ERR_UNSUPPORTED if no kernel supports the problem. */
GPK_API int64_t gpk_attention_workspace(gpk_attention_args const* args);

/* The name of the kernel that computes the problem, as printed in a plan; NULL if there is none. */
GPK_API char const* gpk_attention_kernel(gpk_attention_args const* args);

GPK_API int gpk_attention(gpk_attention_args const* args);

#ifdef __cplusplus
}
#endif
#endif
