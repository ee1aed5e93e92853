// gemm_direct_sm90.cuh: the products of gemm_sm90.cuh with 16-bit results whose rows begin at any element. TMA stores
// in units of 16 bytes; here warps store instead, so that a result with an odd number of columns is written directly
// rather than through a buffer.
//
// A warp processes 16 rows of the tile at a time. It writes them to its own shared memory, each shifted by its
// address modulo 16 bytes, and stores units of 16 bytes. Only the two ends of a row are stored one element at a time.
//
// The k of such products is seldom a multiple of the tile's. TMA fills the last tile with zeros, and only the
// instructions that reach elements are issued. 4097 is 64 tiles and a quarter.
#pragma once
#include "gemm_sm90.cuh"

namespace gpk {

// The epilogue of a schedule that stores results directly.
template <class Epilogue>
struct Direct {};

// The main loop of a schedule that multiplies only the existing part of the last tile of k.
template <class Mainloop>
struct Short {};

template <class Schedule>
struct direct : Schedule {
  using Mainloop = Short<typename Schedule::Mainloop>;
  using Epilogue = Direct<typename Schedule::Epilogue>;
  static constexpr bool by_way = false;
};

// CUTLASS's main loop Whole for all tiles of k except a partial last one.
template <class Whole>
struct ShortMainloop : Whole {
  using Storage = typename Whole::TensorStorage;
  using Pipeline = typename Whole::MainloopPipeline;
  using State = typename Whole::PipelineState;
  using Mma = typename Whole::TiledMma;
  static constexpr int depth = cute::size<2>(typename Mma::AtomShape_MNK{});  // k per instruction
  static constexpr int steps = cute::size<2>(typename Whole::TileShape{}) / depth;
  static_assert(Whole::K_PIPE_MMAS == 1);

  struct Params : Whole::Params {
    int last;  // instructions that reach elements in the last tile
  };

  template <class Shape>
  static constexpr Params to_underlying_arguments(Shape const& shape, typename Whole::Arguments const& args,
                                                  void* workspace) {
    int const k = cute::get<2>(shape);
    return {Whole::to_underlying_arguments(shape, args, workspace), (k - 1) / depth % steps + 1};
  }

  template <class Accumulator>
  CUTLASS_DEVICE void mma(Pipeline pipeline, State read, Accumulator& acc, int tiles, int thread, Storage& shared,
                          Params const& params) {
    using namespace cute;
    int const last = tiles > 1 ? params.last : steps;
    Whole::mma(pipeline, read, acc, last < steps ? tiles - 1 : tiles, thread, shared, params);
    if (last == steps) return;
    // As in Whole: the instructions of its last tile are still in flight.
    State release = read;
    release.advance(tiles - 2);
    read.advance(tiles - 1);
    Mma mma;
    mma.accumulate_ = GMMA::ScaleOut::One;
    auto const mine = mma.get_slice(0);  // one warpgroup
    static_assert(size(Mma{}) == cutlass::NumThreadsPerWarpGroup);
    Tensor const a = mine.make_fragment_A(
        mine.partition_A(make_tensor(make_smem_ptr(shared.smem_A.data()), typename Whole::SmemLayoutA{})));
    Tensor const b = mine.make_fragment_B(
        mine.partition_B(make_tensor(make_smem_ptr(shared.smem_B.data()), typename Whole::SmemLayoutB{})));
    pipeline.consumer_wait(read);
    int const stage = read.index();
    CUTLASS_PRAGMA_NO_UNROLL
    for (int step = 0; step < last; ++step) {
      warpgroup_fence_operand(acc);
      warpgroup_arrive();
      cute::gemm(mma, a(_, _, step, stage), b(_, _, step, stage), acc);
      warpgroup_commit_batch();
      warpgroup_wait<1>();
      warpgroup_fence_operand(acc);
    }
    pipeline.consumer_release(release);
  }
};

// D = act(alpha acc + bias), with the members that CUTLASS's adapter for TMA kernels requires of an epilogue.
template <class Tile, class Out, class Schedule>
class DirectEpilogue {
 public:
  using DispatchPolicy = Schedule;
  using ElementC = void;
  using ElementD = Out;
  using ElementOutput = Out;
  using ElementAccumulator = float;
  using ElementCompute = float;
  using StrideC = cutlass::detail::TagToStrideC_t<Row>;
  using StrideD = StrideC;

  struct ThreadEpilogueOp {
    using ElementOutput = Out;
    using ElementAccumulator = float;
    using ElementCompute = float;
  };

  static constexpr int n = cute::size<1>(Tile{});
  static constexpr int width = n < 128 ? n : 128;  // elements per row in shared memory
  static constexpr int rows = 16;
  static constexpr int unit = 16 / sizeof(Out);
  static constexpr int pitch = width + unit;  // rows begin 4 banks apart
  static constexpr int lanes = width / unit;  // lanes that store a row
  static constexpr int warps = cute::is_same_v<Schedule, cutlass::epilogue::TmaWarpSpecializedCooperative> ? 8 : 4;
  static_assert(sizeof(Out) == 2 && n % width == 0 && 32 % lanes == 0);

  struct SharedStorage {
    alignas(16) uint16_t rows_of[warps][rows * pitch];
  };
  using TensorStorage = SharedStorage;

  using Fragment = cutlass::Array<float, 8>;
  using Node = typename BiasAct<Out>::template Node<Fragment>;

  // The same members as the arguments of Gemm90's fusion.
  struct Thread {
    struct {
    } accumulator;
    struct {
      Out const* row = nullptr;
    } bias;
    typename BiasAct<Out>::template Node<float>::Arguments node{1.f, {}};
  };

  struct Arguments {
    Thread thread{};
    void const* ptr_C = nullptr;
    StrideC dC{};
    Out* ptr_D = nullptr;
    StrideD dD{};
  };
  using Params = Arguments;

  template <class Shape>
  static constexpr Params to_underlying_arguments(Shape const&, Arguments const& args, void*) {
    return args;
  }
  template <class Shape>
  static size_t get_workspace_size(Shape const&, Arguments const&) {
    return 0;
  }
  template <class Shape>
  static cutlass::Status initialize_workspace(Shape const&, Arguments const&, void*, cudaStream_t,
                                              cutlass::CudaHostAdapter* = nullptr) {
    return cutlass::Status::kSuccess;
  }
  template <class Shape>
  static bool can_implement(Shape const&, Arguments const&) {
    return true;
  }

  CUTLASS_HOST_DEVICE DirectEpilogue(Params const& params) : params_(params) {}

  template <class Shape, class Block, class Coord, class Engine, class Layout, class Mma, class Residue>
  CUTLASS_DEVICE void operator()(Shape const& shape, Block const&, Coord const& coord,
                                 cute::Tensor<Engine, Layout> const& acc, Mma const&, Residue const&, int thread,
                                 char* shared) {
    using namespace cute;
    constexpr int groups = size(Mma{}) / 128;        // warpgroups, one below the other
    constexpr int steps = size<1>(Layout{});         // steps of 64 rows per group
    static_assert(size<2>(Layout{}) == 1 && size<0>(Layout{}) == n / 2 && steps * groups * 64 == size<0>(Tile{}));
    int const warp = __shfl_sync(0xffffffff, thread / 32, 0), lane = thread % 32;
    auto const& [tile_m, tile_n, tile_k, batch] = coord;
    int const m0 = static_cast<int>(tile_m) * size<0>(Tile{}) + warp / 4 * 64 + warp % 4 * rows;
    int const n0 = static_cast<int>(tile_n) * n;
    int const below = get<0>(shape), right = get<1>(shape) - n0;  // negative beyond D; no branch, so that warps do not diverge
    int64_t const ld = get<0>(params_.dD);
    Out* const d = params_.ptr_D + static_cast<int64_t>(batch) * get<2>(params_.dD) + n0;
    Out const* const bias = params_.thread.bias.row == nullptr ? nullptr : params_.thread.bias.row + n0;
    Activation const& act = params_.thread.node.act;
    bool const plain = bias == nullptr && params_.thread.node.alpha == 1 && !act.steps &&
                       act.family == Activation::clip && act.low == -INFINITY;
    uint16_t* const mine = reinterpret_cast<SharedStorage*>(shared)->rows_of[warp];

    CUTLASS_PRAGMA_UNROLL
    for (int step = 0; step < steps; ++step) {
      CUTLASS_PRAGMA_UNROLL
      for (int part = 0; part < n; part += width) {
        Out* const first = d + (m0 + step * groups * 64) * ld + part;
        uint16_t* to[2];
        CUTLASS_PRAGMA_UNROLL
        for (int i = 0; i < 2; ++i) {
          int const row = lane / 4 + 8 * i;
          to[i] = mine + row * pitch + shift(first + row * ld) + lane % 4 * 2;
        }
        // The plain product has its own branch-free path: instructions that run once per tile still have to be
        // fetched.
        if (plain) {
          lay_down(acc, step, part, to, [](Fragment const& sum, int) {
            Fragment x;
            CUTLASS_PRAGMA_UNROLL
            for (int i = 0; i < 8; ++i) x[i] = sum[i] + 0.f;
            return x;
          });
        } else {
          lay_down(acc, step, part, to, [&](Fragment const& sum, int j) {
            Fragment row;
            CUTLASS_PRAGMA_UNROLL
            for (int i = 0; i < 8; i += 4) {
              int const c = part + (j + i / 4) * 8 + lane % 4 * 2;
              row[i] = row[i + 2] = bias != nullptr && c < right ? static_cast<float>(bias[c]) : 0.f;
              row[i + 1] = row[i + 3] = bias != nullptr && c + 1 < right ? static_cast<float>(bias[c + 1]) : 0.f;
            }
            return Node{}(sum, row, params_.thread.node);
          });
        }
        __syncwarp();
        store(first, ld, below - (m0 + step * groups * 64), right - part, mine, lane);
        __syncwarp();
      }
    }
  }

 private:
  // Applies the epilogue to 16 rows of the accumulator, and writes them to where `to` points for each half of them.
  template <class Accumulator, class Epilogue>
  CUTLASS_DEVICE static void lay_down(Accumulator const& acc, int step, int part, uint16_t* const (&to)[2],
                                      Epilogue const& finished) {
    using namespace cute;
    CUTLASS_PRAGMA_UNROLL
    for (int j = 0; j < width / 8; j += 2) {
      Fragment sum;
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < 8; ++i) {
        sum[i] = acc(make_coord(make_coord(i % 2, i / 2 % 2, part / 8 + j + i / 4), step, 0));
      }
      auto const y = cutlass::NumericArrayConverter<Out, float, 8>::convert(finished(sum, j));
      uint16_t const* const bits = reinterpret_cast<uint16_t const*>(&y);
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < 8; ++i) to[i / 2 % 2][(j + i / 4) * 8 + i % 2] = bits[i];
    }
  }

  // The number of elements between the preceding multiple of 16 bytes and an address.
  CUTLASS_DEVICE static int shift(Out const* at) { return static_cast<int>(reinterpret_cast<uintptr_t>(at) % 16 / 2); }

  // Stores rows from shared memory: `below` rows and `right` columns are inside D.
  CUTLASS_DEVICE static void store(Out* d, int64_t ld, int below, int right, uint16_t const* lines, int lane) {
    constexpr int together = 32 / lanes;
    if (right > width) right = width;
    int const at = lane % lanes;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < rows; i += together) {
      int const row = i + lane / lanes;
      Out* const begin = d + row * ld;
      int const from = shift(begin), to = row < below && right > 0 ? from + right : 0;
      uint16_t const* const line = lines + row * pitch;
      uint16_t* const base = reinterpret_cast<uint16_t*>(begin) - from;
      if (at * unit >= from && (at + 1) * unit <= to) {
        *reinterpret_cast<uint4*>(base + at * unit) = *reinterpret_cast<uint4 const*>(line + at * unit);
      }
      // The first lanes store the begin of the row, the others its end.
      int const end = to / unit * unit;
      int const e = at < unit ? at : end + at - unit;
      bool const single = at < unit ? from > 0 && e >= from : at < 2 * unit && (end > 0 || from == 0);
      if (single && e < to) base[e] = line[e];
    }
  }

  Params params_;
};

// The traits of a kernel whose result needs only the alignment of its elements.
constexpr Traits unaligned(Traits traits) {
  traits.align_d = traits.size_d;
  return traits;
}

}  // namespace gpk

namespace cutlass::epilogue::collective {

template <class Tile, class Cluster, class EpilogueTile, class Accumulator, class Compute, class C, class LayoutC,
          int AlignC, class D, class LayoutD, int AlignD, class Schedule, class Fusion>
struct CollectiveBuilder<arch::Sm90, arch::OpClassTensorOp, Tile, Cluster, EpilogueTile, Accumulator, Compute, C,
                         LayoutC, AlignC, D, LayoutD, AlignD, gpk::Direct<Schedule>, Fusion> {
  using CollectiveOp = detail::Sm90TmaWarpSpecializedAdapter<gpk::DirectEpilogue<Tile, D, Schedule>>;
};

}  // namespace cutlass::epilogue::collective

namespace cutlass::gemm::collective {

template <class A, class LayoutA, int AlignA, class B, class LayoutB, int AlignB, class Accumulator, class Tile,
          class Cluster, class Stages, class Schedule>
struct CollectiveBuilder<arch::Sm90, arch::OpClassTensorOp, A, LayoutA, AlignA, B, LayoutB, AlignB, Accumulator, Tile,
                         Cluster, Stages, gpk::Short<Schedule>> {
  using CollectiveOp = gpk::ShortMainloop<
      typename CollectiveBuilder<arch::Sm90, arch::OpClassTensorOp, A, LayoutA, AlignA, B, LayoutB, AlignB, Accumulator,
                                 Tile, Cluster, Stages, Schedule>::CollectiveOp>;
};

}  // namespace cutlass::gemm::collective

// One kernel of the manifest.
#define GPK_DIRECT90(name, In, Out, MajorA, MajorB, M, N, K, ClusterM, ClusterN, schedule)                     \
  namespace gpk {                                                                                              \
  using name##_t = Gemm90<In, Out, MajorA, MajorB, M, N, K, ClusterM, ClusterN, direct<schedule>>;             \
  extern Entry const entry_##name;                                                                             \
  Entry const entry_##name = {#name, unaligned(name##_t::traits), name##_t::run};                                  \
  }
