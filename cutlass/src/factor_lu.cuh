// factor_lu.cuh: the update of the columns outside a group of panels, and the order of the rows.
#pragma once
#include "factor_panel.cuh"
#include "factor_tensor.cuh"

namespace gpk {
namespace factor {
namespace {

constexpr int outside_threads = 256, outside_columns = 32;

struct OutsideUpdate {
  uint64_t a;      // the matrix' element (j, 0); the group begins at row and column j
  uint64_t moves;  // the output of factor_panel for each panel of the group
  uint64_t order;  // int64: the order of the matrix' rows from j on
  int64_t pitch, a_member, moves_member, order_member;
  int j, rows, width;  // rows from j on, and the group's columns
  int n;               // columns of the matrix
};

// Shared memory: the rows that move to the group's positions, and the rows that they replace; two block columns of L; the
// factor of the diagonal block; the moves; the row at each position.
template <class T>
struct OutsideShared {
  static constexpr int N = panel_columns<T>, pitch = N + vector_length<T>, most_rows = panel_rows_per_thread * panel_ctas * panel_threads;
  T incoming[group<T>][outside_columns], replaced[group<T>][outside_columns];
  T l[2][group<T> * pitch];
  alignas(16) T factor[N * N];
  int32_t moves[2 * group<T>];
  uint16_t row_at[most_rows];
};

// Subtracts the product of L and a block of N rows of U from the rows below the block. The block begins at row `from`, and
// the rows of U are in shared memory. l has L's rows from `from` on.
template <class T>
__device__ void subtract_block(OutsideShared<T>& s, T const* l, int from, int width) {
  constexpr int N = panel_columns<T>, W = vector_length<T>, R = 4, pitch = OutsideShared<T>::pitch;
  int const lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  T u[N];
#pragma unroll
  for (int k = 0; k < N; ++k) u[k] = s.incoming[from + k][lane];
  for (int i = from + N + R * warp; i < width; i += R * (outside_threads / 32)) {
    T x[R];
#pragma unroll
    for (int r = 0; r < R; ++r) x[r] = s.incoming[i + r][lane];
#pragma unroll
    for (int k = 0; k < N; k += W) {
#pragma unroll
      for (int r = 0; r < R; ++r) {
        T t[W];
        load_vectors<W>(t, l + (i + r - from) * pitch + k);
#pragma unroll
        for (int e = 0; e < W; ++e) x[r] = fnma(x[r], t[e], u[k + e]);
      }
    }
#pragma unroll
    for (int r = 0; r < R; ++r) s.incoming[i + r][lane] = x[r];
  }
}

// Applies a group's row exchanges to the columns outside the group, and computes U = L^-1 A in the columns after it. Grid:
// x has a CTA per outside_columns columns and one more for the order of the rows; y is the batch.
template <class T>
__global__ void __launch_bounds__(outside_threads) update_outside_group(OutsideUpdate p) {
  constexpr int N = panel_columns<T>, G = group<T>, pitch = OutsideShared<T>::pitch, warps = outside_threads / 32;
  static_assert(G <= outside_threads && G % N == 0 && N % 4 == 0);
  GPK_FACTOR_SHARED(shared);
  OutsideShared<T>& s = *reinterpret_cast<OutsideShared<T>*>(shared);
  int const tid = static_cast<int>(threadIdx.x), lane = tid % 32, warp = tid / 32;
  int const first = static_cast<int>(blockIdx.x) * outside_columns, c = first + lane, group_end = p.j + p.width;
  bool const order_cta = blockIdx.x == gridDim.x - 1, updates = !order_cta && first + outside_columns > group_end;
  T* const a = reinterpret_cast<T*>(p.a) + blockIdx.y * p.a_member;
  begin();
  if (!order_cta && first >= p.j && (first + outside_columns <= group_end || group_end == p.n)) return;
  auto const load_l = [&](int from) {  // loads a block column of L from `from` on, with zeros outside the group
    T* const to = s.l[from / N % 2];
    for (int e = tid; e < (G - from) * N; e += outside_threads) {
      int const i = from + e / N, k = from + e % N, in = i < p.width && k < p.width ? static_cast<int>(sizeof(T)) : 0;
      cp_async_zfill<sizeof(T)>(to + e / N * pitch + e % N, a + (in > 0 ? i * p.pitch + p.j + k : 0), in);
    }
    cp_async_commit();
  };
  if (updates) load_l(0);
  int32_t const* const moves = reinterpret_cast<int32_t const*>(p.moves) + blockIdx.y * p.moves_member;
  for (int e = tid; e < 2 * G; e += outside_threads) s.moves[e] = e / (2 * N) * N < p.width ? moves[e] : 0;
  for (int i = tid; i < p.rows; i += outside_threads) s.row_at[i] = static_cast<uint16_t>(i);
  __syncthreads();
  for (int j = 0; warp == 0 && j < p.width; j += N) {
    int const nb = p.width - j < N ? p.width - j : N;
    int const from = lane < nb ? s.moves[2 * j + lane] : 0, to = lane < nb ? s.moves[2 * j + N + lane] : 0;
    uint16_t const incoming = s.row_at[j + from], replaced = lane < nb ? s.row_at[j + lane] : 0;
    __syncwarp();
    if (lane < nb) s.row_at[j + lane] = incoming;
    if (to >= nb) s.row_at[j + to] = replaced;
    __syncwarp();
  }
  __syncthreads();
  if (order_cta) {
    int64_t* const order = reinterpret_cast<int64_t*>(p.order) + blockIdx.y * p.order_member;
    int const at = tid < p.width ? s.row_at[tid] : 0;
    int64_t const incoming = order[at], replaced = order[s.row_at[at]];
    __syncthreads();
    if (tid < p.width) order[tid] = incoming;
    if (at >= p.width) order[at] = replaced;
    return;
  }
  bool const in = c < p.n && (c < p.j || c >= group_end);
#pragma unroll 8
  for (int i = warp; i < G; i += warps) {
    int const at = i < p.width ? s.row_at[i] : 0;
    s.incoming[i][lane] = in && i < p.width ? a[at * p.pitch + c] : from_real<T>(0);
    if (in && at >= p.width) s.replaced[i][lane] = a[s.row_at[at] * p.pitch + c];
  }
  for (int b = 0; updates && b < p.width; b += N) {
    cp_async_wait<0>();
    __syncthreads();
    T const* const l = s.l[b / N % 2];
    if (b + N < p.width) load_l(b + N);
    for (int e = tid; e < N * N; e += outside_threads) s.factor[e] = l[e % N * pitch + e / N];
    __syncthreads();
    if (warp == 0) {
      T x[N];
#pragma unroll
      for (int i = 0; i < N; ++i) x[i] = s.incoming[b + i][lane];
      solve_unit<T, N>(s.factor, x);
#pragma unroll
      for (int i = 0; i < N; ++i) s.incoming[b + i][lane] = x[i];
    }
    __syncthreads();
    subtract_block<T>(s, l, b, p.width);
  }
  __syncthreads();
  for (int i = warp; in && i < p.width; i += warps) {
    int const at = s.row_at[i];
    a[i * p.pitch + c] = s.incoming[i][lane];
    if (at >= p.width) a[at * p.pitch + c] = s.replaced[i][lane];
  }
}

struct Order {
  uint64_t order;
  int64_t member;
  int rows;
};

// order[i] = i. Grid: CTAs of 256 rows by the batch.
__global__ void __launch_bounds__(256) init_order(Order p) {
  int const i = static_cast<int>(blockIdx.x) * 256 + static_cast<int>(threadIdx.x);
  begin();
  if (i < p.rows) (reinterpret_cast<int64_t*>(p.order) + blockIdx.y * p.member)[i] = i;
}

}  // namespace
}  // namespace factor
}  // namespace gpk
