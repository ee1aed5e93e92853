// factor_solve.cuh: triangular systems by forward substitution. An upper triangular matrix is a lower triangular one with
// negative strides.
#pragma once
#include "factor_cholesky.cuh"

namespace gpk {
namespace factor {
namespace {

struct Solve {
  uint64_t t, x;
  int64_t t_row, t_col, t_member;
  int64_t x_row, x_col, x_member;
  int order, cols;
  bool conj, unit;
};

template <class T>
constexpr int solve_bytes = (block<T> * block_pitch<block<T>, T> + column_rows * (block<T> + 1)) * static_cast<int>(sizeof(T));

// x = t^-1 x for a lower triangular t of order up to `block`. Grid: CTAs of 32 columns of x by the batch.
template <class T>
__global__ void __launch_bounds__(column_threads) solve_block(Solve p) {
  constexpr int N = block<T>, pitch = N + 1, line = block_pitch<N, T>;
  GPK_FACTOR_SHARED(shared);
  T* const matrix = reinterpret_cast<T*>(shared);
  T* const rows = matrix + N * line;
  int const tid = static_cast<int>(threadIdx.x), col0 = static_cast<int>(blockIdx.x) * column_rows;
  T const* const a = reinterpret_cast<T const*>(p.t) + blockIdx.y * p.t_member;
  T* const x = reinterpret_cast<T*>(p.x) + blockIdx.y * p.x_member;
  begin();
  bool const by_rows = p.t_col * p.t_col <= p.t_row * p.t_row;
#pragma unroll 8
  for (int e = tid; e < N * N; e += column_threads) {
    int const i = by_rows ? e / N : e % N, k = by_rows ? e % N : e / N;
    T v = from_real<T>(i == k ? 1 : 0);
    if (i < p.order && (k < i || (k == i && !p.unit))) v = conjugate(a[i * p.t_row + k * p.t_col], p.conj);
    matrix[i * line + k] = v;
  }
  bool const by_columns_x = p.x_col * p.x_col <= p.x_row * p.x_row;
#pragma unroll 8
  for (int e = tid; e < column_rows * N; e += column_threads) {
    int const i = by_columns_x ? e % column_rows : e / N, k = by_columns_x ? e / column_rows : e % N;
    bool const in = col0 + i < p.cols && k < p.order;
    rows[i * pitch + k] = in ? x[k * p.x_row + (col0 + i) * p.x_col] : from_real<T>(0);
  }
  __syncthreads();
  solve_rows<T, false>(matrix, rows, [matrix](T v, int c) { return quotient(v, matrix[c * block_pitch<block<T>, T> + c]); });
  __syncthreads();
  for (int e = tid; e < column_rows * N; e += column_threads) {
    int const i = by_columns_x ? e % column_rows : e / N, k = by_columns_x ? e / column_rows : e % N;
    if (col0 + i < p.cols && k < p.order) x[k * p.x_row + (col0 + i) * p.x_col] = rows[i * pitch + k];
  }
}

// y = A x, or y -= A x, for up to 4 columns of x.
struct Apply {
  uint64_t a, x, y;
  int64_t a_row, a_col, a_member;
  int64_t x_row, x_col, x_member;
  int64_t y_row, y_col, y_member;
  int m, k, cols;
  bool subtract, conj;
};

constexpr int apply_rows = 32;      // rows per CTA
constexpr int apply_columns = 512;  // rows of x in shared memory
constexpr int apply_cols = 4;       // columns of x
template <class T>
constexpr int apply_bytes = (apply_columns + 8 * 33) * apply_cols * static_cast<int>(sizeof(T));

template <class T>
__device__ inline T add(T a, T b) {
  if constexpr (Number<T>::complex) {
    return T{a.re + b.re, a.im + b.im};
  } else {
    return a + b;
  }
}

// A CTA of 256 threads computes 32 rows. If A's rows are dense, a warp computes 4 of them, one after the other. Otherwise
// lane i computes row i, and each warp has a part of k. Grid: ceil(m / 32) by the batch.
template <class T>
__global__ void __launch_bounds__(256) apply_few(Apply p) {
  GPK_FACTOR_SHARED(shared);
  T* const xs = reinterpret_cast<T*>(shared);
  T* const partial = xs + apply_columns * apply_cols;
  int const tid = static_cast<int>(threadIdx.x), lane = tid % 32, warp = tid / 32;
  int const row0 = static_cast<int>(blockIdx.x) * apply_rows;
  T const* const a = reinterpret_cast<T const*>(p.a) + blockIdx.y * p.a_member;
  T const* const x = reinterpret_cast<T const*>(p.x) + blockIdx.y * p.x_member;
  T* const y = reinterpret_cast<T*>(p.y) + blockIdx.y * p.y_member;
  bool const dense = p.a_col * p.a_col <= p.a_row * p.a_row;
  T const zero = from_real<T>(0);
  T sum[4][apply_cols];  // the negative sums of 4 rows, or in sum[0] of row `lane`
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int c = 0; c < apply_cols; ++c) sum[i][c] = zero;
  }
  begin();
  for (int k0 = 0; k0 < p.k; k0 += apply_columns) {
    int const k1 = p.k - k0 < apply_columns ? p.k - k0 : apply_columns;
    __syncthreads();
    for (int e = tid; e < apply_columns * apply_cols; e += 256) {
      int const k = e / apply_cols, c = e % apply_cols;
      xs[e] = k < k1 && c < p.cols ? x[(k0 + k) * p.x_row + c * p.x_col] : zero;
    }
    __syncthreads();
    if (dense) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        int const row = row0 + warp * 4 + i;
        if (row >= p.m) break;
#pragma unroll 8
        for (int k = lane; k < k1; k += 32) {
          T const v = conjugate(a[row * p.a_row + (k0 + k) * p.a_col], p.conj);
#pragma unroll
          for (int c = 0; c < apply_cols; ++c) sum[i][c] = fnma(sum[i][c], v, xs[k * apply_cols + c]);
        }
      }
    } else if (row0 + lane < p.m) {
      int const part = (k1 + 7) / 8, end = (warp + 1) * part < k1 ? (warp + 1) * part : k1;
#pragma unroll 8
      for (int k = warp * part; k < end; ++k) {
        T const v = conjugate(a[(row0 + lane) * p.a_row + (k0 + k) * p.a_col], p.conj);
#pragma unroll
        for (int c = 0; c < apply_cols; ++c) sum[0][c] = fnma(sum[0][c], v, xs[k * apply_cols + c]);
      }
    }
  }
  __syncthreads();
  if (dense) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
#pragma unroll
      for (int c = 0; c < apply_cols; ++c) {
#pragma unroll
        for (int step = 16; step > 0; step /= 2) sum[i][c] = add(sum[i][c], shuffle(sum[i][c], lane ^ step));
        if (lane == 0) partial[c * 33 + warp * 4 + i] = sum[i][c];
      }
    }
  } else {
#pragma unroll
    for (int c = 0; c < apply_cols; ++c) partial[(warp * apply_cols + c) * 33 + lane] = sum[0][c];
  }
  __syncthreads();
  if (tid >= apply_rows * apply_cols) return;
  int const c = tid / 32, row = row0 + lane;
  if (c >= p.cols || row >= p.m) return;
  T total = partial[c * 33 + lane];
  if (!dense) {
    for (int w = 1; w < 8; ++w) total = add(total, partial[(w * apply_cols + c) * 33 + lane]);
  }
  T* const to = y + row * p.y_row + c * p.y_col;
  *to = p.subtract ? add(*to, total) : difference(zero, total);
}

}  // namespace
}  // namespace factor
}  // namespace gpk
