// element.cuh: element types and conversions between them.
//
// Conversions give the same bits as those of internal/cpu. They round once.
#pragma once
#include <cuda_runtime.h>
#include <stdint.h>

#include "gpk.h"

namespace gpk {

struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};
struct boolean {
  uint8_t bits;
};
template <class R>
struct alignas(2 * sizeof(R)) cx {
  using real = R;
  R re, im;
};
using c64 = cx<float>;
using c128 = cx<double>;

// Expands F(number, type) for every element type. The numbers are those of gpk.h.
#define GPK_TYPES(F)                                                                                             \
  F(GPK_F32, float) F(GPK_F64, double) F(GPK_F16, f16) F(GPK_BF16, bf16) F(GPK_I8, int8_t) F(GPK_U8, uint8_t)    \
  F(GPK_I32, int32_t) F(GPK_I64, int64_t) F(GPK_BOOL, boolean) F(GPK_C64, c64) F(GPK_C128, c128)                 \
  F(GPK_I16, int16_t) F(GPK_U16, uint16_t) F(GPK_U32, uint32_t) F(GPK_U64, uint64_t)

template <class T>
constexpr bool is_half = false;
template <>
constexpr bool is_half<f16> = true;
template <>
constexpr bool is_half<bf16> = true;
template <class T>
constexpr bool is_complex = false;
template <class R>
constexpr bool is_complex<cx<R>> = true;
template <class T>
constexpr bool is_float = is_half<T>;
template <>
constexpr bool is_float<float> = true;
template <>
constexpr bool is_float<double> = true;
template <class T>
constexpr bool is_integer = !is_float<T> && !is_complex<T>;
template <>
constexpr bool is_integer<boolean> = false;
template <class T>
constexpr bool is_unsigned = __is_same(T, uint8_t) || __is_same(T, uint16_t) || __is_same(T, uint32_t) || __is_same(T, uint64_t);

// ---- half types

__device__ inline float to_float(f16 x) {
  float f;
  asm("cvt.f32.f16 %0, %1;" : "=f"(f) : "h"(x.bits));
  return f;
}
__device__ inline float to_float(bf16 x) { return __uint_as_float(static_cast<uint32_t>(x.bits) << 16); }

template <class H>
__device__ inline H to_half(float x) {
  H h;
  if constexpr (sizeof(H) == 2 && __is_same(H, f16)) {
    asm("cvt.rn.f16.f32 %0, %1;" : "=h"(h.bits) : "f"(x));
  } else {
    asm("cvt.rn.bf16.f32 %0, %1;" : "=h"(h.bits) : "f"(x));
  }
  return h;
}

// Converts N numbers to halves, two per instruction. The results should not be converted back to float: converting
// each half on its own costs a slow instruction.
template <class H, int N>
__device__ inline void to_halves(float const (&x)[N], H (&y)[N]) {
#pragma unroll
  for (int e = 0; e + 1 < N; e += 2) {
    // Both halves are in one register, and stay there without a move.
    if constexpr (__is_same(H, f16)) {
      asm("{\n\t.reg .b32 both;\n\tcvt.rn.f16x2.f32 both, %2, %3;\n\tmov.b32 {%0, %1}, both;\n\t}"
          : "=h"(y[e].bits), "=h"(y[e + 1].bits)
          : "f"(x[e + 1]), "f"(x[e]));
    } else {
      asm("{\n\t.reg .b32 both;\n\tcvt.rn.bf16x2.f32 both, %2, %3;\n\tmov.b32 {%0, %1}, both;\n\t}"
          : "=h"(y[e].bits), "=h"(y[e + 1].bits)
          : "f"(x[e + 1]), "f"(x[e]));
    }
  }
  if constexpr (N % 2 == 1) y[N - 1] = to_half<H>(x[N - 1]);
}

// Returns x if float represents it, otherwise the neighbour of x with an odd last bit. The result rounds to the same
// half as x, because float has more than two bits beyond either half type (Boldo and Melquiond, 2005).
__device__ inline float round_to_odd(double x) {
  float const r = __double2float_rz(x);
  return static_cast<double>(r) == x || x != x ? r : __uint_as_float(__float_as_uint(r) | 1);
}

// Returns a double that round_to_odd and a rounding to half convert to the same half as u: the upper 32 significant
// bits of u, with the last one set if a lower bit is set.
__device__ inline double magnitude_rounded_to_odd(uint64_t u) {
  int const n = 32 - __clzll(static_cast<long long>(u));
  if (n > 0) {
    uint64_t const low = (uint64_t{1} << n) - 1;
    u = (u & ~low) | ((u & low) != 0 ? low + 1 : 0);
  }
  return __ull2double_rn(u);
}
template <class T>
__device__ inline double rounded_to_odd(T v) {
  if constexpr (is_unsigned<T>) {
    return magnitude_rounded_to_odd(v);
  } else {
    double const d = magnitude_rounded_to_odd(v < 0 ? -static_cast<uint64_t>(v) : static_cast<uint64_t>(v));
    return v < 0 ? -d : d;
  }
}

// ---- conversions
//
// Conversions to integers truncate and saturate; NaN becomes 0. A conversion to boolean is x != 0. A conversion of a
// complex number to a real type drops the imaginary part.

template <class D, class S>
__device__ inline D saturate(S x) {
  constexpr int64_t lo = sizeof(D) == 8 ? INT64_MIN : D(-1) > D(0) ? 0 : -(int64_t{1} << (8 * sizeof(D) - 1));
  constexpr int64_t hi = sizeof(D) == 8 ? INT64_MAX : lo == 0 ? (int64_t{1} << (8 * sizeof(D) % 64)) - 1 : -(lo + 1);
  if constexpr (__is_same(S, float)) {
    if (x != x) return 0;
    if constexpr (__is_same(D, uint64_t)) return __float2ull_rz(x);
    if constexpr (__is_same(D, uint32_t)) return __float2uint_rz(x);
    if constexpr (sizeof(D) == 8) return __float2ll_rz(x);
    int32_t const v = __float2int_rz(x);
    return static_cast<D>(v < lo ? lo : v > hi ? hi : v);
  } else if constexpr (__is_same(S, double)) {
    if (x != x) return 0;
    if constexpr (__is_same(D, uint64_t)) return __double2ull_rz(x);
    if constexpr (__is_same(D, uint32_t)) return __double2uint_rz(x);
    if constexpr (sizeof(D) == 8) return __double2ll_rz(x);
    int32_t const v = __double2int_rz(x);
    return static_cast<D>(v < lo ? lo : v > hi ? hi : v);
  } else if constexpr (__is_same(D, long long)) {
    return static_cast<D>(x);  // D accumulates sums and products, which wrap
  } else if constexpr (__is_same(D, uint64_t)) {
    if constexpr (is_unsigned<S>) {
      return x;
    } else {
      return x < 0 ? 0 : static_cast<D>(x);
    }
  } else if constexpr (__is_same(S, uint64_t)) {
    return static_cast<D>(x > static_cast<uint64_t>(hi) ? hi : static_cast<int64_t>(x));
  } else {
    int64_t const v = x;
    return static_cast<D>(v < lo ? lo : v > hi ? hi : v);
  }
}

template <class D, class S>
__device__ inline D convert(S x) {
  if constexpr (__is_same(D, S)) {
    return x;
  } else if constexpr (is_complex<D>) {
    using R = typename D::real;
    if constexpr (is_complex<S>) {
      return {convert<R>(x.re), convert<R>(x.im)};
    } else {
      return {convert<R>(x), R(0)};
    }
  } else if constexpr (__is_same(D, boolean)) {
    if constexpr (is_complex<S>) {
      return {static_cast<uint8_t>(x.re != 0 || x.im != 0)};
    } else if constexpr (is_half<S>) {
      return {static_cast<uint8_t>((x.bits & 0x7fff) != 0)};
    } else {
      return {static_cast<uint8_t>(x != 0)};
    }
  } else if constexpr (is_complex<S>) {
    return convert<D>(x.re);
  } else if constexpr (is_half<S>) {
    return convert<D>(to_float(x));
  } else if constexpr (__is_same(S, boolean)) {
    return convert<D>(static_cast<uint8_t>(x.bits != 0));
  } else if constexpr (is_half<D>) {
    if constexpr (__is_same(S, float)) {
      return to_half<D>(x);
    } else if constexpr (__is_same(S, double)) {
      return to_half<D>(round_to_odd(x));
    } else if constexpr (sizeof(S) <= 2) {
      return to_half<D>(static_cast<float>(x));
    } else {
      return to_half<D>(round_to_odd(rounded_to_odd(x)));
    }
  } else if constexpr (is_integer<D>) {
    return saturate<D>(x);
  } else {
    return static_cast<D>(x);  // rounds to nearest
  }
}

}  // namespace gpk
