// factor_update.cuh: C -= A op(B) by the tensor cores, with few columns in A, and copies of triangles.
#pragma once
#include "factor_tensor.cuh"

namespace gpk {
namespace factor {
namespace {

// C -= A op(B), where C is m x n, A m x k and op(B) k x n. Element (j, l) of B contributes to column j of C.
struct Update {
  uint64_t a, b, c;
  int64_t a_row, a_col, a_member;
  int64_t b_row, b_col, b_member;
  int64_t c_row, c_col, c_member;
  int m, n, k;
  bool lower;           // only elements on and below the diagonal of C are computed
  bool conj_a, conj_b;  // the conjugates are read
};

// How operands are copied to shared memory: element by element (None), in vectors of 16 bytes along k (AlongK), or in
// vectors of A along k and of B along n (AlongN).
enum class Vectors { None, AlongK, AlongN };

// A tile of M x N, in steps of K of k. STAGES: steps in shared memory. A warp computes WM x WN. Lines are padded so that a
// warp loads its operands without bank conflicts.
template <class T_, int M_, int N_, int K_, int WM_, int WN_, int STAGES_>
struct Tile {
  using T = T_;
  static constexpr int M = M_, N = N_, K = K_, WM = WM_, WN = WN_, STAGES = STAGES_, size = static_cast<int>(sizeof(T));
  static constexpr int threads = M / WM * (N / WN) * 32;
  static constexpr int ctas = threads == 256 && !Number<T>::complex ? 2 : 1;  // CTAs per multiprocessor, at least
  static constexpr int pitch = K + 4, across_pitch = N + 32 / size;
  static constexpr int right = N * pitch > K * across_pitch ? N * pitch : K * across_pitch;  // elements of B per step
  static constexpr int bytes = STAGES * (M * pitch + right) * size;
};

// K of a tile.
template <class T>
constexpr int tile_depth = sizeof(T) == 4 ? 32 : sizeof(T) == 8 ? 16 : 8;

// Starts the copy of LINES lines of LENGTH elements, from line line0 and element `first` on, to shared memory. Elements
// beyond `lines` and `length` are zeros. V: elements per vector along a line; with V = 1 strides are arbitrary.
template <class T, int LINES, int LENGTH, int V, int THREADS>
__device__ void load_lines(T* to, int pitch, T const* from, int64_t line, int64_t step, int line0, int lines, int first, int length) {
  int const tid = static_cast<int>(threadIdx.x);
  constexpr int vectors = LINES * LENGTH / V, size = static_cast<int>(sizeof(T));
  bool const by_rows = V > 1 || step * step <= line * line;  // neighbouring threads load along the smaller stride
#pragma unroll
  for (int e0 = 0; e0 < vectors; e0 += THREADS) {
    int const e = e0 + tid;
    if (vectors % THREADS != 0 && e >= vectors) break;
    int const r = by_rows ? e / (LENGTH / V) : e % LINES, c = (by_rows ? e % (LENGTH / V) : e / LINES) * V;
    int const left = line0 + r < lines ? length - first - c : 0, in = left < 0 ? 0 : left < V ? left : V;
    cp_async_zfill<V * size>(to + r * pitch + c, from + (in > 0 ? (line0 + r) * line + (first + c) * step : 0), in * size);
  }
}

// A thread's accumulators of A op(B): sum[i][j] is for 16 rows from 16 i and 8 columns from 8 j of its warp's part.
template <class G>
using Sums = typename Tensor<typename G::T>::Sum[G::WM / 16][G::WN / 8];

// The first row and column of a warp's part of a tile.
template <class G>
__device__ inline int warp_row() { return static_cast<int>(threadIdx.x) / 32 / (G::N / G::WN) * G::WM; }
template <class G>
__device__ inline int warp_col() { return static_cast<int>(threadIdx.x) / 32 % (G::N / G::WN) * G::WN; }

// Adds the tile of A op(B) from row0 and col0 on to sum. a and b are the operands of one member. shared has G::bytes. All
// threads have to have finished their reads of shared before any thread calls this.
template <class G, Vectors VECTORS>
__device__ void accumulate(Sums<G>& sum, char* shared, Update const& p, typename G::T const* a, typename G::T const* b, int row0, int col0) {
  using T = typename G::T;
  constexpr int down = G::WM / 16, across = G::WN / 8, V = 16 / G::size;
  constexpr bool along_n = VECTORS == Vectors::AlongN;  // B is in shared memory as K lines of N elements
  T* const left = reinterpret_cast<T*>(shared);
  T* const right = left + G::STAGES * G::M * G::pitch;
  int const g = static_cast<int>(threadIdx.x) % 32 / 4, t = static_cast<int>(threadIdx.x) % 4;
  int const wm = warp_row<G>(), wn = warp_col<G>();
  auto load = [&](int step) {
    int const at = step % G::STAGES;
    load_lines<T, G::M, G::K, VECTORS == Vectors::None ? 1 : V, G::threads>(left + at * G::M * G::pitch, G::pitch, a, p.a_row, p.a_col, row0, p.m, step * G::K, p.k);
    if constexpr (along_n) {
      load_lines<T, G::K, G::N, V, G::threads>(right + at * G::right, G::across_pitch, b, p.b_col, p.b_row, step * G::K, p.k, col0, p.n);
    } else {
      load_lines<T, G::N, G::K, VECTORS == Vectors::None ? 1 : V, G::threads>(right + at * G::right, G::pitch, b, p.b_row, p.b_col, col0, p.n, step * G::K, p.k);
    }
  };
  int const steps = (p.k + G::K - 1) / G::K;
#pragma unroll
  for (int i = 0; i < G::STAGES - 1; ++i) {
    if (i < steps) load(i);
    cp_async_commit();
  }
  for (int step = 0; step < steps; ++step) {
    cp_async_wait<G::STAGES - 2>();
    __syncthreads();
    if (step + G::STAGES - 1 < steps) load(step + G::STAGES - 1);
    cp_async_commit();
    if (row0 + wm >= p.m) continue;
    int const at = step % G::STAGES;
    T const* const l = left + (at * G::M + wm + g) * G::pitch + t;
    constexpr int k_stride = along_n ? G::across_pitch : 1, n_stride = along_n ? 1 : G::pitch;  // of B in shared memory
    T const* const r = right + at * G::right + (wn + g) * n_stride + t * k_stride;
#pragma unroll
    for (int k = 0; k < G::K; k += 8) {
      typename Tensor<T>::Right y[across];
#pragma unroll
      for (int j = 0; j < across; ++j) {
        T const v[2] = {conjugate(r[j * 8 * n_stride + k * k_stride], p.conj_b), conjugate(r[j * 8 * n_stride + (k + 4) * k_stride], p.conj_b)};
        y[j] = Tensor<T>::right(v);
      }
#pragma unroll
      for (int i = 0; i < down; ++i) {
        T const* const x = l + i * 16 * G::pitch + k;
        T const v[4] = {conjugate(x[0], p.conj_a), conjugate(x[8 * G::pitch], p.conj_a), conjugate(x[4], p.conj_a),
                        conjugate(x[8 * G::pitch + 4], p.conj_a)};
        typename Tensor<T>::Left const z = Tensor<T>::left(v);
#pragma unroll
        for (int j = 0; j < across; ++j) Tensor<T>::multiply(sum[i][j], z, y[j]);
      }
    }
  }
}

// Calls store(row, col, load(row, col) - sum) for the elements of a tile. The loads of 16 rows precede their stores, because
// the compiler cannot move loads before stores that may alias.
template <class G, class Load, class Store>
__device__ void subtract_sum(Sums<G> const& sum, Load load, Store store) {
  using T = typename G::T;
  int const row0 = warp_row<G>() + static_cast<int>(threadIdx.x) % 32 / 4, col0 = warp_col<G>() + static_cast<int>(threadIdx.x) % 4 * 2;
#pragma unroll
  for (int i = 0; i < G::WM / 16; ++i) {
    T old[G::WN / 8][4];
#pragma unroll
    for (int j = 0; j < G::WN / 8; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) old[j][e] = load(row0 + i * 16 + e / 2 * 8, col0 + j * 8 + e % 2);
    }
#pragma unroll
    for (int j = 0; j < G::WN / 8; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) store(row0 + i * 16 + e / 2 * 8, col0 + j * 8 + e % 2, difference(old[j][e], Tensor<T>::at(sum[i][j], e)));
    }
  }
}

// Grid: tiles along columns, along rows, batch.
template <class G, Vectors VECTORS>
__global__ void __launch_bounds__(G::threads, G::ctas) update(Update p) {
  using T = typename G::T;
  GPK_FACTOR_SHARED(shared);
  int const row0 = static_cast<int>(blockIdx.y) * G::M, col0 = static_cast<int>(blockIdx.x) * G::N;
  begin();
  if (p.lower && row0 + G::M <= col0) return;
  T* const c = reinterpret_cast<T*>(p.c) + blockIdx.z * p.c_member + row0 * p.c_row + col0 * p.c_col;
  Sums<G> sum = {};
  accumulate<G, VECTORS>(sum, shared, p, reinterpret_cast<T const*>(p.a) + blockIdx.z * p.a_member, reinterpret_cast<T const*>(p.b) + blockIdx.z * p.b_member, row0, col0);
  auto const inside = [&](int row, int col) { return row0 + row < p.m && col0 + col < p.n && (!p.lower || row0 + row >= col0 + col); };
  subtract_sum<G>(
      sum, [&](int row, int col) { return inside(row, col) ? c[row * p.c_row + col * p.c_col] : from_real<T>(0); },
      [&](int row, int col, T v) {
        if (inside(row, col)) c[row * p.c_row + col * p.c_col] = v;
      });
}

struct Triangle {
  uint64_t a, b;
  int64_t a_row, a_col, a_member;
  int64_t b_row, b_member;
  int rows, cols;
  bool conj;
};

// b = the lower triangle of a, with zeros above; b's rows are dense. Grid: tiles of 32 x 32 along columns, along rows, batch.
// A CTA has 256 threads.
template <class T>
__global__ void __launch_bounds__(256) copy_lower(Triangle p) {
  GPK_FACTOR_SHARED(shared);
  T* const s = reinterpret_cast<T*>(shared);
  int const lane = static_cast<int>(threadIdx.x) % 32, line = static_cast<int>(threadIdx.x) / 32;
  int const row0 = static_cast<int>(blockIdx.y) * 32, col0 = static_cast<int>(blockIdx.x) * 32;
  T const* const a = reinterpret_cast<T const*>(p.a) + blockIdx.z * p.a_member;
  T* const b = reinterpret_cast<T*>(p.b) + blockIdx.z * p.b_member;
  bool const by_rows = p.a_col * p.a_col <= p.a_row * p.a_row;
  begin();
  for (int q = line; q < 32; q += 8) {
    int const i = by_rows ? q : lane, k = by_rows ? lane : q, row = row0 + i, col = col0 + k;
    T v = from_real<T>(0);
    if (row < p.rows && col < p.cols && col <= row) v = conjugate(a[row * p.a_row + col * p.a_col], p.conj);
    s[i * 33 + k] = v;
  }
  __syncthreads();
  for (int q = line; q < 32; q += 8) {
    int const row = row0 + q, col = col0 + lane;
    if (row < p.rows && col < p.cols) b[row * p.b_row + col] = s[q * 33 + lane];
  }
}

// b -= a on and below the diagonal; rows are dense. Grid: CTAs of 256 columns by 8 rows, batch.
template <class T>
__global__ void __launch_bounds__(256) subtract_lower(Triangle p) {
  int const col = static_cast<int>(blockIdx.x) * 256 + static_cast<int>(threadIdx.x), row0 = static_cast<int>(blockIdx.y) * 8;
  T const* const a = reinterpret_cast<T const*>(p.a) + blockIdx.z * p.a_member;
  T* const b = reinterpret_cast<T*>(p.b) + blockIdx.z * p.b_member;
  begin();
  T x[8], y[8];
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    int const row = row0 + i;
    bool const in = row < p.rows && col < p.cols && col <= row;
    x[i] = in ? a[row * p.a_row + col] : from_real<T>(0);
    y[i] = in ? b[row * p.b_row + col] : from_real<T>(0);
  }
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    int const row = row0 + i;
    if (row < p.rows && col < p.cols && col <= row) b[row * p.b_row + col] = difference(y[i], x[i]);
  }
}

}  // namespace
}  // namespace factor
}  // namespace gpk
