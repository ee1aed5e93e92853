// factor_lu.cuh: LU with partial pivoting of a panel of few columns, and what the other columns get from it.
//
// A panel is one launch of a cluster of CTAs: a thread holds whole rows of it in registers. For each column the CTAs
// exchange their largest elements, with the rows that these are in, through distributed shared memory; one barrier of
// the cluster a column is all that they wait for. Rows do not move: each knows its place, and takes the place of the
// pivot that replaces it.
#pragma once
#include "factor_number.cuh"

namespace gpk {
namespace factor {
namespace {

// Columns of a panel, and threads and CTAs of the cluster.
template <class T>
constexpr int panel_columns = sizeof(T) == 4 ? 32 : sizeof(T) == 8 ? 16 : 8;
#ifndef GPK_EMULATED
constexpr int panel_threads = 512;
#else
constexpr int panel_threads = 64;
#endif
constexpr int panel_ctas = 8;
constexpr int panel_most = 2;  // rows of a thread

#ifndef GPK_EMULATED
__device__ inline unsigned cluster_rank() {
  unsigned r = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
#endif
  return r;
}

// The address of another CTA's copy of a variable in shared memory.
template <class P>
__device__ inline P* of_cta(P* p, int rank) {
#if __CUDA_ARCH__ >= 900
  uint64_t to;
  asm("mapa.u64 %0, %1, %2;" : "=l"(to) : "l"(p), "r"(rank));
  return reinterpret_cast<P*>(to);
#else
  return p;
#endif
}

__device__ inline void cluster_barrier() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}
#endif

struct Panel {
  uint64_t a;      // the panel's first element
  uint64_t moves;  // int32: see Moves
  int64_t pitch, a_member;
  int rows, cols;
};

// An element that may be the pivot: its size |re| + |im|, and the place of its row.
template <class R>
struct Candidate {
  R size;
  int place;
};

// The larger; of equal ones the first.
template <class R>
__device__ inline Candidate<R> better(Candidate<R> a, Candidate<R> b) {
  return b.size > a.size || (b.size == a.size && b.place < a.place) ? b : a;
}

template <class R>
__device__ inline Candidate<R> best_of_warp(Candidate<R> c, int lanes) {
  int const lane = static_cast<int>(threadIdx.x) % 32;
  for (int step = lanes / 2; step > 0; step /= 2) c = better(c, Candidate<R>{shuffled(c.size, lane ^ step), __shfl_sync(0xffffffffu, c.place, lane ^ step)});
  return c;
}

template <class R>
__device__ inline R size_of(R x) { return x < 0 ? -x : x; }
template <class R>
__device__ inline R size_of(Complex<R> x) { return size_of(x.re) + size_of(x.im); }

template <class T>
struct PanelShared {
  static constexpr int N = panel_columns<T>, warps = panel_threads / 32;
  T rows[2][panel_ctas][N];  // what the CTAs propose, for even and odd columns
  T own[N];
  Candidate<Real<T>> candidates[2][panel_ctas];
  Candidate<Real<T>> of_warp[warps];
};

// Factors a panel: L below the diagonal and U on and above it, with the rows at their places. moves[j], j < N, is the
// row that came to place j, and moves[N + j] the place that row j has taken. Grid: a cluster by the batch. ROWS: rows
// of a thread.
template <class T, int ROWS>
__global__ void __launch_bounds__(panel_threads) factor_panel(Panel p) {
  constexpr int N = panel_columns<T>;
  using R = Real<T>;
  GPK_FACTOR_SHARED(shared);
  PanelShared<T>& s = *reinterpret_cast<PanelShared<T>*>(shared);
  int const tid = static_cast<int>(threadIdx.x), lane = tid % 32, warp = tid / 32;
  int const rank = static_cast<int>(cluster_rank());
  T* const a = reinterpret_cast<T*>(p.a) + blockIdx.y * p.a_member;
  begin();
  T x[ROWS][N];
  int place[ROWS];
  bool done[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    int const row = (r * panel_ctas + rank) * panel_threads + tid;
    place[r] = row;
    done[r] = row >= p.rows;
#pragma unroll
    for (int c = 0; c < N; ++c) x[r][c] = !done[r] && c < p.cols ? a[row * p.pitch + c] : from_real<T>(0);
  }
#pragma unroll
  for (int j = 0; j < N; ++j) {
    if (j >= p.cols) break;
    Candidate<R> mine{-1, INT32_MAX};
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      R const size = size_of(x[r][j]);
      if (!done[r]) mine = better(mine, Candidate<R>{size == size ? size : 0, place[r]});
    }
    Candidate<R> best = best_of_warp(mine, 32);
    if (lane == 0) s.of_warp[warp] = best;
    __syncthreads();
    best = best_of_warp(s.of_warp[lane % PanelShared<T>::warps], PanelShared<T>::warps);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      if (done[r] || place[r] != best.place) continue;
#pragma unroll
      for (int c = 0; c < N; ++c) s.own[c] = x[r][c];
    }
    __syncthreads();
    for (int to = warp; to < panel_ctas; to += PanelShared<T>::warps) {
      if (lane < N) *of_cta(&s.rows[j % 2][rank][lane], to) = s.own[lane];
      if (lane == 31) *of_cta(&s.candidates[j % 2][rank], to) = best;
    }
    cluster_barrier();
    best = s.candidates[j % 2][0];
    int from = 0;
#pragma unroll
    for (int i = 1; i < panel_ctas; ++i) {
      Candidate<R> const other = s.candidates[j % 2][i];
      if (better(best, other).place != best.place) best = other, from = i;
    }
    T const* const pivot = s.rows[j % 2][from];
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      if (done[r]) continue;
      if (place[r] == best.place) {
        place[r] = j;
        done[r] = true;
        continue;
      }
      if (place[r] == j) place[r] = best.place;
      if (best.size == 0) continue;
      x[r][j] = quotient(x[r][j], pivot[j]);
#pragma unroll
      for (int c = j + 1; c < N; ++c) x[r][c] = less(x[r][c], x[r][j], pivot[c]);
    }
  }
  int32_t* const moves = reinterpret_cast<int32_t*>(p.moves) + blockIdx.y * 2 * N;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    int const row = (r * panel_ctas + rank) * panel_threads + tid;
    if (row >= p.rows) continue;
    if (place[r] < p.cols) moves[place[r]] = row;
    if (row < p.cols) moves[N + row] = place[r];
#pragma unroll
    for (int c = 0; c < N; ++c) {
      if (c < p.cols) a[place[r] * p.pitch + c] = x[r][c];
    }
  }
}

struct Moves {
  uint64_t a;      // the matrix' element (k, 0), where the panel begins in row and column k
  uint64_t moves;  // of factor_panel
  uint64_t order;  // int64: of the matrix' rows from k on
  int64_t pitch, a_member, order_member;
  int k, cols;    // the panel's place and columns
  int solve_end;  // columns behind the panel before this one are solved with its L
  int n;          // columns of the matrix
};

constexpr int move_threads = 128;

// Exchanges the rows of all columns outside the panel. In the columns to its right it also computes the block row
// U = L^-1 A. Each thread handles one column. Grid: x counts pieces of columns, and one CTA more for the order of the
// rows; y counts the batch.
template <class T>
__global__ void __launch_bounds__(move_threads) move_rows(Moves p) {
  constexpr int N = panel_columns<T>;
  GPK_FACTOR_SHARED(shared);
  T* const l = reinterpret_cast<T*>(shared);  // [N][N]
  int32_t* const moves = reinterpret_cast<int32_t*>(l + N * N);
  int const tid = static_cast<int>(threadIdx.x);
  T* const a = reinterpret_cast<T*>(p.a) + blockIdx.y * p.a_member;
  begin();
  for (int e = tid; e < 2 * N; e += move_threads) moves[e] = e % N < p.cols ? (reinterpret_cast<int32_t const*>(p.moves) + blockIdx.y * 2 * N)[e] : e % N;
  for (int e = tid; e < N * N; e += move_threads) l[e] = e / N < p.cols && e % N < p.cols ? a[e / N * p.pitch + p.k + e % N] : from_real<T>(0);
  __syncthreads();
  if (blockIdx.x == gridDim.x - 1) {
    int64_t* const order = reinterpret_cast<int64_t*>(p.order) + blockIdx.y * p.order_member;
    int64_t v = 0;
    bool const top = tid < p.cols, displaced = tid >= N && tid < N + p.cols && moves[tid] >= p.cols;
    if (top) v = order[moves[tid]];
    if (displaced) v = order[tid - N];
    __syncthreads();
    if (top) order[tid] = v;
    if (displaced) order[moves[tid]] = v;
    return;
  }
  int const c = static_cast<int>(blockIdx.x) * move_threads + tid;
  if (c >= p.n || (c >= p.k && c < p.k + p.cols)) return;
  T top[N], old[N];
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (i >= p.cols) continue;
    old[i] = a[i * p.pitch + c];
    top[i] = moves[i] == i ? old[i] : a[moves[i] * p.pitch + c];
  }
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (i < p.cols && moves[N + i] >= p.cols) a[moves[N + i] * p.pitch + c] = old[i];
  }
  if (c >= p.k + p.cols && c < p.solve_end) {
#pragma unroll
    for (int j = 0; j < N; ++j) {
#pragma unroll
      for (int i = j + 1; i < N; ++i) {
        if (i < p.cols) top[i] = less(top[i], l[i * N + j], top[j]);
      }
    }
  }
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (i < p.cols) a[i * p.pitch + c] = top[i];
  }
}

struct Order {
  uint64_t order;
  int64_t member;
  int rows;
};

// order = 0, 1, .... Grid: pieces of 256 by the batch.
__global__ void __launch_bounds__(256) begin_order(Order p) {
  int const i = static_cast<int>(blockIdx.x) * 256 + static_cast<int>(threadIdx.x);
  begin();
  if (i < p.rows) (reinterpret_cast<int64_t*>(p.order) + blockIdx.y * p.member)[i] = i;
}

}  // namespace
}  // namespace factor
}  // namespace gpk
