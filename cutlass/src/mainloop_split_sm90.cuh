// mainloop_split_sm90.cuh: the main loop of products whose operands are two float16 planes each, element = high + low
// 2^-11, with the accuracy of float32:
//
//  sum high high + 2^-11 sum (high low + low high)
//
// For each step of k the producer loads the tiles of the low planes and then those of the high planes, each once for all
// three products. In a wide tile the consumers compute the cross products first, so that the stage of the low tiles is
// released early.
//
// The tensor cores truncate when they add to an accumulator. This is a bias that grows with k. So an accumulator of high
// products is added to the result, with rounding to nearest, and cleared after one or two steps. There are two variants,
// by the tile's columns, because all accumulators have to fit in registers:
//
//  up to 128     Three accumulators: results, high products and cross products. The factor of cross products is 2^-11, so
//                that they are summed over 4096 of k. High products are added to the results while cross products run.
//  above 128     The results, and one partial accumulator of 128 columns for the cross products and then the high
//                products of each half. One warpgroup adds while the other's products run.
//
// The wide tile is faster for large products. Their limit is the power consumption, and the wide tile moves the least data.
#pragma once
#include "gemm_sm90.cuh"

namespace gpk {

// Plain is CUTLASS's main loop for one plane. Its tiles, layouts and stages in shared memory serve both planes
// alternately.
template <class Plain>
struct MainloopSplit {
  using DispatchPolicy = typename Plain::DispatchPolicy;
  using ArchTag = typename Plain::ArchTag;
  using TileShape = typename Plain::TileShape;
  using ElementA = typename Plain::ElementA;
  using ElementB = typename Plain::ElementB;
  using StrideA = typename Plain::StrideA;
  using StrideB = typename Plain::StrideB;
  using ElementAccumulator = typename Plain::ElementAccumulator;
  using GmemTiledCopyA = typename Plain::GmemTiledCopyA;
  using GmemTiledCopyB = typename Plain::GmemTiledCopyB;
  using SmemLayoutA = typename Plain::SmemLayoutA;
  using SmemLayoutB = typename Plain::SmemLayoutB;
  using MainloopPipeline = typename Plain::MainloopPipeline;
  using PipelineState = typename Plain::PipelineState;
  using PipelineStorage = typename Plain::PipelineStorage;
  using TensorStorage = typename Plain::TensorStorage;
  static constexpr int NumProducerThreadEvents = Plain::NumProducerThreadEvents;

  static constexpr int kStages = DispatchPolicy::Stages;
  static_assert(kStages >= 4, "two steps, each with the tiles of both planes");

  static constexpr int tile_n = cute::size<1>(TileShape{}), tile_k = cute::size<2>(TileShape{});
  static constexpr bool wide_tile = tile_n > 128;
  static constexpr int kInstructionN = wide_tile ? 128 : tile_n;  // columns per instruction
  static_assert(tile_n % kInstructionN == 0);
  static constexpr auto major_a =
      cutlass::gemm::detail::is_major<0, StrideA>() ? cute::GMMA::Major::MN : cute::GMMA::Major::K;
  static constexpr auto major_b =
      cutlass::gemm::detail::is_major<0, StrideB>() ? cute::GMMA::Major::MN : cute::GMMA::Major::K;
  using InstructionTile = decltype(cute::replace<1>(TileShape{}, cute::Int<kInstructionN>{}));
  static constexpr int warpgroups = cute::size(typename Plain::TiledMma{}) / 128;
  using TiledMma = decltype(cute::make_tiled_mma(
      cute::GMMA::ss_op_selector<ElementA, ElementB, float, InstructionTile, major_a, major_b>(),
      cute::Layout<cute::Shape<cute::Int<warpgroups>, cute::_1, cute::_1>>{}));

  // Steps that are summed before an accumulator is added to the results, with three accumulators.
  static constexpr int steps_per_sum = 128 / tile_k, steps_per_cross_sum = 4096 / tile_k;

  struct Arguments {
    ElementA const* ptr_A;
    StrideA dA;
    ElementB const* ptr_B;
    StrideB dB;
    ElementA const* low_A;
    ElementB const* low_B;
  };

  struct Params {
    typename Plain::Params high, low;
    uint32_t tma_transaction_bytes;  // bytes per stage
  };

  template <class Shape>
  static Params to_underlying_arguments(Shape const& shape, Arguments const& args, void* workspace) {
    return {Plain::to_underlying_arguments(shape, {args.ptr_A, args.dA, args.ptr_B, args.dB}, workspace),
            Plain::to_underlying_arguments(shape, {args.low_A, args.dA, args.low_B, args.dB}, workspace),
            Plain::TmaTransactionBytes};
  }

  CUTLASS_DEVICE static void prefetch_tma_descriptors(Params const& params) {
    Plain::prefetch_tma_descriptors(params.high);
    Plain::prefetch_tma_descriptors(params.low);
  }

  // The operands in tiles: (tile m, tile k, m, k, batch) and (tile n, tile k, n, k, batch). A TMA tensor has only
  // coordinates, which are the same for both planes.
  template <class Shape>
  CUTLASS_DEVICE auto load_init(Shape const& shape, Params const& params) const {
    return Plain{}.load_init(shape, params.high);
  }

  // The pipeline state of a step's first stage. The kernel counts steps of k, and a step has two stages.
  CUTLASS_DEVICE static PipelineState stage_of(PipelineState const& step, uint32_t start) {
    uint32_t const stage = 2 * step.count();
    return {static_cast<int>(stage % kStages), start ^ (stage / kStages & 1), stage};
  }

  // The producer, one thread.
  template <class TensorA, class TensorB, class Steps, class Block>
  CUTLASS_DEVICE void load(Params const& params, MainloopPipeline pipeline, PipelineState state,
                           cute::tuple<TensorA, TensorB> const& operands, Block const& block, Steps step, int steps,
                           int, uint32_t rank, TensorStorage& shared) {
    using namespace cute;
    if (!elect_one_sync()) return;

    // CTAs in the same row of a cluster share A's tile, and CTAs in the same column share B's. Each loads a part and
    // multicasts it.
    auto const ctas = Layout<typename DispatchPolicy::ClusterShape>{};
    uint32_t const x = rank % size<0>(ctas), y = rank / size<0>(ctas);
    uint16_t mask_a = 0, mask_b = 0;
    if constexpr (is_same_v<GmemTiledCopyA, SM90_TMA_LOAD_MULTICAST>) {
      for (int i = 0; i < size<1>(ctas); ++i) mask_a |= uint16_t(1) << ctas(x, i, Int<0>{});
    }
    if constexpr (is_same_v<GmemTiledCopyB, SM90_TMA_LOAD_MULTICAST>) {
      for (int i = 0; i < size<0>(ctas); ++i) mask_b |= uint16_t(1) << ctas(i, y, Int<0>{});
    }

    auto const slice_a = params.high.tma_load_a.get_slice(y);
    auto const slice_b = params.high.tma_load_b.get_slice(x);
    auto const [m, n, k, l] = block;
    Tensor from_a = slice_a.partition_S(get<0>(operands)(_, _, m, _, l));
    Tensor from_b = slice_b.partition_S(get<1>(operands)(_, _, n, _, l));
    Tensor to_a = slice_a.partition_D(make_tensor(make_smem_ptr(shared.smem_A.data()), SmemLayoutA{}));
    Tensor to_b = slice_b.partition_D(make_tensor(make_smem_ptr(shared.smem_B.data()), SmemLayoutB{}));

    PipelineState write = stage_of(state, 1);
    auto const load_plane = [&](typename Plain::Params const& plane) {
      pipeline.producer_acquire(write);
      auto* const full = pipeline.producer_get_barrier(write);
      copy(plane.tma_load_a.with(*full, mask_a), from_a(_, _, _, *step), to_a(_, _, _, write.index()));
      copy(plane.tma_load_b.with(*full, mask_b), from_b(_, _, _, *step), to_b(_, _, _, write.index()));
      ++write;
    };
    CUTLASS_PRAGMA_NO_UNROLL
    for (; steps > 0; --steps, ++step) {
      load_plane(params.low);
      load_plane(params.high);
    }
  }

  // Keeps the CTA alive until the CTAs of the cluster have released all stages.
  CUTLASS_DEVICE void load_tail(MainloopPipeline pipeline, PipelineState state) {
    if (cute::elect_one_sync()) pipeline.producer_tail(stage_of(state, 1));
  }

  // The consumer: computes a warpgroup's part of the tile into accum.
  template <class Fragment>
  CUTLASS_DEVICE void mma(MainloopPipeline pipeline, PipelineState state, Fragment& accum, int steps, int thread,
                          TensorStorage& shared, Params const&) {
    using namespace cute;
    TiledMma product;
    auto const part = product.get_slice(make_layout(Int<warpgroups>{}, Int<128>{})(__shfl_sync(~0u, thread / 128, 0)));
    Tensor shared_a = make_tensor(make_smem_ptr(shared.smem_A.data()), SmemLayoutA{});
    Tensor shared_b = make_tensor(make_smem_ptr(shared.smem_B.data()), SmemLayoutB{});
    Tensor a = part.make_fragment_A(part.partition_A(shared_a));  // (instruction, m, k, stage)
    Tensor b = part.make_fragment_B(part.partition_B(shared_b));  // (instruction, n, k, stage)
    constexpr int blocks = size<2>(a);

    clear(accum);
    PipelineState low = stage_of(state, 0);
    auto const next = [](PipelineState s) {
      ++s;
      return s;
    };
    auto const wait = [&](PipelineState const& s) { pipeline.consumer_wait(s, pipeline.consumer_try_wait(s)); };
    auto const release = [&](PipelineState const& step) {
      pipeline.consumer_release(step);
      pipeline.consumer_release(next(step));
    };

    // Starts a step's products with the columns of instruction n, as one wgmma group. `first` is Zero to clear the
    // accumulator.
    auto const cross_products = [&](auto& to, int n, int low, int high, GMMA::ScaleOut first) {
      warpgroup_fence_operand(to);
      warpgroup_arrive();
      product.accumulate_ = first;
      CUTLASS_PRAGMA_UNROLL
      for (int k = 0; k < blocks; ++k) {
        gemm(product, a(_, 0, k, high), b(_, n, k, low), to(_, 0, 0));
        product.accumulate_ = GMMA::ScaleOut::One;
        gemm(product, a(_, 0, k, low), b(_, n, k, high), to(_, 0, 0));
      }
      warpgroup_commit_batch();
    };
    auto const high_products = [&](auto& to, int n, int high, GMMA::ScaleOut first) {
      warpgroup_fence_operand(to);
      warpgroup_arrive();
      product.accumulate_ = first;
      CUTLASS_PRAGMA_UNROLL
      for (int k = 0; k < blocks; ++k) {
        gemm(product, a(_, 0, k, high), b(_, n, k, high), to(_, 0, 0));
        product.accumulate_ = GMMA::ScaleOut::One;
      }
      warpgroup_commit_batch();
    };
    auto const add_high = [&](auto const& from, int n) {
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < size(from); ++i) accum(i, 0, n) += from(i);
    };
    auto const add_cross = [&](auto const& from, int n) {
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < size(from); ++i) accum(i, 0, n) = fmaf(0x1p-11f, from(i), accum(i, 0, n));
    };

    if constexpr (wide_tile) {
      Tensor partial = partition_fragment_C(product, take<0, 2>(InstructionTile{}));
      constexpr int instructions_n = tile_n / kInstructionN;
      CUTLASS_PRAGMA_NO_UNROLL
      for (; steps > 0; --steps) {
        PipelineState const high = next(low);
        wait(low);
        wait(high);
        CUTLASS_PRAGMA_UNROLL
        for (int n = 0; n < instructions_n; ++n) {
          cross_products(partial, n, low.index(), high.index(), GMMA::ScaleOut::Zero);
          warpgroup_wait<0>();
          warpgroup_fence_operand(partial);
          if (n == instructions_n - 1) pipeline.consumer_release(low);
          add_cross(partial, n);
        }
        CUTLASS_PRAGMA_UNROLL
        for (int n = 0; n < instructions_n; ++n) {
          high_products(partial, n, high.index(), GMMA::ScaleOut::Zero);
          warpgroup_wait<0>();
          warpgroup_fence_operand(partial);
          if (n == instructions_n - 1) pipeline.consumer_release(high);
          add_high(partial, n);
        }
        low = next(high);
      }
    } else {
      Tensor high = make_fragment_like(accum);
      Tensor cross = make_fragment_like(accum);
      PipelineState in_flight = low;  // the step whose cross products are in flight
      while (steps > 0) {
        int const first = steps, last = steps > steps_per_cross_sum ? steps - steps_per_cross_sum : 0;
        CUTLASS_PRAGMA_NO_UNROLL
        for (; steps > last; --steps) {
          PipelineState const high_stage = next(low);
          int const since_clear = (first - steps) % steps_per_sum;
          wait(low);
          wait(high_stage);
          high_products(high, 0, high_stage.index(), since_clear == 0 ? GMMA::ScaleOut::Zero : GMMA::ScaleOut::One);
          cross_products(cross, 0, low.index(), high_stage.index(),
                         steps == first ? GMMA::ScaleOut::Zero : GMMA::ScaleOut::One);
          warpgroup_wait<1>();  // for the high products and for the previous step
          warpgroup_fence_operand(high);
          if (steps != first) release(in_flight);
          if (since_clear == steps_per_sum - 1 || steps == last + 1) add_high(high, 0);
          in_flight = low;
          low = next(high_stage);
        }
        warpgroup_wait<0>();
        warpgroup_fence_operand(cross);
        release(in_flight);
        add_cross(cross, 0);
      }
    }
  }

  // mma has waited for all its instructions and has released all stages.
  CUTLASS_DEVICE void mma_tail(MainloopPipeline, PipelineState, int) {}
};

// The main loop of a product with one plane per operand, or with two.
template <bool split, class Plain>
struct MainloopOf {
  using type = Plain;
};

template <class Plain>
struct MainloopOf<true, Plain> {
  using type = MainloopSplit<Plain>;
};

}  // namespace gpk
