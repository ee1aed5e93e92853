// layers_norm.cuh: norms of lines that are computed while they are read: a sum of rows of tables, and a sum of two
// lines.
//
// The norms are those of lines.cuh. They use as many threads per line as gpk_line does for the same length, and so
// give the same bits.
#pragma once
#include "gpk_layers.h"
#include "lines.cuh"
#include "ops.cuh"

namespace gpk {
namespace {

// Threads per block of a kernel in which each team computes a line.
template <int Team>
constexpr int block_of = Team < 128 ? 128 : Team;

// Calls start.template operator()<Team, Held>() with the threads per line (Team) and vectors per thread (Held) that
// gpk_line uses for n elements.
template <class T, class Start>
int by_length(int64_t n, Start const& start) {
  constexpr int V = vector_width<T>, elements_per_thread = line_vectors * V;
  if (n % V != 0) return GPK_ERR_UNSUPPORTED;
  if (n <= 32 * 2 * V) return start.template operator()<32, 2>();
  if (n <= 32 * elements_per_thread) return start.template operator()<32, line_vectors>();
  if (n <= 64 * elements_per_thread) return start.template operator()<64, line_vectors>();
  if (n <= 128 * elements_per_thread) return start.template operator()<128, line_vectors>();
  if (n <= 256 * elements_per_thread) return start.template operator()<256, line_vectors>();
  if (n <= 512 * elements_per_thread) return start.template operator()<512, line_vectors>();
  return GPK_ERR_UNSUPPORTED;
}

template <int Team, class P>
int launch_lines(void (*kernel)(P), int64_t lines, uint64_t stream, P const& p) {
  constexpr int block = block_of<Team>;
  int64_t const grid = (lines - 1) / (block / Team) + 1;
  return grid > INT32_MAX ? GPK_ERR_ARGUMENT : launch(kernel, static_cast<unsigned>(grid), block, stream, p);
}

bool vectors_at(uint64_t address) { return address % 16 == 0; }

// Returns x + y for 16 bytes of elements, rounded to T.
template <class T>
__device__ uint4 sum_of(uint4 const& x, uint4 const& y) {
  using A = typename computed<T>::type;
  constexpr int V = vector_width<T>;
  A sum[V];
#pragma unroll
  for (int e = 0; e < V; ++e) sum[e] = element_of<T, A>(x, e) + element_of<T, A>(y, e);
  return bytes_of<T>(sum);
}

// ---- embedding

struct EmbedNorm {
  char const* table[GPK_EMBED_TABLES];
  char const* ids[GPK_EMBED_TABLES];
  int64_t rows[GPK_EMBED_TABLES], pitch[GPK_EMBED_TABLES];
  char const *gamma, *beta;
  char* dst;
  long long* flags;
  int64_t lines, n;
  double eps;
  int tables, wide;
};

// Returns the row of table t that a line reads. An index outside the table reads row 0. It is recorded in the flags
// if `record` is set.
__device__ inline int64_t row_of(EmbedNorm const& p, int t, int64_t line, bool record) {
  if (p.ids[t] == nullptr) return 0;
  int64_t const i = p.wide >> t & 1 ? reinterpret_cast<int64_t const*>(p.ids[t])[line]
                                    : static_cast<int64_t>(reinterpret_cast<int32_t const*>(p.ids[t])[line]);
  int64_t const row = i < 0 ? i + p.rows[t] : i;
  if (static_cast<uint64_t>(row) < static_cast<uint64_t>(p.rows[t])) return row;
  if (record && p.flags != nullptr) {
    int64_t const most = (int64_t{1} << 47) - 1;
    int64_t const clamped = i > most ? most : i < -most ? -most : i;
    atomicMax(p.flags, static_cast<long long>((t + 1LL) << 48 | (clamped & 0xffffffffffffLL)));
  }
  return 0;
}

template <class T, int Team, int Held>
__global__ void __launch_bounds__(block_of<Team>, 1024 / block_of<Team>)
    embed_norm_lines(__grid_constant__ EmbedNorm const p) {
  begin();
  constexpr int V = vector_width<T>;
  int64_t const line = static_cast<int64_t>(blockIdx.x) * (block_of<Team> / Team) + threadIdx.x / Team;
  int const at = threadIdx.x % Team * V, step = Team * V;
  bool const active = line < p.lines;
  T const* row[GPK_EMBED_TABLES];
#pragma unroll
  for (int t = 0; t < GPK_EMBED_TABLES; ++t) {
    if (t >= p.tables) continue;
    row[t] = reinterpret_cast<T const*>(p.table[t]) + row_of(p, t, active ? line : 0, active && at == 0) * p.pitch[t] + at;
  }
  line_in_registers<op_layer_norm, T, Team, Held, false>(
      p, active ? static_cast<int>(p.n) : 0, at, step,
      [&](int u) {
        uint4 sum = *reinterpret_cast<uint4 const*>(row[0] + u * step);
#pragma unroll
        for (int t = 1; t < GPK_EMBED_TABLES; ++t) {
          if (t < p.tables) sum = sum_of<T>(sum, *reinterpret_cast<uint4 const*>(row[t] + u * step));
        }
        return sum;
      },
      [&] { return ContiguousLine<T>{reinterpret_cast<T*>(p.dst) + (active ? line : 0) * p.n + at}; });
}

template <class T>
struct StartEmbedNorm {
  EmbedNorm const& p;
  uint64_t stream;
  template <int Team, int Held>
  int operator()() const {
    return launch_lines<Team>(embed_norm_lines<T, Team, Held>, p.lines, stream, p);
  }
};

// ---- residual sum

struct NormResidual {
  char const *x, *residual, *gamma, *beta;
  char *sum, *normed;
  int64_t x_pitch, residual_pitch, lines, n;
  double eps;
};

template <class T, int Team, int Held>
__global__ void __launch_bounds__(block_of<Team>, 1024 / block_of<Team>)
    norm_residual_lines(__grid_constant__ NormResidual const p) {
  begin();
  constexpr int V = vector_width<T>;
  int64_t line = static_cast<int64_t>(blockIdx.x) * (block_of<Team> / Team) + threadIdx.x / Team;
  int const at = threadIdx.x % Team * V, step = Team * V;
  bool const active = line < p.lines;
  if (!active) line = 0;
  T const* const x = reinterpret_cast<T const*>(p.x) + line * p.x_pitch + at;
  T const* const residual = reinterpret_cast<T const*>(p.residual) + line * p.residual_pitch + at;
  T* const sum = reinterpret_cast<T*>(p.sum) + line * p.n + at;
  line_in_registers<op_rms_norm, T, Team, Held, false>(
      p, active ? static_cast<int>(p.n) : 0, at, step,
      [&](int u) {
        uint4 const v = sum_of<T>(*reinterpret_cast<uint4 const*>(x + u * step),
                                  *reinterpret_cast<uint4 const*>(residual + u * step));
        *reinterpret_cast<uint4*>(sum + u * step) = v;
        return v;
      },
      [&] { return ContiguousLine<T>{reinterpret_cast<T*>(p.normed) + line * p.n + at}; });
}

template <class T>
struct StartNormResidual {
  NormResidual const& p;
  uint64_t stream;
  template <int Team, int Held>
  int operator()() const {
    return launch_lines<Team>(norm_residual_lines<T, Team, Held>, p.lines, stream, p);
  }
};

}  // namespace
}  // namespace gpk
