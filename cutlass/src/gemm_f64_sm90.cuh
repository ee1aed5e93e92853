// gemm_f64_sm90.cuh: float64 products for Hopper by DMMA, from a ring of tiles in shared memory that TMA fills.
//
// A step is 16 of k: a line of it is 128 bytes, as wide as TMA's swizzle. Warps read it without bank conflicts for
// both layouts of an operand: the lines and k of the instruction are permuted to fit, and the permutation shows only
// in where D's elements are stored. The instruction's left operand has 16 lines, its right one 8; two instructions
// use 16 lines of the right operand. With t the thread's index within its four and g its group of eight,
//
//  k of place t + 4 i     8 (i / 2) + 2 t + i % 2
//  left lines g, g + 8    2 g, 2 g + 1
//  right lines g          k contiguous: g or, if g is odd, 8 + (g + 3) % 8, and of the
//                         second instruction 1 more;  else g, 8 more
//
// Loads are of 16 bytes where adjacent elements are adjacent in the instruction's registers: for a left operand whose
// k is not contiguous, and for a right one whose k is. So the operands are swapped if both matrices are row-major.
// Other loads are of 8 bytes, and if both operands have k contiguous
//
//  k of place t + 4 i     t + 4 i
//  left lines g, g + 8    2 (g % 4) + g / 4, 8 more
//  right lines g          2 g, and of the second instruction 1 more
//
// One producer warp fills the ring. The others hold a step's left lines and a block of its right ones in registers,
// and load the next ones while they multiply. They form groups that process steps in turn, and each CTA of a cluster
// computes a part of k. The sums are exchanged through shared memory and added in the order of the CTAs, then of the
// groups, so that the result does not depend on timing.
#pragma once
#include "dependent.cuh"
#include "sm90.cuh"

namespace gpk {
namespace dmma {
namespace {

using namespace sm90;

constexpr int step = 16;
constexpr int line = step * static_cast<int>(sizeof(double));  // bytes per line
constexpr int max_shared = 227 << 10;

struct Grid {
  int m, n, k;
  int down, across;  // tiles per member
  int tiles;         // tiles of all members
  bool batch_l, batch_r;
  bool pairs;  // D allows stores of 16 bytes
  double* d;
  int64_t ldd, stride_d;
  double alpha;
};

__device__ inline double2 load(uint32_t at) {
  double2 v;
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(v.x), "=d"(v.y) : "r"(at));
  return v;
}

// Loads from the shared memory of a CTA of the cluster.
__device__ inline double2 load_of(uint32_t at, int cta) {
  double2 v;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(at), "r"(cta));
  asm volatile("ld.shared::cluster.v2.f64 {%0, %1}, [%2];" : "=d"(v.x), "=d"(v.y) : "r"(at));
  return v;
}

__device__ inline double load_one(uint32_t at) {
  double x;
  asm volatile("ld.shared.f64 %0, [%1];" : "=d"(x) : "r"(at));
  return x;
}

// c += a b for 16 x 8 x 16.
__device__ inline void multiply_add(double (&c)[4], double const (&a)[8], double const (&b)[4]) {
  asm("mma.sync.aligned.m16n8k16.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7,%8,%9,%10,%11}, "
      "{%12,%13,%14,%15}, {%0,%1,%2,%3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(a[4]), "d"(a[5]), "d"(a[6]), "d"(a[7]), "d"(b[0]), "d"(b[1]),
        "d"(b[2]), "d"(b[3]));
}

__device__ inline void cluster_sync() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// An operand's tile: `Lines` rows (of B, columns) of one step. With k contiguous it is one TMA box; otherwise a box
// holds 16 lines.
template <bool KMajor, int Lines>
struct Tile {
  static constexpr int bytes = Lines * line;
  static constexpr int box_lines = KMajor ? Lines : 16;
  static constexpr int boxes = Lines / box_lines, box_bytes = box_lines * line;

  __device__ static void copy(uint32_t to, CUtensorMap const* map, int box, int k, int at, int member,
                              uint32_t barrier) {
    to += box * box_bytes, at += box * box_lines;
    tma_load(to, map, KMajor ? k : at, KMajor ? at : k, member, barrier);
  }
};

// The parameters of a kernel: M x N of D per CTA, WarpL x WarpR of it per warp. With nine warps a thread can have 168
// registers.
template <bool RowA, bool RowB, int M, int N, int WarpL, int WarpR, int Groups, int Parts, int Stages>
struct Shape {
  static constexpr bool swap = RowA && RowB;
  static constexpr bool left_k = swap ? !RowB : RowA, right_k = swap ? RowA : !RowB;  // whether k is contiguous
  static constexpr int left = swap ? N : M, right = swap ? M : N;
  using Left = Tile<left_k, left>;
  using Right = Tile<right_k, right>;
  static_assert(right_k || !left_k, "");
  static constexpr int warps_l = left / WarpL, warps = warps_l * (right / WarpR);  // warps per group
  static constexpr int groups = Groups, parts = Parts, kStages = Stages;
  static constexpr int team = 32 * warps * Groups, threads = team + 32;  // the consumer threads; with the producer warp
  static constexpr int stage = Left::bytes + Right::bytes;
  static constexpr bool shares = Groups * Parts > 1;
  static constexpr int pitch = N + 2;  // pitch of a sum in shared memory
  static constexpr int sum = shares ? M * pitch * static_cast<int>(sizeof(double)) : 0;
  static constexpr int shared = 1024 + Stages * stage + Groups * sum;  // 1024 for alignment
  static constexpr int blocks_l = WarpL / 16, blocks_r = WarpR / 16;
  static constexpr int tile_m = M, tile_n = N, warp_l = WarpL, warp_r = WarpR;
  static_assert(shared <= max_shared && (Stages & (Stages - 1)) == 0 && Stages > Groups, "");
};

template <class K>
__global__ void __launch_bounds__(K::threads, 1)
    multiply(__grid_constant__ CUtensorMap const map_l, __grid_constant__ CUtensorMap const map_r,
             __grid_constant__ Grid const p) {
  extern __shared__ char memory[];
  __shared__ uint64_t barriers[2 * K::kStages];
  uint32_t const ring = (shared_address(memory) + 1023) & ~1023u;
  Barriers const full_barriers{shared_address(barriers)}, empty_barriers{full_barriers[K::kStages]};
  int const lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  int const warp = threadIdx.x / 32 % K::warps, group = threadIdx.x / 32 / K::warps;
  int const left = warp % K::warps_l * K::warp_l, right = warp / K::warps_l * K::warp_r;  // the warp's part of the tile

  if (threadIdx.x == K::team) {
    prefetch_tensormap(&map_l);
    prefetch_tensormap(&map_r);
    for (int i = 0; i < K::kStages; ++i) {
      mbarrier_init(full_barriers[i], 1);
      mbarrier_init(empty_barriers[i], K::warps);
    }
    mbarrier_init_fence();
  }
  begin();
  if constexpr (K::parts > 1) {
    cluster_sync();
  } else {
    __syncthreads();
  }

  // This CTA's tiles, and its steps of each.
  int const first = blockIdx.x / K::parts, stride = gridDim.x / K::parts, part = blockIdx.x % K::parts;
  int const steps = (p.k - 1) / step + 1;
  int const from = static_cast<int>(static_cast<int64_t>(steps) * part / K::parts);
  int const mine = static_cast<int>(static_cast<int64_t>(steps) * (part + 1) / K::parts) - from;

  // Tiles in an order in which those that are computed at the same time share rows and columns.
  struct Place {
    int m, n, member;
  };
  auto const place = [&](int tile) {
    constexpr int rows = 8;
    int const each = p.down * p.across;
    int const member = tile / each, i = tile - member * each;
    int const top = i / (rows * p.across) * rows, in = i - top * p.across, high = min(rows, p.down - top);
    return Place{(top + in % high) * K::tile_m, in / high * K::tile_n, member};
  };

  // The producer: one thread of the last warp fills the ring. Steps are counted modulo 2^32.
  if (threadIdx.x >= K::team) {
    uint32_t now = 0;
    auto const fill = [&](Place const& at, int s, int end) {
      if (lane == 0) {
        for (uint32_t n = now; s < end; ++s, ++n) {
          int const slot = n % K::kStages, k = (from + s) * step;
          // A new barrier is one phase behind: the first round does not wait.
          mbarrier_wait(empty_barriers[slot], ~(n / K::kStages) & 1);
          uint32_t const barrier = full_barriers[slot], to = ring + slot * K::stage;
          mbarrier_arrive_expect_tx(barrier, K::stage);
#pragma unroll
          for (int i = 0; i < K::Left::boxes; ++i) {
            K::Left::copy(to, &map_l, i, k, K::swap ? at.n : at.m, p.batch_l ? at.member : 0, barrier);
          }
#pragma unroll
          for (int i = 0; i < K::Right::boxes; ++i) {
            K::Right::copy(to + K::Left::bytes, &map_r, i, k, K::swap ? at.m : at.n, p.batch_r ? at.member : 0, barrier);
          }
        }
      }
      __syncwarp();
    };
    for (int tile = first; tile < p.tiles; tile += stride) {
      // Prefetches during the end of the previous tile as far as the ring allows, then synchronizes the cluster for
      // the sums.
      Place const at = place(tile);
      int const early = min(mine, K::kStages);
      fill(at, 0, early), now += early;
      if (K::parts > 1 && tile != first) cluster_sync(), cluster_sync();
      fill(at, early, mine), now += mine - early;
    }
    if constexpr (K::parts > 1) cluster_sync(), cluster_sync();
    return;
  }

  // This thread's read addresses in a stage: by half if k is contiguous, otherwise by place; if k is contiguous in
  // both operands, at place t.
  uint32_t at_l[2], at_r[2][2];
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    int const r = 2 * (g % 4) + g / 4, k = 2 * t + e;
    at_l[e] = left * line + (K::left_k ? r * line + ((t / 2 ^ r) << 4) + t % 2 * 8 : k * line + ((g ^ k) << 4));
#pragma unroll
    for (int y = 0; y < 2; ++y) {
      int const q = (K::left_k ? 2 * g : g % 2 == 0 ? g : 8 + (g + 3) % 8) + y;
      at_r[y][e] = K::Left::bytes + right * line +
                   (K::left_k    ? q * line + ((t / 2 ^ (q & 7)) << 4) + t % 2 * 8
                    : K::right_k ? q * line + (((t + 4 * e) ^ (q & 7)) << 4)
                                 : k * line + (((g / 2 + 4 * y) ^ k) << 4) + g % 2 * 8);
    }
  }
#pragma unroll
  for (int e = 0; e < 2; ++e) {  // the lane's part of the address is computed once, not for each load
    at_l[e] = __shfl_sync(~0u, at_l[e], lane);
    at_r[0][e] = __shfl_sync(~0u, at_r[0][e], lane), at_r[1][e] = __shfl_sync(~0u, at_r[1][e], lane);
  }
  // The lines of a block are loaded in four parts.
  auto const load_left = [&](double (&to)[8], uint32_t stage, int i, int part) {
    int const h = part / 2, e = part % 2;
    if constexpr (K::left_k) {
      uint32_t const at = (stage + at_l[0]) ^ part << 5;
      to[2 * part] = load_one(at + 16 * i * line), to[2 * part + 1] = load_one(at + (16 * i + 8) * line);
    } else {
      double2 const v = load(stage + at_l[e] + (16 * i + 8 * h) * line);
      to[4 * h + 2 * e] = v.x, to[4 * h + 2 * e + 1] = v.y;
    }
  };
  auto const load_right = [&](double (&to)[2][4], uint32_t stage, int j, int part) {
    int const h = part / 2, e = part % 2;
    if constexpr (K::left_k) {
      to[0][part] = load_one(((stage + at_r[0][0]) ^ part << 5) + 16 * j * line);
      to[1][part] = load_one(((stage + at_r[1][0]) ^ part << 5) + 16 * j * line);
    } else if constexpr (K::right_k) {  // e: the instruction
      double2 const v = load(stage + at_r[e][h] + 16 * j * line);
      to[e][2 * h] = v.x, to[e][2 * h + 1] = v.y;
    } else {
      to[0][part] = load_one(stage + at_r[0][e] + (16 * j + 8 * h) * line);
      to[1][part] = load_one(stage + at_r[1][e] + (16 * j + 8 * h) * line);
    }
  };

  uint32_t q = 0;  // steps before this tile
  for (int tile = first; tile < p.tiles; tile += stride, q += mine) {
    double c[K::blocks_l][K::blocks_r][2][4] = {};
    double lefts[2][K::blocks_l][8], rights[2][2][4];  // of this step and the next; of this block and the next
    auto const stage_of = [&](uint32_t now) { return ring + now % K::kStages * K::stage; };
    auto const await_step = [&](uint32_t now) { mbarrier_wait(full_barriers[now % K::kStages], now / K::kStages & 1); };
    // Multiplies a step. Meanwhile the next block of right lines is loaded, and during the last block the next step's
    // left lines; the loads after the last step are not used.
    auto const multiply_step = [&](int odd, int s) {
      uint32_t const now = q + s, stage = stage_of(now);
      uint32_t next = stage;
      static_assert(K::blocks_r % 2 == 0, "");
#pragma unroll
      for (int j = 0; j < K::blocks_r; ++j) {
        bool const last = j + 1 == K::blocks_r;
        if (last && s + K::groups < mine) {
          next = stage_of(now + K::groups);
          await_step(now + K::groups);
        }
        constexpr int products = 2 * K::blocks_l;
#pragma unroll
        for (int x = 0; x < products; ++x) {
#pragma unroll
          for (int l = 4 * x / products; l < 4 * (x + 1) / products; ++l) {
            load_right(rights[(j + 1) % 2], last ? next : stage, last ? 0 : j + 1, l);
          }
          if (last) {
#pragma unroll
            for (int l = 2 * x; l < 2 * x + 2; ++l) load_left(lefts[1 - odd][l / 4], next, l / 4, l % 4);
          }
          multiply_add(c[x % K::blocks_l][j][x / K::blocks_l], lefts[odd][x % K::blocks_l], rights[j % 2][x / K::blocks_l]);
        }
      }
      __syncwarp();
      if (lane == 0) mbarrier_arrive(empty_barriers[now % K::kStages]);
    };
    if (group < mine) {
      await_step(q + group);
#pragma unroll
      for (int l = 0; l < 4; ++l) {
        load_right(rights[0], stage_of(q + group), 0, l);
#pragma unroll
        for (int i = 0; i < K::blocks_l; ++i) load_left(lefts[0][i], stage_of(q + group), i, l);
      }
    }
#pragma unroll 1
    for (int s = group; s < mine; s += 2 * K::groups) {
      multiply_step(0, s);
      if (s + K::groups < mine) multiply_step(1, s + K::groups);
    }

    // Stores pairs of neighbours in a row of D.
    Place const to = place(tile);
    auto const each_pair = [&](auto const& f) {
#pragma unroll
      for (int i = 0; i < K::blocks_l; ++i) {
#pragma unroll
        for (int j = 0; j < K::blocks_r; ++j) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            auto const& x = c[i][j];
            int const l = left + 16 * i, r = right + 16 * j + (K::right_k && !K::left_k ? e % 2 == 0 ? 2 * t : 8 + (2 * t + 4) % 8 : 0);
            if constexpr (K::swap) {  // e / 2: the instruction
              f(r + e / 2, l + 2 * g, x[e / 2][e % 2], x[e / 2][e % 2 + 2]);
            } else if constexpr (K::left_k) {
              f(l + 2 * (g % 4) + g / 4 + 8 * (e / 2), r + 4 * t + 2 * (e % 2), x[0][e], x[1][e]);
            } else if constexpr (K::right_k) {
              f(l + 2 * g + e / 2, r, x[0][e], x[1][e]);
            } else {  // e % 2: the instruction
              f(l + 2 * g + e / 2, r + 8 * (e % 2) + 2 * t, x[e % 2][e / 2 * 2], x[e % 2][e / 2 * 2 + 1]);
            }
          }
        }
      }
    };
    auto const store = [&](int r, int n, double x, double y) {
      if (to.m + r >= p.m || to.n + n >= p.n) return;
      double* const d = p.d + to.member * p.stride_d + static_cast<int64_t>(to.m + r) * p.ldd + to.n + n;
      x *= p.alpha, y *= p.alpha;
      if (p.pairs && to.n + n + 1 < p.n) {
        *reinterpret_cast<double2*>(d) = {x, y};
      } else {
        d[0] = x;
        if (to.n + n + 1 < p.n) d[1] = y;
      }
    };
    if constexpr (!K::shares) {
      each_pair(store);
    } else {
      uint32_t const sums = ring + K::kStages * K::stage;
      each_pair([&](int r, int n, double x, double y) {
        uint32_t const at = sums + group * K::sum + (r * K::pitch + n) * static_cast<int>(sizeof(double));
        asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(at), "d"(x), "d"(y) : "memory");
      });
      auto const sync = [] {
        if constexpr (K::parts > 1) {
          cluster_sync();
        } else {
          named_barrier_sync(1, K::team);
        }
      };
      sync();
      constexpr int rows = K::tile_m / K::parts, pairs = K::tile_n / 2;
      for (int i = threadIdx.x; i < rows * pairs; i += K::team) {
        int const r = part * rows + i / pairs, n = i % pairs * 2;
        double x = 0, y = 0;
#pragma unroll
        for (int s = 0; s < K::parts * K::groups; ++s) {
          uint32_t const at = sums + s % K::groups * K::sum + (r * K::pitch + n) * static_cast<int>(sizeof(double));
          double2 const v = K::parts > 1 ? load_of(at, s / K::groups) : load(at);
          x = s == 0 ? v.x : x + v.x, y = s == 0 ? v.y : y + v.y;
        }
        store(r, n, x, y);
      }
      sync();
    }
  }
}

template <bool RowA, bool RowB, class K>
int run(Problem const& p) {
  static uint64_t allowed = 0;
  if (p.alpha_im != 0) return GPK_ERR_ARGUMENT;
  void const* const kernel = reinterpret_cast<void const*>(multiply<K>);
  if (int const e = allow_shared(kernel, K::shared, p.device, &allowed)) return e;

  CUtensorMap a, b;
  int const box_a = K::swap ? K::Right::box_lines : K::Left::box_lines;
  int const box_b = K::swap ? K::Left::box_lines : K::Right::box_lines;
  constexpr auto type = CU_TENSOR_MAP_DATA_TYPE_FLOAT64;
  constexpr int size = sizeof(double);
  if (!encode_operand(&a, type, size, p.a, RowA, p.m, p.k, p.lda, p.stride_a, p.batch, box_a, step) ||
      !encode_operand(&b, type, size, p.b, !RowB, p.n, p.k, p.ldb, p.stride_b, p.batch, box_b, step)) {
    return GPK_ERR_KERNEL;
  }
  int const down = (p.m - 1) / K::tile_m + 1, across = (p.n - 1) / K::tile_n + 1;
  int64_t const tiles = static_cast<int64_t>(down) * across * p.batch;
  if (tiles > INT32_MAX - (1 << 16)) return GPK_ERR_ARGUMENT;
  bool const many_a = p.stride_a != 0, many_b = p.stride_b != 0;
  uint64_t const align = reinterpret_cast<uint64_t>(p.d) | 8 * p.ldd | 8 * p.stride_d;
  Grid grid = {p.m, p.n, p.k, down, across, static_cast<int>(tiles), K::swap ? many_b : many_a,
               K::swap ? many_a : many_b, align % 16 == 0, static_cast<double*>(p.d), p.ldd, p.stride_d, p.alpha_re};
  int const sms = sm_count(p.device), room = sms > K::parts ? sms / K::parts : 1;
  int const ctas = K::parts * (grid.tiles < room ? grid.tiles : room);
  void* params[] = {K::swap ? &b : &a, K::swap ? &a : &b, &grid};
  return launch(kernel, dim3(ctas), dim3(K::threads), K::shared, p.stream, params, K::parts, 1, true);
}

template <bool RowA, bool RowB>
constexpr Traits traits = {8, 8, 8, RowA, RowB, 16, 16, 8, 1, false};

}  // namespace
}  // namespace dmma
}  // namespace gpk

// One kernel of the manifest. A small tile is shared by two groups of warps.
#define GPK_DMMA90(name, row_a, row_b, M, N, WarpL, WarpR, Parts, Stages)                                       \
  namespace gpk {                                                                                              \
  using name##_t = dmma::Shape<row_a, row_b, M, N, WarpL, WarpR, (M * N) / (WarpL * WarpR) < 8 ? 2 : 1, Parts, \
                               Stages>;                                                                        \
  extern Entry const entry_##name;                                                                             \
  Entry const entry_##name = {#name, dmma::traits<row_a, row_b>, dmma::run<row_a, row_b, name##_t>};           \
  }
