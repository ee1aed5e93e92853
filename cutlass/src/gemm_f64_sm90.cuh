// gemm_f64_sm90.cuh: float64 products for Hopper by DMMA (mma.sync), from operand tiles that TMA loads into a multistage
// buffer in shared memory.
//
// One producer warp loads the tiles. The consumer warps hold a step's left lines and a block of its right lines in
// registers, and load the next ones while they multiply. They form groups that process steps alternately. The CTAs of a
// cluster each compute a part of k. The sums are exchanged through shared memory and added in the order of the CTAs, and
// within a CTA in that of the groups, so that the result does not depend on timing.
#pragma once
#include "dependent.cuh"
#include "gemm_f64_operands_sm90.cuh"

namespace gpk {
namespace dmma {
namespace {

struct Grid {
  int m, n, k;
  int tiles_m, tiles_n;  // tiles of a member of the batch
  int tiles;             // tiles of the batch
  bool batched_l, batched_r;  // whether each member has its own operand
  bool vector_stores;  // whether D is aligned for stores of 16 bytes
  double* d;
  int64_t ldd, stride_d;
  double alpha;
};

// Loads from the shared memory of another CTA of the cluster.
__device__ inline double2 load_cluster(uint32_t at, int cta) {
  double2 v;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(at), "r"(cta));
  asm volatile("ld.shared::cluster.v2.f64 {%0, %1}, [%2];" : "=d"(v.x), "=d"(v.y) : "r"(at));
  return v;
}

__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// Tiles are in an order in which CTAs that run at the same time share rows and columns.
struct TileCoord {
  int m, n, member;
};

template <class K>
__device__ __forceinline__ TileCoord tile_coord(Grid const& p, int tile) {
  constexpr int rows = 8;
  int const each = p.tiles_m * p.tiles_n;
  int const member = tile / each, i = tile - member * each;
  int const top = i / (rows * p.tiles_n) * rows, in = i - top * p.tiles_n, high = min(rows, p.tiles_m - top);
  return TileCoord{(top + in % high) * K::tile_m, in / high * K::tile_n, member};
}

// The producer warp. Lane 0 requests the loads. `now` counts the steps of all tiles. It may wrap around, which changes
// neither the stage nor the parity, because 2 kStages divides 2^32.
template <class K>
__device__ __forceinline__ void produce(CUtensorMap const& map_l, CUtensorMap const& map_r, Grid const& p, uint32_t ring, Barriers full_barriers,
                                      Barriers empty_barriers, int lane, int first, int stride, int from, int own_steps) {
  uint32_t now = 0;
  auto const load_steps = [&](TileCoord const& at, int s, int end) {
    if (lane == 0) {
      for (uint32_t n = now; s < end; ++s, ++n) {
        int const stage = n % K::kStages, k = (from + s) * step;
        // The parity is that of the preceding phase, so that the first round does not wait.
        mbarrier_wait(empty_barriers[stage], ~(n / K::kStages) & 1);
        uint32_t const barrier = full_barriers[stage], to = ring + stage * K::stage_bytes;
        mbarrier_arrive_expect_tx(barrier, K::stage_bytes);
#pragma unroll
        for (int i = 0; i < K::Left::boxes; ++i) {
          K::Left::load_box(to, &map_l, i, k, K::swap ? at.n : at.m, p.batched_l ? at.member : 0, barrier);
        }
#pragma unroll
        for (int i = 0; i < K::Right::boxes; ++i) {
          K::Right::load_box(to + K::Left::bytes, &map_r, i, k, K::swap ? at.m : at.n, p.batched_r ? at.member : 0, barrier);
        }
      }
    }
    __syncwarp();
  };
  for (int tile = first; tile < p.tiles; tile += stride) {
    // The producer fills the free stages while the consumers store the previous tile. Then it takes part in the two
    // cluster barriers of their reduction.
    TileCoord const at = tile_coord<K>(p, tile);
    int const early = min(own_steps, K::kStages);
    load_steps(at, 0, early), now += early;
    if (K::parts > 1 && tile != first) cluster_sync(), cluster_sync();
    load_steps(at, early, own_steps), now += own_steps - early;
  }
  if constexpr (K::parts > 1) cluster_sync(), cluster_sync();
}

// Calls f(row, column, x, y) for the thread's pairs of neighbours in a row of D.
template <class K, class F>
__device__ __forceinline__ void each_pair(double const (&c)[K::blocks_l][K::blocks_r][2][4], int left, int right, int g, int t, F const& f) {
#pragma unroll
  for (int i = 0; i < K::blocks_l; ++i) {
#pragma unroll
    for (int j = 0; j < K::blocks_r; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        auto const& x = c[i][j];
        int const l = left + 16 * i, r = right + 16 * j + (K::right_k && !K::left_k ? e % 2 == 0 ? 2 * t : 8 + (2 * t + 4) % 8 : 0);
        if constexpr (K::swap) {  // e / 2: the instruction
          f(r + e / 2, l + 2 * g, x[e / 2][e % 2], x[e / 2][e % 2 + 2]);
        } else if constexpr (K::left_k) {
          f(l + 2 * (g % 4) + g / 4 + 8 * (e / 2), r + 4 * t + 2 * (e % 2), x[0][e], x[1][e]);
        } else if constexpr (K::right_k) {
          f(l + 2 * g + e / 2, r, x[0][e], x[1][e]);
        } else {  // e % 2: the instruction
          f(l + 2 * g + e / 2, r + 8 * (e % 2) + 2 * t, x[e % 2][e / 2 * 2], x[e % 2][e / 2 * 2 + 1]);
        }
      }
    }
  }
}

// Stores the sums of a tile, after their reduction over groups and CTAs if there are several.
template <class K>
__device__ __forceinline__ void store_tile(double const (&c)[K::blocks_l][K::blocks_r][2][4], Grid const& p, int tile, uint32_t ring, int left,
                                           int right, int g, int t, int group, int part) {
  TileCoord const to = tile_coord<K>(p, tile);
  auto const store = [&](int r, int n, double x, double y) {
    if (to.m + r >= p.m || to.n + n >= p.n) return;
    double* const d = p.d + to.member * p.stride_d + static_cast<int64_t>(to.m + r) * p.ldd + to.n + n;
    x *= p.alpha, y *= p.alpha;
    if (p.vector_stores && to.n + n + 1 < p.n) {
      *reinterpret_cast<double2*>(d) = {x, y};
    } else {
      d[0] = x;
      if (to.n + n + 1 < p.n) d[1] = y;
    }
  };
  if constexpr (!K::reduces) {
    each_pair<K>(c, left, right, g, t, store);
  } else {
    uint32_t const sums = ring + K::kStages * K::stage_bytes;
    each_pair<K>(c, left, right, g, t, [&](int r, int n, double x, double y) {
      uint32_t const at = sums + group * K::sum_bytes + (r * K::pitch + n) * static_cast<int>(sizeof(double));
      asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(at), "d"(x), "d"(y) : "memory");
    });
    auto const sync = [] {
      if constexpr (K::parts > 1) {
        cluster_sync();
      } else {
        named_barrier_sync(1, K::consumer_threads);
      }
    };
    sync();
    constexpr int rows = K::tile_m / K::parts, pairs = K::tile_n / 2;
    for (int i = threadIdx.x; i < rows * pairs; i += K::consumer_threads) {
      int const r = part * rows + i / pairs, n = i % pairs * 2;
      double x = 0, y = 0;
#pragma unroll
      for (int s = 0; s < K::parts * K::groups; ++s) {
        uint32_t const at = sums + s % K::groups * K::sum_bytes + (r * K::pitch + n) * static_cast<int>(sizeof(double));
        double2 const v = K::parts > 1 ? load_cluster(at, s / K::groups) : load(at);
        x = s == 0 ? v.x : x + v.x, y = s == 0 ? v.y : y + v.y;
      }
      store(r, n, x, y);
    }
    sync();
  }
}

template <class K>
__global__ void __launch_bounds__(K::threads, 1)
    multiply(__grid_constant__ CUtensorMap const map_l, __grid_constant__ CUtensorMap const map_r,
             __grid_constant__ Grid const p) {
  extern __shared__ char memory[];
  __shared__ uint64_t barriers[2 * K::kStages];
  uint32_t const ring = (shared_address(memory) + 1023) & ~1023u;
  Barriers const full_barriers{shared_address(barriers)}, empty_barriers{full_barriers[K::kStages]};
  int const lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  int const warp = threadIdx.x / 32 % K::warps, group = threadIdx.x / 32 / K::warps;
  int const left = warp % K::warps_l * K::warp_l, right = warp / K::warps_l * K::warp_r;  // the first lines of the warp's part of the tile

  if (threadIdx.x == K::consumer_threads) {
    prefetch_tensormap(&map_l);
    prefetch_tensormap(&map_r);
    for (int i = 0; i < K::kStages; ++i) {
      mbarrier_init(full_barriers[i], 1);
      mbarrier_init(empty_barriers[i], K::warps);
    }
    mbarrier_init_fence();
  }
  begin();
  if constexpr (K::parts > 1) {
    cluster_sync();
  } else {
    __syncthreads();
  }

  // This CTA's tiles, and its steps of each.
  int const first = blockIdx.x / K::parts, stride = gridDim.x / K::parts, part = blockIdx.x % K::parts;
  int const steps = (p.k - 1) / step + 1;
  int const from = static_cast<int>(static_cast<int64_t>(steps) * part / K::parts);
  int const own_steps = static_cast<int>(static_cast<int64_t>(steps) * (part + 1) / K::parts) - from;

  // The producer warp.
  if (threadIdx.x >= K::consumer_threads) {
    produce<K>(map_l, map_r, p, ring, full_barriers, empty_barriers, lane, first, stride, from, own_steps);
    return;
  }

  Fragments<K> const fragments(lane, g, t, left, right);
  uint32_t q = 0;  // steps before this tile
  for (int tile = first; tile < p.tiles; tile += stride, q += own_steps) {
    double c[K::blocks_l][K::blocks_r][2][4] = {};
    double lefts[2][K::blocks_l][8], rights[2][2][4];  // of this step and the next; of this block and the next
    auto const stage_address = [&](uint32_t now) { return ring + now % K::kStages * K::stage_bytes; };
    auto const wait_full = [&](uint32_t now) { mbarrier_wait(full_barriers[now % K::kStages], now / K::kStages & 1); };
    // Multiplies a step. Meanwhile it loads the next block of right lines, and during the last block the next step's left
    // lines. The loads after the last step are not used.
    auto const multiply_step = [&](int odd, int s) {
      uint32_t const now = q + s, stage = stage_address(now);
      uint32_t next = stage;
      static_assert(K::blocks_r % 2 == 0, "");
#pragma unroll
      for (int j = 0; j < K::blocks_r; ++j) {
        bool const last = j + 1 == K::blocks_r;
        if (last && s + K::groups < own_steps) {
          next = stage_address(now + K::groups);
          wait_full(now + K::groups);
        }
        constexpr int products = 2 * K::blocks_l;
#pragma unroll
        for (int x = 0; x < products; ++x) {
#pragma unroll
          for (int l = 4 * x / products; l < 4 * (x + 1) / products; ++l) {
            fragments.load_right(rights[(j + 1) % 2], last ? next : stage, last ? 0 : j + 1, l);
          }
          if (last) {
#pragma unroll
            for (int l = 2 * x; l < 2 * x + 2; ++l) fragments.load_left(lefts[1 - odd][l / 4], next, l / 4, l % 4);
          }
          multiply_add(c[x % K::blocks_l][j][x / K::blocks_l], lefts[odd][x % K::blocks_l], rights[j % 2][x / K::blocks_l]);
        }
      }
      __syncwarp();
      if (lane == 0) mbarrier_arrive(empty_barriers[now % K::kStages]);
    };
    if (group < own_steps) {
      wait_full(q + group);
#pragma unroll
      for (int l = 0; l < 4; ++l) {
        fragments.load_right(rights[0], stage_address(q + group), 0, l);
#pragma unroll
        for (int i = 0; i < K::blocks_l; ++i) fragments.load_left(lefts[0][i], stage_address(q + group), i, l);
      }
    }
#pragma unroll 1
    for (int s = group; s < own_steps; s += 2 * K::groups) {
      multiply_step(0, s);
      if (s + K::groups < own_steps) multiply_step(1, s + K::groups);
    }
    store_tile<K>(c, p, tile, ring, left, right, g, t, group, part);
  }
}

template <bool RowA, bool RowB, class K>
int run(Problem const& p) {
  static uint64_t allowed = 0;
  if (p.alpha_im != 0) return GPK_ERR_ARGUMENT;
  void const* const kernel = reinterpret_cast<void const*>(multiply<K>);
  if (int const e = allow_shared(kernel, K::shared, p.device, &allowed)) return e;

  CUtensorMap a, b;
  int const box_a = K::swap ? K::Right::box_lines : K::Left::box_lines;
  int const box_b = K::swap ? K::Left::box_lines : K::Right::box_lines;
  constexpr auto type = CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  constexpr int size = sizeof(double);
  if (!encode_operand(&a, type, size, p.a, RowA, p.m, p.k, p.lda, p.stride_a, p.batch, box_a, step) ||
      !encode_operand(&b, type, size, p.b, !RowB, p.n, p.k, p.ldb, p.stride_b, p.batch, box_b, step)) {
    return GPK_ERR_KERNEL;
  }
  int const tiles_m = (p.m - 1) / K::tile_m + 1, tiles_n = (p.n - 1) / K::tile_n + 1;
  int64_t const tiles = static_cast<int64_t>(tiles_m) * tiles_n * p.batch;
  if (tiles > INT32_MAX - (1 << 16)) return GPK_ERR_ARGUMENT;
  bool const batched_a = p.stride_a != 0, batched_b = p.stride_b != 0;
  uint64_t const align = reinterpret_cast<uint64_t>(p.d) | 8 * p.ldd | 8 * p.stride_d;
  Grid grid = {p.m, p.n, p.k, tiles_m, tiles_n, static_cast<int>(tiles), K::swap ? batched_b : batched_a,
               K::swap ? batched_a : batched_b, align % 16 == 0, static_cast<double*>(p.d), p.ldd, p.stride_d, p.alpha_re};
  int const sms = sm_count(p.device), max_clusters = sms > K::parts ? sms / K::parts : 1;
  int const ctas = K::parts * (grid.tiles < max_clusters ? grid.tiles : max_clusters);
  void* params[] = {K::swap ? &b : &a, K::swap ? &a : &b, &grid};
  return launch(kernel, dim3(ctas), dim3(K::threads), K::shared, p.stream, params, K::parts, 1, true);
}

template <bool RowA, bool RowB>
constexpr Traits traits = {8, 8, 8, RowA, RowB, 16, 16, 8, 1, false};

}  // namespace
}  // namespace dmma
}  // namespace gpk

// One kernel of the manifest. A small tile has two groups of warps.
#define GPK_DMMA90(name, row_a, row_b, M, N, WarpL, WarpR, Parts, Stages)                                       \
  namespace gpk {                                                                                              \
  using name##_t = dmma::Config<row_a, row_b, M, N, WarpL, WarpR, (M * N) / (WarpL * WarpR) < 8 ? 2 : 1, Parts, \
                               Stages>;                                                                        \
  extern Entry const entry_##name;                                                                             \
  Entry const entry_##name = {#name, dmma::traits<row_a, row_b>, dmma::run<row_a, row_b, name##_t>};           \
  }
