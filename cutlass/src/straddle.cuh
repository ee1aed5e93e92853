// straddle.cuh: 16 bytes at an unaligned address, extracted from the two aligned granules that contain them.
#pragma once
#include <stdint.h>

namespace gpk {

constexpr int granule = 16;  // bytes

// Bytes m ... m+15 of the 32 bytes lo, hi.
__device__ inline uint4 straddle(uint4 lo, uint4 hi, unsigned m) {
  uint32_t a = lo.x, b = lo.y, c = lo.z, d = lo.w, e = hi.x, f = hi.y, g = hi.z;
  if (m & 8) a = c, b = d, c = e, d = f, e = g, f = hi.w;
  if (m & 4) a = b, b = c, c = d, d = e, e = f;
  unsigned const bits = (m & 3) * 8;
  return {__funnelshift_r(a, b, bits), __funnelshift_r(b, c, bits), __funnelshift_r(c, d, bits),
          __funnelshift_r(d, e, bits)};
}

}  // namespace gpk
