// gemm_f64_operands_sm90.cuh: the configuration of gemm_f64_sm90.cuh's kernels, the layout of their operands in shared
// memory, and the loads of a warp's fragments.
//
// A step is 16 of k. A line of it (a row of A or a column of B) has 128 bytes, the width of TMA's swizzle. The
// instruction's left operand has 16 lines, its right one 8; two instructions use 16 lines of the right operand. Warps read
// both layouts of an operand without bank conflicts, because the lines and the k of the instruction are permuted. Only the
// coordinates of the stored elements depend on the permutation. With t the thread's index in its quad and g the index of
// the quad,
//
//  k of element t + 4 i   8 (i / 2) + 2 t + i % 2
//  left lines g, g + 8    2 g, 2 g + 1
//  right line g           k contiguous: g for even g, 8 + (g + 3) % 8 for odd g, and 1 more in the second instruction;
//                         otherwise g, and 8 more in the second instruction
//
// Loads have 16 bytes if neighbouring elements in memory are in neighbouring registers of the instruction. This is the
// case for a left operand whose k is not contiguous, and for a right operand whose k is. So the operands are swapped if
// both matrices are row-major. Other loads have 8 bytes. If k is contiguous in both operands, the permutation is
//
//  k of element t + 4 i   t + 4 i
//  left lines g, g + 8    2 (g % 4) + g / 4, and 8 more
//  right line g           2 g, and 1 more in the second instruction
#pragma once
#include "sm90.cuh"

namespace gpk {
namespace dmma {
namespace {

using namespace sm90;

constexpr int step = 16;
constexpr int line = step * static_cast<int>(sizeof(double));  // bytes per line
constexpr int max_shared = 227 << 10;

__device__ inline double2 load(uint32_t at) {
  double2 v;
  asm volatile("ld.shared.v2.f64 {%0, %1}, [%2];" : "=d"(v.x), "=d"(v.y) : "r"(at));
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

// An operand's tile: `Lines` rows of A (columns of B) of one step. If k is contiguous, it is one TMA box. Otherwise a box
// has 16 lines.
template <bool KMajor, int Lines>
struct OperandTile {
  static constexpr int bytes = Lines * line;
  static constexpr int box_lines = KMajor ? Lines : 16;
  static constexpr int boxes = Lines / box_lines, box_bytes = box_lines * line;

  __device__ static void load_box(uint32_t to, CUtensorMap const* map, int box, int k, int at, int member,
                              uint32_t barrier) {
    to += box * box_bytes, at += box * box_lines;
    tma_load(to, map, KMajor ? k : at, KMajor ? at : k, member, barrier);
  }
};

// The configuration of a kernel. M, N: the tile of D, in a CTA. WarpL, WarpR: a warp's part of it. Groups: groups of warps.
// Parts: CTAs that split k. A CTA of nine warps has up to 168 registers per thread.
template <bool RowA, bool RowB, int M, int N, int WarpL, int WarpR, int Groups, int Parts, int Stages>
struct Config {
  static constexpr bool swap = RowA && RowB;
  static constexpr bool left_k = swap ? !RowB : RowA, right_k = swap ? RowA : !RowB;  // whether k is contiguous
  static constexpr int left = swap ? N : M, right = swap ? M : N;
  using Left = OperandTile<left_k, left>;
  using Right = OperandTile<right_k, right>;
  static_assert(right_k || !left_k, "");
  static constexpr int warps_l = left / WarpL, warps = warps_l * (right / WarpR);  // warps per group
  static constexpr int groups = Groups, parts = Parts, kStages = Stages;
  static constexpr int consumer_threads = 32 * warps * Groups, threads = consumer_threads + 32;  // plus the producer warp
  static constexpr int stage_bytes = Left::bytes + Right::bytes;
  static constexpr bool reduces = Groups * Parts > 1;
  static constexpr int pitch = N + 2;  // of the partial sums in shared memory
  static constexpr int sum_bytes = reduces ? M * pitch * static_cast<int>(sizeof(double)) : 0;
  static constexpr int shared = 1024 + Stages * stage_bytes + Groups * sum_bytes;  // 1024 for alignment
  static constexpr int blocks_l = WarpL / 16, blocks_r = WarpR / 16;
  static constexpr int tile_m = M, tile_n = N, warp_l = WarpL, warp_r = WarpR;
  static_assert(shared <= max_shared && (Stages & (Stages - 1)) == 0 && Stages > Groups, "");
};

// A consumer thread's read addresses in a stage, for its warp's part of the tile, and the loads of its fragments. A block
// has 16 lines, and is loaded in four parts.
template <class K>
struct Fragments {
  // By half of the step if k is contiguous, otherwise by k. If k is contiguous in both operands, the address of k = t.
  uint32_t at_l[2], at_r[2][2];

  __device__ __forceinline__ Fragments(int lane, int g, int t, int left, int right) {
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
    for (int e = 0; e < 2; ++e) {  // the shuffles keep the compiler from computing the addresses again for each load
      at_l[e] = __shfl_sync(~0u, at_l[e], lane);
      at_r[0][e] = __shfl_sync(~0u, at_r[0][e], lane), at_r[1][e] = __shfl_sync(~0u, at_r[1][e], lane);
    }
  }

  // Loads a part of left block i.
  __device__ __forceinline__ void load_left(double (&to)[8], uint32_t stage, int i, int part) const {
    int const h = part / 2, e = part % 2;
    if constexpr (K::left_k) {
      uint32_t const at = (stage + at_l[0]) ^ part << 5;
      to[2 * part] = load_one(at + 16 * i * line), to[2 * part + 1] = load_one(at + (16 * i + 8) * line);
    } else {
      double2 const v = load(stage + at_l[e] + (16 * i + 8 * h) * line);
      to[4 * h + 2 * e] = v.x, to[4 * h + 2 * e + 1] = v.y;
    }
  }

  // Loads a part of right block j, for two instructions.
  __device__ __forceinline__ void load_right(double (&to)[2][4], uint32_t stage, int j, int part) const {
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
  }
};

}  // namespace
}  // namespace dmma
}  // namespace gpk
