// factor_panel.cuh: LU with partial pivoting of a panel of few columns.
//
// A panel is one launch of a cluster of CTAs: a thread holds whole rows of it in registers. For each column a CTA finds
// its largest element, and sends that element's row to all CTAs of the cluster. A barrier in shared memory counts the
// bytes that arrive, so that a column costs the latency of one message and one barrier of the CTA. Rows do not move:
// each knows its place, and takes the place of the pivot that replaces it.
//
// The loop over the columns is not unrolled: a launch runs it once, and would wait for its instructions. So that the
// column in work is always the first in registers, a step writes what it computes one register lower. The elements of L
// go to shared memory, and the rows of U are those of the messages.
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
#ifndef GPK_PANEL_CTAS
#define GPK_PANEL_CTAS 8
#endif
constexpr int panel_ctas = GPK_PANEL_CTAS;
constexpr int panel_most = 2;  // rows of a thread

// The columns that are factored before those behind them are updated at once.
template <class T>
constexpr int group = 4 * block<T>;

#ifndef GPK_EMULATED
__device__ inline unsigned cluster_rank() {
  unsigned r = 0;
#if __CUDA_ARCH__ >= 900
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(r));
#endif
  return r;
}

// Also makes the CTAs' writes to global memory visible to each other.
__device__ inline void cluster_barrier() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Prepares a barrier for one use: it completes when `bytes` bytes have been sent to it. The CTAs of the cluster have to
// synchronize before they send.
__device__ inline void expect_bytes(uint64_t* barrier, int bytes) {
#if __CUDA_ARCH__ >= 900
  uint32_t const at = static_cast<uint32_t>(__cvta_generic_to_shared(barrier));
  asm volatile(
      "mbarrier.init.shared.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;\n\t"
      "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at),
      "r"(bytes)
      : "memory");
#endif
}

// Waits for all that the barrier expects.
__device__ inline void await_bytes(uint64_t* barrier) {
#if __CUDA_ARCH__ >= 900
  uint32_t const at = static_cast<uint32_t>(__cvta_generic_to_shared(barrier));
  uint32_t done = 0;
  while (!done) {
    asm volatile(
        "{\n\t.reg .pred p;\n"
        "\tmbarrier.try_wait.parity.acquire.cluster.shared::cta.b64 p, [%1], 0;\n\tselp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(at)
        : "memory");
  }
#endif
}

// Copies 16 bytes of shared memory to an address in another CTA's, and counts them at the barrier there.
template <class W>
__device__ inline void send(W* to, W const& from, uint64_t* barrier, int rank) {
  static_assert(sizeof(W) == 16);
#if __CUDA_ARCH__ >= 900
  uint4 const v = *reinterpret_cast<uint4 const*>(&from);
  asm volatile(
      "{\n\t.reg .b32 data, counter;\n"
      "\tmapa.shared::cluster.u32 data, %0, %2;\n\tmapa.shared::cluster.u32 counter, %1, %2;\n"
      "\tst.async.weak.shared::cluster.mbarrier::complete_tx::bytes.v4.b32 [data], {%3, %4, %5, %6}, [counter];\n\t}" ::"r"(
          static_cast<uint32_t>(__cvta_generic_to_shared(to))),
      "r"(static_cast<uint32_t>(__cvta_generic_to_shared(barrier))), "r"(rank), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w)
      : "memory");
#endif
}

__device__ inline uint32_t warp_max(uint32_t x) { return __reduce_max_sync(0xffffffffu, x); }
__device__ inline uint32_t warp_min(uint32_t x) { return __reduce_min_sync(0xffffffffu, x); }
__device__ inline uint32_t warp_ballot(bool x) { return __ballot_sync(0xffffffffu, x); }
__device__ inline int first_bit(uint32_t x) { return __ffs(static_cast<int>(x)) - 1; }
__device__ inline uint32_t bits_of(float x) { return __float_as_uint(x); }
__device__ inline uint64_t bits_of(double x) { return static_cast<uint64_t>(__double_as_longlong(x)); }
#endif

// The larger of numbers that are not negative, whose order is that of their bits.
__device__ inline uint32_t warp_largest(uint32_t bits) { return warp_max(bits); }
__device__ inline uint64_t warp_largest(uint64_t bits) {
  uint32_t const high = static_cast<uint32_t>(bits >> 32), top = warp_max(high);
  return static_cast<uint64_t>(top) << 32 | warp_max(high == top ? static_cast<uint32_t>(bits) : 0);
}

constexpr uint32_t no_place = 0x7fffffff;

// An element that may be the pivot: the bits of its size |re| + |im|, the place of its row now, and its place at first.
template <class R>
struct alignas(16) Candidate {
  decltype(bits_of(R())) size;
  uint32_t place, row;
};

// The largest of a warp; of equal ones the first. row is not set.
template <class R>
__device__ inline Candidate<R> best_of_warp(Candidate<R> c) {
  auto const size = warp_largest(c.size);
  return {size, warp_min(c.size == size ? c.place : no_place), 0};
}

__device__ inline float size_of(float x) { return fabsf(x); }
__device__ inline double size_of(double x) { return fabs(x); }
template <class R>
__device__ inline R size_of(Complex<R> x) { return size_of(x.re) + size_of(x.im); }

// What a CTA sends for a column: its candidate, and that row from the column on.
template <class T>
struct Message {
  static constexpr int wides = panel_columns<T> / wide<T>, pieces = wides + 1;
  Wide<T> row[wides];
  Candidate<Real<T>> candidate;
  __device__ T at(int i) const { return row[i / wide<T>].v[i % wide<T>]; }
};

template <class T>
struct PanelShared {
  static constexpr int N = panel_columns<T>, warps = panel_threads / 32;
  Message<T> messages[N][panel_ctas];
  Message<T> own;
  Candidate<Real<T>> of_warp[2][warps];  // for even and odd columns
  alignas(16) T factor[N * N];           // L of the panel's first rows, by columns
  uint64_t arrived[N];
  uint32_t pivot_place[N], pivot_row[N], from[N];  // the pivots' places and rows, and the CTAs that sent them
  int32_t moved[N];  // the places that the panel's first rows have taken
};

template <class T, int ROWS>
constexpr int panel_bytes = static_cast<int>(sizeof(PanelShared<T>)) + ROWS * panel_threads * (panel_columns<T> + 1) * static_cast<int>(sizeof(T));

// Replaces x by the solution of L y = x for a unit lower triangular L of order N, by columns in shared memory.
template <class T, int N>
__device__ inline void solve_unit(T const* l, T (&x)[N]) {
  constexpr int W = wide<T>;
#pragma unroll
  for (int j = 0; j < N - 1; ++j) {
#pragma unroll
    for (int i0 = (j + 1) / W * W; i0 < N; i0 += W) {
      T t[W];
      load_wide<W>(t, l + j * N + i0);
#pragma unroll
      for (int i = i0; i < i0 + W; ++i) {
        if (i > j) x[i] = less(x[i], t[i - i0], x[j]);
      }
    }
  }
}

struct Panel {
  uint64_t a;      // the matrix' element (k, 0), where the panel begins in row and column k
  uint64_t moves;  // int32: see factor_panel
  int64_t pitch, a_member, moves_member;
  int k, rows, cols;  // rows from k on
  int first, last;    // the columns of the group
};

// Factors a panel: L below the diagonal and U on and above it, with the rows at their places. moves[j], j < N, is the
// row that came to place j, and moves[N + j] the place that row j has taken. The other columns of the group follow the
// rows, and in those behind the panel the block row becomes U = L^-1 A. Grid: a cluster by the batch. ROWS: rows of a
// thread.
template <class T, int ROWS>
__global__ void __launch_bounds__(panel_threads) factor_panel(Panel p) {
  constexpr int N = panel_columns<T>, pitch = N + 1, per = 32 / N;  // rows that a warp copies at once
  using R = Real<T>;
  using Piece = Wide<T>;
  static_assert(panel_ctas <= 32 && N * static_cast<int>(sizeof(T)) == 128 && sizeof(Message<T>) == 16 * Message<T>::pieces &&
                group<T> <= 32 * panel_ctas);
  GPK_FACTOR_SHARED(shared);
  PanelShared<T>& s = *reinterpret_cast<PanelShared<T>*>(shared);
  T* const lines = reinterpret_cast<T*>(shared + sizeof(PanelShared<T>));  // [ROWS threads][pitch]
  int const tid = static_cast<int>(threadIdx.x), lane = tid % 32, warp = tid / 32, threads = static_cast<int>(blockDim.x), warps = threads / 32;
  int const rank = static_cast<int>(cluster_rank());
  T* const line = reinterpret_cast<T*>(p.a) + blockIdx.y * p.a_member;
  T* const a = line + p.k;
  if (tid < N) expect_bytes(&s.arrived[tid], panel_ctas * static_cast<int>(sizeof(Message<T>)));
  cluster_barrier();
  begin();
  auto const row_of = [&](int r, int thread) { return (r * panel_ctas + rank) * threads + thread; };
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int q = 0; q < 32; q += per) {
      int const thread = warp * 32 + q + lane / N, row = row_of(r, thread), c = lane % N;
      lines[(r * threads + thread) * pitch + c] = row < p.rows && c < p.cols ? a[row * p.pitch + c] : from_real<T>(0);
    }
  }
  __syncwarp();
  T x[ROWS][N];
  uint32_t place[ROWS];
  bool done[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    int const row = row_of(r, tid);
    place[r] = static_cast<uint32_t>(row);
    done[r] = row >= p.rows;
#pragma unroll
    for (int c = 0; c < N; ++c) x[r][c] = lines[(r * threads + tid) * pitch + c];
  }
#pragma unroll 1
  for (int j = 0; j < p.cols; ++j) {
    Candidate<R> mine{0, no_place, 0};
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      R const size = size_of(x[r][0]);
      Candidate<R> const c{bits_of(size == size ? size : R(0)), place[r], 0};
      if (!done[r] && (c.size > mine.size || (c.size == mine.size && c.place < mine.place))) mine = c;
    }
    Candidate<R> best = best_of_warp(mine);
    if (lane == 0) s.of_warp[j % 2][warp] = best;
    __syncthreads();
    best = best_of_warp(lane < warps ? s.of_warp[j % 2][lane] : Candidate<R>{0, no_place, 0});
    bool has = false;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      if (done[r] || place[r] != best.place) continue;
      has = true;
#pragma unroll
      for (int c = 0; c < N; c += wide<T>) {
        Piece w;
#pragma unroll
        for (int e = 0; e < wide<T>; ++e) w.v[e] = x[r][c + e];
        s.own.row[c / wide<T>] = w;
      }
      s.own.candidate = {best.size, best.place, static_cast<uint32_t>(row_of(r, tid))};
    }
    if (best.place == no_place && tid == 0) {
      has = true;
      s.own.candidate = {0, no_place, 0};
    }
    if (warp_ballot(has) != 0) {  // this warp has the candidate
      __syncwarp();
      constexpr int pieces = Message<T>::pieces;
      auto const own = reinterpret_cast<Piece const*>(&s.own);
      auto const to = reinterpret_cast<Piece*>(&s.messages[j][rank]);
#pragma unroll
      for (int e0 = 0; e0 < pieces * panel_ctas; e0 += 32) {
        int const e = e0 + lane;
        if (e < pieces * panel_ctas) send(to + e % pieces, own[e % pieces], &s.arrived[j], e / pieces);
      }
    }
    await_bytes(&s.arrived[j]);
    Candidate<R> other{0, no_place, 0};
    if (lane < panel_ctas) other = s.messages[j][lane].candidate;
    best = best_of_warp(other);
    uint32_t const holders = warp_ballot(other.place == best.place);
    int const from = first_bit(holders);
    Message<T> const& pivot = s.messages[j][from];
    if (tid == 0) s.pivot_place[j] = best.place, s.pivot_row[j] = pivot.candidate.row, s.from[j] = static_cast<uint32_t>(from);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      if (done[r]) continue;
      if (place[r] == best.place) {
        place[r] = static_cast<uint32_t>(j);
        done[r] = true;
        continue;
      }
      if (place[r] == static_cast<uint32_t>(j)) place[r] = best.place;
      T l = x[r][0], times = from_real<T>(0);
      if (best.size != 0) times = l = quotient(l, pivot.at(0));
      lines[(r * threads + tid) * pitch + j] = l;
#pragma unroll
      for (int c = 1; c < N; ++c) x[r][c - 1] = less(x[r][c], times, pivot.at(c));
    }
  }
  __syncthreads();
  // The columns outside the panel are read before the CTAs wait for each other. A lane has one.
  int const c0 = p.first + (warp * panel_ctas + rank) * 32 + lane;
  bool const outside = c0 < p.last && (c0 < p.k || c0 >= p.k + p.cols);
  T top[N], old[N];
  if (outside) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      int const at = i < p.cols ? i : 0;
      old[i] = line[at * p.pitch + c0];
      top[i] = line[s.pivot_row[at] * p.pitch + c0];
    }
  }
  if (warp == warps - 1 && lane < N) {  // follow the row that was at place lane
    uint32_t at = static_cast<uint32_t>(lane);
    for (int j = 0; j < p.cols; ++j) {
      if (at == s.pivot_place[j]) {
        at = static_cast<uint32_t>(j);
        break;
      }
      if (at == static_cast<uint32_t>(j)) at = s.pivot_place[j];
    }
    s.moved[lane] = static_cast<int32_t>(at);
    if (rank == 0) {
      int32_t* const moves = reinterpret_cast<int32_t*>(p.moves) + blockIdx.y * p.moves_member;
      moves[lane] = lane < p.cols ? static_cast<int32_t>(s.pivot_row[lane]) : lane, moves[N + lane] = static_cast<int32_t>(at);
    }
  }
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    int const own = done[r] ? static_cast<int>(place[r]) : N;  // elements of L
#pragma unroll 4
    for (int q = 0; q < 32; q += per) {
      int const thread = warp * 32 + q + lane / N, c = lane % N;
      int const end = __shfl_sync(0xffffffffu, own, q + lane / N), to = static_cast<int>(__shfl_sync(0xffffffffu, place[r], q + lane / N));
      if (row_of(r, thread) >= p.rows || c >= p.cols) continue;
      a[to * p.pitch + c] = c < end ? lines[(r * threads + thread) * pitch + c] : s.messages[to][s.from[to]].at(c - to);
    }
  }
  if (p.last - p.first == p.cols) return;
  cluster_barrier();
  for (int e = tid; e < N * N; e += threads) s.factor[e % N * N + e / N] = e / N < p.cols && e % N < p.cols ? a[e / N * p.pitch + e % N] : from_real<T>(0);
  __syncthreads();
  if (!outside) return;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (i < p.cols && s.moved[i] >= p.cols) line[s.moved[i] * p.pitch + c0] = old[i];
  }
  if (c0 >= p.k + p.cols) solve_unit<T, N>(s.factor, top);
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (i < p.cols) line[i * p.pitch + c0] = top[i];
  }
}

}  // namespace
}  // namespace factor
}  // namespace gpk
