// gemm_large_sm90.cuh: large products of 16-bit operands with 16-bit results for Hopper, without CUTLASS's collectives. A
// producer thread loads tiles of both operands by TMA into a multistage buffer in shared memory. Consumer warpgroups
// multiply them by wgmma. The kernel computes the transposed product: the instruction's m is 64 columns of D, and its n
// is rows of D. So a tile may have any multiple of 16 rows, and the manifest chooses the number that fills the
// multiprocessors best.
//
//  pingpong     each warpgroup computes its own tile: one multiplies while the other stores
//  cooperative  the warpgroups share a tile, 64 columns each
//
// The kernel is faster than CUTLASS's because of its epilogue. CUTLASS's warpgroups synchronize after every 16 or 32
// columns of the epilogue, and in the cooperative schedule the tensor cores are idle meanwhile. Here each warpgroup
// stores independently: it rounds 64 columns, writes them to shared memory and stores them by TMA while it rounds the
// next ones.
#pragma once
#include <limits.h>

#include "gemm_epilogue.cuh"
#include "guard.cuh"
#include "sm90.cuh"

namespace gpk {

using bf16 = cutlass::bfloat16_t;
using fp16 = cutlass::half_t;

namespace large {

using namespace sm90;

// The instruction for 64 x N x 16. KLeft, KRight: whether k is contiguous in that operand.
template <class In, int N, bool KLeft, bool KRight>
struct Wgmma;

#define GPK_WGMMA(N)                                                                                            \
  template <bool KLeft, bool KRight>                                                                            \
  struct Wgmma<bf16, N, KLeft, KRight>                                                                          \
      : cute::SM90::GMMA::MMA_64x##N##x16_F32BF16BF16_SS<cute::SM90::GMMA::Major(!KLeft),                       \
                                                         cute::SM90::GMMA::Major(!KRight)> {};                  \
  template <bool KLeft, bool KRight>                                                                            \
  struct Wgmma<fp16, N, KLeft, KRight>                                                                          \
      : cute::SM90::GMMA::MMA_64x##N##x16_F32F16F16_SS<cute::SM90::GMMA::Major(!KLeft),                         \
                                                       cute::SM90::GMMA::Major(!KRight)> {};
GPK_WGMMA(128)
GPK_WGMMA(160)
GPK_WGMMA(192)
GPK_WGMMA(256)
#undef GPK_WGMMA

// M, N: the tile of D. KA, KB: whether k is contiguous in that operand. The CTAs of a cluster compute neighbouring tiles
// along n and share A's tile.
template <class In, class Out, bool KA, bool KB, int M, int N, int Cluster, bool Pingpong>
struct Kernel {
  static constexpr int groups = Pingpong ? 2 : N / 64;
  static constexpr int blocks = Pingpong ? N / 64 : 1;  // blocks of 64 columns per warpgroup
  static constexpr int consumers = Pingpong ? 1 : groups;  // warpgroups per tile
  static constexpr int threads = (groups + 1) * 128;
  static constexpr int consumer_registers = groups == 2 ? 232 : 160, producer_registers = groups == 2 ? 40 : 32;
  static constexpr int cluster = Cluster;

  // Operands are in shared memory in lines of 128 bytes: 64 of k for one row, or 64 rows for one k.
  static constexpr int line = 128, step = 64;
  static constexpr int b_bytes = N * line, stage_bytes = (M + N) * line;

  // One TMA store: a box of `rows` rows of D by 64 columns. A warpgroup has buffers for two.
  static constexpr int rows = M % 64 == 0 ? 64 : 32;
  static constexpr int box_bytes = rows * line;
  static constexpr int buffer_bytes = 2 * box_bytes * groups;

  static constexpr int reserved = 1024 + 256;  // bytes for alignment and barriers
  static constexpr int kStages = ((227 << 10) - reserved - buffer_bytes) / stage_bytes;
  static constexpr int shared = reserved + buffer_bytes + kStages * stage_bytes;

  static_assert(sizeof(In) == 2 && sizeof(Out) == 2 && N % 64 == 0 && (groups == 2 || groups == 3));
  static_assert(kStages >= 3 && kStages <= 16 && M % rows == 0 && (KA ? M / Cluster % 8 == 0 : M % 64 == 0));

  struct Params {
    CUtensorMap a, b, d;
    bool batched_a, batched_b;  // whether each member of the batch has its own A, B
    int steps;            // steps of k
    int tiles_n, tiles_m;  // clusters of tiles along n, and tiles along m
    int clusters;         // clusters of tiles in the batch
    int n;                // columns of D
    Out const* bias;
    float alpha;
    Activation act;
    EpilogueKind kind;
  };

  // The coordinates of a tile, in tiles.
  struct TileCoord {
    int m, n, member;
  };

  // Tiles are ordered in bands of 8 clusters along n. A wave of CTAs then computes nearly a square of D, which needs the
  // least data.
  CUTLASS_DEVICE static TileCoord tile_coord(Params const& p, int c, int rank) {
    constexpr int band = 8;
    int const each = p.tiles_n * p.tiles_m, at = c % each;
    int const first = at / (band * p.tiles_m) * band, band_width = min(band, p.tiles_n - first);
    int const in_band = at - first * p.tiles_m;
    return {in_band / band_width, (first + in_band % band_width) * Cluster + rank, c / each};
  }

  // The wgmma descriptor of an operand. If k is not contiguous, a box of 64 lines (64 of k) has 64 rows, and the box of
  // the next 64 rows follows it.
  template <bool K>
  CUTLASS_DEVICE static uint64_t descriptor(uint32_t at) {
    return matrix_descriptor(at >> 4 & 0x3fff, K ? 1 : 64 * line / 16, 8 * line / 16, 1);
  }

  // The distance between steps of 16 of k, in the descriptor's units.
  template <bool K>
  static constexpr int k_offset = (K ? 16 * sizeof(In) : 16 * line) >> 4;

  CUTLASS_DEVICE static void run(Params const& p, char* memory) {
    int const warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
    uint32_t const begin = (shared_address(memory) + 1023) / 1024 * 1024;
    uint32_t const ring = begin + buffer_bytes;
    Barriers const full_barriers{ring + kStages * stage_bytes}, empty_barriers{full_barriers[kStages]};
    int rank = 0;
    if constexpr (Cluster > 1) asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));

    if (warp == 0 && lane == 0) {
      for (CUtensorMap const* map : {&p.a, &p.b, &p.d}) prefetch_tensormap(map);
      for (int i = 0; i < kStages; ++i) {
        mbarrier_init(full_barriers[i], 1);
        mbarrier_init(empty_barriers[i], 4 * consumers * Cluster);
      }
      mbarrier_init_fence();
    }
    if constexpr (Cluster > 1) {
      __syncwarp();
      asm volatile("barrier.cluster.arrive.relaxed.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
    } else {
      __syncthreads();
    }

    if (warp < 4) {
      warpgroup_reg_dealloc<producer_registers>();
      if (warp == 0 && lane == 0) produce(p, ring, full_barriers, empty_barriers, rank);
    } else {
      warpgroup_reg_alloc<consumer_registers>();
      multiply(p, begin, ring, full_barriers, empty_barriers, rank, warp - 4, lane);
    }
  }

  // Loads one operand's tile. Each of `parts` CTAs loads one part and multicasts it to all.
  template <bool K, int line_count, int parts>
  CUTLASS_DEVICE static void load_tile(CUtensorMap const* map, uint32_t barrier, uint32_t to, int at, int k, int member,
                                       int rank) {
    constexpr int part_lines = (K ? line_count : step) / parts;  // lines
    int const first = parts > 1 ? part_lines * rank : 0;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < (K ? 1 : line_count / 64); ++i) {
      int const x = K ? k : at + i * 64, y = (K ? at : k) + first;
      uint32_t const dst = to + (i * 64 + first) * line;
      if constexpr (parts > 1) {
        tma_load_multicast((1 << parts) - 1, dst, map, x, y, member, barrier);
      } else {
        tma_load(dst, map, x, y, member, barrier);
      }
    }
  }

  // The producer, one thread.
  CUTLASS_DEVICE static void produce(Params const& p, uint32_t ring, Barriers full_barriers, Barriers empty_barriers, int rank) {
    griddepcontrol_wait();
    int s = 0;
    uint32_t parity = 1;
    auto const advance = [&] {
      if (++s == kStages) s = 0, parity ^= 1;
    };
    int const grid_clusters = gridDim.x / Cluster;
    for (int c = blockIdx.x / Cluster; c < p.clusters; c += grid_clusters) {
      TileCoord const at = tile_coord(p, c, rank);
      if (c + grid_clusters >= p.clusters) launch_dependents();
      CUTLASS_PRAGMA_NO_UNROLL
      for (int k = 0; k < p.steps; ++k) {
        uint32_t const to = ring + s * stage_bytes, barrier = full_barriers[s];
        mbarrier_wait(empty_barriers[s], parity);
        mbarrier_arrive_expect_tx(barrier, stage_bytes);
        load_tile<KB, N, 1>(&p.b, barrier, to, at.n * N, k * step, p.batched_b ? at.member : 0, rank);
        load_tile<KA, M, Cluster>(&p.a, barrier, to + b_bytes, at.m * M, k * step, p.batched_a ? at.member : 0, rank);
        advance();
      }
    }
    // The other CTAs of the cluster arrive at this CTA's barriers. So it may not exit before their last arrival.
    CUTLASS_PRAGMA_NO_UNROLL
    for (int i = 0; i < kStages; ++i) {
      mbarrier_wait(empty_barriers[s], parity);
      advance();
    }
  }

  // The consumer warpgroups, which multiply and store.
  CUTLASS_DEVICE static void multiply(Params const& p, uint32_t begin, uint32_t ring, Barriers full_barriers, Barriers empty_barriers,
                                      int rank, int warp, int lane) {
    using Instruction = Wgmma<In, M, KB, KA>;
    int const group = warp / 4, column = Pingpong ? 0 : group * 64;  // first column within the tile
    uint64_t const b = descriptor<KB>(ring + column * line), a = descriptor<KA>(ring + b_bytes);
    float sum[blocks][M / 2];
    auto const fence = [&] {
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < blocks; ++i) warpgroup_fence_operand(sum[i]);
    };
    auto const release = [&](int s) {
      if (lane < Cluster) mbarrier_arrive_cluster(empty_barriers[s], lane);
    };

    int s = 0;
    uint32_t parity = 0;
    int const grid_clusters = gridDim.x / Cluster;
    int tile = 0;  // the number of this CTA's tile
    for (int c = blockIdx.x / Cluster; c < p.clusters; c += grid_clusters, ++tile) {
      if constexpr (Pingpong) {
        // The stages of the other group's tile precede this tile's. An mbarrier wait distinguishes phases only by their
        // parity. So this group starts after the other group has waited for all of its phases.
        if (tile % 2 != group) continue;
        uint64_t const at = static_cast<uint64_t>(tile) * p.steps;
        s = at % kStages, parity = at / kStages % 2;
        if (tile > 0) named_barrier_sync(1 + group, 256);
      }
      int previous = 0;
      fence();
      CUTLASS_PRAGMA_NO_UNROLL
      for (int k = 0; k < p.steps; ++k) {
        mbarrier_wait(full_barriers[s], parity);
        cute::warpgroup_arrive();
        int const at = s * (stage_bytes >> 4);
        CUTLASS_PRAGMA_UNROLL
        for (int j = 0; j < step / 16; ++j) {
          CUTLASS_PRAGMA_UNROLL
          for (int i = 0; i < blocks; ++i) {
            wgmma<Instruction>(sum[i], b + at + i * (64 * line >> 4) + j * k_offset<KB>, a + at + j * k_offset<KA>, k > 0 || j > 0);
          }
        }
        cute::warpgroup_commit_batch();
        if (k > 0) {
          cute::warpgroup_wait<1>();
          release(previous);
        }
        previous = s;
        if (++s == kStages) s = 0, parity ^= 1;
      }
      if (Pingpong && c + grid_clusters < p.clusters) named_barrier_arrive(2 - group, 256);
      cute::warpgroup_wait<0>();
      release(previous);
      fence();

      TileCoord const at = tile_coord(p, c, rank);
      switch (p.kind) {
        case EpilogueKind::alpha_only: store<EpilogueKind::alpha_only>(p, sum, begin, at, column, warp, lane); break;
        case EpilogueKind::clip_or_sigmoid: store<EpilogueKind::clip_or_sigmoid>(p, sum, begin, at, column, warp, lane); break;
        case EpilogueKind::normal: store<EpilogueKind::normal>(p, sum, begin, at, column, warp, lane); break;
        default: store<EpilogueKind::steps>(p, sum, begin, at, column, warp, lane);
      }
    }
    tma_store_wait_read<0>();
  }

  template <EpilogueKind Kind>
  CUTLASS_DEVICE static void store(Params const& p, float const (&sum)[blocks][M / 2], uint32_t begin, TileCoord const& at,
                                   int column, int warp, int lane) {
    int const group = warp / 4;
    bool const stores = warp % 4 == 0 && lane == 0;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < blocks; ++i) {
      int const left = at.n * N + column + i * 64;  // first column in D
      float bias[2] = {0, 0};
      if constexpr (Kind != EpilogueKind::alpha_only) {
        CUTLASS_PRAGMA_UNROLL
        for (int half = 0; half < 2; ++half) {
          int const c = left + warp % 4 * 16 + half * 8 + lane / 4;
          if (p.bias != nullptr && c < p.n) bias[half] = static_cast<float>(p.bias[c]);
        }
      }
      CUTLASS_PRAGMA_UNROLL
      for (int r = 0; r < M; r += rows) {
        uint32_t const to = begin + (2 * group + (i * (M / rows) + r / rows) % 2) * box_bytes;
        // The last store from this buffer may still be reading it. This is the store before the previous one, except
        // that after a tile with an odd number of boxes the first box has the buffer of the previous store.
        constexpr bool odd = blocks * (M / rows) % 2 != 0;
        if (stores) {
          if (odd && i == 0 && r == 0) {
            tma_store_wait_read<0>();
          } else {
            tma_store_wait_read<1>();
          }
        }
        named_barrier_sync(3 + group, 128);
        CUTLASS_PRAGMA_UNROLL
        for (int j = 0; j < rows; j += 16) write_shared<Kind>(p, sum[i] + (r + j) / 2, bias, to + j * line, warp, lane);
        fence_proxy_async();
        named_barrier_sync(3 + group, 128);
        if (stores) tma_store(&p.d, to, left, at.m * M + r, at.member), tma_store_commit();
      }
    }
  }

  // Applies the epilogue to a thread's part of 16 rows of D and writes it to shared memory in TMA's 128-byte swizzle: unit
  // u of 16 bytes of line r is at u ^ r % 8.
  template <EpilogueKind Kind>
  CUTLASS_DEVICE static void write_shared(Params const& p, float const* sums, float const (&bias)[2], uint32_t to, int warp,
                                      int lane) {
    cutlass::Array<float, 8> sum, bias_values;
    CUTLASS_PRAGMA_UNROLL
    for (int e = 0; e < 8; ++e) sum[e] = sums[e], bias_values[e] = bias[e / 2 % 2];
    auto const x = apply_epilogue<Out, true, Kind>(sum, bias_values, p.alpha, p.act);
    auto const y = cutlass::NumericArrayConverter<Out, float, 8>::convert(x);
    uint32_t const* const bits = reinterpret_cast<uint32_t const*>(&y);
    int const row = lane / 16 * 8 + lane % 8, unit = warp % 4 * 2 + lane / 8 % 2;
    asm volatile("stmatrix.sync.aligned.m8n8.x4.trans.shared.b16 [%0], {%1, %2, %3, %4};" ::"r"(
                     to + row * line + (unit ^ row % 8) * 16),
                 "r"(bits[0]), "r"(bits[1]), "r"(bits[2]), "r"(bits[3])
                 : "memory");
  }
};

template <class Kernel>
__global__ void __launch_bounds__(Kernel::threads, 1)
    multiply(__grid_constant__ typename Kernel::Params const params, __grid_constant__ Guard const guard) {
  extern __shared__ char memory[];
  if (!runs(guard, reinterpret_cast<uint32_t*>(memory))) return;
  Kernel::run(params, memory);
}

}  // namespace large

template <class In, class Out, bool RowA, bool RowB, int M, int N, int Cluster, bool Pingpong>
struct GemmLarge90 {
  using Kernel = large::Kernel<In, Out, RowA, !RowB, M, N, Cluster, Pingpong>;
  static constexpr Traits traits = {2, 2, 2, RowA, RowB, 16, 16, 16, 1, true, true};

  template <class T>
  static constexpr auto type =
      cute::is_same_v<T, bf16> ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;

  static int run(Problem const& p) {
    static uint64_t allowed = 0;
    void const* const kernel = reinterpret_cast<void const*>(large::multiply<Kernel>);
    if (int const e = allow_shared(kernel, Kernel::shared, p.device, &allowed)) return e;

    typename Kernel::Params params;
    constexpr int step = Kernel::step;
    if (!sm90::encode_operand(&params.a, type<In>, 2, p.a, RowA, p.m, p.k, p.lda, p.stride_a, p.batch, M / Cluster, step / Cluster) ||
        !sm90::encode_operand(&params.b, type<In>, 2, p.b, !RowB, p.n, p.k, p.ldb, p.stride_b, p.batch, N, step) ||
        !sm90::encode_operand(&params.d, type<Out>, 2, p.d, true, p.m, p.n, p.ldd, p.stride_d, p.batch, Kernel::rows, 0)) {
      return GPK_ERR_KERNEL;
    }
    params.batched_a = p.stride_a != 0, params.batched_b = p.stride_b != 0;
    params.steps = (p.k - 1) / step + 1;
    params.tiles_n = (p.n - 1) / (N * Cluster) + 1, params.tiles_m = (p.m - 1) / M + 1;
    int64_t const clusters = int64_t(params.tiles_n) * params.tiles_m * p.batch;
    if (clusters > INT_MAX / 2) return GPK_ERR_ARGUMENT;
    params.clusters = static_cast<int>(clusters);
    params.n = p.n;
    params.bias = static_cast<Out const*>(p.bias);
    params.alpha = static_cast<float>(p.alpha_re);
    params.act = Activation(p.act, p.bias != nullptr);
    params.kind = params.act.kind();

    int const max_clusters = sm_count(p.device) / Cluster;
    if (max_clusters == 0) return GPK_ERR_KERNEL;
    int const grid = (params.clusters < max_clusters ? params.clusters : max_clusters) * Cluster;
    Guard guard = p.guard;
    void* pointers[] = {&params, &guard};
    return launch(kernel, dim3(grid), dim3(Kernel::threads), Kernel::shared, p.stream, pointers, Cluster, 1, true);
  }
};

}  // namespace gpk

// One kernel of the manifest.
#define GPK_LARGE90(name, In, Out, RowA, RowB, M, N, Cluster, Pingpong)                                         \
  namespace gpk {                                                                                               \
  using name##_t = GemmLarge90<In, Out, RowA, RowB, M, N, Cluster, Pingpong>;                                   \
  extern Entry const entry_##name;                                                                              \
  Entry const entry_##name = {#name, name##_t::traits, name##_t::run};                                          \
  }
