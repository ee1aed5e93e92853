// line_scale.cuh: the power of two that scales a line (a row of A or a column of B) to float16's range, as a function of
// the line's largest magnitude; see gpk_prepare.
#pragma once
#include <stdint.h>

namespace gpk {

constexpr uint32_t unfit = 1u << 30;      // the guard word of lines that float16 cannot represent
constexpr uint32_t smallest = 67u << 23;  // the bits of 2^-60
constexpr uint32_t largest = 187u << 23;  // the bits of 2^60

// The scale of a line whose largest magnitude has the bits `max`. With e = floor(log2 max), factor is 2^(14-e). It is 1 if
// the line is zero or does not fit.
struct Scale {
  float factor, inverse;
  float small;  // 2^-10 max; smaller elements are counted as small
  bool fits, zero;

  __device__ explicit Scale(uint32_t max) {
    zero = max == 0;
    fits = zero || (max >= smallest && max <= largest);
    uint32_t const exponent = max >> 23;  // 127 + e
    bool const scaled = fits && !zero;
    factor = scaled ? __uint_as_float((268 - exponent) << 23) : 1.f;   // 2^(14-e)
    inverse = scaled ? __uint_as_float((exponent - 14) << 23) : 1.f;  // 2^(e-14)
    small = scaled ? __uint_as_float(max - (10u << 23)) : 0.f;
  }
};

// Increments count if |x| < small.
__device__ inline void count_small(uint32_t& count, float x, float small) {
  asm("{\n\t.reg .pred p;\n\tsetp.lt.f32 p, %1, %2;\n\t@p add.u32 %0, %0, 1;\n\t}"
      : "+r"(count)
      : "f"(fabsf(x)), "f"(small));
}

}  // namespace gpk
