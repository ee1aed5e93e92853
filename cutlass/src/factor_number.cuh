// factor_number.cuh: the arithmetic of the factorizations, for the four element types.
#pragma once
#ifndef GPK_EMULATED  // which is defined if testdata/emulate compiles the kernels for the host
#include "dependent.cuh"
#define GPK_FACTOR_SHARED(name) extern __shared__ __align__(16) char name[]
#define GPK_FACTOR_HOST_DEVICE __host__ __device__ inline
#endif
#include <stdint.h>

namespace gpk {
namespace factor {
namespace {

template <class R>
struct alignas(2 * sizeof(R)) Complex {
  R re, im;
};

template <class T>
struct Number {
  using Real = T;
  static constexpr bool complex = false;
};
template <class R>
struct Number<Complex<R>> {
  using Real = R;
  static constexpr bool complex = true;
};
template <class T>
using Real = typename Number<T>::Real;

// micro: the number of columns that are factored in registers. block: the order of a diagonal block.
template <class T>
constexpr int micro = Number<T>::complex ? 4 : 8;
template <class T>
constexpr int block = 8 * micro<T>;

// 16 bytes of elements.
template <class T>
constexpr int vector_length = 16 / static_cast<int>(sizeof(T));
template <class T>
struct alignas(16) Vector {
  T v[vector_length<T>];
};

// Loads or stores COUNT elements of shared memory in vectors of 16 bytes. The address is a multiple of 16.
template <int COUNT, class T>
__device__ inline void load_vectors(T (&to)[COUNT], T const* from) {
#pragma unroll
  for (int i = 0; i < COUNT; i += vector_length<T>) {
    Vector<T> const w = *reinterpret_cast<Vector<T> const*>(from + i);
#pragma unroll
    for (int k = 0; k < vector_length<T>; ++k) to[i + k] = w.v[k];
  }
}
template <int COUNT, class T>
__device__ inline void store_vectors(T* to, T const (&from)[COUNT]) {
#pragma unroll
  for (int i = 0; i < COUNT; i += vector_length<T>) {
    Vector<T> w;
#pragma unroll
    for (int k = 0; k < vector_length<T>; ++k) w.v[k] = from[i + k];
    *reinterpret_cast<Vector<T>*>(to + i) = w;
  }
}

__device__ inline float fused(float a, float b, float c) { return fmaf(a, b, c); }
__device__ inline double fused(double a, double b, double c) { return fma(a, b, c); }

template <class R>
__device__ inline R real_part(R x) { return x; }
template <class R>
__device__ inline R real_part(Complex<R> x) { return x.re; }

template <class T>
__device__ inline T from_real(Real<T> x) {
  if constexpr (Number<T>::complex) {
    return T{x, 0};
  } else {
    return x;
  }
}

template <class R>
__device__ inline R conjugate(R x, bool) { return x; }
template <class R>
__device__ inline Complex<R> conjugate(Complex<R> x, bool conj) { return {x.re, conj ? -x.im : x.im}; }

// c - a b and c - a conj(b).
template <class R>
__device__ inline R fnma(R c, R a, R b) { return fused(-a, b, c); }
template <class R>
__device__ inline Complex<R> fnma(Complex<R> c, Complex<R> a, Complex<R> b) {
  return {fused(a.im, b.im, fused(-a.re, b.re, c.re)), fused(-a.im, b.re, fused(-a.re, b.im, c.im))};
}
template <class T>
__device__ inline T fnma_conj(T c, T a, T b) { return fnma(c, a, conjugate(b, true)); }

template <class R>
__device__ inline R difference(R a, R b) { return a - b; }
template <class R>
__device__ inline Complex<R> difference(Complex<R> a, Complex<R> b) { return {a.re - b.re, a.im - b.im}; }

template <class R>
__device__ inline R scaled(R a, R s) { return a * s; }
template <class R>
__device__ inline Complex<R> scaled(Complex<R> a, R s) { return {a.re * s, a.im * s}; }

// a / b. The complex quotient is Smith's (Algorithm 116, CACM 5, 1962), which avoids overflow of intermediate results.
template <class R>
__device__ inline R quotient(R a, R b) { return a / b; }
template <class R>
__device__ inline Complex<R> quotient(Complex<R> a, Complex<R> b) {
  if ((b.re < 0 ? -b.re : b.re) >= (b.im < 0 ? -b.im : b.im)) {
    R const s = b.im / b.re, den = fused(b.im, s, b.re);
    return {fused(a.im, s, a.re) / den, fused(-a.re, s, a.im) / den};
  }
  R const s = b.re / b.im, den = fused(b.re, s, b.im);
  return {fused(a.re, s, a.im) / den, fused(a.im, s, -a.re) / den};
}

// The square root of d, to 1 ulp after a Newton step, and its inverse, to 2 ulp. Both are in the type's range.
template <class R>
__device__ inline void root_and_inverse(R d, R* root, R* inverse) {
  R r;
  if constexpr (sizeof(R) == 4) {
    r = rsqrtf(d);
  } else {
    r = rsqrt(d);
  }
  R const l = d * r;
  *root = fused(R(0.5) * r, fused(-l, l, d), l);
  *inverse = r;
}

// Whether d > 0 and d is finite, as a pivot of Cholesky's factorization has to be.
__device__ inline bool positive_finite(float d) { return d > 0 && d <= 3.402823466e38f; }
__device__ inline bool positive_finite(double d) { return d > 0 && d <= 1.7976931348623157e308; }

__device__ inline float shuffle(float x, int lane) { return __shfl_sync(0xffffffffu, x, lane); }
__device__ inline double shuffle(double x, int lane) { return __shfl_sync(0xffffffffu, x, lane); }
template <class R>
__device__ inline Complex<R> shuffle(Complex<R> x, int lane) { return {shuffle(x.re, lane), shuffle(x.im, lane)}; }

// Records that the leading minor of this order is not positive; see gpk_factor.h.
__device__ inline void record_failure(long long* flags, int64_t member, int order) {
  atomicMin(flags, static_cast<long long>(member << 32 | order));
}

}  // namespace
}  // namespace factor
}  // namespace gpk
