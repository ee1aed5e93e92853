/* gpk.h: the C ABI of libgpk.so.
 *
 * Every entry is flat: scalars and device addresses, no structures, no
 * callbacks. Each sets its device itself, enqueues its work on the stream,
 * reads the launch error in the same call and returns a code; none waits and
 * none allocates. Addresses and streams travel as 64-bit integers. Shapes and
 * strides are host arrays of `ndim` numbers, strides in elements; they are read
 * before the call returns. Element types have the numbers of package dtype,
 * operations those of package expr. Rows of a batch may repeat (stride 0).
 *
 * Whoever changes a signature or a meaning here raises GPK_ABI, here and in
 * package cutlass.
 */
#ifndef GPK_H
#define GPK_H
#include <stdint.h>

#define GPK_ABI 1

#ifdef __cplusplus
extern "C" {
#endif

#define GPK_API __attribute__((visibility("default")))
#define GPK_MAX_DIMS 8

/* Return codes. Non-negative codes up to 9999 are cudaError_t values. */
enum {
  GPK_OK = 0,
  GPK_ERR_UNSUPPORTED = 10001, /* no kernel for this operation, type or kernel id */
  GPK_ERR_ARGUMENT = 10002,    /* a size, stride or alignment that the kernel cannot take */
  GPK_ERR_WORKSPACE = 10003,   /* the workspace is too small */
  GPK_ERR_KERNEL = 10004       /* CUTLASS refused to initialise or launch */
};

/* Element types, as package dtype numbers them. */
enum {
  GPK_F32 = 1, GPK_F64, GPK_F16, GPK_BF16, GPK_I8, GPK_U8, GPK_I32, GPK_I64, GPK_BOOL, GPK_C64, GPK_C128
};

/* Activations of a product's epilogue. */
enum { GPK_ACT_NONE = 0, GPK_ACT_RELU, GPK_ACT_GELU, GPK_ACT_GELU_TANH, GPK_ACT_SILU };

/* What the library is. gpk_kernel_set is the hash of all sources it was built
 * from; gpk_cuda_version is CUDART_VERSION (13000); gpk_error_string never
 * returns NULL. */
GPK_API int gpk_abi_version(void);
GPK_API const char* gpk_kernel_set(void);
GPK_API int gpk_cuda_version(void);
GPK_API const char* gpk_error_string(int code);

/* The product kernels of this build, 0 .. count-1; names are the manifest's. */
GPK_API int gpk_gemm_count(void);
GPK_API const char* gpk_gemm_name(int kernel);

/* Bytes of workspace that gpk_gemm needs for this problem; negative: the
 * negated code. */
GPK_API int64_t gpk_gemm_workspace(int device, int kernel, int64_t m, int64_t n, int64_t k, int64_t batch);

/* D[i] = act(alpha * A[i] B[i] + bias), i < batch.
 * A is m x k, B k x n, D m x n row-major; the kernel's manifest entry says
 * whether A and B are row- or column-major. lda, ldb, ldd: elements between
 * consecutive rows (row-major) or columns (column-major). stride_*: elements
 * between batch members, 0 to use one for all. bias: n elements of D's type,
 * or 0. act and bias are refused by kernels whose entry lacks an epilogue.
 * A kernel never reads D. */
GPK_API int gpk_gemm(int device, uint64_t stream, int kernel, int64_t m, int64_t n, int64_t k, int64_t batch,
                     uint64_t a, int64_t lda, int64_t stride_a, uint64_t b, int64_t ldb, int64_t stride_b,
                     uint64_t d, int64_t ldd, int64_t stride_d, uint64_t bias, int act,
                     double alpha_re, double alpha_im, uint64_t workspace, int64_t workspace_bytes);

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
 * gpk_reduce_workspace. Sums of halves accumulate in float32; sums of
 * integers and Bool are int64. */
GPK_API int64_t gpk_reduce_workspace(int device, int op, int x_type, int dst_type, int ndim, const int64_t* shape, uint32_t axes);
GPK_API int gpk_reduce(int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, const int64_t* shape,
                       uint32_t axes, uint64_t x, const int64_t* x_strides, uint64_t dst,
                       uint64_t workspace, int64_t workspace_bytes);

/* Spins for about `microseconds` on the stream: for tests of ordering. */
GPK_API int gpk_spin(int device, uint64_t stream, int64_t microseconds);

#ifdef __cplusplus
}
#endif
#endif
