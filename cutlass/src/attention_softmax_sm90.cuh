// attention_softmax_sm90.cuh: the matrix instructions of Hopper's attention kernel, and the operations on their
// accumulators: mask, online softmax, rounding of the weights, store.
//
// An accumulator of 64 x N is distributed over a warpgroup: warp w holds rows 16 w to 16 w + 15. Lane l holds, of
// rows l/4 and l/4 + 8 and for every block of 8 columns, the columns 2 (l%4) and 2 (l%4) + 1. Element 4 j + 2 r + c
// of its registers is column 8 j + 2 (l%4) + c of row l/4 + 8 r.
#pragma once
#include <math.h>

#include "cutlass/numeric_types.h"
#include "sm90.cuh"

namespace gpk {
namespace attention90 {

using bf16 = cutlass::bfloat16_t;
using fp16 = cutlass::half_t;

// 64 queries by N keys: both operands in shared memory, both with the head's dimension contiguous.
template <class T, int N>
struct Scores;

// 64 queries by N dimensions: weights in registers, values in shared memory with the dimension contiguous.
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
CUTLASS_DEVICE float power(float x) {
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

// The rounded weights of N keys, as the left operand of Values: 4 registers per 16 keys.
template <class T, int N>
CUTLASS_DEVICE void round_weights(uint32_t (&weights)[N / 2], float const (&scores)[N]) {
  CUTLASS_PRAGMA_UNROLL
  for (int i = 0; i < N / 2; ++i) weights[i] = round_pair(T{}, scores[2 * i], scores[2 * i + 1]);
}

// The online softmax of a lane's two rows (Milakov and Gimelshein, arXiv:1805.02867; the recurrence of
// FlashAttention): `top` is the largest score so far, `sum` this lane's part of the sum of the weights.
struct Softmax {
  float top[2] = {-INFINITY, -INFINITY};
  float sum[2] = {0, 0};

  // Masks the scores of row r for keys after last[r]. `column` is the key of the lane's first element.
  template <int N>
  CUTLASS_DEVICE static void mask(float (&scores)[N], int column, int const (&last)[2]) {
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N; ++i) {
      if (column + i / 4 * 8 + i % 2 > last[i / 2 % 2]) scores[i] = -INFINITY;
    }
  }

  // Turns scores into weights, exp2(scale (score - top)). Earlier sums of row r have to be multiplied by factor[r].
  // `top` is raised to the maximum only if the weight of the maximum would be more than 2^8, so that a row's sums
  // seldom need a factor; a weight is then at most 2^8, which both types hold. Returns whether one of the rows has a
  // factor.
  template <int N>
  CUTLASS_DEVICE bool weigh(float (&scores)[N], float (&factor)[2], float scale) {
    bool rises[2];
    CUTLASS_PRAGMA_UNROLL
    for (int r = 0; r < 2; ++r) {
      // Two independent chains of maxima. fmaxf drops NaN, but the weights bring it back.
      float most = fmaxf(scores[2 * r], scores[2 * r + 1]);
      CUTLASS_PRAGMA_UNROLL
      for (int i = 4; i < N; i += 4) most = fmaxf(most, fmaxf(scores[i + 2 * r], scores[i + 2 * r + 1]));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 1));
      most = fmaxf(most, __shfl_xor_sync(~0u, most, 2));
      rises[r] = __fmul_rn(__fsub_rn(most, top[r]), scale) > 8;  // false if both are -Inf
      most = rises[r] ? most : top[r];
      // A row that has not seen a key yet keeps weights of 0.
      float const shift = most == -INFINITY ? 0 : __fmul_rn(most, scale);
      factor[r] = rises[r] ? power(__fsub_rn(__fmul_rn(top[r], scale), shift)) : 1;
      top[r] = most;
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < N; i += 4) {
        scores[i + 2 * r] = power(fmaf(scores[i + 2 * r], scale, -shift));
        scores[i + 2 * r + 1] = power(fmaf(scores[i + 2 * r + 1], scale, -shift));
      }
      float added[2] = {scores[2 * r], scores[2 * r + 1]};
      CUTLASS_PRAGMA_UNROLL
      for (int i = 4; i < N; i += 4) added[0] += scores[i + 2 * r], added[1] += scores[i + 2 * r + 1];
      sum[r] = fmaf(sum[r], factor[r], added[0] + added[1]);
    }
    return rises[0] || rises[1];
  }

  // Forces the weights to be computed here. The assembler would move their computation behind the following wait,
  // where the tensor cores idle; it does not move memory accesses. A sum is never negative, so that the store does
  // not happen.
  CUTLASS_DEVICE void settle(uint32_t at) const {
    float const x = sum[0] + sum[1];
    asm volatile("{\n\t.reg .pred p;\n\tsetp.lt.f32 p, %1, 0f00000000;\n\t@p st.volatile.shared.f32 [%0], %1;\n\t}" ::"r"(at),
                 "f"(x)
                 : "memory");
  }

  // Computes the inverse of each row's sum; 0 for a row that saw no key.
  CUTLASS_DEVICE void finish(float (&inverse)[2]) const {
    CUTLASS_PRAGMA_UNROLL
    for (int r = 0; r < 2; ++r) {
      float all = sum[r];
      all += __shfl_xor_sync(~0u, all, 1);
      all += __shfl_xor_sync(~0u, all, 2);
      inverse[r] = all == 0 ? 0 : 1 / all;
    }
  }
};

template <int N>
CUTLASS_DEVICE void scale_rows(float (&out)[N], float const (&factor)[2]) {
  CUTLASS_PRAGMA_UNROLL
  for (int i = 0; i < N; ++i) out[i] *= factor[i / 2 % 2];
}

// Transposes registers among four lanes: lane q gets the q-th register of each of the four, in the order of the
// lanes.
CUTLASS_DEVICE void transpose_quad(uint32_t (&x)[4], int lane) {
  bool const odd = lane & 1, upper = lane & 2;
  uint32_t const a = __shfl_xor_sync(~0u, odd ? x[0] : x[1], 1), b = __shfl_xor_sync(~0u, odd ? x[2] : x[3], 1);
  x[0] = odd ? a : x[0], x[1] = odd ? x[1] : a, x[2] = odd ? b : x[2], x[3] = odd ? x[3] : b;
  uint32_t const c = __shfl_xor_sync(~0u, upper ? x[0] : x[2], 2), d = __shfl_xor_sync(~0u, upper ? x[1] : x[3], 2);
  x[0] = upper ? c : x[0], x[1] = upper ? d : x[1], x[2] = upper ? x[2] : c, x[3] = upper ? x[3] : d;
}

// Rounds and stores the lane's part of 16 rows of D elements. Four lanes exchange their pairs, so that each stores
// units of 16 bytes and the four store 64 contiguous bytes. to[r] is the begin of row r, or nullptr.
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
