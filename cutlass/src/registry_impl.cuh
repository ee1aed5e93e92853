// registry_impl.cuh: gpk_gemm and related functions. The generated registry declares the list of kernels before it
// includes this file:
//
//  static gpk::Entry const* const entries[] = {...};   // n_entries of them
//
// The compiler's command line defines GPK_KERNEL_SET as a string without quotes.
#pragma once
#include <limits.h>

#include "launch_impl.cuh"

namespace gpk {

static Entry const* find(int kernel) {
  return kernel >= 0 && kernel < n_entries ? entries[kernel] : nullptr;
}

static bool fits(int64_t n) { return n > 0 && n <= INT_MAX; }

static bool divides(int64_t align, int64_t bytes) { return bytes % align == 0; }

// Whether an operand whose rows (or columns) have `extent` contiguous elements is valid.
static bool valid_operand(uint64_t address, int64_t extent, int64_t ld, int64_t stride, int64_t batch, int size, int align) {
  return address != 0 && address % static_cast<uint64_t>(align) == 0 &&
         ld >= extent && divides(align, ld * size) && (batch == 1 || (stride >= 0 && divides(align, stride * size)));
}

// Whether both addresses are present and aligned (`wanted`), or both are 0 (not `wanted`).
static bool valid_pair(bool wanted, uint64_t x, uint64_t y, uint64_t align) {
  return wanted ? x != 0 && y != 0 && x % align == 0 && y % align == 0 : x == 0 && y == 0;
}

}  // namespace gpk

#define GPK_STRING_(x) #x
#define GPK_STRING(x) GPK_STRING_(x)

int gpk_abi_version(void) { return GPK_ABI; }

char const* gpk_kernel_set(void) { return GPK_STRING(GPK_KERNEL_SET); }

int gpk_cuda_version(void) { return CUDART_VERSION; }

char const* gpk_error_string(int code) { return gpk::error_text(code); }

int gpk_gemm_count(void) { return gpk::n_entries; }

char const* gpk_gemm_name(int kernel) {
  gpk::Entry const* const entry = gpk::find(kernel);
  return entry != nullptr ? entry->name : "";
}

int64_t gpk_gemm_workspace(int device, int kernel, int64_t m, int64_t n, int64_t k, int64_t batch) {
  gpk::Entry const* const entry = gpk::find(kernel);
  if (entry == nullptr) return -GPK_ERR_UNSUPPORTED;
  if (!gpk::fits(m) || !gpk::fits(n) || !gpk::fits(k) || !gpk::fits(batch)) return -GPK_ERR_ARGUMENT;
  if (entry->workspace == nullptr) return 0;
  return entry->workspace(device, static_cast<int>(m), static_cast<int>(n), static_cast<int>(k), static_cast<int>(batch));
}

int gpk_gemm(int device, uint64_t stream, int kernel, int64_t m, int64_t n, int64_t k, int64_t batch, uint64_t a,
             int64_t lda, int64_t stride_a, uint64_t b, int64_t ldb, int64_t stride_b, uint64_t d, int64_t ldd,
             int64_t stride_d, uint64_t bias, int act, double alpha_re, double alpha_im, uint64_t scale_a,
             uint64_t scale_b, uint64_t low_a, uint64_t low_b, int guard, uint64_t guard_a, uint64_t guard_b,
             int64_t guard_limit, uint64_t workspace, int64_t workspace_bytes) {
  gpk::Entry const* const entry = gpk::find(kernel);
  if (entry == nullptr) return GPK_ERR_UNSUPPORTED;
  gpk::Traits const& t = entry->traits;
  if (!t.epilogue && (bias != 0 || act != GPK_ACT_NONE)) return GPK_ERR_UNSUPPORTED;
  int const function = act & ~GPK_ACT_STEPS;
  if (!t.guarded && guard != GPK_GUARD_NONE) return GPK_ERR_UNSUPPORTED;
  if (!gpk::fits(m) || !gpk::fits(n) || !gpk::fits(k) || !gpk::fits(batch) || k % t.multiple_k != 0 ||
      n % t.columns != 0 || function < GPK_ACT_NONE || function > GPK_ACT_SILU ||
      (act != function && function > GPK_ACT_RELU && (t.size_d != 2 || function != GPK_ACT_GELU)) || bias % static_cast<uint64_t>(t.size_d) != 0 ||
      !gpk::valid_operand(a, t.row_a ? k : m, lda, stride_a, batch, t.size_a, t.align_a) ||
      !gpk::valid_operand(b, t.row_b ? n : k, ldb, stride_b, batch, t.size_b, t.align_b) ||
      !gpk::valid_operand(d, n / t.columns, ldd, stride_d, batch, t.size_d, t.align_d) ||
      !gpk::valid_pair(t.scaled, scale_a, scale_b, sizeof(float)) || !gpk::valid_pair(t.split, low_a, low_b, t.align_a) ||
      guard < GPK_GUARD_NONE || guard > GPK_GUARD_MISSES ||
      !gpk::valid_pair(guard != GPK_GUARD_NONE, guard_a, guard_b, sizeof(uint32_t))) {
    return GPK_ERR_ARGUMENT;
  }
  if (cudaError_t const e = cudaSetDevice(device)) {
    cudaGetLastError();
    return e;
  }
  if (batch == 1) stride_a = stride_b = stride_d = 0;
  return entry->run({device, reinterpret_cast<cudaStream_t>(stream), static_cast<int>(m), static_cast<int>(n),
                     static_cast<int>(k), static_cast<int>(batch), reinterpret_cast<void const*>(a), lda, stride_a,
                     reinterpret_cast<void const*>(b), ldb, stride_b, reinterpret_cast<void*>(d), ldd, stride_d,
                     reinterpret_cast<void const*>(bias), act, alpha_re, alpha_im,
                     reinterpret_cast<float const*>(scale_a), reinterpret_cast<float const*>(scale_b),
                     reinterpret_cast<void const*>(low_a), reinterpret_cast<void const*>(low_b),
                     {guard, reinterpret_cast<uint32_t const*>(guard_a), reinterpret_cast<uint32_t const*>(guard_b),
                      guard_limit},
                     reinterpret_cast<void*>(workspace), workspace != 0 ? workspace_bytes : 0});
}
