// closed_form.cuh: the Gram matrix of circuits that do not entangle their wires, as a product over wires, for all types and
// devices. many_wires.cuh and few_wires.cuh have faster kernels for float32 on Hopper.
#pragma once
#include "registry.cuh"

namespace gpk {
namespace {

constexpr int closed_side = 128;  // rows and columns of a tile
constexpr int wires_per_step = 4;  // wires whose coordinates are in shared memory at a time

template <class T>
struct ClosedForm {
  int64_t rows, cols;
  T const* x;  // coordinates of the rows, [wires * axes, ld_x]
  T const* y;
  int64_t ld_x, ld_y;
  int planar, full;  // wires with two coordinates, and with three
  bool dot;          // the factor is 1/2 + r.s, otherwise 1 - |r - s|^2
  bool upper;        // only tiles on and above the diagonal
  bool times;        // multiply the previous values of k
  T* k;
  int64_t ld;
};

// Multiplies a thread's 8 x 8 entries by the factors of `count` wires with Axes coordinates. The first coordinate is line
// `at` of x and y.
template <class T, int Axes, bool Dot>
__device__ void multiply_wires(T (&v)[8][8], ClosedForm<T> const& p, int64_t at, int count, int64_t i0, int64_t j0, T* smem) {
  int const tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  constexpr int lines = wires_per_step * Axes;  // lines of four wires
  for (int w = 0; w < count; w += wires_per_step) {
    int const loaded = (count - w < wires_per_step ? count - w : wires_per_step) * Axes;
    __syncthreads();
    for (int e = threadIdx.x; e < loaded * closed_side; e += 256) {
      int const line = e / closed_side, c = e % closed_side;
      int64_t const from = at + w * Axes + line;
      smem[line * closed_side + c] = i0 + c < p.rows ? p.x[from * p.ld_x + i0 + c] : T(0);
      smem[(lines + line) * closed_side + c] = j0 + c < p.cols ? p.y[from * p.ld_y + j0 + c] : T(0);
    }
    __syncthreads();
    for (int k = 0; k < loaded; k += Axes) {
      T a[Axes][8], b[Axes][8];
#pragma unroll
      for (int c = 0; c < Axes; ++c)
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          a[c][i] = smem[(k + c) * closed_side + ty * 8 + i];
          b[c][i] = smem[(lines + k + c) * closed_side + (i / 4) * 64 + tx * 4 + i % 4];
        }
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          T f = Dot ? T(0.5) : T(1);
#pragma unroll
          for (int c = 0; c < Axes; ++c) {
            if constexpr (Dot) {
              f += a[c][i] * b[c][j];
            } else {
              T const d = a[c][i] - b[c][j];
              f -= d * d;
            }
          }
          v[i][j] *= f;
        }
    }
  }
}

template <class T>
__global__ void __launch_bounds__(256) closed_form_kernel(ClosedForm<T> const __grid_constant__ p) {
  __shared__ __align__(16) T smem[2 * wires_per_step * 3 * closed_side];
  if (p.upper && blockIdx.x < blockIdx.y) return;
  int64_t const i0 = int64_t(blockIdx.y) * closed_side, j0 = int64_t(blockIdx.x) * closed_side;
  T v[8][8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) v[i][j] = 1;
  if (p.dot) {
    multiply_wires<T, 2, true>(v, p, 0, p.planar, i0, j0, smem);
    multiply_wires<T, 3, true>(v, p, 2 * p.planar, p.full, i0, j0, smem);
  } else {
    multiply_wires<T, 2, false>(v, p, 0, p.planar, i0, j0, smem);
    multiply_wires<T, 3, false>(v, p, 2 * p.planar, p.full, i0, j0, smem);
  }
  int const tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  bool const vectors = i0 + closed_side <= p.rows && j0 + closed_side <= p.cols && p.ld % 4 == 0 && reinterpret_cast<uint64_t>(p.k) % 16 == 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    T* row = p.k + (i0 + ty * 8 + i) * p.ld + j0;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      int const c = h * 64 + tx * 4;
      if constexpr (sizeof(T) == 4) {
        if (vectors && !p.times) {
          *reinterpret_cast<float4*>(row + c) = make_float4(v[i][4 * h], v[i][4 * h + 1], v[i][4 * h + 2], v[i][4 * h + 3]);
          continue;
        }
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (i0 + ty * 8 + i >= p.rows || j0 + c + j >= p.cols) continue;
        row[c + j] = p.times ? row[c + j] * v[i][4 * h + j] : v[i][4 * h + j];
      }
    }
  }
}

}  // namespace
}  // namespace gpk
