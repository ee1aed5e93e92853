/* gpk_search.h: the part of libgpk.so's C ABI that searches in sorted lists, counts integers, finds the true elements of
 * masks and puts values at indices. It is a separate header so that a change here recompiles only one unit. Codes are those of gpk.h. The first member
 * of a structure is its size, which is its version: members are appended, and the entry point rejects an unknown size. All
 * arrays are dense. */
#ifndef GPK_SEARCH_H
#define GPK_SEARCH_H
#include "gpk_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* dst[i], int64, is the number of the n elements of list that are below values[i], or with right != 0 not above it.
 * list ascends, with NaN last; NaN is the largest. Element types are all but the complex ones. */
typedef struct gpk_search_args {
  uint64_t size; /* sizeof(gpk_search_args) */
  uint64_t stream, list, values, dst;
  int64_t n, count;
  int32_t device, type, right, unused;
} gpk_search_args;

GPK_API int gpk_search(const gpk_search_args* args);

/* dst[v], int64, is the number of the `count` elements of x, int64, that equal v, for v < n. Other elements are not
 * counted. */
typedef struct gpk_count_args {
  uint64_t size; /* sizeof(gpk_count_args) */
  uint64_t stream, x, dst;
  int64_t n, count;
  int32_t device, unused;
} gpk_count_args;

GPK_API int gpk_count(const gpk_count_args* args);

/* A mask is n bytes of Bool. Its true elements are numbered in order. They are found in two calls, because the host needs
 * their number to allocate the results. With lead = 1 one more true element is before the first of the mask: it has
 * number 0 and index 0, and the mask begins at index 1. Otherwise lead is 0.
 *
 * gpk_count_trues writes to offsets, int64, the number of true elements before each tile of GPK_MASK_TILE elements of the
 * mask, of which there is at least one, and to total, int64, the number of all.
 *
 * gpk_place_trues needs these offsets. For each true element it writes to the results
 *   GPK_TRUE_INDICES     its index, int64, to dst[0]
 *   GPK_TRUE_COORDINATES its ndim coordinates in `shape`, which has n elements (lead is 0), int64, to dst[0], dst[1] ...
 *   GPK_TRUE_ELEMENTS    the element of x at its index, of `type`, to dst[0]
 *   GPK_TRUE_DISTINCT    the same, with every zero and NaN replaced by the first zero and the first NaN of `all`, which has
 *                        count elements; `type` is floating-point, and firsts has room for two int64. */
enum { GPK_MASK_TILE = 8192 };
enum { GPK_TRUE_INDICES = 0, GPK_TRUE_COORDINATES, GPK_TRUE_ELEMENTS, GPK_TRUE_DISTINCT };
typedef struct gpk_trues_args {
  uint64_t size; /* sizeof(gpk_trues_args) */
  uint64_t stream, mask, offsets, total;
  uint64_t x, all, firsts;
  int64_t n, count;
  uint64_t dst[GPK_MAX_DIMS];
  int64_t shape[GPK_MAX_DIMS];
  int32_t device, op, type, ndim, lead, unused;
} gpk_trues_args;

GPK_API int gpk_count_trues(const gpk_trues_args* args);
GPK_API int gpk_place_trues(const gpk_trues_args* args);

/* dst is x, [outer, n, inner], with values, [outer, count, inner], at indices of that shape along the axis of length n:
 * dst[o, indices[o, i, k], k] = values[o, i, k]. The last of equal indices counts. Negative indices count from the end.
 * If splat is not 0, values has one element, which is put at every index. An element has `bytes` bytes: 1, 2, 4, 8 or 16.
 * index_type is int32 or int64. flags is the address of two int64, initially 0. flags[0] becomes the least index below
 * -n, flags[1] the greatest above n-1. If there is such an index, dst is undefined. dst must not overlap the operands.
 * workspace has 4 bytes for each element of x if x and indices have fewer than 2^31 - 1 elements each, otherwise 8. */
typedef struct gpk_put_along_args {
  uint64_t size; /* sizeof(gpk_put_along_args) */
  uint64_t stream, x, indices, values, dst, workspace, flags;
  int64_t workspace_bytes, outer, n, count, inner;
  int32_t device, bytes, index_type, splat;
} gpk_put_along_args;

GPK_API int gpk_put_along(const gpk_put_along_args* args);

#ifdef __cplusplus
}
#endif
#endif
