// search.cu: binary searches in sorted lists, counts of integers, the true elements of masks, and values put at indices.
#include "gpk_search.h"
#include "compact.cuh"
#include "put.cuh"

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

int gpk_count(gpk_count_args const* a) {
  if (a == nullptr || a->size != sizeof *a || a->n < 0 || a->count < 0) return GPK_ERR_ARGUMENT;
  if (a->n == 0) return GPK_OK;
  if (int const code = set_device(a->device)) return code;
  cudaError_t const e = cudaMemsetAsync(reinterpret_cast<void*>(a->dst), 0, a->n * 8, reinterpret_cast<cudaStream_t>(a->stream));
  if (e != cudaSuccess) cudaGetLastError();
  if (e != cudaSuccess || a->count == 0) return e;
  Count const p = {reinterpret_cast<int64_t const*>(a->x), reinterpret_cast<unsigned long long*>(a->dst), a->n, a->count};
  return a->n > shared_counts ? launch(count<false>, grid_for(a->count, many_blocks), threads, a->stream, p)
                              : launch(count<true>, grid_for(a->count, few_blocks), threads, a->stream, p);
}

// Checks the arguments that both calls of a mask have, and makes the device current.
static int begin_mask(gpk_trues_args const* a, Mask* m) {
  if (a == nullptr || a->size != sizeof *a || a->n < 0 || a->count < 0 || (a->lead != 0 && a->lead != 1)) return GPK_ERR_ARGUMENT;
  int64_t const tiles = a->n == 0 ? 1 : (a->n - 1) / GPK_MASK_TILE + 1;
  if (tiles > INT32_MAX) return GPK_ERR_ARGUMENT;
  *m = {reinterpret_cast<uint8_t const*>(a->mask), a->n, reinterpret_cast<int64_t*>(a->offsets), reinterpret_cast<int64_t*>(a->total), tiles, a->lead};
  return set_device(a->device);
}

int gpk_count_trues(gpk_trues_args const* a) {
  Mask m;
  if (int const code = begin_mask(a, &m)) return code;
  if (int const code = launch(count_trues, static_cast<unsigned>(m.tiles), threads, a->stream, m)) return code;
  return launch(sum_counts, 1, threads, a->stream, m);
}

template <class W>
static int place(gpk_trues_args const& a, Mask const& m, W const& w) {
  return launch(place_trues<W>, static_cast<unsigned>(m.tiles), threads, a.stream, Placing<W>{m, w});
}

static int place_coordinates(gpk_trues_args const& a, Mask const& m) {
  if (a.ndim < 1 || a.ndim > GPK_MAX_DIMS || a.lead != 0) return GPK_ERR_ARGUMENT;
  WriteCoordinates w = {};
  w.dims = a.ndim;
  w.narrow = a.n <= INT32_MAX;
  for (int d = 0; d < a.ndim; ++d) {
    int64_t const length = a.shape[a.ndim - 1 - d];
    if (length < 1) return GPK_ERR_ARGUMENT;
    w.dst[d] = reinterpret_cast<int64_t*>(a.dst[a.ndim - 1 - d]);
    w.shape[d] = length;
    if (w.narrow) w.n[d] = Divider(static_cast<uint32_t>(length));
  }
  return place(a, m, w);
}

// T is an unsigned integer of the type's size.
template <class T>
static int place_distinct(gpk_trues_args const& a, Mask const& m, T infinity) {
  auto* const firsts = reinterpret_cast<long long*>(a.firsts);
  auto const* const all = reinterpret_cast<T const*>(a.all);
  cudaError_t const e = cudaMemsetAsync(firsts, 0x7f, 2 * sizeof *firsts, reinterpret_cast<cudaStream_t>(a.stream));
  if (e != cudaSuccess) {
    cudaGetLastError();
    return e;
  }
  Firsts<T> const f = {all, a.count, firsts, infinity};
  if (int const code = launch(find_firsts<T>, grid_for(a.count > 0 ? a.count : 1, many_blocks), threads, a.stream, f)) return code;
  return place(a, m, WriteDistinct<T>{reinterpret_cast<T const*>(a.x), reinterpret_cast<T*>(a.dst[0]), all, firsts, infinity});
}

template <class T>
static int place_elements(gpk_trues_args const& a, Mask const& m) {
  return place(a, m, WriteElement<T>{reinterpret_cast<T const*>(a.x), reinterpret_cast<T*>(a.dst[0])});
}

int gpk_place_trues(gpk_trues_args const* a) {
  Mask m;
  if (int const code = begin_mask(a, &m)) return code;
  switch (a->op) {
    case GPK_TRUE_INDICES: return place(*a, m, WriteIndex{reinterpret_cast<int64_t*>(a->dst[0])});
    case GPK_TRUE_COORDINATES: return place_coordinates(*a, m);
    case GPK_TRUE_ELEMENTS:
      switch (size_of(a->type)) {
        case 1: return place_elements<Blob<1>::type>(*a, m);
        case 2: return place_elements<Blob<2>::type>(*a, m);
        case 4: return place_elements<Blob<4>::type>(*a, m);
        case 8: return place_elements<Blob<8>::type>(*a, m);
        case 16: return place_elements<Blob<16>::type>(*a, m);
      }
      return GPK_ERR_UNSUPPORTED;
    case GPK_TRUE_DISTINCT:
      switch (a->type) {
        case GPK_F16: return place_distinct<uint16_t>(*a, m, 0xf800);
        case GPK_BF16: return place_distinct<uint16_t>(*a, m, 0xff00);
        case GPK_F32: return place_distinct<uint32_t>(*a, m, 0xff000000u);
        case GPK_F64: return place_distinct<uint64_t>(*a, m, 0xffe0000000000000u);
      }
      return GPK_ERR_UNSUPPORTED;
  }
  return GPK_ERR_UNSUPPORTED;
}

int gpk_put_along(gpk_put_along_args const* a) {
  if (a == nullptr || a->size != sizeof *a || a->outer < 0 || a->n < 0 || a->count < 0 || a->inner < 0) return GPK_ERR_ARGUMENT;
  if (a->index_type != GPK_I32 && a->index_type != GPK_I64) return GPK_ERR_UNSUPPORTED;
  int64_t const n = a->outer * a->n * a->inner, all = a->outer * a->count * a->inner;
  if (n == 0) return GPK_OK;
  if (all > 0 && a->flags == 0) return GPK_ERR_ARGUMENT;
  if (int const code = set_device(a->device)) return code;
  return n < INT32_MAX && all < INT32_MAX ? put_along<uint32_t>(*a, n, all) : put_along<uint64_t>(*a, n, all);
}
