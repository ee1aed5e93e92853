// gemm_scaled_sm90.cuh: products for Hopper of float32 and complex64 operands that gpk_prepare has converted to float16,
// with a power of two as the scale of each line (row of A, column of B). float16 has TF32's significand and twice its
// rate.
//
// The epilogue multiplies the accumulator by the scales of its row and column, which is exact. Then it applies alpha,
// bias and activation. Split kernels read two planes per operand (mainloop_split_sm90.cuh) and have the same epilogue.
#pragma once
#include "gemm_sm90.cuh"
#include "mainloop_split_sm90.cuh"

namespace gpk {

// The node of the epilogue visitor tree that combines the accumulator, the scales of its row and column, and the bias
// row. Rough: see apply_epilogue.
template <bool Rough>
struct ScaledBiasAct {
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

    CUTLASS_DEVICE Fragment operator()(Fragment const& acc, Fragment const& scale_a, Fragment const& scale_b,
                                       Fragment const& bias, typename Node<float>::Arguments const& args) const {
      Fragment x;
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < N; ++i) x[i] = acc[i] * scale_a[i] * scale_b[i];
      return apply_epilogue<float, Rough>(x, bias, args.alpha, args.act);
    }
  };
};

// The node of a squared modulus, c0^2 + c1^2 of neighbouring columns, which are in the same thread. The epilogue stores a matrix
// of n 16-bit columns. Two neighbouring 16-bit elements are the bits of one float32 result, so that in memory it is the
// float32 matrix of n / 2 columns.
struct AbsSquare {
  template <class T>
  struct Node {
    struct Arguments {
      float alpha;
    };
  };

  template <int N>
  struct Node<cutlass::Array<float, N>> {
    using Fragment = cutlass::Array<float, N>;
    static_assert(N % 2 == 0, "a fragment holds whole pairs");

    using Halves = cutlass::Array<uint16_t, N>;

    CUTLASS_DEVICE Halves operator()(Fragment const& acc, Fragment const& scale_a, Fragment const& scale_b,
                                     typename Node<float>::Arguments const& args) const {
      Halves halves;
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < N; i += 2) {
        float const c0 = args.alpha * (acc[i] * scale_a[i] * scale_b[i]);
        float const c1 = args.alpha * (acc[i + 1] * scale_a[i + 1] * scale_b[i + 1]);
        uint32_t const bits = __float_as_uint(fmaf(c0, c0, c1 * c1));
        halves[i] = static_cast<uint16_t>(bits);
        halves[i + 1] = static_cast<uint16_t>(bits >> 16);
      }
      return halves;
    }
  };
};

// Split: two planes per operand. Squared: D is the squared modulus.
template <class MajorA, class MajorB, int M, int N, int K, int ClusterM, int ClusterN, class Schedule, bool Split,
          bool Squared>
struct GemmScaled90 {
  using Tile = cute::Shape<cute::Int<M>, cute::Int<N>, cute::Int<K>>;
  using Cluster = cute::Shape<cute::Int<ClusterM>, cute::Int<ClusterN>, cute::_1>;
  using Element = cute::conditional_t<Squared, uint16_t, float>;  // the type as which TMA stores D
  static constexpr int columns = Squared ? 2 : 1;
  static constexpr auto round = cutlass::FloatRoundStyle::round_to_nearest;

  using ScaleA = cutlass::epilogue::fusion::Sm90ColBroadcast<0, Tile, float, float,
                                                             cute::Stride<cute::_1, cute::_0, int64_t>>;
  using ScaleB = cutlass::epilogue::fusion::Sm90RowBroadcast<0, Tile, float, float,
                                                             cute::Stride<cute::_0, cute::_1, int64_t>>;
  using Fusion = cute::conditional_t<
      Squared,
      cutlass::epilogue::fusion::Sm90EVT<
          cutlass::epilogue::fusion::Sm90Compute<AbsSquare::template Node, uint16_t, float, round>,
          cutlass::epilogue::fusion::Sm90AccFetch, ScaleA, ScaleB>,
      cutlass::epilogue::fusion::Sm90EVT<
          cutlass::epilogue::fusion::Sm90Compute<ScaledBiasAct<!Split>::template Node, float, float, round>,
          cutlass::epilogue::fusion::Sm90AccFetch, ScaleA, ScaleB,
          cutlass::epilogue::fusion::Sm90RowBroadcast<0, Tile, float, float>>>;

  using Epilogue = typename cutlass::epilogue::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, Tile, Cluster,
      cutlass::epilogue::collective::EpilogueTileAuto, float, float, void, Row, 16 / sizeof(Element), Element, Row,
      16 / sizeof(Element), typename Schedule::Epilogue, Fusion>::CollectiveOp;

  // As many stages as fit in addition to the epilogue's buffers. Barriers and alignment need less than 1 KiB.
  static constexpr int capacity = cutlass::gemm::collective::detail::sm90_smem_capacity_bytes;
  static constexpr int stages = (capacity - 1024 - static_cast<int>(sizeof(typename Epilogue::TensorStorage))) /
                                ((M + N) * K * static_cast<int>(sizeof(fp16)));

  using Plain = typename cutlass::gemm::collective::CollectiveBuilder<
      cutlass::arch::Sm90, cutlass::arch::OpClassTensorOp, fp16, MajorA, 8, fp16, MajorB, 8, float, Tile, Cluster,
      cutlass::gemm::collective::StageCount<stages>, typename Schedule::Mainloop>::CollectiveOp;

  using Mainloop = typename MainloopOf<Split, Plain>::type;

  using Kernel = cutlass::gemm::kernel::GemmUniversal<cute::Shape<int, int, int, int>, Mainloop, Epilogue>;
  static_assert(Kernel::SharedStorageSize <= capacity);

  static constexpr bool row_a = cute::is_same_v<MajorA, Row>, row_b = cute::is_same_v<MajorB, Row>;
  static constexpr Traits traits = {2,  2, 4,        row_a, row_b, 16,    16,
                                    16, 1, !Squared, true,  true,  Split, columns};

  static int run(Problem const& p) {
    static uint64_t allowed = 0;
    constexpr int shared = Kernel::SharedStorageSize;
    void const* const kernel = reinterpret_cast<void const*>(guarded<Kernel>);
    if (int const e = allow_shared(kernel, shared, p.device, &allowed)) return e;

    typename Kernel::Arguments args{};
    args.mode = cutlass::gemm::GemmUniversalMode::kGemm;
    args.problem_shape = {p.m, p.n, p.k, p.batch};
    args.mainloop.ptr_A = static_cast<fp16 const*>(p.a);
    args.mainloop.dA = stride<typename Kernel::StrideA>(p.lda, p.stride_a);
    args.mainloop.ptr_B = static_cast<fp16 const*>(p.b);
    args.mainloop.dB = stride<typename Kernel::StrideB>(p.ldb, p.stride_b);
    if constexpr (Split) {
      args.mainloop.low_A = static_cast<fp16 const*>(p.low_a);
      args.mainloop.low_B = static_cast<fp16 const*>(p.low_b);
    }
    typename ScaleA::Arguments const scale_a = {p.scale_a, 0, {cute::_1{}, cute::_0{}, p.stride_a != 0 ? p.m : 0}};
    typename ScaleB::Arguments const scale_b = {p.scale_b, 0, {cute::_0{}, cute::_1{}, p.stride_b != 0 ? p.n : 0}};
    float const alpha = static_cast<float>(p.alpha_re);
    if constexpr (Squared) {
      args.epilogue.thread = {{}, scale_a, scale_b, {alpha}};
    } else {
      args.epilogue.thread = {{}, scale_a, scale_b, {static_cast<float const*>(p.bias)}, {alpha, Activation(p.act, p.bias != nullptr)}};
    }
    args.epilogue.ptr_D = static_cast<Element*>(p.d);
    args.epilogue.dD = stride<typename Kernel::StrideD>(p.ldd * columns, p.stride_d * columns);
    args.hw_info.device_id = p.device;
    args.hw_info.sm_count = sm_count(p.device);
    args.scheduler.max_swizzle_size = swizzle<Kernel>(p, args.hw_info.sm_count);

    typename Kernel::Params params = Kernel::to_underlying_arguments(args, nullptr);
    if (take_tma_error()) return GPK_ERR_KERNEL;
    Guard guard = p.guard;
    void* pointers[] = {&params, &guard};
    return launch(kernel, Kernel::get_grid_shape(params), Kernel::get_block_shape(), shared, p.stream, pointers,
                  ClusterM, ClusterN, true);
  }
};

}  // namespace gpk

// One kernel of the manifest; planes is 1 or 2, columns 2 for a squared modulus.
#define GPK_SCALED90(name, planes, columns, MajorA, MajorB, M, N, K, ClusterM, ClusterN, schedule)             \
  namespace gpk {                                                                                              \
  using name##_t =                                                                                             \
      GemmScaled90<MajorA, MajorB, M, N, K, ClusterM, ClusterN, schedule, planes == 2, columns == 2>;          \
  extern Entry const entry_##name;                                                                             \
  Entry const entry_##name = {#name, name##_t::traits, name##_t::run};                                         \
  }
