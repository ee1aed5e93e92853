/* gpk_stack.h: concatenates arrays, and copies triangles of matrices. It is a separate header so that a change here
 * recompiles only one unit. Codes are those of gpk.h. */
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

/* Copies a triangle of each of `batch` matrices with `rows` rows and `cols` columns, and sets the other elements to 0.
 * x and dst are dense; an element has `bytes` bytes: 1, 2, 4, 8 or 16. The lower triangle has the elements whose column is
 * at most row + diagonal, the upper one (upper != 0) those whose column is at least row + diagonal. */
GPK_API int gpk_triangle(int device, uint64_t stream, int bytes, uint64_t x, uint64_t dst, int64_t batch, int64_t rows,
                         int64_t cols, int64_t diagonal, int upper);

#ifdef __cplusplus
}
#endif
#endif
