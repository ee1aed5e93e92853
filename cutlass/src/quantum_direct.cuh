// quantum_direct.cuh: the Gram matrix K of circuits of at most 16 wires that do not entangle them, for Hopper, stored
// from registers to K and to its mirror.
//
// Groups of wires and their planes are those of quantum_closed.cuh, and the results have the same bits. But samples
// are permuted within groups of sixteen, so that a thread holds neighbouring entries of K, four of a line and two of
// a column. It stores them directly, 64 bytes of a line by neighbouring threads. No tile passes through shared memory
// before it is stored.
//
// Planes of rows are stored in the order in which wgmma reads them from registers, those of columns in the order in
// which it reads them from shared memory: one copy loads the planes of a tile. Two warpgroups compute 64 rows each of
// a tile, and while one stores the other multiplies. One warp requests tiles and loads them. Multiprocessors do not
// store equally fast, so the assignment of tiles is dynamic, and the sums for the report are integers.
#pragma once
#include <type_traits>

#include "dependent.cuh"
#include "quantum_closed.cuh"

namespace gpk {
namespace direct {
namespace {

using namespace sm90;

constexpr int lines = 64, workers = 2;          // rows per warpgroup, and the warpgroups that compute rows
constexpr int side = workers * lines, half = 64;  // rows and columns of a tile; columns that are computed together
constexpr int threads = 128 * (1 + workers);
constexpr int kStages = 2;

// The units of the integer sums.
constexpr float coarse = 0x1p-20f, fine = 0x1p-52f;

// Counters that follow the planes in the workspace.
struct Counters {
  unsigned next, done;                // tiles that were assigned, blocks that have ended
  unsigned long long sums[2][2], off;  // sums of entries and of their squares, coarse and fine
};

// n rounded up to whole tiles.
__host__ __device__ inline int64_t whole(int64_t n) { return (n + side - 1) / side * side; }

// Bytes of the planes of n rows or columns.
inline int64_t planes_bytes(int64_t n, int groups) { return 64 * groups * whole(n); }

// A plane of a tile's columns: 128 lines of 64 bytes for each two groups, in TMA's swizzle.
template <int Groups>
struct Columns {
  static constexpr int line = 64, panel = side * line, plane = Groups / 2 * panel;
  // The offset of 16-byte piece `piece` of a line.
  __device__ static int place(int at, int piece) { return piece / 4 * panel + at * line + (piece % 4 ^ at / 2 % 4) * 16; }
};

// The position of a sample within its group of sixteen: a thread's rows l and l + 8 are neighbours.
__device__ inline int place_of(int sample) { return sample % 2 * 8 + sample / 2; }

// Four numbers of a group of planar wires: those with index 2 lane, 2 lane + 1, and the same plus eight. x, y: the
// point of this lane's wire, if there is one.
__device__ inline void planar_group(double x, double y, bool there, int lane, float (&v)[4]) {
  double a = 1, b = 0;
  if (there) {
    double const r = rsqrt(x * x + y * y);
    x *= r, y *= r;
    a = sqrt(0.5 + 0.5 * fabs(x)), b = 0.5 * y / a;  // cosine and sine of half the angle, or of half its complement
    if (x < 0) {
      double const c = a;
      a = b, b = c;
    }
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    double const c = __shfl_sync(~0u, a, k, 4), s = __shfl_sync(~0u, b, k, 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int const bit = k == 0 ? i % 2 : k == 3 ? i / 2 : lane >> (k - 1) & 1;
      v[i] = static_cast<float>(v[i] * (bit != 0 ? s : c));
    }
  }
}

// The same for a group of two other wires, those of lanes 0 and 1.
__device__ inline void full_group(float const (&point)[3], bool there, int lane, float (&v)[4]) {
  constexpr double half = 0.70710678118654752440;
  double c[4] = {1, 0, 0, 0};
  if (there) {
    for (int i = 0; i < 3; ++i) c[1 + i] = point[i];
    double const r = half * rsqrt(c[1] * c[1] + c[2] * c[2] + c[3] * c[3]);
    for (int i = 0; i < 3; ++i) c[1 + i] *= r;
    c[0] = half;
  }
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    double other[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) other[i] = __shfl_sync(~0u, c[i], k, 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int const j = k == 0 ? lane % 2 * 2 + i % 2 : lane / 2 + i / 2 * 2;
      v[i] = static_cast<float>(v[i] * (j == 0 ? other[0] : j == 1 ? other[1] : j == 2 ? other[2] : other[3]));
    }
  }
}

// The part of a sample's planes that a thread computes. Four threads compute a group's 16 numbers.
template <int Groups>
struct Piece {
  int64_t sample;
  int lane, group;  // at least Groups if the whole warp has no work
  bool planar, there;
  int wire;  // index among the wires of its kind
  __device__ Piece(int64_t at, int64_t n, closed::Groups of) {
    int64_t const all = direct::whole(n);
    sample = at / 4 % all;
    lane = static_cast<int>(at % 4), group = static_cast<int>(at / 4 / all);
    int const first = 2 * of.planar_steps();
    planar = group < first;
    wire = planar ? 4 * group + lane : 2 * (group - first) + lane % 2;
    there = sample < n && wire < (planar ? of.planar : of.full);
  }
  // Writes the numbers of its wire's point as planes: those of rows are [n / 16][2][groups][32 lanes] of 16 bytes
  // each, those of columns are tiles of 128 with two planes each. Zero beyond n.
  __device__ void write(float const (&point)[3], bool bad, int64_t n, uint32_t* rows, unsigned char* cols) const {
    float v[4] = {1, 1, 1, 1};
    if (planar) planar_group(point[0], point[1], there, lane, v);
    else full_group(point, there, lane, v);
    union {
      __half h[4];
      uint32_t word[2];
    } top, low;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float const x = bad ? __int_as_float(0x7fffffff) : sample < n ? v[i] * 128 : 0;
      top.h[i] = __float2half_rn(x);
      low.h[i] = __float2half_rn(x - __half2float(top.h[i]));
    }
    int const place = place_of(static_cast<int>(sample % 16));
    if (rows != nullptr) {
      uint32_t* const to = rows + ((sample / 16 * 2 * Groups + group) * 32 + 4 * (place % 8) + lane) * 4 + place / 8;
      to[0] = top.word[0], to[2] = top.word[1];
      to[128 * Groups] = low.word[0], to[128 * Groups + 2] = low.word[1];
    }
    if (cols != nullptr) {
      int const line = static_cast<int>(sample % side / 16 * 16) + place;
      unsigned char* const to = cols + sample / side * (2 * Columns<Groups>::plane) + 4 * lane;
      for (int k = 0; k < 2; ++k) {
        unsigned char* const piece = to + Columns<Groups>::place(line, 2 * group + k);
        *reinterpret_cast<uint32_t*>(piece) = top.word[k];
        *reinterpret_cast<uint32_t*>(piece + Columns<Groups>::plane) = low.word[k];
      }
    }
  }
};

// The planes of all samples from points: Bloch vectors divided by the square root of 2.
template <int Groups>
__global__ void __launch_bounds__(256)
    planes_kernel(float const* points, int64_t ld, int64_t n, closed::Groups of, uint32_t* rows, unsigned char* cols, Counters* counters) {
  griddepcontrol_wait();
  launch_dependents();
  int64_t const at = int64_t(blockIdx.x) * 256 + threadIdx.x;
  if (at == 0) *counters = Counters{};
  Piece<Groups> const p(at, n, of);
  if (p.group >= Groups) return;
  float point[3] = {};
  if (p.there) {
    float const* from = points + (p.planar ? 2 * p.wire : 2 * of.planar + 3 * p.wire) * ld + p.sample;
    for (int i = 0; i < (p.planar ? 2 : 3); ++i) point[i] = from[i * ld];
  }
  p.write(point, false, n, rows, cols);
}

// ---- from samples

// The size limit of code that is passed as a kernel parameter.
constexpr int64_t max_code = 3584;
struct Code {
  int coefs, fixed, angles, slots;  // their offsets
  alignas(8) unsigned char bytes[max_code];
};

struct Notes {
  unsigned long long* words;
  int found, all;
};

// The planes of all samples. If an element of a sample is not finite, its planes are NaN.
template <class X, int Groups>
__global__ void __launch_bounds__(256) samples_kernel(X const* x, int64_t n, int64_t features, int64_t row, int64_t col, closed::Groups of,
                                                      Code const __grid_constant__ code, uint32_t* rows, unsigned char* cols, Counters* counters, Notes notes) {
  griddepcontrol_wait();
  launch_dependents();
  int64_t const at = int64_t(blockIdx.x) * 256 + threadIdx.x;
  if (at == 0) *counters = Counters{};
  if (at < notes.all) notes.words[at] = at < notes.found ? ~0ull : 0;
  Piece<Groups> const p(at, n, of);
  if (p.group >= Groups) return;
  bool bad = false;
  if (p.sample < n)
    for (int64_t f = 4 * p.group + p.lane; f < features; f += 4 * Groups) bad |= !isfinite(x[p.sample * row + f * col]);
  float point[3] = {};
  if (p.there) {
    auto const words = [&](int at) { return reinterpret_cast<int const*>(code.bytes + at); };
    auto const numbers = [&](int at) { return reinterpret_cast<double const*>(code.bytes + at); };
    int const* slot = words(code.slots) + words(code.slots)[p.planar ? p.wire : of.planar + p.wire];
    auto const angle = [&](int a) { return angle_of(x, p.sample, row, col, words(code.angles) + words(code.angles)[a], numbers(code.coefs)); };
    bloch_vector(slot + 3, slot[2], numbers(code.fixed), angle, [&](int i, double v) {
      float const f = static_cast<float>(v);
      i == 0 ? point[0] = f : i == 1 ? point[1] = f : point[2] = f;
    });
  }
  p.write(point, bad, n, rows, cols);
}

#ifdef __CUDA_ARCH_FEAT_SM90_ALL
// a b^T: 64 lines, from registers, by 64 of 16 numbers.
using Instruction = cute::SM90::GMMA::MMA_64x64x16_F32F16F16_RS<cute::SM90::GMMA::Major::K, cute::SM90::GMMA::Major::K>;

// Planes are read repeatedly and are evicted from L2 last; K is evicted first.
__device__ __forceinline__ uint64_t leave_last() {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_last.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

__device__ __forceinline__ uint64_t leave_first() {
  uint64_t policy;
  asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  return policy;
}

__device__ __forceinline__ uint4 load(uint4 const* p, uint64_t policy) {
  uint4 v;
  asm volatile("ld.global.L1::no_allocate.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p), "l"(policy)
               : "memory");
  return v;
}

__device__ __forceinline__ void store(float* p, float a, float b, float c, float d, uint64_t policy) {
  asm volatile("st.global.L2::cache_hint.v4.f32 [%0], {%1, %2, %3, %4}, %5;" ::"l"(p), "f"(a), "f"(b), "f"(c), "f"(d), "l"(policy) : "memory");
}

__device__ __forceinline__ void store(float* p, float a, float b, uint64_t policy) {
  asm volatile("st.global.L2::cache_hint.v2.f32 [%0], {%1, %2}, %3;" ::"l"(p), "f"(a), "f"(b), "l"(policy) : "memory");
}

// A thread's sums over K. They are integers, so that their order does not matter. A sum of 32 squares loses what is
// below 2^-52: if all entries are 1e-7, the deviation is accurate to three digits.
struct Sums {
  long long of[2][2]{};
  // The largest deviation of the diagonal from 1, as bits: the bits of nonnegative numbers are ordered like the
  // numbers, and those of NaN are the largest.
  unsigned long long off = 0;
  __device__ void add(int which, float x) {
    if (!(x < 64)) note(__longlong_as_double(0x7ff8000000000000));  // records NaN: the sum of 32 entries is less than 64
    int const n = __float2int_rn(x * (1 / coarse));
    of[which][0] += n;
    of[which][1] += __float2ll_rn(fmaf(static_cast<float>(n), -coarse, x) * (1 / fine));
  }
  __device__ void diagonal(float x) { note(fabs(double(x) - 1)); }
  __device__ void note(double x) { off = max(off, static_cast<unsigned long long>(__double_as_longlong(x))); }
};
#endif

struct Planes {
  int squared;  // groups of planar wires, whose product is the modulus before it is squared
  uint4 const* rows;
  unsigned char const* cols;
  Counters* counters;
  double* total;
};

template <int Groups>
constexpr int shared_bytes = 1024 + kStages * 2 * Columns<Groups>::plane;

// Marks the end of the tiles.
constexpr unsigned long long none = ~0ull;

// Planar: whether all groups are of planar wires.
template <int Groups, bool Planar>
__global__ void __launch_bounds__(threads, 1) kernel(gram::Target const __grid_constant__ p, Planes const __grid_constant__ from) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  using C = Columns<Groups>;
  constexpr int stage_bytes = 2 * C::plane;
  extern __shared__ unsigned char raw[];
  __shared__ __align__(8) uint64_t barriers[2 * kStages];
  __shared__ unsigned long long tile_of[kStages];  // row, then column; accessed by atomics only
  __shared__ unsigned long long sums[5];
  unsigned char* const room = raw + (1024 - shared_address(raw) % 1024) % 1024;
  uint32_t const columns = shared_address(room);
  Barriers const full_barriers{shared_address(barriers)}, empty_barriers{full_barriers[kStages]};
  if (threadIdx.x == 0) {
    for (int i = 0; i < kStages; ++i) {
      mbarrier_init(full_barriers[i], 1);
      mbarrier_init(empty_barriers[i], 4 * workers);
    }
    mbarrier_init_fence();
    for (unsigned long long& x : sums) x = 0;
  }
  __syncthreads();
  griddepcontrol_wait();
  int stage = 0;
  unsigned phase = 0;
  auto turn = [&] {
    if (++stage == kStages) stage = 0, phase ^= 1;
  };
  if (threadIdx.x < 128) {
    warpgroup_reg_dealloc<32>();
    if (threadIdx.x == 0) {
      uint64_t const policy = leave_last();
      // Tiles row by row; for a triangle those from the diagonal on.
      int i = 0, before = 0;
      for (;; turn()) {
        mbarrier_wait(empty_barriers[stage], phase ^ 1);
        int const t = static_cast<int>(atomicAdd(&from.counters->next, 1));
        int row = p.across - (p.triangle ? i : 0);
        for (; i < p.down && t >= before + row; ++i) before += row, row -= p.triangle;
        int const j = t - before + (p.triangle ? i : 0);
        atomicExch(&tile_of[stage], i < p.down ? static_cast<unsigned long long>(i) << 32 | j : none);
        uint32_t const barrier = full_barriers[stage];
        if (i >= p.down) {
          mbarrier_arrive(barrier);
          break;
        }
        mbarrier_arrive_expect_tx(barrier, stage_bytes);
        asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes.L2::cache_hint [%0], [%1], %2, [%3], %4;" ::"r"(
                         columns + stage * stage_bytes),
                     "l"(from.cols + int64_t(j) * stage_bytes), "n"(stage_bytes), "r"(barrier), "l"(policy)
                     : "memory");
      }
    }
  } else {
    warpgroup_reg_alloc<208>();
    int const worker = threadIdx.x / 128 - 1, warp = threadIdx.x / 32 % 4, lane = threadIdx.x % 32;
    uint64_t const first = leave_first(), last = leave_last();
    uint4 a[2][Groups];
    Sums seen;
    int row, col;  // of the tile; row is -1 after the last tile
    // Waits for the next tile and starts to load the planes of its rows.
    auto next = [&] {
      turn();
      mbarrier_wait(full_barriers[stage], phase);
      unsigned long long tile = none;
      if (lane == 0) tile = atomicAdd(&tile_of[stage], 0);
      tile = __shfl_sync(~0u, tile, 0);
      row = static_cast<int>(tile >> 32), col = static_cast<int>(tile);
      if (row < 0) return;
      int const q = row * workers + worker;
      uint4 const* const at = from.rows + int64_t(4 * q + warp) * 2 * Groups * 32 + lane;
#pragma unroll
      for (int k = 0; k < 2; ++k)
#pragma unroll
        for (int g = 0; g < Groups; ++g) a[k][g] = load(at + (k * Groups + g) * 32, last);
    };
    auto release = [&](int stage) {
      __syncwarp();
      if (lane == 0) mbarrier_arrive(empty_barriers[stage]);
    };
    stage = kStages - 1, phase = 1;
    next();
    while (row >= 0) {
      int const mine = stage;
      int64_t const top = int64_t(row) * side + worker * lines, left = int64_t(col) * side;
      uint32_t const base = columns + stage * stage_bytes;
      // The range of the tile's halves, 64 columns each, that exist.
      int const begin = !p.triangle || top < left ? 0 : static_cast<int>((top - left) / half);
      int const end = top >= p.rows ? 0 : static_cast<int>(min(int64_t(side), p.cols - left) + half - 1) / half;
      auto compute = [&](int h, bool end) {
        float v[32], d[32];
        uint64_t const b0 = matrix_descriptor(((base + h * half * C::line) & 0x3ffff) >> 4, 1, 8 * C::line / 16, 2);
#pragma unroll
        for (int g = 0; g < Groups; ++g) {
          uint64_t const b = b0 + g / 2 * (C::panel / 16) + g % 2 * 2;
          warpgroup_fence_operand(d);
          cute::warpgroup_arrive();
          wgmma<Instruction>(d, &a[1][g].x, b, 0);
          wgmma<Instruction>(d, &a[0][g].x, b + C::plane / 16, 1);
          wgmma<Instruction>(d, &a[0][g].x, b, 1);
          cute::warpgroup_commit_batch();
          cute::warpgroup_wait<0>();
          warpgroup_fence_operand(d);
#pragma unroll
          for (int i = 0; i < 32; ++i) {
            float x = d[i];  // the planes are scaled by 2^7
            if (Planar && g == 0) x *= Groups == 4 ? 0x1p-56f : 0x1p-28f;
            if (!Planar && g % 2 == 0) x *= 0x1p-28f;
            v[i] = g == 0 ? x : v[i] * x;
          }
          if (!Planar && g + 1 == from.squared) {
#pragma unroll
            for (int i = 0; i < 32; ++i) v[i] *= v[i];
          }
        }
        if (end) next();
        if constexpr (Planar) {
#pragma unroll
          for (int i = 0; i < 32; ++i) v[i] *= v[i];
        }
        int64_t const r = top + 16 * warp + lane / 4 * 2, c = left + h * half + lane % 4 * 4;
        bool const crosses = p.triangle && top + lines > left + h * half;
        if (!crosses && top + lines <= p.rows && left + h * half + half <= p.cols) {
#pragma unroll
          for (int k = 0; k < 2; ++k)
#pragma unroll
            for (int m = 0; m < 4; ++m) store(p.k + (r + k) * p.ld + c + 16 * m, v[8 * m + 2 * k], v[8 * m + 4 + 2 * k], v[8 * m + 2 * k + 1], v[8 * m + 5 + 2 * k], first);
          if (p.mirror != nullptr) {
#pragma unroll
            for (int j = 0; j < 16; ++j) {
              int const i = j / 4 * 8 + j % 2 * 4 + j / 2 % 2;  // column j / 4 * 16 + j % 4
              store(p.mirror + (c + j / 4 * 16 + j % 4) * p.ld_mirror + r, v[i], v[i + 2], first);
            }
          }
          float s[4] = {}, f[4] = {};
#pragma unroll
          for (int i = 0; i < 32; ++i) {
            s[i % 4] += v[i];
            f[i % 4] += v[i] * v[i];
          }
          seen.add(0, (s[0] + s[1]) + (s[2] + s[3]));
          seen.add(1, (f[0] + f[1]) + (f[2] + f[3]));
          return;
        }
#pragma unroll
        for (int i = 0; i < 32; ++i) {
          int64_t const row = r + i / 2 % 2, col = c + i / 8 * 16 + i % 2 * 2 + i / 4 % 2;
          if (row >= p.rows || col >= p.cols || (p.triangle && row > col)) continue;
          float const x = v[i];
          if (p.triangle && row == col) {
            seen.diagonal(x);
            p.k[row * p.ld + col] = p.one;
            continue;
          }
          seen.add(0, x);
          seen.add(1, x * x);
          p.k[row * p.ld + col] = x;
          if (p.mirror != nullptr) p.mirror[col * p.ld_mirror + row] = x;
        }
      };
      for (int h = begin; h < end; ++h) compute(h, h + 1 == end);
      release(mine);
      if (begin >= end) next();
    }
    // Adds up the sums of a warp, then of the block; the last block to end stores the result.
    auto gather = [&](unsigned long long* to, auto const& from) {
      for (int k = 0; k < 4; ++k) atomicAdd(to + k, static_cast<unsigned long long>(from[k]));
      atomicMax(to + 4, static_cast<unsigned long long>(from[4]));
    };
    long long mine[5];
    for (int k = 0; k < 4; ++k) {
      mine[k] = seen.of[k / 2][k % 2];
      for (int d = 16; d > 0; d /= 2) mine[k] += __shfl_down_sync(~0u, mine[k], d);
    }
    mine[4] = static_cast<long long>(seen.off);
    for (int d = 16; d > 0; d /= 2) mine[4] = max(mine[4], __shfl_down_sync(~0u, mine[4], d));
    if (lane == 0) gather(sums, mine);
    named_barrier_sync_aligned(1, 128 * workers);
    if (threadIdx.x != 128) return;
    Counters* const to = from.counters;
    gather(&to->sums[0][0], sums);
    __threadfence();
    if (atomicAdd(&to->done, 1) + 1 != gridDim.x) return;
    __threadfence();
    auto sum = [&](int which) {
      auto const part = [&](int k) { return static_cast<double>(static_cast<long long>(__ldcg(&to->sums[which][k]))); };
      return part(0) * coarse + part(1) * fine;
    };
    from.total[0] += sum(0);
    from.total[1] += sum(1);
    double const off = __longlong_as_double(static_cast<long long>(__ldcg(&to->off)));
    if (!(off <= from.total[2])) from.total[2] = off;
  }
#endif
}

// Whether this kernel can write K, which needs stores of 16 bytes.
inline bool serves(gram::Target const& to, closed::Groups of) { return to.boxes && of.steps() <= 4; }

// Calls f with the number of groups and whether all are of planar wires.
template <class Call>
int with_groups(closed::Groups of, Call f) {
  auto with = [&](auto count) -> int {
    constexpr int Groups = decltype(count)::value;
    if constexpr (Groups <= 4)
      if (of.full == 0) return f(count, std::true_type{});
    return f(count, std::false_type{});
  };
  switch (of.steps()) {
    case 1: return with(std::integral_constant<int, 2>{});
    case 2: return with(std::integral_constant<int, 4>{});
    case 3: return with(std::integral_constant<int, 6>{});
    case 4: return with(std::integral_constant<int, 8>{});
  }
  return GPK_ERR_UNSUPPORTED;
}

// The offsets of the planes of rows, those of columns and the counters.
template <int Groups>
struct Room {
  uint64_t rows, cols, counters;
  Room(gram::Target const& to, uint64_t at) : rows(at), cols(at + planes_bytes(to.rows, Groups)), counters(cols + planes_bytes(to.cols, Groups)) {}
};

// Starts the kernel on existing planes.
template <int Groups, bool Planar>
int start(int device, cudaStream_t s, gram::Target const& to, closed::Groups of, Room<Groups> const& room, uint64_t total) {
  static uint64_t allowed = 0;
  void const* code = reinterpret_cast<void const*>(&kernel<Groups, Planar>);
  if (int const e = allow_shared(code, shared_bytes<Groups>, device, &allowed)) return e;
  Planes from{2 * of.planar_steps(), reinterpret_cast<uint4 const*>(room.rows), reinterpret_cast<unsigned char const*>(room.cols),
              reinterpret_cast<Counters*>(room.counters), reinterpret_cast<double*>(total)};
  int const tiles = gram::tiles_of(to.triangle, to.down, to.across), sms = sm_count(device);
  void* params[] = {const_cast<gram::Target*>(&to), &from};
  return launch(code, dim3(sms > 0 && sms < tiles ? sms : tiles), dim3(threads), shared_bytes<Groups>, s, params, 1, 1, true);
}

// The number of blocks that compute planes of n samples; 0 if too many.
template <int Groups>
unsigned blocks_for(int64_t n) {
  int64_t const blocks = 4 * Groups * whole(n) / 256;
  return blocks > INT32_MAX ? 0 : static_cast<unsigned>(blocks);
}

// Starts both kernels.
inline int run(int device, cudaStream_t s, gram::Target const& to, closed::Groups of, uint64_t x, int64_t ld_x, uint64_t y, int64_t ld_y, uint64_t workspace,
               uint64_t total) {
  return with_groups(of, [&](auto count, auto planar) -> int {
    constexpr int Groups = decltype(count)::value;
    Room<Groups> room(to, workspace);
    auto split = [&](uint64_t points, int64_t ld, int64_t n, uint64_t rows, uint64_t cols) -> int {
      unsigned const blocks = blocks_for<Groups>(n);
      if (blocks == 0) return GPK_ERR_ARGUMENT;
      void* params[] = {&points, &ld, &n, &of, &rows, &cols, &room.counters};
      return launch(reinterpret_cast<void const*>(&planes_kernel<Groups>), dim3(blocks), dim3(256), 0, s, params, 1, 1, true);
    };
    int e = split(x, ld_x, to.rows, room.rows, to.triangle ? room.cols : 0);
    if (e == 0 && !to.triangle) e = split(y, ld_y, to.cols, 0, room.cols);
    return e != 0 ? e : start<Groups, decltype(planar)::value>(device, s, to, of, room, total);
  });
}

// The same for a triangle, from the samples themselves.
template <class X>
int run_samples(int device, cudaStream_t s, gram::Target const& to, closed::Groups of, uint64_t x, int64_t features, int64_t row, int64_t col, Code const& code,
                Notes notes, uint64_t workspace) {
  return with_groups(of, [&](auto count, auto planar) -> int {
    constexpr int Groups = decltype(count)::value;
    Room<Groups> room(to, workspace);
    int64_t n = to.rows;
    unsigned const blocks = blocks_for<Groups>(n);
    if (blocks == 0) return GPK_ERR_ARGUMENT;
    void* params[] = {&x, &n, &features, &row, &col, &of, const_cast<Code*>(&code), &room.rows, &room.cols, &room.counters, &notes};
    int const e = launch(reinterpret_cast<void const*>(&samples_kernel<X, Groups>), dim3(blocks), dim3(256), 0, s, params, 1, 1, true);
    uint64_t const total = reinterpret_cast<uint64_t>(notes.words + notes.all - 3);
    return e != 0 ? e : start<Groups, decltype(planar)::value>(device, s, to, of, room, total);
  });
}

}  // namespace
}  // namespace direct
}  // namespace gpk
