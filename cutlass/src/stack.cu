// stack.cu: the entry point of gpk_stack.h.
#include "gpk_stack.h"
#include "ops.cuh"

namespace gpk {
namespace {

constexpr int units_per_thread = 4;

// The addresses of the sources are kernel parameters, so that they need no copy to the device.
struct Stack {
  uint64_t source[GPK_STACK_SOURCES];
  uint64_t dst;
  int64_t units;  // units per source
};

template <class T>
__global__ void __launch_bounds__(threads) stack_sources(Stack p) {
  begin();
  T const* from = reinterpret_cast<T const*>(p.source[blockIdx.y]);
  T* to = reinterpret_cast<T*>(p.dst) + blockIdx.y * p.units;
  int64_t const first = int64_t{blockIdx.x} * (threads * units_per_thread) + threadIdx.x;
  T v[units_per_thread];
#pragma unroll
  for (int i = 0; i < units_per_thread; ++i) {
    if (first + i * threads < p.units) v[i] = from[first + i * threads];
  }
#pragma unroll
  for (int i = 0; i < units_per_thread; ++i) {
    if (first + i * threads < p.units) to[first + i * threads] = v[i];
  }
}

template <class T>
int start(Stack p, int64_t bytes, int count, uint64_t stream) {
  p.units = bytes / static_cast<int64_t>(sizeof(T));
  int64_t const blocks = (p.units + threads * units_per_thread - 1) / (threads * units_per_thread);
  if (blocks > INT32_MAX) return GPK_ERR_UNSUPPORTED;
  static uint64_t known = 0;
  void* args[] = {&p};
  cudaLaunchAttribute attribute{};
  attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
  attribute.val.programmaticStreamSerializationAllowed = 1;
  auto const kernel = reinterpret_cast<void const*>(stack_sources<T>);
  cudaLaunchConfig_t config{};
  config.gridDim = dim3(static_cast<unsigned>(blocks), static_cast<unsigned>(count));
  config.blockDim = dim3(threads);
  config.stream = reinterpret_cast<cudaStream_t>(stream);
  config.attrs = &attribute;
  config.numAttrs = waits_for_previous(kernel, current_device, &known);
  cudaError_t const e = cudaLaunchKernelExC(&config, kernel, args);
  if (e != cudaSuccess) cudaGetLastError();
  return e;
}

}  // namespace
}  // namespace gpk

using namespace gpk;

int gpk_stack(int device, uint64_t stream, uint64_t dst, int64_t bytes, int count, const uint64_t* sources) {
  if (bytes < 0 || count < 0 || count > GPK_STACK_SOURCES) return GPK_ERR_ARGUMENT;
  if (bytes == 0 || count == 0) return GPK_OK;
  Stack p = {};
  uint64_t all = dst | static_cast<uint64_t>(bytes);
  for (int i = 0; i < count; ++i) {
    p.source[i] = sources[i];
    all |= sources[i];
  }
  p.dst = dst;
  if (int const code = set_device(device)) return code;
  if (all % 16 == 0) return start<uint4>(p, bytes, count, stream);
  if (all % 4 == 0) return start<uint32_t>(p, bytes, count, stream);
  return start<uint8_t>(p, bytes, count, stream);
}
