// gemm_large_sm90.cuh: large products of 16-bit operands for Hopper, with 16-bit results, written without CUTLASS's
// collectives. A producer thread copies tiles of both operands by TMA into a ring in shared memory, and consumer
// warpgroups multiply them with wgmma. The kernel computes the transposed product: 64 columns of D are the
// instruction's left side, and rows of D its right side. A tile may have any multiple of 16 rows, whichever fills the
// multiprocessors best.
//
//  pingpong     a tile per warpgroup: one multiplies while the other stores
//  cooperative  the warpgroups share a tile, 64 columns each
//
// The epilogue makes the difference. CUTLASS's warpgroups synchronize in it for every piece of 16 or 32 columns, and
// in the cooperative schedule the tensor cores wait meanwhile. Here each warpgroup stores on its own: it rounds a
// piece of 64 columns, writes it to shared memory and stores it by TMA while it rounds the next.
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

// The instruction of 64 x N x 16; KLeft, KRight: whether k is contiguous in that operand.
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

// M and N: the tile of D. KA, KB: whether k is contiguous in that operand. The CTAs of a cluster are neighbours along
// N and share A's tile.
template <class In, class Out, bool KA, bool KB, int M, int N, int Cluster, bool Pingpong>
struct Kernel {
  static constexpr int groups = Pingpong ? 2 : N / 64;
  static constexpr int blocks = Pingpong ? N / 64 : 1;  // blocks of 64 columns per warpgroup
  static constexpr int readers = Pingpong ? 1 : groups;  // warpgroups per tile
  static constexpr int threads = (groups + 1) * 128;
  static constexpr int registers = groups == 2 ? 232 : 160, registers_copy = groups == 2 ? 40 : 32;
  static constexpr int cluster = Cluster;

  // Operands are stored in lines of 128 bytes: 64 of k for a row, or 64 rows for one k.
  static constexpr int line = 128, step = 64;
  static constexpr int b_bytes = N * line, stage = (M + N) * line;

  // The piece that is stored at once: `rows` rows of D by 64 columns. A warpgroup has buffers for two.
  static constexpr int rows = M % 64 == 0 ? 64 : 32;
  static constexpr int box = rows * line;
  static constexpr int boxes = 2 * box * groups;

  static constexpr int kept = 1024 + 256;  // bytes for alignment and barriers
  static constexpr int kStages = ((227 << 10) - kept - boxes) / stage;
  static constexpr int shared = kept + boxes + kStages * stage;

  static_assert(sizeof(In) == 2 && sizeof(Out) == 2 && N % 64 == 0 && (groups == 2 || groups == 3));
  static_assert(kStages >= 3 && kStages <= 16 && M % rows == 0 && (KA ? M / Cluster % 8 == 0 : M % 64 == 0));

  struct Params {
    CUtensorMap a, b, d;
    bool many_a, many_b;  // whether each member of the batch has its own A or B
    int steps;            // steps of k
    int across, down;     // tiles along n in clusters, and along m
    int clusters;         // clusters of tiles in the batch
    int n;                // columns of D
    Out const* bias;
    float alpha;
    Activation act;
    EpilogueKind way;
  };

  // The position of a tile, in tiles.
  struct Place {
    int m, n, member;
  };

  // The tiles of 8 clusters along N are scheduled together. A wave of them is then nearly a square, which reads the
  // least.
  CUTLASS_DEVICE static Place place(Params const& p, int c, int rank) {
    constexpr int band = 8;
    int const each = p.across * p.down, at = c % each;
    int const first = at / (band * p.down) * band, wide = min(band, p.across - first);
    int const in = at - first * p.down;
    return {in / wide, (first + in % wide) * Cluster + rank, c / each};
  }

  // The descriptor of an operand's lines. If k is not contiguous, each group of 64 lines holds 64 rows, and the next 64
  // rows follow it.
  template <bool K>
  CUTLASS_DEVICE static uint64_t descriptor(uint32_t at) {
    return matrix_descriptor(at >> 4 & 0x3fff, K ? 1 : 64 * line / 16, 8 * line / 16, 1);
  }

  // The distance from 16 of k to the next 16, in the descriptor's units.
  template <bool K>
  static constexpr int next = (K ? 16 * sizeof(In) : 16 * line) >> 4;

  CUTLASS_DEVICE static void run(Params const& p, char* memory) {
    int const warp = __shfl_sync(~0u, threadIdx.x / 32, 0), lane = threadIdx.x % 32;
    uint32_t const begin = (shared_address(memory) + 1023) / 1024 * 1024;
    uint32_t const ring = begin + boxes;
    Barriers const full_barriers{ring + kStages * stage}, empty_barriers{full_barriers[kStages]};
    int rank = 0;
    if constexpr (Cluster > 1) asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));

    if (warp == 0 && lane == 0) {
      for (CUtensorMap const* map : {&p.a, &p.b, &p.d}) prefetch_tensormap(map);
      for (int i = 0; i < kStages; ++i) {
        mbarrier_init(full_barriers[i], 1);
        mbarrier_init(empty_barriers[i], 4 * readers * Cluster);
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
      warpgroup_reg_dealloc<registers_copy>();
      if (warp == 0 && lane == 0) copy(p, ring, full_barriers, empty_barriers, rank);
    } else {
      warpgroup_reg_alloc<registers>();
      multiply(p, begin, ring, full_barriers, empty_barriers, rank, warp - 4, lane);
    }
  }

  // Copies one operand's tile of `size` lines. Each of `parts` CTAs copies one part and multicasts it to all.
  template <bool K, int size, int parts>
  CUTLASS_DEVICE static void copy_tile(CUtensorMap const* map, uint32_t barrier, uint32_t to, int at, int k, int member,
                                       int rank) {
    constexpr int own = (K ? size : step) / parts;  // lines
    int const first = parts > 1 ? own * rank : 0;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < (K ? 1 : size / 64); ++i) {
      int const x = K ? k : at + i * 64, y = (K ? at : k) + first;
      uint32_t const there = to + (i * 64 + first) * line;
      if constexpr (parts > 1) {
        tma_load_multicast((1 << parts) - 1, there, map, x, y, member, barrier);
      } else {
        tma_load(there, map, x, y, member, barrier);
      }
    }
  }

  // The producer: the thread that fills the ring.
  CUTLASS_DEVICE static void copy(Params const& p, uint32_t ring, Barriers full_barriers, Barriers empty_barriers, int rank) {
    wait_for_previous();
    int s = 0;
    uint32_t parity = 1;
    auto const advance = [&] {
      if (++s == kStages) s = 0, parity ^= 1;
    };
    int const all = gridDim.x / Cluster;
    for (int c = blockIdx.x / Cluster; c < p.clusters; c += all) {
      Place const at = place(p, c, rank);
      if (c + all >= p.clusters) let_next_start();
      CUTLASS_PRAGMA_NO_UNROLL
      for (int k = 0; k < p.steps; ++k) {
        uint32_t const to = ring + s * stage, barrier = full_barriers[s];
        mbarrier_wait(empty_barriers[s], parity);
        mbarrier_arrive_expect_tx(barrier, stage);
        copy_tile<KB, N, 1>(&p.b, barrier, to, at.n * N, k * step, p.many_b ? at.member : 0, rank);
        copy_tile<KA, M, Cluster>(&p.a, barrier, to + b_bytes, at.m * M, k * step, p.many_a ? at.member : 0, rank);
        advance();
      }
    }
    // Keeps this CTA's barriers alive until the other CTAs of the cluster have arrived at them for the last time.
    CUTLASS_PRAGMA_NO_UNROLL
    for (int i = 0; i < kStages; ++i) {
      mbarrier_wait(empty_barriers[s], parity);
      advance();
    }
  }

  // The consumers: the warpgroups that multiply and store.
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
    int const all = gridDim.x / Cluster;
    int tile = 0;  // number of tiles that this CTA has begun
    for (int c = blockIdx.x / Cluster; c < p.clusters; c += all, ++tile) {
      if constexpr (Pingpong) {
        // The other group's tile precedes this one in the ring. A barrier distinguishes phases only by their parity,
        // so this group waits until the other one has seen all of its own phases.
        if (tile % 2 != group) continue;
        uint64_t const at = static_cast<uint64_t>(tile) * p.steps;
        s = at % kStages, parity = at / kStages % 2;
        if (tile > 0) named_barrier_sync(1 + group, 256);
      }
      int before = 0;
      fence();
      CUTLASS_PRAGMA_NO_UNROLL
      for (int k = 0; k < p.steps; ++k) {
        mbarrier_wait(full_barriers[s], parity);
        cute::warpgroup_arrive();
        int const at = s * (stage >> 4);
        CUTLASS_PRAGMA_UNROLL
        for (int j = 0; j < step / 16; ++j) {
          CUTLASS_PRAGMA_UNROLL
          for (int i = 0; i < blocks; ++i) {
            wgmma<Instruction>(sum[i], b + at + i * (64 * line >> 4) + j * next<KB>, a + at + j * next<KA>, k > 0 || j > 0);
          }
        }
        cute::warpgroup_commit_batch();
        if (k > 0) {
          cute::warpgroup_wait<1>();
          release(before);
        }
        before = s;
        if (++s == kStages) s = 0, parity ^= 1;
      }
      if (Pingpong && c + all < p.clusters) named_barrier_arrive(2 - group, 256);
      cute::warpgroup_wait<0>();
      release(before);
      fence();

      Place const at = place(p, c, rank);
      switch (p.way) {
        case EpilogueKind::bare: store<EpilogueKind::bare>(p, sum, begin, at, column, warp, lane); break;
        case EpilogueKind::brief: store<EpilogueKind::brief>(p, sum, begin, at, column, warp, lane); break;
        case EpilogueKind::normal: store<EpilogueKind::normal>(p, sum, begin, at, column, warp, lane); break;
        default: store<EpilogueKind::steps>(p, sum, begin, at, column, warp, lane);
      }
    }
    tma_store_wait_read<0>();
  }

  template <EpilogueKind W>
  CUTLASS_DEVICE static void store(Params const& p, float const (&sum)[blocks][M / 2], uint32_t begin, Place const& at,
                                   int column, int warp, int lane) {
    int const group = warp / 4;
    bool const stores = warp % 4 == 0 && lane == 0;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < blocks; ++i) {
      int const left = at.n * N + column + i * 64;  // first column in D
      float bias[2] = {0, 0};
      if constexpr (W != EpilogueKind::bare) {
        CUTLASS_PRAGMA_UNROLL
        for (int half = 0; half < 2; ++half) {
          int const c = left + warp % 4 * 16 + half * 8 + lane / 4;
          if (p.bias != nullptr && c < p.n) bias[half] = static_cast<float>(p.bias[c]);
        }
      }
      CUTLASS_PRAGMA_UNROLL
      for (int r = 0; r < M; r += rows) {
        uint32_t const to = begin + (2 * group + (i * (M / rows) + r / rows) % 2) * box;
        // The store from this buffer before the last one may still be reading. If a tile has an odd number of boxes,
        // its first box uses the buffer of the previous tile's last one.
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
        for (int j = 0; j < rows; j += 16) lay_down<W>(p, sum[i] + (r + j) / 2, bias, to + j * line, warp, lane);
        fence_proxy_async();
        named_barrier_sync(3 + group, 128);
        if (stores) tma_store(&p.d, to, left, at.m * M + r, at.member), tma_store_commit();
      }
    }
  }

  // Applies the epilogue to a thread's part of 16 rows of D, and writes it in TMA's layout: units of 16 bytes,
  // swizzled by their line's number.
  template <EpilogueKind W>
  CUTLASS_DEVICE static void lay_down(Params const& p, float const* sums, float const (&bias)[2], uint32_t to, int warp,
                                      int lane) {
    cutlass::Array<float, 8> sum, added;
    CUTLASS_PRAGMA_UNROLL
    for (int e = 0; e < 8; ++e) sum[e] = sums[e], added[e] = bias[e / 2 % 2];
    auto const x = finish<Out, true, W>(sum, added, p.alpha, p.act);
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
    params.many_a = p.stride_a != 0, params.many_b = p.stride_b != 0;
    params.steps = (p.k - 1) / step + 1;
    params.across = (p.n - 1) / (N * Cluster) + 1, params.down = (p.m - 1) / M + 1;
    int64_t const clusters = int64_t(params.across) * params.down * p.batch;
    if (clusters > INT_MAX / 2) return GPK_ERR_ARGUMENT;
    params.clusters = static_cast<int>(clusters);
    params.n = p.n;
    params.bias = static_cast<Out const*>(p.bias);
    params.alpha = static_cast<float>(p.alpha_re);
    params.act = Activation(p.act, p.bias != nullptr);
    params.way = params.act.way();

    int const room = sm_count(p.device) / Cluster;
    if (room == 0) return GPK_ERR_KERNEL;
    int const grid = (params.clusters < room ? params.clusters : room) * Cluster;
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
