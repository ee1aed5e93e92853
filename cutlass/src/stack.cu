// stack.cu: the entry points of gpk_stack.h.
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

struct Triangle {
  char const* x;
  char* dst;
  int64_t vectors;   // in all matrices
  int64_t rows;      // per matrix
  int64_t per_row;   // vectors per row
  int64_t diagonal;  // column of the diagonal in row 0
  bool upper;
};

// Copies the triangle and writes zeros elsewhere. A thread handles vectors of V neighbouring elements of one row. A vector
// that lies entirely outside the triangle is written as zeros, and not read.
template <class T, int V>
__global__ void __launch_bounds__(threads) triangle(__grid_constant__ Triangle const p) {
  begin();
  int64_t const step = int64_t{gridDim.x} * threads;
  for (int64_t i = int64_t{blockIdx.x} * threads + threadIdx.x; i < p.vectors; i += step) {
    int64_t const line = i / p.per_row, first = (i - line * p.per_row) * V;
    int64_t const edge = line % p.rows + p.diagonal;  // the column of the diagonal in this row
    Vec<T, V> v = {};
    if (p.upper ? first + V - 1 >= edge : first <= edge) v = reinterpret_cast<Vec<T, V> const*>(p.x)[i];
#pragma unroll
    for (int e = 0; e < V; ++e) {
      if (p.upper ? first + e < edge : first + e > edge) v.v[e] = T{};
    }
    reinterpret_cast<Vec<T, V>*>(p.dst)[i] = v;
  }
}

template <int Bytes>
int copy_triangle(Triangle p, int64_t cols, uint64_t stream) {
  using T = typename Blob<Bytes>::type;
  constexpr int V = 16 / Bytes;
  bool const vectors = cols % V == 0 && (reinterpret_cast<uintptr_t>(p.x) | reinterpret_cast<uintptr_t>(p.dst)) % 16 == 0;
  p.per_row = vectors ? cols / V : cols;
  p.vectors = p.vectors * p.per_row;
  int64_t const blocks = (p.vectors - 1) / threads + 1, most = 1 << 16;
  return launch(vectors ? triangle<T, V> : triangle<T, 1>, static_cast<unsigned>(blocks < most ? blocks : most), threads, stream, p);
}

}  // namespace
}  // namespace gpk

using namespace gpk;

int gpk_triangle(int device, uint64_t stream, int bytes, uint64_t x, uint64_t dst, int64_t batch, int64_t rows,
                 int64_t cols, int64_t diagonal, int upper) {
  if (batch < 0 || rows < 0 || cols < 0) return GPK_ERR_ARGUMENT;
  if (batch == 0 || rows == 0 || cols == 0) return GPK_OK;
  Triangle const p = {reinterpret_cast<char const*>(x), reinterpret_cast<char*>(dst), batch * rows, rows, 0, diagonal, upper != 0};
  if (int const code = set_device(device)) return code;
  switch (bytes) {
    case 1: return copy_triangle<1>(p, cols, stream);
    case 2: return copy_triangle<2>(p, cols, stream);
    case 4: return copy_triangle<4>(p, cols, stream);
    case 8: return copy_triangle<8>(p, cols, stream);
    case 16: return copy_triangle<16>(p, cols, stream);
  }
  return GPK_ERR_UNSUPPORTED;
}

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
