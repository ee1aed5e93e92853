/* gpk_search.h: the part of libgpk.so's C ABI that searches in sorted lists, counts integers and finds the last of equal
 * ones. It is a separate header so that a change here recompiles only one unit. Codes are those of gpk.h. The first member
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

/* dst[v], int64, is the largest i for which x[i] equals v, or -1 if there is none. The arguments are those of gpk_count. */
GPK_API int gpk_last(const gpk_count_args* args);

#ifdef __cplusplus
}
#endif
#endif
