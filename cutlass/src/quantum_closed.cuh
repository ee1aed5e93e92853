// quantum_closed.cuh: the Gram matrix K of circuits that do not entangle their wires, for Hopper: the product over
// wires of |<a|b>|^2, written once with its mirror.
//
// Few wires: the vectors of a group of wires are multiplied out to 16 numbers each, once per sample, and tensor cores
// compute the inner products of these. Four wires whose states lie in a plane have real amplitudes, |<a|b>| = |u.v|
// with two numbers per wire. Two other wires use their Bloch vectors, |<a|b>|^2 = (1 + r.s) / 2, with four numbers
// per wire. Both are stored as float16 planes of 22 bits, see quantum_gram.cuh, whose kernel has a form that
// multiplies where it otherwise adds. Each product has a rounding error of about 1e-7.
//
// Many wires: 1 - |r - s|^2 / 4 of Bloch vectors, whose error does not grow with the number of wires. TMA loads the
// coordinates of four wires at a time into a ring that reaches into the next tile, and no warp waits for another
// unless it is a tile ahead. A thread stores its 8 x 8 entries from registers to K and to its mirror.
#pragma once
#include "quantum_gram.cuh"

namespace gpk {
namespace closed {
namespace {

using namespace sm90;

constexpr int side = gram::side;
constexpr int wires = 4;     // per step
constexpr int threads = 256;
constexpr int kStages = 8, ahead = 4;  // `ahead` steps are in flight when one begins
constexpr int max_lines = 3 * wires;
constexpr int stage_bytes = 2 * max_lines * side * 4;
constexpr int sums = kStages * stage_bytes, barriers = sums + threads / 32 * 3 * 8;
constexpr int shared = barriers + 16 * kStages + 128;

// Steps of wires with two coordinates, and of wires with three.
struct Points {
  int planar, full;
};

// The next step to load.
struct Fetch {
  int tile, step, stage, i, j;
  unsigned phase;
  gram::Walk walk;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// Multiplies v by the factors of a step's wires with Axes coordinates.
template <int Axes>
__device__ __forceinline__ void multiply(float (&v)[8][8], float const* rows, float const* cols) {
#pragma unroll 1
  for (int w = 0; w < wires; ++w) {
    auto four = [&](float const* from, float (&to)[8], int at) {
      float4 const x = *reinterpret_cast<float4 const*>(from);
      to[at] = x.x, to[at + 1] = x.y, to[at + 2] = x.z, to[at + 3] = x.w;
    };
    float a[Axes][8];
#pragma unroll
    for (int c = 0; c < Axes; ++c) {
      four(rows + (w * Axes + c) * side, a[c], 0);
      four(rows + (w * Axes + c) * side + 32, a[c], 4);
    }
#pragma unroll
    for (int h = 0; h < 8; h += 4) {
      float b[Axes][8];
#pragma unroll
      for (int c = 0; c < Axes; ++c) four(cols + (w * Axes + c) * side + 4 * h, b[c], h);
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = h; j < h + 4; ++j) {
          float f = 1;
#pragma unroll
          for (int c = 0; c < Axes; ++c) {
            float const d = a[c][i] - b[c][j];
            f -= d * d;
          }
          v[i][j] *= f;
        }
    }
  }
}
#endif

__global__ void __launch_bounds__(threads, 2)
    kernel(CUtensorMap const __grid_constant__ rows2, CUtensorMap const __grid_constant__ cols2, CUtensorMap const __grid_constant__ rows3,
           CUtensorMap const __grid_constant__ cols3, Points const __grid_constant__ of, gram::Target const __grid_constant__ p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char raw[];
  unsigned char* const room = raw + (128 - shared_address(raw) % 128) % 128;
  uint32_t const tiles = shared_address(room);
  Barriers const full_barriers{tiles + barriers}, empty_barriers{full_barriers[kStages]};
  auto* const sums = reinterpret_cast<double(*)[3]>(room + closed::sums);
  int const count = gram::tiles_of(p.triangle, p.down, p.across), steps = of.planar + of.full;
  int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      mbarrier_init(full_barriers[i], 1);
      mbarrier_init(empty_barriers[i], threads / 32);
    }
    mbarrier_init_fence();
  }
  if (lane == 0)
    for (int c = 0; c < 3; ++c) sums[warp][c] = 0;
  __syncthreads();

  // The next step that the first thread loads. No other thread reads it.
  __shared__ Fetch next;
  auto fetch = [&] {
    Fetch f = next;
    if (f.tile >= count) return;
    if (f.step == 0) f.walk.locate(p, f.tile, f.i, f.j);
    mbarrier_wait(empty_barriers[f.stage], f.phase);
    bool const two = f.step < of.planar;
    int const line = two ? f.step * 2 * wires : (f.step - of.planar) * 3 * wires;
    uint32_t const barrier = full_barriers[f.stage], to = tiles + f.stage * stage_bytes;
    mbarrier_arrive_expect_tx(barrier, 2 * (two ? 2 : 3) * wires * side * 4);
    tma_load(to, two ? &rows2 : &rows3, f.i * side, line, barrier);
    tma_load(to + stage_bytes / 2, two ? &cols2 : &cols3, f.j * side, line, barrier);
    if (++f.stage == kStages) f.stage = 0, f.phase ^= 1;
    if (++f.step == steps) f.step = 0, f.tile += gridDim.x;
    next = f;
  };
  if (threadIdx.x == 0) {
    next = Fetch{static_cast<int>(blockIdx.x), 0, 0, 0, 0, 1, {0, 0}};
    for (int s = 0; s < ahead; ++s) fetch();
  }

  // A warp computes 64 rows and 32 columns; a lane rows r and r + 32, columns c and c + 16, and the three that follow
  // each.
  int const r0 = warp / 4 * 64 + lane % 8 * 4, c0 = warp % 4 * 32 + lane / 8 * 4;
  gram::Walk walk{0, 0};
  int stage = 0;
  unsigned phase = 0;
  for (int t = blockIdx.x; t < count; t += gridDim.x) {
    int bi, bj;
    walk.locate(p, t, bi, bj);
    float v[8][8];
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) v[i][j] = 1;
    for (int s = 0; s < steps; ++s) {
      if (threadIdx.x == 0) fetch();
      __syncwarp();
      mbarrier_wait(full_barriers[stage], phase);
      float const* const rows = reinterpret_cast<float const*>(room + stage * stage_bytes) + r0;
      float const* const cols = reinterpret_cast<float const*>(room + stage * stage_bytes + stage_bytes / 2) + c0;
      if (s < of.planar) multiply<2>(v, rows, cols);
      else multiply<3>(v, rows, cols);
      __syncwarp();
      if (lane == 0) mbarrier_arrive(empty_barriers[stage]);
      if (++stage == kStages) stage = 0, phase ^= 1;
    }
    int64_t const i0 = int64_t(bi) * side + r0, j0 = int64_t(bj) * side + c0;
    bool const diagonal = p.triangle && bi == bj;
    bool const whole = !diagonal && int64_t(bi + 1) * side <= p.rows && int64_t(bj + 1) * side <= p.cols;
    gram::Sums sum;
    if (whole && p.boxes) {
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        float* const line = p.k + (i0 + i / 4 * 32 + i % 4) * p.ld + j0;
#pragma unroll
        for (int j = 0; j < 8; j += 4) __stcs(reinterpret_cast<float4*>(line + 4 * j), make_float4(v[i][j], v[i][j + 1], v[i][j + 2], v[i][j + 3]));
      }
      if (p.mirror != nullptr) {
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          float* const line = p.mirror + (j0 + j / 4 * 16 + j % 4) * p.ld_mirror + i0;
#pragma unroll
          for (int i = 0; i < 8; i += 4) __stcs(reinterpret_cast<float4*>(line + 8 * i), make_float4(v[i][j], v[i + 1][j], v[i + 2][j], v[i + 3][j]));
        }
      }
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; j += 4) sum.add_four(v[i][j], v[i][j + 1], v[i][j + 2], v[i][j + 3], i);
    } else {
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          int64_t const r = i0 + i / 4 * 32 + i % 4, c = j0 + j / 4 * 16 + j % 4;
          if (r >= p.rows || c >= p.cols || (diagonal && r > c)) continue;
          float x = v[i][j];
          if (diagonal && r == c) {
            sum.diagonal(x);
            p.k[r * p.ld + c] = p.one;
            continue;
          }
          sum.add(x, j);
          p.k[r * p.ld + c] = x;
          if (p.mirror != nullptr) p.mirror[c * p.ld_mirror + r] = x;
        }
    }
    sum.of_warp(sums[warp], diagonal);
  }
  __syncthreads();
  if (threadIdx.x == 0) gram::Sums::write(sums, threads / 32, p.partial + 3 * int64_t(blockIdx.x));
#endif
}

// Encodes a TMA descriptor for lines of coordinates, a box being four wires of 128 samples. Lines are padded to a
// multiple of 16 bytes.
inline bool encode_points(CUtensorMap* map, uint64_t points, int64_t n, int axes, int count, int64_t ld) {
  *map = CUtensorMap{};
  if (count == 0) return true;
  cuuint64_t const dims[2] = {cuuint64_t((n + 3) / 4 * 4), cuuint64_t(axes * count)}, strides[1] = {cuuint64_t(4 * ld)};
  cuuint32_t const box[2] = {side, cuuint32_t(axes * wires)}, ones[2] = {1, 1};
  CUresult const e = encode_tiled(map, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, 2, reinterpret_cast<void*>(points), dims, strides, box, ones,
                                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_NONE, CU_TENSOR_MAP_L2_PROMOTION_L2_256B,
                                  CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return e == CUDA_SUCCESS && !take_tma_error();
}

// The number of blocks; each writes a partial sum.
int blocks(gram::Target const& to, int device) {
  int const tiles = gram::tiles_of(to.triangle, to.down, to.across), most = 2 * sm_count(device);
  return most > 0 && most < tiles ? most : tiles;
}

// Starts the kernel for many wires. Lines of x and y are aligned to 16 bytes.
int run(int device, cudaStream_t s, gram::Target const& to, uint64_t x, int64_t ld_x, uint64_t y, int64_t ld_y, int planar, int full) {
  static uint64_t allowed = 0;
  void const* code = reinterpret_cast<void const*>(&kernel);
  if (int const e = allow_shared(code, shared, device, &allowed)) return e;
  auto steps = [](int n) { return (n + wires - 1) / wires; };
  Points of{steps(planar), steps(full)};
  CUtensorMap rows2, cols2, rows3, cols3;
  auto both = [&](CUtensorMap* two, CUtensorMap* three, uint64_t at, int64_t n, int64_t ld) {
    return encode_points(two, at, n, 2, planar, ld) && encode_points(three, at + 8 * uint64_t(planar) * uint64_t(ld), n, 3, full, ld);
  };
  if (!both(&rows2, &rows3, x, to.rows, ld_x) || !both(&cols2, &cols3, y, to.cols, ld_y)) return GPK_ERR_KERNEL;
  void* params[] = {&rows2, &cols2, &rows3, &cols3, &of, const_cast<gram::Target*>(&to)};
  return launch(code, dim3(blocks(to, device)), dim3(threads), shared, s, params);
}

// ---- few wires

// Steps of groups of wires, two groups per step: first those of planar wires, then those of the other wires.
struct Groups {
  int planar, full;  // numbers of wires
  __host__ __device__ int planar_steps() const { return (planar + 7) / 8; }
  __host__ __device__ int steps() const { return planar_steps() + (full + 3) / 4; }
};

// Computes the planes of all groups of a sample, [2][n][32 steps]. Points are Bloch vectors divided by the square
// root of 2.
__global__ void __launch_bounds__(256) planes_kernel(float const* points, int64_t ld, int64_t n, Groups of, __half* out) {
  int64_t const at = int64_t(blockIdx.x) * 256 + threadIdx.x;
  if (at >= 2 * of.steps() * n) return;
  int64_t const sample = at % n;
  int const group = static_cast<int>(at / n);
  bool const plane = group < 2 * of.planar_steps();
  float v[16];
  v[0] = 1;
  if (plane) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      int const wire = 4 * group + k;
      double a = 1, b = 0;
      if (wire < of.planar) {
        double x = points[2 * wire * ld + sample], y = points[(2 * wire + 1) * ld + sample];
        double const r = rsqrt(x * x + y * y);
        x *= r, y *= r;
        a = sqrt(0.5 + 0.5 * fabs(x)), b = 0.5 * y / a;  // cosine and sine of half the angle, or of half its complement
        if (x < 0) {
          double const c = a;
          a = b, b = c;
        }
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        if (i >> k != 0) continue;
        v[i | 1 << k] = static_cast<float>(v[i] * b);
        v[i] = static_cast<float>(v[i] * a);
      }
    }
  } else {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      int const wire = 2 * (group - 2 * of.planar_steps()) + k;
      double c[4] = {1, 0, 0, 0};
      if (wire < of.full) {
        float const* from = points + (2 * of.planar + 3 * wire) * ld + sample;
        for (int i = 0; i < 3; ++i) c[1 + i] = from[i * ld];
        double const r = 0.70710678118654752440 * rsqrt(c[1] * c[1] + c[2] * c[2] + c[3] * c[3]);
        for (int i = 0; i < 3; ++i) c[1 + i] *= r;
        c[0] = 0.70710678118654752440;
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (i >> 2 * k != 0) continue;
#pragma unroll
        for (int j = 3; j >= 0; --j) v[i | j << 2 * k] = static_cast<float>(v[i] * c[j]);
      }
    }
  }
  union {
    __half h[16];
    uint4 whole[2];
  } high, low;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    float const x = v[i] * 128;
    high.h[i] = __float2half_rn(x);
    low.h[i] = __float2half_rn(x - __half2float(high.h[i]));
  }
  uint4* to = reinterpret_cast<uint4*>(out + sample * 32 * of.steps() + 16 * group);
  to[0] = high.whole[0], to[1] = high.whole[1];
  to += 4 * n * of.steps();
  to[0] = low.whole[0], to[1] = low.whole[1];
}

}  // namespace
}  // namespace closed
}  // namespace gpk
