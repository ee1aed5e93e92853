// launch_impl.cuh: the definitions of registry.cuh's functions for launches, and the texts of the codes that entry
// points return. One translation unit of a library includes this file.
#pragma once
#include <atomic>

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

// The text of a code that an entry point returns; never nullptr.
static char const* error_text(int code) {
  switch (code) {
    case GPK_ERR_UNSUPPORTED: return "no kernel for this operation, type or kernel id";
    case GPK_ERR_ARGUMENT: return "the kernel does not support a size, stride or alignment";
    case GPK_ERR_WORKSPACE: return "the workspace is too small";
    case GPK_ERR_KERNEL: return "CUTLASS failed to initialize or launch the kernel";
  }
  char const* const s = cudaGetErrorString(static_cast<cudaError_t>(code));
  return s != nullptr ? s : "unknown error";
}

}  // namespace gpk
