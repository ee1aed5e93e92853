// gemm_direct_sm90.cuh: the products of gemm_sm90.cuh for 16-bit results whose rows are not aligned to 16 bytes. TMA
// requires this alignment. Here the warps store with plain instructions, so that a result with an odd number of columns
// needs no padded buffer.
//
// A warp processes 16 rows of the tile at a time. It writes each row to its own shared memory, at an offset that equals
// the row's address modulo 16 bytes. Then it stores vectors of 16 bytes. Only the two ends of a row are stored one
// element at a time.
//
// The k of such products is seldom a multiple of the tile's. TMA fills the last tile of k with zeros, and the main loop
// skips the instructions that would read only zeros. For k = 4097 and a tile of 64 it saves three quarters of a tile.
#pragma once
#include "gemm_sm90.cuh"

namespace gpk {

// The tag of an epilogue schedule that does not store by TMA.
template <class Epilogue>
struct DirectStore {};

// The tag of a main loop schedule that skips the part of the last tile of k that is outside the operands.
template <class Mainloop>
struct PartialLastTile {};

template <class Schedule>
struct direct_store : Schedule {
  using Mainloop = PartialLastTile<typename Schedule::Mainloop>;
  using Epilogue = DirectStore<typename Schedule::Epilogue>;
  static constexpr bool by_kind = false;
};

// CUTLASS's main loop Base, for all tiles of k except a partial last one.
template <class Base>
struct PartialLastTileMainloop : Base {
  using Storage = typename Base::TensorStorage;
  using Pipeline = typename Base::MainloopPipeline;
  using State = typename Base::PipelineState;
  using Mma = typename Base::TiledMma;
  static constexpr int depth = cute::size<2>(typename Mma::AtomShape_MNK{});  // k per instruction
  static constexpr int steps = cute::size<2>(typename Base::TileShape{}) / depth;
  static_assert(Base::K_PIPE_MMAS == 1);

  struct Params : Base::Params {
    int last;  // instructions of the last tile that read elements
  };

  template <class Shape>
  static constexpr Params to_underlying_arguments(Shape const& shape, typename Base::Arguments const& args,
                                                  void* workspace) {
    int const k = cute::get<2>(shape);
    return {Base::to_underlying_arguments(shape, args, workspace), (k - 1) / depth % steps + 1};
  }

  template <class Accumulator>
  CUTLASS_DEVICE void mma(Pipeline pipeline, State read, Accumulator& acc, int tiles, int thread, Storage& shared,
                          Params const& params) {
    using namespace cute;
    int const last = tiles > 1 ? params.last : steps;
    Base::mma(pipeline, read, acc, last < steps ? tiles - 1 : tiles, thread, shared, params);
    if (last == steps) return;
    // As in Base, the instructions of the tile before are still in flight.
    State release = read;
    release.advance(tiles - 2);
    read.advance(tiles - 1);
    Mma mma;
    mma.accumulate_ = GMMA::ScaleOut::One;
    auto const slice = mma.get_slice(0);  // one warpgroup
    static_assert(size(Mma{}) == cutlass::NumThreadsPerWarpGroup);
    Tensor const a = slice.make_fragment_A(
        slice.partition_A(make_tensor(make_smem_ptr(shared.smem_A.data()), typename Base::SmemLayoutA{})));
    Tensor const b = slice.make_fragment_B(
        slice.partition_B(make_tensor(make_smem_ptr(shared.smem_B.data()), typename Base::SmemLayoutB{})));
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

// D = act(alpha acc + bias). Sm90TmaWarpSpecializedAdapter, CUTLASS's adapter of non-TMA epilogues for TMA kernels,
// requires its members.
template <class Tile, class Out, class Schedule>
class DirectStoreEpilogue {
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
  static constexpr int pitch = width + unit;  // consecutive rows are 4 banks apart
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

  CUTLASS_HOST_DEVICE DirectStoreEpilogue(Params const& params) : params_(params) {}

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
    int const rows_left = get<0>(shape), columns_left = get<1>(shape) - n0;  // of D; negative outside it, without a branch
    int64_t const ld = get<0>(params_.dD);
    Out* const d = params_.ptr_D + static_cast<int64_t>(batch) * get<2>(params_.dD) + n0;
    Out const* const bias = params_.thread.bias.row == nullptr ? nullptr : params_.thread.bias.row + n0;
    Activation const& act = params_.thread.node.act;
    bool const plain = bias == nullptr && params_.thread.node.alpha == 1 && !act.steps &&
                       act.family == Activation::clip && act.low == -INFINITY;
    uint16_t* const buffer = reinterpret_cast<SharedStorage*>(shared)->rows_of[warp];

    CUTLASS_PRAGMA_UNROLL
    for (int step = 0; step < steps; ++step) {
      CUTLASS_PRAGMA_UNROLL
      for (int part = 0; part < n; part += width) {
        Out* const first = d + (m0 + step * groups * 64) * ld + part;
        uint16_t* to[2];
        CUTLASS_PRAGMA_UNROLL
        for (int i = 0; i < 2; ++i) {
          int const row = lane / 4 + 8 * i;
          to[i] = buffer + row * pitch + shift(first + row * ld) + lane % 4 * 2;
        }
        // The product without bias and activation has its own path without branches: each instruction of the epilogue
        // runs once per tile, so that its fetch costs as much as its execution.
        if (plain) {
          write_shared(acc, step, part, to, [](Fragment const& sum, int) {
            Fragment x;
            CUTLASS_PRAGMA_UNROLL
            for (int i = 0; i < 8; ++i) x[i] = sum[i] + 0.f;
            return x;
          });
        } else {
          write_shared(acc, step, part, to, [&](Fragment const& sum, int j) {
            Fragment row;
            CUTLASS_PRAGMA_UNROLL
            for (int i = 0; i < 8; i += 4) {
              int const c = part + (j + i / 4) * 8 + lane % 4 * 2;
              row[i] = row[i + 2] = bias != nullptr && c < columns_left ? static_cast<float>(bias[c]) : 0.f;
              row[i + 1] = row[i + 3] = bias != nullptr && c + 1 < columns_left ? static_cast<float>(bias[c + 1]) : 0.f;
            }
            return Node{}(sum, row, params_.thread.node);
          });
        }
        __syncwarp();
        store(first, ld, rows_left - (m0 + step * groups * 64), columns_left - part, buffer, lane);
        __syncwarp();
      }
    }
  }

 private:
  // Applies the epilogue to 16 rows of the accumulator and writes them to shared memory. to[0] and to[1] are the lane's
  // addresses in its row of the first eight rows and of the other eight.
  template <class Accumulator, class Epilogue>
  CUTLASS_DEVICE static void write_shared(Accumulator const& acc, int step, int part, uint16_t* const (&to)[2],
                                      Epilogue const& epilogue) {
    using namespace cute;
    CUTLASS_PRAGMA_UNROLL
    for (int j = 0; j < width / 8; j += 2) {
      Fragment sum;
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < 8; ++i) {
        sum[i] = acc(make_coord(make_coord(i % 2, i / 2 % 2, part / 8 + j + i / 4), step, 0));
      }
      auto const y = cutlass::NumericArrayConverter<Out, float, 8>::convert(epilogue(sum, j));
      uint16_t const* const bits = reinterpret_cast<uint16_t const*>(&y);
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < 8; ++i) to[i / 2 % 2][(j + i / 4) * 8 + i % 2] = bits[i];
    }
  }

  // The distance, in elements, of an address from the multiple of 16 bytes before it.
  CUTLASS_DEVICE static int shift(Out const* at) { return static_cast<int>(reinterpret_cast<uintptr_t>(at) % 16 / 2); }

  // Stores rows from shared memory. Of these, rows_left rows and columns_left columns are inside D.
  CUTLASS_DEVICE static void store(Out* d, int64_t ld, int rows_left, int columns_left, uint16_t const* lines, int lane) {
    constexpr int rows_at_once = 32 / lanes;
    if (columns_left > width) columns_left = width;
    int const at = lane % lanes;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < rows; i += rows_at_once) {
      int const row = i + lane / lanes;
      Out* const begin = d + row * ld;
      int const from = shift(begin), to = row < rows_left && columns_left > 0 ? from + columns_left : 0;
      uint16_t const* const line = lines + row * pitch;
      uint16_t* const base = reinterpret_cast<uint16_t*>(begin) - from;
      if (at * unit >= from && (at + 1) * unit <= to) {
        *reinterpret_cast<uint4*>(base + at * unit) = *reinterpret_cast<uint4 const*>(line + at * unit);
      }
      // The first `unit` lanes store the elements before the first aligned vector, the next ones those after the last.
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
                         LayoutC, AlignC, D, LayoutD, AlignD, gpk::DirectStore<Schedule>, Fusion> {
  using CollectiveOp = detail::Sm90TmaWarpSpecializedAdapter<gpk::DirectStoreEpilogue<Tile, D, Schedule>>;
};

}  // namespace cutlass::epilogue::collective

namespace cutlass::gemm::collective {

template <class A, class LayoutA, int AlignA, class B, class LayoutB, int AlignB, class Accumulator, class Tile,
          class Cluster, class Stages, class Schedule>
struct CollectiveBuilder<arch::Sm90, arch::OpClassTensorOp, A, LayoutA, AlignA, B, LayoutB, AlignB, Accumulator, Tile,
                         Cluster, Stages, gpk::PartialLastTile<Schedule>> {
  using CollectiveOp = gpk::PartialLastTileMainloop<
      typename CollectiveBuilder<arch::Sm90, arch::OpClassTensorOp, A, LayoutA, AlignA, B, LayoutB, AlignB, Accumulator,
                                 Tile, Cluster, Stages, Schedule>::CollectiveOp>;
};

}  // namespace cutlass::gemm::collective

// One kernel of the manifest.
#define GPK_DIRECT90(name, In, Out, MajorA, MajorB, M, N, K, ClusterM, ClusterN, schedule)                     \
  namespace gpk {                                                                                              \
  using name##_t = Gemm90<In, Out, MajorA, MajorB, M, N, K, ClusterM, ClusterN, direct_store<schedule>>;             \
  extern Entry const entry_##name;                                                                             \
  Entry const entry_##name = {#name, unaligned(name##_t::traits), name##_t::run};                                  \
  }
