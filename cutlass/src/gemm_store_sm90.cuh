// gemm_store_sm90.cuh: CUTLASS's TMA epilogue with its kind chosen once per tile. The epilogue is unrolled over all
// elements of a thread. If the code for each fragment contained every activation, most of the fetched instructions would
// be skipped.
#pragma once
#include "cute/tensor.hpp"
#include "cutlass/epilogue/fusion/sm90_callbacks_tma_warpspecialized.hpp"
#include "gemm_epilogue.cuh"

namespace gpk {

// The sums of two pairs of elements of D, and their maxima, which propagate NaN. Rounding to float32 first would give the
// same sums, because float32's significand has at least twice as many bits as D's plus two.
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

// EpilogueKind::steps for 16-bit results. Sums and maxima of two elements take one instruction. The bits are those of
// apply_epilogue.
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

// The node for a missing bias: zeros, without a load.
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

template <EpilogueKind Kind, class Bias>
using BiasOf = cute::conditional_t<Kind == EpilogueKind::alpha_only, NoBias<Bias>, Bias>;

// Store<Kind> is CUTLASS's epilogue for a kind. Parameters and shared memory are the same for all kinds.
template <template <EpilogueKind> class Store>
struct StoreByKind : Store<EpilogueKind::alpha_only> {
  using Base = Store<EpilogueKind::alpha_only>;
  using TensorStorage = typename Base::TensorStorage;

  struct Arguments : Base::Arguments {
    EpilogueKind kind = EpilogueKind::alpha_only;
  };

  struct Params : Base::Params {
    EpilogueKind kind;
  };

  template <class Shape>
  static constexpr Params to_underlying_arguments(Shape const& shape, Arguments const& args, void* workspace) {
    return {Base::to_underlying_arguments(shape, args, workspace), args.kind};
  }

  CUTLASS_DEVICE StoreByKind(Params const& params, TensorStorage& shared) : Base(params, shared), params_(params) {}

  template <class Shape, class Tile, class Coord, class Sums, class Mma>
  CUTLASS_DEVICE auto store(typename Base::LoadPipeline load, typename Base::LoadPipelineState load_state,
                            typename Base::StorePipeline pipe, typename Base::StorePipelineState state, Shape shape,
                            Tile tile, Coord coord, Sums const& sums, Mma mma, int thread, TensorStorage& shared,
                            int subtile = -1) {
    auto const store_by = [&](auto kind) CUTLASS_LAMBDA_FUNC_INLINE {
      using Chosen = Store<decltype(kind)::value>;
      static_assert(sizeof(typename Chosen::Params) == sizeof(typename Base::Params) &&
                    sizeof(typename Chosen::TensorStorage) == sizeof(TensorStorage));
      auto& storage = reinterpret_cast<typename Chosen::TensorStorage&>(shared);
      Chosen chosen(reinterpret_cast<typename Chosen::Params const&>(static_cast<typename Base::Params const&>(params_)), storage);
      return chosen.store(load, load_state, pipe, state, shape, tile, coord, sums, mma, thread, storage, subtile);
    };
    switch (params_.kind) {
      case EpilogueKind::alpha_only: return store_by(cute::integral_constant<EpilogueKind, EpilogueKind::alpha_only>{});
      case EpilogueKind::clip_or_sigmoid: return store_by(cute::integral_constant<EpilogueKind, EpilogueKind::clip_or_sigmoid>{});
      case EpilogueKind::normal: return store_by(cute::integral_constant<EpilogueKind, EpilogueKind::normal>{});
      default: return store_by(cute::integral_constant<EpilogueKind, EpilogueKind::steps>{});
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
