// factor_cholesky.cuh: Cholesky's factorization of a diagonal block, the substitution with its factor, and the kernels for
// many small matrices.
#pragma once
#include "factor_number.cuh"

namespace gpk {
namespace factor {
namespace {

constexpr int column_threads = 256;
constexpr int column_rows = 32;  // rows of solve_rows

// The shared memory of factor_block<T, N>. The pitch is a multiple of 16 bytes.
template <int N, class T>
constexpr int block_pitch = N + vector_length<T>;
template <class T, int N>
constexpr int block_bytes = (N + 2 * micro<T>) * block_pitch<N, T> * static_cast<int>(sizeof(T)) + N * static_cast<int>(sizeof(Real<T>));
template <class T, int N>
struct BlockShared {
  T* matrix;   // the factor, [N][block_pitch]
  T* columns;  // the step's columns before their factorization, [micro][block_pitch]
  T* solved;   // the step's columns of the factor, [micro][block_pitch]
  Real<T>* inverse;  // of the diagonal
  __device__ explicit BlockShared(char* at) {
    matrix = reinterpret_cast<T*>(at);
    columns = matrix + N * block_pitch<N, T>;
    solved = columns + micro<T> * block_pitch<N, T>;
    inverse = reinterpret_cast<Real<T>*>(solved + micro<T> * block_pitch<N, T>);
  }
};

// Factors the matrix of order N with the elements value(i, k), k <= i. The factor goes to s.matrix, with zeros above the
// diagonal. Threads below N return the order of the first leading minor that is not positive, or 0. A thread has 4 x 4
// elements in registers. A step factors `micro` columns:
//
//  1. The threads that own the columns store them to shared memory.
//  2. Thread i loads the columns' diagonal block, factors it in registers, and solves row i with it.
//  3. All threads subtract the products of the columns from their elements.
template <class T, int N, class Value>
__device__ int factor_block(BlockShared<T, N> s, Value value) {
  constexpr int M = micro<T>, pitch = block_pitch<N, T>, side = N / 4;
  int const tid = static_cast<int>(threadIdx.x), r0 = tid / side * 4, c0 = tid % side * 4;
  bool const owns = tid < side * side && r0 >= c0;  // elements on or below the diagonal
  T tile[4][4];
#pragma unroll
  for (int a = 0; a < 4; ++a) {
#pragma unroll
    for (int b = 0; b < 4; ++b) tile[a][b] = owns && c0 + b <= r0 + a ? value(r0 + a, c0 + b) : from_real<T>(0);
  }
  int bad = 0;
#pragma unroll 1
  for (int j = 0; j < N; j += M) {
    if (owns && c0 >= j && c0 < j + M) {
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        T const line[4] = {tile[0][b], tile[1][b], tile[2][b], tile[3][b]};
        store_vectors<4>(s.columns + (c0 - j + b) * pitch + r0, line);
      }
    }
    __syncthreads();
    if (tid < N) {
      T d[M][M], x[M];  // d[c][r]: column c
      Real<T> inverse[M], root[M];
      if (tid >= j) {
#pragma unroll
        for (int c = 0; c < M; ++c) {
          load_vectors<M>(d[c], s.columns + c * pitch + j);
          x[c] = s.columns[c * pitch + tid];
        }
#pragma unroll
        for (int c = 0; c < M; ++c) {
          Real<T> const v = real_part(d[c][c]);
          if (!positive_finite(v) && bad == 0) bad = j + c + 1;
          root_and_inverse(v, &root[c], &inverse[c]);
#pragma unroll
          for (int r = c + 1; r < M; ++r) d[c][r] = scaled(d[c][r], inverse[c]);
#pragma unroll
          for (int k = c + 1; k < M; ++k) {
#pragma unroll
            for (int r = k; r < M; ++r) d[k][r] = fnma_conj(d[k][r], d[c][r], d[c][k]);
          }
        }
        int const own = tid - j;  // if below M, x[own] is on the diagonal
#pragma unroll
        for (int c = 0; c < M; ++c) {
          x[c] = scaled(x[c], inverse[c]);
#pragma unroll
          for (int k = c + 1; k < M; ++k) x[k] = fnma_conj(x[k], x[c], d[c][k]);
        }
#pragma unroll
        for (int c = 0; c < M; ++c) {
          if (c == own) {
            x[c] = from_real<T>(root[c]);
            s.inverse[tid] = inverse[c];
          }
          if (c > own) x[c] = from_real<T>(0);
          s.solved[c * pitch + tid] = x[c];
        }
      } else {
#pragma unroll
        for (int c = 0; c < M; ++c) x[c] = from_real<T>(0);
      }
      store_vectors<M>(s.matrix + tid * pitch + j, x);
    }
    __syncthreads();
    if (owns && c0 >= j + M) {
#pragma unroll
      for (int k = 0; k < M; ++k) {
        T l[4], u[4];
        load_vectors<4>(l, s.solved + k * pitch + r0);
        load_vectors<4>(u, s.solved + k * pitch + c0);
#pragma unroll
        for (int a = 0; a < 4; ++a) {
#pragma unroll
          for (int b = 0; b < 4; ++b) tile[a][b] = fnma_conj(tile[a][b], l[a], u[b]);
        }
      }
    }
  }
  return bad;
}

// Replaces the rows x in shared memory, [column_rows][block + 1], by x T^-T, or with CONJ by x T^-H, for the lower
// triangular matrix T in shared memory, [block][block_pitch]. A warp has `micro` columns of 32 rows in registers. The warps
// solve their columns one after the other, and the warps with later columns subtract the products. All 256 threads call it,
// after a barrier. divide(x, c) returns x / T(c, c), or with CONJ x / conj T(c, c).
template <class T, bool CONJ, class Divide>
__device__ void solve_rows(T const* matrix, T* rows, Divide divide) {
  constexpr int M = micro<T>, pitch = block<T> + 1, line = block_pitch<block<T>, T>;
  int const lane = static_cast<int>(threadIdx.x) % 32, own = static_cast<int>(threadIdx.x) / 32 * M;
  T x[M];
#pragma unroll
  for (int c = 0; c < M; ++c) x[c] = rows[lane * pitch + own + c];
#pragma unroll 1
  for (int j = 0; j < block<T>; j += M) {
    if (own == j) {
      T t[M][M];
#pragma unroll
      for (int c = 1; c < M; ++c) load_vectors<M>(t[c], matrix + (j + c) * line + j);
#pragma unroll
      for (int c = 0; c < M; ++c) {
        x[c] = divide(x[c], j + c);
#pragma unroll
        for (int k = c + 1; k < M; ++k) x[k] = fnma(x[k], x[c], conjugate(t[k][c], CONJ));
        rows[lane * pitch + j + c] = x[c];
      }
    }
    __syncthreads();
    if (own > j) {
      T v[M];
#pragma unroll
      for (int k = 0; k < M; ++k) v[k] = rows[lane * pitch + j + k];
#pragma unroll
      for (int c = 0; c < M; ++c) {
        T t[M];
        load_vectors<M>(t, matrix + (own + c) * line + j);
#pragma unroll
        for (int k = 0; k < M; ++k) x[c] = fnma(x[c], v[k], conjugate(t[k], CONJ));
      }
    }
  }
}

struct Small {
  uint64_t a, b;
  int64_t a_row, a_col, a_member, b_row, b_col, b_member;
  long long* flags;
  int n, batch;
  bool conj;
};

// The threads of a CTA of factor_small, which has one matrix per warp.
constexpr int small_threads = 128;
template <class T>
constexpr int small_bytes = small_threads / 32 * 32 * 33 * static_cast<int>(sizeof(T));

// Factors matrices of order up to N <= 32, one per warp. Lane i has row i in registers. The matrix is extended to order N by
// the identity.
template <class T, int N>
__global__ void __launch_bounds__(small_threads) factor_small(Small p) {
  GPK_FACTOR_SHARED(shared);
  int const lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  int const member = static_cast<int>(blockIdx.x) * (small_threads / 32) + warp;
  T* const s = reinterpret_cast<T*>(shared) + warp * 32 * 33;
  begin();
  if (member >= p.batch) return;
  T const* const a = reinterpret_cast<T const*>(p.a) + member * p.a_member;
  T* const b = reinterpret_cast<T*>(p.b) + member * p.b_member;
  bool const by_rows_a = p.a_col * p.a_col <= p.a_row * p.a_row;  // so that lanes read along the smaller stride
  for (int q = 0; q < p.n; ++q) {
    int const i = by_rows_a ? q : lane, k = by_rows_a ? lane : q;
    if (i < p.n && k <= i) s[i * 33 + k] = conjugate(a[i * p.a_row + k * p.a_col], p.conj);
  }
  __syncwarp();
  T x[N];
#pragma unroll
  for (int k = 0; k < N; ++k) x[k] = lane < p.n && k <= lane ? s[lane * 33 + k] : from_real<T>(lane == k ? 1 : 0);
  int bad = 0;
#pragma unroll
  for (int j = 0; j < N; ++j) {
    Real<T> const v = shuffle(real_part(x[j]), j);
    Real<T> root, inverse;
    if (!positive_finite(v) && bad == 0) bad = j + 1;
    root_and_inverse(v, &root, &inverse);
    x[j] = lane == j ? from_real<T>(root) : lane < j ? from_real<T>(0) : scaled(x[j], inverse);
#pragma unroll
    for (int k = j + 1; k < N; ++k) x[k] = fnma_conj(x[k], x[j], shuffle(x[j], k));
  }
  __syncwarp();
#pragma unroll
  for (int k = 0; k < N; ++k) s[lane * 33 + k] = lane < k ? from_real<T>(0) : x[k];
  __syncwarp();
  bool const by_rows_b = p.b_col * p.b_col <= p.b_row * p.b_row;
  for (int q = 0; q < p.n; ++q) {
    int const i = by_rows_b ? q : lane, k = by_rows_b ? lane : q;
    if (i < p.n && k < p.n) b[i * p.b_row + k * p.b_col] = conjugate(s[i * 33 + k], p.conj);
  }
  if (lane == 0 && bad != 0) record_failure(p.flags, member, bad);
}

// Factors matrices of order up to 64, one per CTA.
template <class T>
__global__ void __launch_bounds__(column_threads) factor_medium(Small p) {
  constexpr int N = 64, line = block_pitch<N, T>;
  GPK_FACTOR_SHARED(shared);
  BlockShared<T, N> const s(shared);
  int const tid = static_cast<int>(threadIdx.x);
  int64_t const member = blockIdx.x;
  begin();
  T const* const a = reinterpret_cast<T const*>(p.a) + member * p.a_member;
  T* const b = reinterpret_cast<T*>(p.b) + member * p.b_member;
  int const bad = factor_block<T, N>(s, [a, p](int i, int k) {
    T v = from_real<T>(i == k ? 1 : 0);
    if (i < p.n) v = conjugate(a[i * p.a_row + k * p.a_col], p.conj);
    return i == k ? from_real<T>(real_part(v)) : v;
  });
  if (tid == p.n - 1 && bad != 0) record_failure(p.flags, member, bad);
  bool const by_rows_b = p.b_col * p.b_col <= p.b_row * p.b_row;
  for (int e = tid; e < N * N; e += column_threads) {
    int const i = by_rows_b ? e / N : e % N, k = by_rows_b ? e % N : e / N;
    if (i < p.n && k < p.n) b[i * p.b_row + k * p.b_col] = conjugate(s.matrix[i * line + k], p.conj);
  }
}

}  // namespace
}  // namespace factor
}  // namespace gpk
