// quantum_gram.cuh: |<a|b>|^2 of states for Hopper, from their planes of float16
// to K and its mirror in one kernel.
//
// A state's amplitudes, times 2^14, are stored as float16 planes X and Y of their real and imaginary parts. With
// Split there are two more planes, with the rounding errors of the first two: 22 bits in all. Real states have no Y.
// Amplitudes are at most 1, so they are within float16's range, and the representation error is below 2^-38. To
// normalize K, states are divided by their lengths when the planes are made. With U and V the planes of the columns,
//
//  re = X U^T + Y V^T      im = Y U^T - X V^T
//
// where a product of split planes is high high + (high low + low high).
//
// A producer warp fills a ring of steps in shared memory by TMA. Two consumer warpgroups compute 64 rows and all
// columns of a tile each. The products of a step have their own accumulator, which is added to the result with
// rounding to nearest, because the tensor cores truncate. While one warpgroup adds, or stores, the other multiplies.
//
// A finished tile is stored to K and, through shared memory, to its mirror. The sums for a report are computed at the
// same time, in a fixed order.
#pragma once
#include <cuda_fp16.h>

#include "quantum.cuh"
#include "sm90.cuh"

namespace gpk {
namespace gram {
namespace {

using namespace sm90;

constexpr int side = 128;     // rows and columns of a tile
constexpr int lines = 64;      // rows per warpgroup
constexpr int strip = 8;      // rows of tiles that are visited together, column by column
constexpr int ring = 128 << 10;
constexpr int store_bytes = lines * lines * 4, kStores = 3;  // per warpgroup: parts of a tile that are being stored
constexpr int threads = 384;

// Product: for circuits that do not entangle, see quantum_closed.cuh. Factor: K is the product of several such
// matrices, whose errors add up.
template <bool Real, bool Split, bool Product = false, bool Factor = false>
struct Form {
  static constexpr bool real = Real, split = Split, product = Product, factor = Factor;
  static constexpr int fold = Factor ? 32 : 128;  // steps per partial sum, if there are more
  static constexpr int planes = (Real ? 1 : 2) * (Split ? 2 : 1);
  static constexpr int depth = planes == 4 || Product ? 32 : 64;  // amplitudes per step
  static constexpr int line = 2 * depth;               // bytes, as wide as TMA's swizzle
  static constexpr int plane = side * line;
  static constexpr int stage = 2 * planes * plane;
  static constexpr int stages = ring / stage;
  static constexpr int sums = ring + 2 * kStores * store_bytes, barriers = sums + 2 * 4 * 3 * 8;
  static constexpr int shared = 1024 + barriers + 16 * stages;
  static constexpr int results = real ? 64 : 128;  // results per thread
  static constexpr int second = Real && !Product ? 1 : 64;  // sums per thread in addition to those of real parts
};

// The destination of tiles and of their sums.
struct Target {
  int64_t rows, cols;
  int down, across;  // number of tiles
  bool triangle;     // only tiles on and above the diagonal
  bool boxes;        // lines of K and of its mirror are multiples of 16 bytes, so that TMA can write them
  float* k;
  int64_t ld;
  float* mirror;  // nullptr if there is none
  int64_t ld_mirror;
  float one;        // the value of the diagonal; 0: the computed one
  double const* norms;  // <psi|psi>^2 of the rows' states, if K is normalized by it plus jitter
  double jitter;
  float scale;      // scale of a factor's squared moduli
  double* partial;  // sum, sum of squares, largest |diagonal - 1| of each part of a block
  float* folded;    // the partial sums of a block's threads, if there are more than `fold` steps
};

__host__ __device__ inline int tiles_of(bool triangle, int down, int across) { return triangle ? down * (down + 1) / 2 : down * across; }

// Maps tile numbers to tiles; the numbers have to increase.
struct Walk {
  int row, before;  // the strip's first row of tiles, and the number of tiles in earlier strips; 0 at first
  // Finds the tile with number t.
  __device__ void locate(Target const& p, int t, int& bi, int& bj) {
    for (;; row += strip) {
      int const h = min(strip, p.down - row), corner = p.triangle ? h * (h + 1) / 2 : 0, right = p.triangle ? row + h : 0;
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
      int const down = h == strip ? at / strip : at / h;
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
  // Adds a warp's sums to `to`: tiles have the same order in every run.
  __device__ void of_warp(double (&to)[3], bool diagonal) const {
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
  // Adds the sums of the warps in their order.
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

// The offset of column c of line r in boxes of 32 columns and `lines` lines, in TMA's swizzle, which avoids bank
// conflicts.
__device__ inline uint32_t place(int r, int c) {
  return c / 32 * (lines * 128) + r * 128 + ((c % 32 / 4) ^ (r % 8)) * 16 + c % 4 * 4;
}

#if __CUDA_ARCH__ >= 900
// Writes a box of shared memory to the matrix, clipped to it. K is not read soon, so its lines are evicted from L2
// first: this writes a tenth faster than the default policy.
__device__ inline void write_box(CUtensorMap const* map, int64_t x, int64_t y, uint32_t from) {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  asm volatile("cp.async.bulk.tensor.2d.global.shared::cta.bulk_group.L2::cache_hint [%0, {%1, %2}], [%3], %4;" ::"l"(map),
               "r"(static_cast<int>(x)), "r"(static_cast<int>(y)), "r"(from), "l"(policy)
               : "memory");
}
#endif

// ---- planes

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
      uint4 whole;
    } high, low;
#pragma unroll
    for (int i = 0; i < 8; ++i) {
      float const x = v[of * i + part] * scale;
      high.h[i] = __float2half_rn(x);
      low.h[i] = __float2half_rn(x - __half2float(high.h[i]));
    }
    __half* to = out + (part * n + row) * pitch + c;
    *reinterpret_cast<uint4*>(to) = high.whole;
    if constexpr (F::split) *reinterpret_cast<uint4*>(to + of * n * pitch) = low.whole;
  }
}

// ---- the kernel

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// wgmma's descriptor: lines of a plane, k contiguous, in TMA's swizzle.
template <class F>
__device__ inline uint64_t descriptor(uint32_t address) {
  return matrix_descriptor((address & 0x3ffff) >> 4, 1, 8 * F::line / 16, F::line == 128 ? 1 : 2);
}

// Sign a b^T: 64 lines by 128 of 16 amplitudes.
template <int Sign>
using Instruction = cute::SM90::GMMA::MMA_64x128x16_F32F16F16_SS<cute::SM90::GMMA::Major::K, cute::SM90::GMMA::Major::K, cute::SM90::GMMA::ScaleIn::One,
                                                                 Sign == 1 ? cute::SM90::GMMA::ScaleIn::One : cute::SM90::GMMA::ScaleIn::Neg>;

// Adds the products of a step to sum, or replaces it: those of planes 0 and 1 of the rows with planes First and 1 -
// First of the columns, the second times Sign.
template <class F, int First, int Sign>
__device__ __forceinline__ void step(float (&sum)[64], float (&d)[64], uint64_t a, uint64_t b, bool fresh) {
  constexpr uint64_t plane = F::plane / 16;
  constexpr int parts = F::real ? 1 : 2;
  warpgroup_fence_operand(d);
  cute::warpgroup_arrive();
  int add = 0;
  auto both = [&](int rows, int cols) {  // 0: high planes, 1: low ones
#pragma unroll
    for (int k = 0; k < F::depth / 16; ++k) {
      uint64_t const x = a + rows * parts * plane + 2 * k, y = b + cols * parts * plane + 2 * k;
      if constexpr (F::real) {
        wgmma<Instruction<1>>(d, x, y, add);
      } else if constexpr (First == 0) {
        wgmma<Instruction<1>>(d, x, y, add);
        wgmma<Instruction<1>>(d, x + plane, y + plane, 1);
      } else {
        wgmma<Instruction<1>>(d, x + plane, y, add);
        wgmma<Instruction<-1>>(d, x, y + plane, 1);
      }
      add = 1;
    }
  };
  if constexpr (F::split) {
    both(0, 1);
    both(1, 0);
  }
  both(0, 0);
  cute::warpgroup_commit_batch();
  cute::warpgroup_wait<0>();
  warpgroup_fence_operand(d);
#pragma unroll
  for (int i = 0; i < 64; ++i) sum[i] = fresh ? d[i] : sum[i] + d[i];
}

// Starts the inner products over the 16 numbers of one group.
template <class F>
__device__ __forceinline__ void start(float (&d)[64], uint64_t a, uint64_t b, int group) {
  constexpr uint64_t plane = F::plane / 16;
  warpgroup_fence_operand(d);
  cute::warpgroup_arrive();
  wgmma<Instruction<1>>(d, a + plane + 2 * group, b + 2 * group, 0);
  wgmma<Instruction<1>>(d, a + 2 * group, b + plane + 2 * group, 1);
  wgmma<Instruction<1>>(d, a + 2 * group, b + 2 * group, 1);
  cute::warpgroup_commit_batch();
}

// Multiplies v by d, once all but Left of the started products have ended.
template <int Left>
__device__ __forceinline__ void take(float (&v)[64], float (&d)[64], float scale) {
  cute::warpgroup_wait<Left>();
  warpgroup_fence_operand(d);
#pragma unroll
  for (int i = 0; i < 64; ++i) v[i] *= scale == 1 ? d[i] : d[i] * scale;
}

__device__ __forceinline__ void square(float (&v)[64]) {
#pragma unroll
  for (int i = 0; i < 64; ++i) v[i] *= v[i];
}

// Adds a thread's accumulators to its partial sums in the workspace, and loads the totals.
template <class F>
__device__ __forceinline__ void put_aside(Target const& p, int group, float (&re)[64], float (&im)[F::second], bool first) {
  float* const mine = p.folded + int64_t(blockIdx.x) * F::results * 256 + group * 128 + threadIdx.x % 128;
#pragma unroll
  for (int i = 0; i < F::results; ++i) {
    float& x = i < 64 ? re[i % 64] : im[F::real ? 0 : i % 64];
    if (!first) x += mine[256 * i];
    mine[256 * i] = x;
  }
}
#endif

template <class F>
__global__ void __launch_bounds__(threads, 1)
    kernel(CUtensorMap const __grid_constant__ map_x, CUtensorMap const __grid_constant__ map_y, CUtensorMap const __grid_constant__ map_k,
           CUtensorMap const __grid_constant__ map_mirror, Target const __grid_constant__ p, int steps, int squared) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char raw[];
  unsigned char* const room = raw + (1024 - shared_address(raw) % 1024) % 1024;
  uint32_t const tiles = shared_address(room);
  auto* const sums = reinterpret_cast<double(*)[3]>(room + F::sums);
  Barriers const full_barriers{tiles + F::barriers}, empty_barriers{full_barriers[F::stages]};
  int const count = tiles_of(p.triangle, p.down, p.across);
  if (threadIdx.x == 0) {
    for (int i = 0; i < F::stages; ++i) {
      mbarrier_init(full_barriers[i], 1);
      mbarrier_init(empty_barriers[i], 2);
    }
    mbarrier_init_fence();
  }
  __syncthreads();
  int stage = 0;
  unsigned phase = 0;
  auto next = [&] {
    if (++stage == F::stages) stage = 0, phase ^= 1;
  };
  if (threadIdx.x < 128) {
    warpgroup_reg_dealloc<24>();
    if (threadIdx.x != 0) return;
    Walk walk{0, 0};
    for (int t = blockIdx.x; t < count; t += gridDim.x) {
      int bi, bj;
      walk.locate(p, t, bi, bj);
      for (int s = 0; s < steps; ++s, next()) {
        mbarrier_wait(empty_barriers[stage], phase ^ 1);
        mbarrier_arrive_expect_tx(full_barriers[stage], F::stage);
        uint32_t const to = tiles + stage * F::stage;
        tma_load(to, &map_x, s * F::depth, bi * side, 0, full_barriers[stage]);
        tma_load(to + F::stage / 2, &map_y, s * F::depth, bj * side, 0, full_barriers[stage]);
      }
    }
    return;
  }
  warpgroup_reg_alloc<240>();
  int const group = threadIdx.x / 128 - 1, t = threadIdx.x % 128, warp = t / 32, lane = t % 32;
  float re[64], im[F::second], d[64];
  int turn = 0;  // number of kStores that have been used
  if (lane == 0)
    for (int c = 0; c < 3; ++c) sums[4 * group + warp][c] = 0;
  Walk walk{0, 0};
  for (int at = blockIdx.x; at < count; at += gridDim.x) {
    int bi, bj;
    walk.locate(p, at, bi, bj);
    auto release = [&](int stage) {
      if (t == 0) mbarrier_arrive(empty_barriers[stage]);
    };
    if constexpr (F::product) {
#pragma unroll
      for (int i = 0; i < 64; ++i) re[i] = 1;
      for (int s = 0; s < steps; ++s, next()) {
        mbarrier_wait(full_barriers[stage], phase);
        uint32_t const from = tiles + stage * F::stage;
        uint64_t const a = descriptor<F>(from + group * lines * F::line), b = descriptor<F>(from + F::stage / 2);
        start<F>(d, a, b, 0);
        start<F>(im, a, b, 1);
        take<1>(re, d, 0x1p-28f);  // the planes are scaled by 2^7
        take<0>(re, im, 1);
        release(stage);
        if (s + 1 == squared) square(re);
      }
    }
    for (int s = 0; !F::product && s < steps; ++s, next()) {
      bool const fresh = s % F::fold == 0;
      if (fresh && s > 0) {
        put_aside<F>(p, group, re, im, s == F::fold);
      }
      mbarrier_wait(full_barriers[stage], phase);
      uint32_t const from = tiles + stage * F::stage;
      uint64_t const a = descriptor<F>(from + group * lines * F::line), b = descriptor<F>(from + F::stage / 2);
      step<F, 0, 1>(re, d, a, b, fresh);
      if constexpr (!F::real) step<F, 1, -1>(im, d, a, b, fresh);
      release(stage);
    }
    if constexpr (!F::product) {
      if (steps > F::fold) put_aside<F>(p, group, re, im, false);
#pragma unroll
      for (int i = 0; i < 64; ++i) {
        re[i] *= re[i];
        if constexpr (!F::real) re[i] += im[i] * im[i];
        re[i] *= F::factor ? p.scale : 0x1p-56f;
      }
    }
    // A thread has the columns 8 j + 2 (lane % 4) and the next, of two rows.
    int64_t const i0 = int64_t(bi) * side + group * lines, j0 = int64_t(bj) * side;
    bool const diagonal = p.triangle && bi == bj;
    bool const whole = !diagonal && i0 + lines <= p.rows && j0 + side <= p.cols;
    int const row = 16 * warp + lane / 4, pair = lane % 4;
    Sums sum;
    if (whole) {
#pragma unroll
      for (int i = 0; i < 64; i += 4) sum.add_four(re[i], re[i + 1], re[i + 2], re[i + 3], i / 4);
    } else {
      double by[2] = {1, 1};  // undoes the division for the diagonal
      if (diagonal && p.norms != nullptr) {
        for (int h = 0; h < 2; ++h)
          if (i0 + row + 8 * h < p.rows) by[h] = p.norms[i0 + row + 8 * h] + p.jitter;
      }
#pragma unroll
      for (int i = 0; i < 64; ++i) {
        int64_t const r = i0 + row + i / 2 % 2 * 8, c = j0 + 2 * pair + i / 4 * 8 + i % 2;
        if (r >= p.rows || c >= p.cols) continue;
        if (diagonal && r == c) {
          sum.diagonal(re[i] * by[i / 2 % 2]);
          if (p.one != 0) re[i] = p.one;
        } else if (!diagonal || r < c) {
          sum.add(re[i], i);
        }
      }
    }
    sum.of_warp(sums[4 * group + warp], diagonal);
    bool const boxes = p.boxes && !diagonal;
    // Four parts of 64 x 64: two of the tile, then two of its mirror.
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      if (part >= 2 && p.mirror == nullptr) break;
      int const h = part % 2;
      unsigned char* const to = room + ring + (group * kStores + turn % kStores) * store_bytes;
      ++turn;
      if (t == 0) tma_store_wait_read<kStores - 1>();
      named_barrier_sync_aligned(1 + group, 128);
#pragma unroll
      for (int i = 32 * h; i < 32 * h + 32; i += 2) {
        int const r = row + i / 2 % 2 * 8, c = i / 4 % 8 * 8 + 2 * pair;
        if (part < 2) {
          *reinterpret_cast<float2*>(to + place(r, c)) = make_float2(re[i], re[i + 1]);
        } else {
          *reinterpret_cast<float*>(to + place(c, r)) = re[i];
          *reinterpret_cast<float*>(to + place(c + 1, r)) = re[i + 1];
        }
      }
      int64_t const x = part < 2 ? j0 + lines * h : i0, y = part < 2 ? i0 : j0 + lines * h;
      if (boxes) {
        fence_proxy_async();
        named_barrier_sync_aligned(1 + group, 128);
        if (t != 0) continue;
        for (int box = 0; box < 2; ++box) write_box(part < 2 ? &map_k : &map_mirror, x + 32 * box, y, shared_address(to) + box * store_bytes / 2);
        tma_store_commit();
        continue;
      }
      if (t == 0) tma_store_commit();  // an empty group, so that there is one group per iteration
      named_barrier_sync_aligned(1 + group, 128);
      float* const k = part < 2 ? p.k : p.mirror;
      int64_t const ld = part < 2 ? p.ld : p.ld_mirror, high = part < 2 ? p.rows : p.cols, wide = part < 2 ? p.cols : p.rows;
      for (int e = t; e < lines * lines; e += 128) {
        int64_t const r = y + e / lines, c = x + e % lines;
        if (r >= high || c >= wide || (diagonal && (part < 2 ? r > c : c >= r))) continue;
        k[r * ld + c] = *reinterpret_cast<float const*>(to + place(e / lines, e % lines));
      }
    }
  }
  named_barrier_sync_aligned(1 + group, 128);
  if (t == 0) {
    Sums::write(sums + 4 * group, 4, p.partial + 3 * (2 * int64_t(blockIdx.x) + group));
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
#endif
}

// Encodes a TMA descriptor of planes [planes][n][pitch]; a box is a step of 128 lines of all planes.
template <class F>
bool encode_planes(CUtensorMap* map, uint64_t planes, int64_t n, int64_t pitch) {
  cuuint64_t const dims[3] = {cuuint64_t(pitch), cuuint64_t(n), cuuint64_t(F::planes)};
  cuuint64_t const strides[2] = {cuuint64_t(2 * pitch), cuuint64_t(2 * pitch * n)};
  cuuint32_t const box[3] = {F::depth, side, F::planes}, ones[3] = {1, 1, 1};
  CUresult const e = encode_tiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3, reinterpret_cast<void*>(planes), dims, strides, box, ones,
                                  CU_TENSOR_MAP_INTERLEAVE_NONE, F::line == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
                                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return e == CUDA_SUCCESS && !take_tma_error();
}

// Encodes a TMA descriptor of a float32 matrix; a box is 32 columns of 64 lines.
inline bool encode_matrix(CUtensorMap* map, float* k, int64_t rows, int64_t cols, int64_t ld) {
  cuuint64_t const dims[2] = {cuuint64_t(cols), cuuint64_t(rows)}, strides[1] = {cuuint64_t(4 * ld)};
  cuuint32_t const box[2] = {32, lines}, ones[2] = {1, 1};
  CUresult const e = encode_tiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, k, dims, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                  CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return e == CUDA_SUCCESS && !take_tma_error();
}

// Encodes TMA descriptors of K and its mirror if TMA can write both. Returns false if the driver refuses one.
inline bool encode_target(Target const& p, CUtensorMap* k, CUtensorMap* mirror) {
  *k = *mirror = CUtensorMap{};
  if (!p.boxes) return true;
  return encode_matrix(k, p.k, p.rows, p.cols, p.ld) && (p.mirror == nullptr || encode_matrix(mirror, p.mirror, p.cols, p.rows, p.ld_mirror));
}

}  // namespace
}  // namespace gram
}  // namespace gpk
