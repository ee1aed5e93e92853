// next_after.cuh: the neighbour of a floating-point number in the direction of another.
#pragma once
#ifndef GPK_EMULATED  // testdata/emulate compiles it for the host
#include "element.cuh"
#endif

namespace gpk {

// The bits of a floating-point type: an integer of its size, the bits of its infinity and of a NaN.
template <class T>
struct FloatBits;
template <>
struct FloatBits<float> {
  using type = uint32_t;
  static constexpr type infinity = 0x7f800000, nan = 0x7fc00000;
};
template <>
struct FloatBits<double> {
  using type = uint64_t;
  static constexpr type infinity = 0x7ff0000000000000, nan = 0x7ff8000000000000;
};
template <>
struct FloatBits<f16> {
  using type = uint16_t;
  static constexpr type infinity = 0x7c00, nan = 0x7e00;
};
template <>
struct FloatBits<bf16> {
  using type = uint16_t;
  static constexpr type infinity = 0x7f80, nan = 0x7fc0;
};

// Numbers without their signs are in the order of their bits. So the next number away from 0 has the next larger bits.
struct NextAfter {
  template <class T>
  static __device__ T apply(T x, T y) {
    using B = FloatBits<T>;
    using W = typename B::type;
    constexpr W sign = static_cast<W>(W{1} << (8 * sizeof(W) - 1)), magnitude = static_cast<W>(sign - 1);
    W u, v, r;
    memcpy(&u, &x, sizeof u);
    memcpy(&v, &y, sizeof v);
    W const a = u & magnitude, b = v & magnitude;
    if (a > B::infinity || b > B::infinity) {
      r = B::nan;
    } else if (u == v || (a | b) == 0) {  // -0 and 0 are equal
      r = v;
    } else if (a == 0) {
      r = static_cast<W>((v & sign) | 1);
    } else if (((u ^ v) & sign) == 0 && b > a) {
      r = static_cast<W>(u + 1);
    } else {
      r = static_cast<W>(u - 1);
    }
    T z;
    memcpy(&z, &r, sizeof z);
    return z;
  }
};

}  // namespace gpk
