/* gpk_gemm.h: the part of libgpk.so's C ABI that the product kernels need: its rules, the properties of the library, and
 * the products. gpk.h adds the other entry points, so that a change there rebuilds no product kernel.
 *
 * The arguments of these entry points are scalars and device addresses, without structures and callbacks. An entry point
 * sets the device, enqueues its work on the stream, reads the launch error and returns a code. It does not synchronize and
 * does not allocate. Addresses and streams are 64-bit integers. Shapes and strides are host arrays of `ndim` numbers,
 * strides in elements; they are read before the call returns. Element types have the numbers of package dtype, and
 * operations those of package expr. A batch stride may be 0.
 *
 * A change of a signature or of its meaning here requires a higher GPK_ABI, here and in package cutlass. */
#ifndef GPK_GEMM_H
#define GPK_GEMM_H
#include <stdint.h>

#define GPK_ABI 5

#ifdef __cplusplus
extern "C" {
#endif

#define GPK_API __attribute__((visibility("default")))
#define GPK_MAX_DIMS 8

/* Return codes. Non-negative codes up to 9999 are cudaError_t values. */
enum {
  GPK_OK = 0,
  GPK_ERR_UNSUPPORTED = 10001, /* no kernel for this operation, type or kernel id */
  GPK_ERR_ARGUMENT = 10002,    /* the kernel does not support a size, stride or alignment */
  GPK_ERR_WORKSPACE = 10003,   /* the workspace is too small */
  GPK_ERR_KERNEL = 10004       /* CUTLASS failed to initialize or launch the kernel */
};

/* Element types, as package dtype numbers them. */
enum {
  GPK_F32 = 1, GPK_F64, GPK_F16, GPK_BF16, GPK_I8, GPK_U8, GPK_I32, GPK_I64, GPK_BOOL, GPK_C64, GPK_C128,
  GPK_I16, GPK_U16, GPK_U32, GPK_U64
};

/* Activations of a product's epilogue. The epilogue multiplies the product by alpha, adds bias and applies the
 * activation. It rounds once, at the end. If GPK_ACT_STEPS is added to the activation, it rounds the product
 * and the result of each of these steps to D's type. D then has the same bits as a product followed by element-wise
 * operations. GPK_ACT_STEPS is supported with GPK_ACT_NONE, with GPK_ACT_RELU, and for 16-bit D with
 * GPK_ACT_GELU. */
enum { GPK_ACT_NONE = 0, GPK_ACT_RELU, GPK_ACT_GELU, GPK_ACT_GELU_TANH, GPK_ACT_SILU, GPK_ACT_STEPS = 16 };

/* Properties of the library. gpk_kernel_set: the hash of its sources. gpk_cuda_version: CUDART_VERSION, such as 13000.
 * gpk_error_string never returns NULL. */
GPK_API int gpk_abi_version(void);
GPK_API const char* gpk_kernel_set(void);
GPK_API int gpk_cuda_version(void);
GPK_API const char* gpk_error_string(int code);

/* The product kernels of this build have the ids 0 ... gpk_gemm_count() - 1. Their names are those of the manifest. */
GPK_API int gpk_gemm_count(void);
GPK_API const char* gpk_gemm_name(int kernel);

/* The bytes of workspace of gpk_gemm for this problem. A negative result is a negated code. */
GPK_API int64_t gpk_gemm_workspace(int device, int kernel, int64_t m, int64_t n, int64_t k, int64_t batch);

/* D[i] = act(alpha * A[i] B[i] + bias), i < batch. A is m x k, B k x n, D m x n row-major; the kernel's manifest
 * entry says whether A and B are row- or column-major. lda, ldb, ldd: elements between consecutive rows
 * (row-major) or columns (column-major). stride_*: elements between members of the batch, 0 if all have the same operand.
 * bias: n elements of D's type, or 0. Kernels whose manifest entry has no epilogue reject act and bias. A kernel never
 * reads D.
 *
 * Scaled kernels read the output of gpk_prepare: float16 lines (rows of A, columns of B), each with a power of two as its
 * scale. scale_a and scale_b are m and n floats per member of the batch, one member after the other (for one member only
 * if the operand's stride is 0). Split kernels also read a second plane of each operand, low_a and low_b, with the layout
 * of the first: an element is high + low * 2^-11. For other kernels the four addresses are 0.
 *
 * A kernel of a squared modulus adds the squares of neighbouring columns of the product P: n is even, D has n / 2
 * columns, and
 *   D[i][j] = (alpha P[i][2j])^2 + (alpha P[i][2j+1])^2.
 *
 * guard: guard_a and guard_b are GPK_GUARD_WORDS words each, which gpk_prepare wrote. The kernel runs always
 * (GPK_GUARD_NONE), only if max(guard_a) + max(guard_b) < guard_limit (GPK_GUARD_FITS), or only otherwise
 * (GPK_GUARD_MISSES). A kernel that does not run writes nothing. The kernel for few rows is an exception. It reads A as
 * float32, does not read scale_a, writes guard_a, and always writes D. The kernel with GPK_GUARD_MISSES has to follow
 * it. */
GPK_API int gpk_gemm(int device, uint64_t stream, int kernel, int64_t m, int64_t n, int64_t k, int64_t batch,
                     uint64_t a, int64_t lda, int64_t stride_a, uint64_t b, int64_t ldb, int64_t stride_b,
                     uint64_t d, int64_t ldd, int64_t stride_d, uint64_t bias, int act,
                     double alpha_re, double alpha_im, uint64_t scale_a, uint64_t scale_b, uint64_t low_a,
                     uint64_t low_b, int guard, uint64_t guard_a, uint64_t guard_b, int64_t guard_limit,
                     uint64_t workspace, int64_t workspace_bytes);

enum { GPK_GUARD_NONE = 0, GPK_GUARD_FITS, GPK_GUARD_MISSES };
#define GPK_GUARD_WORDS 512

#ifdef __cplusplus
}
#endif
#endif
