// epilogue.cuh: the epilogue of a Gram product that another kernel computed: squares, normalization, the diagonal, the
// mirror, and the sums of the report.
#pragma once
#include "registry.cuh"

namespace gpk {
namespace {

constexpr int epilogue_side = 64;  // rows and columns of a block's tile

template <class T>
struct GramEpilogue {
  int64_t rows, cols;
  T* k;
  int64_t ld;
  T* mirror;       // the transpose; nullptr: none. If it is k itself, k is a triangle with rows = cols
  int64_t ld_mirror;
  bool triangle;
  bool square;     // entries are amplitudes, which are squared
  T one;           // the value of the diagonal
  double const* norm_x;  // nullptr if states are not normalized
  double const* norm_y;
  double jitter;
  double* partial;  // per block: sum, sum of squares, largest |diagonal - 1|
};

__device__ inline double inverse(double v, double jitter) { return 1 / sqrt(fmax(v + jitter, 1e-30)); }

// The epilogue of a full tile off the diagonal, 4 x 4 entries per thread, with loads and stores of 16 bytes. In shared
// memory the vectors of a line of the mirror are permuted by the line's number, to avoid bank conflicts.
__device__ inline void full_tile_epilogue(GramEpilogue<float> const& p, int64_t i0, int64_t j0, float4* smem, double& sum, double& squares) {
  int const tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  bool const changes = p.square || p.norm_x != nullptr;
  float v[4][4];
  float* at[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    at[i] = p.k + (i0 + 4 * ty + i) * p.ld + j0 + 4 * tx;
    float4 const x = *reinterpret_cast<float4 const*>(at[i]);
    v[i][0] = x.x, v[i][1] = x.y, v[i][2] = x.z, v[i][3] = x.w;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float x = v[i][j];
      if (p.square) x *= x;
      if (p.norm_x != nullptr) {
        x *= static_cast<float>(inverse(p.norm_x[i0 + 4 * ty + i], p.jitter) * inverse(p.norm_y[j0 + 4 * tx + j], p.jitter));
      }
      v[i][j] = x;
      double const d = x;
      sum += d;
      squares += d * d;
    }
    if (changes) *reinterpret_cast<float4*>(at[i]) = make_float4(v[i][0], v[i][1], v[i][2], v[i][3]);
  }
  if (p.mirror == nullptr) return;
#pragma unroll
  for (int j = 0; j < 4; ++j) smem[(4 * tx + j) * 16 + (ty ^ tx)] = make_float4(v[0][j], v[1][j], v[2][j], v[3][j]);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    *reinterpret_cast<float4*>(p.mirror + (j0 + 4 * ty + i) * p.ld_mirror + i0 + 4 * tx) = smem[(4 * ty + i) * 16 + (tx ^ ty)];
  }
}

// Whether K and its mirror allow loads and stores of 16 bytes.
template <class T>
__device__ bool is_vectorized(GramEpilogue<T> const& p) {
  return sizeof(T) == 4 && p.ld % 4 == 0 && reinterpret_cast<uint64_t>(p.k) % 16 == 0 &&
         (p.mirror == nullptr || (p.ld_mirror % 4 == 0 && reinterpret_cast<uint64_t>(p.mirror) % 16 == 0));
}

template <class T>
__global__ void __launch_bounds__(256) epilogue_kernel(GramEpilogue<T> const __grid_constant__ p) {
  __shared__ __align__(16) T tile[epilogue_side][epilogue_side + 1];
  __shared__ double sums[3][8];
  int64_t bi = blockIdx.y, bj = blockIdx.x;
  int64_t const block = bi * gridDim.x + bj;
  double sum = 0, squares = 0, off = 0;
  bool full = (!p.triangle || bi < bj) && (bi + 1) * epilogue_side <= p.rows && (bj + 1) * epilogue_side <= p.cols && is_vectorized(p);
  if constexpr (sizeof(T) == 4) {
    if (full) full_tile_epilogue(p, bi * epilogue_side, bj * epilogue_side, reinterpret_cast<float4*>(&tile[0][0]), sum, squares);
  } else {
    full = false;
  }
  if (!full && (!p.triangle || bi <= bj)) {
    bool const diagonal = p.triangle && bi == bj;
    int64_t const i0 = bi * epilogue_side, j0 = bj * epilogue_side;
    int const tx = threadIdx.x % 64, ty = threadIdx.x / 64;
    bool const changes = p.square || p.norm_x != nullptr;
    T v[epilogue_side / 4];
#pragma unroll
    for (int i = 0; i < epilogue_side / 4; ++i) {
      int64_t const r = i0 + ty + 4 * i, c = j0 + tx;
      bool const in = r < p.rows && c < p.cols && (!diagonal || r <= c);
      v[i] = in ? p.k[r * p.ld + c] : T(0);
    }
#pragma unroll
    for (int i = 0; i < epilogue_side / 4; ++i) {
      int64_t const r = i0 + ty + 4 * i, c = j0 + tx;
      if (r >= p.rows || c >= p.cols || (diagonal && r > c)) continue;
      T x = v[i];
      if (p.square) x *= x;
      if (diagonal && r == c) {
        double const d = fabs(static_cast<double>(x) - 1);
        off = d <= off ? off : d;  // keeps NaN
        x = p.one;
      } else if (p.norm_x != nullptr) {
        x *= static_cast<T>(inverse(p.norm_x[r], p.jitter) * inverse(p.norm_y[c], p.jitter));
      }
      if (changes || (diagonal && r == c)) p.k[r * p.ld + c] = x;
      tile[ty + 4 * i][tx] = x;
      if (!diagonal || r != c) {
        sum += x;
        squares += static_cast<double>(x) * x;
      }
    }
    if (p.mirror != nullptr) {
      __syncthreads();
#pragma unroll
      for (int i = 0; i < epilogue_side / 4; ++i) {
        int64_t const r = j0 + ty + 4 * i, c = i0 + tx;  // row and column of the mirror
        if (r >= p.cols || c >= p.rows || (diagonal && c >= r)) continue;
        p.mirror[r * p.ld_mirror + c] = tile[tx][ty + 4 * i];
      }
    }
  }
  for (int d = 16; d > 0; d /= 2) {
    sum += __shfl_down_sync(~0u, sum, d);
    squares += __shfl_down_sync(~0u, squares, d);
    double const o = __shfl_down_sync(~0u, off, d);
    off = o <= off ? off : o;
  }
  int const w = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) {
    sums[0][w] = sum;
    sums[1][w] = squares;
    sums[2][w] = off;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < 8; ++i) {
    sum += sums[0][i];
    squares += sums[1][i];
    off = sums[2][i] <= off ? off : sums[2][i];
  }
  p.partial[3 * block] = sum;
  p.partial[3 * block + 1] = squares;
  p.partial[3 * block + 2] = off;
}

// Adds the partial sums to total, in a fixed order.
__global__ void __launch_bounds__(1024) total_kernel(double const* partial, int64_t n, double* total) {
  __shared__ double sums[3][1024];
  double sum = 0, squares = 0, off = 0;
  for (int64_t i = threadIdx.x; i < n; i += 8 * 1024) {
    double v[3][8];
#pragma unroll
    for (int k = 0; k < 8; ++k)  // issues all loads before the first addition
#pragma unroll
      for (int c = 0; c < 3; ++c) v[c][k] = i + 1024 * k < n ? partial[3 * (i + 1024 * k) + c] : 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      sum += v[0][k];
      squares += v[1][k];
      off = v[2][k] <= off ? off : v[2][k];
    }
  }
  sums[0][threadIdx.x] = sum;
  sums[1][threadIdx.x] = squares;
  sums[2][threadIdx.x] = off;
  for (int h = 512; h > 0; h /= 2) {
    __syncthreads();
    if (threadIdx.x >= h) continue;
    for (int k = 0; k < 2; ++k) sums[k][threadIdx.x] += sums[k][threadIdx.x + h];
    double const o = sums[2][threadIdx.x + h];
    if (!(o <= sums[2][threadIdx.x])) sums[2][threadIdx.x] = o;
  }
  if (threadIdx.x == 0) {
    total[0] += sums[0][0];
    total[1] += sums[1][0];
    if (!(sums[2][0] <= total[2])) total[2] = sums[2][0];
  }
}

// Bytes of workspace for the partial sums.
inline int64_t epilogue_workspace(int64_t rows, int64_t cols) {
  return 24 * ((rows + epilogue_side - 1) / epilogue_side) * ((cols + epilogue_side - 1) / epilogue_side);
}

template <class T>
int launch_epilogue(uint64_t stream, GramEpilogue<T> const& p, double* total) {
  dim3 const grid(static_cast<unsigned>((p.cols + epilogue_side - 1) / epilogue_side), static_cast<unsigned>((p.rows + epilogue_side - 1) / epilogue_side));
  if (grid.y > 65535) return GPK_ERR_ARGUMENT;
  cudaStream_t const s = reinterpret_cast<cudaStream_t>(stream);
  void* params[] = {const_cast<GramEpilogue<T>*>(&p)};
  int e = launch(reinterpret_cast<void const*>(&epilogue_kernel<T>), grid, dim3(256), 0, s, params);
  if (e != 0) return e;
  double const* partial = p.partial;
  int64_t n = int64_t(grid.x) * grid.y;
  void* more[] = {&partial, &n, &total};
  return launch(reinterpret_cast<void const*>(&total_kernel), dim3(1), dim3(1024), 0, s, more);
}

}  // namespace
}  // namespace gpk
