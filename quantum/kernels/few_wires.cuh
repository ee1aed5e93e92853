// few_wires.cuh: the Gram matrix K of circuits that do not entangle their wires, of up to 32 planar or 16 full ones, for Hopper.
// K and its mirror are stored from registers.
//
// The results have the same bits as those of gram_product.cuh from the planes of wire_groups.cuh. But samples are permuted
// within groups of sixteen, so that a thread has neighbouring entries of K: four of a line and two of a column. Neighbouring
// threads store 64 bytes of a line. No tile is stored through shared memory.
//
// Two consumer warpgroups compute 64 rows of a tile each. While one stores, the other multiplies. A producer warp requests
// tiles and loads the planes of their columns. Multiprocessors do not store equally fast, so tiles are assigned dynamically,
// and the sums of the report are integers.
#pragma once
#include "few_wires_planes.cuh"

namespace gpk {
namespace few_wires {
namespace {

using namespace sm90;

constexpr int threads = 128 * (1 + consumers);
constexpr int kStages = 2;

// The units of the integer sums.
constexpr float coarse = 0x1p-20f, fine = 0x1p-52f;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// a b^T, with 64 lines of 16 numbers each: a from registers, b from shared memory.
using Instruction = cute::SM90::GMMA::MMA_64x64x16_F32F16F16_RS<cute::SM90::GMMA::Major::K, cute::SM90::GMMA::Major::K>;

// Policies of L2: planes are read repeatedly and are evicted last, K is evicted first.
__device__ __forceinline__ uint64_t evict_last() {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

__device__ __forceinline__ uint64_t evict_first() {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

__device__ __forceinline__ uint4 load(uint4 const* p, uint64_t policy) {
  uint4 v;
  asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p), "l"(policy)
               : "memory");
  return v;
}

__device__ __forceinline__ void store(float* p, float a, float b, float c, float d, uint64_t policy) {
  asm volatile("st.global.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(p), "f"(a), "f"(b), "f"(c), "f"(d), "l"(policy) : "memory");
}

__device__ __forceinline__ void store(float* p, float a, float b, uint64_t policy) {
  asm volatile("st.global.L2::cache_hint.v2.f32 [%0], {%1, %2}, %3;" ::"l"(p), "f"(a), "f"(b), "l"(policy) : "memory");
}

// A thread's sums over K. They are integers, so that their order does not matter. A sum of 32 squares is rounded to a multiple
// of 2^-52: if all entries are 1e-7, the deviation is accurate to three digits.
struct Sums {
  long long of[2][2]{};  // of entries and of their squares, in units of coarse and of fine
  // The bits of the largest deviation of the diagonal from 1. The bits of nonnegative numbers are ordered like the numbers,
  // and the bits of NaN are the largest.
  unsigned long long off = 0;
  __device__ void add(int which, float x) {
    if (!(x < 64)) note(__longlong_as_double(0x7ff8000000000000));  // NaN, because a sum of 32 entries is below 64
    int const n = __float2int_rn(x * (1 / coarse));
    of[which][0] += n;
    of[which][1] += __float2ll_rn(fmaf(static_cast<float>(n), -coarse, x) * (1 / fine));
  }
  __device__ void diagonal(float x) { note(fabs(double(x) - 1)); }
  __device__ void note(double x) { off = max(off, static_cast<unsigned long long>(__double_as_longlong(x))); }
};
#endif

struct Planes {
  int squared;  // groups of planar wires, whose product is squared
  uint4 const* rows;
  unsigned char const* cols;
  Counters* counters;
  double* total;
};

template <int Groups>
constexpr int shared_bytes = 1024 + kStages * 2 * Columns<Groups>::plane;

// Marks the end of the tiles.
constexpr unsigned long long none = ~0ull;

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// The producer thread requests tiles and loads the planes of their columns. Tiles are numbered row by row, in a triangle from
// the diagonal on. tile_of and `columns` are in shared memory: for each stage the number of its tile, and the planes.
template <int StageBytes>
__device__ __forceinline__ void produce(gram::Target const& p, Planes const& from, unsigned long long* tile_of, uint32_t columns, Barriers full_barriers,
                                        Barriers empty_barriers) {
  uint64_t const policy = evict_last();
  int stage = 0, i = 0, before = 0;
  for (unsigned phase = 0;;) {
    mbarrier_wait(empty_barriers[stage], phase ^ 1);
    int const t = static_cast<int>(atomicAdd(&from.counters->next, 1));
    int row = p.across - (p.triangle ? i : 0);
    for (; i < p.down && t >= before + row; ++i) before += row, row -= p.triangle;
    int const j = t - before + (p.triangle ? i : 0);
    atomicExch(&tile_of[stage], i < p.down ? static_cast<unsigned long long>(i) << 32 | j : none);
    uint32_t const barrier = full_barriers[stage];
    if (i >= p.down) {
      mbarrier_arrive(barrier);
      return;
    }
    mbarrier_arrive_expect_tx(barrier, StageBytes);
    asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(
                     columns + stage * StageBytes),
                 "l"(from.cols + int64_t(j) * StageBytes), "n"(StageBytes), "r"(barrier), "l"(policy)
                 : "memory");
    if (++stage == kStages) stage = 0, phase ^= 1;
  }
}

// Stores a thread's entries, all of them above K's diagonal, to K and to its mirror, and adds them to its sums. r and c are
// the first row and column.
__device__ __forceinline__ void store_all(float const (&v)[32], gram::Target const& p, int64_t r, int64_t c, Sums& seen, uint64_t policy) {
#pragma unroll
  for (int k = 0; k < 2; ++k)
#pragma unroll
    for (int m = 0; m < 4; ++m) store(p.k + (r + k) * p.ld + c + 16 * m, v[8 * m + 2 * k], v[8 * m + 4 + 2 * k], v[8 * m + 2 * k + 1], v[8 * m + 5 + 2 * k], policy);
  if (p.mirror != nullptr) {
#pragma unroll
    for (int j = 0; j < 16; ++j) {
      int const i = j / 4 * 8 + j % 2 * 4 + j / 2 % 2;  // column j / 4 * 16 + j % 4
      store(p.mirror + (c + j / 4 * 16 + j % 4) * p.ld_mirror + r, v[i], v[i + 2], policy);
    }
  }
  float s[4] = {}, f[4] = {};
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    s[i % 4] += v[i];
    f[i % 4] += v[i] * v[i];
  }
  seen.add(0, (s[0] + s[1]) + (s[2] + s[3]));
  seen.add(1, (f[0] + f[1]) + (f[2] + f[3]));
}

// The same for entries of which some are on or below K's diagonal or outside K.
__device__ __forceinline__ void store_some(float const (&v)[32], gram::Target const& p, int64_t r, int64_t c, Sums& seen) {
#pragma unroll
  for (int i = 0; i < 32; ++i) {
    int64_t const row = r + i / 2 % 2, col = c + i / 8 * 16 + i % 2 * 2 + i / 4 % 2;
    if (row >= p.rows || col >= p.cols || (p.triangle && row > col)) continue;
    float const x = v[i];
    if (p.triangle && row == col) {
      seen.diagonal(x);
      p.k[row * p.ld + col] = p.one;
      continue;
    }
    seen.add(0, x);
    seen.add(1, x * x);
    p.k[row * p.ld + col] = x;
    if (p.mirror != nullptr) p.mirror[col * p.ld_mirror + row] = x;
  }
}

// Adds the sums of a warp, then those of the block. The last block to end stores the result.
__device__ __forceinline__ void add_sums(Sums const& seen, Planes const& from, unsigned long long* sums, int lane) {
  auto gather = [&](unsigned long long* to, auto const& from) {
    for (int k = 0; k < 4; ++k) atomicAdd(to + k, static_cast<unsigned long long>(from[k]));
    atomicMax(to + 4, static_cast<unsigned long long>(from[4]));
  };
  long long own[5];
  for (int k = 0; k < 4; ++k) {
    own[k] = seen.of[k / 2][k % 2];
    for (int d = 16; d > 0; d /= 2) own[k] += __shfl_down_sync(~0u, own[k], d);
  }
  own[4] = static_cast<long long>(seen.off);
  for (int d = 16; d > 0; d /= 2) own[4] = max(own[4], __shfl_down_sync(~0u, own[4], d));
  if (lane == 0) gather(sums, own);
  named_barrier_sync_aligned(1, 128 * consumers);
  if (threadIdx.x != 128) return;
  Counters* const to = from.counters;
  gather(&to->sums[0][0], sums);
  __threadfence();
  if (atomicAdd(&to->done, 1) + 1 != gridDim.x) return;
  __threadfence();
  auto sum = [&](int which) {
    auto const part = [&](int k) { return static_cast<double>(static_cast<long long>(__ldcg(&to->sums[which][k]))); };
    return part(0) * coarse + part(1) * fine;
  };
  from.total[0] += sum(0);
  from.total[1] += sum(1);
  double const off = __longlong_as_double(static_cast<long long>(__ldcg(&to->off)));
  if (!(off <= from.total[2])) from.total[2] = off;
}
#endif

// Computes and stores the tiles of K. Planar: all groups are of planar wires.
template <int Groups, bool Planar>
__global__ void __launch_bounds__(threads, 1) kernel(gram::Target const __grid_constant__ p, Planes const __grid_constant__ from) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using C = Columns<Groups>;
  constexpr int stage_bytes = 2 * C::plane;
  extern __shared__ unsigned char raw[];
  __shared__ __align__(8) uint64_t barriers[2 * kStages];
  __shared__ unsigned long long tile_of[kStages];  // row, then column; accessed by atomics only
  __shared__ unsigned long long sums[5];
  unsigned char* const smem = raw + (1024 - shared_address(raw) % 1024) % 1024;
  uint32_t const columns = shared_address(smem);
  Barriers const full_barriers{shared_address(barriers)}, empty_barriers{full_barriers[kStages]};
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      mbarrier_init(full_barriers[i], 1);
      mbarrier_init(empty_barriers[i], 4 * consumers);
    }
    mbarrier_init_fence();
    for (unsigned long long& x : sums) x = 0;
  }
  __syncthreads();
  griddepcontrol_wait();
  int stage = 0;
  unsigned phase = 0;
  auto advance = [&] {
    if (++stage == kStages) stage = 0, phase ^= 1;
  };
  if (threadIdx.x < 128) {
    warpgroup_reg_dealloc<32>();
    if (threadIdx.x == 0) produce<stage_bytes>(p, from, tile_of, columns, full_barriers, empty_barriers);
  } else {
    warpgroup_reg_alloc<208>();
    int const consumer = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    uint64_t const first = evict_first(), last = evict_last();
    uint4 a[2][Groups];
    Sums seen;
    int row, col;  // of the tile; row is -1 after the last tile
    // Waits for the next tile and starts to load the planes of its rows.
    auto next = [&] {
      advance();
      mbarrier_wait(full_barriers[stage], phase);
      unsigned long long tile = none;
      if (lane == 0) tile = atomicAdd(&tile_of[stage], 0);
      tile = __shfl_sync(~0u, tile, 0);
      row = static_cast<int>(tile >> 32), col = static_cast<int>(tile);
      if (row < 0) return;
      int const q = row * consumers + consumer;
      uint4 const* const at = from.rows + int64_t(4 * q + warp) * 2 * Groups * 32 + lane;
#pragma unroll
      for (int k = 0; k < 2; ++k)
#pragma unroll
        for (int g = 0; g < Groups; ++g) a[k][g] = load(at + (k * Groups + g) * 32, last);
    };
    auto release = [&](int stage) {
      __syncwarp();
      if (lane == 0) mbarrier_arrive(empty_barriers[stage]);
    };
    stage = kStages - 1, phase = 1;
    next();
    while (row >= 0) {
      int const current = stage;
      int64_t const top = int64_t(row) * side + consumer * lines, left = int64_t(col) * side;
      uint32_t const base = columns + stage * stage_bytes;
      // The range of the tile's halves, of 64 columns each, that K has.
      int const begin = !p.triangle || top < left ? 0 : static_cast<int>((top - left) / half);
      int const end = top >= p.rows ? 0 : static_cast<int>(min(int64_t(side), p.cols - left) + half - 1) / half;
      auto compute = [&](int h, bool end) {
        float v[32], d[32];
        uint64_t const b0 = matrix_descriptor(((base + h * half * C::line) & 0x3ffff) >> 4, 1, 8 * C::line / 16, 2);
#pragma unroll
        for (int g = 0; g < Groups; ++g) {
          uint64_t const b = b0 + g / 2 * (C::panel / 16) + g % 2 * 2;
          warpgroup_fence_operand(d);
          cute::warpgroup_arrive();
          wgmma<Instruction>(d, &a[1][g].x, b, 0);
          wgmma<Instruction>(d, &a[0][g].x, b + C::plane / 16, 1);
          wgmma<Instruction>(d, &a[0][g].x, b, 1);
          cute::warpgroup_commit_batch();
          cute::warpgroup_wait<0>();
          warpgroup_fence_operand(d);
#pragma unroll
          for (int i = 0; i < 32; ++i) {
            float x = d[i];  // the planes are scaled by 2^7
            if (Planar && g == 0) x *= Groups == 4 ? 0x1p-56f : 0x1p-28f;
            if (!Planar && g % 2 == 0) x *= 0x1p-28f;
            v[i] = g == 0 ? x : v[i] * x;
          }
          if (!Planar && g + 1 == from.squared) {
#pragma unroll
            for (int i = 0; i < 32; ++i) v[i] *= v[i];
          }
        }
        if (end) next();
        if constexpr (Planar) {
#pragma unroll
          for (int i = 0; i < 32; ++i) v[i] *= v[i];
        }
        int64_t const r = top + 16 * warp + lane / 4 * 2, c = left + h * half + lane % 4 * 4;
        bool const on_diagonal = p.triangle && top + lines > left + h * half;
        if (!on_diagonal && top + lines <= p.rows && left + h * half + half <= p.cols) {
          store_all(v, p, r, c, seen, first);
        } else {
          store_some(v, p, r, c, seen);
        }
      };
      for (int h = begin; h < end; ++h) compute(h, h + 1 == end);
      release(current);
      if (begin >= end) next();
    }
    add_sums(seen, from, sums, lane);
  }
#endif
}

}  // namespace
}  // namespace few_wires
}  // namespace gpk
