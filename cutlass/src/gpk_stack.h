/* gpk_stack.h: concatenates arrays. It is a separate header so that a change here recompiles only one unit. Codes
 * are those of gpk.h. */
#ifndef GPK_STACK_H
#define GPK_STACK_H

#include "gpk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The maximum number of sources per call. */
#define GPK_STACK_SOURCES 64

/* Copies `bytes` bytes of each of `count` sources to dst, one after the other. */
GPK_API int gpk_stack(int device, uint64_t stream, uint64_t dst, int64_t bytes, int count, const uint64_t* sources);

#ifdef __cplusplus
}
#endif
#endif
