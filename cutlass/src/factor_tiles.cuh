// factor_tiles.cuh: Cholesky's factorization of a block column or a whole matrix in one launch.
//
// A task is a tile of FactorTile::M rows of a block column, or a corner: the diagonal block and the block to its left,
// which the diagonal block needs last. A task subtracts the product of all columns before. Then rows are divided by the
// factor of the diagonal block above, and diagonal blocks are factored. CTAs take tasks by number: after the first
// corner, for each block column the next one's corner, then the rows. A task waits only for tasks of smaller numbers, which
// other CTAs have taken before, so no CTA waits for one that does not run. The next columns' tasks run while those of a column wait
// for its diagonal block.
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

// Elements from a row of a tile in shared memory to the next: without bank conflicts in multiply_rows, as far as 99 KB allow.
template <class T>
constexpr int tiles_pitch = block<T> + (sizeof(T) == 4 ? 4 : 1);

// Shared memory: of the product; of the rows and the diagonal block's factor with its inverse diagonal; of factor_block.
template <class T>
constexpr int tiles_bytes = [] {
  constexpr int N = block<T>, M = FactorTile<T>::M, size = static_cast<int>(sizeof(T));
  int const solve = (M * tiles_pitch<T> + N * block_pitch<N, T>) * size + N * static_cast<int>(sizeof(Real<T>));
  int const factor = N * tiles_pitch<T> * size + block_bytes<T, N>;
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
// up to most.
__device__ inline int await_columns(int const* done, int* seen, int first, int last, int j, int known, int most) {
  int const tid = static_cast<int>(threadIdx.x), count = last - first + 2;
  if (tid < count) {
    int const* const at = done + (tid + 1 < count ? first + tid : j);
    int v = load_acquire(at);
    while (v <= known) v = load_acquire(at);
    seen[tid] = v;
  }
  __syncthreads();
  int least = most;
  for (int i = 0; i < count; ++i) least = seen[i] < least ? seen[i] : least;
  return least;
}

// Replaces rows x, [ROWS][tiles_pitch] in shared memory, by x T^-H for the lower triangular T in shared memory,
// [block][block_pitch], with the inverses of its diagonal. All threads call it. The lanes of a row share the columns that
// are subtracted, and add their sums.
template <class T, int ROWS>
__device__ void divide_rows(T const* matrix, Real<T> const* inverse, T* rows) {
  constexpr int M = micro<T>, line = block_pitch<block<T>, T>, lanes = column_threads / ROWS;
  constexpr bool flat = tiles_pitch<T> % wide<T> == 0;
  int const lane = static_cast<int>(threadIdx.x) % 32, own = lane % lanes;
  T* const row = rows + static_cast<int>(threadIdx.x) / lanes * tiles_pitch<T>;
  auto const load = [row](T (&to)[M], int k) {
    if constexpr (flat) {
      load_wide<M>(to, row + k);
    } else {
#pragma unroll
      for (int c = 0; c < M; ++c) to[c] = row[k + c];
    }
  };
#pragma unroll 1
  for (int j = 0; j < block<T>; j += M) {
    T x[M];
    load(x, j);
#pragma unroll
    for (int c = 0; c < M; ++c) x[c] = own == 0 ? x[c] : from_real<T>(0);
#pragma unroll 1
    for (int k = own * M; k < j; k += lanes * M) {
      T v[M];
      load(v, k);
#pragma unroll
      for (int c = 0; c < M; ++c) {
        T t[M];
        load_wide<M>(t, matrix + (j + c) * line + k);
#pragma unroll
        for (int i = 0; i < M; ++i) x[c] = less_conj(x[c], v[i], t[i]);
      }
    }
    __syncwarp();
#pragma unroll
    for (int step = 1; step < lanes; step *= 2) {
#pragma unroll
      for (int c = 0; c < M; ++c) x[c] = total(x[c], shuffled(x[c], lane ^ step));
    }
#pragma unroll
    for (int c = 0; c < M; ++c) {
      T t[M];
      load_wide<M>(t, matrix + (j + c) * line + j);
#pragma unroll
      for (int i = 0; i < c; ++i) x[c] = less_conj(x[c], x[i], t[i]);
      x[c] = scaled(x[c], inverse[j + c]);
    }
    if (own == 0) {
      if constexpr (flat) {
        store_wide<M>(row + j, x);
      } else {
#pragma unroll
        for (int c = 0; c < M; ++c) row[j + c] = x[c];
      }
    }
    __syncwarp();
  }
}

// q -= x x^H for x and q, [block][tiles_pitch], in shared memory.
template <class T>
__device__ void multiply_rows(T* q, T const* x) {
  constexpr int N = block<T>, pitch = tiles_pitch<T>, warps = column_threads / 32 / (N / 16), across = N / warps / 8;
  int const tid = static_cast<int>(threadIdx.x), g = tid % 32 / 4, t = tid % 4;
  int const row0 = tid / 32 / warps * 16, col0 = tid / 32 % warps * (across * 8);
  typename Tensor<T>::Sum sum[across] = {};
#pragma unroll
  for (int k = 0; k < N; k += 8) {
    T const* const l = x + (row0 + g) * pitch + k + t;
    T const v[4] = {l[0], l[8 * pitch], l[4], l[8 * pitch + 4]};
    typename Tensor<T>::Left const left = Tensor<T>::left(v);
#pragma unroll
    for (int j = 0; j < across; ++j) {
      T const* const r = x + (col0 + j * 8 + g) * pitch + k + t;
      T const w[2] = {conjugate(r[0], true), conjugate(r[4], true)};
      Tensor<T>::multiply(sum[j], left, Tensor<T>::right(w));
    }
  }
#pragma unroll
  for (int j = 0; j < across; ++j) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      T* const at = q + (row0 + g + e / 2 * 8) * pitch + col0 + j * 8 + 2 * t + e % 2;
      *at = difference(*at, Tensor<T>::at(sum[j], e));
    }
  }
}

// Loads the factor of a diagonal block of nb columns, and the inverses of its diagonal, to shared memory. All threads call it, and
// synchronize before and after it.
template <class T>
__device__ void load_factor(T* matrix, Real<T>* inverse, T const* from, int64_t of_from, int nb) {
  constexpr int N = block<T>, line = block_pitch<N, T>, each = N * N / column_threads;
  int const tid = static_cast<int>(threadIdx.x);
  T v[each];
#pragma unroll
  for (int q = 0; q < each; ++q) {
    int const e = q * column_threads + tid, i = e / N, k = e % N;
    v[q] = i < nb && k <= i ? from[i * of_from + k] : from_real<T>(i == k ? 1 : 0);
  }
#pragma unroll
  for (int q = 0; q < each; ++q) {
    int const e = q * column_threads + tid;
    matrix[e / N * line + e % N] = v[q];
  }
  __syncthreads();
  if (tid < N) inverse[tid] = 1 / real_part(matrix[tid * (line + 1)]);
}

// Stores m rows of nb columns, of `block` in shared memory; of a triangle only what is on and below the diagonal. All threads call it.
template <class T>
__device__ void store_rows(T* to, int64_t of_to, T const* from, int of_from, int m, int nb, bool triangle) {
  constexpr int N = block<T>, each = 8;
  for (int e0 = static_cast<int>(threadIdx.x); e0 < m * N; e0 += each * column_threads) {
    T v[each];
#pragma unroll
    for (int q = 0; q < each; ++q) {
      int const e = e0 + q * column_threads, i = e / N, k = e % N;
      v[q] = i < m ? from[i * of_from + k] : from_real<T>(0);
    }
#pragma unroll
    for (int q = 0; q < each; ++q) {
      int const e = e0 + q * column_threads, i = e / N, k = e % N;
      if (i < m && k < nb && (!triangle || k <= i)) to[i * of_to + k] = v[q];
    }
  }
}

// Grid: as many CTAs as run at a time.
template <class T, Pieces PIECES>
__global__ void __launch_bounds__(column_threads, tiles_ctas<T>) factor_tiles(Tiles p) {
  using G = FactorTile<T>;
  constexpr int N = block<T>, M = G::M, pitch = tiles_pitch<T>, line = block_pitch<N, T>;
  static_assert(G::threads == column_threads && M == 2 * N && M / N + 2 <= control_bytes / 4 - 1);
  GPK_FACTOR_SHARED(shared);
  int* const control = reinterpret_cast<int*>(shared);
  char* const memory = shared + control_bytes;
  T* const x = reinterpret_cast<T*>(memory);  // the tile, [M][pitch]; of a corner, the diagonal block, then the one to its left
  T* const left = x + N * pitch;
  T* const matrix = x + M * pitch;  // the factor of the diagonal block above
  Real<T>* const inverse = reinterpret_cast<Real<T>*>(matrix + N * line);
  int const tid = static_cast<int>(threadIdx.x), columns = (p.cols + N - 1) / N;
  begin();
  int next = 0, before = 0;  // corners that were counted, and the tasks before the next one
  for (;;) {
    if (tid == 0) control[0] = take(p.state);
    __syncthreads();
    int const number = control[0] / p.batch, member = control[0] % p.batch;
    auto const end = [&](int j) { return (j + 1) * N < p.cols ? (j + 1) * N : p.cols; };
    // Rows of block column j that no corner has.
    auto const first = [&](int j) { return j + 1 < columns ? end(j + 1) : p.cols; };
    auto const tiles = [&](int j) { return j < 0 ? 0 : (p.rows - first(j) + M - 1) / M; };
    while (next <= columns && number >= before + 1 + tiles(next - 1)) before += 1 + tiles(next - 1), ++next;
    if (next > columns || (next == columns && tiles(columns - 1) == 0)) return;
    bool const corner = number == before && next < columns;
    int const task = number - before - (next < columns ? 1 : 0);
    if (!corner && task >= tiles(next - 1)) return;
    int const j = corner ? next : next - 1, col = j * N, nb = end(j) - col;
    T* const a = reinterpret_cast<T*>(p.a) + member * p.a_member;
    int* const done = p.state + 1 + member * p.blocks;
    // The rows of the left operand, and the block columns of it that are read.
    int const row0 = !corner ? first(j) + task * M : j == 0 ? 0 : col - N, depth = corner ? j - 1 : j;
    int const m = corner ? (j == 0 ? 0 : N + nb) : p.rows - row0 < M ? p.rows - row0 : M;
    // Of a corner, the rows above are those of the adjoint of the block to the left.
    auto const above = [&](int row) { return corner && row < N; };
    auto const element = [&](int row, int k) {
      return a + (above(row) ? (col + k) * p.pitch + row0 + row : (row0 + row) * p.pitch + col + k);
    };
    auto const inside = [&](int row, int k) { return row < m && k < nb && (!corner || row < N || k <= row - N); };
    auto const load = [&](int row, int k) { return inside(row, k) ? conjugate(*element(row, k), above(row)) : from_real<T>(0); };
    for (int e = tid; e < M; e += column_threads) {
      if (e < m) prefetch(element(e, 0)), prefetch(element(e, nb - 1));
    }
    Sums<G> sum = {};
    Update u{};
    u.a_row = u.b_row = p.pitch, u.a_col = u.b_col = 1, u.m = m, u.n = nb, u.conj_b = true;
    for (int k = 0; k < depth;) {
      int const most = (k / tiles_columns + 1) * tiles_columns;
      int to = await_columns(done, control + 1, row0 / N, (row0 + m - 1) / N, j, k, depth);
      if (to > most) to = most;
      u.k = (to - k) * N;
      accumulate<G, PIECES>(sum, memory, u, a + row0 * p.pitch + k * N, a + col * p.pitch + k * N, 0, 0);
      k = to;
      if (k < most || k == depth) continue;
      subtract_sum<G>(sum, load, [&](int row, int k, T v) {
        if (inside(row, k)) *element(row, k) = conjugate(v, above(row));
      });
#pragma unroll
      for (int i = 0; i < G::WM / 16; ++i) {
#pragma unroll
        for (int c = 0; c < G::WN / 8; ++c) sum[i][c] = {};
      }
    }
    __syncthreads();
    if (!corner) {
      subtract_sum<G>(sum, load, [&](int row, int k, T v) { x[row * pitch + k] = v; });
      await_columns(done, control + 1, j, j, j, j, j + 1);
      load_factor<T>(matrix, inverse, a + col * (p.pitch + 1), p.pitch, nb);
      __syncthreads();
      divide_rows<T, M>(matrix, inverse, x);
      __syncthreads();
      store_rows<T>(a + row0 * p.pitch + col, p.pitch, x, pitch, m, nb, false);
      __syncthreads();
      if (tid <= (row0 + m - 1) / N - row0 / N) store_release(done + row0 / N + tid, j + 1);
      continue;
    }
    T* const diagonal = a + col * (p.pitch + 1);
    if (j > 0) {
      subtract_sum<G>(sum, load, [&](int row, int k, T v) {
        *(row < N ? left + k * pitch + row : x + (row - N) * pitch + k) = conjugate(v, row < N);
      });
      await_columns(done, control + 1, j - 1, j - 1, j - 1, j - 1, j);
      load_factor<T>(matrix, inverse, diagonal - N * (p.pitch + 1), p.pitch, N);
      __syncthreads();
      divide_rows<T, N>(matrix, inverse, left);
      __syncthreads();
      store_rows<T>(diagonal - N, p.pitch, left, pitch, nb, N, false);
      multiply_rows<T>(x, left);
      __syncthreads();
      if (tid == column_threads - 1) store_release(done + j, j);
    } else {
      for (int e = tid; e < nb * N; e += column_threads) {
        int const i = e / N, k = e % N;
        x[i * pitch + k] = k <= i && k < nb ? diagonal[i * p.pitch + k] : from_real<T>(0);
      }
      __syncthreads();
    }
    Shared<T, N> const s(reinterpret_cast<char*>(left));
    int const bad = factor_block<T, N>(s, [x, nb](int i, int k) {
      T v = from_real<T>(i == k ? 1 : 0);  // columns beyond the block are those of the identity
      if (i < nb) v = x[i * pitch + k];
      return i == k ? from_real<T>(real_part(v)) : v;
    });
    if (tid == nb - 1 && bad != 0) record(p.flags, p.member0 + member, p.first + col + bad);
    store_rows<T>(diagonal, p.pitch, s.matrix, line, nb, nb, true);
    __syncthreads();
    if (tid == 0) store_release(done + j, j + 1);
  }
}

}  // namespace
}  // namespace factor
}  // namespace gpk
