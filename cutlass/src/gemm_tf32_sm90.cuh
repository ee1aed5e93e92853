// gemm_tf32_sm90.cuh: TF32 products with a row-major B. B is the left operand of the transposed product, which warps load
// from shared memory into registers. CUTLASS's builder chooses lines of 32 bytes in shared memory, which warps read
// without bank conflicts. But TMA copies line by line, and for lines of 32 bytes its rate is below that of memory. So
// these kernels have lines of 128 bytes.
#pragma once
#include "gemm_sm90.cuh"

namespace gpk {

// The tag of a main loop schedule with lines of 128 bytes.
template <class Mainloop>
struct WideLines {};

template <class Schedule>
struct wide : Schedule {
  using Mainloop = WideLines<typename Schedule::Mainloop>;
};

// The same collective, with lines of 128 bytes for its left operand.
template <class Collective>
struct Widened;

template <int Stages, class Cluster, class Schedule, class Tile, class A, class StrideA, class B, class StrideB,
          class Mma, class LoadA, class LinesA, class CopyA, class TransformA, class LoadB, class LinesB, class CopyB,
          class TransformB>
struct Widened<cutlass::gemm::collective::CollectiveMma<
    cutlass::gemm::MainloopSm90TmaGmmaRmemAWarpSpecialized<Stages, Cluster, Schedule>, Tile, A, StrideA, B, StrideB,
    Mma, LoadA, LinesA, CopyA, TransformA, LoadB, LinesB, CopyB, TransformB>> {
  using type = cutlass::gemm::collective::CollectiveMma<
      cutlass::gemm::MainloopSm90TmaGmmaRmemAWarpSpecialized<Stages, Cluster, Schedule>, Tile, A, StrideA, B, StrideB,
      Mma, LoadA, cute::GMMA::Layout_MN_SW128_Atom<cute::tfloat32_t>, CopyA, TransformA, LoadB, LinesB, CopyB,
      TransformB>;
};

}  // namespace gpk

namespace cutlass::gemm::collective {

template <class A, class LayoutA, int AlignA, class B, class LayoutB, int AlignB, class Accumulator, class Tile,
          class Cluster, class Stages, class Schedule>
struct CollectiveBuilder<arch::Sm90, arch::OpClassTensorOp, A, LayoutA, AlignA, B, LayoutB, AlignB, Accumulator, Tile,
                         Cluster, Stages, gpk::WideLines<Schedule>> {
  using CollectiveOp = typename gpk::Widened<
      typename CollectiveBuilder<arch::Sm90, arch::OpClassTensorOp, A, LayoutA, AlignA, B, LayoutB, AlignB,
                                 Accumulator, Tile, Cluster, Stages, Schedule>::CollectiveOp>::type;
};

}  // namespace cutlass::gemm::collective
