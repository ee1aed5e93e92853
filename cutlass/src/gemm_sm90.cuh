// gemm_sm90.cuh: products for Hopper out of CUTLASS 3.x: wgmma fed by TMA, warp
// specialised, with the matching TMA epilogue (any other serialises wgmma).
//
// TMA reads zeros for what lies outside an operand, so m, n and k are free: only
// addresses, pitches and batch strides have to be multiples of 16 bytes. It
// stores in units of 16 bytes: where n ends inside one, the rest of it, which
// lies in D's pitch, is overwritten.
#pragma once
#include "registry.cuh"

// The driver call with which CUTLASS encodes a descriptor, made ours: CUTLASS
// would look the driver's entry up in every call and print a refusal.
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
#include "cutlass/device_kernel.h"
#include "gemm_epilogue.cuh"

namespace gpk {

using Row = cutlass::layout::RowMajor;
using Col = cutlass::layout::ColumnMajor;
using bf16 = cutlass::bfloat16_t;
using fp16 = cutlass::half_t;

// The node of the epilogue's tree over the accumulator and the bias row, for
// results of type Out.
template <class Out>
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

    CUTLASS_DEVICE Fragment operator()(Fragment const& acc, Fragment const& bias,
                                       typename Node<float>::Arguments const& args) const {
      Fragment x;
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < N; ++i) x[i] = fmaf(args.alpha, acc[i], bias[i]);
      activate<Out>(x, args.act);
      return x;
    }
  };
};

struct cooperative {
  using Mainloop = cutlass::gemm::KernelTmaWarpSpecializedCooperative;
  using Epilogue = cutlass::epilogue::TmaWarpSpecializedCooperative;
};

struct pingpong {
  using Mainloop = cutlass::gemm::KernelTmaWarpSpecializedPingpong;
  using Epilogue = cutlass::epilogue::TmaWarpSpecialized;
};

// In is the type of A and B; float is multiplied as TF32, to which TMA rounds
// on its way in (to nearest).
template <class In, class Out, class MajorA, class MajorB, int M, int N, int K, int ClusterM, int ClusterN,
          class Schedule>
struct Gemm90 {
  using Tile = cute::Shape<cute::Int<M>, cute::Int<N>, cute::Int<K>>;
  using Cluster = cute::Shape<cute::Int<ClusterM>, cute::Int<ClusterN>, cute::_1>;
  static constexpr int align_in = 16 / sizeof(In), align_out = 16 / sizeof(Out);
  static constexpr auto round = cutlass::FloatRoundStyle::round_to_nearest;

  using Fusion = cutlass::epilogue::fusion::Sm90EVT<
      cutlass::epilogue::fusion::Sm90Compute<BiasAct<Out>::template Node, Out, float, round>,
      cutlass::epilogue::fusion::Sm90AccFetch,
      cutlass::epilogue::fusion::Sm90RowBroadcast<0, Tile, Out, float>>;

  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, Row, align_out, Out, Row, align_out,
      typename Schedule::Epilogue, Fusion>::CollectiveOp;

  using Mainloop = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, In, MajorA, align_in, In, MajorB, align_in, float, Tile,
      Cluster,
      cutlass::gemm::collective::StageCountAutoCarveout<static_cast<int>(sizeof(typename Epilogue::SharedStorage))>,
      typename Schedule::Mainloop>::CollectiveOp;

  using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue>;

  static constexpr bool row_a = cute::is_same_v<MajorA, Row>, row_b = cute::is_same_v<MajorB, Row>;
  static constexpr Traits traits = {sizeof(In), sizeof(In), sizeof(Out), row_a, row_b, 16, 16, 16, 1, true};

  // The stride type of an operand has a constant 1 in its contiguous mode.
  template <class Stride>
  static Stride stride(int64_t ld, int64_t batch) {
    if constexpr (cute::is_static_v<cute::tuple_element_t<1, Stride>>) {
      return Stride{ld, cute::_1{}, batch};
    } else {
      return Stride{cute::_1{}, ld, batch};
    }
  }

  // Swizzling the order of the tiles by 8 makes better use of L2 (3 % at 8192),
  // but the scheduler rounds the tiles of both sides up to a multiple of it and
  // computes them all: it may not cost a wave, nor much of one.
  static int swizzle(Problem const& p, int sms) {
    int64_t const m = ((p.m - 1) / (M * ClusterM) + 1) * ClusterM, n = ((p.n - 1) / (N * ClusterN) + 1) * ClusterN;
    int64_t const least = m * n * p.batch;
    auto const up = [](int64_t x, int64_t to) { return (x + to - 1) / to * to; };
    for (int max = 8; max > 1; max /= 2) {
      int const size = 1 << Kernel::TileSchedulerParams::get_log_swizzle_size(m, n, max);
      int64_t const tiles = up(m, size * ClusterM) * up(n, size * ClusterN) * p.batch;
      if ((tiles - 1) / sms == (least - 1) / sms && tiles - least <= least / 32) return max;
    }
    return 1;
  }

  static int run(Problem const& p) {
    static uint64_t allowed = 0;
    constexpr int shared = Kernel::SharedStorageSize;
    void const* const kernel = reinterpret_cast<void const*>(cutlass::device_kernel<Kernel>);
    if (int const e = allow_shared(kernel, shared, p.device, &allowed)) return e;

    typename Kernel::Arguments args{};
    args.mode = cutlass::gemm::GemmUniversalMode::kGemm;
    args.problem_shape = {p.m, p.n, p.k, p.batch};
    args.mainloop.ptr_A = static_cast<In const*>(p.a);
    args.mainloop.dA = stride<typename Kernel::StrideA>(p.lda, p.stride_a);
    args.mainloop.ptr_B = static_cast<In const*>(p.b);
    args.mainloop.dB = stride<typename Kernel::StrideB>(p.ldb, p.stride_b);
    args.epilogue.thread = {{}, {static_cast<Out const*>(p.bias)}, {static_cast<float>(p.alpha_re), Activation(p.act)}};
    args.epilogue.ptr_D = static_cast<Out*>(p.d);
    args.epilogue.dD = stride<typename Kernel::StrideD>(p.ldd, p.stride_d);
    args.hw_info.device_id = p.device;
    args.hw_info.sm_count = sm_count(p.device);
    args.scheduler.max_swizzle_size = swizzle(p, args.hw_info.sm_count);

    typename Kernel::Params params = Kernel::to_underlying_arguments(args, nullptr);
    if (take_tma_error()) return GPK_ERR_KERNEL;
    void* pointers[] = {&params};
    return launch(kernel, Kernel::get_grid_shape(params), Kernel::get_block_shape(), shared, p.stream, pointers,
                  ClusterM, ClusterN);
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
