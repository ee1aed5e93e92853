// attention_softmax_sm90.cuh: the wgmma instructions of Hopper's attention kernel, and the operations on their
// accumulators: mask, online softmax, conversion of the weights, store.
//
// An accumulator of 64 x N is distributed over a warpgroup. Warp w has the rows 16 w to 16 w + 15. Of these, lane l has two
// rows, and register 4 j + 2 r + c is column 8 j + 2 (l%4) + c of row l/4 + 8 r.
#pragma once
#include <math.h>

#include "cutlass/numeric_types.h"
#include "sm90.cuh"

namespace gpk {
namespace attention90 {

using bf16 = cutlass::bfloat16_t;
using fp16 = cutlass::half_t;

// The instruction for 64 queries by N keys. Both operands are in shared memory, with the head's dimension contiguous.
template <class T, int N>
struct Scores;

// The instruction for 64 queries by N dimensions of values. The weights are in registers, and the values in shared memory
// with the dimension contiguous.
template <class T, int N>
struct Values;

#define GPK_SCORES(N)                                                                                              \
  template <>                                                                                                      \
  struct Scores<bf16, N> : cute::SM90::GMMA::MMA_64x##N##x16_F32BF16BF16_SS<cute::SM90::GMMA::Major::K,            \
                                                                            cute::SM90::GMMA::Major::K> {};        \
  template <>                                                                                                      \
  struct Scores<fp16, N> : cute::SM90::GMMA::MMA_64x##N##x16_F32F16F16_SS<cute::SM90::GMMA::Major::K,              \
                                                                          cute::SM90::GMMA::Major::K> {};
#define GPK_VALUES(N)                                                                                              \
  template <>                                                                                                      \
  struct Values<bf16, N> : cute::SM90::GMMA::MMA_64x##N##x16_F32BF16BF16_RS<cute::SM90::GMMA::Major::K,            \
                                                                            cute::SM90::GMMA::Major::MN> {};       \
  template <>                                                                                                      \
  struct Values<fp16, N> : cute::SM90::GMMA::MMA_64x##N##x16_F32F16F16_RS<cute::SM90::GMMA::Major::K,              \
                                                                          cute::SM90::GMMA::Major::MN> {};
GPK_SCORES(64)
GPK_SCORES(80)
GPK_SCORES(96)
GPK_SCORES(128)
GPK_SCORES(176)
GPK_VALUES(64)
GPK_VALUES(96)
GPK_VALUES(128)
GPK_VALUES(256)
#undef GPK_SCORES
#undef GPK_VALUES

// 2^x; exp2(-Inf) is 0.
CUTLASS_DEVICE float exp2_approx(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

CUTLASS_DEVICE uint32_t round_pair(bf16, float low, float high) {
  uint32_t r;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

CUTLASS_DEVICE uint32_t round_pair(fp16, float low, float high) {
  uint32_t r;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(r) : "f"(high), "f"(low));
  return r;
}

// Rounds the weights to T, as the left operand of Values: 4 registers per 16 keys.
template <class T, int N>
CUTLASS_DEVICE void round_weights(uint32_t (&weights)[N / 2], float const (&scores)[N]) {
  CUTLASS_PRAGMA_UNROLL
  for (int i = 0; i < N / 2; ++i) weights[i] = round_pair(T{}, scores[2 * i], scores[2 * i + 1]);
}

// The online softmax of a lane's two rows (Milakov and Gimelshein, arXiv:1805.02867; the recurrence of FlashAttention).
// row_max: a largest score, which may lag (to_weights). sum: this lane's part of the sum of the weights.
struct Softmax {
  float row_max[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0, 0};

  // Sets the scores of row r for keys after last[r] to -Inf. `column` is the key of the lane's first element.
  template <int N>
  CUTLASS_DEVICE static void mask(float (&scores)[N], int column, int const (&last)[2]) {
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N; ++i) {
      if (column + i / 4 * 8 + i % 2 > last[i / 2 % 2]) scores[i] = -INFINITY;
    }
  }

  // Replaces scores by weights, exp2(scale (score - row_max)). factor[r] is the factor for row r's earlier sums. row_max is
  // raised to the maximum only if the weight of the maximum would exceed 2^8. So sums seldom need a factor, and weights do
  // not exceed 2^8, which both types can represent. Returns whether a row has a factor other than 1.
  template <int N>
  CUTLASS_DEVICE bool to_weights(float (&scores)[N], float (&factor)[2], float scale) {
    bool raised[2];
    CUTLASS_PRAGMA_UNROLL
    for (int r = 0; r < 2; ++r) {
      // fmaxf ignores NaN, but the weight of a NaN is NaN.
      float new_max = fmaxf(scores[2 * r], scores[2 * r + 1]);
      CUTLASS_PRAGMA_UNROLL
      for (int i = 4; i < N; i += 4) new_max = fmaxf(new_max, fmaxf(scores[i + 2 * r], scores[i + 2 * r + 1]));
      new_max = fmaxf(new_max, __shfl_xor_sync(~0u, new_max, 1));
      new_max = fmaxf(new_max, __shfl_xor_sync(~0u, new_max, 2));
      raised[r] = __fmul_rn(__fsub_rn(new_max, row_max[r]), scale) > 8;  // false if both are -Inf
      new_max = raised[r] ? new_max : row_max[r];
      // If all scores are -Inf so far, all weights are 0.
      float const shift = new_max == -INFINITY ? 0 : __fmul_rn(new_max, scale);
      factor[r] = raised[r] ? exp2_approx(__fsub_rn(__fmul_rn(row_max[r], scale), shift)) : 1;
      row_max[r] = new_max;
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < N; i += 4) {
        scores[i + 2 * r] = exp2_approx(fmaf(scores[i + 2 * r], scale, -shift));
        scores[i + 2 * r + 1] = exp2_approx(fmaf(scores[i + 2 * r + 1], scale, -shift));
      }
      float partial_sums[2] = {scores[2 * r], scores[2 * r + 1]};
      CUTLASS_PRAGMA_UNROLL
      for (int i = 4; i < N; i += 4) partial_sums[0] += scores[i + 2 * r], partial_sums[1] += scores[i + 2 * r + 1];
      sum[r] = fmaf(sum[r], factor[r], partial_sums[0] + partial_sums[1]);
    }
    return raised[0] || raised[1];
  }

  // Forces the weights to be computed here. ptxas would move their computation after the next wait, when the tensor cores
  // are idle, but it does not move memory accesses. The predicate of this store is false, because a sum is never negative.
  CUTLASS_DEVICE void force_weights(uint32_t at) const {
    float const x = sum[0] + sum[1];
    asm volatile("{\n\t.reg .pred p;\n\tsetp.lt.f32 p, %1, 0f00000000;\n\t@p st.volatile.shared.f32 [%0], %1;\n\t}" ::"r"(at),
                 "f"(x)
                 : "memory");
  }

  // Computes the inverse of each row's sum; 0 for a row without keys.
  CUTLASS_DEVICE void inverse_sums(float (&inverse)[2]) const {
    CUTLASS_PRAGMA_UNROLL
    for (int r = 0; r < 2; ++r) {
      float total = sum[r];
      total += __shfl_xor_sync(~0u, total, 1);
      total += __shfl_xor_sync(~0u, total, 2);
      inverse[r] = total == 0 ? 0 : 1 / total;
    }
  }
};

template <int N>
CUTLASS_DEVICE void scale_rows(float (&out)[N], float const (&factor)[2]) {
  CUTLASS_PRAGMA_UNROLL
  for (int i = 0; i < N; ++i) out[i] *= factor[i / 2 % 2];
}

// Transposes the 4 x 4 registers of four lanes: lane q gets register q of each lane, in the order of the lanes.
CUTLASS_DEVICE void transpose_quad(uint32_t (&x)[4], int lane) {
  bool const odd = lane & 1, upper = lane & 2;
  uint32_t const a = __shfl_xor_sync(~0u, odd ? x[0] : x[1], 1), b = __shfl_xor_sync(~0u, odd ? x[2] : x[3], 1);
  x[0] = odd ? a : x[0], x[1] = odd ? x[1] : a, x[2] = odd ? b : x[2], x[3] = odd ? x[3] : b;
  uint32_t const c = __shfl_xor_sync(~0u, upper ? x[0] : x[2], 2), d = __shfl_xor_sync(~0u, upper ? x[1] : x[3], 2);
  x[0] = upper ? c : x[0], x[1] = upper ? d : x[1], x[2] = upper ? x[2] : c, x[3] = upper ? x[3] : d;
}

// Rounds and stores the lane's part of 16 rows of D elements. Four lanes exchange their pairs, so that each stores vectors
// of 16 bytes, and the four store 64 contiguous bytes. to[r] is the address of row r, or nullptr.
template <class T, int D>
CUTLASS_DEVICE void store_rows(float const (&out)[D / 2], T* const (&to)[2], int lane) {
  CUTLASS_PRAGMA_UNROLL
  for (int c = 0; c < D / 32; ++c) {
    CUTLASS_PRAGMA_UNROLL
    for (int r = 0; r < 2; ++r) {
      uint32_t x[4];
      CUTLASS_PRAGMA_UNROLL
      for (int j = 0; j < 4; ++j) x[j] = round_pair(T{}, out[c * 16 + j * 4 + 2 * r], out[c * 16 + j * 4 + 2 * r + 1]);
      transpose_quad(x, lane);
      if (to[r] != nullptr) *reinterpret_cast<uint4*>(to[r] + c * 32 + lane % 4 * 8) = make_uint4(x[0], x[1], x[2], x[3]);
    }
  }
}

}  // namespace attention90
}  // namespace gpk
