// factor_update.cuh: C -= A B^H for tall, narrow A and B in global memory, by the tensor cores, and the copies of a
// triangle.
#pragma once
#include "factor_tensor.cuh"

namespace gpk {
namespace factor {
namespace {

// C -= A op(B), where C is m x n, A m x k and op(B) k x n. Element (j, l) of B is multiplied with column j of C. k is
// a multiple of the tile's.
struct Update {
  uint64_t a, b, c;
  int64_t a_row, a_col, a_member;
  int64_t b_row, b_col, b_member;
  int64_t c_row, c_col, c_member;
  int m, n, k;
  bool lower;           // only elements on and below the diagonal of C are computed
  bool conj_a, conj_b;  // the conjugates are read
};

// A tile of M x N with K columns a step, of STAGES steps in shared memory. A warp computes WM x WN. Lines are padded by
// 4 elements, which keeps the loads of a warp's operands free of bank conflicts for all types.
template <class T_, int M_, int N_, int K_, int WM_, int WN_, int STAGES_>
struct Tile {
  using T = T_;
  static constexpr int M = M_, N = N_, K = K_, WM = WM_, WN = WN_, STAGES = STAGES_;
  static constexpr int threads = M / WM * (N / WN) * 32;
  static constexpr int pitch = K + 4;
  static constexpr int ctas = threads == 256 && !Number<T>::complex ? 2 : 1;  // a multiprocessor, at least
  static constexpr int bytes = STAGES * (M + N) * pitch * static_cast<int>(sizeof(T));
};

// Copies ROWS lines of K elements, from column k0 on, to shared memory. WIDE: in pieces of 16 bytes, for dense, aligned
// lines.
template <class G, int ROWS, bool WIDE>
__device__ void load_lines(typename G::T* to, typename G::T const* from, int64_t row, int64_t col, int row0, int rows, int k0) {
  using T = typename G::T;
  int const tid = static_cast<int>(threadIdx.x);
  constexpr int V = WIDE ? 16 / static_cast<int>(sizeof(T)) : 1;
  constexpr int pieces = ROWS * G::K / V;
  bool const along = WIDE || col * col <= row * row;  // neighbouring threads load along the smaller stride
#pragma unroll
  for (int e0 = 0; e0 < pieces; e0 += G::threads) {
    int const e = e0 + tid;
    if (pieces % G::threads != 0 && e >= pieces) break;
    int const r = along ? e / (G::K / V) : e % ROWS, c = (along ? e % (G::K / V) : e / ROWS) * V;
    bool const in = row0 + r < rows;
    copy_async<V * static_cast<int>(sizeof(T))>(to + r * G::pitch + c, from + (in ? (row0 + r) * row + (k0 + c) * col : 0), in);
  }
}

// Grid: tiles across, tiles down, batch.
template <class G, bool WIDE>
__global__ void __launch_bounds__(G::threads, G::ctas) update(Update p) {
  using T = typename G::T;
  constexpr int down = G::WM / 16, across = G::WN / 8;
  GPK_FACTOR_SHARED(shared);
  T* const left = reinterpret_cast<T*>(shared);
  T* const right = left + G::STAGES * G::M * G::pitch;
  int const tid = static_cast<int>(threadIdx.x), warp = tid / 32, g = tid % 32 / 4, t = tid % 4;
  int const row0 = static_cast<int>(blockIdx.y) * G::M, col0 = static_cast<int>(blockIdx.x) * G::N;
  int const wm = warp / (G::N / G::WN) * G::WM, wn = warp % (G::N / G::WN) * G::WN;
  begin();
  if (p.lower && row0 + G::M <= col0) return;
  T const* const a = reinterpret_cast<T const*>(p.a) + blockIdx.z * p.a_member;
  T const* const b = reinterpret_cast<T const*>(p.b) + blockIdx.z * p.b_member;
  T* const c = reinterpret_cast<T*>(p.c) + blockIdx.z * p.c_member;
  auto load = [&](int step) {
    int const at = step % G::STAGES;
    load_lines<G, G::M, WIDE>(left + at * G::M * G::pitch, a, p.a_row, p.a_col, row0, p.m, step * G::K);
    load_lines<G, G::N, WIDE>(right + at * G::N * G::pitch, b, p.b_row, p.b_col, col0, p.n, step * G::K);
  };
  typename Tensor<T>::Sum sum[down][across] = {};
  int const steps = p.k / G::K;
#pragma unroll
  for (int i = 0; i < G::STAGES - 1; ++i) {
    if (i < steps) load(i);
    commit_copies();
  }
  for (int step = 0; step < steps; ++step) {
    await_copies<G::STAGES - 2>();
    __syncthreads();
    if (step + G::STAGES - 1 < steps) load(step + G::STAGES - 1);
    commit_copies();
    int const at = step % G::STAGES;
    T const* const l = left + (at * G::M + wm + g) * G::pitch + t;
    T const* const r = right + (at * G::N + wn + g) * G::pitch + t;
#pragma unroll
    for (int k = 0; k < G::K; k += 8) {
      typename Tensor<T>::Right y[across];
#pragma unroll
      for (int j = 0; j < across; ++j) {
        T const v[2] = {conjugate(r[j * 8 * G::pitch + k], p.conj_b), conjugate(r[j * 8 * G::pitch + k + 4], p.conj_b)};
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
#pragma unroll
  for (int i = 0; i < down; ++i) {
#pragma unroll
    for (int j = 0; j < across; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        int const row = row0 + wm + i * 16 + g + e / 2 * 8, col = col0 + wn + j * 8 + 2 * t + e % 2;
        if (row >= p.m || col >= p.n || (p.lower && row < col)) continue;
        T* const at = c + row * p.c_row + col * p.c_col;
        *at = difference(*at, Tensor<T>::at(sum[i][j], e));
      }
    }
  }
}

struct Triangle {
  uint64_t a, b;
  int64_t a_row, a_col, a_member;
  int64_t b_row, b_member;
  int rows, cols;
  bool conj;
};

// b = the lower triangle of a, and zeros above; b's rows are dense. Grid: tiles of 32 x 32 across, down, batch; 32 x 8
// threads in a row.
template <class T>
__global__ void __launch_bounds__(256) copy_lower(Triangle p) {
  GPK_FACTOR_SHARED(shared);
  T* const s = reinterpret_cast<T*>(shared);
  int const lane = static_cast<int>(threadIdx.x) % 32, line = static_cast<int>(threadIdx.x) / 32;
  int const row0 = static_cast<int>(blockIdx.y) * 32, col0 = static_cast<int>(blockIdx.x) * 32;
  T const* const a = reinterpret_cast<T const*>(p.a) + blockIdx.z * p.a_member;
  T* const b = reinterpret_cast<T*>(p.b) + blockIdx.z * p.b_member;
  bool const along = p.a_col * p.a_col <= p.a_row * p.a_row;
  begin();
  for (int q = line; q < 32; q += 8) {
    int const i = along ? q : lane, k = along ? lane : q, row = row0 + i, col = col0 + k;
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

// b -= a on and below the diagonal; rows are dense. Grid: pieces of 256 columns, rows / 8, batch.
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
