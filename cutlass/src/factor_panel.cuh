// factor_panel.cuh: LU with partial pivoting of a panel of few columns.
//
// A launch factors one panel by a cluster of CTAs. A thread has complete rows of the panel in registers. For each column a
// CTA finds its largest element, and sends that element's row to all CTAs of the cluster by st.async. An mbarrier counts
// the bytes of the messages, so that a column costs the latency of one message and one barrier of the CTA. Rows stay in
// their threads. A thread only tracks a row's position: a row that the pivot replaces gets the pivot's position.
//
// The loop over the columns is not unrolled, because a launch runs it once and would wait for the fetch of its
// instructions. So the current column always has register index 0: a step writes its results to the next lower register.
// The elements of L go to shared memory, and the rows of U remain in the messages.
#pragma once
#include "factor_number.cuh"

namespace gpk {
namespace factor {
namespace {

// The columns of a panel, the threads of a CTA and the CTAs of the cluster.
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
constexpr int panel_rows_per_thread = 2;  // at most

// The columns of a group of panels. The columns after a group are updated once, after the group's last panel.
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

// A cluster barrier. It also makes writes to global memory before it visible to the cluster.
__device__ inline void cluster_sync() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.arrive.release.aligned;\nbarrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// Initializes a barrier for one phase, which completes after st.async has stored `bytes` bytes. The cluster has to
// synchronize before the first st.async.
__device__ inline void mbarrier_init_expect_tx(uint64_t* barrier, int bytes) {
#if __CUDA_ARCH__ >= 900
  uint32_t const at = static_cast<uint32_t>(__cvta_generic_to_shared(barrier));
  asm volatile(
      "mbarrier.init.shared.b64 [%0], 1;\n\tfence.mbarrier_init.release.cluster;\n\t"
      "mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(at),
      "r"(bytes)
      : "memory");
#endif
}

// Waits for the barrier's first phase.
__device__ inline void mbarrier_wait(uint64_t* barrier) {
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

// Stores 16 bytes to the same address in the shared memory of CTA `rank`. The barrier at the same address there counts them.
template <class W>
__device__ inline void store_async(W* to, W const& from, uint64_t* barrier, int rank) {
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

// The largest of the bits of a warp's numbers, none of them negative: the order of the bits is that of the numbers.
__device__ inline uint32_t warp_largest(uint32_t bits) { return warp_max(bits); }
__device__ inline uint64_t warp_largest(uint64_t bits) {
  uint32_t const high = static_cast<uint32_t>(bits >> 32), top = warp_max(high);
  return static_cast<uint64_t>(top) << 32 | warp_max(high == top ? static_cast<uint32_t>(bits) : 0);
}

constexpr uint32_t no_position = 0x7fffffff;

// A candidate for the pivot: the bits of the magnitude |re| + |im|, and the current and the original position of its row.
template <class R>
struct alignas(16) Candidate {
  decltype(bits_of(R())) magnitude;
  uint32_t position, row;
};

// The candidate with the largest magnitude in a warp, the first of equal ones. row is not set.
template <class R>
__device__ inline Candidate<R> warp_best(Candidate<R> c) {
  auto const magnitude = warp_largest(c.magnitude);
  return {magnitude, warp_min(c.magnitude == magnitude ? c.position : no_position), 0};
}

__device__ inline float magnitude_of(float x) { return fabsf(x); }
__device__ inline double magnitude_of(double x) { return fabs(x); }
template <class R>
__device__ inline R magnitude_of(Complex<R> x) { return magnitude_of(x.re) + magnitude_of(x.im); }

// A CTA's message for a column: its candidate, and the candidate's row from the column on.
template <class T>
struct Message {
  static constexpr int row_vectors = panel_columns<T> / vector_length<T>, vectors = row_vectors + 1;
  Vector<T> row[row_vectors];
  Candidate<Real<T>> candidate;
  __device__ T at(int i) const { return row[i / vector_length<T>].v[i % vector_length<T>]; }
};

template <class T>
struct PanelShared {
  static constexpr int N = panel_columns<T>, warps = panel_threads / 32;
  Message<T> messages[N][panel_ctas];
  Message<T> own;
  Candidate<Real<T>> warp_candidates[2][warps];  // for even and odd columns
  alignas(16) T factor[N * N];           // L of the panel's first rows, by columns
  uint64_t full_barriers[N];
  uint32_t pivot_position[N], pivot_row[N], from[N];  // the pivots' positions and rows, and the CTAs that sent them
  int32_t moved_to[N];  // the new positions of the panel's first rows
};

template <class T, int ROWS>
constexpr int panel_bytes = static_cast<int>(sizeof(PanelShared<T>)) + ROWS * panel_threads * (panel_columns<T> + 1) * static_cast<int>(sizeof(T));

// Replaces x by L^-1 x for a unit lower triangular L of order N in shared memory, column by column.
template <class T, int N>
__device__ inline void solve_unit(T const* l, T (&x)[N]) {
  constexpr int W = vector_length<T>;
#pragma unroll
  for (int j = 0; j < N - 1; ++j) {
#pragma unroll
    for (int i0 = (j + 1) / W * W; i0 < N; i0 += W) {
      T t[W];
      load_vectors<W>(t, l + j * N + i0);
#pragma unroll
      for (int i = i0; i < i0 + W; ++i) {
        if (i > j) x[i] = fnma(x[i], t[i - i0], x[j]);
      }
    }
  }
}

struct Panel {
  uint64_t a;      // the matrix' element (k, 0); the panel begins at row and column k
  uint64_t moves;  // int32: see factor_panel
  int64_t pitch, a_member, moves_member;
  int k, rows, cols;  // rows from k on
  int first, last;    // the columns of the group
};

// Computes the new position of the panel's row `lane`, and CTA 0 stores the moves. N threads call it.
template <class T>
__device__ inline void store_moves(PanelShared<T>& s, Panel const& p, int lane, int rank) {
  constexpr int N = panel_columns<T>;
  uint32_t at = static_cast<uint32_t>(lane);
  for (int j = 0; j < p.cols; ++j) {
    if (at == s.pivot_position[j]) {
      at = static_cast<uint32_t>(j);
      break;
    }
    if (at == static_cast<uint32_t>(j)) at = s.pivot_position[j];
  }
  s.moved_to[lane] = static_cast<int32_t>(at);
  if (rank == 0) {
    int32_t* const moves = reinterpret_cast<int32_t*>(p.moves) + blockIdx.y * p.moves_member;
    moves[lane] = lane < p.cols ? static_cast<int32_t>(s.pivot_row[lane]) : lane, moves[N + lane] = static_cast<int32_t>(at);
  }
}

// Factors a panel: L is below the diagonal and U on and above it, with the rows at their new positions. moves[j], j < N, is
// the row that moved to position j, and moves[N + j] the new position of row j. The rows of the group's other columns are
// exchanged too, and in the columns after the panel the block row becomes U = L^-1 A. Grid: a cluster by the batch. ROWS:
// rows per thread.
template <class T, int ROWS>
__global__ void __launch_bounds__(panel_threads) factor_panel(Panel p) {
  constexpr int N = panel_columns<T>, pitch = N + 1, rows_at_once = 32 / N;  // rows that a warp copies per step
  using R = Real<T>;
  using Vec = Vector<T>;
  static_assert(panel_ctas <= 32 && N * static_cast<int>(sizeof(T)) == 128 && sizeof(Message<T>) == 16 * Message<T>::vectors &&
                group<T> <= 32 * panel_ctas);
  GPK_FACTOR_SHARED(shared);
  PanelShared<T>& s = *reinterpret_cast<PanelShared<T>*>(shared);
  T* const rows_l = reinterpret_cast<T*>(shared + sizeof(PanelShared<T>));  // [ROWS threads][pitch]
  int const tid = static_cast<int>(threadIdx.x), lane = tid % 32, warp = tid / 32, threads = static_cast<int>(blockDim.x), warps = threads / 32;
  int const rank = static_cast<int>(cluster_rank());
  T* const line = reinterpret_cast<T*>(p.a) + blockIdx.y * p.a_member;
  T* const a = line + p.k;
  if (tid < N) mbarrier_init_expect_tx(&s.full_barriers[tid], panel_ctas * static_cast<int>(sizeof(Message<T>)));
  cluster_sync();
  begin();
  auto const row_of = [&](int r, int thread) { return (r * panel_ctas + rank) * threads + thread; };
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int q = 0; q < 32; q += rows_at_once) {
      int const thread = warp * 32 + q + lane / N, row = row_of(r, thread), c = lane % N;
      rows_l[(r * threads + thread) * pitch + c] = row < p.rows && c < p.cols ? a[row * p.pitch + c] : from_real<T>(0);
    }
  }
  __syncwarp();
  T x[ROWS][N];
  uint32_t position[ROWS];
  bool done[ROWS];
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    int const row = row_of(r, tid);
    position[r] = static_cast<uint32_t>(row);
    done[r] = row >= p.rows;
#pragma unroll
    for (int c = 0; c < N; ++c) x[r][c] = rows_l[(r * threads + tid) * pitch + c];
  }
#pragma unroll 1
  for (int j = 0; j < p.cols; ++j) {
    Candidate<R> mine{0, no_position, 0};
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      R const magnitude = magnitude_of(x[r][0]);
      Candidate<R> const c{bits_of(magnitude == magnitude ? magnitude : R(0)), position[r], 0};
      if (!done[r] && (c.magnitude > mine.magnitude || (c.magnitude == mine.magnitude && c.position < mine.position))) mine = c;
    }
    Candidate<R> best = warp_best(mine);
    if (lane == 0) s.warp_candidates[j % 2][warp] = best;
    __syncthreads();
    best = warp_best(lane < warps ? s.warp_candidates[j % 2][lane] : Candidate<R>{0, no_position, 0});
    bool owns_candidate = false;
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      if (done[r] || position[r] != best.position) continue;
      owns_candidate = true;
#pragma unroll
      for (int c = 0; c < N; c += vector_length<T>) {
        Vec w;
#pragma unroll
        for (int e = 0; e < vector_length<T>; ++e) w.v[e] = x[r][c + e];
        s.own.row[c / vector_length<T>] = w;
      }
      s.own.candidate = {best.magnitude, best.position, static_cast<uint32_t>(row_of(r, tid))};
    }
    if (best.position == no_position && tid == 0) {
      owns_candidate = true;
      s.own.candidate = {0, no_position, 0};
    }
    if (warp_ballot(owns_candidate) != 0) {  // the candidate is in this warp
      __syncwarp();
      constexpr int vectors = Message<T>::vectors;
      auto const own = reinterpret_cast<Vec const*>(&s.own);
      auto const to = reinterpret_cast<Vec*>(&s.messages[j][rank]);
#pragma unroll
      for (int e0 = 0; e0 < vectors * panel_ctas; e0 += 32) {
        int const e = e0 + lane;
        if (e < vectors * panel_ctas) store_async(to + e % vectors, own[e % vectors], &s.full_barriers[j], e / vectors);
      }
    }
    mbarrier_wait(&s.full_barriers[j]);
    Candidate<R> other{0, no_position, 0};
    if (lane < panel_ctas) other = s.messages[j][lane].candidate;
    best = warp_best(other);
    uint32_t const senders = warp_ballot(other.position == best.position);
    int const from = first_bit(senders);
    Message<T> const& pivot = s.messages[j][from];
    if (tid == 0) s.pivot_position[j] = best.position, s.pivot_row[j] = pivot.candidate.row, s.from[j] = static_cast<uint32_t>(from);
#pragma unroll
    for (int r = 0; r < ROWS; ++r) {
      if (done[r]) continue;
      if (position[r] == best.position) {
        position[r] = static_cast<uint32_t>(j);
        done[r] = true;
        continue;
      }
      if (position[r] == static_cast<uint32_t>(j)) position[r] = best.position;
      T l = x[r][0], factor_l = from_real<T>(0);
      if (best.magnitude != 0) factor_l = l = quotient(l, pivot.at(0));
      rows_l[(r * threads + tid) * pitch + j] = l;
#pragma unroll
      for (int c = 1; c < N; ++c) x[r][c - 1] = fnma(x[r][c], factor_l, pivot.at(c));
    }
  }
  __syncthreads();
  // The columns outside the panel are read before the cluster barrier. A lane has one column.
  int const c0 = p.first + (warp * panel_ctas + rank) * 32 + lane;
  bool const is_outside = c0 < p.last && (c0 < p.k || c0 >= p.k + p.cols);
  T top[N], old[N];
  if (is_outside) {
#pragma unroll
    for (int i = 0; i < N; ++i) {
      int const at = i < p.cols ? i : 0;
      old[i] = line[at * p.pitch + c0];
      top[i] = line[s.pivot_row[at] * p.pitch + c0];
    }
  }
  if (warp == warps - 1 && lane < N) store_moves<T>(s, p, lane, rank);
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    int const own = done[r] ? static_cast<int>(position[r]) : N;  // elements of L
#pragma unroll 4
    for (int q = 0; q < 32; q += rows_at_once) {
      int const thread = warp * 32 + q + lane / N, c = lane % N;
      int const end = __shfl_sync(0xffffffffu, own, q + lane / N), to = static_cast<int>(__shfl_sync(0xffffffffu, position[r], q + lane / N));
      if (row_of(r, thread) >= p.rows || c >= p.cols) continue;
      a[to * p.pitch + c] = c < end ? rows_l[(r * threads + thread) * pitch + c] : s.messages[to][s.from[to]].at(c - to);
    }
  }
  if (p.last - p.first == p.cols) return;
  cluster_sync();
  for (int e = tid; e < N * N; e += threads) s.factor[e % N * N + e / N] = e / N < p.cols && e % N < p.cols ? a[e / N * p.pitch + e % N] : from_real<T>(0);
  __syncthreads();
  if (!is_outside) return;
#pragma unroll
  for (int i = 0; i < N; ++i) {
    if (i < p.cols && s.moved_to[i] >= p.cols) line[s.moved_to[i] * p.pitch + c0] = old[i];
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
