// factor_det.cuh: determinants of small matrices, from L and U.
#pragma once
#include "factor_lu_small.cuh"

namespace gpk {
namespace factor {
namespace {

struct Det {
  uint64_t a, order, dst, log;  // log: 0 for determinants
  int64_t pitch, a_member, order_member;
  int n;
};

template <class T>
struct DetShared {
  T diagonal[small_lu_side];
  int order[small_lu_side], inversions[small_lu_side];
};

// A number fraction 2^exponent times a sign, which has absolute value 1. It neither overflows nor underflows.
struct Scaled {
  double re, im, fraction;
  int exponent;

  static __device__ bool finite(double x) { return x <= 1.7976931348623157e308; }  // for x >= 0 and NaN

  __device__ void multiply(double r, double i) {
    double abs = i == 0 ? fabs(r) : hypot(r, i);
    if (abs == 0) {
      re = im = fraction = 0;
      return;
    }
    r /= abs, i /= abs;
    double const product = re * r - im * i;
    im = re * i + im * r, re = product;
    int of_abs = 0, of_product = 0;
    if (finite(abs)) abs = frexp(abs, &of_abs);
    fraction *= abs;
    if (finite(fraction)) fraction = frexp(fraction, &of_product);
    exponent += of_abs + of_product;
  }
};

template <class T>
__device__ inline T complex_or_real(double re, double im) {
  if constexpr (Number<T>::complex) {
    return T{static_cast<Real<T>>(re), static_cast<Real<T>>(im)};
  } else {
    return static_cast<T>(re);
  }
}

template <class R>
__device__ inline R imaginary_part(R) { return 0; }
template <class R>
__device__ inline R imaginary_part(Complex<R> x) { return x.im; }

// As GPK_FACTOR_DET. Grid: a CTA for each matrix.
template <class T>
__global__ void __launch_bounds__(small_lu_side) factor_det(Det p) {
  GPK_FACTOR_SHARED(shared);
  DetShared<T>& s = *reinterpret_cast<DetShared<T>*>(shared);
  int const i = static_cast<int>(threadIdx.x);
  begin();
  if (i < p.n) {
    s.diagonal[i] = reinterpret_cast<T const*>(p.a)[blockIdx.x * p.a_member + i * (p.pitch + 1)];
    s.order[i] = static_cast<int>(reinterpret_cast<int64_t const*>(p.order)[blockIdx.x * p.order_member + i]);
  }
  __syncthreads();
  if (i < p.n) {
    int later = 0;
    for (int j = i + 1; j < p.n; ++j) later += s.order[j] < s.order[i];
    s.inversions[i] = later;
  }
  __syncthreads();
  if (i != 0) return;
  int inversions = 0;
  for (int j = 0; j < p.n; ++j) inversions += s.inversions[j];
  Scaled d{inversions % 2 == 0 ? 1.0 : -1.0, 0, 0.5, 1};
  for (int j = 0; j < p.n && d.fraction != 0; ++j) d.multiply(real_part(s.diagonal[j]), imaginary_part(s.diagonal[j]));
  T* const dst = reinterpret_cast<T*>(p.dst) + blockIdx.x;
  if (p.log == 0) {
    double const size = ldexp(d.fraction, d.exponent);
    *dst = complex_or_real<T>(d.re * size, d.im * size);
  } else {
    *dst = complex_or_real<T>(d.re, d.im);
    reinterpret_cast<Real<T>*>(p.log)[blockIdx.x] = static_cast<Real<T>>(log(d.fraction) + d.exponent * 0.693147180559945309417);
  }
}

}  // namespace
}  // namespace factor
}  // namespace gpk
