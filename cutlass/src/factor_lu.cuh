// factor_lu.cuh: what the columns outside a group of panels get from it, and the order of the rows.
#pragma once
#include "factor_panel.cuh"
#include "factor_tensor.cuh"

namespace gpk {
namespace factor {
namespace {

constexpr int follow_threads = 256, follow_columns = 32;

struct Follow {
  uint64_t a;      // the matrix' element (j, 0), where the group begins in row and column j
  uint64_t moves;  // of factor_panel, for each panel of the group
  uint64_t order;  // int64: of the matrix' rows from j on
  int64_t pitch, a_member, moves_member, order_member;
  int j, rows, width;  // rows from j on, and the group's columns
  int n;               // columns of the matrix
};

// Shared memory: the rows that come to the group's places, and those that they replace; two block columns of L; the
// factor of the diagonal block; the moves; the row at each place.
template <class T>
struct FollowShared {
  static constexpr int N = panel_columns<T>, pitch = N + wide<T>, most_rows = panel_most * panel_ctas * panel_threads;
  T top[group<T>][follow_columns], old[group<T>][follow_columns];
  T l[2][group<T> * pitch];
  alignas(16) T factor[N * N];
  int32_t moves[2 * group<T>];
  uint16_t row_at[most_rows];
};

// Subtracts the product of a block of N rows of U, which begins at `from`, from the rows below it in shared memory.
// l holds L's rows from `from` on.
template <class T>
__device__ void subtract_block(FollowShared<T>& s, T const* l, int from, int width) {
  constexpr int N = panel_columns<T>, W = wide<T>, R = 4, pitch = FollowShared<T>::pitch;
  int const lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  T u[N];
#pragma unroll
  for (int k = 0; k < N; ++k) u[k] = s.top[from + k][lane];
  for (int i = from + N + R * warp; i < width; i += R * (follow_threads / 32)) {
    T x[R];
#pragma unroll
    for (int r = 0; r < R; ++r) x[r] = s.top[i + r][lane];
#pragma unroll
    for (int k = 0; k < N; k += W) {
#pragma unroll
      for (int r = 0; r < R; ++r) {
        T t[W];
        load_wide<W>(t, l + (i + r - from) * pitch + k);
#pragma unroll
        for (int e = 0; e < W; ++e) x[r] = less(x[r], t[e], u[k + e]);
      }
    }
#pragma unroll
    for (int r = 0; r < R; ++r) s.top[i + r][lane] = x[r];
  }
}

// Exchanges the rows of the columns outside a group as its panels did. In the columns behind the group it also computes
// U = L^-1 A. Grid: x counts pieces of follow_columns columns, and one CTA more for the order of the rows; y counts the
// batch.
template <class T>
__global__ void __launch_bounds__(follow_threads) follow_group(Follow p) {
  constexpr int N = panel_columns<T>, G = group<T>, pitch = FollowShared<T>::pitch, warps = follow_threads / 32;
  static_assert(G <= follow_threads && G % N == 0 && N % 4 == 0);
  GPK_FACTOR_SHARED(shared);
  FollowShared<T>& s = *reinterpret_cast<FollowShared<T>*>(shared);
  int const tid = static_cast<int>(threadIdx.x), lane = tid % 32, warp = tid / 32;
  int const first = static_cast<int>(blockIdx.x) * follow_columns, c = first + lane, behind = p.j + p.width;
  bool const last = blockIdx.x == gridDim.x - 1, right = !last && first + follow_columns > behind;
  T* const a = reinterpret_cast<T*>(p.a) + blockIdx.y * p.a_member;
  begin();
  if (!last && first >= p.j && (first + follow_columns <= behind || behind == p.n)) return;
  auto const load_l = [&](int from) {  // L's columns from `from` on, and zeros beyond the group
    T* const to = s.l[from / N % 2];
    for (int e = tid; e < (G - from) * N; e += follow_threads) {
      int const i = from + e / N, k = from + e % N, in = i < p.width && k < p.width ? static_cast<int>(sizeof(T)) : 0;
      copy_async<sizeof(T)>(to + e / N * pitch + e % N, a + (in > 0 ? i * p.pitch + p.j + k : 0), in);
    }
    commit_copies();
  };
  if (right) load_l(0);
  int32_t const* const moves = reinterpret_cast<int32_t const*>(p.moves) + blockIdx.y * p.moves_member;
  for (int e = tid; e < 2 * G; e += follow_threads) s.moves[e] = e / (2 * N) * N < p.width ? moves[e] : 0;
  for (int i = tid; i < p.rows; i += follow_threads) s.row_at[i] = static_cast<uint16_t>(i);
  __syncthreads();
  for (int j = 0; warp == 0 && j < p.width; j += N) {
    int const nb = p.width - j < N ? p.width - j : N;
    int const from = lane < nb ? s.moves[2 * j + lane] : 0, to = lane < nb ? s.moves[2 * j + N + lane] : 0;
    uint16_t const top = s.row_at[j + from], old = lane < nb ? s.row_at[j + lane] : 0;
    __syncwarp();
    if (lane < nb) s.row_at[j + lane] = top;
    if (to >= nb) s.row_at[j + to] = old;
    __syncwarp();
  }
  __syncthreads();
  if (last) {
    int64_t* const order = reinterpret_cast<int64_t*>(p.order) + blockIdx.y * p.order_member;
    int const at = tid < p.width ? s.row_at[tid] : 0;
    int64_t const top = order[at], old = order[s.row_at[at]];
    __syncthreads();
    if (tid < p.width) order[tid] = top;
    if (at >= p.width) order[at] = old;
    return;
  }
  bool const in = c < p.n && (c < p.j || c >= behind);
#pragma unroll 8
  for (int i = warp; i < G; i += warps) {
    int const at = i < p.width ? s.row_at[i] : 0;
    s.top[i][lane] = in && i < p.width ? a[at * p.pitch + c] : from_real<T>(0);
    if (in && at >= p.width) s.old[i][lane] = a[s.row_at[at] * p.pitch + c];
  }
  for (int b = 0; right && b < p.width; b += N) {
    await_copies<0>();
    __syncthreads();
    T const* const l = s.l[b / N % 2];
    if (b + N < p.width) load_l(b + N);
    for (int e = tid; e < N * N; e += follow_threads) s.factor[e] = l[e % N * pitch + e / N];
    __syncthreads();
    if (warp == 0) {
      T x[N];
#pragma unroll
      for (int i = 0; i < N; ++i) x[i] = s.top[b + i][lane];
      solve_unit<T, N>(s.factor, x);
#pragma unroll
      for (int i = 0; i < N; ++i) s.top[b + i][lane] = x[i];
    }
    __syncthreads();
    subtract_block<T>(s, l, b, p.width);
  }
  __syncthreads();
  for (int i = warp; in && i < p.width; i += warps) {
    int const at = s.row_at[i];
    a[i * p.pitch + c] = s.top[i][lane];
    if (at >= p.width) a[at * p.pitch + c] = s.old[i][lane];
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
