// ops_line.cuh: softmax and the norms along one axis.
//
// If a line fits in the registers of a team of threads, or of the blocks of a cluster, it is read once and written
// once. A sum over a line adds the elements of each thread, then neighbouring threads in pairs, then blocks. Lines of
// the same length and type are always added in the same order, so their sums have the same bits in every run.
#pragma once
#include "lines.cuh"
#include "ops.cuh"
#include "scan.cuh"

namespace gpk {
namespace {

// A team of threads, or one team in each block of a cluster (Blocks), reads a line once, keeps it in registers and
// writes it once. Half types stay half in registers.
template <int op, class T, int Team, int Held, bool Blocks>
__global__ void __launch_bounds__(Team < 128 ? 128 : Team, 1024 / (Team < 128 ? 128 : Team))
    line_rows(__grid_constant__ Lines const p) {
  begin();
  constexpr int V = vector_width<T>, block = Team < 128 ? 128 : Team;
  int64_t line = static_cast<int64_t>(blockIdx.x) * (block / Team) + threadIdx.x / Team;
  int at = threadIdx.x % Team * V, step = Team * V;
  if constexpr (Blocks) {
    uint32_t const n = cluster_blocks();
    line = blockIdx.x / n;
    at += cluster_rank() * Team * V;
    step *= n;
  }
  bool const active = line < p.lines;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.x_at(active ? line : 0) + at;
  line_in_registers<op, T, Team, Held, Blocks>(
      p, active ? static_cast<int>(p.n) : 0, at, step, [&](int u) { return *reinterpret_cast<uint4 const*>(x + u * step); },
      [&] { return ContiguousLine<T>{reinterpret_cast<T*>(p.dst) + p.dst_at(active ? line : 0) + at}; });
}

// Lines whose layout line_rows does not support.
struct StridedLines {
  Lines lines;
  int team;                                      // threads per line, as many as line_rows would use
  bool transposed;                               // neighbouring threads process neighbouring lines
  bool x_vectors, dst_vectors, weights_vectors;  // 16 bytes can be read or written at once
};

constexpr int strided_threads = 1024;  // per block, at most

// A thread of line_strided: its line within the block, and its rank among the threads of the line. reduce combines
// values of threads in the order of line_rows.
template <class A>
struct LineThread {
  StridedLines const& p;
  char const *gamma, *beta;
  double eps;
  int64_t n;
  int line, rank;
  A *thread_values, *warp_values, *results;  // a value per thread, per warp, per line

  __device__ LineThread(StridedLines const& p, A* thread_values, A* warp_values, A* results)
      : p(p), gamma(p.lines.gamma), beta(p.lines.beta), eps(p.lines.eps), n(p.lines.n), thread_values(thread_values),
        warp_values(warp_values), results(results) {
    int const lines = blockDim.x / p.team;
    line = p.transposed ? threadIdx.x % lines : threadIdx.x / p.team;
    rank = p.transposed ? threadIdx.x / lines : threadIdx.x % p.team;
  }

  // The index of a thread's value in shared memory, padded so that a warp has no bank conflicts.
  static __device__ int padded_index(int i) { return i + i / 32; }

  template <class Op>
  __device__ A reduce(A v, int k) const {
    if (p.transposed) {
      thread_values[padded_index(line * p.team + rank)] = v;
      __syncthreads();
      v = thread_values[padded_index(threadIdx.x)];
    }
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) v = Op::apply(v, __shfl_xor_sync(~0u, v, mask));
    if (p.team > 32) {
      A* const values = warp_values + k * (strided_threads / 32);
      if (threadIdx.x % 32 == 0) values[threadIdx.x / 32] = v;
      __syncthreads();
      int const team_warps = p.team / 32;
      v = values[threadIdx.x / p.team * team_warps + threadIdx.x % team_warps];
      for (int mask = 1; mask < team_warps; mask *= 2) v = Op::apply(v, __shfl_xor_sync(~0u, v, mask));
    }
    if (p.transposed) {
      if (threadIdx.x % p.team == 0) results[threadIdx.x / p.team] = v;
      __syncthreads();
      v = results[line];
    }
    return v;
  }
};

// A destination line whose elements are `step` apart. vectors: it is contiguous and aligned.
template <class T>
struct StridedLine {
  T* p;
  int64_t step;
  bool vectors, weights_vectors;

  static __device__ uint4 gather(T const* q, int64_t step) {
    constexpr int V = vector_width<T>;
    T e[V];
#pragma unroll
    for (int i = 0; i < V; ++i) e[i] = q[i * step];
    uint4 v;
    memcpy(&v, e, sizeof v);
    return v;
  }
  __device__ uint4 weights(T const* q) const {
    return weights_vectors ? *reinterpret_cast<uint4 const*>(q) : gather(q, 1);
  }
  __device__ void store(int i, uint4 v) const {
    constexpr int V = vector_width<T>;
    T* const q = p + i * step;
    if (vectors) {
      *reinterpret_cast<uint4*>(q) = v;
    } else {
      T e[V];
      memcpy(e, &v, sizeof v);
#pragma unroll
      for (int k = 0; k < V; ++k) q[k * step] = e[k];
    }
  }
};

// Computes the results of line_rows, with the same number of threads per line, for any strides. If neighbouring lines
// are closer in memory than the elements of a line, neighbouring threads process neighbouring lines.
template <int op, class T, bool Blocks>
__global__ void __launch_bounds__(Blocks ? 512 : strided_threads, Blocks ? 2 : 1)
    line_strided(__grid_constant__ StridedLines const p) {
  begin();
  using A = typename computed<T>::type;
  constexpr int V = vector_width<T>, most = Blocks ? 512 : strided_threads;
  __shared__ A thread_values[Blocks ? 1 : most + most / 32], warp_values[2 * (strided_threads / 32)],
      results[most / 32];
  LineThread<A> const thread(p, thread_values, warp_values, results);
  int64_t line = static_cast<int64_t>(blockIdx.x) * (blockDim.x / p.team) + thread.line;
  int at = thread.rank * V, step = p.team * V;
  if constexpr (Blocks) {
    uint32_t const n = cluster_blocks();
    line = blockIdx.x / n;
    at += cluster_rank() * step;
    step *= n;
  }
  Lines const& l = p.lines;
  bool const active = line < l.lines;
  T const* const x = reinterpret_cast<T const*>(l.x) + l.x_at(active ? line : 0) + at * l.x_step;
  line_in_registers<op, T, 0, line_vectors, Blocks>(
      thread, active ? static_cast<int>(l.n) : 0, at, step,
      [&](int u) {
        T const* const q = x + u * step * l.x_step;
        return p.x_vectors ? *reinterpret_cast<uint4 const*>(q) : StridedLine<T>::gather(q, l.x_step);
      },
      [&] {
        T* const q = reinterpret_cast<T*>(l.dst) + l.dst_at(active ? line : 0) + at * l.dst_step;
        return StridedLine<T>{q, l.dst_step, p.dst_vectors, p.weights_vectors};
      });
}

template <class T, class A>
__device__ A weight(char const* p, int64_t i, A without) {
  return p == nullptr ? without : static_cast<A>(convert<A>(reinterpret_cast<T const*>(p)[i]));
}

// Computes a line of any length, with one block per line. The block reads the line three times, from L2 if it fits.
constexpr int long_line_threads = 512;
template <int op, class T>
__global__ void __launch_bounds__(long_line_threads) line_long(__grid_constant__ Lines const p) {
  begin();
  using A = typename computed<T>::type;
  __shared__ A scratch[2][long_line_threads / 32];
  int64_t const line = blockIdx.x;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.x_at(line);
  T* const dst = reinterpret_cast<T*>(p.dst) + p.dst_at(line);
  constexpr bool soft = op == op_softmax || op == op_log_softmax;
  constexpr int in_flight = 8;
  // Calls f(i, element i) for each of this thread's elements.
  auto for_each = [&](auto const& f) {
    int64_t i = threadIdx.x;
    for (; i + (in_flight - 1) * long_line_threads < p.n; i += in_flight * long_line_threads) {
      T v[in_flight];
#pragma unroll
      for (int u = 0; u < in_flight; ++u) v[u] = x[(i + u * long_line_threads) * p.x_step];
#pragma unroll
      for (int u = 0; u < in_flight; ++u) f(i + u * long_line_threads, convert<A>(v[u]));
    }
    for (; i < p.n; i += long_line_threads) f(i, convert<A>(x[i * p.x_step]));
  };
  A const n = static_cast<A>(p.n);
  A shift = 0, sum = 0;
  if constexpr (soft) {
    A m = lowest<A>();
    for_each([&](int64_t, A v) { m = Maximum::apply(m, v); });
    shift = reduce_team<Maximum, long_line_threads>(m, scratch[0]);
  } else if constexpr (op == op_layer_norm) {
    for_each([&](int64_t, A v) { sum += v; });
    shift = reduce_team<Plus, long_line_threads>(sum, scratch[0]) / n;
  }
  sum = 0;
  for_each([&](int64_t, A v) {
    A const d = v - shift;
    sum += soft ? exponential(d) : d * d;
  });
  sum = reduce_team<Plus, long_line_threads>(sum, scratch[1]);
  A const scale = op == op_softmax ? 1 / sum : op == op_log_softmax ? logarithm(sum) : 1 / sqrt(sum / n + static_cast<A>(p.eps));
  for_each([&](int64_t i, A v) {
    A const d = v - shift;
    A const y = op == op_softmax       ? exponential(d) * scale
                : op == op_log_softmax ? d - scale
                                       : normalized(d, scale, weight<T>(p.gamma, i, A(1)), weight<T>(p.beta, i, A(0)));
    dst[i * p.dst_step] = convert<T>(y);
  });
}

template <int op, class T>
int line(Lines const& p, uint64_t stream) {
  constexpr int V = vector_width<T>, per_thread = line_vectors * V;  // elements per thread
  auto aligned = [](void const* q) { return reinterpret_cast<uintptr_t>(q) % 16 == 0; };
  auto vectors_at = [&](void const* q, int64_t step, int64_t const* stride) {
    bool yes = step == 1 && aligned(q);
    for (int d = 0; d < p.dims; ++d) yes = yes && stride[d] % V == 0;
    return yes;
  };
  bool const x_vectors = vectors_at(p.x, p.x_step, p.x_stride), dst_vectors = vectors_at(p.dst, p.dst_step, p.dst_stride);
  bool const weights_vectors = aligned(p.gamma) && aligned(p.beta);
  // The choice of the kernel, and therefore the order, depends only on length and type.
  bool const vectors = p.n % V == 0, even = vectors && x_vectors && dst_vectors && weights_vectors;
  auto teams = [&](auto kernel, int team) {
    int const block = team < 128 ? 128 : team;
    int64_t const grid = (p.lines - 1) / (block / team) + 1;
    return grid > INT32_MAX ? GPK_ERR_ARGUMENT : launch(kernel, static_cast<unsigned>(grid), block, stream, p);
  };
  if (even && p.n <= 32 * 2 * V) return teams(line_rows<op, T, 32, 2, false>, 32);
  if (even && p.n <= 32 * per_thread) return teams(line_rows<op, T, 32, line_vectors, false>, 32);
  if (even && p.n <= 64 * per_thread) return teams(line_rows<op, T, 64, line_vectors, false>, 64);
  if (even && p.n <= 128 * per_thread) return teams(line_rows<op, T, 128, line_vectors, false>, 128);
  if (even && p.n <= 256 * per_thread) return teams(line_rows<op, T, 256, line_vectors, false>, 256);
  if (even && p.n <= 512 * per_thread) return teams(line_rows<op, T, 512, line_vectors, false>, 512);
  StridedLines strided = {p, 32, false, x_vectors, dst_vectors, weights_vectors};
  while (strided.team < 512 && strided.team * per_thread < p.n) strided.team *= 2;
  if (vectors && p.n <= 512 * per_thread) {
    // If neighbouring lines are closer in memory than the elements of a line, a block processes 32 bytes of
    // neighbouring lines, and more if there are enough blocks.
    auto nearer = [&](int64_t step, int64_t const* stride) {
      return p.dims > 0 && step != 1 && (stride[0] < 0 ? -stride[0] : stride[0]) < (step < 0 ? -step : step);
    };
    strided.transposed = nearer(p.x_step, p.x_stride) || nearer(p.dst_step, p.dst_stride);
    int block = strided.team < 128 ? 128 : strided.team;
    for (int64_t next; strided.transposed && block < strided_threads; block *= 2) {
      next = block / strided.team * 2;
      if (next > p.lines || (next * static_cast<int64_t>(sizeof(T)) > 32 && p.lines / next < 256)) break;
    }
    int64_t const grid = (p.lines - 1) / (block / strided.team) + 1;
    if (grid > INT32_MAX) return GPK_ERR_ARGUMENT;
    return launch(line_strided<op, T, false>, static_cast<unsigned>(grid), block, stream, strided);
  }
  if (vectors && p.n <= max_cluster_blocks * 512 * per_thread) {
    static uint64_t known = 0;
    auto const kernel = line_rows<op, T, 512, line_vectors, true>;
    int device = -1;
    unsigned blocks = 2;
    while (blocks * 512 * per_thread < p.n) blocks *= 2;
    if (cudaGetDevice(&device) == cudaSuccess && waits_for_previous(reinterpret_cast<void const*>(kernel), device, &known) &&
        p.lines * blocks <= INT32_MAX) {
      unsigned const grid = static_cast<unsigned>(p.lines) * blocks;
      return even ? launch(kernel, grid, 512, stream, p, blocks)
                  : launch(line_strided<op, T, true>, grid, 512, stream, strided, blocks);
    }
  }
  if (p.lines > INT32_MAX) return GPK_ERR_ARGUMENT;
  return launch(line_long<op, T>, static_cast<unsigned>(p.lines), long_line_threads, stream, p);
}

}  // namespace
}  // namespace gpk
