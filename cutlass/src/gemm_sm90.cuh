// gemm_sm90.cuh: products for Hopper by CUTLASS 3.x: warp-specialized kernels that load by TMA and multiply by wgmma,
// with the TMA epilogue. With other epilogues the compiler serializes wgmma.
//
// TMA reads zeros outside an operand, so that m, n and k are arbitrary. Addresses, pitches and batch strides have to be
// multiples of 16 bytes. TMA stores in units of 16 bytes. If n ends inside a unit, the rest of the unit, which is in D's
// padding, is overwritten.
#pragma once
#include <limits.h>

#include "guard.cuh"

// CUTLASS's kernels execute griddepcontrol.wait and griddepcontrol.launch_dependents.
#define CUTLASS_ENABLE_GDC_FOR_SM90 1

// Replaces the driver call by which CUTLASS encodes a TMA descriptor. CUTLASS would look up the driver's entry point in
// every call, and would print an error.
#define CUTLASS_ENABLE_DIRECT_CUDA_DRIVER_CALL 1
#define cuTensorMapEncodeTiled gpk::encode_tiled
#include "cutlass/cuda_host_adapter.hpp"
#undef cuTensorMapEncodeTiled

#include "cute/tensor.hpp"
#include "cutlass/epilogue/collective/collective_builder.hpp"
#include "cutlass/epilogue/fusion/sm90_callbacks_tma_warpspecialized.hpp"
#include "cutlass/gemm/collective/collective_builder.hpp"
#include "cutlass/gemm/kernel/gemm_universal.hpp"
#include "cutlass/gemm/kernel/tile_scheduler.hpp"
#include "gemm_store_sm90.cuh"

namespace gpk {

using Row = cutlass::layout::RowMajor;
using Col = cutlass::layout::ColumnMajor;
using bf16 = cutlass::bfloat16_t;
using fp16 = cutlass::half_t;

// The node of the epilogue visitor tree (EVT) that combines the accumulator and the bias row, for results of type Out.
template <class Out, EpilogueKind Kind = EpilogueKind::any>
struct BiasAct {
  template <class T>
  struct Node {
    struct Arguments {
      float alpha;
      Activation act;
    };
  };

  template <int N>
  struct Node<cutlass::Array<float, N>> {
    using Fragment = cutlass::Array<float, N>;

    CUTLASS_DEVICE auto operator()(Fragment const& acc, Fragment const& bias,
                                   typename Node<float>::Arguments const& args) const {
      if constexpr (Kind == EpilogueKind::steps && sizeof(Out) == 2) {
        return steps_in_pairs<Out>(acc, bias, args.alpha, args.act);
      } else {
        return apply_epilogue<Out, true, Kind>(acc, bias, args.alpha, args.act);
      }
    }
  };
};

// Schedules. Tiles: CUTLASS's tag of the tile scheduler; void for the default one. ctas: CTAs per multiprocessor. grid:
// one tile per CTA; otherwise CTAs are persistent. by_kind: whether the epilogue may be a StoreByKind.
struct cooperative {
  using Tiles = void;
  using Mainloop = cutlass::gemm::KernelTmaWarpSpecializedCooperative;
  using Epilogue = cutlass::epilogue::TmaWarpSpecializedCooperative;
  static constexpr int ctas = 1;
  static constexpr bool grid = false, swap = false, by_kind = true;
};

struct pingpong {
  using Tiles = void;
  using Mainloop = cutlass::gemm::KernelTmaWarpSpecializedPingpong;
  using Epilogue = cutlass::epilogue::TmaWarpSpecialized;
  static constexpr int ctas = 1;
  static constexpr bool grid = false, swap = false, by_kind = true;
};

template <int Ctas>
struct single {
  using Tiles = void;
  using Mainloop = cutlass::gemm::KernelTmaWarpSpecialized;
  using Epilogue = cutlass::epilogue::TmaWarpSpecialized;
  static constexpr int ctas = Ctas;
  static constexpr bool grid = true, swap = false, by_kind = true;
};

// Computes the transposed product, D^T = B^T A^T. A's few rows then are the n of the instruction. B is its left operand,
// which may be in registers, so that a TF32 product can read a B with n contiguous.
template <class Schedule>
struct swapped : Schedule {
  static constexpr bool swap = true;
};

// The strides of an operand. Stride has the constant 1 in the operand's contiguous mode.
template <class Stride>
Stride stride(int64_t ld, int64_t batch) {
  if constexpr (cute::is_static_v<cute::tuple_element_t<1, Stride>>) {
    return Stride{ld, cute::_1{}, batch};
  } else {
    return Stride{cute::_1{}, ld, batch};
  }
}

// The scheduler's max_swizzle_size. Tiles swizzled by 8 use L2 better (3 % at order 8192). But the scheduler rounds the
// numbers of tiles along m and n up to multiples of the swizzle and computes them all. This must not add a wave, and not
// more than a 32nd of the tiles.
template <class Kernel>
int swizzle(int64_t m, int64_t n, int64_t batch, int sms) {
  constexpr int cluster_m = cute::size<0>(typename Kernel::ClusterShape{});
  constexpr int cluster_n = cute::size<1>(typename Kernel::ClusterShape{});
  constexpr int cluster_rows = cute::size<0>(typename Kernel::TileShape{}) * cluster_m;
  constexpr int cluster_columns = cute::size<1>(typename Kernel::TileShape{}) * cluster_n;
  m = ((m - 1) / cluster_rows + 1) * cluster_m;
  n = ((n - 1) / cluster_columns + 1) * cluster_n;
  int64_t const tiles_needed = m * n * batch;
  auto const up = [](int64_t x, int64_t to) { return (x + to - 1) / to * to; };
  for (int max = 8; max > 1; max /= 2) {
    int const size = 1 << cutlass::gemm::kernel::detail::PersistentTileSchedulerSm90Params::get_log_swizzle_size(m, n, max);
    int64_t const tiles = up(m, size * cluster_m) * up(n, size * cluster_n) * batch;
    if ((tiles - 1) / sms == (tiles_needed - 1) / sms && tiles - tiles_needed <= tiles_needed / 32) return max;
  }
  return 1;
}

template <class Kernel>
int swizzle(Problem const& p, int sms) {
  return swizzle<Kernel>(p.m, p.n, p.batch, sms);
}

// Prefetches the operands of the CTA's first tile into L2 before the previous kernel has ended. This is safe: the
// previous kernel's writes go through L2 as well. It pays off only for a short k, because later tiles of k are loaded
// while earlier ones are multiplied.
template <class Kernel>
CUTLASS_DEVICE void prefetch_first_tile(typename Kernel::Params const& params) {
  using namespace cute;
  constexpr int most = 4;  // tiles of k
  if (size<2>(params.problem_shape) > most * size<2>(typename Kernel::TileShape{})) return;
  int m = blockIdx.x, n = blockIdx.y, l = blockIdx.z;
  if constexpr (Kernel::MaxThreadsPerBlock > 256) {  // a persistent kernel
    typename Kernel::TileScheduler const scheduler{params.scheduler};
    auto const work = scheduler.get_current_work();
    if (!work.is_valid()) return;
    m = work.M_idx, n = work.N_idx, l = work.L_idx;
  }
  auto const operands = typename Kernel::CollectiveMainloop{}.load_init(params.problem_shape, params.mainloop);
  Tensor const a = get<0>(operands)(_, _, m, _, l);
  Tensor const b = get<1>(operands)(_, _, n, _, l);
  dim3 const at = block_id_in_cluster();
  Tensor const mine_a = params.mainloop.tma_load_a.get_slice(at.y).partition_S(a);
  Tensor const mine_b = params.mainloop.tma_load_b.get_slice(at.x).partition_S(b);
  for (int k = 0; k < size<3>(mine_a); ++k) {
    prefetch(params.mainloop.tma_load_a, mine_a(_, _, _, k));
    prefetch(params.mainloop.tma_load_b, mine_b(_, _, _, k));
  }
}

// A CUTLASS 3.x kernel with a guard, as `guarded`, preceded by prefetch_first_tile in an idle warp.
template <class Kernel, int Ctas>
__global__ void __launch_bounds__(Kernel::MaxThreadsPerBlock, Ctas)
    multiply(__grid_constant__ typename Kernel::Params const params, __grid_constant__ Guard const guard) {
  extern __shared__ char shared[];
  if constexpr (cute::is_void_v<typename Kernel::TileSchedulerTag>) {
    if (guard.when == GPK_GUARD_NONE && threadIdx.x == 96) prefetch_first_tile<Kernel>(params);
  }
  if (!runs(guard, reinterpret_cast<uint32_t*>(shared))) return;
  Kernel()(params, shared);
}

// In: the type of A and B. TMA rounds float operands to the nearest TF32 number as it loads them. M, N, ClusterM and
// ClusterN: the tile and the cluster of D.
template <class In, class Out, class MajorA, class MajorB, int M, int N, int K, int ClusterM, int ClusterN,
          class Schedule>
struct Gemm90 {
  static constexpr bool swap = Schedule::swap;
  static constexpr int cluster_m = swap ? ClusterN : ClusterM, cluster_n = swap ? ClusterM : ClusterN;
  using Tile = cute::Shape<cute::Int<swap ? N : M>, cute::Int<swap ? M : N>, cute::Int<K>>;
  using Cluster = cute::Shape<cute::Int<cluster_m>, cute::Int<cluster_n>, cute::_1>;
  static constexpr int align_in = 16 / sizeof(In), align_out = 16 / sizeof(Out);
  static constexpr auto round = cutlass::FloatRoundStyle::round_to_nearest;

  static constexpr bool row_a = cute::is_same_v<MajorA, Row>, row_b = cute::is_same_v<MajorB, Row>;
  using Left = cute::conditional_t<swap ? !row_b : row_a, Row, Col>;
  using Right = cute::conditional_t<swap ? !row_a : row_b, Row, Col>;
  using Result = cute::conditional_t<swap, Col, Row>;

  using Bias = cute::conditional_t<swap, cutlass::epilogue::fusion::Sm90ColBroadcast<0, Tile, Out, float>,
                                   cutlass::epilogue::fusion::Sm90RowBroadcast<0, Tile, Out, float>>;
  template <EpilogueKind Kind>
  using Fusion = cutlass::epilogue::fusion::Sm90EVT<
      cutlass::epilogue::fusion::Sm90Compute<BiasAct<Out, Kind>::template Node, Out, float, round>,
      cutlass::epilogue::fusion::Sm90AccFetch, BiasOf<Kind, Bias>>;

  template <EpilogueKind Kind>
  using Store = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, Result, align_out, Out, Result, align_out,
      typename Schedule::Epilogue, Fusion<Kind>>::CollectiveOp;

  // Linear layers, x w and x w^T, have a row-major A. For other layouts four epilogues per kernel would only add compile
  // time.
  static constexpr bool by_kind = Schedule::by_kind && row_a && sizeof(Out) == sizeof(In);
  using Epilogue = typename EpilogueOf<Store, by_kind>::type;

  // Shared memory that the stages cannot have: the epilogue's, and that of the multiprocessor's other CTAs, each with
  // the part that the system reserves.
  static constexpr int smem_per_sm = 228 << 10;
  static constexpr int carveout = static_cast<int>(sizeof(typename Epilogue::SharedStorage)) + smem_per_sm - smem_per_sm / Schedule::ctas;

  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, In, Left, align_in, In, Right, align_in, float, Tile,
      Cluster, cutlass::gemm::collective::StageCountAutoCarveout<carveout>, typename Schedule::Mainloop>::CollectiveOp;

  using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue,
                                                      typename Schedule::Tiles>;

  static constexpr Traits traits = {sizeof(In), sizeof(In), sizeof(Out), row_a, row_b, 16, 16, 16, 1, true, true};

  static int run(Problem const& p) {
    // With one tile per CTA, a launch has at most 65535 tiles along n and 65535 members of the batch.
    constexpr bool grid = Schedule::grid;
    constexpr int most = grid ? 65535 : INT_MAX;
    if (grid && ((swap ? p.m : p.n) - 1) / cute::get<1>(Tile{}) + cluster_n > most) return GPK_ERR_ARGUMENT;
    for (int done = 0; done < p.batch; done += most) {
      int const batch = p.batch - done < most ? p.batch - done : most;
      if (int const e = start(p, done, batch)) return e;
      if (batch == p.batch - done) break;
    }
    return GPK_OK;
  }

  // Launches the kernel for the members first ... first + batch - 1.
  static int start(Problem const& p, int first, int batch) {
    static uint64_t allowed = 0;
    constexpr int shared = Kernel::SharedStorageSize;
    void const* const kernel = reinterpret_cast<void const*>(multiply<Kernel, Schedule::ctas>);
    if (int const e = allow_shared(kernel, shared, p.device, &allowed)) return e;

    int const m = swap ? p.n : p.m, n = swap ? p.m : p.n;
    In const* const a = static_cast<In const*>(p.a) + first * p.stride_a;
    In const* const b = static_cast<In const*>(p.b) + first * p.stride_b;
    typename Kernel::Arguments args{};
    args.mode = cutlass::gemm::GemmUniversalMode::kGemm;
    args.problem_shape = {m, n, p.k, batch};
    args.mainloop.ptr_A = swap ? b : a;
    args.mainloop.dA = stride<typename Kernel::StrideA>(swap ? p.ldb : p.lda, swap ? p.stride_b : p.stride_a);
    args.mainloop.ptr_B = swap ? a : b;
    args.mainloop.dB = stride<typename Kernel::StrideB>(swap ? p.lda : p.ldb, swap ? p.stride_a : p.stride_b);
    Activation const act(p.act, p.bias != nullptr);
    args.epilogue.thread = {{}, {static_cast<Out const*>(p.bias)}, {static_cast<float>(p.alpha_re), act}};
    if constexpr (by_kind) args.epilogue.kind = act.kind();
    args.epilogue.ptr_D = static_cast<Out*>(p.d) + first * p.stride_d;
    args.epilogue.dD = stride<typename Kernel::StrideD>(p.ldd, p.stride_d);
    args.hw_info.device_id = p.device;
    args.hw_info.sm_count = sm_count(p.device);
    if constexpr (!Schedule::grid) {
      args.scheduler.max_swizzle_size = swizzle<Kernel>(m, n, batch, args.hw_info.sm_count);
    }

    if constexpr (!cute::is_void_v<typename Schedule::Tiles>) {
      if (int const e = Schedule::template begin<Kernel>(p, args)) return e;
    }
    typename Kernel::Params params = Kernel::to_underlying_arguments(args, p.workspace);
    if (take_tma_error()) return GPK_ERR_KERNEL;
    Guard guard = p.guard;
    void* pointers[] = {&params, &guard};
    return launch(kernel, Kernel::get_grid_shape(params), Kernel::get_block_shape(), shared, p.stream, pointers,
                  cluster_m, cluster_n, true);
  }
};

}  // namespace gpk

// One kernel of the manifest.
#define GPK_GEMM90(name, In, Out, MajorA, MajorB, M, N, K, ClusterM, ClusterN, schedule)                       \
  namespace gpk {                                                                                              \
  using name##_t = Gemm90<In, Out, MajorA, MajorB, M, N, K, ClusterM, ClusterN, schedule>;                     \
  extern Entry const entry_##name;                                                                             \
  Entry const entry_##name = {#name, name##_t::traits, name##_t::run};                                         \
  }
