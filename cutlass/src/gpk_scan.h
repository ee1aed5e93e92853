/* gpk_scan.h: the part of libgpk.so's C ABI that computes cumulative sums of long lines. It is a separate header so
 * that a change here recompiles only one unit. Codes are those of gpk.h. The first member of the structure is its
 * size, which is its version: members are appended, and the entry point rejects an unknown size. */
#ifndef GPK_SCAN_H
#define GPK_SCAN_H
#include "gpk_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* dst = CumSum of x along the last dimension, with many blocks per line. The arguments, and the bits of the result,
 * are those of gpk_line. */
typedef struct gpk_cum_sum_args {
  uint64_t size; /* sizeof(gpk_cum_sum_args) */
  uint64_t stream, x, dst, workspace;
  int64_t workspace_bytes;
  int64_t shape[GPK_MAX_DIMS], x_strides[GPK_MAX_DIMS], dst_strides[GPK_MAX_DIMS];
  int32_t device, type, ndim;
} gpk_cum_sum_args;

/* Returns the bytes of workspace, 0 if gpk_line is as fast, or a negated code. It reads only the device, the type
 * and the shape. */
GPK_API int64_t gpk_cum_sum_workspace(const gpk_cum_sum_args* args);
GPK_API int gpk_cum_sum(const gpk_cum_sum_args* args);

#ifdef __cplusplus
}
#endif
#endif
