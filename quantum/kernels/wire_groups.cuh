// wire_groups.cuh: groups of wires that the circuit does not entangle, as operands of tensor cores on Hopper.
//
// The vectors of a group's wires are multiplied out to 16 numbers, once per sample, and tensor cores compute the inner
// products of these numbers. Four planar wires, whose states lie in a plane, have real amplitudes: |<a|b>| = |u.v| with two
// numbers per wire. Two full wires use their Bloch vectors: |<a|b>|^2 = (1 + r.s) / 2 with four numbers per wire. The
// numbers are stored as float16 planes of 22 bits, like those of gram_tile.cuh. The kernel of gram_product.cuh has a form
// that multiplies the inner products of groups. Each product has a rounding error of about 1e-7.
#pragma once
#include "gram_tile.cuh"

namespace gpk {
namespace wires {
namespace {

// The steps over groups of wires, two groups per step: first the groups of planar wires, then those of full wires.
struct Groups {
  int planar, full;  // numbers of wires
  __host__ __device__ int planar_steps() const { return (planar + 7) / 8; }
  __host__ __device__ int steps() const { return planar_steps() + (full + 3) / 4; }
};

// Computes the planes of all groups of n samples, [2][n][32 steps]. Points are Bloch vectors divided by the square root of 2.
__global__ void __launch_bounds__(256) planes_kernel(float const* points, int64_t ld, int64_t n, Groups of, __half* out) {
  int64_t const at = int64_t(blockIdx.x) * 256 + threadIdx.x;
  if (at >= 2 * of.steps() * n) return;
  int64_t const sample = at % n;
  int const group = static_cast<int>(at / n);
  bool const planar = group < 2 * of.planar_steps();
  float v[16];
  v[0] = 1;
  if (planar) {
#pragma unroll
    for (int k = 0; k < 4; ++k) {
      int const wire = 4 * group + k;
      double a = 1, b = 0;
      if (wire < of.planar) {
        double x = points[2 * wire * ld + sample], y = points[(2 * wire + 1) * ld + sample];
        double const r = rsqrt(x * x + y * y);
        x *= r, y *= r;
        a = sqrt(0.5 + 0.5 * fabs(x)), b = 0.5 * y / a;  // cosine and sine of half the angle, or of half its complement
        if (x < 0) {
          double const c = a;
          a = b, b = c;
        }
      }
#pragma unroll
      for (int i = 0; i < 8; ++i) {
        if (i >> k != 0) continue;
        v[i | 1 << k] = static_cast<float>(v[i] * b);
        v[i] = static_cast<float>(v[i] * a);
      }
    }
  } else {
#pragma unroll
    for (int k = 0; k < 2; ++k) {
      int const wire = 2 * (group - 2 * of.planar_steps()) + k;
      double c[4] = {1, 0, 0, 0};
      if (wire < of.full) {
        float const* from = points + (2 * of.planar + 3 * wire) * ld + sample;
        for (int i = 0; i < 3; ++i) c[1 + i] = from[i * ld];
        double const r = 0.70710678118654752440 * rsqrt(c[1] * c[1] + c[2] * c[2] + c[3] * c[3]);
        for (int i = 0; i < 3; ++i) c[1 + i] *= r;
        c[0] = 0.70710678118654752440;
      }
#pragma unroll
      for (int i = 0; i < 4; ++i) {
        if (i >> 2 * k != 0) continue;
#pragma unroll
        for (int j = 3; j >= 0; --j) v[i | j << 2 * k] = static_cast<float>(v[i] * c[j]);
      }
    }
  }
  union {
    __half h[16];
    uint4 vectors[2];
  } high, low;
#pragma unroll
  for (int i = 0; i < 16; ++i) {
    float const x = v[i] * 128;
    high.h[i] = __float2half_rn(x);
    low.h[i] = __float2half_rn(x - __half2float(high.h[i]));
  }
  uint4* to = reinterpret_cast<uint4*>(out + sample * 32 * of.steps() + 16 * group);
  to[0] = high.vectors[0], to[1] = high.vectors[1];
  to += 4 * n * of.steps();
  to[0] = low.vectors[0], to[1] = low.vectors[1];
}

}  // namespace
}  // namespace wires
}  // namespace gpk
