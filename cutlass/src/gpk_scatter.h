/* gpk_scatter.h: the part of libgpk.so's C ABI that adds rows at indices. It is a separate header so that a change
 * here recompiles only one unit. Codes are those of gpk.h. The first member of the structure is its size, which is
 * its version: members are appended, and the entry point rejects an unknown size. */
#ifndef GPK_SCATTER_H
#define GPK_SCATTER_H
#include "gpk_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* dst is x, n rows of `width` elements, with row i of values added to row places[i] for each i < count. If splat is
 * not 0, values has one row, which is added at every index. All arrays are dense. dst must not overlap the
 * operands. Element types are all except halves and Bool. n and count are below 2^31 - 1.
 *
 * index_type is the type of places, int32 or int64. Negative indices count from the end. flags is the address of
 * two int64, initially 0. flags[0] becomes the least index below -n, flags[1] the greatest above n-1. If there is
 * such an index, dst is undefined.
 *
 * The result does not depend on the order of the threads. Integers wrap. The values of one row are added in an
 * order that depends only on places; float32 and complex64 are added in double and rounded once. If there are few
 * and narrow rows, float32 and complex64 are added exactly and rounded once. */
typedef struct gpk_scatter_add_args {
  uint64_t size; /* sizeof(gpk_scatter_add_args) */
  uint64_t stream;
  uint64_t x, places, values, dst, workspace;
  int64_t workspace_bytes;
  int64_t n, count, width;
  int32_t device, type;
  uint64_t flags;
  int32_t index_type, splat;
} gpk_scatter_add_args;

/* Returns the bytes of workspace, or a negated code. It reads only the types, device, n, count and width. */
GPK_API int64_t gpk_scatter_add_workspace(const gpk_scatter_add_args* args);
GPK_API int gpk_scatter_add(const gpk_scatter_add_args* args);

#ifdef __cplusplus
}
#endif
#endif
