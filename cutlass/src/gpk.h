/* gpk.h: the C ABI of libgpk.so. Its rules and the products are in gpk_gemm.h;
 * here is what prepares their operands, and the operations. */
#ifndef GPK_H
#define GPK_H
#include "gpk_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* What gpk_prepare makes of an operand: one plane of float16, or two. */
enum { GPK_FORM_SCALED = 1, GPK_FORM_SPLIT };

/* Bytes of workspace that gpk_prepare needs; negative: the negated code. */
GPK_API int64_t gpk_prepare_workspace(int device, int type, int form, int64_t m, int64_t n, int64_t k, int64_t batch);

/* Makes the operands that scaled and split kernels read, out of float32 or
 * complex64 ones: A (m > 0), B (n > 0) or both in one launch. k: the product's,
 * in elements of `type`. Element (i, l) of A lies at a + i a_line + l a_step,
 * element (l, j) of B at b + j b_line + l b_step, members of the batch stride_a
 * and stride_b apart (0: one for all, prepared once). One of line and step is 1
 * (or its extent is); addresses need only their element's alignment.
 *
 * Each line is scaled by the power of two that brings its largest element into
 * [2^14, 2^15), and rounded to float16; scale_* receive the inverses (1 for a
 * line of zeros). GPK_FORM_SPLIT puts the rest, times 2^11, into the planes at
 * *_low. The plane has step 1 where the source has, otherwise line 1 (step 1
 * where both are); its other pitch, *_pitch elements, and its batch distance,
 * *_member, are multiples of 8. What lies in a pitch beyond the last element is
 * not touched.
 *
 * complex64: the product of complex matrices is a real one of m x 2k and
 * 2k x 2n. A's plane is m lines of 2k: re, im, re, im ...; B's has 2n lines of
 * 2k: for its column j line 2j of (re, -im) pairs and line 2j + 1 of (im, re)
 * pairs, both under the scale of the column, which is written twice. Where B's
 * plane has line 1 its rows are 2k. conj_*: of the operand's conjugate.
 *
 * guard_*: each receives GPK_GUARD_WORDS words, whose maximum is the largest
 * number, over the operand's lines, of elements smaller than 2^-10 of the
 * line's largest (complex: of the 2k), or at least 2^30 where a line has an
 * element that is not finite or a largest one outside [2^-60, 2^60]. A line of
 * zeros counts none. 0: not wanted. */
GPK_API int gpk_prepare(int device, uint64_t stream, int type, int form, int64_t m, int64_t n, int64_t k, int64_t batch,
                        uint64_t a, int64_t a_line, int64_t a_step, int64_t stride_a, int conj_a, uint64_t a_high,
                        uint64_t a_low, int64_t a_pitch, int64_t a_member, uint64_t scale_a, uint64_t guard_a,
                        uint64_t b, int64_t b_line, int64_t b_step, int64_t stride_b, int conj_b, uint64_t b_high,
                        uint64_t b_low, int64_t b_pitch, int64_t b_member, uint64_t scale_b, uint64_t guard_b,
                        uint64_t workspace, int64_t workspace_bytes);

/* Element-wise operations on strided operands of one shape (broadcast
 * operands have stride 0). dst may be x, y or both when its strides are theirs;
 * otherwise it must not overlap them. */

/* dst = op(x); dst_type differs from x's only where the operation says so. */
GPK_API int gpk_unary(int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, const int64_t* shape,
                      uint64_t x, const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides);

/* dst = op(x, y). An address of 0 stands for a scalar: the 16 bytes (lo, hi)
 * hold one element of `type`, little-endian. At most one operand is a scalar. */
GPK_API int gpk_binary(int device, uint64_t stream, int op, int type, int dst_type, int ndim, const int64_t* shape,
                       uint64_t x, const int64_t* x_strides, uint64_t y, const int64_t* y_strides,
                       uint64_t scalar_lo, uint64_t scalar_hi, uint64_t dst, const int64_t* dst_strides);

/* dst = op(x, y, z): Where takes y where x, which is Bool, is true, else z, and
 * Clamp is min(max(x, y), z). y, z and dst are of `type`, x too but for Where. An
 * address of 0 stands for a scalar: y's 16 bytes are (y_lo, y_hi), z's (z_lo, z_hi). */
GPK_API int gpk_ternary(int device, uint64_t stream, int op, int type, int ndim, const int64_t* shape,
                        uint64_t x, const int64_t* x_strides, uint64_t y, const int64_t* y_strides,
                        uint64_t z, const int64_t* z_strides, uint64_t y_lo, uint64_t y_hi, uint64_t z_lo, uint64_t z_hi,
                        uint64_t dst, const int64_t* dst_strides);

/* dst = x converted (design: to integers truncates and saturates, NaN is 0;
 * to Bool: x != 0; complex to real drops the imaginary part). Equal types copy:
 * this is also the strided copy and the transpose. */
GPK_API int gpk_cast(int device, uint64_t stream, int x_type, int dst_type, int ndim, const int64_t* shape,
                     uint64_t x, const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides);

/* dst = the element (lo, hi), everywhere. */
GPK_API int gpk_fill(int device, uint64_t stream, int type, int ndim, const int64_t* shape,
                     uint64_t lo, uint64_t hi, uint64_t dst, const int64_t* dst_strides);

/* dst[i] = start + i*step in `type`, i < n, computed in float64 (int64 for
 * integers: (lo) start and step are then int64 bits); dst is dense. */
GPK_API int gpk_arange(int device, uint64_t stream, int type, int64_t n, uint64_t start_bits, uint64_t step_bits, uint64_t dst);

/* Reductions. x has ndim dimensions; those whose bit is set in `axes` are
 * reduced; dst is dense, over the remaining dimensions in order. The tree of
 * additions is a function of shape and types alone. workspace: see
 * gpk_reduce_workspace. Sums of halves accumulate in float32; sums and products
 * of integers and Bool are int64. ArgMax and ArgMin count elements in row-major
 * order of the reduced dimensions. */
GPK_API int64_t gpk_reduce_workspace(int device, int op, int x_type, int dst_type, int ndim, const int64_t* shape, uint32_t axes);
GPK_API int gpk_reduce(int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, const int64_t* shape,
                       uint32_t axes, uint64_t x, const int64_t* x_strides, uint64_t dst,
                       uint64_t workspace, int64_t workspace_bytes);

/* dst = op(x) along the last dimension: CumSum, whose sums have dst_type, Softmax,
 * LogSoftmax, LayerNorm, RMSNorm. gamma and beta, of x_type, are dense along that
 * dimension; 0 stands for ones and for zeros. dst may be x when its strides are
 * x's; otherwise it must not overlap it. */
GPK_API int gpk_line(int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, const int64_t* shape,
                     uint64_t x, const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides,
                     uint64_t gamma, uint64_t beta, double eps);

/* Spins for about `microseconds` on the stream: for tests of ordering. */
GPK_API int gpk_spin(int device, uint64_t stream, int64_t microseconds);

#ifdef __cplusplus
}
#endif
#endif
