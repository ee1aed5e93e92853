// factor_cholesky.cuh: Cholesky's factorization of a diagonal block with the solution of the rows below it, and of many
// small matrices.
//
// A block column of `block` columns takes two kernels: factor_column here, and an update of the columns to its right
// (factor_update.cuh). Every CTA of factor_column factors the diagonal block for itself, which takes less time than
// another launch, and solves its own rows by substitution. The factor goes to a workspace, because other CTAs may
// still read the block; place_blocks copies all of them at the end.
#pragma once
#include "factor_number.cuh"

namespace gpk {
namespace factor {
namespace {

constexpr int column_threads = 256;
constexpr int column_rows = 32;  // rows below that a CTA solves

struct Column {
  uint64_t a;      // the diagonal block's first element
  uint64_t block;  // where its factor goes, dense nb x nb
  int64_t pitch, a_member, block_member;
  long long* flags;
  int nb;       // columns of the block
  int below;    // rows below it
  int first;    // columns before it
  int member0;  // number of the first matrix
};

// Shared memory of factor_block<T, N>: the matrix, the columns in work, and the inverses of the diagonal.
template <class T, int N>
constexpr int block_bytes = (N * (N + 1) + N * (micro<T> + 1)) * static_cast<int>(sizeof(T)) + N * static_cast<int>(sizeof(Real<T>));
template <class T>
constexpr int column_bytes = block_bytes<T, block<T>> + column_rows * (block<T> + 1) * static_cast<int>(sizeof(T));

template <class T, int N>
struct Shared {
  T* matrix;    // [N][N + 1]
  T* columns;   // [N][micro + 1]
  Real<T>* inverse;
  char* rest;
  __device__ explicit Shared(char* at) {
    matrix = reinterpret_cast<T*>(at);
    columns = matrix + N * (N + 1);
    inverse = reinterpret_cast<Real<T>*>(columns + N * (micro<T> + 1));
    rest = reinterpret_cast<char*>(inverse + N);
  }
};

// Replaces the lower triangle of the shared matrix by its factor, and zeros above the diagonal. Returns the order of
// the first leading minor that is not positive, or 0, to the threads below N. All threads of the CTA call it after
// they have written the matrix and before they synchronize. Per step:
//
//  1. Thread i loads the `micro` diagonal columns' own block, factors it in registers, and solves row i with it.
//  2. All threads update the columns behind.
template <class T, int N, int THREADS>
__device__ int factor_block(Shared<T, N> s) {
  constexpr int M = micro<T>, pitch = N + 1;
  constexpr int side = THREADS / 16;  // threads are 16 across and `side` down
  int const tid = static_cast<int>(threadIdx.x);
  int bad = 0;
  for (int j = 0; j < N; j += M) {
    __syncthreads();
    if (tid >= j && tid < N) {
      T d[M][M], x[M];
      Real<T> inverse[M], root[M];
#pragma unroll
      for (int r = 0; r < M; ++r) {
#pragma unroll
        for (int c = 0; c <= r; ++c) d[r][c] = s.matrix[(j + r) * pitch + j + c];
        x[r] = s.matrix[tid * pitch + j + r];
      }
#pragma unroll
      for (int c = 0; c < M; ++c) {
        Real<T> const v = real_part(d[c][c]);
        if (!pivotal(v) && bad == 0) bad = j + c + 1;
        roots(v, &root[c], &inverse[c]);
#pragma unroll
        for (int r = c + 1; r < M; ++r) d[r][c] = scaled(d[r][c], inverse[c]);
#pragma unroll
        for (int k = c + 1; k < M; ++k) {
#pragma unroll
          for (int r = k; r < M; ++r) d[r][k] = less_conj(d[r][k], d[r][c], d[k][c]);
        }
      }
      int const own = tid - j;  // below M: the diagonal is x[own]
#pragma unroll
      for (int c = 0; c < M; ++c) {
#pragma unroll
        for (int k = 0; k < c; ++k) x[c] = less_conj(x[c], x[k], d[c][k]);
        x[c] = scaled(x[c], inverse[c]);
        if (c == own) x[c] = from_real<T>(root[c]);
        if (c > own) x[c] = from_real<T>(0);
        s.columns[tid * (M + 1) + c] = x[c];
        if (c == own) s.inverse[tid] = inverse[c];
      }
    }
    __syncthreads();
    if (tid < N) {
#pragma unroll
      for (int c = 0; c < M; ++c) s.matrix[tid * pitch + j + c] = tid < j ? from_real<T>(0) : s.columns[tid * (M + 1) + c];
    }
    int const from = j + M, down = tid / 16, across = tid % 16;
    for (int r0 = from; r0 < N; r0 += 4 * side) {
      for (int c0 = from; c0 < N && c0 < r0 + 4 * side; c0 += 64) {
        T sum[4][4];
#pragma unroll
        for (int a = 0; a < 4; ++a) {
#pragma unroll
          for (int b = 0; b < 4; ++b) {
            int const r = r0 + down + a * side, c = c0 + across + b * 16;
            sum[a][b] = r < N && c <= r ? s.matrix[r * pitch + c] : from_real<T>(0);
          }
        }
#pragma unroll
        for (int k = 0; k < M; ++k) {
          T l[4], u[4];
#pragma unroll
          for (int a = 0; a < 4; ++a) {
            int const r = r0 + down + a * side, c = c0 + across + a * 16;
            l[a] = s.columns[(r < N ? r : N - 1) * (M + 1) + k];
            u[a] = s.columns[(c < N ? c : N - 1) * (M + 1) + k];
          }
#pragma unroll
          for (int a = 0; a < 4; ++a) {
#pragma unroll
            for (int b = 0; b < 4; ++b) sum[a][b] = less_conj(sum[a][b], l[a], u[b]);
          }
        }
#pragma unroll
        for (int a = 0; a < 4; ++a) {
#pragma unroll
          for (int b = 0; b < 4; ++b) {
            int const r = r0 + down + a * side, c = c0 + across + b * 16;
            if (r < N && c <= r) s.matrix[r * pitch + c] = sum[a][b];
          }
        }
      }
    }
  }
  __syncthreads();
  return bad;
}

// Replaces the rows x of shared memory by x T^-1, or x T^-H, for the lower triangular matrix T in shared memory. A
// warp has `micro` columns of 32 rows in registers: in turn, each solves its own, and those behind subtract the
// product. All 256 threads call it after they have synchronized. divide returns x / T(c, c), or conj T(c, c).
template <class T, bool CONJ, class Divide>
__device__ void solve_rows(T const* matrix, T* rows, Divide divide) {
  constexpr int M = micro<T>, pitch = block<T> + 1;
  int const lane = static_cast<int>(threadIdx.x) % 32, own = static_cast<int>(threadIdx.x) / 32 * M;
  T x[M];
#pragma unroll
  for (int c = 0; c < M; ++c) x[c] = rows[lane * pitch + own + c];
  for (int j = 0; j < block<T>; j += M) {
    if (own == j) {
#pragma unroll
      for (int c = 0; c < M; ++c) {
#pragma unroll
        for (int k = 0; k < c; ++k) x[c] = less(x[c], x[k], conjugate(matrix[(j + c) * pitch + j + k], CONJ));
        x[c] = divide(x[c], j + c);
        rows[lane * pitch + j + c] = x[c];
      }
    }
    __syncthreads();
    if (own > j) {
#pragma unroll
      for (int k = 0; k < M; ++k) {
        T const v = rows[lane * pitch + j + k];
#pragma unroll
        for (int c = 0; c < M; ++c) x[c] = less(x[c], v, conjugate(matrix[(own + c) * pitch + j + k], CONJ));
      }
    }
  }
}

// The factor of a diagonal block, and the rows below divided by it. Grid: ceil(below / column_rows), at least 1, by
// the batch.
template <class T>
__global__ void __launch_bounds__(column_threads) factor_column(Column p) {
  constexpr int N = block<T>, pitch = N + 1;
  GPK_FACTOR_SHARED(shared);
  Shared<T, N> const s(shared);
  T* const rows = reinterpret_cast<T*>(s.rest);
  int const tid = static_cast<int>(threadIdx.x);
  T* const a = reinterpret_cast<T*>(p.a) + blockIdx.y * p.a_member;
  int const row0 = static_cast<int>(blockIdx.x) * column_rows;
  begin();
  for (int e = tid; e < N * N; e += column_threads) {
    int const i = e / N, k = e % N;
    T v = from_real<T>(i == k ? 1 : 0);  // columns beyond the block are those of the identity
    if (i < p.nb && k <= i) {
      v = a[i * p.pitch + k];
      if (i == k) v = from_real<T>(real_part(v));
    }
    s.matrix[i * pitch + k] = v;
  }
  for (int e = tid; e < column_rows * N; e += column_threads) {
    int const i = e / N, k = e % N;
    bool const in = row0 + i < p.below && k < p.nb;
    rows[i * pitch + k] = in ? a[(p.nb + row0 + i) * p.pitch + k] : from_real<T>(0);
  }
  int const bad = factor_block<T, N, column_threads>(s);
  if (blockIdx.x == 0) {
    if (tid == p.nb - 1 && bad != 0) record(p.flags, p.member0 + blockIdx.y, p.first + bad);
    T* const to = reinterpret_cast<T*>(p.block) + blockIdx.y * p.block_member;
    for (int e = tid; e < p.nb * p.nb; e += column_threads) to[e] = s.matrix[e / p.nb * pitch + e % p.nb];
  }
  if (p.below == 0) return;
  Real<T> const* const inverse = s.inverse;
  solve_rows<T, true>(s.matrix, rows, [inverse](T x, int c) { return scaled(x, inverse[c]); });
  __syncthreads();
  for (int e = tid; e < column_rows * N; e += column_threads) {
    int const i = e / N, k = e % N;
    if (row0 + i < p.below && k < p.nb) a[(p.nb + row0 + i) * p.pitch + k] = rows[i * pitch + k];
  }
}

struct Blocks {
  uint64_t a, blocks;
  int64_t pitch, a_member, blocks_member;
  int n;  // columns of the matrix
};

// Copies the lower triangles of factored diagonal blocks to their places. Grid: blocks by the batch.
template <class T>
__global__ void __launch_bounds__(256) place_blocks(Blocks p) {
  constexpr int N = block<T>;
  begin();
  int const first = static_cast<int>(blockIdx.x) * N, nb = p.n - first < N ? p.n - first : N;
  T const* const from = reinterpret_cast<T const*>(p.blocks) + blockIdx.y * p.blocks_member + int64_t{first} * N;
  T* const to = reinterpret_cast<T*>(p.a) + blockIdx.y * p.a_member + first * (p.pitch + 1);
  for (int e = static_cast<int>(threadIdx.x); e < nb * nb; e += 256) {
    int const i = e / nb, k = e % nb;
    if (k <= i) to[i * p.pitch + k] = from[e];
  }
}

struct Small {
  uint64_t a, b;
  int64_t a_row, a_col, a_member, b_row, b_col, b_member;
  long long* flags;
  int n, batch;
  bool conj;
};

// The threads of a CTA of small_column, one matrix a warp.
constexpr int small_threads = 128;
template <class T>
constexpr int small_bytes = small_threads / 32 * 32 * 33 * static_cast<int>(sizeof(T));

// The factor of a matrix of order up to N <= 32 a warp: lane i has row i in registers. Columns beyond the matrix are
// those of the identity.
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
  bool const across = p.a_col * p.a_col <= p.a_row * p.a_row;  // lanes read along the smaller stride
  for (int q = 0; q < p.n; ++q) {
    int const i = across ? q : lane, k = across ? lane : q;
    if (i < p.n && k <= i) s[i * 33 + k] = conjugate(a[i * p.a_row + k * p.a_col], p.conj);
  }
  __syncwarp();
  T x[N];
#pragma unroll
  for (int k = 0; k < N; ++k) x[k] = lane < p.n && k <= lane ? s[lane * 33 + k] : from_real<T>(lane == k ? 1 : 0);
  int bad = 0;
#pragma unroll
  for (int j = 0; j < N; ++j) {
    Real<T> const v = shuffled(real_part(x[j]), j);
    Real<T> root, inverse;
    if (!pivotal(v) && bad == 0) bad = j + 1;
    roots(v, &root, &inverse);
    x[j] = lane == j ? from_real<T>(root) : lane < j ? from_real<T>(0) : scaled(x[j], inverse);
#pragma unroll
    for (int k = j + 1; k < N; ++k) x[k] = less_conj(x[k], x[j], shuffled(x[j], k));
  }
  __syncwarp();
#pragma unroll
  for (int k = 0; k < N; ++k) s[lane * 33 + k] = lane < k ? from_real<T>(0) : x[k];
  __syncwarp();
  bool const along = p.b_col * p.b_col <= p.b_row * p.b_row;
  for (int q = 0; q < p.n; ++q) {
    int const i = along ? q : lane, k = along ? lane : q;
    if (i < p.n && k < p.n) b[i * p.b_row + k * p.b_col] = conjugate(s[i * 33 + k], p.conj);
  }
  if (lane == 0 && bad != 0) record(p.flags, member, bad);
}

// The factor of a matrix of order up to 64 a CTA.
template <class T>
__global__ void __launch_bounds__(column_threads) factor_medium(Small p) {
  constexpr int N = 64, pitch = N + 1;
  GPK_FACTOR_SHARED(shared);
  Shared<T, N> const s(shared);
  int const tid = static_cast<int>(threadIdx.x);
  int64_t const member = blockIdx.x;
  begin();
  T const* const a = reinterpret_cast<T const*>(p.a) + member * p.a_member;
  T* const b = reinterpret_cast<T*>(p.b) + member * p.b_member;
  bool const across = p.a_col * p.a_col <= p.a_row * p.a_row;
  for (int e = tid; e < N * N; e += column_threads) {
    int const i = across ? e / N : e % N, k = across ? e % N : e / N;
    T v = from_real<T>(i == k ? 1 : 0);
    if (i < p.n && k <= i) {
      v = conjugate(a[i * p.a_row + k * p.a_col], p.conj);
      if (i == k) v = from_real<T>(real_part(v));
    }
    s.matrix[i * pitch + k] = v;
  }
  int const bad = factor_block<T, N, column_threads>(s);
  if (tid == p.n - 1 && bad != 0) record(p.flags, member, bad);
  bool const along = p.b_col * p.b_col <= p.b_row * p.b_row;
  for (int e = tid; e < N * N; e += column_threads) {
    int const i = along ? e / N : e % N, k = along ? e % N : e / N;
    if (i < p.n && k < p.n) b[i * p.b_row + k * p.b_col] = conjugate(s.matrix[i * pitch + k], p.conj);
  }
}

}  // namespace
}  // namespace factor
}  // namespace gpk
