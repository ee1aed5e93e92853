// gemm_streamk_sm90.cuh: products of gemm_sm90.cuh by stream-K (Osama et al., arXiv 2301.03598): the tiles of a partial
// wave are distributed over all CTAs, each with an equal part of the tiles' k. The CTA with the last part of a tile adds
// the parts in their order, from the workspace.
#pragma once
#include "gemm_sm90.cuh"

namespace gpk {

struct StreamK {};  // the tag of the tile scheduler

// CUTLASS's scheduler. Its own is_last_tile does not compile.
template <class Tile, class Cluster>
struct StreamKTiles : cutlass::gemm::kernel::detail::PersistentTileSchedulerSm90StreamK<Tile, Cluster> {
  using Base = cutlass::gemm::kernel::detail::PersistentTileSchedulerSm90StreamK<Tile, Cluster>;
  using Base::Base;

  CUTLASS_DEVICE bool is_last_tile(typename Base::WorkTileInfo work, uint32_t = 1) const {
    Base next = *this;
    return !cute::get<0>(next.fetch_next_work(work)).is_valid();
  }
};

}  // namespace gpk

namespace cutlass::gemm::kernel::detail {

template <class Tile, class Cluster, uint32_t Stages>
struct TileSchedulerSelector<gpk::StreamK, arch::Sm90, Tile, Cluster, Stages> {
  using Scheduler = gpk::StreamKTiles<Tile, Cluster>;
};

}  // namespace cutlass::gemm::kernel::detail

namespace gpk {

// A lock counts the parts of a tile that have been added.
static __global__ void clear_locks(uint32_t* locks, int n) {
  begin();
  for (int i = threadIdx.x; i < n; i += blockDim.x) locks[i] = 0;
}

struct streamk : cooperative {
  using Tiles = StreamK;

  struct Bytes {
    size_t sums, locks;  // offsets in the workspace, in this order
  };

  template <class Kernel>
  static Bytes bytes(typename Kernel::Arguments const& args) {
    using Tile = typename Kernel::TileShape;
    using Cluster = typename Kernel::ClusterShape;
    auto const& s = args.scheduler;
    Bytes b{};
    Kernel::TileSchedulerParams::get_workspace_component_sizes(
        Kernel::TileScheduler::get_tiled_cta_shape_mnl(args.problem_shape, Tile{}, Cluster{}),
        cute::ceil_div(cute::get<2>(args.problem_shape), cute::get<2>(Tile{})), cutlass::gemm::to_gemm_coord(Tile{}),
        cutlass::gemm::to_gemm_coord(Cluster{}), b.locks, b.sums, args.hw_info, s.splits, s.max_swizzle_size,
        s.raster_order, s.decomposition_mode, s.reduction_mode, Kernel::NumMmaWarpGroups, 32, 32);
    return b;
  }

  template <class Kernel>
  static int begin(Problem const& p, typename Kernel::Arguments& args) {
    args.scheduler.max_swizzle_size = 1;
    Bytes const b = bytes<Kernel>(args);
    if (p.workspace_bytes < static_cast<int64_t>(b.sums + b.locks)) return GPK_ERR_WORKSPACE;
    if (b.locks == 0) return GPK_OK;
    auto* locks = reinterpret_cast<uint32_t*>(static_cast<char*>(p.workspace) + b.sums);
    int n = static_cast<int>(b.locks / sizeof(uint32_t));
    void* params[] = {&locks, &n};
    return launch(reinterpret_cast<void const*>(clear_locks), dim3(1), dim3(256), 0, p.stream, params, 1, 1, true);
  }

  template <class Kernel>
  static int64_t workspace(int device, int m, int n, int k, int batch) {
    typename Kernel::Arguments args{};
    args.problem_shape = {m, n, k, batch};
    args.hw_info.device_id = device;
    args.hw_info.sm_count = sm_count(device);
    if (args.hw_info.sm_count <= 0) return -GPK_ERR_KERNEL;
    Bytes const b = bytes<Kernel>(args);
    return static_cast<int64_t>(b.sums + b.locks);
  }
};

}  // namespace gpk

// One kernel of the manifest.
#define GPK_STREAMK90(name, In, Out, MajorA, MajorB, M, N, K, ClusterM, ClusterN, schedule)                    \
  namespace gpk {                                                                                              \
  using name##_t = Gemm90<In, Out, MajorA, MajorB, M, N, K, ClusterM, ClusterN, schedule>;                     \
  extern Entry const entry_##name;                                                                             \
  Entry const entry_##name = {#name, name##_t::traits, name##_t::run, schedule::workspace<name##_t::Kernel>};  \
  }
