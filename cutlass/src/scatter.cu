// scatter.cu: adds rows at indices, in an order that depends on the indices alone.
//
// The indices are sorted by radix, and equal ones keep their order. A thread then adds `run` neighbours in that order,
// for one column. The rows whose values all lie inside its run are complete; the sums of the first and of the last
// row of every run, which may go on in the neighbouring runs, are the values of the next, shorter pass, and so on
// until one run is left.
#include "gpk_scatter.h"
#include "ops.cuh"
#include "ops_math.cuh"
#include "radix.cuh"
#include "sort_parts.cuh"

namespace gpk {
namespace {

constexpr int run = 32;

// The accumulator type of T, and its identity of addition, which is -0 for floating-point numbers.
template <class T>
struct Sum {
  using type = typename wrapping<T>::type;
  __device__ static type none() { return 0; }
};
template <>
struct Sum<float> {
  using type = double;
  __device__ static type none() { return -0.0; }
};
template <>
struct Sum<double> : Sum<float> {};
template <>
struct Sum<c64> {
  using type = c128;
  __device__ static type none() { return {-0.0, -0.0}; }
};
template <>
struct Sum<c128> : Sum<c64> {};

template <class A, class T>
__device__ inline A widened(T x) {
  if constexpr (__is_same(T, c64)) {
    return {x.re, x.im};
  } else if constexpr (__is_same(T, A)) {
    return x;
  } else {
    return static_cast<A>(x);
  }
}

template <class T, class A>
__device__ inline T narrowed(A x) {
  if constexpr (__is_same(T, c64)) {
    return {static_cast<float>(x.re), static_cast<float>(x.im)};
  } else if constexpr (__is_same(T, A)) {
    return x;
  } else {
    return static_cast<T>(x);
  }
}

struct ScatterKeys {
  int64_t const* places;
  uint32_t *keys, *order;
  uint32_t n, count;
};

__global__ void __launch_bounds__(threads) scatter_keys(ScatterKeys p) {
  begin();
  uint32_t const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.count) return;
  int64_t const at = p.places[i];
  p.keys[i] = static_cast<uint64_t>(at) < p.n ? static_cast<uint32_t>(at) : p.n;
  p.order[i] = i;
}

// One pass. The first one reads rows of T in the order `order`, all others sums as they lie (order is nullptr).
template <class T>
struct ScatterRuns {
  using A = typename Sum<T>::type;
  uint32_t const *keys, *order;
  T const* values;
  A const* sums;
  T const* x;
  T* dst;
  uint32_t* next_keys;  // nullptr: this is the last pass
  A* next_sums;
  uint32_t n, count, total;  // rows; values; runs * width
  Divider width;
};

template <class T>
__global__ void __launch_bounds__(threads) scatter_runs(ScatterRuns<T> p) {
  begin();
  using A = typename Sum<T>::type;
  uint32_t const g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= p.total) return;
  uint32_t column;
  uint32_t const t = p.width.divide(g, &column);
  uint32_t const from = t * run, to = p.count - from < run ? p.count : from + run;
  int64_t const width = p.width.d;
  auto value = [&](uint32_t i) {
    return p.order != nullptr ? widened<A>(p.values[p.order[i] * width + column]) : p.sums[i * width + column];
  };
  auto finish = [&](uint32_t key, A sum) {
    if (key >= p.n) return;
    int64_t const at = key * width + column;
    p.dst[at] = narrowed<T>(static_cast<A>(widened<A>(p.x[at]) + sum));
  };
  uint32_t key = p.keys[from];
  A sum = value(from);
  bool first = true;
  for (uint32_t i = from + 1; i < to; ++i) {
    uint32_t const k = p.keys[i];
    A const v = value(i);
    if (k == key) {
      sum = static_cast<A>(sum + v);
      continue;
    }
    if (first && p.next_keys != nullptr) {
      if (column == 0) p.next_keys[2 * t] = key;
      p.next_sums[2 * t * width + column] = sum;
    } else {
      finish(key, sum);
    }
    first = false;
    key = k;
    sum = v;
  }
  if (p.next_keys == nullptr) return finish(key, sum);
  if (first) {
    if (column == 0) p.next_keys[2 * t] = key;
    p.next_sums[2 * t * width + column] = Sum<T>::none();
  }
  if (column == 0) p.next_keys[2 * t + 1] = key;
  p.next_sums[(2 * t + 1) * width + column] = sum;
}

// The number of runs of a pass, and whether it is the last.
inline int64_t runs_of(int64_t count) { return (count + run - 1) / run; }

inline int bits_of(int64_t n) {
  int bits = 1;
  while (int64_t{1} << bits <= n) ++bits;
  return bits;
}

// Adds, or with a workspace of 0 computes its size.
template <class T>
int scatter_add(gpk_scatter_add_args const& a, uint64_t base, int64_t* need) {
  using A = typename Sum<T>::type;
  Parts parts;
  RadixSort sort;
  sort.key_bytes = 4;
  sort.bits = bits_of(a.n);
  sort.n = a.count;
  for (int i = 0; i < 2; ++i) {
    sort.keys[i] = parts.part<uint32_t>(base, a.count);
    sort.values[i] = parts.part<uint32_t>(base, a.count);
  }
  // Two sets of keys and sums, which the passes use in turn.
  int64_t const first = 2 * runs_of(a.count), second = 2 * runs_of(first);
  uint32_t* const keys[2] = {parts.part<uint32_t>(base, first), parts.part<uint32_t>(base, second)};
  A* const sums[2] = {parts.part<A>(base, first * a.width), parts.part<A>(base, second * a.width)};
  if (base == 0) sort.values[0] = reinterpret_cast<uint32_t*>(256);  // values follow
  int64_t const work = radix_workspace(sort);
  if (work < 0) return static_cast<int>(-work);
  uint64_t const temporary = reinterpret_cast<uint64_t>(parts.part<char>(base, work));
  *need = static_cast<int64_t>(parts.at);
  if (base == 0) return GPK_OK;

  ScatterKeys const k{reinterpret_cast<int64_t const*>(a.places), static_cast<uint32_t*>(sort.keys[0]), sort.values[0],
                      static_cast<uint32_t>(a.n), static_cast<uint32_t>(a.count)};
  int code = launch_for(scatter_keys, a.count, 1, a.stream, k);
  int sorted = 0;
  if (code == GPK_OK) code = radix_sort(sort, temporary, work, a.stream, &sorted);
  ScatterRuns<T> p{};
  p.keys = static_cast<uint32_t const*>(sort.keys[sorted]);
  p.order = sort.values[sorted];
  p.values = reinterpret_cast<T const*>(a.values);
  p.x = reinterpret_cast<T const*>(a.x);
  p.dst = reinterpret_cast<T*>(a.dst);
  p.n = static_cast<uint32_t>(a.n);
  p.width = Divider(static_cast<uint32_t>(a.width));
  int64_t count = a.count;
  for (int turn = 0; code == GPK_OK; turn ^= 1) {
    int64_t const runs = runs_of(count);
    p.count = static_cast<uint32_t>(count);
    p.total = static_cast<uint32_t>(runs * a.width);
    p.next_keys = runs == 1 ? nullptr : keys[turn];
    p.next_sums = runs == 1 ? nullptr : sums[turn];
    code = launch_for(scatter_runs<T>, p.total, 1, a.stream, p);
    if (runs == 1) break;
    p.keys = p.next_keys;
    p.sums = p.next_sums;
    p.order = nullptr;
    count = 2 * runs;
  }
  return code;
}

int run_scatter_add(gpk_scatter_add_args const* a, bool measure, int64_t* need) {
  constexpr int64_t most = (int64_t{1} << 31) - 2;
  if (a == nullptr || a->size != sizeof(gpk_scatter_add_args)) return GPK_ERR_ARGUMENT;
  if (a->n < 0 || a->count < 0 || a->width < 0 || a->n > most || a->count > most || a->width > most) return GPK_ERR_ARGUMENT;
  int const bytes = size_of(a->type);
  if (bytes == 0 || a->type == GPK_F16 || a->type == GPK_BF16 || a->type == GPK_BOOL) return GPK_ERR_UNSUPPORTED;
  *need = 0;
  if (a->n == 0 || a->width == 0) return GPK_OK;
  if (a->count > 0 && a->width > most / runs_of(a->count)) return GPK_ERR_ARGUMENT;
  int code = set_device(a->device);
  if (code != GPK_OK) return code;
  if (!measure) {
    cudaError_t const e = cudaMemcpyAsync(reinterpret_cast<void*>(a->dst), reinterpret_cast<void const*>(a->x),
                                          static_cast<size_t>(a->n * a->width) * bytes, cudaMemcpyDeviceToDevice,
                                          reinterpret_cast<cudaStream_t>(a->stream));
    if (e != cudaSuccess) {
      cudaGetLastError();
      return e;
    }
  }
  if (a->count == 0) return GPK_OK;
  return by_type(a->type, [&](auto x) -> int {
    using T = decltype(x);
    if constexpr (is_half<T> || __is_same(T, boolean)) {
      return GPK_ERR_UNSUPPORTED;
    } else {
      int64_t size = 0;
      int const code = scatter_add<T>(*a, 0, &size);
      *need = size;
      if (code != GPK_OK || measure) return code;
      if (a->workspace == 0 || a->workspace_bytes < size) return GPK_ERR_WORKSPACE;
      return scatter_add<T>(*a, a->workspace, &size);
    }
  });
}

}  // namespace
}  // namespace gpk

int64_t gpk_scatter_add_workspace(gpk_scatter_add_args const* args) {
  int64_t need = 0;
  int const code = gpk::run_scatter_add(args, true, &need);
  return code == GPK_OK ? need : -code;
}

int gpk_scatter_add(gpk_scatter_add_args const* args) {
  int64_t need = 0;
  return gpk::run_scatter_add(args, false, &need);
}
