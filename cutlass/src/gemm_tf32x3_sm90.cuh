// gemm_tf32x3_sm90.cuh: float32 products for Hopper with float32's precision and range, on tensor cores that read
// TF32. Each element is the sum of two numbers of 11 bits, high (rounded to nearest) and low (the remainder), and
//
//  a b = high high + (high low + low high)
//
// The low numbers lose at most the last of float32's 24 bits, and the omitted product low low is at most 2^-22 of the
// result. The operands are read unprepared and split on the chip. TMA loads tiles of both. A warpgroup splits the
// right one in shared memory into two tiles, and two warpgroups load half of the left one each into registers, split
// it there and multiply. wgmma requires k contiguous in shared memory, so the right operand is one with that layout,
// B or, transposed, A.
//
// The tensor cores truncate when they add to an accumulator. So the products of 32 of k are summed separately, the
// small ones first, and the sum is added to the result with rounding to nearest.
//
// A tile with elements that TF32 cannot represent is computed again. An element that is not finite or would round to
// infinity gives sums that are not finite. An element below 2^-113, whose low number would lose bits below 2^-137, is
// detected when it is split. In both cases the warpgroup recomputes its part of the tile with float32's
// multiplications.
#pragma once
#include "dependent.cuh"
#include "gemm_epilogue.cuh"
#include "guard.cuh"
#include "sm90.cuh"

namespace gpk {
namespace tf32x3 {
namespace {

constexpr int tile = 128;         // rows and columns of a tile of D
constexpr int part = tile / 2;    // lines of the left operand per warpgroup
constexpr int step = 32;          // of k
constexpr int plane = tile * step * static_cast<int>(sizeof(float));
constexpr int stage = 3 * plane;  // the left tile, the right one's high numbers (before the split all of it), its low ones
constexpr int kStages = 4;
constexpr int slab = 16;          // k per step of the float32 path
constexpr int left_pitch = part + 2, right_pitch = tile + 2;
constexpr int pitch = part + 2;   // pitch of sums in shared memory
constexpr int room = part * pitch * static_cast<int>(sizeof(float));  // bytes per warpgroup
static_assert(slab * (left_pitch + right_pitch) * static_cast<int>(sizeof(float)) <= room, "");
constexpr int shared = 1024 + kStages * stage + 2 * room;
constexpr int threads = 4 * 128;  // the producer's warpgroup, the one that splits, two that multiply
constexpr uint32_t tiny = (28u << 23) - 1;  // see least_of

// The instruction's left and right operand. D is transposed if the left one is B.
struct Grid {
  int lines_l, lines_r, k;
  int down, across;  // tiles per member
  int tiles;         // tiles of all members
  float const *l, *r;
  int64_t line_l, step_l, stride_l, line_r, stride_r;
  float* d;
  int64_t ldd, stride_d;
  float const* bias;
  float alpha;
  Activation act;
};

#ifdef __CUDA_ARCH_FEAT_SM90_ALL

__device__ inline uint4 load(uint32_t at) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at) : "memory");
  return v;
}

__device__ inline uint32_t load_one(uint32_t at) {
  uint32_t v;
  asm volatile("ld.shared.u32 %0, [%1];" : "=r"(v) : "r"(at) : "memory");
  return v;
}

__device__ inline void store(uint32_t at, uint4 v) {
  asm volatile("st.shared.v4.u32 [%0], {%1,%2,%3,%4};" ::"r"(at), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
}

// TF32's 11 bits, rounded to nearest. The tensor core reads as many bits of the remainder.
__device__ inline uint32_t high_of(uint32_t x) { return (x + 0x1000) & 0xffffe000; }

__device__ inline uint32_t low_of(uint32_t x, uint32_t high) {
  return __float_as_uint(__fsub_rn(__uint_as_float(x), __uint_as_float(high)));
}

// The minimum of least and the bits of 2|x| minus 1, so that zero is the largest. An element of 2^-113 gives tiny.
__device__ inline uint32_t least_of(uint32_t least, uint32_t x) { return min(least, x + x - 1); }

// d = a b^T, or d += a b^T if `add` is set: 64 lines by 128, 8 of k.
using Instruction = cute::SM90::GMMA::MMA_64x128x8_F32TF32TF32_RS_TN<>;

// Whether `one` holds in any thread of the warpgroup.
__device__ inline bool any(int group, bool one) {
  int all;
  asm volatile(
      "{\n\t.reg .pred p, q;\n\tsetp.ne.s32 p, %1, 0;\n\tbarrier.cta.red.or.pred q, %2, 128, p;\n\t"
      "selp.s32 %0, 1, 0, q;\n\t}"
      : "=r"(all)
      : "r"(int(one)), "r"(1 + group)
      : "memory");
  return all != 0;
}
#endif

// KLeft: k is contiguous in the left operand too. Transposed: the left operand is B.
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
  __shared__ alignas(16) uint32_t small[kStages][4];  // whether a warp found an element too small to split
  uint32_t const ring = (shared_address(memory) + 1023) & ~1023u;
  Barriers const full_barriers{shared_address(barriers)}, split_barriers{full_barriers[kStages]}, empty_barriers{split_barriers[kStages]};
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      mbarrier_init(full_barriers[i], 1);
      mbarrier_init(split_barriers[i], 4);
      mbarrier_init(empty_barriers[i], 8);
    }
    mbarrier_init_fence();
  }
  __syncthreads();

  int const thread = threadIdx.x % 128, warp = thread / 32, lane = thread % 32;
  int const steps = (p.k - 1) / step + 1;
  int const tiles = (p.tiles - 1 - static_cast<int>(blockIdx.x)) / static_cast<int>(gridDim.x) + 1;  // tiles of this CTA
  uint32_t const all = static_cast<uint32_t>(tiles) * steps;  // counted modulo 2^32

  // Tiles in an order in which those that are computed at the same time share lines.
  struct Place {
    int l, r, member;
  };
  auto const place = [&](int turn) {
    constexpr int rows = 8;
    int const index = blockIdx.x + turn * gridDim.x, each = p.down * p.across;
    int const member = index / each, i = index - member * each;
    int const top = i / (rows * p.across) * rows, in = i - top * p.across, high = min(rows, p.down - top);
    return Place{(top + in % high) * tile, in / high * tile, member};
  };

  if (threadIdx.x < 128) {
    warpgroup_reg_dealloc<24>();
    if (threadIdx.x != 0) return;
    uint32_t n = 0;
    for (int turn = 0; turn < tiles; ++turn) {
      Place const at = place(turn);
      int const member_l = p.stride_l != 0 ? at.member : 0, member_r = p.stride_r != 0 ? at.member : 0;
      for (int s = 0; s < steps; ++s, ++n) {
        int const slot = n % kStages;
        mbarrier_wait(empty_barriers[slot], ~(n / kStages) & 1);  // a new barrier is one phase behind
        uint32_t const barrier = full_barriers[slot], to = ring + slot * stage;
        mbarrier_arrive_expect_tx(barrier, 2 * plane);
        tma_load(to + plane, &map_r, s * step, at.r, member_r, barrier);
        if constexpr (KLeft) {
          tma_load(to, &map_l, s * step, at.l, member_l, barrier);
        } else {
#pragma unroll
          for (int i = 0; i < 4; ++i) tma_load(to + i * plane / 4, &map_l, at.l + 32 * i, s * step, member_l, barrier);
        }
      }
    }
    return;
  }

  if (threadIdx.x < 256) {
    warpgroup_reg_dealloc<72>();
    for (uint32_t n = 0; n != all; ++n) {
      int const slot = n % kStages;
      mbarrier_wait(full_barriers[slot], n / kStages & 1);
      uint32_t const mine = ring + slot * stage + plane + thread * 16;
      uint32_t least = ~0u;
#pragma unroll
      for (int i = 0; i < plane / (128 * 16); ++i) {
        uint32_t const at = mine + i * 128 * 16;
        uint4 const v = load(at);
        uint4 const high = {high_of(v.x), high_of(v.y), high_of(v.z), high_of(v.w)};
        store(at, high);
        store(at + plane, {low_of(v.x, high.x), low_of(v.y, high.y), low_of(v.z, high.z), low_of(v.w, high.w)});
        least = least_of(least_of(least_of(least_of(least, v.x), v.y), v.z), v.w);
      }
      fence_proxy_async();
      bool const met = __any_sync(~0u, least < tiny);
      __syncwarp();
      if (lane == 0) {
        small[slot][warp] = met;
        mbarrier_arrive(split_barriers[slot]);
      }
    }
    return;
  }

  warpgroup_reg_alloc<208>();
  int const group = threadIdx.x / 128 - 2, g = lane / 4, t = lane % 4;

  // This thread's read addresses in the left tile. With k contiguous a line holds 32 of k; otherwise a box of 32
  // lines has a line for each k. The instruction's lines, g and g + 8 of a warp's 16, are permuted so that there are
  // no bank conflicts.
  uint32_t at_l[2][2];
  int line[2];  // lines of D's tile
#pragma unroll
  for (int h = 0; h < 2; ++h) {
    int const c = 2 * (warp % 2) + h;
    line[h] = part * group + (KLeft ? 16 * warp + 8 * h + g : 32 * (warp / 2) + 16 * (g / 4) + 4 * c + g % 4);
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      at_l[h][e] = KLeft ? line[h] * 128 + ((e ^ g) << 4) + 4 * t
                         : (2 * group + warp / 2) * (plane / 4) + (4 * e + t) * 128 +
                               (((4 * (g / 4) + c) ^ (4 * e + t)) << 4) + 4 * (g % 4);
    }
  }
  float* const mine = reinterpret_cast<float*>(memory + (ring - shared_address(memory) + kStages * stage + group * room) / 4);
  uint32_t raw[4][4];  // the instruction's registers for 8 of k
  auto const load_left = [&](uint32_t n) {
    int const slot = n % kStages;
    mbarrier_wait(full_barriers[slot], n / kStages & 1);
    uint32_t const from = ring + slot * stage;
#pragma unroll
    for (int b = 0; b < 4; ++b) {
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        uint32_t const at = at_l[i % 2][i / 2];
        raw[b][i] = load_one(from + (KLeft ? at ^ (b << 5) : at + b * 8 * 128));
      }
    }
  };

  float sum[64], product[64];
  uint32_t n = 0;
  load_left(0);
  for (int turn = 0; turn < tiles; ++turn) {
#pragma unroll
    for (int i = 0; i < 64; ++i) sum[i] = 0;
    uint32_t least = ~0u, met = 0;
#pragma unroll 1
    for (int s = 0; s < steps; ++s, ++n) {
      int const slot = n % kStages;
      uint32_t high[4][4], low[4][4];
#pragma unroll
      for (int b = 0; b < 4; ++b) {
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          high[b][i] = high_of(raw[b][i]);
          low[b][i] = low_of(raw[b][i], high[b][i]);
          least = least_of(least, raw[b][i]);
        }
      }
      mbarrier_wait(split_barriers[slot], n / kStages & 1);
      uint4 const others = load(shared_address(small[slot]));
      met |= others.x | others.y | others.z | others.w;
      uint64_t const right = matrix_descriptor(((ring + slot * stage + plane) & 0x3ffff) >> 4, 1, 1024 / 16, 1);
      warpgroup_fence_operand(product);
      cute::warpgroup_arrive();
#pragma unroll
      for (int b = 0; b < 4; ++b) {
        wgmma<Instruction>(product, low[b], right + 2 * b, b);
        wgmma<Instruction>(product, high[b], right + plane / 16 + 2 * b, 1);
      }
#pragma unroll
      for (int b = 0; b < 4; ++b) wgmma<Instruction>(product, high[b], right + 2 * b, 1);
      cute::warpgroup_commit_batch();
      if (n + 1 != all) load_left(n + 1);
      cute::warpgroup_wait<0>();
      warpgroup_fence_operand(product);
      __syncwarp();
      if (lane == 0) mbarrier_arrive(empty_barriers[slot]);
#pragma unroll
      for (int i = 0; i < 64; ++i) sum[i] = __fadd_rn(sum[i], product[i]);
    }

    Place const to = place(turn);
    uint32_t most = 0;
#pragma unroll
    for (int i = 0; i < 64; ++i) most = max(most, __float_as_uint(fabsf(sum[i])));
    int const top = thread / 16, side = thread % 16;
    bool const exact = any(group, most >= 0x7f800000 || least < tiny || met != 0);
    if (exact) {  // in float32: a thread has every eighth line, and every sixteenth of the right operand
      float *const lefts = mine, *const rights = lefts + slab * left_pitch;
      float const* const from_l = p.l + to.member * p.stride_l;
      float const* const from_r = p.r + to.member * p.stride_r;
      float next_l[slab * part / 128], next_r[slab * tile / 128];
      auto const k_of_l = [&](int i) { return KLeft ? (thread + 128 * i) % slab : (thread + 128 * i) / part; };
      auto const line_of_l = [&](int i) { return KLeft ? (thread + 128 * i) / slab : (thread + 128 * i) % part; };
      auto const k_of_r = [&](int i) { return (thread + 128 * i) % slab; };
      auto const line_of_r = [&](int i) { return (thread + 128 * i) / slab; };
      auto const fetch = [&](int k) {
#pragma unroll
        for (int i = 0; i < slab * part / 128; ++i) {
          int const at = k + k_of_l(i), l = to.l + part * group + line_of_l(i);
          next_l[i] = at < p.k && l < p.lines_l ? from_l[l * p.line_l + at * p.step_l] : 0.f;
        }
#pragma unroll
        for (int i = 0; i < slab * tile / 128; ++i) {
          int const at = k + k_of_r(i), r = to.r + line_of_r(i);
          next_r[i] = at < p.k && r < p.lines_r ? from_r[r * p.line_r + at] : 0.f;
        }
      };
      fetch(0);
#pragma unroll
      for (int i = 0; i < 64; ++i) sum[i] = 0;
#pragma unroll 1
      for (int k = 0; k < p.k; k += slab) {
        named_barrier_sync_aligned(1 + group, 128);
#pragma unroll
        for (int i = 0; i < slab * part / 128; ++i) lefts[k_of_l(i) * left_pitch + line_of_l(i)] = next_l[i];
#pragma unroll
        for (int i = 0; i < slab * tile / 128; ++i) rights[k_of_r(i) * right_pitch + line_of_r(i)] = next_r[i];
        named_barrier_sync_aligned(1 + group, 128);
        fetch(k + slab);
#pragma unroll
        for (int at = 0; at < slab; ++at) {
          float x[8], y[8];
#pragma unroll
          for (int i = 0; i < 8; ++i) x[i] = lefts[at * left_pitch + top + 8 * i], y[i] = rights[at * right_pitch + side + 16 * i];
#pragma unroll
          for (int i = 0; i < 64; ++i) sum[i] = fmaf(x[i / 8], y[i % 8], sum[i]);
        }
      }
    }

    // Stores through shared memory, so that a warp stores neighbours: 64 of the right operand's lines at a time.
    int const first_l = to.l + part * group;
#pragma unroll
    for (int q = 0; q < 2; ++q) {
      int const first_r = to.r + part * q;
      named_barrier_sync_aligned(1 + group, 128);
#pragma unroll
      for (int i = 0; i < 32; ++i) {
        int const l = exact ? top + 8 * (i / 4) : line[i / 2 % 2] - part * group;
        int const r = exact ? side + 16 * (i % 4) : 8 * (i / 4) + 2 * t + i % 2;
        mine[Transposed ? r * pitch + l : l * pitch + r] = exact ? sum[8 * (i / 4) + 4 * q + i % 4] : sum[32 * q + i];
      }
      named_barrier_sync_aligned(1 + group, 128);
      int const m = Transposed ? first_r : first_l, n = (Transposed ? first_l : first_r) + thread % part;
      int const end_m = Transposed ? p.lines_r : p.lines_l, end_n = Transposed ? p.lines_l : p.lines_r;
      if (n >= end_n) continue;
      float const b = p.bias != nullptr ? p.bias[n] : 0.f;
      float* const d = p.d + to.member * p.stride_d + n;
#pragma unroll 1
      for (int row = thread / part; row < part; row += 8) {
        cutlass::Array<float, 4> x, bias;
#pragma unroll
        for (int i = 0; i < 4; ++i) x[i] = mine[(row + 2 * i) * pitch + thread % part], bias[i] = b;
        x = finish<float>(x, bias, p.alpha, p.act);
#pragma unroll
        for (int i = 0; i < 4; ++i) {
          if (m + row + 2 * i < end_m) d[(m + row + 2 * i) * p.ldd] = x[i];
        }
      }
    }
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
  int const down = (l.lines - 1) / tile + 1, across = (r.lines - 1) / tile + 1;
  int64_t const tiles = static_cast<int64_t>(down) * across * p.batch;
  if (tiles > INT32_MAX - (1 << 16)) return GPK_ERR_ARGUMENT;
  Grid grid = {l.lines, r.lines, p.k, down, across, static_cast<int>(tiles),
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
