// lines.cuh: softmax and the norms of a line in the registers of threads, for the precompiled kernels (ops_line.cuh,
// layers_norm.cuh) and for chains, which compute the line as they read it (fold.cuh).
#pragma once
#include "reduce.cuh"

namespace gpk {

// The operations along lines, by their numbers in package expr.
enum { op_cum_sum = 230, op_softmax, op_log_softmax, op_layer_norm, op_rms_norm };

// The type in which lines with elements of T are computed.
template <class T>
struct computed {
  using type = float;
};
template <>
struct computed<double> {
  using type = double;
};

__device__ inline float exponential(float x) { return expf(x); }
__device__ inline double exponential(double x) { return exp(x); }
__device__ inline float logarithm(float x) { return logf(x); }
__device__ inline double logarithm(double x) { return log(x); }

struct Plus {
  template <class A>
  static __device__ A apply(A a, A b) {
    return a + b;
  }
};

// Reduces N values pairwise by Op. The order does not depend on which threads the values are from.
template <class Op, int N, class A>
__device__ A reduce_pairs(A (&part)[N]) {
#pragma unroll
  for (int step = 1; step < N; step *= 2) {
#pragma unroll
    for (int w = 0; w + step < N; w += 2 * step) part[w] = Op::apply(part[w], part[w + step]);
  }
  return part[0];
}

// Reduces a value per thread of a team by Op. All threads get the result. scratch has one value per warp. It must not
// be used again.
template <class Op, int Team, class A>
__device__ A reduce_team(A v, A* scratch) {
#pragma unroll
  for (int mask = 1; mask < 32; mask *= 2) v = Op::apply(v, __shfl_xor_sync(~0u, v, mask));
  if constexpr (Team > 32) {
    if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
    __syncthreads();
    constexpr int each = Team / 32;
    int const first = threadIdx.x / Team * each;
    A part[each];
#pragma unroll
    for (int w = 0; w < each; ++w) part[w] = scratch[first + w];
    v = reduce_pairs<Op>(part);
  }
  return v;
}

// ---- lines in the registers of a cluster of blocks, which can read the shared memory of each other

#if __CUDA_ARCH__ >= 900
__device__ inline uint32_t cluster_blocks() {
  uint32_t n;
  asm("mov.u32 %0, %%cluster_nctarank;" : "=r"(n));
  return n;
}
__device__ inline uint32_t cluster_rank() {
  uint32_t r;
  asm volatile("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
  return r;
}
// Synchronizes the threads of the cluster. Earlier writes are visible to all of them.
__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}
// Returns the value at p in the shared memory of block `rank`.
template <class A>
__device__ inline A load_from_block(A const* p, uint32_t rank) {
  uint32_t const here = static_cast<uint32_t>(__cvta_generic_to_shared(p));
  uint32_t there;
  asm volatile("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(there) : "r"(here), "r"(rank));
  A v;
  if constexpr (sizeof(A) == 4) {
    asm volatile("ld.shared::cluster.f32 %0, [%1];" : "=f"(v) : "r"(there) : "memory");
  } else {
    asm volatile("ld.shared::cluster.f64 %0, [%1];" : "=d"(v) : "r"(there) : "memory");
  }
  return v;
}
#else
__device__ inline uint32_t cluster_blocks() { return 1; }
__device__ inline uint32_t cluster_rank() { return 0; }
__device__ inline void cluster_sync() {}
template <class A>
__device__ inline A load_from_block(A const* p, uint32_t) {
  return *p;
}
#endif

constexpr int max_cluster_blocks = 8;  // blocks per cluster, supported by every device with clusters

// Reduces a value per block of the cluster by Op.
template <class Op, class A>
__device__ A reduce_cluster(A v, A* scratch) {
  if (threadIdx.x == 0) *scratch = v;
  cluster_sync();
  A part[max_cluster_blocks];
  uint32_t const n = cluster_blocks();
#pragma unroll
  for (uint32_t r = 0; r < max_cluster_blocks; ++r) part[r] = load_from_block(scratch, r % n);
  if (n == 2) part[1] = Op::apply(part[0], part[1]);
  A const four = Op::apply(Op::apply(part[0], part[1]), Op::apply(part[2], part[3]));
  if (n == 4) return four;
  if (n == 2) return part[1];
  return Op::apply(four, Op::apply(Op::apply(part[4], part[5]), Op::apply(part[6], part[7])));
}

// Returns 2^24 e^x, for lines of half types. The factor cancels in the result. Without it the hardware would flush to
// 0 a value that a half type can represent.
__device__ inline float scaled_exponential(float x) { return approximate_exp2(fmaf(x, 1.44269504f, 24.f)); }

template <class T, class A>
__device__ A line_exponential(A x) {
  if constexpr (is_half<T>) {
    return scaled_exponential(x);
  } else {
    return exponential(x);
  }
}

// Returns the normalized element. `more` is its difference from the mean.
template <class A>
__device__ A normalized(A more, A scale, A gamma, A beta) {
  return fma(more * scale, gamma, beta);
}

// Keeps the compiler from computing values from v before a barrier: they would need more registers than v.
__device__ inline void optimization_barrier(uint4& v) { asm volatile("" : "+r"(v.x), "+r"(v.y), "+r"(v.z), "+r"(v.w)); }

template <class T, int N>
struct Elements {
  T v[N];
};

constexpr int line_vectors = 8;  // vectors per thread

// element_of returns element e of 16 bytes; bytes_of packs elements into 16 bytes. Both use words: in a Vec with a
// long lifetime, the compiler would keep every half in a register of its own.
template <class T, class A>
__device__ A element_of(uint4 const& v, int e) {
  uint32_t const w[] = {v.x, v.y, v.z, v.w};
  if constexpr (__is_same(T, double)) {
    return __hiloint2double(static_cast<int>(w[2 * e + 1]), static_cast<int>(w[2 * e]));
  } else if constexpr (__is_same(T, float)) {
    return __uint_as_float(w[e]);
  } else if constexpr (__is_same(T, bf16)) {
    return __uint_as_float(e % 2 == 0 ? w[e / 2] << 16 : w[e / 2] & 0xffff0000);
  } else {
    return to_float(T{static_cast<uint16_t>(w[e / 2] >> e % 2 * 16)});
  }
}
template <class T, class A, int V>
__device__ uint4 bytes_of(A const (&x)[V]) {
  uint4 v;
  if constexpr (is_half<T>) {
    T h[V];
    to_halves(x, h);
    memcpy(&v, h, sizeof v);
  } else {
    memcpy(&v, x, sizeof v);
  }
  return v;
}

// A destination line with contiguous elements and 16-byte alignment.
template <class T>
struct ContiguousLine {
  T* p;

  // weights reads 16 bytes of gamma or beta. store writes 16 bytes at element i.
  static __device__ uint4 weights(T const* q) { return *reinterpret_cast<uint4 const*>(q); }
  __device__ void store(int i, uint4 v) const { *reinterpret_cast<uint4*>(p + i) = v; }
};

// Computes one line, by a team of threads or, if Blocks, by one team in each block of a cluster. load(u) reads the 16
// bytes at element at + u * step of the n elements. destination() returns the destination of u = 0, a ContiguousLine
// or a type with its functions. The order of additions depends only on the number of threads and blocks.
//
// W has gamma and beta, the weights of a norm, which may be null, its eps, and the length n. If Team is 0, W knows
// the team, and reduce<Op>(v, k) reduces the values of its threads by Op.
template <int op, class T, int Team, int Held, bool Blocks, class W, class Load, class Dst>
__device__ inline void line_in_registers(W const& w, int n, int at, int step, Load const& load, Dst const& destination) {
  using A = typename computed<T>::type;
  constexpr int V = vector_width<T>, block = Team < 128 ? 128 : Team;
  constexpr bool soft = op == op_softmax || op == op_log_softmax;
  __shared__ A scratch[2][block / 32 + 1];
  auto reduce = [&](auto op2, A v, int k) {
    using Op = decltype(op2);
    if constexpr (Team == 0) {
      v = w.template reduce<Op>(v, k);
    } else {
      v = reduce_team<Op, Team>(v, scratch[k]);
    }
    if constexpr (Blocks) v = reduce_cluster<Op>(v, &scratch[k][block / 32]);
    return v;
  };

  auto get = [](uint4 const& x, int e) { return element_of<T, A>(x, e); };
  A none[V];
#pragma unroll
  for (int e = 0; e < V; ++e) none[e] = soft ? lowest<A>() : A(0);
  uint4 v[Held];
#pragma unroll
  for (int u = 0; u < Held; ++u) {
    v[u] = bytes_of<T>(none);
    if (at + u * step < n) v[u] = load(u);
  }
  A shift = 0, scale = 1;
  if constexpr (soft) {
    A m[4] = {lowest<A>(), lowest<A>(), lowest<A>(), lowest<A>()};
#pragma unroll
    for (int u = 0; u < Held; ++u) {
      Elements<T, V> x;
      memcpy(&x, &v[u], sizeof x);
      m[u % 4] = Maximum::apply(m[u % 4], static_cast<A>(extreme_of<true>(x)));
      if constexpr (is_half<T>) optimization_barrier(v[u]);
    }
    shift = reduce(Maximum{}, reduce_pairs<Maximum>(m), 0);
    A sum[4] = {};
#pragma unroll
    for (int u = 0; u < Held; ++u) {
      A power[V];
#pragma unroll
      for (int e = 0; e < V; ++e) {
        power[e] = line_exponential<T>(get(v[u], e) - shift);
        sum[e % 4] += power[e];
      }
      if constexpr (op == op_softmax && !is_half<T>) v[u] = bytes_of<T>(power);
      if constexpr (is_half<T>) optimization_barrier(v[u]);
    }
    A const total = reduce(Plus{}, reduce_pairs<Plus>(sum), 1);
    scale = op == op_softmax ? 1 / total : logarithm(is_half<T> ? total * A(0x1p-24f) : total);
  } else {
    A const count = static_cast<A>(w.n);
    if constexpr (op == op_layer_norm) {
      A sum[4] = {};
#pragma unroll
      for (int u = 0; u < Held; ++u) {
#pragma unroll
        for (int e = 0; e < V; ++e) sum[e % 4] += get(v[u], e);
        if constexpr (is_half<T>) optimization_barrier(v[u]);
      }
      shift = reduce(Plus{}, reduce_pairs<Plus>(sum), 0) / count;
    }
    A squares[4] = {};
#pragma unroll
    for (int u = 0; u < Held; ++u) {
      if (at + u * step >= n) continue;
#pragma unroll
      for (int e = 0; e < V; ++e) {
        A const d = get(v[u], e) - shift;
        squares[e % 4] = fma(d, d, squares[e % 4]);
      }
      if constexpr (is_half<T>) optimization_barrier(v[u]);
    }
    scale = 1 / sqrt(reduce(Plus{}, reduce_pairs<Plus>(squares), 1) / count + static_cast<A>(w.eps));
  }
  auto const dst = destination();
  T const* const gamma = reinterpret_cast<T const*>(w.gamma) + at;
  T const* const beta = reinterpret_cast<T const*>(w.beta) + at;
#pragma unroll
  for (int u = 0; u < Held; ++u) {
    if (at + u * step >= n) continue;
    uint4 g, b;
    if constexpr (!soft) {
      if (w.gamma != nullptr) g = dst.weights(gamma + u * step);
      if (op == op_layer_norm && w.beta != nullptr) b = dst.weights(beta + u * step);
    }
    A y[V];
#pragma unroll
    for (int e = 0; e < V; ++e) {
      A const x = get(v[u], e);
      if constexpr (op == op_softmax) {
        y[e] = (is_half<T> ? line_exponential<T>(x - shift) : x) * scale;
      } else if constexpr (op == op_log_softmax) {
        y[e] = (x - shift) - scale;
      } else {
        y[e] = normalized(x - shift, scale, w.gamma != nullptr ? get(g, e) : A(1),
                      op == op_layer_norm && w.beta != nullptr ? get(b, e) : A(0));
      }
    }
    dst.store(u * step, bytes_of<T>(y));
  }
  if constexpr (Blocks) cluster_sync();  // no block may end while another reads its shared memory
}

}  // namespace gpk
