// gemm_f64_sm90.cuh: float64 products for Hopper by DMMA, out of a ring of tiles
// in shared memory that TMA fills.
//
// A step is 16 of k: a line of it is 128 bytes, as wide as TMA's swizzle. Warps
// read 16 bytes at a time, without bank conflicts, whichever way an operand
// lies: the instruction's lines and places of k are numbered to fit, and only
// where D's elements go tells. The instruction's left operand has 16 lines, its
// right one 8; two of them take 16 lines of the right. With t and g its thread of
// four and group of eight, and in half h of a step,
//
//   k of place t + 4 i     8 h + 2 t + i
//   left lines g, g + 8    k contiguous: g / 2 + 4 (g % 2), 8 more;  else 2 g, 2 g + 1
//   right lines g          k contiguous: g or, if g is odd, 8 + (g + 3) % 8;  else 2 g
//                          and of the second instruction 1 more
//
// Two elements of 16 bytes are neighbours in the instruction's registers where the
// left operand does not have k contiguous and the right one has; others are read
// one by one. So the operands are swapped where both matrices are row-major.
//
// While one half of a step is multiplied, the next one is loaded. Warps are in
// groups that take steps in turn, and the CTAs of a cluster take a part of k
// each; the sums meet in shared memory and are added in the order of the CTAs,
// then of the groups, so that a result does not depend on time.
#pragma once
#include "dependent.cuh"
#include "tma.cuh"

namespace gpk {
namespace dmma {
namespace {

using namespace tma;

constexpr int step = 16;
constexpr int line = step * static_cast<int>(sizeof(double));  // bytes
constexpr int most_shared = 227 << 10;

struct Grid {
  int m, n, k;
  int down, across;  // tiles of a member
  int tiles;         // of all members
  bool batch_l, batch_r;
  bool pairs;  // D takes stores of 16 bytes
  double* d;
  int64_t ldd, stride_d;
  double alpha;
};

__device__ inline double2 load(uint32_t at) {
  double2 v;
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(v.x), "=d"(v.y) : "r"(at));
  return v;
}

// Not half of a vector: those would have to be moved apart, for every instruction.
__device__ inline double load_one(uint32_t at) {
  double x;
  asm volatile("ld.volatile.shared.f64 %0, [%1];" : "=d"(x) : "r"(at));
  return x;
}

// c += a b, 16 x 8 x 8.
__device__ inline void multiply_add(double (&c)[4], double const (&a)[4], double const (&b)[2]) {
  asm volatile("mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
               : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
               : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
}

__device__ inline void meet_cluster() {
  asm volatile("barrier.cluster.arrive.release.aligned;\n\tbarrier.cluster.wait.acquire.aligned;" ::: "memory");
}

// An operand's tile of `Lines` rows (columns, of B) and one step. With k
// contiguous it is one box of TMA's; otherwise a box holds 16 lines.
template <bool KMajor, int Lines>
struct Tile {
  static constexpr int bytes = Lines * line;
  static constexpr int box_lines = KMajor ? Lines : 16;
  static constexpr int boxes = Lines / box_lines, box_bytes = box_lines * line;

  __device__ static void copy(uint32_t to, CUtensorMap const* map, int box, int k, int at, int member,
                              uint32_t barrier) {
    to += box * box_bytes, at += box * box_lines;
    copy_box(to, map, KMajor ? k : at, KMajor ? at : k, member, barrier);
  }
};

// What a kernel is: M x N of D a CTA, WarpL x WarpR of it a warp.
template <bool RowA, bool RowB, int M, int N, int WarpL, int WarpR, int Groups, int Parts, int Stages>
struct Shape {
  static constexpr bool swap = RowA && RowB;
  static constexpr bool left_k = swap ? !RowB : RowA, right_k = swap ? RowA : !RowB;  // k contiguous
  static constexpr int left = swap ? N : M, right = swap ? M : N;
  using Left = Tile<left_k, left>;
  using Right = Tile<right_k, right>;
  static constexpr int warps_l = left / WarpL, warps = warps_l * (right / WarpR);  // of a group
  static constexpr int groups = Groups, parts = Parts, stages = Stages;
  static constexpr int threads = 32 * warps * Groups;
  static constexpr int stage = Left::bytes + Right::bytes;
  static constexpr int boxes = Left::boxes + Right::boxes, teams = threads / 32;  // warp w of all copies boxes w, w + teams ...
  static constexpr int fillers = boxes < teams ? boxes : teams;
  static constexpr bool shares = Groups * Parts > 1;
  static constexpr int pitch = N + 2;  // of a sum in shared memory
  static constexpr int sum = shares ? M * pitch * static_cast<int>(sizeof(double)) : 0;
  static constexpr int shared = 1024 + Stages * stage + Groups * sum;  // it begins anywhere
  static constexpr int blocks_l = WarpL / 16, blocks_r = WarpR / 16;
  static constexpr int tile_m = M, tile_n = N, warp_l = WarpL, warp_r = WarpR;
  static_assert(shared <= most_shared && (Stages & (Stages - 1)) == 0 && Stages > 2 * Groups, "");
};

template <class K>
__global__ void __launch_bounds__(K::threads, 1)
    multiply(__grid_constant__ CUtensorMap const map_l, __grid_constant__ CUtensorMap const map_r,
             __grid_constant__ Grid const p) {
  extern __shared__ char memory[];
  __shared__ uint64_t barriers[2 * K::stages];
  uint32_t const ring = (shared_address(memory) + 1023) & ~1023u;
  uint32_t const full = shared_address(barriers), empty = full + 8 * K::stages;
  int const lane = threadIdx.x % 32, g = lane / 4, t = lane % 4;
  int const warp = threadIdx.x / 32 % K::warps, group = threadIdx.x / 32 / K::warps;
  int const left = warp % K::warps_l * K::warp_l, right = warp / K::warps_l * K::warp_r;  // the warp's part

  if (threadIdx.x == 0) {
    for (int i = 0; i < K::stages; ++i) {
      make_barrier(full + 8 * i, K::fillers);
      make_barrier(empty + 8 * i, K::warps);
    }
    barriers_made();
  }
  begin();
  __syncthreads();

  // This CTA's tiles and its steps of each.
  int const first = blockIdx.x / K::parts, stride = gridDim.x / K::parts, part = blockIdx.x % K::parts;
  int const steps = (p.k - 1) / step + 1;
  int const from = static_cast<int>(static_cast<int64_t>(steps) * part / K::parts);
  int const mine = static_cast<int>(static_cast<int64_t>(steps) * (part + 1) / K::parts) - from;
  int const tiles = first < p.tiles ? (p.tiles - 1 - first) / stride + 1 : 0;

  // Tiles in an order in which those of one time share rows and columns.
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

  // All warps fill the ring, ahead of what they multiply and over the ends of
  // tiles: to issue a copy takes long. Steps are counted modulo 2^32.
  uint32_t filled = 0;
  int fill_step = 0, fill_tile = mine > 0 ? 0 : tiles;
  Place fill_at = place(min(first, p.tiles - 1));
  auto const fill_to = [&](uint32_t end) {
    int const team = threadIdx.x / 32;
    if (lane == 0 && team < K::fillers) {
      for (; static_cast<int32_t>(end - filled) > 0 && fill_tile < tiles; ++filled) {
        int const slot = filled % K::stages;
        // A new barrier is one phase behind: the first turn does not wait.
        await(empty + 8 * slot, ~(filled / K::stages) & 1);
        uint32_t const barrier = full + 8 * slot, to = ring + slot * K::stage;
        int const k = (from + fill_step) * step;
        int bytes = 0;
#pragma unroll
        for (int i = 0; i < K::boxes; i += K::teams) {
          if (i + team < K::boxes) bytes += i + team < K::Left::boxes ? K::Left::box_bytes : K::Right::box_bytes;
        }
        expect(barrier, bytes);
#pragma unroll
        for (int i = 0; i < K::boxes; i += K::teams) {
          int const box = i + team;
          if (box < K::Left::boxes) {
            K::Left::copy(to, &map_l, box, k, K::swap ? fill_at.n : fill_at.m, p.batch_l ? fill_at.member : 0, barrier);
          } else if (box < K::boxes) {
            K::Right::copy(to + K::Left::bytes, &map_r, box - K::Left::boxes, k, K::swap ? fill_at.m : fill_at.n,
                           p.batch_r ? fill_at.member : 0, barrier);
          }
        }
        if (++fill_step == mine) {
          fill_step = 0;
          fill_at = place(min(first + ++fill_tile * stride, p.tiles - 1));
        }
      }
    }
    __syncwarp();
  };
  fill_to(K::stages);

  // Where this thread reads in a stage: of k contiguous by half, else by place.
  uint32_t at_l[2], at_r[2][2];
#pragma unroll
  for (int e = 0; e < 2; ++e) {
    int const r = g / 2 + 4 * (g % 2), k = 2 * t + e;
    at_l[e] = left * line + (K::left_k ? r * line + (((t + 4 * e) ^ r) << 4) : k * line + ((g ^ k) << 4));
#pragma unroll
    for (int y = 0; y < 2; ++y) {
      int const q = (g % 2 == 0 ? g : 8 + (g + 3) % 8) + y;
      at_r[y][e] = K::Left::bytes + right * line +
                   (K::right_k ? q * line + (((t + 4 * e) ^ (q & 7)) << 4) : k * line + ((g ^ k) << 4));
    }
  }
  auto const load_left = [&](double (&to)[4], uint32_t stage, int h, int i) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if constexpr (K::left_k) {  // e: the upper or the lower eight lines
        uint32_t const at = stage + at_l[h] + (16 * i + 8 * e) * line;
        to[e] = load_one(at), to[2 + e] = load_one(at + 8);
      } else {
        double2 const v = load(stage + at_l[e] + (16 * i + 8 * h) * line);
        to[2 * e] = v.x, to[2 * e + 1] = v.y;
      }
    }
  };
  auto const load_right = [&](double (&to)[2][2], uint32_t stage, int h, int j) {
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      if constexpr (K::right_k) {  // e: the instruction
        double2 const v = load(stage + at_r[e][h] + 16 * j * line);
        to[e][0] = v.x, to[e][1] = v.y;
      } else {
        uint32_t const at = stage + at_r[0][e] + (16 * j + 8 * h) * line;
        to[0][e] = load_one(at), to[1][e] = load_one(at + 8);
      }
    }
  };

  constexpr uint32_t ahead = K::stages - 2 * K::groups + 1;  // of slots that other warps may still read
  uint32_t q = 0;                                            // steps before this tile
  for (int tile = first; tile < p.tiles; tile += stride, q += mine) {
    double c[K::blocks_l][K::blocks_r][2][4] = {};
    double lefts[2][K::blocks_l][4], rights[2][2][2];  // of this half and the next; of this block and the next

    // Multiplies half h of a stage, while the next half's left lines and one block
    // more of the right ones are loaded.
    auto const multiply_half = [&](uint32_t stage, int h, uint32_t next, bool more) {
#pragma unroll
      for (int j = 0; j < K::blocks_r; ++j) {
        if (j + 1 < K::blocks_r) {
          load_right(rights[(j + 1) % 2], stage, h, j + 1);
        } else if (more) {
          load_right(rights[0], next, 1 - h, 0);
        }
        if (more && j < K::blocks_l) load_left(lefts[1 - h][j], next, 1 - h, j);
#pragma unroll
        for (int i = 0; i < K::blocks_l; ++i) {
          multiply_add(c[i][j][0], lefts[h][i], rights[j % 2][0]);
          multiply_add(c[i][j][1], lefts[h][i], rights[j % 2][1]);
        }
      }
    };
    static_assert(K::blocks_l <= K::blocks_r && K::blocks_r % 2 == 0, "");
    auto const stage_of = [&](uint32_t now) { return ring + now % K::stages * K::stage; };
    auto const await_step = [&](uint32_t now) { await(full + 8 * (now % K::stages), now / K::stages & 1); };
    if (group < mine) {
      uint32_t const stage = stage_of(q + group);
      await_step(q + group);
#pragma unroll
      for (int i = 0; i < K::blocks_l; ++i) load_left(lefts[0][i], stage, 0, i);
      load_right(rights[0], stage, 0, 0);
    }
    for (int s = group; s < mine; s += K::groups) {
      uint32_t const now = q + s, stage = stage_of(now), next = stage_of(now + K::groups);
      fill_to(now + ahead);
      multiply_half(stage, 0, stage, true);
      bool const more = s + K::groups < mine;
      if (more) await_step(now + K::groups);
      multiply_half(stage, 1, next, more);
      __syncwarp();
      if (lane == 0) arrive(empty + 8 * (now % K::stages));
    }

    if constexpr (K::groups > 1) fill_to(q + mine + ahead);  // a group may have had no step

    // Pairs of neighbours in a row of D.
    Place const to = place(tile);
    auto const each_pair = [&](auto const& f) {
#pragma unroll
      for (int i = 0; i < K::blocks_l; ++i) {
#pragma unroll
        for (int j = 0; j < K::blocks_r; ++j) {
#pragma unroll
          for (int e = 0; e < 4; ++e) {
            auto const& x = c[i][j];
            int const r = right + 16 * j + (K::right_k ? e % 2 == 0 ? 2 * t : 8 + (2 * t + 4) % 8 : 4 * t + 2 * (e % 2));
            if constexpr (K::swap) {  // e / 2: the instruction
              f(r + e / 2, left + 16 * i + 2 * g, x[e / 2][e % 2], x[e / 2][e % 2 + 2]);
            } else {
              int const l = K::left_k ? g / 2 + 4 * (g % 2) + 8 * (e / 2) : 2 * g + e / 2;
              f(left + 16 * i + l, r, x[0][e], x[1][e]);
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
      uint32_t const sums = ring + K::stages * K::stage;
      each_pair([&](int r, int n, double x, double y) {
        uint32_t const at = sums + group * K::sum + (r * K::pitch + n) * static_cast<int>(sizeof(double));
        asm volatile("st.shared.v2.f64 [%0], {%1, %2};" ::"r"(at), "d"(x), "d"(y) : "memory");
      });
      auto const meet = [] {
        if constexpr (K::parts > 1) {
          meet_cluster();
        } else {
          __syncthreads();
        }
      };
      meet();
      constexpr int rows = K::tile_m / K::parts, pairs = K::tile_n / 2;
      for (int i = threadIdx.x; i < rows * pairs; i += K::threads) {
        int const r = part * rows + i / pairs, n = i % pairs * 2;
        double x = 0, y = 0;
#pragma unroll
        for (int s = 0; s < K::parts * K::groups; ++s) {
          uint32_t at = sums + s % K::groups * K::sum + (r * K::pitch + n) * static_cast<int>(sizeof(double));
          asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(at), "r"(s / K::groups));
          double2 v;
          asm volatile("ld.shared::cluster.v2.f64 {%0, %1}, [%2];" : "=d"(v.x), "=d"(v.y) : "r"(at));
          x = s == 0 ? v.x : x + v.x, y = s == 0 ? v.y : y + v.y;
        }
        store(r, n, x, y);
      }
      meet();
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
  if (!describe(&a, type, size, p.a, RowA, p.m, p.k, p.lda, p.stride_a, p.batch, box_a, step) ||
      !describe(&b, type, size, p.b, !RowB, p.n, p.k, p.ldb, p.stride_b, p.batch, box_b, step)) {
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

// One kernel of the manifest. Two groups of warps share a small tile.
#define GPK_DMMA90(name, row_a, row_b, M, N, WarpL, WarpR, Parts, Stages)                                       \
  namespace gpk {                                                                                              \
  using name##_t = dmma::Shape<row_a, row_b, M, N, WarpL, WarpR, (M * N) / (WarpL * WarpR) < 8 ? 2 : 1, Parts, \
                               Stages>;                                                                        \
  extern Entry const entry_##name;                                                                             \
  Entry const entry_##name = {#name, dmma::traits<row_a, row_b>, dmma::run<row_a, row_b, name##_t>};           \
  }
