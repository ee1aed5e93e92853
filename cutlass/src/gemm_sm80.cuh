// gemm_sm80.cuh: products by CUTLASS 2.x: multistage cp.async pipelines with mma.sync (sm_80 and later), DMMA (float64,
// complex128) or FMA.
//
// The kernels load complete vectors. A vector that crosses the end of m or n affects only elements that are not stored.
// So a padded pitch is enough. A vector that crosses the end of k would contribute to results. So k has to be a multiple
// of the vector length (Traits::multiple_k) if an operand has k contiguous. D is stored element by element: n and the
// pitch are arbitrary.
#pragma once
#include "guard.cuh"

#include "cutlass/complex.h"
#include "cutlass/cutlass.h"
#include "cutlass/epilogue/thread/linear_combination.h"
#include "cutlass/gemm/kernel/default_gemm_universal.h"
#include "cutlass/gemm/threadblock/threadblock_swizzle.h"
#include "gemm_epilogue.cuh"

namespace gpk {

using Row = cutlass::layout::RowMajor;
using Col = cutlass::layout::ColumnMajor;
using bf16 = cutlass::bfloat16_t;
using fp16 = cutlass::half_t;
using c64 = cutlass::complex<float>;
using c128 = cutlass::complex<double>;

// The output functor for float32 accumulators. The bias row is the source operand C, with a pitch of 0.
template <class Out>
class BiasActOutput {
 public:
  using ElementOutput = Out;
  using ElementAccumulator = float;
  using ElementCompute = float;
  static int const kCount = 1;
  static bool const kIsHeavy = true;  // if unrolled, the activations of a tile would be most of the code
  using FragmentOutput = cutlass::Array<Out, 1>;
  using FragmentAccumulator = cutlass::Array<float, 1>;

  struct Params {
    float alpha = 1;
    bool bias = false;
    Activation act;

    Params() = default;
    Params(Problem const& p) : alpha(static_cast<float>(p.alpha_re)), bias(p.bias != nullptr), act(p.act, p.bias != nullptr) {}
  };

  CUTLASS_HOST_DEVICE BiasActOutput(Params const& params) : params_(params) {}
  CUTLASS_HOST_DEVICE bool is_source_needed() const { return params_.bias; }
  CUTLASS_HOST_DEVICE void set_k_partition(int, int) {}

  CUTLASS_DEVICE FragmentOutput operator()(FragmentAccumulator const& acc, FragmentOutput const& bias) const {
    return result(acc, static_cast<float>(bias[0]));
  }

  CUTLASS_DEVICE FragmentOutput operator()(FragmentAccumulator const& acc) const {
    return result(acc, 0);
  }

 private:
  CUTLASS_DEVICE FragmentOutput result(FragmentAccumulator const& acc, float bias) const {
    FragmentAccumulator row;
    row[0] = bias;
    return cutlass::NumericArrayConverter<Out, float, 1>{}(apply_epilogue<Out>(acc, row, params_.alpha, params_.act));
  }

  Params params_;
};

// The output functor for other accumulators. It applies alpha only.
template <class T>
struct AlphaOutput : cutlass::epilogue::thread::LinearCombination<T, 1, T, T,
                                                                 cutlass::epilogue::thread::ScaleType::OnlyAlphaScaling> {
  using Base =
      cutlass::epilogue::thread::LinearCombination<T, 1, T, T,
                                                   cutlass::epilogue::thread::ScaleType::OnlyAlphaScaling>;
  using Base::Base;

  struct Params : Base::Params {
    using Base::Params::Params;
    Params(Problem const& p) : Base::Params(alpha(p)) {}
  };

  static T alpha(Problem const& p) {
    if constexpr (cutlass::is_complex<T>::value) {
      using R = typename T::value_type;
      return T(static_cast<R>(p.alpha_re), static_cast<R>(p.alpha_im));
    } else {
      return static_cast<T>(p.alpha_re);
    }
  }
};

// The properties of a kernel family: element and accumulator types, instruction, elements per load and output functor.
template <class In_, class Acc_, class Class_, class Arch_, class Instruction_, class Operator_, int Align_,
          template <class> class Output_>
struct Math {
  using In = In_;
  using Acc = Acc_;
  using Class = Class_;
  using Arch = Arch_;
  using Instruction = Instruction_;
  using Operator = Operator_;
  template <class Out>
  using Output = Output_<Out>;
  static constexpr int align = Align_;
};

namespace math {
using cutlass::gemm::GemmShape;
using TensorOp = cutlass::arch::OpClassTensorOp;
using Simt = cutlass::arch::OpClassSimt;
using Sm80 = cutlass::arch::Sm80;
using Sm90 = cutlass::arch::Sm90;
using Fma = cutlass::arch::OpMultiplyAdd;
using FmaComplex = cutlass::arch::OpMultiplyAddComplex;

using bf16 = Math<gpk::bf16, float, TensorOp, Sm80, GemmShape<16, 8, 16>, Fma, 8, BiasActOutput>;
using fp16 = Math<gpk::fp16, float, TensorOp, Sm80, GemmShape<16, 8, 16>, Fma, 8, BiasActOutput>;
using tf32 = Math<float, float, TensorOp, Sm80, GemmShape<16, 8, 8>, Fma, 4, BiasActOutput>;
using fp32 = Math<float, float, Simt, Sm80, GemmShape<1, 1, 1>, Fma, 1, BiasActOutput>;
using fp64 = Math<double, double, TensorOp, Sm80, GemmShape<8, 8, 4>, Fma, 1, AlphaOutput>;
using fp64_sm90 = Math<double, double, TensorOp, Sm90, GemmShape<16, 8, 4>, Fma, 1, AlphaOutput>;
using c64 = Math<gpk::c64, gpk::c64, Simt, Sm80, GemmShape<1, 1, 1>, FmaComplex, 1, AlphaOutput>;
using c64_tf32 = Math<gpk::c64, gpk::c64, TensorOp, Sm80, GemmShape<16, 8, 8>, FmaComplex, 1, AlphaOutput>;
using c128 = Math<gpk::c128, gpk::c128, TensorOp, Sm80, GemmShape<8, 8, 4>, FmaComplex, 1, AlphaOutput>;
using c128_sm90 = Math<gpk::c128, gpk::c128, TensorOp, Sm90, GemmShape<16, 8, 4>, FmaComplex, 1, AlphaOutput>;
}  // namespace math

// A CUTLASS 2.x kernel with a guard.
template <class Kernel>
__global__ void __launch_bounds__(Kernel::kThreadCount)
    guarded80(__grid_constant__ typename Kernel::Params const params, __grid_constant__ Guard const guard) {
  extern __shared__ char shared[];
  begin();
  if (!runs(guard, reinterpret_cast<uint32_t*>(shared))) return;
  Kernel()(params, *reinterpret_cast<typename Kernel::SharedStorage*>(shared));
}

template <class Math, class Out, class MajorA, class MajorB, int M, int N, int K, int WarpM, int WarpN, int Stages>
struct Gemm80 {
  using In = typename Math::In;
  using Swizzle = cutlass::gemm::threadblock::GemmIdentityThreadblockSwizzle<8>;
  using Kernel = typename cutlass::gemm::kernel::DefaultGemmUniversal<
      In, MajorA, cutlass::ComplexTransform::kNone, Math::align, In, MajorB, cutlass::ComplexTransform::kNone,
      Math::align, Out, Row, typename Math::Acc, typename Math::Class, typename Math::Arch,
      cutlass::gemm::GemmShape<M, N, K>, cutlass::gemm::GemmShape<WarpM, WarpN, K>, typename Math::Instruction,
      typename Math::template Output<Out>, Swizzle, Stages, typename Math::Operator>::GemmKernel;

  static constexpr bool row_a = cutlass::platform::is_same<MajorA, Row>::value;
  static constexpr bool row_b = cutlass::platform::is_same<MajorB, Row>::value;
  static constexpr bool epilogue = cutlass::platform::is_same<typename Math::Acc, float>::value;
  static constexpr Traits traits = {sizeof(In), sizeof(In), sizeof(Out), row_a, row_b, Math::align * sizeof(In),
                                    Math::align * sizeof(In), sizeof(Out), row_a || !row_b ? Math::align : 1, epilogue,
                                    true};

  static int run(Problem const& p) {
    static uint64_t allowed = 0, known = 0;
    constexpr int shared = sizeof(typename Kernel::SharedStorage);
    void const* const kernel = reinterpret_cast<void const*>(guarded80<Kernel>);
    if (int const e = allow_shared(kernel, shared, p.device, &allowed)) return e;

    // A grid has at most 65535 blocks along z.
    constexpr int most = 65535;
    for (int done = 0; done < p.batch; done += most) {
      int const batch = p.batch - done < most ? p.batch - done : most;
      typename Kernel::Arguments args(
          cutlass::gemm::GemmUniversalMode::kBatched, {p.m, p.n, p.k}, batch, {p},
          static_cast<In const*>(p.a) + done * p.stride_a, static_cast<In const*>(p.b) + done * p.stride_b, p.bias,
          static_cast<Out*>(p.d) + done * p.stride_d, p.stride_a, p.stride_b, 0, p.stride_d, p.lda, p.ldb, 0, p.ldd);
      typename Kernel::Params params(args, sm_count(p.device), 1);
      dim3 const grid = params.get_grid_dims();
      if (grid.y > most) return GPK_ERR_ARGUMENT;
      Guard guard = p.guard;
      void* pointers[] = {&params, &guard};
      bool const early = waits_for_previous(kernel, p.device, &known);
      if (int const e = launch(kernel, grid, Kernel::kThreadCount, shared, p.stream, pointers, 1, 1, early)) return e;
    }
    return GPK_OK;
  }
};

}  // namespace gpk

// One kernel of the manifest.
#define GPK_GEMM80(name, Math, Out, MajorA, MajorB, M, N, K, WarpM, WarpN, Stages)                \
  namespace gpk {                                                                                 \
  using name##_t = Gemm80<math::Math, Out, MajorA, MajorB, M, N, K, WarpM, WarpN, Stages>;        \
  extern Entry const entry_##name;                                                                \
  Entry const entry_##name = {#name, name##_t::traits, name##_t::run};                            \
  }
