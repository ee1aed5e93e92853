// scatter_direct.cuh: additions at indices by atomic additions of integers, which give the same result in every order.
// Integers are added to the destination or, if there are few sums, first to sums in the shared memory of a block.
// float32 is added exactly, to the chunks of exact_sum.cuh.
#pragma once
#include "exact_sum.cuh"
#ifndef GPK_EMULATED  // testdata/emulate compiles the kernels for the host
#include "ops.cuh"
#endif

namespace gpk {
namespace {

constexpr int values_per_thread = 4, scatter_tile = values_per_thread * threads;  // scatter_tile: values per block

// Indices into n rows, int32 or int64. Negative ones count from the end. flags is that of gpk_take.
struct ScatterPlaces {
  void const* p;
  int64_t n;
  long long* flags;
};

// Converts an index to a row. Returns false for an index outside the rows, and records it.
__device__ inline bool row_of(ScatterPlaces const& p, int64_t given, uint32_t* row) {
  int64_t const i = given < 0 ? given + p.n : given;
  *row = static_cast<uint32_t>(i);
  if (static_cast<uint64_t>(i) < static_cast<uint64_t>(p.n)) return true;
  if (given < 0) {
    atomicMin(p.flags, static_cast<long long>(given));
  } else {
    atomicMax(p.flags + 1, static_cast<long long>(given));
  }
  return false;
}

__device__ inline void atomic_add(uint32_t* at, uint32_t v) { atomicAdd(at, v); }
__device__ inline void atomic_add(uint64_t* at, uint64_t v) {
  atomicAdd(reinterpret_cast<unsigned long long*>(at), static_cast<unsigned long long>(v));
}

// Adds v to sums[key] for every lane with `in`. All lanes of a warp must call it. Atomic additions to one address are
// serialized. Therefore, if many lanes have the key of the first lane, the warp adds their values first. This is done
// at most twice.
template <class U>
__device__ inline void add_at(U* sums, uint32_t key, U v, bool in) {
  int const lane = threadIdx.x % 32;
  for (int round = 0; round < 2; ++round) {
    unsigned const left = __ballot_sync(~0u, in);
    if (left == 0) return;
    int const leader = __ffs(static_cast<int>(left)) - 1;
    uint32_t const first = __shfl_sync(~0u, key, leader);
    unsigned const peers = __ballot_sync(~0u, in && key == first);
    if (__popc(peers) < 8) break;
    bool const is_peer = (peers >> lane & 1) != 0;
    U sum = is_peer ? v : 0;
#pragma unroll
    for (int step = 16; step >= 1; step /= 2) sum += __shfl_xor_sync(~0u, sum, step);
    if (lane == leader) atomic_add(sums + key, sum);
    in = in && !is_peer;
  }
  if (in) atomic_add(sums + key, v);
}

// Sums of integers. Additions wrap.
template <class U>
struct IntegerSums {
  using value = U;
  U* sums;
  __device__ void prepare() {}
  __device__ void add(uint32_t at, U v, bool in) const { add_at(sums, at, v, in); }
};

// Sums of float32. Chunk k of sum i is chunks[k * n + i].
template <int W>
struct ExactSums {
  using value = uint32_t;
  uint64_t* chunks;
  uint32_t* states;
  uint32_t const* minus_zero;  // not 0: a destination is -0, so that values other than -0 must be recorded
  uint32_t n;
  bool record;
  __device__ void prepare() { record = *minus_zero != 0; }
  __device__ void add(uint32_t at, uint32_t bits, bool in) const {
    exact::Term const t = exact::term_of<W>(bits);
    uint32_t const state = record ? t.state : t.state & ~uint32_t{exact::not_minus_zero};
    if (in && state != 0) atomicOr(states + at, state);
    add_at(chunks, t.chunk * n + at, static_cast<uint64_t>(t.value), in && t.value != 0);
  }
};

template <class S>
struct ScatterDirect {
  ScatterPlaces places;
  typename S::value const* values;
  S sums;
  bool splat;      // values has one row, which is added at every index
  uint32_t total;  // values: indices * width
  uint32_t count;  // destinations: rows * width
  Divider width;
};

// Calls add for the values first, first + threads, ... of a tile. All loads come first.
template <class S, class I, class F>
__device__ inline void for_each_value(ScatterDirect<S> const& p, uint32_t first, F const& add) {
  I given[values_per_thread] = {};
  typename S::value v[values_per_thread] = {};
  uint32_t column[values_per_thread] = {};
#pragma unroll
  for (int u = 0; u < values_per_thread; ++u) {
    uint32_t const i = first + u * threads;
    if (i >= p.total) continue;
    given[u] = static_cast<I const*>(p.places.p)[p.width.divide(i, &column[u])];
    v[u] = p.values[p.splat ? column[u] : i];
  }
#pragma unroll
  for (int u = 0; u < values_per_thread; ++u) {
    uint32_t row = 0;
    bool const in = first + u * threads < p.total && row_of(p.places, given[u], &row);
    add(in ? row * p.width.d + column[u] : 0, v[u], in);
  }
}

template <class S, class I>
__global__ void __launch_bounds__(threads) scatter_direct(ScatterDirect<S> p) {
  begin();
  S sums = p.sums;
  sums.prepare();
  for_each_value<S, I>(p, blockIdx.x * scatter_tile + threadIdx.x,
                     [&](uint32_t at, typename S::value v, bool in) { sums.add(at, v, in); });
}

constexpr int shared_sum_bytes = 32 << 10;  // sums of a block in shared memory
constexpr unsigned shared_blocks = 512;

template <class U, class I>
__global__ void __launch_bounds__(threads) scatter_shared(ScatterDirect<IntegerSums<U>> p) {
  __shared__ U own[shared_sum_bytes / sizeof(U)];
  for (uint32_t i = threadIdx.x; i < p.count; i += threads) own[i] = 0;
  begin();
  __syncthreads();
  for (uint64_t tile = uint64_t{blockIdx.x} * scatter_tile; tile < p.total; tile += uint64_t{gridDim.x} * scatter_tile) {
    for_each_value<IntegerSums<U>, I>(p, static_cast<uint32_t>(tile) + threadIdx.x,
                                  [&](uint32_t at, U v, bool in) { add_at(own, at, v, in); });
  }
  __syncthreads();
  for (uint32_t i = threadIdx.x; i < p.count; i += threads) {
    if (own[i] != 0) atomic_add(p.sums.sums + i, own[i]);
  }
}

// The operand x and the result of exact sums. chunks, states and the word at minus_zero must initially be 0.
template <int W>
struct ExactDestination {
  ExactSums<W> sums;
  uint32_t *minus_zero, *dst;
  uint32_t const* x;
};

template <int W>
__global__ void __launch_bounds__(threads) exact_prepare(ExactDestination<W> p) {
  begin();
  uint32_t const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i < p.sums.n && p.x[i] == 1u << 31) *p.minus_zero = 1;
}

template <int W>
__global__ void __launch_bounds__(threads) exact_finish(ExactDestination<W> p) {
  begin();
  uint32_t const i = blockIdx.x * blockDim.x + threadIdx.x;
  if (i >= p.sums.n) return;
  int64_t chunk[exact::chunks<W>];
#pragma unroll
  for (int k = 0; k < exact::chunks<W>; ++k) chunk[k] = static_cast<int64_t>(p.sums.chunks[int64_t{k} * p.sums.n + i]);
  p.dst[i] = exact::plus<W>(p.x[i], chunk, p.sums.states[i]);
}

}  // namespace
}  // namespace gpk
