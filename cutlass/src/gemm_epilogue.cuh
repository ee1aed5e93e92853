// gemm_epilogue.cuh: D = act(alpha * acc + bias) in float32. The activation is chosen at run time, so that one kernel
// serves the plain product and every LinearBias. With GPK_ACT_STEPS the epilogue rounds to D's type after each step
// instead, and has the bits of the element-wise operations.
#pragma once
#include <math.h>

#include "cutlass/array.h"
#include "cutlass/cutlass.h"
#include "cutlass/numeric_conversion.h"
#include "gpk_gemm.h"
#include "smooth.cuh"

namespace gpk {

// The kind of an epilogue. A kernel chooses it once per tile: an unrolled epilogue that branches for each element spends
// time even on the instructions that it skips.
//
//  alpha_only       alpha * acc
//  clip_or_sigmoid  the families clip and sigmoid of Activation
//  normal           the family normal of Activation
//  steps            rounding after each step
//  any              chosen for each element
enum class EpilogueKind : int { alpha_only, clip_or_sigmoid, normal, steps, any };

// An activation, as one of three families of formulas, which keeps the unrolled epilogue small:
//
//   clip     max(x, low)                          none (low = -inf), ReLU (low = 0)
//   sigmoid  x / (1 + 2^(x (c1 + c3 x^2)))        SiLU, tanh-form GELU
//   normal   x Phi(x)                             GELU
//
// The tanh form of GELU is a sigmoid, since (1 + tanh u) / 2 = 1 / (1 + exp(-2u)) with
// u = sqrt(2/pi) (x + 0.044715 x^3). The sigmoid needs no subtraction, so that the tail for negative x keeps its
// relative accuracy.
struct Activation {
  enum Family : int { clip, sigmoid, normal };

  Family family = clip;
  float low = -INFINITY;
  float c1 = 0, c3 = 0;

  // The same exponent, x (c1 + c3 x^2), as c x (k + q x^2), with c and k in two floats each.
  float c = 0, c_low = 0, k = 0, k_low = 0, q = 0;
  float limit = 0;  // the |x| at which the exponent is 126.6

  // Whether each step is rounded (GPK_ACT_STEPS), and whether there is a bias.
  bool steps = false, bias = false;

  Activation() = default;

  Activation(int act, bool with_bias) : steps(act & GPK_ACT_STEPS), bias(with_bias) {
    switch (act & ~GPK_ACT_STEPS) {
      case GPK_ACT_RELU: low = 0; break;
      // c3 is not 0, because 0 times an infinite x^2 would be NaN.
      case GPK_ACT_SILU:
        family = sigmoid, c1 = -1.442695041f, c3 = -1e-30f;
        c = -1.442695022f, c_low = -1.925963034e-08f, k = 1, limit = 87.8f;
        break;
      case GPK_ACT_GELU_TANH:
        family = sigmoid, c1 = -2.302208198f, c3 = -0.1029432396f;
        c = -0.1029432416f, c_low = 2.016198541e-09f, k = 22.36386108f, k_low = -1.081747996e-06f, q = 1, limit = 10.02f;
        break;
      case GPK_ACT_GELU: family = normal; break;
    }
  }

  EpilogueKind kind() const {
    if (steps) return EpilogueKind::steps;
    if (family == normal) return EpilogueKind::normal;
    return family == sigmoid || low == 0 || bias ? EpilogueKind::clip_or_sigmoid : EpilogueKind::alpha_only;
  }
};

// A maximum that propagates NaN. The conversion to a 16-bit type makes every NaN canonical.
CUTLASS_DEVICE float max_nan(float x, float y) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(x), "f"(y));
  return r;
}

// 2^x and 1/x by the special function unit, to 2 and 1 units in the last place.
CUTLASS_DEVICE float exp2_fast(float x) {
  float r;
  asm("ex2.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

CUTLASS_DEVICE float reciprocal_fast(float x) {
  float r;
  asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(r) : "f"(x));
  return r;
}

// x sigmoid for 16-bit and Rough results. The rounding error of the exponent is a relative error of 2e-6 in results
// near 1e-10, and a smaller one in larger results.
CUTLASS_DEVICE float sigmoid_half(float x, Activation const& act) {
  return x * reciprocal_fast(1.f + exp2_fast(x * fmaf(act.c3, x * x, act.c1)));
}

// x sigmoid for float32 results, with the exponent in two floats. The last bit of k is 2^-15. So k - s is exact, and with
// it the rounding error of s. At act.limit the reciprocal is already 0.
CUTLASS_DEVICE float sigmoid_float(float x, Activation const& act) {
  float const z = fminf(fmaxf(x, -act.limit), act.limit);
  float const y = act.q * z, s = fmaf(y, z, act.k);
  float const s_low = fmaf(y, z, act.k - s) + act.k_low;
  float const w = act.c * z, w_low = fmaf(act.c_low, z, fmaf(act.c, z, -w));
  float const a = w * s;
  float const a_low = fmaf(w_low, s, fmaf(w, s_low, fmaf(w, s, -a)));
  float const e = exp2_fast(a), d = 1.f + fmaf(0.6931471806f * a_low, e, e);
  float const r = reciprocal_fast(d);
  return x * fmaf(fmaf(-d, r, 1.f), r, r);
}

// x Phi(x) for bfloat16 results that are rounded once; the error of GELU::rough would be visible. With z = |x| and
// t = 1 / (1 + w z) the upper tail of the normal distribution is Q(z) = exp(-z^2/2) t p(t), and p is nearly a polynomial.
//
// Degree 4, relative error 1.1e-5 for z <= 6. For larger z, x Q is below 1e-8.
CUTLASS_DEVICE float gelu_half(float x) {
  float const z = fabsf(x);
  float const t = reciprocal_fast(fmaf(0.3625f, z, 1.f));
  float p = -0.09564644f;
  p = fmaf(p, t, 0.239333f);
  p = fmaf(p, t, 0.05146928f);
  p = fmaf(p, t, 0.16174933f);
  p = fmaf(p, t, 0.14308952f);
  float const q = exp2_fast(-0.7213475204f * x * x) * (p * t);
  return x * (x > 0 ? 1.f - q : q);
}

// x Phi(x) for float32 results: degree 8, relative error 6e-8 for z <= 14. For larger z, Q underflows. a_low is the
// rounding error of the exponent a, which the exponential would magnify.
CUTLASS_DEVICE float gelu_float(float x) {
  float const z = fminf(fabsf(x), 20.f);
  float const t = reciprocal_fast(fmaf(0.35f, z, 1.f));
  float p = -0.029146362f;
  p = fmaf(p, t, 0.14397377f);
  p = fmaf(p, t, -0.25571844f);
  p = fmaf(p, t, 0.15917884f);
  p = fmaf(p, t, -0.023112971f);
  p = fmaf(p, t, 0.10550929f);
  p = fmaf(p, t, 0.11983255f);
  p = fmaf(p, t, 0.13986191f);
  p = fmaf(p, t, 0.13962141f);
  float const c = -0.7213475204f, h = z * z, a = c * h;
  float const a_low = fmaf(c, fmaf(z, z, -h), fmaf(c, h, -a));
  float const e = exp2_fast(a);
  float const q = fmaf(0.6931471806f * a_low, e, e) * (p * t);
  return x * (x > 0 ? 1.f - q : q);
}

template <class Out, int N>
CUTLASS_DEVICE void round_to(cutlass::Array<float, N>& x) {
  if constexpr (sizeof(Out) == 2) {
    x = cutlass::NumericArrayConverter<float, Out, N>{}(cutlass::NumericArrayConverter<Out, float, N>{}(x));
  }
}

// max(x, low), for a result of type Out.
template <class Out>
CUTLASS_DEVICE float clip_low(float x, float low) {
  if constexpr (sizeof(Out) == 2) return max_nan(x, low);
  return x <= low ? low : x;
}

// GELU for a result of type Out that is rounded once.
template <class Out>
CUTLASS_DEVICE float gelu(float x) {
  if constexpr (sizeof(Out) == 4) return gelu_float(x);
  if constexpr (cutlass::platform::is_same<Out, cutlass::bfloat16_t>::value) return gelu_half(x);
  return GELU::rough(x);
}

// The epilogue that rounds after each step. It supports no activation, ReLU, and GELU for 16-bit results; gpk_gemm
// rejects the others.
template <class Out, int N>
CUTLASS_DEVICE void apply_steps(cutlass::Array<float, N>& x, cutlass::Array<float, N> const& bias, float alpha, Activation const& act) {
  CUTLASS_PRAGMA_UNROLL
  for (int i = 0; i < N; ++i) x[i] += 0.f;
  round_to<Out>(x);
  if (alpha != 1) {
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N; ++i) x[i] = __fmul_rn(x[i], alpha);
    round_to<Out>(x);
  }
  if (act.bias) {
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N; ++i) x[i] = __fadd_rn(x[i], bias[i]);
    round_to<Out>(x);
  }
  if (sizeof(Out) == 2 && act.family == Activation::normal) {
    constexpr bool brief = cutlass::platform::is_same<Out, cutlass::bfloat16_t>::value;
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N; ++i) x[i] = GELU::rough<brief>(x[i]);
  } else {
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N; ++i) x[i] = clip_low<Out>(x[i], act.low);
  }
}

// Applies the epilogue to accumulators. The caller rounds the results to Out. `bias` is 0 if there is none. Rough: the
// product has TF32's precision or less, so that its error exceeds that of sigmoid_half. Kind is act.kind(), or
// EpilogueKind::any.
template <class Out, bool Rough = false, EpilogueKind Kind = EpilogueKind::any, int N>
CUTLASS_DEVICE cutlass::Array<float, N> apply_epilogue(cutlass::Array<float, N> const& sum, cutlass::Array<float, N> const& bias,
                                               float alpha, Activation const& act) {
  if constexpr (Kind == EpilogueKind::any) {
    if (act.steps) return apply_epilogue<Out, Rough, EpilogueKind::steps>(sum, bias, alpha, act);
    if (act.family == Activation::normal) return apply_epilogue<Out, Rough, EpilogueKind::normal>(sum, bias, alpha, act);
    return apply_epilogue<Out, Rough, EpilogueKind::clip_or_sigmoid>(sum, bias, alpha, act);
  }
  cutlass::Array<float, N> x = sum;
  if constexpr (Kind == EpilogueKind::steps) {
    apply_steps<Out>(x, bias, alpha, act);
    return x;
  }
  CUTLASS_PRAGMA_UNROLL
  for (int i = 0; i < N; ++i) x[i] = fmaf(alpha, sum[i], bias[i]);
  if constexpr (Kind == EpilogueKind::normal) {
    CUTLASS_PRAGMA_UNROLL
    for (int i = 0; i < N; ++i) x[i] = gelu<Out>(x[i]);
  } else if constexpr (Kind == EpilogueKind::clip_or_sigmoid) {
    if (act.family == Activation::clip) {
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < N; ++i) x[i] = clip_low<Out>(x[i], act.low);
    } else {
      CUTLASS_PRAGMA_UNROLL
      for (int i = 0; i < N; ++i) x[i] = Rough || sizeof(Out) == 2 ? sigmoid_half(x[i], act) : sigmoid_float(x[i], act);
    }
  }
  return x;
}

}  // namespace gpk
