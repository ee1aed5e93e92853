// gemm_store_sm90.cuh: CUTLASS's TMA epilogue with its kind chosen once per tile. An epilogue is unrolled over all
// elements of a thread. If each of its fragments contained every activation, the thread would jump over most of the
// instructions that the cache loads.
#pragma once
#include "cute/tensor.hpp"
#include "cutlass/epilogue/fusion/sm90_callbacks_tma_warpspecialized.hpp"
#include "gemm_epilogue.cuh"

namespace gpk {

// The sum of two elements of D, and their maximum, which propagates NaN. The sum rounded once equals the sum rounded
// to float32 first, because float32 has more than twice the significand plus two bits.
CUTLASS_DEVICE uint32_t add2(cutlass::bfloat16_t, uint32_t x, uint32_t y) {
  uint32_t r;
  asm("add.rn.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
  return r;
}

CUTLASS_DEVICE uint32_t add2(cutlass::half_t, uint32_t x, uint32_t y) {
  uint32_t r;
  asm("add.rn.f16x2 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
  return r;
}

CUTLASS_DEVICE uint32_t max2(cutlass::bfloat16_t, uint32_t x, uint32_t y) {
  uint32_t r;
  asm("max.NaN.bf16x2 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
  return r;
}

CUTLASS_DEVICE uint32_t max2(cutlass::half_t, uint32_t x, uint32_t y) {
  uint32_t r;
  asm("max.NaN.f16x2 %0, %1, %2;" : "=r"(r) : "r"(x), "r"(y));
  return r;
}

// The steps of a chain for 16-bit results, two at a time where no float32 is needed. The bits are those of finish for
// this kind.
template <class Out, int N>
CUTLASS_DEVICE cutlass::Array<Out, N> steps_in_pairs(cutlass::Array<float, N> const& sum, cutlass::Array<float, N> const& bias,
                                                     float alpha, Activation const& act) {
  static_assert(sizeof(Out) == 2 && N % 2 == 0);
  using Narrow = cutlass::NumericArrayConverter<Out, float, N>;
  using Wide = cutlass::NumericArrayConverter<float, Out, N>;
  cutlass::Array<float, N> x = sum;
  CUTLASS_PRAGMA_UNROLL
  for (int i = 0; i < N; ++i) x[i] += 0.f;
  cutlass::Array<Out, N> y = Narrow{}(x);
  if (alpha != 1) {
    x = Wide{}(y);
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N; ++i) x[i] = __fmul_rn(x[i], alpha);
    y = Narrow{}(x);
  }
  uint32_t* const pairs = reinterpret_cast<uint32_t*>(&y);
  if (act.bias) {
    cutlass::Array<Out, N> const b = Narrow{}(bias);
    uint32_t const* const added = reinterpret_cast<uint32_t const*>(&b);
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N / 2; ++i) pairs[i] = add2(Out{}, pairs[i], added[i]);
  }
  if (act.family == Activation::normal) {
    constexpr bool brief = cutlass::platform::is_same<Out, cutlass::bfloat16_t>::value;
    x = Wide{}(y);
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N; ++i) x[i] = GELU::rough<brief>(x[i]);
    return Narrow{}(x);
  }
  if (act.low == 0) {
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N / 2; ++i) pairs[i] = max2(Out{}, pairs[i], 0);
  }
  return y;
}

// A missing bias: zeros, without a load.
template <class Bias>
struct NoBias : Bias {
  using Bias::Bias;

  struct Callbacks : cutlass::epilogue::fusion::EmptyConsumerStoreCallbacks {
    template <class Sum, int N>
    CUTLASS_DEVICE cutlass::Array<float, N> visit(cutlass::Array<Sum, N> const&, int, int, int) {
      cutlass::Array<float, N> zeros;
      zeros.clear();
      return zeros;
    }
  };

  template <bool ReferenceSrc, class... Args>
  CUTLASS_DEVICE auto get_consumer_store_callbacks(cutlass::epilogue::fusion::ConsumerStoreArgs<Args...> const&) {
    return Callbacks{};
  }
};

template <EpilogueKind W, class Bias>
using BiasOf = cute::conditional_t<W == EpilogueKind::bare, NoBias<Bias>, Bias>;

// Store<W> are CUTLASS's epilogues for each kind W. Parameters and shared memory are the same for all kinds.
template <template <EpilogueKind> class Store>
struct StoreByKind : Store<EpilogueKind::bare> {
  using Base = Store<EpilogueKind::bare>;
  using TensorStorage = typename Base::TensorStorage;

  struct Arguments : Base::Arguments {
    EpilogueKind way = EpilogueKind::bare;
  };

  struct Params : Base::Params {
    EpilogueKind way;
  };

  template <class Shape>
  static constexpr Params to_underlying_arguments(Shape const& shape, Arguments const& args, void* workspace) {
    return {Base::to_underlying_arguments(shape, args, workspace), args.way};
  }

  CUTLASS_DEVICE StoreByKind(Params const& params, TensorStorage& shared) : Base(params, shared), params_(params) {}

  template <class Shape, class Tile, class Coord, class Sums, class Mma>
  CUTLASS_DEVICE auto store(typename Base::LoadPipeline load, typename Base::LoadPipelineState load_state,
                            typename Base::StorePipeline pipe, typename Base::StorePipelineState state, Shape shape,
                            Tile tile, Coord coord, Sums const& sums, Mma mma, int thread, TensorStorage& shared,
                            int subtile = -1) {
    auto const by = [&](auto way) CUTLASS_LAMBDA_FUNC_INLINE {
      using Other = Store<decltype(way)::value>;
      static_assert(sizeof(typename Other::Params) == sizeof(typename Base::Params) &&
                    sizeof(typename Other::TensorStorage) == sizeof(TensorStorage));
      auto& storage = reinterpret_cast<typename Other::TensorStorage&>(shared);
      Other other(reinterpret_cast<typename Other::Params const&>(static_cast<typename Base::Params const&>(params_)), storage);
      return other.store(load, load_state, pipe, state, shape, tile, coord, sums, mma, thread, storage, subtile);
    };
    switch (params_.way) {
      case EpilogueKind::bare: return by(cute::integral_constant<EpilogueKind, EpilogueKind::bare>{});
      case EpilogueKind::brief: return by(cute::integral_constant<EpilogueKind, EpilogueKind::brief>{});
      case EpilogueKind::normal: return by(cute::integral_constant<EpilogueKind, EpilogueKind::normal>{});
      default: return by(cute::integral_constant<EpilogueKind, EpilogueKind::steps>{});
    }
  }

 private:
  Params const& params_;
};

template <template <EpilogueKind> class Store, bool ByKind>
struct EpilogueOf {
  using type = StoreByKind<Store>;
};

template <template <EpilogueKind> class Store>
struct EpilogueOf<Store, false> {
  using type = Store<EpilogueKind::any>;
};

}  // namespace gpk
