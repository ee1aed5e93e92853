/* gpk.h: the C ABI of libgpk.so. Its rules and the products are in gpk_gemm.h; this header has the preparation of
 * their operands, and all other operations. */
#ifndef GPK_H
#define GPK_H
#include "gpk_gemm.h"

#ifdef __cplusplus
extern "C" {
#endif

/* The form into which gpk_prepare converts an operand: one plane of float16, or two. */
enum { GPK_FORM_SCALED = 1, GPK_FORM_SPLIT };

/* Bytes of workspace that gpk_prepare needs; negative: the negated code. */
GPK_API int64_t gpk_prepare_workspace(int device, int type, int form, int64_t m, int64_t n, int64_t k, int64_t batch);

/* Converts float32 or complex64 operands for scaled and split kernels: A (m > 0), B (n > 0) or both in one launch.
 * k: the product's, in elements of `type`. Element (i, l) of A is at a + i a_line + l a_step, element (l, j) of B
 * at b + j b_line + l b_step; members of the batch are stride_a and stride_b apart (0: one for all, prepared
 * once). One of line and step is 1 (or its extent is); addresses need only their element's alignment.
 *
 * Each line is scaled by the power of two that brings its largest element into [2^14, 2^15), and rounded to
 * float16; scale_* receive the inverses (1 for a line of zeros). GPK_FORM_SPLIT stores the remainder, times 2^11,
 * in the planes at *_low. The plane has step 1 if the source has, otherwise line 1 (step 1 if both are); its other
 * pitch, *_pitch elements, and its batch distance, *_member, are multiples of 8. The part of a pitch beyond the
 * last element is not written.
 *
 * complex64: the product of complex matrices is a real one of m x 2k and 2k x 2n. A's plane has m lines of 2k: re,
 * im, re, im ...; B's has 2n lines of 2k: for its column j line 2j of (re, -im) pairs and line 2j + 1 of (im, re)
 * pairs. Both have the scale of the column, which is written twice. If B's plane has line 1 its rows are 2k.
 * conj_*: uses the operand's conjugate.
 *
 * guard_*: each receives GPK_GUARD_WORDS words. Their maximum is, over the operand's lines, the largest number of
 * elements smaller than 2^-10 of the line's largest (complex: of the 2k), or at least 2^30 if a line has an
 * element that is not finite or a largest one outside [2^-60, 2^60]. A line of zeros counts none. 0: not wanted. */
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

/* dst = op(x, y). An address of 0 stands for a scalar: the 16 bytes (lo, hi) hold one element of `type`,
 * little-endian. At most one operand is a scalar. */
GPK_API int gpk_binary(int device, uint64_t stream, int op, int type, int dst_type, int ndim, const int64_t* shape,
                       uint64_t x, const int64_t* x_strides, uint64_t y, const int64_t* y_strides,
                       uint64_t scalar_lo, uint64_t scalar_hi, uint64_t dst, const int64_t* dst_strides);

/* dst = op(x, y, z). Where: y if x, which is Bool, is true, otherwise z. Clamp: min(max(x, y), z). y, z and dst
 * are of `type`, and so is x except for Where. An address of 0 stands for a scalar: y's 16 bytes are (y_lo, y_hi),
 * z's (z_lo, z_hi). */
GPK_API int gpk_ternary(int device, uint64_t stream, int op, int type, int ndim, const int64_t* shape,
                        uint64_t x, const int64_t* x_strides, uint64_t y, const int64_t* y_strides,
                        uint64_t z, const int64_t* z_strides, uint64_t y_lo, uint64_t y_hi, uint64_t z_lo, uint64_t z_hi,
                        uint64_t dst, const int64_t* dst_strides);

/* dst = x converted: to integers truncates and saturates, NaN is 0; to Bool: x != 0; complex to real drops the
 * imaginary part. Equal types copy: this is also the strided copy and the transpose. */
GPK_API int gpk_cast(int device, uint64_t stream, int x_type, int dst_type, int ndim, const int64_t* shape,
                     uint64_t x, const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides);

/* Sets all elements of dst to the element (lo, hi). */
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

/* dst = elements of x selected by indices along one axis. shape is dst's. x_strides are 0 along the dimensions
 * that the indices span, index_strides along all others. The axis has `length` elements, `step` apart; negative
 * indices count from its end. flags: two int64, initially 0. [0] becomes the least index below -length, [1] the
 * greatest beyond length-1; in that case dst is undefined, but nothing outside x is read. If dst is 0, only the
 * indices are checked. */
GPK_API int gpk_take(int device, uint64_t stream, int type, int index_type, int ndim, const int64_t* shape,
                     uint64_t x, const int64_t* x_strides, int64_t length, int64_t step, uint64_t indices,
                     const int64_t* index_strides, uint64_t dst, const int64_t* dst_strides, uint64_t flags);

/* dst = x sorted along the last dimension, real types and Bool. NaN is the largest,
 * and -0 below 0; NaN comes out quiet. dst must not overlap x. Lines have fewer
 * than 2^31 elements. gpk_sort_workspace gives the bytes of workspace for gpk_sort
 * (k = 0) and gpk_topk; negative: the negated code. */
GPK_API int64_t gpk_sort_workspace(int device, int type, int ndim, const int64_t* shape, int64_t k);
GPK_API int gpk_sort(int device, uint64_t stream, int type, int ndim, const int64_t* shape, uint64_t x,
                     const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides, int descending,
                     uint64_t workspace, int64_t workspace_bytes);

/* The k largest elements of each line along the last dimension of x, which has `shape`, in falling order, and
 * their indices, int64. NaN is the largest; of equal elements the first comes first. */
GPK_API int gpk_topk(int device, uint64_t stream, int type, int ndim, const int64_t* shape, uint64_t x,
                     const int64_t* x_strides, int64_t k, uint64_t values, const int64_t* value_strides,
                     uint64_t places, const int64_t* place_strides, uint64_t workspace, int64_t workspace_bytes);

/* Random numbers into dst, n dense elements: a function of the seed, which is the
 * key of Philox4x32-10, of the block's number, which is its counter, and of the
 * element's place in its block alone. Blocks are numbered from `block` on; one makes
 * four float32, float16 or bfloat16, or two float64 or integers.
 *
 * gpk_uniform: real types lo + u width, u in [0, 1), but at most `below`; p0, p1, p2
 * are lo, width and below as the bits of float64. Integers: lo + k, k below the
 * range; p0 is lo, p1 the range, 0 for 2^64. gpk_normal: mean + std z, real types. */
GPK_API int gpk_uniform(int device, uint64_t stream, int type, int64_t n, uint64_t seed, uint64_t block, uint64_t p0,
                        uint64_t p1, uint64_t p2, uint64_t dst);
GPK_API int gpk_normal(int device, uint64_t stream, int type, int64_t n, uint64_t seed, uint64_t block, double mean,
                       double std, uint64_t dst);

/* The second pass of a product whose k was cut into parts: D = act(alpha sum of p[0] ... p[parts - 1] + bias), m x
 * n of type GPK_F32, GPK_F16 or GPK_BF16. The parts are consecutive float32 matrices of m rows with the pitch ldp,
 * a multiple of 4; p is a multiple of 16. They are added in their order. Only the m x n elements of D are written;
 * bias, of D's type, may be 0; act is as in gpk_gemm. */
GPK_API int gpk_gemm_parts(int device, uint64_t stream, int type, int64_t m, int64_t n, int64_t parts, uint64_t p, int64_t ldp,
                           uint64_t d, int64_t ldd, uint64_t bias, int act, double alpha);

/* Aligned copies of operands whose lines begin at any address: A (a_lines > 0), B (b_lines > 0) or both in one
 * launch. Element i of line l of member j is at a + j a_member + l a_pitch + i, in elements of `type`, and
 * likewise in the copy. A copy has copy_lines lines of copy_length, possibly more than the source; additional
 * lines and elements are zeros, as is the rest of the 16 bytes in which a line ends. Copies, their pitches and
 * members are multiples of 16 bytes, fewer than 2^31 such units in all. */
GPK_API int gpk_pad(int device, uint64_t stream, int type, uint64_t a, int64_t a_batch, int64_t a_lines, int64_t a_length,
                    int64_t a_pitch, int64_t a_member, uint64_t a_copy, int64_t a_copy_lines, int64_t a_copy_length,
                    int64_t a_copy_pitch, int64_t a_copy_member, uint64_t b, int64_t b_batch, int64_t b_lines,
                    int64_t b_length, int64_t b_pitch, int64_t b_member, uint64_t b_copy, int64_t b_copy_lines,
                    int64_t b_copy_length, int64_t b_copy_pitch, int64_t b_copy_member);

#ifdef __cplusplus
}
#endif
#endif
