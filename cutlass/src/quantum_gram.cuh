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

namespace gpk {
namespace gram {
namespace {

constexpr int side = 128;     // rows and columns of a tile
constexpr int lines = 64;      // rows per warpgroup
constexpr int strip = 8;      // rows of tiles that are visited together, column by column
constexpr int ring = 128 << 10;
constexpr int slot = lines * lines * 4, slots = 3;  // per warpgroup: parts of a tile that are being stored
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
  static constexpr int sums = ring + 2 * slots * slot, barriers = sums + 2 * 4 * 3 * 8;
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
__device__ inline uint32_t shared_address(void const* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

__device__ inline void await(uint32_t barrier, unsigned parity) {
  asm volatile(
      "{\n\t.reg .pred p;\n"
      "again:\n\tmbarrier.try_wait.parity.shared.b64 p, [%0], %1;\n\t@!p bra again;\n\t}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

__device__ inline void copy_box(uint32_t to, CUtensorMap const* map, int x, int y, uint32_t barrier) {
  asm volatile(
      "cp.async.bulk.tensor.3d.shared::cluster.global.tile.mbarrier::complete_tx::bytes [%0], [%1, {%2, %3, %4}], "
      "[%5];" ::"r"(to),
      "l"(map), "r"(x), "r"(y), "r"(0), "r"(barrier)
      : "memory");
}

__device__ inline void meet(int group) { asm volatile("bar.sync %0, 128;" ::"r"(1 + group) : "memory"); }

// wgmma's descriptor: lines of a plane, k contiguous, in TMA's swizzle.
template <class F>
__device__ inline uint64_t describe(uint32_t address) {
  constexpr uint64_t eight = 8 * F::line / 16, swizzle = F::line == 128 ? 1 : 2;
  return uint64_t((address & 0x3ffff) >> 4) | uint64_t(1) << 16 | eight << 32 | swizzle << 62;
}

// d = Sign a b^T, or d += Sign a b^T if `add` is set: 64 lines by 128 of 16 amplitudes.
template <int Sign>
__device__ __forceinline__ void multiply(float (&d)[64], uint64_t a, uint64_t b, int add) {
  asm volatile(
      "{\n\t.reg .pred p;\n\tsetp.ne.b32 p, %66, 0;\n\t"
      "wgmma.mma_async.sync.aligned.m64n128k16.f32.f16.f16 {"
      "%0, %1, %2, %3, %4, %5, %6, %7, %8, %9, %10, %11, %12, %13, %14, %15, "
      "%16, %17, %18, %19, %20, %21, %22, %23, %24, %25, %26, %27, %28, %29, %30, %31, "
      "%32, %33, %34, %35, %36, %37, %38, %39, %40, %41, %42, %43, %44, %45, %46, %47, "
      "%48, %49, %50, %51, %52, %53, %54, %55, %56, %57, %58, %59, %60, %61, %62, %63"
      "}, %64, %65, p, 1, %67, 0, 0;\n\t}"
      :
        "+f"(d[0]), "+f"(d[1]), "+f"(d[2]), "+f"(d[3]), "+f"(d[4]), "+f"(d[5]), "+f"(d[6]), "+f"(d[7]),
        "+f"(d[8]), "+f"(d[9]), "+f"(d[10]), "+f"(d[11]), "+f"(d[12]), "+f"(d[13]), "+f"(d[14]), "+f"(d[15]),
        "+f"(d[16]), "+f"(d[17]), "+f"(d[18]), "+f"(d[19]), "+f"(d[20]), "+f"(d[21]), "+f"(d[22]), "+f"(d[23]),
        "+f"(d[24]), "+f"(d[25]), "+f"(d[26]), "+f"(d[27]), "+f"(d[28]), "+f"(d[29]), "+f"(d[30]), "+f"(d[31]),
        "+f"(d[32]), "+f"(d[33]), "+f"(d[34]), "+f"(d[35]), "+f"(d[36]), "+f"(d[37]), "+f"(d[38]), "+f"(d[39]),
        "+f"(d[40]), "+f"(d[41]), "+f"(d[42]), "+f"(d[43]), "+f"(d[44]), "+f"(d[45]), "+f"(d[46]), "+f"(d[47]),
        "+f"(d[48]), "+f"(d[49]), "+f"(d[50]), "+f"(d[51]), "+f"(d[52]), "+f"(d[53]), "+f"(d[54]), "+f"(d[55]),
        "+f"(d[56]), "+f"(d[57]), "+f"(d[58]), "+f"(d[59]), "+f"(d[60]), "+f"(d[61]), "+f"(d[62]), "+f"(d[63])
      : "l"(a), "l"(b), "r"(add), "n"(Sign));
}

// Keeps the compiler from moving accesses to d across a wait.
__device__ __forceinline__ void hold(float (&d)[64]) {
#pragma unroll
  for (int i = 0; i < 64; ++i) asm volatile("" : "+f"(d[i])::"memory");
}

// Adds the products of a step to sum, or replaces it: those of planes 0 and 1 of the rows with planes First and 1 -
// First of the columns, the second times Sign.
template <class F, int First, int Sign>
__device__ __forceinline__ void step(float (&sum)[64], float (&d)[64], uint64_t a, uint64_t b, bool fresh) {
  constexpr uint64_t plane = F::plane / 16;
  constexpr int parts = F::real ? 1 : 2;
  hold(d);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  int add = 0;
  auto both = [&](int rows, int cols) {  // 0: high planes, 1: low ones
#pragma unroll
    for (int k = 0; k < F::depth / 16; ++k) {
      uint64_t const x = a + rows * parts * plane + 2 * k, y = b + cols * parts * plane + 2 * k;
      if constexpr (F::real) {
        multiply<1>(d, x, y, add);
      } else if constexpr (First == 0) {
        multiply<1>(d, x, y, add);
        multiply<1>(d, x + plane, y + plane, 1);
      } else {
        multiply<1>(d, x + plane, y, add);
        multiply<-1>(d, x, y + plane, 1);
      }
      add = 1;
    }
  };
  if constexpr (F::split) {
    both(0, 1);
    both(1, 0);
  }
  both(0, 0);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
  asm volatile("wgmma.wait_group.sync.aligned 0;" ::: "memory");
  hold(d);
#pragma unroll
  for (int i = 0; i < 64; ++i) sum[i] = fresh ? d[i] : sum[i] + d[i];
}

// Starts the inner products over the 16 numbers of one group.
template <class F>
__device__ __forceinline__ void start(float (&d)[64], uint64_t a, uint64_t b, int group) {
  constexpr uint64_t plane = F::plane / 16;
  hold(d);
  asm volatile("wgmma.fence.sync.aligned;" ::: "memory");
  multiply<1>(d, a + plane + 2 * group, b + 2 * group, 0);
  multiply<1>(d, a + 2 * group, b + plane + 2 * group, 1);
  multiply<1>(d, a + 2 * group, b + 2 * group, 1);
  asm volatile("wgmma.commit_group.sync.aligned;" ::: "memory");
}

// Multiplies v by d, once all but Left of the started products have ended.
template <int Left>
__device__ __forceinline__ void take(float (&v)[64], float (&d)[64], float scale) {
  asm volatile("wgmma.wait_group.sync.aligned %0;" ::"n"(Left) : "memory");
  hold(d);
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
  uint32_t const full = tiles + F::barriers, empty = full + 8 * F::stages;
  int const count = tiles_of(p.triangle, p.down, p.across);
  if (threadIdx.x == 0) {
    for (int i = 0; i < F::stages; ++i) {
      asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(full + 8 * i));
      asm volatile("mbarrier.init.shared.b64 [%0], 2;" ::"r"(empty + 8 * i));
    }
    asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
  }
  __syncthreads();
  int stage = 0;
  unsigned phase = 0;
  auto next = [&] {
    if (++stage == F::stages) stage = 0, phase ^= 1;
  };
  if (threadIdx.x < 128) {
    asm volatile("setmaxnreg.dec.sync.aligned.u32 24;");
    if (threadIdx.x != 0) return;
    Walk walk{0, 0};
    for (int t = blockIdx.x; t < count; t += gridDim.x) {
      int bi, bj;
      walk.locate(p, t, bi, bj);
      for (int s = 0; s < steps; ++s, next()) {
        await(empty + 8 * stage, phase ^ 1);
        asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(full + 8 * stage), "r"(F::stage) : "memory");
        uint32_t const to = tiles + stage * F::stage;
        copy_box(to, &map_x, s * F::depth, bi * side, full + 8 * stage);
        copy_box(to + F::stage / 2, &map_y, s * F::depth, bj * side, full + 8 * stage);
      }
    }
    return;
  }
  asm volatile("setmaxnreg.inc.sync.aligned.u32 240;");
  int const group = threadIdx.x / 128 - 1, t = threadIdx.x % 128, warp = t / 32, lane = t % 32;
  float re[64], im[F::second], d[64];
  int turn = 0;  // number of slots that have been used
  if (lane == 0)
    for (int c = 0; c < 3; ++c) sums[4 * group + warp][c] = 0;
  Walk walk{0, 0};
  for (int at = blockIdx.x; at < count; at += gridDim.x) {
    int bi, bj;
    walk.locate(p, at, bi, bj);
    auto release = [&](int stage) {
      if (t == 0) asm volatile("mbarrier.arrive.shared.b64 _, [%0];" ::"r"(empty + 8 * stage) : "memory");
    };
    if constexpr (F::product) {
#pragma unroll
      for (int i = 0; i < 64; ++i) re[i] = 1;
      for (int s = 0; s < steps; ++s, next()) {
        await(full + 8 * stage, phase);
        uint32_t const from = tiles + stage * F::stage;
        uint64_t const a = describe<F>(from + group * lines * F::line), b = describe<F>(from + F::stage / 2);
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
      await(full + 8 * stage, phase);
      uint32_t const from = tiles + stage * F::stage;
      uint64_t const a = describe<F>(from + group * lines * F::line), b = describe<F>(from + F::stage / 2);
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
      unsigned char* const to = room + ring + (group * slots + turn % slots) * slot;
      ++turn;
      if (t == 0) asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(slots - 1) : "memory");
      meet(group);
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
        asm volatile("fence.proxy.async.shared::cta;" ::: "memory");
        meet(group);
        if (t != 0) continue;
        for (int box = 0; box < 2; ++box) write_box(part < 2 ? &map_k : &map_mirror, x + 32 * box, y, shared_address(to) + box * slot / 2);
        asm volatile("cp.async.bulk.commit_group;" ::: "memory");
        continue;
      }
      if (t == 0) asm volatile("cp.async.bulk.commit_group;" ::: "memory");  // an empty group, so that there is one group per iteration
      meet(group);
      float* const k = part < 2 ? p.k : p.mirror;
      int64_t const ld = part < 2 ? p.ld : p.ld_mirror, high = part < 2 ? p.rows : p.cols, wide = part < 2 ? p.cols : p.rows;
      for (int e = t; e < lines * lines; e += 128) {
        int64_t const r = y + e / lines, c = x + e % lines;
        if (r >= high || c >= wide || (diagonal && (part < 2 ? r > c : c >= r))) continue;
        k[r * ld + c] = *reinterpret_cast<float const*>(to + place(e / lines, e % lines));
      }
    }
  }
  meet(group);
  if (t == 0) {
    Sums::write(sums + 4 * group, 4, p.partial + 3 * (2 * int64_t(blockIdx.x) + group));
    asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
  }
#endif
}

// Encodes a TMA descriptor of planes [planes][n][pitch]; a box is a step of 128 lines of all planes.
template <class F>
bool describe(CUtensorMap* map, uint64_t planes, int64_t n, int64_t pitch) {
  cuuint64_t const dims[3] = {cuuint64_t(pitch), cuuint64_t(n), cuuint64_t(F::planes)};
  cuuint64_t const strides[2] = {cuuint64_t(2 * pitch), cuuint64_t(2 * pitch * n)};
  cuuint32_t const box[3] = {F::depth, side, F::planes}, ones[3] = {1, 1, 1};
  CUresult const e = encode_tiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT16, 3, reinterpret_cast<void*>(planes), dims, strides, box, ones,
                                  CU_TENSOR_MAP_INTERLEAVE_NONE, F::line == 128 ? CU_TENSOR_MAP_SWIZZLE_128B : CU_TENSOR_MAP_SWIZZLE_64B,
                                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return e == CUDA_SUCCESS && !take_tma_error();
}

// Encodes a TMA descriptor of a float32 matrix; a box is 32 columns of 64 lines.
inline bool describe_matrix(CUtensorMap* map, float* k, int64_t rows, int64_t cols, int64_t ld) {
  cuuint64_t const dims[2] = {cuuint64_t(cols), cuuint64_t(rows)}, strides[1] = {cuuint64_t(4 * ld)};
  cuuint32_t const box[2] = {32, lines}, ones[2] = {1, 1};
  CUresult const e = encode_tiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, k, dims, strides, box, ones, CU_TENSOR_MAP_INTERLEAVE_NONE,
                                  CU_TENSOR_MAP_SWIZZLE_128B, CU_TENSOR_MAP_L2_PROMOTION_NONE, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return e == CUDA_SUCCESS && !take_tma_error();
}

// Encodes TMA descriptors of K and its mirror if TMA can write both. Returns false if the driver refuses one.
inline bool describe_target(Target const& p, CUtensorMap* k, CUtensorMap* mirror) {
  *k = *mirror = CUtensorMap{};
  if (!p.boxes) return true;
  return describe_matrix(k, p.k, p.rows, p.cols, p.ld) && (p.mirror == nullptr || describe_matrix(mirror, p.mirror, p.cols, p.rows, p.ld_mirror));
}

}  // namespace
}  // namespace gram
}  // namespace gpk
