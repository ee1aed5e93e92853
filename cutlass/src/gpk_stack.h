/* gpk_stack.h: many arrays copied to one behind the other. It is a header of its own so that a
 * change of it compiles one unit again. Codes are those of gpk.h. */
#ifndef GPK_STACK_H
#define GPK_STACK_H

#include "gpk.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The most sources of one call. */
#define GPK_STACK_SOURCES 64

/* Copies `bytes` bytes of each of `count` sources to dst, one behind the other. */
GPK_API int gpk_stack(int device, uint64_t stream, uint64_t dst, int64_t bytes, int count, const uint64_t* sources);

#ifdef __cplusplus
}
#endif
#endif
