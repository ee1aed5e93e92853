// factor_tensor.cuh: products of 16 x 8 by 8 x 8 elements by the tensor cores, with the precision of the type: float64 by
// DMMA, float32 by three TF32 products, complex numbers by four real products.
//
// With g = lane / 4 and t = lane % 4, a thread has the elements (g, t), (g + 8, t), (g, t + 4), (g + 8, t + 4) of the left
// operand, (t, g), (t + 4, g) of the right operand, and (g, 2t), (g, 2t + 1), (g + 8, 2t), (g + 8, 2t + 1) of the sum.
#pragma once
#include "factor_number.cuh"

namespace gpk {
namespace factor {
namespace {

#ifndef GPK_EMULATED
__device__ inline uint32_t to_tf32(float x) {
  uint32_t u;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(u) : "f"(x));
  return u;
}

__device__ inline void multiply_tf32(float (&c)[4], uint32_t const (&a)[4], uint32_t const (&b)[2]) {
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b[0]), "r"(b[1]));
}

__device__ inline void multiply_f64(double (&c)[4], double const (&a)[4], double const (&b)[2]) {
#if __CUDA_ARCH__ >= 900
  asm volatile(
      "mma.sync.aligned.m16n8k8.row.col.f64.f64.f64.f64 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+d"(c[0]), "+d"(c[1]), "+d"(c[2]), "+d"(c[3])
      : "d"(a[0]), "d"(a[1]), "d"(a[2]), "d"(a[3]), "d"(b[0]), "d"(b[1]));
#else
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    double* const d = &c[2 * (i % 2)];
    asm volatile("mma.sync.aligned.m8n8k4.row.col.f64.f64.f64.f64 {%0, %1}, {%2}, {%3}, {%0, %1};"
                 : "+d"(d[0]), "+d"(d[1])
                 : "d"(a[i]), "d"(b[i / 2]));
  }
#endif
}

// Starts a copy of `bytes` bytes from global to shared memory, and fills the rest of the BYTES with zeros.
template <int BYTES>
__device__ inline void cp_async_zfill(void* to, void const* from, int bytes) {
  uint32_t const at = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  if constexpr (BYTES == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(BYTES), "r"(bytes) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2, %3;" ::"r"(at), "l"(from), "n"(BYTES), "r"(bytes) : "memory");
  }
}
__device__ inline void cp_async_commit() { asm volatile("cp.async.commit_group;" ::: "memory"); }
template <int N>
__device__ inline void cp_async_wait() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}
#endif

template <class T>
struct Tensor;

template <>
struct Tensor<float> {
  struct Left {
    uint32_t high[4], low[4];
  };
  struct Right {
    uint32_t high[2], low[2];
  };
  struct Sum {
    float v[4];
  };

  // x = high + low with a relative error of 2^-22.
  static __device__ void split(float x, uint32_t* high, uint32_t* low) {
    *high = to_tf32(x);
    *low = to_tf32(x - __uint_as_float(*high));
  }
  static __device__ Left left(float const (&x)[4]) {
    Left l;
#pragma unroll
    for (int i = 0; i < 4; ++i) split(x[i], &l.high[i], &l.low[i]);
    return l;
  }
  static __device__ Right right(float const (&x)[2]) {
    Right r;
#pragma unroll
    for (int i = 0; i < 2; ++i) split(x[i], &r.high[i], &r.low[i]);
    return r;
  }
  static __device__ void multiply(Sum& c, Left const& a, Right const& b) {
    multiply_tf32(c.v, a.low, b.high);
    multiply_tf32(c.v, a.high, b.low);
    multiply_tf32(c.v, a.high, b.high);
  }
  static __device__ float at(Sum const& c, int i) { return c.v[i]; }
};

template <>
struct Tensor<double> {
  struct Left {
    double v[4];
  };
  struct Right {
    double v[2];
  };
  struct Sum {
    double v[4];
  };
  static __device__ Left left(double const (&x)[4]) { return {{x[0], x[1], x[2], x[3]}}; }
  static __device__ Right right(double const (&x)[2]) { return {{x[0], x[1]}}; }
  static __device__ void multiply(Sum& c, Left const& a, Right const& b) { multiply_f64(c.v, a.v, b.v); }
  static __device__ double at(Sum const& c, int i) { return c.v[i]; }
};

template <class R>
struct Tensor<Complex<R>> {
  using Part = Tensor<R>;
  struct Left {
    typename Part::Left re, im;
  };
  struct Right {
    typename Part::Right re, im, minus;
  };
  struct Sum {
    typename Part::Sum re, im;
  };
  static __device__ Left left(Complex<R> const (&x)[4]) {
    R re[4], im[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) re[i] = x[i].re, im[i] = x[i].im;
    return {Part::left(re), Part::left(im)};
  }
  static __device__ Right right(Complex<R> const (&x)[2]) {
    R const re[2] = {x[0].re, x[1].re}, im[2] = {x[0].im, x[1].im}, minus[2] = {-x[0].im, -x[1].im};
    return {Part::right(re), Part::right(im), Part::right(minus)};
  }
  static __device__ void multiply(Sum& c, Left const& a, Right const& b) {
    Part::multiply(c.re, a.re, b.re);
    Part::multiply(c.re, a.im, b.minus);
    Part::multiply(c.im, a.re, b.im);
    Part::multiply(c.im, a.im, b.re);
  }
  static __device__ Complex<R> at(Sum const& c, int i) { return {Part::at(c.re, i), Part::at(c.im, i)}; }
};

}  // namespace
}  // namespace factor
}  // namespace gpk
