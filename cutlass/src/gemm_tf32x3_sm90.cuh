// gemm_tf32x3_sm90.cuh: float32 products for Hopper with float32's precision and range, by three TF32 products. Each
// element is the sum of two TF32 numbers, high (rounded to nearest) and low (the remainder), and
//
//  a b = high high + (high low + low high)
//
// low loses at most the last of float32's 24 bits. The omitted product low low is at most 2^-22 of the result. TMA loads
// tiles of both operands. One warpgroup splits the right tile into two tiles in shared memory. Two warpgroups each load
// half of the left tile into registers, split it there and multiply. For TF32, wgmma requires contiguous k in shared
// memory. So the right operand is one with this layout: B, or A for the transposed product.
//
// The tensor cores truncate when they add to an accumulator. So the products of each 32 of k are summed separately, the
// small ones first, and this sum is added to the result with rounding to nearest.
//
// A tile with elements that cannot be split is computed again. An element that is not finite, or whose high number would
// be infinite, gives sums that are not finite. An element below 2^-113, whose low number would lose bits below 2^-137, is
// detected when it is split. In both cases the warpgroup recomputes its half of the tile with float32 FMAs.
#pragma once
#include "gemm_tf32x3_tile_sm90.cuh"
#include "guard.cuh"
#include "tf32_split_sm90.cuh"

namespace gpk {
namespace tf32x3 {
namespace {

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

// d = a b^T, or d += a b^T if `add` is set: 64 lines by 128, 8 of k.
using Instruction = cute::SM90::GMMA::MMA_64x128x8_F32TF32TF32_RS_TN<>;

// Whether `one` is true in any thread of consumer warpgroup `group`.
__device__ inline bool any_of_warpgroup(int group, bool one) {
  int any;
  asm volatile(
      "{\n\t.reg .pred p, q;\n\tsetp.ne.s32 p, %1, 0;\n\tbarrier.cta.red.or.pred q, %2, 128, p;\n\t"
      "selp.s32 %0, 1, 0, q;\n\t}"
      : "=r"(any)
      : "r"(int(one)), "r"(1 + group)
      : "memory");
  return any != 0;
}

// Initializes the barriers of the stages; one thread calls it. A right tile is split by four warps, and a stage is multiplied
// by eight.
__device__ __forceinline__ void init_barriers(sm90::Barriers full_barriers, sm90::Barriers split_barriers, sm90::Barriers empty_barriers) {
  using namespace sm90;
  for (int i = 0; i < kStages; ++i) {
    mbarrier_init(full_barriers[i], 1);
    mbarrier_init(split_barriers[i], 4);
    mbarrier_init(empty_barriers[i], 8);
  }
  mbarrier_init_fence();
}

// The stages in shared memory. A stage is loaded, then its right tile is split, then it is multiplied.
struct Ring {
  uint32_t stages;  // the address of the first one
  sm90::Barriers full_barriers, split_barriers, empty_barriers;
  __device__ uint32_t operator[](int stage) const { return stages + stage * stage_bytes; }
};

// The producer thread.
template <bool KLeft>
__device__ __forceinline__ void produce(CUtensorMap const& map_l, CUtensorMap const& map_r, Grid const& p, Ring const& ring, int tiles, int steps) {
  using namespace sm90;
  uint32_t n = 0;
  for (int round = 0; round < tiles; ++round) {
    TileCoord const at = tile_coord(p, round);
    int const member_l = p.stride_l != 0 ? at.member : 0, member_r = p.stride_r != 0 ? at.member : 0;
    for (int s = 0; s < steps; ++s, ++n) {
      int const stage = n % kStages;
      mbarrier_wait(ring.empty_barriers[stage], ~(n / kStages) & 1);  // the preceding phase's parity: the first round does not wait
      uint32_t const barrier = ring.full_barriers[stage], to = ring[stage];
      mbarrier_arrive_expect_tx(barrier, 2 * tile_bytes);
      tma_load(to + tile_bytes, &map_r, s * step, at.r, member_r, barrier);
      if constexpr (KLeft) {
        tma_load(to, &map_l, s * step, at.l, member_l, barrier);
      } else {
#pragma unroll
        for (int i = 0; i < 4; ++i) tma_load(to + i * tile_bytes / 4, &map_l, at.l + 32 * i, s * step, member_l, barrier);
      }
    }
  }
}

// The warpgroup that splits the right tiles.
__device__ __forceinline__ void split_right_tiles(uint32_t (&found)[kStages][4], uint32_t ring, sm90::Barriers full_barriers,
                                                  sm90::Barriers split_barriers, uint32_t all_steps, int thread, int warp, int lane) {
  using namespace sm90;
  for (uint32_t n = 0; n != all_steps; ++n) {
    int const stage = n % kStages;
    mbarrier_wait(full_barriers[stage], n / kStages & 1);
    uint32_t const own_buffer = ring + stage * stage_bytes + tile_bytes + thread * 16;
    uint32_t least_bits = ~0u;
#pragma unroll
    for (int i = 0; i < tile_bytes / (128 * 16); ++i) {
      uint32_t const at = own_buffer + i * 128 * 16;
      uint4 const v = load(at);
      uint4 const high = {high_of(v.x), high_of(v.y), high_of(v.z), high_of(v.w)};
      store(at, high);
      store(at + tile_bytes, {low_of(v.x, high.x), low_of(v.y, high.y), low_of(v.z, high.z), low_of(v.w, high.w)});
      least_bits = least_of(least_of(least_of(least_of(least_bits, v.x), v.y), v.z), v.w);
    }
    fence_proxy_async();
    bool const found_small = __any_sync(~0u, least_bits < tiny_bits);
    __syncwarp();
    if (lane == 0) {
      found[stage][warp] = found_small;
      mbarrier_arrive(split_barriers[stage]);
    }
  }
}

// Sets at_l to this thread's read addresses in the left tile, and `line` to its lines of D's tile. If k is contiguous, a line
// in shared memory has 32 of k; otherwise it has 32 lines of the operand for one k. The lines g and g + 8 of a warp's 16 in
// the instruction are permuted so that there are no bank conflicts.
template <bool KLeft>
__device__ __forceinline__ void locate_left(uint32_t (&at_l)[2][2], int (&line)[2], int group, int warp, int lane) {
  int const g = lane / 4, t = lane % 4;
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    int const c = 2 * (warp % 2) + h;
    line[h] = half_tile * group + (KLeft ? 16 * warp + 8 * h + g : 32 * (warp / 2) + 16 * (g / 4) + 4 * c + g % 4);
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      at_l[h][e] = KLeft ? line[h] * 128 + ((e ^ g) << 4) + 4 * t
                         : (2 * group + warp / 2) * (tile_bytes / 4) + (4 * e + t) * 128 +
                               (((4 * (g / 4) + c) ^ (4 * e + t)) << 4) + 4 * (g % 4);
    }
  }
}

// Loads this thread's elements of the left tile at `from`: for each 8 of k, the registers of the instruction.
template <bool KLeft>
__device__ __forceinline__ void load_elements(uint32_t (&elements)[4][4], uint32_t from, uint32_t const (&at_l)[2][2]) {
#pragma unroll
  for (int b = 0; b < 4; ++b) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      uint32_t const at = at_l[i % 2][i / 2];
      elements[b][i] = load_one(from + (KLeft ? at ^ (b << 5) : at + b * 8 * 128));
    }
  }
}

// Splits this thread's left elements. least_bits: see least_of.
__device__ __forceinline__ void split_left(uint32_t (&high)[4][4], uint32_t (&low)[4][4], uint32_t const (&elements)[4][4], uint32_t& least_bits) {
#pragma unroll
  for (int b = 0; b < 4; ++b) {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      high[b][i] = high_of(elements[b][i]);
      low[b][i] = low_of(elements[b][i], high[b][i]);
      least_bits = least_of(least_bits, elements[b][i]);
    }
  }
}

// Starts the products of 32 of k, the small ones first. right: the descriptor of the right tile's high numbers.
__device__ __forceinline__ void start_products(float (&product)[64], uint32_t const (&high)[4][4], uint32_t const (&low)[4][4], uint64_t right) {
  using namespace sm90;
  warpgroup_fence_operand(product);
  cute::warpgroup_arrive();
#pragma unroll
  for (int b = 0; b < 4; ++b) {
    wgmma<Instruction>(product, low[b], right + 2 * b, b);
    wgmma<Instruction>(product, high[b], right + tile_bytes / 16 + 2 * b, 1);
  }
#pragma unroll
  for (int b = 0; b < 4; ++b) wgmma<Instruction>(product, high[b], right + 2 * b, 1);
  cute::warpgroup_commit_batch();
}
#endif

// KLeft: k is contiguous in the left operand too. Transposed: the left operand is B. The two warpgroups that multiply run the
// end of the kernel itself: as a function it would compile to different instructions.
template <bool KLeft, bool Transposed>
__global__ void __launch_bounds__(threads, 1)
    multiply(__grid_constant__ CUtensorMap const map_l, __grid_constant__ CUtensorMap const map_r,
             __grid_constant__ Grid const p, __grid_constant__ Guard const guard) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using namespace sm90;
  extern __shared__ uint32_t memory[];
  if (!runs(guard, memory)) return;
  begin();
  __shared__ uint64_t barriers[3 * kStages];
  __shared__ alignas(16) uint32_t found[kStages][4];  // whether each warp found an element too small to split
  uint32_t const ring = (shared_address(memory) + 1023) & ~1023u;
  Barriers const full_barriers{shared_address(barriers)}, split_barriers{full_barriers[kStages]}, empty_barriers{split_barriers[kStages]};
  if (threadIdx.x == 0) init_barriers(full_barriers, split_barriers, empty_barriers);
  __syncthreads();

  int const thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  int const steps = (p.k - 1) / step + 1;
  int const tiles = (p.tiles - 1 - static_cast<int>(blockIdx.x)) / static_cast<int>(gridDim.x) + 1;  // tiles of this CTA
  uint32_t const all_steps = static_cast<uint32_t>(tiles) * steps;  // may wrap around: 2 kStages divides 2^32

  if (threadIdx.x < 128) {
    warpgroup_reg_dealloc<24>();
    if (threadIdx.x == 0) produce<KLeft>(map_l, map_r, p, Ring{ring, full_barriers, split_barriers, empty_barriers}, tiles, steps);
    return;
  }
  if (threadIdx.x < 256) {
    warpgroup_reg_dealloc<72>();
    split_right_tiles(found, ring, full_barriers, split_barriers, all_steps, thread, warp, lane);
    return;
  }

  warpgroup_reg_alloc<208>();
  int const group = threadIdx.x / 128 - 2;
  uint32_t at_l[2][2];
  int line[2];  // lines of D's tile
  locate_left<KLeft>(at_l, line, group, warp, lane);
  float* const own_buffer = reinterpret_cast<float*>(memory + (ring - shared_address(memory) + kStages * stage_bytes + group * buffer_bytes) / 4);
  uint32_t left_elements[4][4];  // the instruction's registers for 8 of k
  auto const load_left = [&](uint32_t n) {
    int const stage = n % kStages;
    mbarrier_wait(full_barriers[stage], n / kStages & 1);
    load_elements<KLeft>(left_elements, ring + stage * stage_bytes, at_l);
  };

  float sum[64], product[64];
  uint32_t n = 0;
  load_left(0);
  for (int round = 0; round < tiles; ++round) {
#pragma unroll
    for (int i = 0; i < 64; ++i) sum[i] = 0;
    uint32_t least_bits = ~0u, found_small = 0;
#pragma unroll 1
    for (int s = 0; s < steps; ++s, ++n) {
      int const stage = n % kStages;
      uint32_t high[4][4], low[4][4];
      split_left(high, low, left_elements, least_bits);
      mbarrier_wait(split_barriers[stage], n / kStages & 1);
      uint4 const flags = load(shared_address(found[stage]));
      found_small |= flags.x | flags.y | flags.z | flags.w;
      uint64_t const right = matrix_descriptor(((ring + stage * stage_bytes + tile_bytes) & 0x3ffff) >> 4, 1, 1024 / 16, 1);
      start_products(product, high, low, right);
      if (n + 1 != all_steps) load_left(n + 1);
      cute::warpgroup_wait<0>();
      warpgroup_fence_operand(product);
      __syncwarp();
      if (lane == 0) mbarrier_arrive(empty_barriers[stage]);
#pragma unroll
      for (int i = 0; i < 64; ++i) sum[i] = __fadd_rn(sum[i], product[i]);
    }

    TileCoord const to = tile_coord(p, round);
    uint32_t largest_bits = 0;
#pragma unroll
    for (int i = 0; i < 64; ++i) largest_bits = max(largest_bits, __float_as_uint(fabsf(sum[i])));
    int const first_line = thread / 16, first_column = thread % 16;
    bool const recompute = any_of_warpgroup(group, largest_bits >= 0x7f800000 || least_bits < tiny_bits || found_small != 0);
    if (recompute) {  // in float32: a thread has every eighth left line and every sixteenth right line
      float *const lefts = own_buffer, *const rights = lefts + exact_step * left_pitch;
      float const* const from_l = p.l + to.member * p.stride_l;
      float const* const from_r = p.r + to.member * p.stride_r;
      float next_l[exact_step * half_tile / 128], next_r[exact_step * tile / 128];
      auto const k_of_l = [&](int i) { return KLeft ? (thread + 128 * i) % exact_step : (thread + 128 * i) / half_tile; };
      auto const line_of_l = [&](int i) { return KLeft ? (thread + 128 * i) / exact_step : (thread + 128 * i) % half_tile; };
      auto const k_of_r = [&](int i) { return (thread + 128 * i) % exact_step; };
      auto const line_of_r = [&](int i) { return (thread + 128 * i) / exact_step; };
      auto const fetch = [&](int k) {
#pragma unroll
        for (int i = 0; i < exact_step * half_tile / 128; ++i) {
          int const at = k + k_of_l(i), l = to.l + half_tile * group + line_of_l(i);
          next_l[i] = at < p.k && l < p.lines_l ? from_l[l * p.ld_l + at * p.k_step_l] : 0.f;
        }
#pragma unroll
        for (int i = 0; i < exact_step * tile / 128; ++i) {
          int const at = k + k_of_r(i), r = to.r + line_of_r(i);
          next_r[i] = at < p.k && r < p.lines_r ? from_r[r * p.ld_r + at] : 0.f;
        }
      };
      fetch(0);
#pragma unroll
      for (int i = 0; i < 64; ++i) sum[i] = 0;
#pragma unroll 1
      for (int k = 0; k < p.k; k += exact_step) {
        named_barrier_sync_aligned(1 + group, 128);
#pragma unroll
        for (int i = 0; i < exact_step * half_tile / 128; ++i) lefts[k_of_l(i) * left_pitch + line_of_l(i)] = next_l[i];
#pragma unroll
        for (int i = 0; i < exact_step * tile / 128; ++i) rights[k_of_r(i) * right_pitch + line_of_r(i)] = next_r[i];
        named_barrier_sync_aligned(1 + group, 128);
        fetch(k + exact_step);
        add_exact(sum, lefts, rights, first_line, first_column);
      }
    }

    store_tile<Transposed>(sum, p, to, own_buffer, group, thread, line, recompute);
  }
#endif
}

template <bool RowA, bool RowB>
int run(Problem const& p) {
  constexpr bool transposed = RowA && RowB, k_left = RowA && !RowB;
  static_assert(RowA || !RowB, "an operand has k contiguous");
  static uint64_t allowed = 0;
  if (p.alpha_im != 0 || p.k > INT32_MAX - step) return GPK_ERR_ARGUMENT;
  void const* const kernel = reinterpret_cast<void const*>(multiply<k_left, transposed>);
  if (int const e = allow_shared(kernel, shared, p.device, &allowed)) return e;

  // Elements between A's rows and between its columns, and between B's columns and rows.
  struct Side {
    void const* at;
    int lines;
    bool k_major;
    int64_t ld, stride;
  } const a = {p.a, p.m, RowA, p.lda, p.stride_a}, b = {p.b, p.n, !RowB, p.ldb, p.stride_b};
  Side const &l = transposed ? b : a, &r = transposed ? a : b;
  CUtensorMap map_l, map_r;
  if (!sm90::encode_operand(&map_l, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, sizeof(float), l.at, l.k_major, l.lines, p.k, l.ld, l.stride, p.batch, tile, step) ||
      !sm90::encode_operand(&map_r, CU_TENSOR_MAP_DATA_TYPE_FLOAT32, sizeof(float), r.at, r.k_major, r.lines, p.k, r.ld, r.stride, p.batch, tile, step)) {
    return GPK_ERR_KERNEL;
  }
  int const tiles_l = (l.lines - 1) / tile + 1, tiles_r = (r.lines - 1) / tile + 1;
  int64_t const tiles = static_cast<int64_t>(tiles_l) * tiles_r * p.batch;
  if (tiles > INT32_MAX - (1 << 16)) return GPK_ERR_ARGUMENT;
  Grid grid = {l.lines, r.lines, p.k, tiles_l, tiles_r, static_cast<int>(tiles),
               static_cast<float const*>(l.at), static_cast<float const*>(r.at),
               l.k_major ? l.ld : 1, l.k_major ? 1 : l.ld, l.stride, r.ld, r.stride,
               static_cast<float*>(p.d), p.ldd, p.stride_d, static_cast<float const*>(p.bias),
               static_cast<float>(p.alpha_re), Activation(p.act, p.bias != nullptr)};
  int const sms = sm_count(p.device);
  Guard guard = p.guard;
  void* params[] = {&map_l, &map_r, &grid, &guard};
  return launch(kernel, dim3(grid.tiles < sms ? grid.tiles : sms), dim3(threads), shared, p.stream, params, 1, 1, true);
}

template <bool RowA, bool RowB>
constexpr Traits traits = {4, 4, 4, RowA, RowB, 16, 16, 4, 1, true, true};

}  // namespace
}  // namespace tf32x3
}  // namespace gpk

#define GPK_TF32X3(name, row_a, row_b)                                                                     \
  namespace gpk {                                                                                          \
  extern Entry const entry_##name;                                                                         \
  Entry const entry_##name = {#name, tf32x3::traits<row_a, row_b>, tf32x3::run<row_a, row_b>};             \
  }

GPK_TF32X3(any_tf32x3_f32_rr_128x128x32_ring1, true, true)
GPK_TF32X3(any_tf32x3_f32_rc_128x128x32_ring1, true, false)
GPK_TF32X3(any_tf32x3_f32_cc_128x128x32_ring1, false, false)
