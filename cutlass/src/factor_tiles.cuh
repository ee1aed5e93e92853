// factor_tiles.cuh: Cholesky's factorization of a matrix, or of its first columns, in one launch.
//
// A task computes one tile of L. It first subtracts the product of the block columns to the left from the tile.
//
// The first task of a block column computes the diagonal block and the block to its left. It solves the left block with
// the factor of the previous diagonal block, subtracts X X^H of the solved block X from the diagonal block, and factors
// the result. So between two diagonal blocks only one factor is transferred to another CTA. Each other task has
// FactorTile::M rows below the next diagonal block, and solves them with the factor of this diagonal block.
//
// CTAs draw tasks from an atomic counter, column by column. A task waits only for tasks with smaller numbers. These are
// complete or run on other CTAs, so there is no deadlock. Tasks of later columns run while others wait for a diagonal block.
//
// done[i] is the number of complete block columns of row block i. A sum adds block columns in order, so that the bits of a
// result do not depend on timing.
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
__device__ inline int next_task(int* p) { return atomicAdd(p, 1); }
__device__ inline void prefetch(void const* p) { asm volatile("prefetch.global.L2 [%0];" ::"l"(p)); }
#endif

template <class T>
using FactorTile = Tile<T, 2 * block<T>, block<T>, tile_depth<T>, block<T> / 2, block<T> / 2, 3>;
// The block to the left of a diagonal block, and the diagonal block.
template <class T>
using DiagonalTile = Tile<T, block<T>, 2 * block<T>, tile_depth<T>, block<T> / 2, block<T> / 2, 3>;

// The largest number of CTAs per multiprocessor, which the registers of the diagonal block limit.
template <class T>
constexpr int tiles_ctas = sizeof(T) == 4 ? 2 : 1;

// The block columns per accumulator. Tensor cores truncate when they add to an accumulator, a bias that grows with its
// length.
constexpr int tiles_columns = 8;

constexpr int control_bytes = 32;  // the task number, and the numbers that await_columns reads

// The bytes of shared memory: for the product, or for the tile and a diagonal block's factor with the inverses of its
// diagonal.
template <class T>
constexpr int tiles_bytes = [] {
  constexpr int N = block<T>;
  static_assert(FactorTile<T>::bytes == DiagonalTile<T>::bytes);
  int const tile = 2 * N * block_pitch<N, T> * static_cast<int>(sizeof(T)) + block_bytes<T, N>;
  return control_bytes + (tile > FactorTile<T>::bytes ? tile : FactorTile<T>::bytes);
}();

struct Tiles {
  uint64_t a;
  int64_t pitch, a_member;
  long long* flags;
  int* state;  // the number of the next task, and done of each member
  int rows, cols, batch;
  int blocks;   // row blocks of a member
  int first;    // the index in the matrix of the first column here, for the flags
  int member0;  // index of the first matrix, for the flags
};

// The first row of the other tasks of the block column that begins at col: the row below the next diagonal block. If the
// next diagonal block is partial and its row block has more rows, they start at that block, and its task has no left block.
template <class T>
GPK_FACTOR_HOST_DEVICE int first_off_diagonal(int col, int cols, int rows) {
  int const next = col + block<T>, after = next + block<T>;
  if (next >= cols) return cols;
  if (after <= cols) return after;
  return rows > cols ? next : cols;
}

struct Rows {
  int first, count;
};

// A task of the block column that begins at column col and has nb columns.
template <class T>
struct Task {
  Tiles const& p;
  T* a;       // the matrix
  int* done;  // of the matrix
  int* columns_read;  // the numbers that await_columns has read, in shared memory
  char* memory;
  int member, col, nb;

  // Waits until the row blocks of x and y have more than `known` complete block columns. Returns the smallest number.
  __device__ int await_columns(Rows x, Rows y, int known) const {
    constexpr int N = block<T>;
    int const tid = static_cast<int>(threadIdx.x), x0 = x.first / N, y0 = y.first / N;
    int const xs = (x.first + x.count - 1) / N - x0 + 1, count = xs + (y.first + y.count - 1) / N - y0 + 1;
    if (tid < count) {
      int const* const at = done + (tid < xs ? x0 + tid : y0 + tid - xs);
      int v = load_acquire(at);
      while (v <= known) v = load_acquire(at);
      columns_read[tid] = v;
    }
    __syncthreads();
    int least = columns_read[0];
    for (int i = 1; i < count; ++i) least = columns_read[i] < least ? columns_read[i] : least;
    return least;
  }

  // Computes the product of the rows x and y in the block columns before `end`. After every tiles_columns block columns
  // store_partial subtracts sum from the tile, and sum is cleared. The remaining part of the product is in sum.
  template <class G, Vectors VECTORS, class StorePartial>
  __device__ void sum_columns(Sums<G>& sum, Rows x, Rows y, int end, StorePartial store_partial) const {
    constexpr int N = block<T>;
    Update u{};
    u.a_row = u.b_row = p.pitch, u.a_col = u.b_col = 1, u.m = x.count, u.n = y.count, u.conj_b = true;
    for (int k = 0; k < end;) {
      int const sum_end = (k / tiles_columns + 1) * tiles_columns;
      int to = await_columns(x, y, k);
      to = to > end ? end : to;
      to = to > sum_end ? sum_end : to;
      u.k = (to - k) * N;
      accumulate<G, VECTORS>(sum, memory, u, a + x.first * p.pitch + k * N, a + y.first * p.pitch + k * N, 0, 0);
      k = to;
      if (k < sum_end || k == end) continue;
      store_partial();
#pragma unroll
      for (int i = 0; i < G::WM / 16; ++i) {
#pragma unroll
        for (int c = 0; c < G::WN / 8; ++c) sum[i][c] = {};
      }
    }
    __syncthreads();
  }

  // Waits for the factor of the diagonal block at row `at`, and loads it to shared memory, [block][block_pitch], with the
  // inverses of its diagonal. It is extended from `columns` columns to `block` by the identity.
  __device__ void load_factor(int at, int columns, T* matrix, Real<T>* inverse) const {
    constexpr int N = block<T>, line = block_pitch<N, T>, loads = N * N / column_threads;
    int const tid = static_cast<int>(threadIdx.x);
    await_columns({at, 1}, {at, 1}, at / N);
    T const* const diagonal = a + at * (p.pitch + 1);
    T v[loads];  // all at once, so that their latencies overlap
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      int const e = u * column_threads + tid, i = e / N, k = e % N;
      v[u] = from_real<T>(i == k ? 1 : 0);
      if (i < columns && k <= i) v[u] = diagonal[i * p.pitch + k];
    }
#pragma unroll
    for (int u = 0; u < loads; ++u) {
      int const e = u * column_threads + tid, i = e / N, k = e % N;
      matrix[i * line + k] = v[u];
    }
    __syncthreads();
    if (tid < N) inverse[tid] = 1 / real_part(matrix[tid * (line + 1)]);
    __syncthreads();
  }

  // Prefetches rows of the block column, and of the `before` columns to its left, into L2.
  __device__ void prefetch_rows(Rows x, int before) const {
    constexpr int line = 128 / static_cast<int>(sizeof(T));
    int const lines = (before + block<T>) / line;
    for (int e = static_cast<int>(threadIdx.x); e < x.count * lines; e += column_threads) {
      prefetch(a + (x.first + e / lines) * p.pitch + col - before + e % lines * line);
    }
  }

  template <Vectors VECTORS>
  __device__ void diagonal() const;
  template <Vectors VECTORS>
  __device__ void off_diagonal(Rows x) const;
};

// Replaces the rows x in shared memory, [ROWS][PITCH], by x T^-H for the lower triangular T in shared memory,
// [block][block_pitch], with the inverses of its diagonal. A warp has 16 rows. A step solves 8 columns, of which a thread has
// two columns of two rows. Then the warp adds the products of these columns to the sums of later columns.
template <class T, int ROWS, int PITCH>
__device__ void solve_tile(T const* matrix, Real<T> const* inverse, T* rows) {
  constexpr int N = block<T>, line = block_pitch<N, T>;
  static_assert(ROWS % 16 == 0 && ROWS / 16 <= column_threads / 32);
  int const lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4, row0 = static_cast<int>(threadIdx.x) / 32 * 16;
  if (row0 >= ROWS) return;
  T* const x = rows + (row0 + g) * PITCH;
  typename Tensor<T>::Sum sum[N / 8] = {};  // of columns j, j + 8, ...
#pragma unroll 1
  for (int j = 0; j < N; j += 8) {
    T m[2][8], v[4];  // rows of the diagonal block of T, and the thread's elements: (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1)
#pragma unroll
    for (int e = 0; e < 2; ++e) load_vectors<8>(m[e], matrix + (j + 2 * t + e) * line + j);
#pragma unroll
    for (int e = 0; e < 4; ++e) v[e] = difference(x[e / 2 * 8 * PITCH + j + 2 * t + e % 2], Tensor<T>::at(sum[0], e));
#pragma unroll
    for (int c = 0; c < 8; c += 2) {
      if (t == c / 2) {
#pragma unroll
        for (int e = 0; e < 4; e += 2) {
          v[e] = scaled(v[e], inverse[j + c]);
          v[e + 1] = scaled(fnma_conj(v[e + 1], v[e], m[1][c]), inverse[j + c + 1]);
        }
      }
      T solved[4];
#pragma unroll
      for (int e = 0; e < 4; ++e) solved[e] = shuffle(v[e], lane - t + c / 2);
      if (t > c / 2) {
#pragma unroll
        for (int e = 0; e < 4; ++e) {
          v[e] = fnma_conj(v[e], solved[e / 2 * 2], m[e % 2][c]);
          v[e] = fnma_conj(v[e], solved[e / 2 * 2 + 1], m[e % 2][c + 1]);
        }
      }
    }
#pragma unroll
    for (int e = 0; e < 4; ++e) x[e / 2 * 8 * PITCH + j + 2 * t + e % 2] = v[e];
    __syncwarp();
    T const a[4] = {x[j + t], x[8 * PITCH + j + t], x[j + t + 4], x[8 * PITCH + j + t + 4]};
    typename Tensor<T>::Left const left = Tensor<T>::left(a);
#pragma unroll
    for (int i = 1; i < N / 8; ++i) {
      if (j + 8 * i < N) {
        T const* const r = matrix + (j + 8 * i + g) * line + j + t;
        T const b[2] = {conjugate(r[0], true), conjugate(r[4], true)};
        Tensor<T>::multiply(sum[i], left, Tensor<T>::right(b));
      }
      sum[i - 1] = sum[i];
    }
  }
}

// Subtracts x x^H from d on and below the diagonal. x and d are in shared memory, [block][PITCH].
template <class T, int PITCH>
__device__ void subtract_square(T const* x, T* d) {
  constexpr int N = block<T>, down = N / 16, width = N * down * 32 / column_threads, tiles = width / 8;
  int const lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32, g = lane / 4, t = lane % 4;
  int const row0 = warp % down * 16, col0 = warp / down * width;
  if (col0 > row0 + 15) return;
  typename Tensor<T>::Sum sum[tiles] = {};
#pragma unroll 2
  for (int k = 0; k < N; k += 8) {
    T const* const l = x + (row0 + g) * PITCH + k + t;
    T const a[4] = {l[0], l[8 * PITCH], l[4], l[8 * PITCH + 4]};
    typename Tensor<T>::Left const left = Tensor<T>::left(a);
#pragma unroll
    for (int i = 0; i < tiles; ++i) {
      T const* const r = x + (col0 + i * 8 + g) * PITCH + k + t;
      T const b[2] = {conjugate(r[0], true), conjugate(r[4], true)};
      Tensor<T>::multiply(sum[i], left, Tensor<T>::right(b));
    }
  }
#pragma unroll
  for (int i = 0; i < tiles; ++i) {
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      T* const at = d + (row0 + g + e / 2 * 8) * PITCH + col0 + i * 8 + 2 * t + e % 2;
      *at = difference(*at, Tensor<T>::at(sum[i], e));
    }
  }
}

// The tile consists of the block to the left, if this task computes one, and the diagonal block.
template <class T>
template <Vectors VECTORS>
__device__ void Task<T>::diagonal() const {
  using G = DiagonalTile<T>;
  constexpr int N = block<T>, pitch = block_pitch<2 * N, T>, line = block_pitch<N, T>;
  static_assert(N * N % column_threads == 0);
  int const tid = static_cast<int>(threadIdx.x), j = col / N;
  int const before = j > 0 && first_off_diagonal<T>(col - N, p.cols, p.rows) > col ? N : 0;
  T* const x = reinterpret_cast<T*>(memory);  // the tile, [N][pitch]
  T* const matrix = x + N * pitch;
  T* const own = a + col * p.pitch + col - before;
  Rows const rows{col, nb};
  prefetch_rows(rows, before);
  auto const load = [&](int row, int k) { return row < nb && k <= row + before ? own[row * p.pitch + k] : from_real<T>(0); };
  Sums<G> sum = {};
  sum_columns<G, VECTORS>(sum, rows, {col - before, before + nb}, (col - before) / N, [&] {
    subtract_sum<G>(sum, load, [&](int row, int k, T v) {
      if (row < nb && k <= row + before) own[row * p.pitch + k] = v;
    });
  });
  subtract_sum<G>(sum, load, [&](int row, int k, T v) { x[row * pitch + k] = v; });
  if (before > 0) {
    Real<T>* const inverse = reinterpret_cast<Real<T>*>(matrix + N * line);
    load_factor(col - N, N, matrix, inverse);
    solve_tile<T, N, pitch>(matrix, inverse, x);
    __syncthreads();
    subtract_square<T, pitch>(x, x + N);
    for (int e = tid; e < nb * N; e += column_threads) own[e / N * p.pitch + e % N] = x[e / N * pitch + e % N];
  }
  __syncthreads();
  if (before > 0 && tid == column_threads - 1) store_release(done + j, j);
  BlockShared<T, N> const s(reinterpret_cast<char*>(matrix));
  int const bad = factor_block<T, N>(s, [d = x + before, n = nb](int i, int k) {
    T v = from_real<T>(i == k ? 1 : 0);  // the block is extended to order N by the identity
    if (i < n) v = d[i * pitch + k];
    return i == k ? from_real<T>(real_part(v)) : v;
  });
  if (tid == nb - 1 && bad != 0) record_failure(p.flags, p.member0 + member, p.first + col + bad);
  for (int e = tid; e < N * N; e += column_threads) {
    int const i = e / N, k = e % N;
    if (i < nb && k <= i) own[i * p.pitch + before + k] = s.matrix[i * line + k];
  }
  __syncthreads();
  if (tid == 0) store_release(done + j, j + 1);
}

template <class T>
template <Vectors VECTORS>
__device__ void Task<T>::off_diagonal(Rows rows) const {
  using G = FactorTile<T>;
  constexpr int N = block<T>, pitch = block_pitch<N, T>;
  int const tid = static_cast<int>(threadIdx.x), j = col / N;
  T* const x = reinterpret_cast<T*>(memory);  // the tile, [G::M][pitch]
  T* const own = a + rows.first * p.pitch + col;
  prefetch_rows(rows, 0);
  auto const load = [&](int row, int k) { return row < rows.count && k < nb ? own[row * p.pitch + k] : from_real<T>(0); };
  Sums<G> sum = {};
  sum_columns<G, VECTORS>(sum, rows, {col, nb}, j, [&] {
    subtract_sum<G>(sum, load, [&](int row, int k, T v) {
      if (row < rows.count && k < nb) own[row * p.pitch + k] = v;
    });
  });
  subtract_sum<G>(sum, load, [&](int row, int k, T v) { x[row * pitch + k] = v; });
  T* const matrix = x + G::M * pitch;
  Real<T>* const inverse = reinterpret_cast<Real<T>*>(matrix + N * pitch);
  load_factor(col, nb, matrix, inverse);
  solve_tile<T, G::M, pitch>(matrix, inverse, x);
  __syncthreads();
  for (int e = tid; e < rows.count * N; e += column_threads) {
    int const i = e / N, k = e % N;
    if (k < nb) own[i * p.pitch + k] = x[i * pitch + k];
  }
  __syncthreads();
  int const first = rows.first / N, last = (rows.first + rows.count - 1) / N;
  if (tid <= last - first) store_release(done + first + tid, j + 1);
}

// Grid: as many CTAs as run concurrently, CTAS per multiprocessor.
template <class T, Vectors VECTORS, int CTAS>
__global__ void __launch_bounds__(column_threads, CTAS) factor_tiles(Tiles p) {
  constexpr int N = block<T>, M = FactorTile<T>::M;
  static_assert(FactorTile<T>::threads == column_threads && DiagonalTile<T>::threads == column_threads && M / N + 2 <= control_bytes / 4 - 1);
  GPK_FACTOR_SHARED(shared);
  int* const control = reinterpret_cast<int*>(shared);
  begin();
  int j = 0, before = 0;  // a block column, and the number of tasks of earlier ones
  for (;;) {
    if (threadIdx.x == 0) control[0] = next_task(p.state);
    __syncthreads();
    int const number = control[0] / p.batch, member = control[0] % p.batch;
    while (j * N < p.cols) {
      int const tasks = 1 + (p.rows - first_off_diagonal<T>(j * N, p.cols, p.rows) + M - 1) / M;
      if (number < before + tasks) break;
      before += tasks, ++j;
    }
    if (j * N >= p.cols) return;
    int const col = j * N, nb = p.cols - col < N ? p.cols - col : N;
    Task<T> const t{p, reinterpret_cast<T*>(p.a) + member * p.a_member, p.state + 1 + member * p.blocks, control + 1, shared + control_bytes, member, col, nb};
    if (number == before) {
      t.template diagonal<VECTORS>();
    } else {
      int const first = first_off_diagonal<T>(col, p.cols, p.rows) + (number - before - 1) * M;
      t.template off_diagonal<VECTORS>({first, p.rows - first < M ? p.rows - first : M});
    }
  }
}

}  // namespace
}  // namespace factor
}  // namespace gpk
