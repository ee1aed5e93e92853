// division.cuh: quotients with their exact rests.
#pragma once
#ifndef GPK_EMULATED  // testdata/emulate compiles it for the host
#include <cuda_runtime.h>
#endif

namespace gpk {

// Divides x by y: n is x / y rounded towards 0, and rest is x - n y. Both are exact. Returns false if the quotient may be
// too large for that, or is not finite. Below 2^50 the rounded quotient differs from n by less than 1. So n is at most one
// too large, the rest is a multiple of the smaller operand's last place of at most |y|, and fma rounds nothing. fmod would
// loop over the bits of the quotient.
__device__ inline bool divide_with_rest(double x, double y, double* n, double* rest) {
  double const q = x / y;
  if (!(fabs(q) < 0x1p50)) return false;
  *n = trunc(q);
  *rest = *n == 0 ? x : fma(-*n, y, x);  // 0 y would be NaN for an infinite y
  if (*rest != 0 && (*rest < 0) != (x < 0)) {
    *n -= copysign(1.0, q);
    *rest += copysign(y, x);
  }
  return true;
}

}  // namespace gpk
