/* gpk_attention.h: the part of libgpk.so's C ABI that computes attention. It is separate from gpk.h, so that a
 * change here rebuilds only the attention kernels.
 *
 * The arguments are in a structure because a flat list would be too long. Its first member is its size, which serves as
 * the version: new members are appended, and an entry point rejects an unknown size. */
#ifndef GPK_ATTENTION_H
#define GPK_ATTENTION_H
#include "gpk_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The least number of queries of a sequence that the Hopper kernel computes. The kernel is chosen by the sequence's
 * length only, so that the bits of a sequence do not depend on the rest of the batch. */
#define GPK_ATTENTION_LONG 256

/* An operand: its address, and the strides of batch, head and row in elements. The elements of a row are contiguous.
 * The batch stride of a ragged operand is not used. */
typedef struct gpk_attention_rows {
  uint64_t data;
  int64_t batch, head, row;
} gpk_attention_rows;

/* out = softmax(scale q k^T + mask) v of every sequence and head.
 *
 * q is [batch, heads, queries, dim], k [batch, kv_heads, keys, dim], v [batch, kv_heads,
 * keys, value_dim] and out [batch, heads, queries, value_dim], all of `type`: GPK_F32, GPK_F16
 * or GPK_BF16. Query head h reads KV head h / (heads / kv_heads). Addresses need only the alignment of
 * an element. out must not overlap an operand.
 *
 * causal: query i of n sees key j of m if j <= i + m - n. The weight of a key with score -Inf is 0. A value that is not
 * finite may affect results of the same sequence and head whose queries do not see it, because 0 times it is NaN. It does
 * not affect other sequences and heads. The result of a query that sees no key is 0.
 *
 * offsets: 0, or for a ragged batch the device address of batch + 1 int32. Operands then have no batch dimension: q is
 * [heads, queries, dim], and queries and keys count the rows of all sequences. Sequence i has the rows offsets[i] to
 * offsets[i + 1] of all operands. A ragged batch has no mask. The kernels clamp offsets to 0 ... queries, so that invalid
 * ones cause no access outside the operands. */
typedef struct gpk_attention_args {
  uint64_t size; /* sizeof(gpk_attention_args) */
  uint64_t stream;
  gpk_attention_rows q, k, v, out;

  uint64_t mask; /* 0: none */
  int64_t mask_batch, mask_head, mask_row, mask_step; /* 0 for a dimension along which the mask is broadcast */

  uint64_t offsets, flags;
  /* For a ragged batch, the range of the sequences' lengths that a kernel computes. Callers of gpk_attention set shortest
   * to 0, and longest to an upper bound of the lengths, or to INT64_MAX. A bound below GPK_ATTENTION_LONG saves the launch
   * of the kernel for long sequences. */
  int64_t shortest, longest;

  int64_t batch, heads, kv_heads, queries, keys, dim, value_dim;
  double scale;

  uint64_t workspace; /* a multiple of 256 */
  int64_t workspace_bytes;

  int32_t device;
  int32_t type;
  int32_t mask_type; /* GPK_BOOL: 0 masks the key; GPK_F32: added to the scaled scores */
  int32_t causal;
  int32_t full; /* GPK_F32 only: 0 for products in TF32, otherwise with the precision of float32 */
  int32_t reserved;
} gpk_attention_args;

/* The values of flags[0], of which the first that applies is reported: the offsets are valid; the first is not 0; one
 * is less than its predecessor; the last is not queries. flags[1]: the index of the offset in the upper 32 bits, and the
 * offset in the lower 32 bits. */
enum { GPK_OFFSETS_FINE = 0, GPK_OFFSETS_BEGIN, GPK_OFFSETS_FALL, GPK_OFFSETS_END };

/* The bytes of workspace of gpk_attention: a function of type, counts, device and whether offsets is 0, not of other
 * addresses and strides. A negative result is a negated code: GPK_ERR_UNSUPPORTED if no kernel supports the problem. */
GPK_API int64_t gpk_attention_workspace(gpk_attention_args const* args);

/* The name of the kernel that computes the problem, as printed in a plan; NULL if there is none. */
GPK_API char const* gpk_attention_kernel(gpk_attention_args const* args);

GPK_API int gpk_attention(gpk_attention_args const* args);

#ifdef __cplusplus
}
#endif
#endif
