// A library with gpk's entries and no kernels, for tests of the loader. Each
// entry writes the arguments that it received to the address in `stream`, if
// any, and returns `device` as its code.
#include <string.h>
#include "gpk.h"

#ifndef FAKE_ABI
#define FAKE_ABI GPK_ABI
#endif
#define RECORD(...) \
  do { int64_t v[] = {__VA_ARGS__}; if (stream) memcpy((void*)stream, v, sizeof v); } while (0)

static int64_t at(const int64_t* p, int ndim) { return ndim > 0 ? p[ndim - 1] : -1; }
static int64_t bits(double d) { int64_t i; memcpy(&i, &d, sizeof i); return i; }

int gpk_abi_version(void) { return FAKE_ABI; }
const char* gpk_kernel_set(void) { return FAKE_SET; }
int gpk_cuda_version(void) { return 13000; }
const char* gpk_error_string(int code) { return code == GPK_ERR_UNSUPPORTED ? "no such kernel" : "some failure"; }
int gpk_gemm_count(void) { return 2; }
const char* gpk_gemm_name(int kernel) { return kernel == 0 ? "first" : "second"; }

int64_t gpk_gemm_workspace(int device, int kernel, int64_t m, int64_t n, int64_t k, int64_t batch) {
  return device ? -device : (((kernel * 100 + m) * 100 + n) * 100 + k) * 100 + batch;
}
int gpk_gemm(int device, uint64_t stream, int kernel, int64_t m, int64_t n, int64_t k, int64_t batch,
             uint64_t a, int64_t lda, int64_t stride_a, uint64_t b, int64_t ldb, int64_t stride_b,
             uint64_t d, int64_t ldd, int64_t stride_d, uint64_t bias, int act,
             double alpha_re, double alpha_im, uint64_t scale_a, uint64_t scale_b, uint64_t low_a, uint64_t low_b,
             int guard, uint64_t guard_a, uint64_t guard_b, int64_t guard_limit, uint64_t workspace,
             int64_t workspace_bytes) {
  RECORD(kernel, m, n, k, batch, a, lda, stride_a, b, ldb, stride_b, d, ldd, stride_d, bias, act,
         bits(alpha_re), bits(alpha_im), scale_a, scale_b, low_a, low_b, guard, guard_a, guard_b, guard_limit,
         workspace, workspace_bytes);
  return device;
}
int64_t gpk_prepare_workspace(int device, int type, int form, int64_t m, int64_t n, int64_t k, int64_t batch) {
  return device ? -device : ((((type * 100 + form) * 100 + m) * 100 + n) * 100 + k) * 100 + batch;
}
int gpk_prepare(int device, uint64_t stream, int type, int form, int64_t m, int64_t n, int64_t k, int64_t batch,
                uint64_t a, int64_t a_line, int64_t a_step, int64_t stride_a, int conj_a, uint64_t a_high,
                uint64_t a_low, int64_t a_pitch, int64_t a_member, uint64_t scale_a, uint64_t guard_a,
                uint64_t b, int64_t b_line, int64_t b_step, int64_t stride_b, int conj_b, uint64_t b_high,
                uint64_t b_low, int64_t b_pitch, int64_t b_member, uint64_t scale_b, uint64_t guard_b,
                uint64_t workspace, int64_t workspace_bytes) {
  RECORD(type, form, m, n, k, batch, a, a_line, a_step, stride_a, conj_a, a_high, a_low, a_pitch, a_member, scale_a,
         guard_a, b, b_line, b_step, stride_b, conj_b, b_high, b_low, b_pitch, b_member, scale_b, guard_b, workspace,
         workspace_bytes);
  return device;
}
int gpk_unary(int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, const int64_t* shape,
              uint64_t x, const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides) {
  RECORD(op, x_type, dst_type, ndim, at(shape, ndim), x, at(x_strides, ndim), dst, at(dst_strides, ndim));
  return device;
}
int gpk_binary(int device, uint64_t stream, int op, int type, int dst_type, int ndim, const int64_t* shape,
               uint64_t x, const int64_t* x_strides, uint64_t y, const int64_t* y_strides,
               uint64_t lo, uint64_t hi, uint64_t dst, const int64_t* dst_strides) {
  RECORD(op, type, dst_type, ndim, at(shape, ndim), x, at(x_strides, ndim), y, at(y_strides, ndim), lo, hi, dst,
         at(dst_strides, ndim));
  return device;
}
int gpk_ternary(int device, uint64_t stream, int op, int type, int ndim, const int64_t* shape,
                uint64_t x, const int64_t* x_strides, uint64_t y, const int64_t* y_strides, uint64_t z, const int64_t* z_strides,
                uint64_t y_lo, uint64_t y_hi, uint64_t z_lo, uint64_t z_hi, uint64_t dst, const int64_t* dst_strides) {
  RECORD(op, type, ndim, at(shape, ndim), x, at(x_strides, ndim), y, at(y_strides, ndim), z, at(z_strides, ndim),
         y_lo, y_hi, z_lo, z_hi, dst, at(dst_strides, ndim));
  return device;
}
int gpk_line(int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, const int64_t* shape,
             uint64_t x, const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides, uint64_t gamma,
             uint64_t beta, double eps) {
  RECORD(op, x_type, dst_type, ndim, at(shape, ndim), x, at(x_strides, ndim), dst, at(dst_strides, ndim), gamma, beta,
         bits(eps));
  return device;
}
int gpk_cast(int device, uint64_t stream, int x_type, int dst_type, int ndim, const int64_t* shape,
             uint64_t x, const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides) {
  RECORD(x_type, dst_type, ndim, at(shape, ndim), x, at(x_strides, ndim), dst, at(dst_strides, ndim));
  return device;
}
int gpk_fill(int device, uint64_t stream, int type, int ndim, const int64_t* shape,
             uint64_t lo, uint64_t hi, uint64_t dst, const int64_t* dst_strides) {
  RECORD(type, ndim, at(shape, ndim), lo, hi, dst, at(dst_strides, ndim));
  return device;
}
int gpk_arange(int device, uint64_t stream, int type, int64_t n, uint64_t start, uint64_t step, uint64_t dst) {
  RECORD(type, n, start, step, dst);
  return device;
}
int64_t gpk_reduce_workspace(int device, int op, int x_type, int dst_type, int ndim, const int64_t* shape, uint32_t axes) {
  return device ? -device : (((op * 100 + x_type) * 100 + dst_type) * 100 + at(shape, ndim)) * 100 + axes;
}
int gpk_reduce(int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, const int64_t* shape,
               uint32_t axes, uint64_t x, const int64_t* x_strides, uint64_t dst,
               uint64_t workspace, int64_t workspace_bytes) {
  RECORD(op, x_type, dst_type, ndim, at(shape, ndim), axes, x, at(x_strides, ndim), dst, workspace, workspace_bytes);
  return device;
}
#ifdef FAKE_UNDEFINED
int gpk_nowhere(void);
int gpk_spin(int device, uint64_t stream, int64_t us) { return gpk_nowhere(); }
#elif !defined(FAKE_NO_SPIN)
int gpk_spin(int device, uint64_t stream, int64_t microseconds) { RECORD(microseconds); return device; }
#endif
