// gemm_tf32x3_tile_sm90.cuh: the tiles of gemm_tf32x3_sm90.cuh: their order, their products in float32, and their stores.
#pragma once
#include "dependent.cuh"
#include "gemm_epilogue.cuh"
#include "sm90.cuh"

namespace gpk {
namespace tf32x3 {
namespace {

constexpr int tile = 128;         // rows and columns of a tile of D
constexpr int half_tile = tile / 2;  // lines of the left operand per warpgroup
constexpr int step = 32;          // of k
constexpr int tile_bytes = tile * step * static_cast<int>(sizeof(float));
constexpr int stage_bytes = 3 * tile_bytes;  // the left tile; the right tile, which becomes its high numbers; its low numbers
constexpr int kStages = 4;
constexpr int exact_step = 16;  // k per step of the float32 path
constexpr int left_pitch = half_tile + 2, right_pitch = tile + 2;
constexpr int pitch = half_tile + 2;   // pitch of sums in shared memory
constexpr int buffer_bytes = half_tile * pitch * static_cast<int>(sizeof(float));  // bytes per warpgroup
static_assert(exact_step * (left_pitch + right_pitch) * static_cast<int>(sizeof(float)) <= buffer_bytes, "");
constexpr int shared = 1024 + kStages * stage_bytes + 2 * buffer_bytes;
constexpr int threads = 4 * 128;  // warpgroups: one with the producer, one that splits, two that multiply

// The left (_l) and right (_r) operand of the instruction. The product is transposed if the left one is B.
struct Grid {
  int lines_l, lines_r, k;
  int tiles_l, tiles_r;  // tiles per member
  int tiles;         // tiles of all members
  float const *l, *r;
  int64_t ld_l, k_step_l, stride_l, ld_r, stride_r;
  float* d;
  int64_t ldd, stride_d;
  float const* bias;
  float alpha;
  Activation act;
};

struct TileCoord {
  int l, r, member;  // the first line of each operand, and the member of the batch
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// The tile of this CTA in round `round`. CTAs that run at the same time share lines.
__device__ __forceinline__ TileCoord tile_coord(Grid const& p, int round) {
  constexpr int rows = 8;
  int const index = blockIdx.x + round * gridDim.x, each = p.tiles_l * p.tiles_r;
  int const member = index / each, i = index - member * each;
  int const first_line = i / (rows * p.tiles_r) * rows, in = i - first_line * p.tiles_r, high = min(rows, p.tiles_l - first_line);
  return TileCoord{(first_line + in % high) * tile, in / high * tile, member};
}

// Adds the float32 products of exact_step of k. first_line, first_column: the first line and column of this thread's sums.
__device__ __forceinline__ void add_exact(float (&sum)[64], float const* lefts, float const* rights, int first_line, int first_column) {
#pragma unroll
  for (int at = 0; at < exact_step; ++at) {
    float x[8], y[8];
#pragma unroll
    for (int i = 0; i < 8; ++i) x[i] = lefts[at * left_pitch + first_line + 8 * i], y[i] = rights[at * right_pitch + first_column + 16 * i];
#pragma unroll
    for (int i = 0; i < 64; ++i) sum[i] = fmaf(x[i / 8], y[i % 8], sum[i]);
  }
}

// Stores a warpgroup's half of a tile through shared memory, so that a warp's stores are coalesced: 64 of the right operand's
// lines at a time. line: the lines of D's tile of this thread's sums; recomputed: they are those of recompute_tile.
template <bool Transposed>
__device__ __forceinline__ void store_tile(float const (&sum)[64], Grid const& p, TileCoord const& to, float* buffer, int group, int thread,
                                           int const (&line)[2], bool recomputed) {
  using namespace sm90;
  int const first_line = thread / 16, first_column = thread % 16, t = thread % 4;
  int const first_l = to.l + half_tile * group;
#pragma unroll
  for (int q = 0; q < 2; ++q) {
    int const first_r = to.r + half_tile * q;
    named_barrier_sync_aligned(1 + group, 128);
#pragma unroll
    for (int i = 0; i < 32; ++i) {
      int const l = recomputed ? first_line + 8 * (i / 4) : line[i / 2 % 2] - half_tile * group;
      int const r = recomputed ? first_column + 16 * (i % 4) : 8 * (i / 4) + 2 * t + i % 2;
      buffer[Transposed ? r * pitch + l : l * pitch + r] = recomputed ? sum[8 * (i / 4) + 4 * q + i % 4] : sum[32 * q + i];
    }
    named_barrier_sync_aligned(1 + group, 128);
    int const m = Transposed ? first_r : first_l, n = (Transposed ? first_l : first_r) + thread % half_tile;
    int const end_m = Transposed ? p.lines_r : p.lines_l, end_n = Transposed ? p.lines_l : p.lines_r;
    if (n >= end_n) continue;
    float const b = p.bias != nullptr ? p.bias[n] : 0.f;
    float* const d = p.d + to.member * p.stride_d + n;
#pragma unroll 1
    for (int row = thread / half_tile; row < half_tile; row += 8) {
      cutlass::Array<float, 4> x, bias;
#pragma unroll
      for (int i = 0; i < 4; ++i) x[i] = buffer[(row + 2 * i) * pitch + thread % half_tile], bias[i] = b;
      x = apply_epilogue<float>(x, bias, p.alpha, p.act);
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (m + row + 2 * i < end_m) d[(m + row + 2 * i) * p.ldd] = x[i];
      }
    }
  }
}
#endif

}  // namespace
}  // namespace tf32x3
}  // namespace gpk
