// layers.cu: the entry points of gpk_layers.h. The norms are those of lines.cuh. They use as many threads per line as
// gpk_line does for the same length, and so give the same bits.
#include "gpk_layers.h"
#include "lines.cuh"
#include "ops.cuh"

namespace gpk {
namespace {

// Threads of a block in which each team computes a line.
template <int Team>
constexpr int block_of = Team < 128 ? 128 : Team;

// Calls start.template operator()<Team, Held>(), with the threads per line (Team) and vectors per thread (Held) that
// gpk_line uses for n elements.
template <class T, class Start>
int by_length(int64_t n, Start const& start) {
  constexpr int V = vector_width<T>, each = held * V;
  if (n % V != 0) return GPK_ERR_UNSUPPORTED;
  if (n <= 32 * 2 * V) return start.template operator()<32, 2>();
  if (n <= 32 * each) return start.template operator()<32, held>();
  if (n <= 64 * each) return start.template operator()<64, held>();
  if (n <= 128 * each) return start.template operator()<128, held>();
  if (n <= 256 * each) return start.template operator()<256, held>();
  if (n <= 512 * each) return start.template operator()<512, held>();
  return GPK_ERR_UNSUPPORTED;
}

template <int Team, class P>
int launch_lines(void (*kernel)(P), int64_t lines, uint64_t stream, P const& p) {
  constexpr int block = block_of<Team>;
  int64_t const grid = (lines - 1) / (block / Team) + 1;
  return grid > INT32_MAX ? GPK_ERR_ARGUMENT : launch(kernel, static_cast<unsigned>(grid), block, stream, p);
}

bool vectors_at(uint64_t address) { return address % 16 == 0; }

// x + y for 16 bytes of elements, rounded to T.
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

// The row of table t that a line reads. An index outside the table reads row 0, and is recorded in the flags if
// `notes` is set.
__device__ inline int64_t row_of(EmbedNorm const& p, int t, int64_t line, bool notes) {
  if (p.ids[t] == nullptr) return 0;
  int64_t const i = p.wide >> t & 1 ? reinterpret_cast<int64_t const*>(p.ids[t])[line]
                                    : static_cast<int64_t>(reinterpret_cast<int32_t const*>(p.ids[t])[line]);
  int64_t const row = i < 0 ? i + p.rows[t] : i;
  if (static_cast<uint64_t>(row) < static_cast<uint64_t>(p.rows[t])) return row;
  if (notes && p.flags != nullptr) {
    int64_t const most = (int64_t{1} << 47) - 1;
    int64_t const clamped = i > most ? most : i < -most ? -most : i;
    atomicMax(p.flags, static_cast<long long>((t + 1LL) << 48 | (clamped & 0xffffffffffffLL)));
  }
  return 0;
}

template <class T, int Team, int Held>
__global__ void __launch_bounds__(block_of<Team>, 1024 / block_of<Team>) embed_norm_lines(__grid_constant__ EmbedNorm const p) {
  begin();
  constexpr int V = vector_width<T>;
  int64_t const line = static_cast<int64_t>(blockIdx.x) * (block_of<Team> / Team) + threadIdx.x / Team;
  int const at = threadIdx.x % Team * V, step = Team * V;
  bool const mine = line < p.lines;
  T const* row[GPK_EMBED_TABLES];
#pragma unroll
  for (int t = 0; t < GPK_EMBED_TABLES; ++t) {
    if (t >= p.tables) continue;
    row[t] = reinterpret_cast<T const*>(p.table[t]) + row_of(p, t, mine ? line : 0, mine && at == 0) * p.pitch[t] + at;
  }
  held_line<op_layer_norm, T, Team, Held, false>(
      p, mine ? static_cast<int>(p.n) : 0, at, step,
      [&](int u) {
        uint4 sum = *reinterpret_cast<uint4 const*>(row[0] + u * step);
#pragma unroll
        for (int t = 1; t < GPK_EMBED_TABLES; ++t) {
          if (t < p.tables) sum = sum_of<T>(sum, *reinterpret_cast<uint4 const*>(row[t] + u * step));
        }
        return sum;
      },
      [&] { return Beside<T>{reinterpret_cast<T*>(p.dst) + (mine ? line : 0) * p.n + at}; });
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

// ---- a sum and its norm

struct NormResidual {
  char const *x, *residual, *gamma, *beta;
  char *sum, *normed;
  int64_t x_pitch, residual_pitch, lines, n;
  double eps;
};

template <class T, int Team, int Held>
__global__ void __launch_bounds__(block_of<Team>, 1024 / block_of<Team>) norm_residual_lines(__grid_constant__ NormResidual const p) {
  begin();
  constexpr int V = vector_width<T>;
  int64_t line = static_cast<int64_t>(blockIdx.x) * (block_of<Team> / Team) + threadIdx.x / Team;
  int const at = threadIdx.x % Team * V, step = Team * V;
  bool const mine = line < p.lines;
  if (!mine) line = 0;
  T const* const x = reinterpret_cast<T const*>(p.x) + line * p.x_pitch + at;
  T const* const residual = reinterpret_cast<T const*>(p.residual) + line * p.residual_pitch + at;
  T* const sum = reinterpret_cast<T*>(p.sum) + line * p.n + at;
  held_line<op_rms_norm, T, Team, Held, false>(
      p, mine ? static_cast<int>(p.n) : 0, at, step,
      [&](int u) {
        uint4 const v = sum_of<T>(*reinterpret_cast<uint4 const*>(x + u * step), *reinterpret_cast<uint4 const*>(residual + u * step));
        *reinterpret_cast<uint4*>(sum + u * step) = v;
        return v;
      },
      [&] { return Beside<T>{reinterpret_cast<T*>(p.normed) + line * p.n + at}; });
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

// ---- pooling

struct Pool {
  char const* x;
  int32_t const* offsets;
  char* dst;
  long long* flags;
  int64_t pitch, rows, n, batch;
  int columns;  // neighbouring columns that the threads compute in one iteration
  bool first, normalize;
};

constexpr int pool_threads = 1024;
constexpr int pool_kept = 4096;  // means kept in shared memory; the means of later columns are recomputed

__device__ inline void note_offset(Pool const& p, int kind, int64_t i, int32_t at) {
  long long const number = 0xfffffff - i;
  atomicMax(p.flags, (4LL - kind) << 60 | number << 32 | static_cast<uint32_t>(at));
}

// Records an error in offset i + 1, and in the first offset, as GPK_OFFSETS_*.
__device__ inline void check_offset(Pool const& p, int64_t i) {
  int32_t const from = p.offsets[i], to = p.offsets[i + 1];
  if (i == 0 && from != 0) note_offset(p, 1, 0, from);
  if (to < from) note_offset(p, 2, i + 1, to);
  if (i + 1 == p.batch && to != p.rows) note_offset(p, 3, i + 1, to);
}

// A sequence per block. The threads span `columns` neighbouring columns, and the rest of them take rows in turn.
// Their number, and so the order of additions, depends only on n and on the sequence.
template <class T, class R>
__global__ void __launch_bounds__(pool_threads) pool_sequences(__grid_constant__ Pool const p) {
  begin();
  __shared__ double mean[pool_kept], partial[pool_threads], squares[32];
  int const column = threadIdx.x % p.columns, turn = threadIdx.x / p.columns, turns = blockDim.x / p.columns;
  int64_t const i = blockIdx.x;
  if (p.flags != nullptr && threadIdx.x == 0) check_offset(p, i);
  auto clamped = [&](int64_t at) { return at < 0 ? 0 : at > p.rows ? p.rows : at; };
  int64_t const from = clamped(p.offsets[i]);
  int64_t to = clamped(p.offsets[i + 1]);
  if (to < from) to = from;
  if (p.first && to > from) to = from + 1;
  double const rows = static_cast<double>(to - from);

  // The mean of column c, valid in the threads whose turn is 0. All threads of the block must call it.
  auto mean_of = [&](int64_t c) {
    double sum = 0;
    if (c < p.n) {
      constexpr int flight = 8;
      T const* const x = reinterpret_cast<T const*>(p.x) + c;
      int64_t r = from + turn;
      for (; r + (flight - 1) * turns < to; r += flight * turns) {
        T v[flight];
#pragma unroll
        for (int u = 0; u < flight; ++u) v[u] = x[(r + u * turns) * p.pitch];
#pragma unroll
        for (int u = 0; u < flight; ++u) sum += convert<double>(v[u]);
      }
      for (; r < to; r += turns) sum += convert<double>(x[r * p.pitch]);
    }
    partial[threadIdx.x] = sum;
    __syncthreads();
    for (int t = 1; turn == 0 && t < turns; ++t) sum += partial[t * p.columns + column];
    __syncthreads();
    return rows > 0 ? sum / rows : 0;
  };

  R* const dst = reinterpret_cast<R*>(p.dst) + i * p.n;
  double square = 0;
  for (int64_t c = column; c - column < p.n; c += p.columns) {
    double const m = mean_of(c);
    if (turn != 0 || c >= p.n) continue;
    if (!p.normalize) {
      dst[c] = static_cast<R>(m);
      continue;
    }
    if (c < pool_kept) mean[c] = m;
    square += m * m;
  }
  if (!p.normalize) return;
#pragma unroll
  for (int mask = 1; mask < 32; mask *= 2) square += __shfl_xor_sync(~0u, square, mask);
  if (threadIdx.x % 32 == 0) squares[threadIdx.x / 32] = square;
  __syncthreads();
  double total = 0;
  for (int w = 0; w < blockDim.x / 32; ++w) total += squares[w];
  double const length = fmax(sqrt(total), 1e-12);
  for (int64_t c = column; c - column < p.n; c += p.columns) {
    bool const again = c - column + p.columns > pool_kept;  // uniform in the block
    double m = again ? mean_of(c) : 0;
    if (turn != 0 || c >= p.n) continue;
    if (!again) m = mean[c];
    dst[c] = static_cast<R>(m / length);
  }
}

template <class T, class R>
int pool(Pool p, uint64_t stream) {
  p.columns = 32;
  while (p.columns < 512 && p.columns < p.n) p.columns += 32;
  int turns = 1;
  while (turns < 8 && 2 * turns * p.columns <= pool_threads) turns *= 2;
  return launch(pool_sequences<T, R>, static_cast<unsigned>(p.batch), static_cast<unsigned>(p.columns * turns), stream, p);
}

// ---- rotary position embedding

struct Rope {
  char const *x, *positions;
  char* out;
  int64_t x_stride[4], out_stride[4], position_batch, position_row;
  int64_t batch, heads, rows, items;  // items per line: its pairs, then the features that are copied
  int64_t shares;                     // threads that share the heads of an item
  int pairs;
  bool interleaved, wide;
  double frequency[GPK_ROPE_PAIRS];
};

template <class T>
__device__ T rounded(double v) {
  if constexpr (is_half<T>) {
    return convert<T>(static_cast<float>(v));
  } else {
    return static_cast<T>(v);
  }
}

// A thread computes one item of a row for some of its heads, so that the sine and the cosine are computed once for
// these.
template <class T>
__global__ void __launch_bounds__(threads) rope_items(__grid_constant__ Rope const p) {
  begin();
  int64_t i = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  int64_t const item = i % p.items;
  i /= p.items;
  int64_t const row = i % p.rows;
  i /= p.rows;
  int64_t const share = i % p.shares, b = i / p.shares;
  if (b >= p.batch) return;
  T const* const x = reinterpret_cast<T const*>(p.x) + b * p.x_stride[0] + row * p.x_stride[2];
  T* const out = reinterpret_cast<T*>(p.out) + b * p.out_stride[0] + row * p.out_stride[2];
  if (item >= p.pairs) {
    int64_t const e = item + p.pairs;
    for (int64_t h = share; h < p.heads; h += p.shares) {
      out[h * p.out_stride[1] + e * p.out_stride[3]] = x[h * p.x_stride[1] + e * p.x_stride[3]];
    }
    return;
  }
  int64_t const first = p.interleaved ? 2 * item : item, second = p.interleaved ? first + 1 : item + p.pairs;
  int64_t position = row;
  if (p.positions != nullptr) {
    int64_t const at = b * p.position_batch + row * p.position_row;
    position = p.wide ? reinterpret_cast<int64_t const*>(p.positions)[at]
                      : static_cast<int64_t>(reinterpret_cast<int32_t const*>(p.positions)[at]);
  }
  double sine, cosine;
  sincos(__dmul_rn(static_cast<double>(position), p.frequency[item]), &sine, &cosine);
  for (int64_t h = share; h < p.heads; h += p.shares) {
    double const x1 = convert<double>(x[h * p.x_stride[1] + first * p.x_stride[3]]);
    double const x2 = convert<double>(x[h * p.x_stride[1] + second * p.x_stride[3]]);
    double const y1 = __dadd_rn(__dmul_rn(x1, cosine), -__dmul_rn(x2, sine));
    double const y2 = __dadd_rn(__dmul_rn(x2, cosine), __dmul_rn(x1, sine));
    out[h * p.out_stride[1] + first * p.out_stride[3]] = rounded<T>(y1);
    out[h * p.out_stride[1] + second * p.out_stride[3]] = rounded<T>(y2);
  }
}

template <class T>
int rope(Rope& p, uint64_t stream) {
  constexpr int64_t wanted = 1 << 17;  // about the number of threads that a large device holds
  int64_t const lines = p.batch * p.rows * p.items;
  p.shares = lines >= wanted ? 1 : (wanted - 1) / lines + 1;
  if (p.shares > p.heads) p.shares = p.heads;
  int64_t const grid = (lines * p.shares - 1) / threads + 1;
  return grid > INT32_MAX ? GPK_ERR_UNSUPPORTED : launch(rope_items<T>, static_cast<unsigned>(grid), threads, stream, p);
}

// Calls f<T>() with the element type of the lines.
template <class F>
int by_float(int type, F const& f) {
  switch (type) {
    case GPK_F32: return f(float{});
    case GPK_F64: return f(double{});
    case GPK_F16: return f(f16{});
    case GPK_BF16: return f(bf16{});
  }
  return GPK_ERR_UNSUPPORTED;
}

template <class P>
P const* pointer(uint64_t address) {
  return reinterpret_cast<P const*>(address);
}

}  // namespace
}  // namespace gpk

using namespace gpk;

int gpk_embed_norm(gpk_embed_norm_args const* a) {
  if (a->size != sizeof *a || a->tables < 1 || a->tables > GPK_EMBED_TABLES || a->lines < 0 || a->n < 0) return GPK_ERR_ARGUMENT;
  if (a->lines == 0 || a->n == 0) return GPK_OK;
  return by_float(a->type, [&](auto v) {
    using T = decltype(v);
    bool even = vectors_at(a->dst) && vectors_at(a->gamma) && vectors_at(a->beta);
    EmbedNorm p = {};
    for (int t = 0; t < a->tables; ++t) {
      if (a->rows[t] < 1 || a->table[t] == 0) return static_cast<int>(GPK_ERR_ARGUMENT);
      even = even && vectors_at(a->table[t]) && a->pitch[t] % vector_width<T> == 0;
      p.table[t] = pointer<char>(a->table[t]);
      p.ids[t] = pointer<char>(a->ids[t]);
      p.rows[t] = a->rows[t];
      p.pitch[t] = a->pitch[t];
    }
    if (!even) return static_cast<int>(GPK_ERR_UNSUPPORTED);
    p.gamma = pointer<char>(a->gamma);
    p.beta = pointer<char>(a->beta);
    p.dst = reinterpret_cast<char*>(a->dst);
    p.flags = reinterpret_cast<long long*>(a->flags);
    p.lines = a->lines;
    p.n = a->n;
    p.eps = a->eps;
    p.tables = a->tables;
    p.wide = a->wide;
    int const code = set_device(a->device);
    return code != GPK_OK ? code : by_length<T>(p.n, StartEmbedNorm<T>{p, a->stream});
  });
}

int gpk_norm_residual(gpk_norm_residual_args const* a) {
  if (a->size != sizeof *a || a->lines < 0 || a->n < 0) return GPK_ERR_ARGUMENT;
  if (a->lines == 0 || a->n == 0) return GPK_OK;
  return by_float(a->type, [&](auto v) {
    using T = decltype(v);
    bool even = vectors_at(a->x) && vectors_at(a->residual) && vectors_at(a->gamma) && vectors_at(a->sum) && vectors_at(a->normed);
    even = even && a->x_pitch % vector_width<T> == 0 && a->residual_pitch % vector_width<T> == 0;
    if (!even) return static_cast<int>(GPK_ERR_UNSUPPORTED);
    NormResidual p = {};
    p.x = pointer<char>(a->x);
    p.residual = pointer<char>(a->residual);
    p.gamma = pointer<char>(a->gamma);
    p.sum = reinterpret_cast<char*>(a->sum);
    p.normed = reinterpret_cast<char*>(a->normed);
    p.x_pitch = a->x_pitch;
    p.residual_pitch = a->residual_pitch;
    p.lines = a->lines;
    p.n = a->n;
    p.eps = a->eps;
    int const code = set_device(a->device);
    return code != GPK_OK ? code : by_length<T>(p.n, StartNormResidual<T>{p, a->stream});
  });
}

int gpk_pool(gpk_pool_args const* a) {
  if (a->size != sizeof *a || a->batch < 0 || a->batch >= 1 << 28 || a->n < 0 || a->rows < 0) return GPK_ERR_ARGUMENT;
  if (a->batch == 0 || a->n == 0) return GPK_OK;
  int const code = set_device(a->device);
  if (code != GPK_OK) return code;
  Pool p = {};
  p.x = pointer<char>(a->x);
  p.offsets = pointer<int32_t>(a->offsets);
  p.dst = reinterpret_cast<char*>(a->dst);
  p.flags = reinterpret_cast<long long*>(a->flags);
  p.pitch = a->pitch;
  p.rows = a->rows;
  p.n = a->n;
  p.batch = a->batch;
  p.first = a->first != 0;
  p.normalize = a->normalize != 0;
  return by_float(a->type, [&](auto v) {
    using T = decltype(v);
    if constexpr (__is_same(T, double)) {
      return pool<T, double>(p, a->stream);
    } else {
      return pool<T, float>(p, a->stream);
    }
  });
}

int gpk_rope(gpk_rope_args const* a, double const* frequencies) {
  if (a->size != sizeof *a) return GPK_ERR_ARGUMENT;
  for (int64_t n : {a->batch, a->heads, a->rows, a->dim, a->pairs}) {
    if (n < 0) return GPK_ERR_ARGUMENT;
  }
  if (a->pairs > GPK_ROPE_PAIRS) return GPK_ERR_UNSUPPORTED;
  if (2 * a->pairs > a->dim) return GPK_ERR_ARGUMENT;
  if (a->batch == 0 || a->heads == 0 || a->rows == 0 || a->dim == 0) return GPK_OK;
  int const code = set_device(a->device);
  if (code != GPK_OK) return code;
  Rope p = {};
  p.x = pointer<char>(a->x);
  p.out = reinterpret_cast<char*>(a->out);
  p.positions = pointer<char>(a->positions);
  memcpy(p.x_stride, a->x_stride, sizeof p.x_stride);
  memcpy(p.out_stride, a->out_stride, sizeof p.out_stride);
  p.position_batch = a->position_batch;
  p.position_row = a->position_row;
  p.batch = a->batch;
  p.heads = a->heads;
  p.rows = a->rows;
  p.items = a->dim - a->pairs;
  p.pairs = static_cast<int>(a->pairs);
  p.interleaved = a->interleaved != 0;
  p.wide = a->wide != 0;
  if (a->pairs > 0) memcpy(p.frequency, frequencies, a->pairs * sizeof *frequencies);
  return by_float(a->type, [&](auto v) { return rope<decltype(v)>(p, a->stream); });
}
