// scatter.cu: adds rows at indices, with a result that does not depend on the order of the threads.
//
// Integers, and float32 in narrow rows, are added by atomic additions of integers (scatter_direct.cuh).
//
// For all others the indices are sorted by radix; equal ones keep their order. A thread then adds `run` neighbours in
// that order, for one column. A row all of whose values are in the run is complete. The first and the last row of a
// run may extend into the neighbouring runs: their sums are the values of the next, shorter pass. The last pass has
// one run.
#include "gpk_scatter.h"
#include "ops.cuh"
#include "ops_math.cuh"
#include "radix.cuh"
#include "scatter_direct.cuh"
#include "sort_parts.cuh"

namespace gpk {
namespace {

constexpr int run = 32;

// The accumulator type of T, and its identity of addition, which is -0 for floating-point numbers.
template <class T>
struct Accumulator {
  using type = typename wrapping<T>::type;
  __device__ static type identity() { return 0; }
};
template <>
struct Accumulator<float> {
  using type = double;
  __device__ static type identity() { return -0.0; }
};
template <>
struct Accumulator<double> : Accumulator<float> {};
template <>
struct Accumulator<c64> {
  using type = c128;
  __device__ static type identity() { return {-0.0, -0.0}; }
};
template <>
struct Accumulator<c128> : Accumulator<c64> {};

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
  ScatterPlaces places;
  bool wide;  // whether indices are int64 (otherwise int32)
  uint32_t *keys, *order;
  uint32_t count;
};

__global__ void __launch_bounds__(threads) scatter_keys(ScatterKeys p) {
  begin();
  uint32_t const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.count) return;
  uint32_t row;
  bool const in = row_of(
      p.places, p.wide ? static_cast<int64_t const*>(p.places.p)[i] : static_cast<int32_t const*>(p.places.p)[i], &row);
  p.keys[i] = in ? row : 0;
  p.order[i] = i;
}

// One pass. The first pass reads rows of T in the order `order`. Later passes read sums, and order is nullptr.
template <class T>
struct ScatterRuns {
  using A = typename Accumulator<T>::type;
  uint32_t const *keys, *order;
  T const* values;
  A const* sums;
  T const* x;
  T* dst;
  uint32_t* next_keys;  // nullptr: this is the last pass
  A* next_sums;
  uint32_t count, total;  // values; runs * width
  bool splat;             // values has one row, which is added at every index
  Divider width;
};

template <class T>
__global__ void __launch_bounds__(threads) scatter_runs(ScatterRuns<T> p) {
  begin();
  using A = typename Accumulator<T>::type;
  uint32_t const g = blockIdx.x * blockDim.x + threadIdx.x;
  if (g >= p.total) return;
  uint32_t column;
  uint32_t const t = p.width.divide(g, &column);
  uint32_t const from = t * run, to = p.count - from < run ? p.count : from + run;
  int64_t const width = p.width.d;
  auto value = [&](uint32_t i) {
    return p.order != nullptr ? widened<A>(p.values[(p.splat ? 0 : p.order[i]) * width + column])
                              : p.sums[i * width + column];
  };
  auto store = [&](uint32_t key, A sum) {
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
      store(key, sum);
    }
    first = false;
    key = k;
    sum = v;
  }
  if (p.next_keys == nullptr) return store(key, sum);
  if (first) {
    if (column == 0) p.next_keys[2 * t] = key;
    p.next_sums[2 * t * width + column] = Accumulator<T>::identity();
  }
  if (column == 0) p.next_keys[2 * t + 1] = key;
  p.next_sums[(2 * t + 1) * width + column] = sum;
}

// Returns the number of runs of a pass.
inline int64_t runs_of(int64_t count) { return (count + run - 1) / run; }

// Returns the number of bits of the indices into n rows, at least 1.
inline int bits_of(int64_t n) {
  int bits = 1;
  while (int64_t{1} << bits < n) ++bits;
  return bits;
}

inline ScatterPlaces places_of(gpk_scatter_add_args const& a) {
  return {reinterpret_cast<void const*>(a.places), a.n, reinterpret_cast<long long*>(a.flags)};
}

// Adds by sorting. With base 0 nothing is launched, and *need is the size of the workspace.
template <class T>
int scatter_add(gpk_scatter_add_args const& a, uint64_t base, int64_t* need) {
  using A = typename Accumulator<T>::type;
  Parts parts;
  RadixSort sort;
  sort.key_bytes = 4;
  sort.bits = bits_of(a.n);
  sort.n = a.count;
  for (int i = 0; i < 2; ++i) {
    sort.keys[i] = parts.part<uint32_t>(base, a.count);
    sort.values[i] = parts.part<uint32_t>(base, a.count);
  }
  // The passes alternate between two sets of keys and sums.
  int64_t const first = 2 * runs_of(a.count), second = 2 * runs_of(first);
  uint32_t* const keys[2] = {parts.part<uint32_t>(base, first), parts.part<uint32_t>(base, second)};
  A* const sums[2] = {parts.part<A>(base, first * a.width), parts.part<A>(base, second * a.width)};
  // Any address: the size of the workspace depends on whether there are values.
  if (base == 0) sort.values[0] = reinterpret_cast<uint32_t*>(256);
  int64_t const work = radix_workspace(sort);
  if (work < 0) return static_cast<int>(-work);
  uint64_t const temporary = reinterpret_cast<uint64_t>(parts.part<char>(base, work));
  *need = static_cast<int64_t>(parts.at);
  if (base == 0) return GPK_OK;

  ScatterKeys const k{places_of(a), a.index_type == GPK_I64, static_cast<uint32_t*>(sort.keys[0]), sort.values[0],
                      static_cast<uint32_t>(a.count)};
  int code = launch_for(scatter_keys, a.count, 1, a.stream, k);
  int sorted = 0;
  if (code == GPK_OK) code = radix_sort(sort, temporary, work, a.stream, &sorted);
  ScatterRuns<T> p{};
  p.keys = static_cast<uint32_t const*>(sort.keys[sorted]);
  p.order = sort.values[sorted];
  p.values = reinterpret_cast<T const*>(a.values);
  p.x = reinterpret_cast<T const*>(a.x);
  p.dst = reinterpret_cast<T*>(a.dst);
  p.splat = a.splat != 0;
  p.width = Divider(static_cast<uint32_t>(a.width));
  int64_t count = a.count;
  for (int current = 0; code == GPK_OK; current ^= 1) {
    int64_t const runs = runs_of(count);
    p.count = static_cast<uint32_t>(count);
    p.total = static_cast<uint32_t>(runs * a.width);
    p.next_keys = runs == 1 ? nullptr : keys[current];
    p.next_sums = runs == 1 ? nullptr : sums[current];
    code = launch_for(scatter_runs<T>, p.total, 1, a.stream, p);
    if (runs == 1) break;
    p.keys = p.next_keys;
    p.sums = p.next_sums;
    p.order = nullptr;
    count = 2 * runs;
  }
  return code;
}

template <class S>
int launch_direct(ScatterDirect<S> const& p, int index_type, uint64_t stream) {
  unsigned const grid = blocks_for(p.total, scatter_tile);
  return index_type == GPK_I64 ? launch(scatter_direct<S, int64_t>, grid, threads, stream, p)
                               : launch(scatter_direct<S, int32_t>, grid, threads, stream, p);
}

// How values are added: after a sort; by integer additions in shared memory, or in the destination; or exactly.
enum class Method { sorted, shared, integers, exact };

// Returns the numbers per row: a complex element is two.
inline int64_t numbers_per_row(gpk_scatter_add_args const& a) { return a.width * (a.type == GPK_C64 ? 2 : 1); }

Method method_of(gpk_scatter_add_args const& a) {
  constexpr int64_t most = (int64_t{1} << 31) - scatter_tile;
  int64_t const width = numbers_per_row(a);
  if (width > most / a.n || width > most / a.count) return Method::sorted;
  int64_t const sums = a.n * width, values = a.count * width;
  if (is_integer_type(a.type) && size_of(a.type) >= 4) {
    return sums * size_of(a.type) <= shared_sum_bytes && values >= 8 * sums ? Method::shared : Method::integers;
  }
  // The chunks of so many sums stay in the L2 cache. Atomic additions to fewer sums would be serialized. Rows of more
  // columns are read faster in sorted order.
  bool const narrow = width <= 4 && sums >= 1 << 10 && sums <= 1 << 17 && values >= 4 * sums;
  return narrow && (a.type == GPK_F32 || a.type == GPK_C64) ? Method::exact : Method::sorted;
}

template <class S>
ScatterDirect<S> direct_of(gpk_scatter_add_args const& a, S const& sums) {
  int64_t const width = numbers_per_row(a);
  return {places_of(a), reinterpret_cast<typename S::value const*>(a.values), sums, a.splat != 0,
          static_cast<uint32_t>(a.count * width), static_cast<uint32_t>(a.n * width), Divider(static_cast<uint32_t>(width))};
}

// Adds integers to dst, which already contains x.
template <class U>
int scatter_integers(gpk_scatter_add_args const& a, bool shared) {
  auto const p = direct_of(a, IntegerSums<U>{reinterpret_cast<U*>(a.dst)});
  if (!shared) return launch_direct(p, a.index_type, a.stream);
  unsigned const tiles = blocks_for(p.total, scatter_tile), grid = tiles < shared_blocks ? tiles : shared_blocks;
  return a.index_type == GPK_I64 ? launch(scatter_shared<U, int64_t>, grid, threads, a.stream, p)
                                 : launch(scatter_shared<U, int32_t>, grid, threads, a.stream, p);
}

// Adds float32 exactly, in chunks of W bits. With base 0 nothing is launched, and *need is the size of the workspace.
template <int W>
int scatter_exact(gpk_scatter_add_args const& a, uint64_t base, int64_t* need) {
  int64_t const n = a.n * numbers_per_row(a);
  Parts parts;
  ExactDestination<W> p{};
  p.minus_zero = parts.part<uint32_t>(base, 1);
  p.sums.states = parts.part<uint32_t>(base, n);
  p.sums.chunks = parts.part<uint64_t>(base, exact::chunks<W> * n);
  *need = static_cast<int64_t>(parts.at);
  if (base == 0) return GPK_OK;
  p.sums.minus_zero = p.minus_zero;
  p.sums.n = static_cast<uint32_t>(n);
  p.x = reinterpret_cast<uint32_t const*>(a.x);
  p.dst = reinterpret_cast<uint32_t*>(a.dst);
  cudaError_t const e = cudaMemsetAsync(reinterpret_cast<void*>(base), 0, parts.at, reinterpret_cast<cudaStream_t>(a.stream));
  if (e != cudaSuccess) {
    cudaGetLastError();
    return e;
  }
  int code = launch_for(exact_prepare<W>, n, 1, a.stream, p);
  if (code == GPK_OK) code = launch_direct(direct_of(a, p.sums), a.index_type, a.stream);
  if (code == GPK_OK) code = launch_for(exact_finish<W>, n, 1, a.stream, p);
  return code;
}

// Adds valid arguments by a method. With base 0 nothing is launched, and *need is the size of the workspace.
int add_by(Method method, gpk_scatter_add_args const& a, uint64_t base, int64_t* need) {
  switch (method) {
    case Method::exact:
      return a.count <= exact::most_terms<16> ? scatter_exact<16>(a, base, need) : scatter_exact<8>(a, base, need);
    case Method::shared:
    case Method::integers:
      *need = 0;
      if (base == 0) return GPK_OK;
      return size_of(a.type) == 8 ? scatter_integers<uint64_t>(a, method == Method::shared)
                                  : scatter_integers<uint32_t>(a, method == Method::shared);
    default:
      return by_type(a.type, [&](auto x) -> int {
        using T = decltype(x);
        if constexpr (is_half<T> || __is_same(T, boolean)) {
          return GPK_ERR_UNSUPPORTED;
        } else {
          return scatter_add<T>(a, base, need);
        }
      });
  }
}

int run_scatter_add(gpk_scatter_add_args const* a, bool measure, int64_t* need) {
  constexpr int64_t most = (int64_t{1} << 31) - 2;
  if (a == nullptr || a->size != sizeof(gpk_scatter_add_args)) return GPK_ERR_ARGUMENT;
  if (a->n < 0 || a->count < 0 || a->width < 0 || a->n > most || a->count > most || a->width > most) return GPK_ERR_ARGUMENT;
  int const bytes = size_of(a->type);
  if (bytes == 0 || a->type == GPK_F16 || a->type == GPK_BF16 || a->type == GPK_BOOL) return GPK_ERR_UNSUPPORTED;
  if (a->index_type != GPK_I32 && a->index_type != GPK_I64) return GPK_ERR_UNSUPPORTED;
  *need = 0;
  if (a->n == 0 || a->width == 0) return GPK_OK;
  if (a->count > 0 && a->width > most / runs_of(a->count)) return GPK_ERR_ARGUMENT;
  int code = set_device(a->device);
  if (code != GPK_OK) return code;
  Method const method = a->count > 0 ? method_of(*a) : Method::integers;
  if (a->count > 0) code = add_by(method, *a, 0, need);
  if (code != GPK_OK || measure) return code;
  if (*need > 0 && (a->workspace == 0 || a->workspace_bytes < *need)) return GPK_ERR_WORKSPACE;
  if (a->count > 0 && a->flags == 0) return GPK_ERR_ARGUMENT;
  if (method != Method::exact) {
    cudaError_t const e = cudaMemcpyAsync(reinterpret_cast<void*>(a->dst), reinterpret_cast<void const*>(a->x),
                                          static_cast<size_t>(a->n * a->width) * bytes, cudaMemcpyDeviceToDevice,
                                          reinterpret_cast<cudaStream_t>(a->stream));
    if (e != cudaSuccess) {
      cudaGetLastError();
      return e;
    }
  }
  if (a->count == 0) return GPK_OK;
  return add_by(method, *a, *need > 0 ? a->workspace : a->dst, need);
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
