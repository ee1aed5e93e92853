// many_wires.cuh: the Gram matrix K of circuits that do not entangle their many wires, for Hopper: the product over wires of
// |<a|b>|^2 = 1 - |r - s|^2 / 4 with Bloch vectors r and s. Its error does not grow with the number of wires.
//
// TMA loads the coordinates of four wires at a time into a ring of stages in shared memory. Loads for the next tile start
// before the current tile ends, so that warps of different tiles overlap. A thread stores its 8 x 8 entries from registers
// to K and to its mirror.
#pragma once
#include "gram_tile.cuh"

namespace gpk {
namespace many_wires {
namespace {

using namespace sm90;

constexpr int side = gram::side;
constexpr int wires = 4;     // per step
constexpr int threads = 256;
constexpr int kStages = 8, prefetch = 4;  // `prefetch` steps are being loaded when one begins
constexpr int max_lines = 3 * wires;
constexpr int stage_bytes = 2 * max_lines * side * 4;
constexpr int sums = kStages * stage_bytes, barriers = sums + threads / 32 * 3 * 8;
constexpr int shared = barriers + 16 * kStages + 128;

// The numbers of steps of wires with two coordinates, and of wires with three.
struct Steps {
  int planar, full;
};

// The next step to load.
struct Load {
  int tile, step, stage, i, j;
  unsigned phase;
  gram::TileScheduler scheduler;
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
           CUtensorMap const __grid_constant__ cols3, Steps const __grid_constant__ of, gram::Target const __grid_constant__ p) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char raw[];
  unsigned char* const smem = raw + (128 - shared_address(raw) % 128) % 128;
  uint32_t const tiles = shared_address(smem);
  Barriers const full_barriers{tiles + barriers}, empty_barriers{full_barriers[kStages]};
  auto* const sums = reinterpret_cast<double(*)[3]>(smem + many_wires::sums);
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

  // Thread 0 alone loads, and alone accesses `next`.
  __shared__ Load next;
  auto load = [&] {
    Load f = next;
    if (f.tile >= count) return;
    if (f.step == 0) f.scheduler.locate(p, f.tile, f.i, f.j);
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
    next = Load{static_cast<int>(blockIdx.x), 0, 0, 0, 0, 1, {0, 0}};
    for (int s = 0; s < prefetch; ++s) load();
  }

  // A warp computes 64 rows and 32 columns. A lane computes the rows r ... r + 3 and r + 32 ... r + 35, and the columns
  // c ... c + 3 and c + 16 ... c + 19.
  int const r0 = warp / 4 * 64 + lane % 8 * 4, c0 = warp % 4 * 32 + lane / 8 * 4;
  gram::TileScheduler scheduler{0, 0};
  int stage = 0;
  unsigned phase = 0;
  for (int t = blockIdx.x; t < count; t += gridDim.x) {
    int bi, bj;
    scheduler.locate(p, t, bi, bj);
    float v[8][8];
#pragma unroll
    for (int i = 0; i < 8; ++i)
#pragma unroll
      for (int j = 0; j < 8; ++j) v[i][j] = 1;
    for (int s = 0; s < steps; ++s) {
      if (threadIdx.x == 0) load();
      __syncwarp();
      mbarrier_wait(full_barriers[stage], phase);
      float const* const rows = reinterpret_cast<float const*>(smem + stage * stage_bytes) + r0;
      float const* const cols = reinterpret_cast<float const*>(smem + stage * stage_bytes + stage_bytes / 2) + c0;
      if (s < of.planar) multiply<2>(v, rows, cols);
      else multiply<3>(v, rows, cols);
      __syncwarp();
      if (lane == 0) mbarrier_arrive(empty_barriers[stage]);
      if (++stage == kStages) stage = 0, phase ^= 1;
    }
    int64_t const i0 = int64_t(bi) * side + r0, j0 = int64_t(bj) * side + c0;
    bool const diagonal = p.triangle && bi == bj;
    bool const full_tile = !diagonal && int64_t(bi + 1) * side <= p.rows && int64_t(bj + 1) * side <= p.cols;
    gram::Sums sum;
    if (full_tile && p.tma_stores) {
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
    sum.add_warp(sums[warp], diagonal);
  }
  __syncthreads();
  if (threadIdx.x == 0) gram::Sums::write(sums, threads / 32, p.partial + 3 * int64_t(blockIdx.x));
#endif
}

// Encodes a TMA descriptor for lines of coordinates. A box has four wires of 128 samples. Lines are padded to a multiple of
// 16 bytes.
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

// The number of blocks, each of which stores one partial sum.
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
  Steps of{steps(planar), steps(full)};
  CUtensorMap rows2, cols2, rows3, cols3;
  auto both = [&](CUtensorMap* two, CUtensorMap* three, uint64_t at, int64_t n, int64_t ld) {
    return encode_points(two, at, n, 2, planar, ld) && encode_points(three, at + 8 * uint64_t(planar) * uint64_t(ld), n, 3, full, ld);
  };
  if (!both(&rows2, &rows3, x, to.rows, ld_x) || !both(&cols2, &cols3, y, to.cols, ld_y)) return GPK_ERR_KERNEL;
  void* params[] = {&rows2, &cols2, &rows3, &cols3, &of, const_cast<gram::Target*>(&to)};
  return launch(code, dim3(blocks(to, device)), dim3(threads), shared, s, params);
}

}  // namespace
}  // namespace many_wires
}  // namespace gpk
