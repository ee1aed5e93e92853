// line_scale.cuh: the float16 scaling of a line, a row of A or a column of B, as a function of its largest magnitude;
// see gpk_prepare.
#pragma once
#include <stdint.h>

namespace gpk {

constexpr uint32_t unfit = 1u << 30;      // the guard word of lines that float16 cannot represent
constexpr uint32_t smallest = 67u << 23;  // the bits of 2^-60
constexpr uint32_t largest = 187u << 23;  // the bits of 2^60

struct Scale {
  float factor, inverse;
  float small;  // elements below this count as small
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

// Adds 1 to count where |x| < small.
__device__ inline void count_small(uint32_t& count, float x, float small) {
  asm("{\n\t.reg .pred p;\n\tsetp.lt.f32 p, %1, %2;\n\t@p add.u32 %0, %0, 1;\n\t}"
      : "+r"(count)
      : "f"(fabsf(x)), "f"(small));
}

}  // namespace gpk
