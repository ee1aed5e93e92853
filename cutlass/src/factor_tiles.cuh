// factor_tiles.cuh: Cholesky's factorization of a block column or a whole matrix in one launch.
//
// A task is a tile of a block column: its diagonal block, or FactorTile::M rows below. It subtracts the product of all
// columns before, and is then factored, or divided by the factor of the diagonal block. CTAs take tasks in
// the order of their numbers, column by column. A task waits only for tasks with smaller numbers. Running CTAs have
// these, so there is no deadlock. The next columns' tasks run while those of a column wait for its diagonal block.
//
// done[i] counts the columns of blocks that row block i has. Sums go through columns in order: the bits of a result do
// not depend on timing.
#pragma once
#include "factor_cholesky.cuh"
#include "factor_update.cuh"

namespace gpk {
namespace factor {
namespace {

#ifndef GPK_EMULATED
__device__ inline int load_acquire(int const* p) {
  int v;
  asm volatile("ld.acquire.gpu.global.s32 %0, [%1];" : "=r"(v) : "l"(p) : "memory");
  return v;
}
__device__ inline void store_release(int* p, int v) { asm volatile("st.release.gpu.global.s32 [%0], %1;" ::"l"(p), "r"(v) : "memory"); }
__device__ inline int take(int* p) { return atomicAdd(p, 1); }
__device__ inline void prefetch(void const* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }
#endif

template <class T>
using FactorTile = Tile<T, Number<T>::complex ? 64 : 128, block<T>, tile_depth<T>, Number<T>::complex ? 16 : 32, Number<T>::complex ? 16 : 32, 3>;

// CTAs of a multiprocessor: the diagonal block's registers leave room for another in float32.
template <class T>
constexpr int tiles_ctas = sizeof(T) == 4 ? 2 : 1;

// The columns of blocks that are summed at once: the tensor cores cut off what does not fit into a sum.
constexpr int tiles_columns = 8;

constexpr int control_bytes = 32;  // the task, and up to 5 numbers of columns

// Shared memory: of the product; of the rows and the diagonal block's factor with its inverse diagonal; of factor_block.
template <class T>
constexpr int tiles_bytes = [] {
  constexpr int N = block<T>, M = FactorTile<T>::M, size = static_cast<int>(sizeof(T));
  int const solve = (M * (N + 1) + N * block_pitch<N, T>) * size + N * static_cast<int>(sizeof(Real<T>));
  int const factor = N * (N + 1) * size + block_bytes<T, N>;
  int const most = solve > factor ? solve : factor;
  return control_bytes + (most > FactorTile<T>::bytes ? most : FactorTile<T>::bytes);
}();

struct Tiles {
  uint64_t a;
  int64_t pitch, a_member;
  long long* flags;
  int* state;  // the next task, and the columns of each row block of each member
  int rows, cols, batch;
  int blocks;   // row blocks of a member
  int first;    // columns before
  int member0;  // number of the first matrix
};

// Waits until row blocks first to last and block j have more than `known` columns. Returns the columns that all have,
// up to j, or j + 1 for known = j.
__device__ inline int await_columns(int const* done, int* seen, int first, int last, int j, int known) {
  int const tid = static_cast<int>(threadIdx.x), count = last - first + 2;
  if (tid < count) {
    int const* const at = done + (tid + 1 < count ? first + tid : j);
    int v = load_acquire(at);
    while (v <= known) v = load_acquire(at);
    seen[tid] = v;
  }
  __syncthreads();
  int least = known < j ? j : j + 1;
  for (int i = 0; i < count; ++i) least = seen[i] < least ? seen[i] : least;
  return least;
}

// Replaces a row x by x T^-H for the lower triangular T in shared memory, [block][block_pitch], with the inverses of its
// diagonal.
template <class T>
__device__ void solve_row(T const* matrix, Real<T> const* inverse, T* row) {
  constexpr int M = micro<T>, line = block_pitch<block<T>, T>;
#pragma unroll 1
  for (int j = 0; j < block<T>; j += M) {
    T x[M];
#pragma unroll
    for (int c = 0; c < M; ++c) x[c] = row[j + c];
#pragma unroll 1
    for (int k = 0; k < j; k += M) {
      T v[M];
#pragma unroll
      for (int c = 0; c < M; ++c) v[c] = row[k + c];
#pragma unroll
      for (int c = 0; c < M; ++c) {
        T t[M];
        load_wide<M>(t, matrix + (j + c) * line + k);
#pragma unroll
        for (int i = 0; i < M; ++i) x[c] = less_conj(x[c], v[i], t[i]);
      }
    }
#pragma unroll
    for (int c = 0; c < M; ++c) {
      T t[M];
      load_wide<M>(t, matrix + (j + c) * line + j);
#pragma unroll
      for (int i = 0; i < c; ++i) x[c] = less_conj(x[c], x[i], t[i]);
      x[c] = scaled(x[c], inverse[j + c]);
    }
#pragma unroll
    for (int c = 0; c < M; ++c) row[j + c] = x[c];
  }
}

// Grid: as many CTAs as run at a time.
template <class T, Pieces PIECES>
__global__ void __launch_bounds__(column_threads, tiles_ctas<T>) factor_tiles(Tiles p) {
  using G = FactorTile<T>;
  static_assert(block<T> * block<T> % column_threads == 0);
  static_assert(G::threads == column_threads && G::M / block<T> + 2 <= control_bytes / 4 - 1);
  constexpr int N = block<T>, M = G::M, pitch = N + 1, line = block_pitch<N, T>;
  GPK_FACTOR_SHARED(shared);
  int* const control = reinterpret_cast<int*>(shared);
  char* const memory = shared + control_bytes;
  T* const x = reinterpret_cast<T*>(memory);  // rows of the tile, [M][pitch]
  int const tid = static_cast<int>(threadIdx.x);
  begin();
  int j = 0, before = 0;  // a block column, and the tasks of those before it
  for (;;) {
    if (tid == 0) control[0] = take(p.state);
    __syncthreads();
    int const number = control[0] / p.batch, member = control[0] % p.batch;
    while (j * N < p.cols) {
      int const end = (j + 1) * N < p.cols ? (j + 1) * N : p.cols, tasks = 1 + (p.rows - end + M - 1) / M;
      if (number < before + tasks) break;
      before += tasks, ++j;
    }
    if (j * N >= p.cols) return;
    int const task = number - before, col = j * N, nb = p.cols - col < N ? p.cols - col : N;
    int const row0 = task == 0 ? col : col + nb + (task - 1) * M, m = task == 0 ? nb : p.rows - row0 < M ? p.rows - row0 : M;
    T* const a = reinterpret_cast<T*>(p.a) + member * p.a_member;
    T* const own = a + row0 * p.pitch + col;  // the tile
    int* const done = p.state + 1 + member * p.blocks;
    int const block0 = row0 / N, block1 = (row0 + m - 1) / N;
    constexpr int lines = N * static_cast<int>(sizeof(T)) / 128;
    for (int e = tid; e < m * lines; e += column_threads) prefetch(own + e / lines * p.pitch + e % lines * (N / lines));
    Sums<G> sum = {};
    Update u{};
    u.a_row = u.b_row = p.pitch, u.a_col = u.b_col = 1, u.m = m, u.n = nb, u.conj_b = true;
    auto const inside = [&](int row, int k) { return row < m && k < nb && (task > 0 || k <= row); };
    auto const load = [&](int row, int k) { return inside(row, k) ? own[row * p.pitch + k] : from_real<T>(0); };
    for (int k = 0; k < j;) {
      int const most = (k / tiles_columns + 1) * tiles_columns;
      int to = await_columns(done, control + 1, block0, block1, j, k);
      if (to > most) to = most;
      u.k = (to - k) * N;
      accumulate<G, PIECES>(sum, memory, u, a + row0 * p.pitch + k * N, a + col * p.pitch + k * N, 0, 0);
      k = to;
      if (k < most || k == j) continue;
      subtract_sum<G>(sum, load, [&](int row, int k, T v) {
        if (inside(row, k)) own[row * p.pitch + k] = v;
      });
#pragma unroll
      for (int i = 0; i < G::WM / 16; ++i) {
#pragma unroll
        for (int c = 0; c < G::WN / 8; ++c) sum[i][c] = {};
      }
    }
    __syncthreads();
    subtract_sum<G>(sum, load, [&](int row, int k, T v) {
      if (task > 0 || row < N) x[row * pitch + k] = v;
    });
    if (task == 0) {
      __syncthreads();
      Shared<T, N> const s(memory + N * pitch * static_cast<int>(sizeof(T)));
      int const bad = factor_block<T, N>(s, [x, nb](int i, int k) {
        T v = from_real<T>(i == k ? 1 : 0);  // columns beyond the block are those of the identity
        if (i < nb) v = x[i * pitch + k];
        return i == k ? from_real<T>(real_part(v)) : v;
      });
      if (tid == nb - 1 && bad != 0) record(p.flags, p.member0 + member, p.first + col + bad);
      for (int e = tid; e < N * N; e += column_threads) {
        int const i = e / N, k = e % N;
        if (i < nb && k <= i) own[i * p.pitch + k] = s.matrix[i * line + k];
      }
    } else {
      T* const matrix = x + M * pitch;
      Real<T>* const inverse = reinterpret_cast<Real<T>*>(matrix + N * line);
      await_columns(done, control + 1, j, j, j, j);
      T const* const diagonal = a + col * (p.pitch + 1);
      constexpr int loads = N * N / column_threads;
      T v[loads];  // all at once, so that their latencies overlap
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        int const e = u * column_threads + tid, i = e / N, k = e % N;
        v[u] = from_real<T>(i == k ? 1 : 0);
        if (i < nb && k <= i) v[u] = diagonal[i * p.pitch + k];
      }
#pragma unroll
      for (int u = 0; u < loads; ++u) {
        int const e = u * column_threads + tid, i = e / N, k = e % N;
        matrix[i * line + k] = v[u];
        if (i == k) inverse[i] = 1 / real_part(v[u]);
      }
      __syncthreads();
      if (tid < m) solve_row<T>(matrix, inverse, x + tid * pitch);
      __syncthreads();
      for (int e = tid; e < m * N; e += column_threads) {
        int const i = e / N, k = e % N;
        if (k < nb) own[i * p.pitch + k] = x[i * pitch + k];
      }
    }
    __syncthreads();
    if (tid <= block1 - block0) store_release(done + block0 + tid, j + 1);
  }
}

}  // namespace
}  // namespace factor
}  // namespace gpk
