// gemm_f64_operands_sm90.cuh: the configuration of gemm_f64_sm90.cuh's kernels, and the layout of their operands in
// shared memory.
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

}  // namespace
}  // namespace dmma
}  // namespace gpk
