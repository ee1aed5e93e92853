// chain.cuh: code shared by the kernels of chains, which are compiled at run time. Package fused appends each kernel
// to this header and those that it includes. No other headers are available at run time, and there is no host code.
#pragma once
#include "ops_math.cuh"

namespace gpk {

// As in dependent.cuh.
__device__ inline void begin() {
#if __CUDA_ARCH__ >= 900
  asm volatile("griddepcontrol.wait;" ::: "memory");
  asm volatile("griddepcontrol.launch_dependents;");
#endif
}

// N elements, aligned to their size, but to at most 16 bytes.
template <class T, int N>
struct alignas(N * sizeof(T) < 16 ? N * sizeof(T) : 16) Some {
  T v[N];
};

// Memory is accessed in words of up to 16 bytes. Words of more than four bytes use explicit instructions: the
// compiler splits vectors and does not always combine them again.
template <int Bytes>
struct Word;
template <>
struct Word<16> {
  using type = uint4;
  static __device__ uint4 load(uint4 const* p) {
    uint4 v;
    asm volatile("ld.global.v4.b32 {%0, %1, %2, %3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "l"(p));
    return v;
  }
  static __device__ void store(uint4* p, uint4 v) {
    asm volatile("st.global.v4.b32 [%0], {%1, %2, %3, %4};" ::"l"(p), "r"(v.x), "r"(v.y), "r"(v.z), "r"(v.w) : "memory");
  }
};
template <>
struct Word<8> {
  using type = uint2;
  static __device__ uint2 load(uint2 const* p) {
    uint2 v;
    asm volatile("ld.global.v2.b32 {%0, %1}, [%2];" : "=r"(v.x), "=r"(v.y) : "l"(p));
    return v;
  }
  static __device__ void store(uint2* p, uint2 v) {
    asm volatile("st.global.v2.b32 [%0], {%1, %2};" ::"l"(p), "r"(v.x), "r"(v.y) : "memory");
  }
};
template <class W>
struct ScalarWord {
  using type = W;
  static __device__ W load(W const* p) { return *p; }
  static __device__ void store(W* p, W v) { *p = v; }
};
template <>
struct Word<4> : ScalarWord<uint32_t> {};
template <>
struct Word<2> : ScalarWord<uint16_t> {};
template <>
struct Word<1> : ScalarWord<uint8_t> {};

template <class T, int N>
struct Words {
  static constexpr int bytes = N * sizeof(T), size = bytes < 16 ? bytes : 16, count = bytes / size;
  using word = Word<size>;
  using type = typename word::type;
  type w[count];
};

template <class T, int N>
__device__ inline Some<T, N> load(void const* p, int64_t at) {
  using W = Words<T, N>;
  W x;
#pragma unroll
  for (int i = 0; i < W::count; ++i) {
    x.w[i] = W::word::load(reinterpret_cast<typename W::type const*>(static_cast<T const*>(p) + at) + i);
  }
  Some<T, N> y;
  memcpy(&y, &x, sizeof y);
  return y;
}

template <class T, int N>
__device__ inline void store(void* p, int64_t at, Some<T, N> const& x) {
  using W = Words<T, N>;
  W y;
  memcpy(&y, &x, sizeof y);
#pragma unroll
  for (int i = 0; i < W::count; ++i) {
    W::word::store(reinterpret_cast<typename W::type*>(static_cast<T*>(p) + at) + i, y.w[i]);
  }
}

// Repeats one element N times.
template <class T, int N>
__device__ inline Some<T, N> splat(T one) {
  Some<T, N> x;
#pragma unroll
  for (int e = 0; e < N; ++e) x.v[e] = one;
  return x;
}

// A scalar argument. The first sizeof(T) of its 16 bytes are the value.
struct Number {
  uint64_t lo, hi;

  template <class T>
  __device__ T as() const {
    if constexpr (sizeof(T) == 16) {
      return T{__longlong_as_double(static_cast<long long>(lo)), __longlong_as_double(static_cast<long long>(hi))};
    } else if constexpr (is_complex<T>) {
      return T{__uint_as_float(static_cast<uint32_t>(lo)), __uint_as_float(static_cast<uint32_t>(lo >> 32))};
    } else if constexpr (is_half<T>) {
      return T{static_cast<uint16_t>(lo)};
    } else if constexpr (__is_same(T, boolean)) {
      return T{static_cast<uint8_t>(lo)};
    } else if constexpr (__is_same(T, float)) {
      return __uint_as_float(static_cast<uint32_t>(lo));
    } else if constexpr (__is_same(T, double)) {
      return __longlong_as_double(static_cast<long long>(lo));
    } else {
      return static_cast<T>(lo);
    }
  }
};

// n / d and n % d for n < 2^31, as in nest.cuh. Package fused computes m and s.
struct Divider {
  uint32_t d, m, s;

  __device__ uint32_t divide(uint32_t n, uint32_t* rest) const {
    uint32_t const q = (__umulhi(n, m) + n) >> s;
    *rest = n - q * d;
    return q;
  }
};

// ---- steps: one operation on N elements each, rounded to its type

// Returns x. CUDA 13.0's assembler loses the sign of -x and |x| if it merges them into a minimum of three (VIMNMX3).
// The exclusive or with 0 prevents that, because the assembler cannot prove that the operand is 0.
__device__ inline int32_t opaque(int32_t x) { return x ^ static_cast<int32_t>(blockDim.z - 1); }

// D is T except for operations with a real result.
template <class Op, class D, class T, int N>
__device__ inline Some<D, N> unary(Some<T, N> x) {
  if constexpr (__is_same(T, int32_t) && (__is_same(Op, Neg) || __is_same(Op, Abs))) {
#pragma unroll
    for (int e = 0; e < N; ++e) x.v[e] = opaque(Op::apply(x.v[e]));
    return x;
  } else if constexpr (__is_same(D, T)) {
    apply<Op>(x.v);
    return x;
  } else {
    Some<D, N> y;
#pragma unroll
    for (int e = 0; e < N; ++e) y.v[e] = Op::apply(x.v[e]);
    return y;
  }
}

template <class Op, class D, class T, int N>
__device__ inline Some<D, N> binary(Some<T, N> const& x, Some<T, N> const& y) {
  Some<D, N> z;
  if constexpr (is_half<T> && __is_same(D, T)) {
    float r[N];
#pragma unroll
    for (int e = 0; e < N; ++e) r[e] = Op::apply(to_float(x.v[e]), to_float(y.v[e]));
    to_halves(r, z.v);
  } else {
#pragma unroll
    for (int e = 0; e < N; ++e) z.v[e] = combine<Op, T, D>(x.v[e], y.v[e]);
  }
  return z;
}

// Returns Bool as bytes, for operations that treat Bool as a byte.
template <int N>
__device__ inline Some<uint8_t, N> bytes(Some<boolean, N> const& x) {
  Some<uint8_t, N> y;
#pragma unroll
  for (int e = 0; e < N; ++e) y.v[e] = x.v[e].bits;
  return y;
}

template <int N>
__device__ inline Some<boolean, N> truths(Some<uint8_t, N> const& x) {
  Some<boolean, N> y;
#pragma unroll
  for (int e = 0; e < N; ++e) y.v[e].bits = x.v[e];
  return y;
}

template <class T, int N>
__device__ inline Some<T, N> where(Some<boolean, N> const& c, Some<T, N> const& x, Some<T, N> const& y) {
  Some<T, N> z;
#pragma unroll
  for (int e = 0; e < N; ++e) z.v[e] = Where::apply(c.v[e].bits, x.v[e], y.v[e]);
  return z;
}

template <class T, int N>
__device__ inline Some<T, N> clamp(Some<T, N> const& x, Some<T, N> const& lo, Some<T, N> const& hi) {
  Some<T, N> z;
#pragma unroll
  for (int e = 0; e < N; ++e) z.v[e] = Clamp::apply(x.v[e], lo.v[e], hi.v[e]);
  return z;
}

template <class D, class T, int N>
__device__ inline Some<D, N> cast(Some<T, N> const& x) {
  Some<D, N> y;
  if constexpr (is_half<D> && __is_same(T, float)) {
    to_halves(x.v, y.v);
  } else {
#pragma unroll
    for (int e = 0; e < N; ++e) y.v[e] = convert<D>(x.v[e]);
  }
  return y;
}

// The real and imaginary parts of a number. Those of a real number are the number and 0.
template <class D, class T, int N>
__device__ inline Some<D, N> real_part(Some<T, N> const& x) {
  Some<D, N> y;
#pragma unroll
  for (int e = 0; e < N; ++e) {
    if constexpr (is_complex<T>) {
      y.v[e] = x.v[e].re;
    } else {
      y.v[e] = x.v[e];
    }
  }
  return y;
}

template <class D, class T, int N>
__device__ inline Some<D, N> imaginary_part(Some<T, N> const& x) {
  Some<D, N> y;
#pragma unroll
  for (int e = 0; e < N; ++e) {
    if constexpr (is_complex<T>) {
      y.v[e] = x.v[e].im;
    } else {
      y.v[e] = D{};
    }
  }
  return y;
}

}  // namespace gpk
