// search.cu: binary searches in sorted lists, counts of integers, and the last of equal ones.
#include "gpk_search.h"
#include "ops.cuh"

namespace gpk {
namespace {

struct Search {
  void const* list;
  void const* values;
  int64_t* dst;
  int64_t n, count;
  bool right;
};

// The number that the order of T compares: halves and Bool as float and int.
template <class T>
__device__ inline auto comparable(T x) {
  if constexpr (__is_same(T, float) || __is_same(T, double) || is_integer<T>) {
    return x;
  } else {
    return convert<float>(x);
  }
}

// Whether a comes before b in a sorted list. NaN is last.
template <class U>
__device__ inline bool precedes(U a, U b) {
  return a < b || (b != b && a == a);
}

template <class T>
__global__ void __launch_bounds__(threads) search(__grid_constant__ Search const p) {
  begin();
  T const* const list = static_cast<T const*>(p.list);
  int64_t const step = int64_t(gridDim.x) * threads;
  for (int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x; i < p.count; i += step) {
    auto const v = comparable(static_cast<T const*>(p.values)[i]);
    int64_t low = 0, n = p.n;  // the index is in [low, low + n]
    while (n > 0) {
      int64_t const half = n / 2;
      auto const x = comparable(list[low + half]);
      if (p.right ? !precedes(v, x) : precedes(x, v)) {
        low += half + 1, n -= half + 1;
      } else {
        n = half;
      }
    }
    p.dst[i] = low;
  }
}

struct Count {
  int64_t const* x;
  unsigned long long* dst;
  int64_t n, count;
};

constexpr int shared_counts = 12000;  // counters of a block, in less than 48 KiB

// Counts in shared memory first if all counters fit into it. Integers are counted, so the order does not matter.
template <bool Shared>
__global__ void __launch_bounds__(threads) count(__grid_constant__ Count const p) {
  begin();
  __shared__ unsigned counters[Shared ? shared_counts : 1];
  if constexpr (Shared) {
    for (int64_t i = threadIdx.x; i < p.n; i += threads) counters[i] = 0;
    __syncthreads();
  }
  int64_t const step = int64_t(gridDim.x) * threads;
  for (int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x; i < p.count; i += step) {
    int64_t const v = p.x[i];
    if (v < 0 || v >= p.n) continue;
    if constexpr (Shared) {
      atomicAdd(&counters[v], 1u);
    } else {
      atomicAdd(&p.dst[v], 1ull);
    }
  }
  if constexpr (Shared) {
    __syncthreads();
    for (int64_t i = threadIdx.x; i < p.n; i += threads)
      if (counters[i] != 0) atomicAdd(&p.dst[i], static_cast<unsigned long long>(counters[i]));
  }
}

// Finds the last of equal elements. The largest index does not depend on the order of the threads.
__global__ void __launch_bounds__(threads) last(__grid_constant__ Count const p) {
  begin();
  int64_t const step = int64_t(gridDim.x) * threads;
  for (int64_t i = int64_t(blockIdx.x) * threads + threadIdx.x; i < p.count; i += step) {
    int64_t const v = p.x[i];
    if (v >= 0 && v < p.n) atomicMax(reinterpret_cast<long long*>(p.dst) + v, static_cast<long long>(i));
  }
}

// The number of blocks for n elements, at most `most`.
unsigned grid_for(int64_t n, int64_t most) {
  int64_t const blocks = (n + threads - 1) / threads;
  return static_cast<unsigned>(blocks < most ? blocks : most);
}

constexpr int64_t many_blocks = 2048, few_blocks = 512;  // few where each block adds all its counters to memory

}  // namespace
}  // namespace gpk

using namespace gpk;

int gpk_search(gpk_search_args const* a) {
  if (a == nullptr || a->size != sizeof *a || a->n < 0 || a->count < 0) return GPK_ERR_ARGUMENT;
  if (a->count == 0) return GPK_OK;
  int const code = set_device(a->device);
  if (code != GPK_OK) return code;
  Search const s = {reinterpret_cast<void const*>(a->list), reinterpret_cast<void const*>(a->values), reinterpret_cast<int64_t*>(a->dst), a->n, a->count, a->right != 0};
  return by_type(a->type, [&](auto v) -> int {
    using T = decltype(v);
    if constexpr (is_complex<T>) {
      return GPK_ERR_UNSUPPORTED;
    } else {
      return launch(search<T>, grid_for(a->count, many_blocks), threads, a->stream, s);
    }
  });
}

// Checks the arguments, and sets all bytes of dst to `byte`. Returns whether a kernel is to follow.
static bool begin_count(gpk_count_args const* a, int byte, int* code) {
  *code = GPK_ERR_ARGUMENT;
  if (a == nullptr || a->size != sizeof *a || a->n < 0 || a->count < 0) return false;
  *code = GPK_OK;
  if (a->n == 0 || (*code = set_device(a->device)) != GPK_OK) return false;
  *code = cudaMemsetAsync(reinterpret_cast<void*>(a->dst), byte, a->n * 8, reinterpret_cast<cudaStream_t>(a->stream));
  if (*code != cudaSuccess) cudaGetLastError();
  return *code == cudaSuccess && a->count > 0;
}

static Count count_of(gpk_count_args const* a) {
  return {reinterpret_cast<int64_t const*>(a->x), reinterpret_cast<unsigned long long*>(a->dst), a->n, a->count};
}

int gpk_count(gpk_count_args const* a) {
  int code;
  if (!begin_count(a, 0, &code)) return code;
  return a->n > shared_counts ? launch(count<false>, grid_for(a->count, many_blocks), threads, a->stream, count_of(a))
                              : launch(count<true>, grid_for(a->count, few_blocks), threads, a->stream, count_of(a));
}

int gpk_last(gpk_count_args const* a) {
  int code;
  if (!begin_count(a, 0xff, &code)) return code;
  return launch(last, grid_for(a->count, many_blocks), threads, a->stream, count_of(a));
}
