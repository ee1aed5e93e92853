// gram_tile.cuh: common definitions of the kernels for tiles of the Gram matrix K on Hopper: the forms of their operands,
// the tiles and their order, and the sums of the report. It also has the kernel that converts states to planes.
//
// A state's amplitudes, times 2^14, are stored as float16 planes X and Y of their real and imaginary parts. With
// Split there are two more planes, with the rounding errors of the first two: 22 bits in all. Real states have no Y.
// Amplitudes are at most 1, so they are within float16's range, and the representation error is below 2^-38. To
// normalize K, states are divided by their lengths when the planes are made. With U and V the planes of the columns,
//
//  re = X U^T + Y V^T      im = Y U^T - X V^T
//
// where a product of split planes is high high + (high low + low high).
#pragma once
#include <cuda_fp16.h>

#include "registry.cuh"
#include "sm90.cuh"

namespace gpk {
namespace gram {
namespace {

using namespace sm90;

constexpr int side = 128;     // rows and columns of a tile
constexpr int lines = 64;      // rows per warpgroup
constexpr int band_rows = 8;  // rows of tiles in a band, whose tiles are computed column by column, so that L2 holds their operands
constexpr int ring_bytes = 128 << 10;
constexpr int store_bytes = lines * lines * 4, kStores = 3;  // buffers per warpgroup for parts of a tile that TMA stores
constexpr int threads = 384;

// The form of a kernel's operands. Real: states without imaginary parts. Split: two planes per number. Product: the
// operands are groups of wires (wire_groups.cuh). Factor: K is the product of several such matrices, whose errors add up.
template <bool Real, bool Split, bool Product = false, bool Factor = false>
struct Form {
  static constexpr bool real = Real, split = Split, product = Product, factor = Factor;
  static constexpr int steps_per_partial = Factor ? 32 : 128;  // a longer sum is split into partial sums of so many steps
  static constexpr int planes = (Real ? 1 : 2) * (Split ? 2 : 1);
  static constexpr int depth = planes == 4 || Product ? 32 : 64;  // amplitudes per step
  static constexpr int line = 2 * depth;               // bytes, as wide as TMA's swizzle
  static constexpr int plane = side * line;
  static constexpr int stage_bytes = 2 * planes * plane;
  static constexpr int kStages = ring_bytes / stage_bytes;
  static constexpr int sums = ring_bytes + 2 * kStores * store_bytes, barriers = sums + 2 * 4 * 3 * 8;
  static constexpr int shared = 1024 + barriers + 16 * kStages;
  static constexpr int results = real ? 64 : 128;  // accumulators per thread
  static constexpr int second = Real && !Product ? 1 : 64;  // registers per thread for imaginary parts, or for a second group
};

// The destination of tiles and of their sums.
struct Target {
  int64_t rows, cols;
  int down, across;  // rows and columns of tiles
  bool triangle;     // only tiles on and above the diagonal
  bool tma_stores;   // lines of K and of its mirror are multiples of 16 bytes, as TMA requires
  float* k;
  int64_t ld;
  float* mirror;  // nullptr if there is none
  int64_t ld_mirror;
  float one;        // the value of the diagonal; 0: the computed one
  double const* norms;  // <psi|psi>^2 of the rows' states, if K is normalized by it plus jitter
  double jitter;
  float scale;      // scale of a factor's squared moduli
  double* partial;  // sum, sum of squares, largest |diagonal - 1| of each part of a block
  float* accumulators;  // partial sums of each block's threads, if there are more than steps_per_partial steps
};

__host__ __device__ inline int tiles_of(bool triangle, int down, int across) { return triangle ? down * (down + 1) / 2 : down * across; }

// Maps increasing tile numbers to tiles.
struct TileScheduler {
  int row, before;  // the first row of the current band, and the number of tiles in earlier bands; initially 0
  // Finds the tile with number t.
  __device__ void locate(Target const& p, int t, int& bi, int& bj) {
    for (;; row += band_rows) {
      int const h = min(band_rows, p.down - row), corner = p.triangle ? h * (h + 1) / 2 : 0, right = p.triangle ? row + h : 0;
      int const n = corner + (p.across - right) * h;
      int at = t - before;
      if (at >= n) {
        before += n;
        continue;
      }
      if (at < corner) {
        int c = 0;
        for (; at > c; ++c) at -= c + 1;
        bi = row + at, bj = row + c;
        return;
      }
      at -= corner;
      int const down = h == band_rows ? at / band_rows : at / h;
      bi = row + at - down * h, bj = right + down;
      return;
    }
  }
};

// Sums over the entries off the diagonal, and the largest deviation of the diagonal from 1. Four independent sums of
// each kind hide the latency.
struct Sums {
  double sum[4]{}, squares[4]{}, off = 0;
  __device__ void add(float v, int i) {
    double const d = v;
    sum[i % 4] += d;
    squares[i % 4] += d * d;
  }
  // Adds four entries, summed in float32 first: an error of 2e-10 in a mean over 2^14 entries.
  __device__ void add_four(float a, float b, float c, float d, int i) {
    sum[i % 4] += (a + b) + (c + d);
    squares[i % 4] += (a * a + b * b) + (c * c + d * d);
  }
  // Compares an entry of the diagonal with 1.
  __device__ void diagonal(double v) {
    double const d = fabs(v - 1);
    off = d <= off ? off : d;  // keeps NaN
  }
  // Adds the sums of a warp's threads to `to`. A block computes its tiles in the same order in every run.
  __device__ void add_warp(double (&to)[3], bool diagonal) const {
    double a = (sum[0] + sum[1]) + (sum[2] + sum[3]), b = (squares[0] + squares[1]) + (squares[2] + squares[3]);
    for (int d = 16; d > 0; d /= 2) {
      a += __shfl_down_sync(~0u, a, d);
      b += __shfl_down_sync(~0u, b, d);
    }
    double o = off;
    if (diagonal) {
      for (int d = 16; d > 0; d /= 2) {
        double const other = __shfl_down_sync(~0u, o, d);
        o = other <= o ? o : other;
      }
    }
    if (threadIdx.x % 32 != 0) return;
    to[0] += a;
    to[1] += b;
    if (!(o <= to[2])) to[2] = o;
  }
  // Adds the sums of n warps in their order.
  __device__ static void write(double const (*warps)[3], int n, double* to) {
    double s[3] = {warps[0][0], warps[0][1], warps[0][2]};
    for (int w = 1; w < n; ++w) {
      s[0] += warps[w][0];
      s[1] += warps[w][1];
      s[2] = warps[w][2] <= s[2] ? s[2] : warps[w][2];
    }
    for (int c = 0; c < 3; ++c) to[c] = s[c];
  }
};

// The offset of column c of line r in boxes of 32 columns and `lines` lines, in TMA's swizzle, which avoids bank conflicts.
__device__ inline uint32_t swizzled(int r, int c) {
  return c / 32 * (lines * 128) + r * 128 + ((c % 32 / 4) ^ (r % 8)) * 16 + c % 4 * 4;
}

#if __CUDA_ARCH__ >= 900
// Stores a box from shared memory to a matrix. Entries outside the matrix are not stored. K is not read soon, so its lines
// are evicted from L2 first, which is a tenth faster than the default policy.
__device__ inline void store_box(CUtensorMap const* map, int64_t x, int64_t y, uint32_t from) {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint [%0, {%1, %2}], [%3], %4;" ::"l"(map),
               "r"(static_cast<int>(x)), "r"(static_cast<int>(y)), "r"(from), "l"(policy)
               : "memory");
}
#endif

// Converts n states [n, width] to planes [planes][n][pitch] of float16. With norms, a state is divided by its length.
template <class F>
__global__ void __launch_bounds__(256)
    planes_kernel(float const* state, int64_t n, int64_t width, int64_t pitch, double const* norms, double jitter, __half* out) {
  int64_t const parts = pitch / 8;
  int64_t const at = int64_t(blockIdx.x) * 256 + threadIdx.x;
  if (at >= n * parts) return;
  int64_t const row = at / parts;
  int64_t const c = at % parts * 8;
  constexpr int of = F::real ? 1 : 2;
  float const scale = norms != nullptr ? static_cast<float>(16384 * rsqrt(sqrt(norms[row] + jitter))) : 16384;
  float v[8 * of];
  float const* from = state + (row * width + c) * of;
  if (c + 8 <= width) {
#pragma unroll
    for (int i = 0; i < 2 * of; ++i) {
      float4 const x = reinterpret_cast<float4 const*>(from)[i];
      v[4 * i] = x.x, v[4 * i + 1] = x.y, v[4 * i + 2] = x.z, v[4 * i + 3] = x.w;
    }
  } else {
#pragma unroll
    for (int i = 0; i < 8 * of; ++i) v[i] = c * of + i < width * of ? from[i] : 0;
  }
#pragma unroll
  for (int part = 0; part < of; ++part) {
    union {
      __half h[8];
      uint4 vector;
    } high, low;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float const x = v[of * i + part] * scale;
      high.h[i] = __float2half_rn(x);
      low.h[i] = __float2half_rn(x - __half2float(high.h[i]));
    }
    __half* to = out + (part * n + row) * pitch + c;
    *reinterpret_cast<uint4*>(to) = high.vector;
    if constexpr (F::split) *reinterpret_cast<uint4*>(to + of * n * pitch) = low.vector;
  }
}

}  // namespace
}  // namespace gram
}  // namespace gpk
