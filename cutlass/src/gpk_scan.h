/* gpk_scan.h: the part of libgpk.so's C ABI that computes cumulative sums, products and extremes. It is a separate header so
 * that a change here recompiles only one unit. Codes are those of gpk.h. The first member of the structure is its
 * size, which is its version: members are appended, and the entry point rejects an unknown size. */
#ifndef GPK_SCAN_H
#define GPK_SCAN_H
#include "gpk_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The operations. Products have the type of sums, and accumulate in the type of sums. Extremes have the type of x,
 * which is not complex, and are NaN from the first NaN on. */
enum { GPK_SCAN_SUM = 0, GPK_SCAN_PRODUCT, GPK_SCAN_LARGEST, GPK_SCAN_SMALLEST };

/* dst = the cumulative results of x along the last dimension, with many blocks per line if there are few and long
 * lines. For sums the arguments, and the bits of the result, are those of gpk_line. */
typedef struct gpk_cum_sum_args {
  uint64_t size; /* sizeof(gpk_cum_sum_args) */
  uint64_t stream, x, dst, workspace;
  int64_t workspace_bytes;
  int64_t shape[GPK_MAX_DIMS], x_strides[GPK_MAX_DIMS], dst_strides[GPK_MAX_DIMS];
  int32_t device, type, ndim, op;
} gpk_cum_sum_args;

/* Returns the bytes of workspace, or a negated code. For 0 a block computes a line, as in gpk_line. It reads only the
 * device, the type and the shape. */
GPK_API int64_t gpk_cum_sum_workspace(const gpk_cum_sum_args* args);
GPK_API int gpk_cum_sum(const gpk_cum_sum_args* args);

#ifdef __cplusplus
}
#endif
#endif
