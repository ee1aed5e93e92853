// gram_product.cuh: |<a|b>|^2 of states for Hopper, from their planes to K, its mirror and the sums of the report, in one
// kernel.
//
// A producer warp loads the planes of each step by TMA into a ring of stages in shared memory. Two consumer warpgroups
// compute 64 rows of a tile each. The products of a step have their own accumulator, which is added to the result with
// rounding to nearest, because the tensor cores truncate. While one warpgroup adds or stores, the other multiplies.
//
// A tile is stored to K and to its mirror through shared memory. The sums of the report are added in a fixed order.
#pragma once
#include "gram_tile.cuh"

namespace gpk {
namespace gram {
namespace {

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

// Multiplies the planes of a step and adds the result to sum, or replaces sum if fresh. Plane 0 of the rows is multiplied by
// plane First of the columns, plane 1 by plane 1 - First and by Sign.
template <class F, int First, int Sign>
__device__ __forceinline__ void multiply_step(float (&sum)[64], float (&d)[64], uint64_t a, uint64_t b, bool fresh) {
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

// Starts the inner products over the 16 numbers of one group of wires.
template <class F>
__device__ __forceinline__ void start_group(float (&d)[64], uint64_t a, uint64_t b, int group) {
  constexpr uint64_t plane = F::plane / 16;
  warpgroup_fence_operand(d);
  cute::warpgroup_arrive();
  wgmma<Instruction<1>>(d, a + plane + 2 * group, b + 2 * group, 0);
  wgmma<Instruction<1>>(d, a + 2 * group, b + plane + 2 * group, 1);
  wgmma<Instruction<1>>(d, a + 2 * group, b + 2 * group, 1);
  cute::warpgroup_commit_batch();
}

// Waits until at most Left of the started products are pending, and multiplies v by d.
template <int Left>
__device__ __forceinline__ void multiply_by(float (&v)[64], float (&d)[64], float scale) {
  cute::warpgroup_wait<Left>();
  warpgroup_fence_operand(d);
#pragma unroll
  for (int i = 0; i < 64; ++i) v[i] *= scale == 1 ? d[i] : d[i] * scale;
}

__device__ __forceinline__ void square(float (&v)[64]) {
#pragma unroll
  for (int i = 0; i < 64; ++i) v[i] *= v[i];
}

// Adds a thread's accumulators to its partial sums in the workspace, and sets the accumulators to the totals.
template <class F>
__device__ __forceinline__ void accumulate_partial(Target const& p, int group, float (&re)[64], float (&im)[F::second], bool first) {
  float* const own = p.accumulators + int64_t(blockIdx.x) * F::results * 256 + group * 128 + threadIdx.x % 128;
#pragma unroll
  for (int i = 0; i < F::results; ++i) {
    float& x = i < 64 ? re[i % 64] : im[F::real ? 0 : i % 64];
    if (!first) x += own[256 * i];
    own[256 * i] = x;
  }
}

// The ring of stages in shared memory, and the next stage of the warp that uses it.
template <class F>
struct Ring {
  uint32_t stages;  // the address of the first stage
  Barriers full_barriers, empty_barriers;
  int stage;
  unsigned phase;  // the parity of the stage's barriers
  __device__ void advance() {
    if (++stage == F::kStages) stage = 0, phase ^= 1;
  }
};

// Half of a tile of K, computed by one warpgroup. A thread has columns 8 j + 2 (lane % 4) and 8 j + 2 (lane % 4) + 1 of two rows.
struct HalfTile {
  int64_t i0, j0;  // the first row and column
  bool diagonal;   // on K's diagonal
  int row, pair;   // this thread's first row, and the first of its pairs of columns
};

// The producer thread. It loads the planes of every step of the block's tiles.
template <class F>
__device__ __forceinline__ void produce(CUtensorMap const& map_x, CUtensorMap const& map_y, Target const p, int steps, int tiles, Ring<F> ring) {
  TileScheduler scheduler{0, 0};
  for (int t = blockIdx.x; t < tiles; t += gridDim.x) {
    int bi, bj;
    scheduler.locate(p, t, bi, bj);
    for (int s = 0; s < steps; ++s, ring.advance()) {
      mbarrier_wait(ring.empty_barriers[ring.stage], ring.phase ^ 1);
      mbarrier_arrive_expect_tx(ring.full_barriers[ring.stage], F::stage_bytes);
      uint32_t const to = ring.stages + ring.stage * F::stage_bytes;
      tma_load(to, &map_x, s * F::depth, bi * side, 0, ring.full_barriers[ring.stage]);
      tma_load(to + F::stage_bytes / 2, &map_y, s * F::depth, bj * side, 0, ring.full_barriers[ring.stage]);
    }
  }
}

// Sets re to the scaled squared moduli of the inner products.
template <class F>
__device__ __forceinline__ void square_moduli(float (&re)[64], float const (&im)[F::second], float scale) {
#pragma unroll
  for (int i = 0; i < 64; ++i) {
    re[i] *= re[i];
    if constexpr (!F::real) re[i] += im[i] * im[i];
    re[i] *= F::factor ? scale : 0x1p-56f;
  }
}

// Adds the entries to the sums of the report. Replaces the diagonal's entries by p.one unless it is 0.
__device__ __forceinline__ void add_entries(float (&v)[64], Target const p, HalfTile const at, double (&to)[3]) {
  bool const full_tile = !at.diagonal && at.i0 + lines <= p.rows && at.j0 + side <= p.cols;
  Sums sum;
  if (full_tile) {
#pragma unroll
    for (int i = 0; i < 64; i += 4) sum.add_four(v[i], v[i + 1], v[i + 2], v[i + 3], i / 4);
  } else {
    double by[2] = {1, 1};  // the squared norms, by which the diagonal is multiplied before it is compared with 1
    if (at.diagonal && p.norms != nullptr) {
      for (int h = 0; h < 2; ++h)
        if (at.i0 + at.row + 8 * h < p.rows) by[h] = p.norms[at.i0 + at.row + 8 * h] + p.jitter;
    }
#pragma unroll
    for (int i = 0; i < 64; ++i) {
      int64_t const r = at.i0 + at.row + i / 2 % 2 * 8, c = at.j0 + 2 * at.pair + i / 4 * 8 + i % 2;
      if (r >= p.rows || c >= p.cols) continue;
      if (at.diagonal && r == c) {
        sum.diagonal(v[i] * by[i / 2 % 2]);
        if (p.one != 0) v[i] = p.one;
      } else if (!at.diagonal || r < c) {
        sum.add(v[i], i);
      }
    }
  }
  sum.add_warp(to, at.diagonal);
}

// Writes part `part` of a half tile to a buffer in shared memory: columns 0 to 63, columns 64 to 127, then the same two
// transposed.
__device__ __forceinline__ void write_part(unsigned char* to, float const (&v)[64], HalfTile const at, int part) {
  int const h = part % 2;
#pragma unroll
  for (int i = 32 * h; i < 32 * h + 32; i += 2) {
    int const r = at.row + i / 2 % 2 * 8, c = i / 4 % 8 * 8 + 2 * at.pair;
    if (part < 2) {
      *reinterpret_cast<float2*>(to + swizzled(r, c)) = make_float2(v[i], v[i + 1]);
    } else {
      *reinterpret_cast<float*>(to + swizzled(c, r)) = v[i];
      *reinterpret_cast<float*>(to + swizzled(c + 1, r)) = v[i + 1];
    }
  }
}
#endif

// The consumer warpgroups run the end of the kernel itself, because nvcc unrolls the same loops differently in a function.
// The functions that they call have p by value: through a reference they would read its members again after each store.
template <class F>
__global__ void __launch_bounds__(threads, 1)
    kernel(CUtensorMap const __grid_constant__ map_x, CUtensorMap const __grid_constant__ map_y, CUtensorMap const __grid_constant__ map_k,
           CUtensorMap const __grid_constant__ map_mirror, Target const __grid_constant__ p, int steps, int squared) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ unsigned char raw[];
  unsigned char* const smem = raw + (1024 - shared_address(raw) % 1024) % 1024;
  uint32_t const tiles = shared_address(smem);
  auto* const sums = reinterpret_cast<double(*)[3]>(smem + F::sums);
  Barriers const full_barriers{tiles + F::barriers}, empty_barriers{full_barriers[F::kStages]};
  int const count = tiles_of(p.triangle, p.down, p.across);
  if (threadIdx.x == 0) {
    for (int i = 0; i < F::kStages; ++i) {
      mbarrier_init(full_barriers[i], 1);
      mbarrier_init(empty_barriers[i], 2);
    }
    mbarrier_init_fence();
  }
  __syncthreads();
  int stage = 0;
  unsigned phase = 0;
  auto advance = [&] {
    if (++stage == F::kStages) stage = 0, phase ^= 1;
  };
  if (threadIdx.x < 128) {
    warpgroup_reg_dealloc<24>();
    if (threadIdx.x == 0) produce<F>(map_x, map_y, p, steps, count, Ring<F>{tiles, full_barriers, empty_barriers, 0, 0});
    return;
  }
  warpgroup_reg_alloc<240>();
  int const group = threadIdx.x / 128 - 1, t = threadIdx.x % 128, warp = t / 32, lane = t % 32;
  float re[64], im[F::second], d[64];
  int stored = 0;  // parts of tiles that this warpgroup has stored
  if (lane == 0)
    for (int c = 0; c < 3; ++c) sums[4 * group + warp][c] = 0;
  TileScheduler scheduler{0, 0};
  for (int at = blockIdx.x; at < count; at += gridDim.x) {
    int bi, bj;
    scheduler.locate(p, at, bi, bj);
    auto release = [&](int stage) {
      if (t == 0) mbarrier_arrive(empty_barriers[stage]);
    };
    if constexpr (F::product) {
#pragma unroll
      for (int i = 0; i < 64; ++i) re[i] = 1;
      for (int s = 0; s < steps; ++s, advance()) {
        mbarrier_wait(full_barriers[stage], phase);
        uint32_t const from = tiles + stage * F::stage_bytes;
        uint64_t const a = descriptor<F>(from + group * lines * F::line), b = descriptor<F>(from + F::stage_bytes / 2);
        start_group<F>(d, a, b, 0);
        start_group<F>(im, a, b, 1);
        multiply_by<1>(re, d, 0x1p-28f);  // the planes are scaled by 2^7
        multiply_by<0>(re, im, 1);
        release(stage);
        if (s + 1 == squared) square(re);
      }
    }
    for (int s = 0; !F::product && s < steps; ++s, advance()) {
      bool const fresh = s % F::steps_per_partial == 0;
      if (fresh && s > 0) {
        accumulate_partial<F>(p, group, re, im, s == F::steps_per_partial);
      }
      mbarrier_wait(full_barriers[stage], phase);
      uint32_t const from = tiles + stage * F::stage_bytes;
      uint64_t const a = descriptor<F>(from + group * lines * F::line), b = descriptor<F>(from + F::stage_bytes / 2);
      multiply_step<F, 0, 1>(re, d, a, b, fresh);
      if constexpr (!F::real) multiply_step<F, 1, -1>(im, d, a, b, fresh);
      release(stage);
    }
    if constexpr (!F::product) {
      if (steps > F::steps_per_partial) accumulate_partial<F>(p, group, re, im, false);
      square_moduli<F>(re, im, p.scale);
    }
    int64_t const i0 = int64_t(bi) * side + group * lines, j0 = int64_t(bj) * side;
    bool const diagonal = p.triangle && bi == bj;
    int const row = 16 * warp + lane / 4, pair = lane % 4;
    HalfTile const half{i0, j0, diagonal, row, pair};
    add_entries(re, p, half, sums[4 * group + warp]);
    bool const tma_stores = p.tma_stores && !diagonal;
    // Stores four parts of 64 x 64: two of the tile, then two of its mirror.
#pragma unroll
    for (int part = 0; part < 4; ++part) {
      if (part >= 2 && p.mirror == nullptr) break;
      int const h = part % 2;
      unsigned char* const to = smem + ring_bytes + (group * kStores + stored % kStores) * store_bytes;
      ++stored;
      if (t == 0) tma_store_wait_read<kStores - 1>();
      named_barrier_sync_aligned(1 + group, 128);
      write_part(to, re, half, part);
      int64_t const x = part < 2 ? j0 + lines * h : i0, y = part < 2 ? i0 : j0 + lines * h;
      if (tma_stores) {
        fence_proxy_async();
        named_barrier_sync_aligned(1 + group, 128);
        if (t != 0) continue;
        for (int box = 0; box < 2; ++box) store_box(part < 2 ? &map_k : &map_mirror, x + 32 * box, y, shared_address(to) + box * store_bytes / 2);
        tma_store_commit();
        continue;
      }
      if (t == 0) tma_store_commit();  // an empty group, so that there is one group per iteration
      named_barrier_sync_aligned(1 + group, 128);
      float* const k = part < 2 ? p.k : p.mirror;
      int64_t const ld = part < 2 ? p.ld : p.ld_mirror, rows = part < 2 ? p.rows : p.cols, cols = part < 2 ? p.cols : p.rows;
      for (int e = t; e < lines * lines; e += 128) {
        int64_t const r = y + e / lines, c = x + e % lines;
        if (r >= rows || c >= cols || (diagonal && (part < 2 ? r > c : c >= r))) continue;
        k[r * ld + c] = *reinterpret_cast<float const*>(to + swizzled(e / lines, e % lines));
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

// Encodes TMA descriptors of K and its mirror if TMA can store to both. Returns false if the driver rejects one.
inline bool encode_target(Target const& p, CUtensorMap* k, CUtensorMap* mirror) {
  *k = *mirror = CUtensorMap{};
  if (!p.tma_stores) return true;
  return encode_matrix(k, p.k, p.rows, p.cols, p.ld) && (p.mirror == nullptr || encode_matrix(mirror, p.mirror, p.cols, p.rows, p.ld_mirror));
}

}  // namespace
}  // namespace gram
}  // namespace gpk
