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
#include "factor_cluster.cuh"

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

// The place of a thread in the cluster.
struct PanelThread {
  int id, lane, warp, threads, warps, rank;  // threads and warps: of a CTA; rank: of the CTA
  // The original position of row r of CTA thread `thread`.
  __device__ int row(int r, int thread) const { return (r * panel_ctas + rank) * threads + thread; }
};

// A thread's rows: their elements from the current column on, their current positions, and whether each is finished: a row
// of U, or not a row of the matrix. l: all rows of the CTA in shared memory, [ROWS threads][pitch]; first the panel, then L.
template <class T, int ROWS>
struct PanelRows {
  static constexpr int N = panel_columns<T>, pitch = N + 1, rows_at_once = 32 / N;  // rows that a warp copies per step
  T x[ROWS][N];
  uint32_t position[ROWS];
  bool done[ROWS];
  T* l;
};

// Loads the panel through shared memory.
template <class T, int ROWS>
__device__ __forceinline__ void load_rows(PanelRows<T, ROWS>& rows, Panel const& p, T const* a, PanelThread const& t) {
  using Rows = PanelRows<T, ROWS>;
  constexpr int N = Rows::N, pitch = Rows::pitch, rows_at_once = Rows::rows_at_once;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
#pragma unroll
    for (int q = 0; q < 32; q += rows_at_once) {
      int const thread = t.warp * 32 + q + t.lane / N, row = t.row(r, thread), c = t.lane % N;
      rows.l[(r * t.threads + thread) * pitch + c] = row < p.rows && c < p.cols ? a[row * p.pitch + c] : from_real<T>(0);
    }
  }
  __syncwarp();
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    int const row = t.row(r, t.id);
    rows.position[r] = static_cast<uint32_t>(row);
    rows.done[r] = row >= p.rows;
#pragma unroll
    for (int c = 0; c < N; ++c) rows.x[r][c] = rows.l[(r * t.threads + t.id) * pitch + c];
  }
}

// Returns the CTA's candidate for the pivot of column j; its position is no_position if all rows are done.
template <class T, int ROWS>
__device__ __forceinline__ Candidate<Real<T>> find_candidate(PanelRows<T, ROWS> const& rows, PanelShared<T>& s, int j, PanelThread const& t) {
  using R = Real<T>;
  Candidate<R> mine{0, no_position, 0};
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    R const magnitude = magnitude_of(rows.x[r][0]);
    Candidate<R> const c{bits_of(magnitude == magnitude ? magnitude : R(0)), rows.position[r], 0};
    if (!rows.done[r] && (c.magnitude > mine.magnitude || (c.magnitude == mine.magnitude && c.position < mine.position))) mine = c;
  }
  Candidate<R> const best = warp_best(mine);
  if (t.lane == 0) s.warp_candidates[j % 2][t.warp] = best;
  __syncthreads();
  return warp_best(t.lane < t.warps ? s.warp_candidates[j % 2][t.lane] : Candidate<R>{0, no_position, 0});
}

// Sends the CTA's candidate for column j with its row to all CTAs. The warp that has the row sends it.
template <class T, int ROWS>
__device__ __forceinline__ void send_candidate(PanelRows<T, ROWS> const& rows, Candidate<Real<T>> const& best, PanelShared<T>& s, int j, PanelThread const& t) {
  using Vec = Vector<T>;
  bool owns_candidate = false;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    if (rows.done[r] || rows.position[r] != best.position) continue;
    owns_candidate = true;
#pragma unroll
    for (int c = 0; c < panel_columns<T>; c += vector_length<T>) {
      Vec w;
#pragma unroll
      for (int e = 0; e < vector_length<T>; ++e) w.v[e] = rows.x[r][c + e];
      s.own.row[c / vector_length<T>] = w;
    }
    s.own.candidate = {best.magnitude, best.position, static_cast<uint32_t>(t.row(r, t.id))};
  }
  if (best.position == no_position && t.id == 0) {
    owns_candidate = true;
    s.own.candidate = {0, no_position, 0};
  }
  if (warp_ballot(owns_candidate) == 0) return;
  __syncwarp();
  constexpr int vectors = Message<T>::vectors;
  auto const own = reinterpret_cast<Vec const*>(&s.own);
  auto const to = reinterpret_cast<Vec*>(&s.messages[j][t.rank]);
#pragma unroll
  for (int e0 = 0; e0 < vectors * panel_ctas; e0 += 32) {
    int const e = e0 + t.lane;
    if (e < vectors * panel_ctas) store_async(to + e % vectors, own[e % vectors], &s.full_barriers[j], e / vectors);
  }
}

// Waits for the messages of all CTAs for column j and chooses the pivot. Returns the CTA that sent it.
template <class T>
__device__ __forceinline__ int receive_pivot(PanelShared<T>& s, int j, Candidate<Real<T>>& best, PanelThread const& t) {
  mbarrier_wait(&s.full_barriers[j]);
  Candidate<Real<T>> other{0, no_position, 0};
  if (t.lane < panel_ctas) other = s.messages[j][t.lane].candidate;
  best = warp_best(other);
  uint32_t const senders = warp_ballot(other.position == best.position);
  int const from = first_bit(senders);
  if (t.id == 0) {
    s.pivot_position[j] = best.position, s.pivot_row[j] = s.messages[j][from].candidate.row, s.from[j] = static_cast<uint32_t>(from);
  }
  return from;
}

// Exchanges the pivot's row with row j, and eliminates column j from the other rows. `best` has the pivot's magnitude and
// position.
template <class T, int ROWS>
__device__ __forceinline__ void eliminate(PanelRows<T, ROWS>& rows, Message<T> const& pivot, Candidate<Real<T>> const& best, int j, PanelThread const& t) {
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    if (rows.done[r]) continue;
    if (rows.position[r] == best.position) {
      rows.position[r] = static_cast<uint32_t>(j);
      rows.done[r] = true;
      continue;
    }
    if (rows.position[r] == static_cast<uint32_t>(j)) rows.position[r] = best.position;
    T l = rows.x[r][0], factor_l = from_real<T>(0);
    if (best.magnitude != 0) factor_l = l = quotient(l, pivot.at(0));
    rows.l[(r * t.threads + t.id) * PanelRows<T, ROWS>::pitch + j] = l;
#pragma unroll
    for (int c = 1; c < panel_columns<T>; ++c) rows.x[r][c - 1] = fnma(rows.x[r][c], factor_l, pivot.at(c));
  }
}

// Stores the rows of L and U at their new positions.
template <class T, int ROWS>
__device__ __forceinline__ void store_rows(PanelRows<T, ROWS> const& rows, PanelShared<T> const& s, Panel const& p, T* a, PanelThread const& t) {
  using Rows = PanelRows<T, ROWS>;
  constexpr int N = Rows::N, pitch = Rows::pitch, rows_at_once = Rows::rows_at_once;
#pragma unroll
  for (int r = 0; r < ROWS; ++r) {
    int const own = rows.done[r] ? static_cast<int>(rows.position[r]) : N;  // elements of L
#pragma unroll 4
    for (int q = 0; q < 32; q += rows_at_once) {
      int const thread = t.warp * 32 + q + t.lane / N, c = t.lane % N;
      int const end = __shfl_sync(0xffffffffu, own, q + t.lane / N);
      int const to = static_cast<int>(__shfl_sync(0xffffffffu, rows.position[r], q + t.lane / N));
      if (t.row(r, thread) >= p.rows || c >= p.cols) continue;
      a[to * p.pitch + c] = c < end ? rows.l[(r * t.threads + thread) * pitch + c] : s.messages[to][s.from[to]].at(c - to);
    }
  }
}

// Factors a panel: L is below the diagonal and U on and above it, with the rows at their new positions. moves[j], j < N, is
// the row that moved to position j, and moves[N + j] the new position of row j. The rows of the group's other columns are
// exchanged too, and in the columns after the panel the block row becomes U = L^-1 A. Grid: a cluster by the batch. ROWS:
// rows per thread.
template <class T, int ROWS>
__global__ void __launch_bounds__(panel_threads) factor_panel(Panel p) {
  constexpr int N = panel_columns<T>;
  static_assert(panel_ctas <= 32 && N * static_cast<int>(sizeof(T)) == 128 && sizeof(Message<T>) == 16 * Message<T>::vectors &&
                group<T> <= 32 * panel_ctas);
  GPK_FACTOR_SHARED(shared);
  PanelShared<T>& s = *reinterpret_cast<PanelShared<T>*>(shared);
  int const tid = static_cast<int>(threadIdx.x), threads = static_cast<int>(blockDim.x);
  PanelThread const t{tid, tid % 32, tid / 32, threads, threads / 32, static_cast<int>(cluster_rank())};
  T* const line = reinterpret_cast<T*>(p.a) + blockIdx.y * p.a_member;
  T* const a = line + p.k;
  if (tid < N) mbarrier_init_expect_tx(&s.full_barriers[tid], panel_ctas * static_cast<int>(sizeof(Message<T>)));
  cluster_sync();
  begin();
  PanelRows<T, ROWS> rows;
  rows.l = reinterpret_cast<T*>(shared + sizeof(PanelShared<T>));
  load_rows(rows, p, a, t);
#pragma unroll 1
  for (int j = 0; j < p.cols; ++j) {
    Candidate<Real<T>> best = find_candidate(rows, s, j, t);
    send_candidate(rows, best, s, j, t);
    int const from = receive_pivot(s, j, best, t);
    eliminate(rows, s.messages[j][from], best, j, t);
  }
  __syncthreads();
  // The columns outside the panel are read before the cluster barrier. A lane has one column.
  int const c0 = p.first + (t.warp * panel_ctas + t.rank) * 32 + t.lane;
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
  if (t.warp == t.warps - 1 && t.lane < N) store_moves<T>(s, p, t.lane, t.rank);
  store_rows(rows, s, p, a, t);
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
