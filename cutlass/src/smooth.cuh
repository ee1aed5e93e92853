// smooth.cuh: GELU, its tanh form and SiLU of one element.
//
// The element-wise operations, the chains and the epilogues of products share these functions and have the same bits.
// The units of element-wise operations are compiled with -fmad=false, and those of products are not. So a product that
// is added to something here is written as __fmul_rn.
#pragma once
#include <cuda_runtime.h>
#include <stdint.h>

namespace gpk {

// Each is x times a smooth step, computed as max(x, 0) - T(|x|). T(|x|) = |x| step(-|x|) is small, so that the difference
// does not cancel:
//
//  GELU      T(a) = a Q(a), Q(a) = 1/2 erfc(a/sqrt 2)
//  GELUTanh  T(a) = a e^-w / (1 + e^-w), w = 2 sqrt(2/pi) (a + 0.044715 a^3)
//  SiLU      T(a) = a e^-a / (1 + e^-a)
//
// (Hendrycks and Gimpel, arXiv 1606.08415.) For float the error is below 2 ulp of the exact value, because rounding
// errors of intermediate results are added to later ones. For 16-bit types the hardware's approximations, accurate to
// 2^-22, are enough. bfloat16 needs fewer terms (Brief). -inf gives NaN, as the formulas do.

__device__ inline float approximate_reciprocal(float x) {
  float y;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

__device__ inline float approximate_exp2(float x) {
  float y;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(y) : "f"(x));
  return y;
}

// e^-(hi + lo) = (1 + value) 2^n, where n is the low 9 bits of `shift`. Requires hi >= 0 and |lo| much smaller.
struct Exponential {
  float value;
  uint32_t shift;

  __device__ Exponential(float hi, float lo) {
    float const t = fmaf(hi, -1.44269504f, 12582912.f);  // 1.5 * 2^23: the sum's last bit is 1
    float const n = t - 12582912.f;
    // log 2 in two parts; the first has 15 bits, so that its fma is exact.
    float const r = fmaf(n, -0.693145752f, -hi) + fmaf(n, -1.42860677e-6f, -lo);
    float q = 0.00139514134f;
    q = fmaf(q, r, 0.00836946417f);
    q = fmaf(q, r, 0.0416661935f);
    q = fmaf(q, r, 0.166665144f);
    q = fmaf(q, r, 0.50000001f);
    q = fmaf(q, r, 1.f);
    value = q * r;
    shift = __float_as_uint(t);
  }
  // v 2^n, if neither v nor the result is subnormal.
  __device__ float scale(float v) const { return __uint_as_float(__float_as_uint(v) + (shift << 23)); }
};

// a e^-(hi + lo) / (1 + e^-(hi + lo)), T of SiLU and GELUTanh in float
__device__ inline float gate_tail(float a, float hi, float lo) {
  Exponential const e(hi, lo);
  float const n = fmaf(a, e.value, a), n_rest = fmaf(a, e.value, a - n);
  float const one = e.scale(1.f), power = fmaf(e.value, one, one);
  float const d = 1 + power, d_rest = power - (d - 1);
  float const r = approximate_reciprocal(d), q = n * r;
  return e.scale(fmaf(fmaf(-q, d_rest, fmaf(-q, d, n)) + n_rest, r, q));
}

// max(x, 0), but -0 for negative x and for -0. fmaxf could return +0. With -0 the difference has the sign of x if T is 0.
__device__ inline float upper(float x) {
  float y;
  asm("max.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(-0.f));
  return y;
}

// |min(x, 128)|, which propagates NaN. T is 0 from 128 on, so that a larger positive x, also +inf, gives x. A negative x
// below -128 gives 0, and -inf gives NaN.
__device__ inline float bounded(float x) {
  float y;
  asm("min.NaN.f32 %0, %1, %2;" : "=f"(y) : "f"(x), "f"(128.f));
  return fabsf(y);
}

// A smooth operation has two forms for float: `quick` for |x| <= limit, without subnormal intermediate results, and
// `exact`, in double, for larger ones.
template <class Op>
__device__ __noinline__ void either(float* x, int n) {
  for (int e = 0; e < n; ++e) {
    x[e] = fabsf(x[e]) <= Op::limit ? Op::quick(x[e]) : static_cast<float>(Op::exact(static_cast<double>(x[e])));
  }
}

struct GELU {
  static constexpr float limit = 12.5f;

  // T(a) = v e^(L(v) - a^2/2) with v = a/(a + 2) = 1 - 1/(a/2 + 1). The polynomial L approximates log(T(a)/v) + a^2/2
  // to 2^-26.
  static __device__ float quick(float x) {
    float const a = fabsf(x), half = 0.5f * a;
    float const r = approximate_reciprocal(half + 1), w = 1 - r;
    float const v = fmaf(r, fmaf(half, r, -w), w);  // w, corrected for the errors of r and of half + 1
    float p = 0.203505576f;
    p = fmaf(p, v, -0.609581709f);
    p = fmaf(p, v, 0.621900141f);
    p = fmaf(p, v, -0.32634005f);
    p = fmaf(p, v, 0.152505621f);
    p = fmaf(p, v, 0.0665232167f);
    p = fmaf(p, v, 0.0363054574f);
    p = fmaf(p, v, -0.0988499746f);
    p = fmaf(p, v, -0.369075328f);
    p = fmaf(p, v, -0.595767319f);
    // L - a^2/2 = n log 2 + y. The error of n log 2 in float grows with n, which grows as a^2; p compensates for it.
    float const hi = half * a, lo = fmaf(half, a, -hi);
    float const t = fmaf(fmaf(p, v, -hi), 1.44269504f, 12582912.f), n = t - 12582912.f;
    float const y = fmaf(n, -0.693147182f, -hi) + fmaf(p, v, -lo);
    float q = 0.00138123066f;
    q = fmaf(q, y, 0.00836982392f);
    q = fmaf(q, y, 0.041668497f);
    q = fmaf(q, y, 0.166665107f);
    q = fmaf(q, y, 0.49999994f);
    float const s = fmaf(v, fmaf(q, y * y, y), v);
    return upper(x) - __uint_as_float(__float_as_uint(s) + (__float_as_uint(t) << 23));
  }
  static __device__ double exact(double x) { return x * normcdf(x); }
  // p is 24 + log2 Q(a), to 2^-18 over the range of float16's T(a), and (Brief) to 2^-10.6 over bfloat16's. For larger a
  // it decreases. The factor 2^24 avoids subnormals, which the hardware would flush to 0.
  template <bool Brief = false>
  static __device__ float rough(float x) {
    float const a = bounded(x);
    float p = Brief ? -2.8098484e-07f : -1.82132597e-06f;
    p = fmaf(p, a, Brief ? 1.61696067e-05f : 6.13696847e-05f);
    p = fmaf(p, a, Brief ? -0.000391030818f : -0.000929030538f);
    p = fmaf(p, a, Brief ? 0.00523207725f : 0.0085031538f);
    p = fmaf(p, a, Brief ? -0.0434830177f : -0.0539525633f);
    p = fmaf(p, a, Brief ? -0.474728913f : -0.458469876f);
    p = fmaf(p, a, Brief ? -1.14167129f : -1.1512496f);
    p = fmaf(p, a, Brief ? 22.9990762f : 23.0000046f);
    return fmaf(-a, 0x1p-24f * approximate_exp2(p), upper(x));
  }
};

// a E / (1 + E), E = 2^-y
__device__ inline float rough_tail(float a, float y) {
  float const e = __fmul_rn(0x1p-24f, approximate_exp2(24 - y));
  return __fmul_rn(a, e * approximate_reciprocal(1 + e));
}

// x / (1 + 2^-(x (c1 + c3 x^2)))
__device__ inline float rough_gate(float x, float c1, float c3) {
  float const a = bounded(x);
  return upper(x) - rough_tail(a, __fmul_rn(a, fmaf(c3 * a, a, c1)));
}

__device__ inline double gated(double x, double v) {
  double const e = exp(-fabs(v));
  return v >= 0 ? x / (1 + e) : x * e / (1 + e);
}

struct GELUTanh {
  static constexpr float limit = 9.f, c1 = 2.3022082f, c3 = 0.10294324f;

  static __device__ float quick(float x) {
    // w = a (c1 + c3 a^2) in two floats.
    constexpr double c1 = 1.5957691216057308, c3 = c1 * 0.044715;
    constexpr float c1_hi = static_cast<float>(c1), c1_lo = static_cast<float>(c1 - c1_hi);
    constexpr float c3_hi = static_cast<float>(c3), c3_lo = static_cast<float>(c3 - c3_hi);
    float const a = fabsf(x);
    float const s = a * a, s_rest = fmaf(a, a, -s);
    float const m = __fmul_rn(c3_hi, s), m_rest = fmaf(c3_hi, s, -m);
    float const t = m + c1_hi, b = t - m;
    float const t_rest = fmaf(c3_hi, s_rest, fmaf(c3_lo, s, (m - (t - b)) + (c1_hi - b) + m_rest)) + c1_lo;
    float const w = a * t;
    return upper(x) - gate_tail(a, w, fmaf(a, t_rest, fmaf(a, t, -w)));
  }
  static __device__ double exact(double x) { return gated(x, 1.5957691216057308 * x * (1 + 0.044715 * x * x)); }
  template <bool Brief = false>
  static __device__ float rough(float x) { return rough_gate(x, c1, c3); }
};

struct SiLU {
  static constexpr float limit = 80.f, c1 = 1.44269504f;

  static __device__ float quick(float x) {
    float const a = fabsf(x);
    return upper(x) - gate_tail(a, a, 0.f);
  }
  static __device__ double exact(double x) { return gated(x, x); }
  template <bool Brief = false>
  static __device__ float rough(float x) {
    float const a = bounded(x);
    return upper(x) - rough_tail(a, __fmul_rn(c1, a));  // rough_gate with c3 = 0
  }
};

}  // namespace gpk
