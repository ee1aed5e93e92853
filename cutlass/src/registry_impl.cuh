// registry_impl.cuh: gpk_gemm and related functions. The generated registry declares the list of kernels before it
// includes this file:
//
//  static gpk::Entry const* const entries[] = {...};   // n_entries of them
//
// The compiler's command line defines GPK_KERNEL_SET as a string without quotes.
#pragma once
#include <atomic>
#include <limits.h>

#include "registry.cuh"

namespace gpk {

static constexpr int max_devices = 64;

int sm_count(int device) {
  static std::atomic<int> counts[max_devices];
  bool const cached = device >= 0 && device < max_devices;
  int n = cached ? counts[device].load(std::memory_order_relaxed) : 0;
  if (n == 0 && cudaDeviceGetAttribute(&n, cudaDevAttrMultiProcessorCount, device) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  if (cached) counts[device].store(n, std::memory_order_relaxed);
  return n;
}

int allow_shared(void const* kernel, int bytes, int device, uint64_t* done) {
  uint64_t const bit = device < max_devices ? uint64_t(1) << device : 0;
  if (__atomic_load_n(done, __ATOMIC_ACQUIRE) & bit) return GPK_OK;
  if (bytes > 48 << 10) {
    cudaError_t const e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (e != cudaSuccess) {
      cudaGetLastError();
      return e;
    }
  }
  __atomic_fetch_or(done, bit, __ATOMIC_RELEASE);
  return GPK_OK;
}

static thread_local bool tma_error = false;

bool take_tma_error() {
  bool const e = tma_error;
  tma_error = false;
  return e;
}

CUresult encode_tiled(CUtensorMap* map, CUtensorMapDataType type, cuuint32_t rank, void* address,
                      cuuint64_t const* dim, cuuint64_t const* strides, cuuint32_t const* box,
                      cuuint32_t const* element_strides, CUtensorMapInterleave interleave,
                      CUtensorMapSwizzle swizzle, CUtensorMapL2promotion promotion, CUtensorMapFloatOOBfill fill) {
  static std::atomic<decltype(&encode_tiled)> found{nullptr};
  auto encode = found.load(std::memory_order_relaxed);
  if (encode == nullptr) {
    void* address_of = nullptr;
    cudaDriverEntryPointQueryResult status{};
    cudaError_t const e = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &address_of, 12000,
                                                           cudaEnableDefault, &status);
    if (e != cudaSuccess || status != cudaDriverEntryPointSuccess) {
      cudaGetLastError();
      tma_error = true;
      return CUDA_SUCCESS;
    }
    encode = reinterpret_cast<decltype(&encode_tiled)>(address_of);
    found.store(encode, std::memory_order_relaxed);
  }
  if (encode(map, type, rank, address, dim, strides, box, element_strides, interleave, swizzle, promotion, fill) !=
      CUDA_SUCCESS) {
    tma_error = true;
  }
  return CUDA_SUCCESS;  // CUTLASS would print any other value; take_tma_error reports the error
}

int launch(void const* kernel, dim3 grid, dim3 block, int shared, cudaStream_t stream, void** params, int cluster_x,
           int cluster_y, bool early) {
  cudaLaunchAttribute attributes[2]{};
  cudaLaunchConfig_t config{};
  config.gridDim = grid;
  config.blockDim = block;
  config.dynamicSmemBytes = shared;
  config.stream = stream;
  config.attrs = attributes;
  if (cluster_x * cluster_y > 1) {
    cudaLaunchAttribute& a = attributes[config.numAttrs++];
    a.id = cudaLaunchAttributeClusterDimension;
    a.val.clusterDim.x = cluster_x;
    a.val.clusterDim.y = cluster_y;
    a.val.clusterDim.z = 1;
  }
  if (early) {
    cudaLaunchAttribute& a = attributes[config.numAttrs++];
    a.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    a.val.programmaticStreamSerializationAllowed = 1;
  }
  cudaError_t const e = cudaLaunchKernelExC(&config, kernel, params);
  if (e != cudaSuccess) cudaGetLastError();
  return e;
}

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

char const* gpk_error_string(int code) {
  switch (code) {
    case GPK_ERR_UNSUPPORTED: return "no kernel for this operation, type or kernel id";
    case GPK_ERR_ARGUMENT: return "the kernel does not support a size, stride or alignment";
    case GPK_ERR_WORKSPACE: return "the workspace is too small";
    case GPK_ERR_KERNEL: return "CUTLASS failed to initialize or launch the kernel";
  }
  char const* const s = cudaGetErrorString(static_cast<cudaError_t>(code));
  return s != nullptr ? s : "unknown error";
}

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
