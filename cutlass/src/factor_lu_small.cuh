// factor_lu_small.cuh: LU with partial pivoting of small matrices, each in the shared memory of one CTA.
#pragma once
#include "factor_panel.cuh"

namespace gpk {
namespace factor {
namespace {

constexpr int small_lu_side = 64, small_lu_threads = 128;

template <class T>
struct SmallLUShared {
  T a[small_lu_side][small_lu_side + 1];
  int row_at[small_lu_side];  // the row of the matrix at each position
  int pivot;
};

template <class T>
constexpr int small_lu_bytes = static_cast<int>(sizeof(SmallLUShared<T>));

struct SmallLU {
  uint64_t a, order;
  int64_t pitch, a_member, order_member;
  int rows, cols;
};

// The row from row j on with the largest element of column j, the first of equal ones. A warp calls it.
template <class T>
__device__ inline int small_lu_pivot(SmallLUShared<T> const& s, int j, int rows, int lane) {
  Candidate<Real<T>> best{0, no_position, 0};
#pragma unroll
  for (int i = j + lane; i < j + small_lu_side; i += 32) {
    if (i >= rows) break;
    auto const magnitude = bits_of(magnitude_of(s.a[i][j]));
    if (best.position == no_position || magnitude > best.magnitude) best = {magnitude, static_cast<uint32_t>(i), 0};
  }
  return static_cast<int>(warp_best(best).position);
}

// Replaces a matrix of up to 64 rows and columns by L and U, as GPK_FACTOR_LU. Grid: a CTA for each matrix.
template <class T>
__global__ void __launch_bounds__(small_lu_threads) factor_lu_small(SmallLU p) {
  GPK_FACTOR_SHARED(shared);
  SmallLUShared<T>& s = *reinterpret_cast<SmallLUShared<T>*>(shared);
  int const tid = static_cast<int>(threadIdx.x), rows = p.rows, cols = p.cols, both = rows < cols ? rows : cols;
  T* const a = reinterpret_cast<T*>(p.a) + blockIdx.x * p.a_member;
  begin();
  for (int e = tid; e < rows * cols; e += small_lu_threads) s.a[e / cols][e % cols] = a[e / cols * p.pitch + e % cols];
  if (tid < rows) s.row_at[tid] = tid;
  __syncthreads();
  for (int j = 0; j < both; ++j) {
    if (tid < 32) {
      int const pivot = small_lu_pivot(s, j, rows, tid);
      if (tid == 0) s.pivot = pivot;
    }
    __syncthreads();
    int const pivot = s.pivot;
    if (pivot != j) {
      if (tid < cols) {
        T const v = s.a[j][tid];
        s.a[j][tid] = s.a[pivot][tid], s.a[pivot][tid] = v;
      } else if (tid == small_lu_side) {
        int const row = s.row_at[j];
        s.row_at[j] = s.row_at[pivot], s.row_at[pivot] = row;
      }
      __syncthreads();
    }
    int const i = j + 1 + tid;
    T const divisor = s.a[j][j];
    if (i < rows && bits_of(magnitude_of(divisor)) != 0) s.a[i][j] = quotient(s.a[i][j], divisor);
    __syncthreads();
    int const width = cols - j - 1;
    for (int e = tid; e < (rows - j - 1) * width; e += small_lu_threads) {
      int const r = j + 1 + e / width, c = j + 1 + e % width;
      s.a[r][c] = fnma(s.a[r][c], s.a[r][j], s.a[j][c]);
    }
    __syncthreads();
  }
  for (int e = tid; e < rows * cols; e += small_lu_threads) a[e / cols * p.pitch + e % cols] = s.a[e / cols][e % cols];
  if (tid < rows) reinterpret_cast<int64_t*>(p.order)[blockIdx.x * p.order_member + tid] = s.row_at[tid];
}

}  // namespace
}  // namespace factor
}  // namespace gpk
