/* gpk_gemm.h: the part of libgpk.so's C ABI that the product kernels need: its rules, the library's own entry
 * points and the products. gpk.h adds the other entry points; a change there rebuilds no product kernel.
 *
 * Every entry point is flat: scalars and device addresses, no structures, no callbacks. Each sets its device
 * itself, enqueues its work on the stream, reads the launch error in the same call and returns a code; none waits
 * and none allocates. Addresses and streams are passed as 64-bit integers. Shapes and strides are host arrays of
 * `ndim` numbers, strides in elements; they are read before the call returns. Element types have the numbers of
 * package dtype, operations those of package expr. Rows of a batch may repeat (stride 0).
 *
 * A change of a signature or of its meaning here requires a higher GPK_ABI, here and in package cutlass. */
#ifndef GPK_GEMM_H
#define GPK_GEMM_H
#include <stdint.h>

#define GPK_ABI 4

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
  GPK_F32 = 1, GPK_F64, GPK_F16, GPK_BF16, GPK_I8, GPK_U8, GPK_I32, GPK_I64, GPK_BOOL, GPK_C64, GPK_C128,
  GPK_I16, GPK_U16, GPK_U32, GPK_U64
};

/* Activations of a product's epilogue. With GPK_ACT_STEPS, an epilogue rounds as the single operations do: the
 * product, times alpha, plus bias, activated. It supports GPK_ACT_RELU, and GPK_ACT_GELU for results of two bytes. */
enum { GPK_ACT_NONE = 0, GPK_ACT_RELU, GPK_ACT_GELU, GPK_ACT_GELU_TANH, GPK_ACT_SILU, GPK_ACT_STEPS = 16 };

/* Properties of the library. gpk_kernel_set is the hash of all sources from which it was built; gpk_cuda_version
 * is CUDART_VERSION (13000); gpk_error_string never returns NULL. */
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

/* D[i] = act(alpha * A[i] B[i] + bias), i < batch. A is m x k, B k x n, D m x n row-major; the kernel's manifest
 * entry says whether A and B are row- or column-major. lda, ldb, ldd: elements between consecutive rows
 * (row-major) or columns (column-major). stride_*: elements between batch members, 0 if all use one operand. bias:
 * n elements of D's type, or 0. act and bias are rejected by kernels whose entry lacks an epilogue. A kernel never
 * reads D.
 *
 * Scaled kernels read operands made by gpk_prepare: float16 lines (rows of A, columns of B) that represent their
 * elements times a power of two, scale_a and scale_b: m and n floats per member of the batch, one member after the
 * other (only one member's if the operand's stride is 0). Split kernels also read a second plane of each operand,
 * at low_a and low_b, with the layout of the first: an element is high + low * 2^-11. All four are 0 for other
 * kernels.
 *
 * A kernel of a squared modulus adds the squares of its product's neighbouring columns: n is even and D has n / 2
 * columns,
 *   D[i][j] = (alpha P[i][2j])^2 + (alpha P[i][2j+1])^2.
 *
 * guard: GPK_GUARD_NONE, or run only if the words that gpk_prepare wrote, guard_a and guard_b, GPK_GUARD_WORDS
 * each, satisfy (GPK_GUARD_FITS) or do not satisfy (GPK_GUARD_MISSES) max(guard_a) + max(guard_b) < guard_limit. A
 * kernel that does not run writes nothing. The kernel of few rows is an exception: it reads A as float32, does not
 * read scale_a, and writes guard_a itself, and D in any case. The kernel with GPK_GUARD_MISSES has to follow it. */
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
