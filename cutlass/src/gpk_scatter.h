/* gpk_scatter.h: the part of libgpk.so's C ABI that adds rows at indices. It is a separate header so that a change
 * here recompiles only one unit. Codes are those of gpk.h; the structure's first member is its size, which is its
 * version: members are appended, and the entry point rejects an unknown size. */
#ifndef GPK_SCATTER_H
#define GPK_SCATTER_H
#include "gpk_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* dst = x, n rows of `width` elements, with row i of values added to row places[i], i < count. All are dense, places
 * are int64, and those outside 0 ... n-1 add nothing. n and count are below 2^31 - 1. Types are all but halves and
 * Bool. The values of one row are added in an order that depends on places alone, float32 and complex64 in double
 * with one rounding; integers wrap. dst must not overlap the operands. */
typedef struct gpk_scatter_add_args {
  uint64_t size; /* sizeof(gpk_scatter_add_args) */
  uint64_t stream;
  uint64_t x, places, values, dst, workspace;
  int64_t workspace_bytes;
  int64_t n, count, width;
  int32_t device, type;
} gpk_scatter_add_args;

/* Bytes of workspace; negative: the negated code. Of the arguments only device, type, n, count and width are read. */
GPK_API int64_t gpk_scatter_add_workspace(const gpk_scatter_add_args* args);
GPK_API int gpk_scatter_add(const gpk_scatter_add_args* args);

#ifdef __cplusplus
}
#endif
#endif
