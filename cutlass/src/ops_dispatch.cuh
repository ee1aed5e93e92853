// ops_dispatch.cuh: the element types that each element-wise operation supports.
#pragma once
#include "ops_binary.cuh"
#include "ops_unary.cuh"

namespace gpk {
namespace {

// Operations whose result on complex numbers is real.
template <class Op>
constexpr bool is_to_real = __is_same(Op, Abs) || __is_same(Op, AbsSquare);

// Operations that do not depend on the sign of a type. Types that differ only in their sign share a kernel
// (sign_free).
template <class Op>
constexpr bool wraps = __is_same(Op, Neg) || __is_same(Op, Not) || __is_same(Op, Square) || __is_same(Op, AbsSquare) ||
                       __is_same(Op, Add) || __is_same(Op, Sub) || __is_same(Op, Mul) || __is_same(Op, And) ||
                       __is_same(Op, Or) || __is_same(Op, Xor) || __is_same(Op, Shl) || __is_same(Op, Eq) || __is_same(Op, Ne);

template <class Op, class T>
constexpr bool shares_kernel = wraps<Op> && !is_sign_free<T>;

template <class Op>
int unary_of(int type, Nest const& t, uint64_t stream) {
  if (wraps<Op>) type = sign_free(type);
  return by_type(type, [&](auto x) -> int {
    using T = decltype(x);
    constexpr bool real = is_float<T> || is_integer<T>, number = real || is_complex<T>;
    constexpr bool has = __is_same(Op, Conj)                          ? is_complex<T>
                         : __is_same(Op, Not)                         ? is_integer<T> || __is_same(T, boolean)
                         : __is_same(Op, Abs) && is_unsigned<T>               ? __is_same(T, uint8_t)
                         : __is_same(Op, Neg) || __is_same(Op, Square) || is_to_real<Op> ? number
                         : __is_same(Op, Sqrt) || __is_same(Op, Exp) || __is_same(Op, Log) || __is_same(Op, Sin) || __is_same(Op, Cos)
                             ? is_float<T> || is_complex<T>
                         : __is_same(Op, ReLU) || __is_same(Op, Sign) ? real
                                                                      : is_float<T>;
    if constexpr (shares_kernel<Op, T>) {
      return GPK_ERR_UNSUPPORTED;
    } else if constexpr (has && is_complex<T> && is_to_real<Op>) {
      return unary<Op, T, typename T::real>(t, stream);
    } else if constexpr (has) {
      return unary<Op, T>(t, stream);
    } else {
      return GPK_ERR_UNSUPPORTED;
    }
  });
}

template <class Op>
int binary_of(int type, Nest const& t, Scalar const& scalar, uint64_t stream) {
  type = type == GPK_I8 ? GPK_U8 : sign_free(type);  // wrapping arithmetic does not depend on the sign
  return by_type(type, [&](auto x) -> int {
    using T = decltype(x);
    constexpr bool integral = is_integer<T> && is_sign_free<T> && !__is_same(T, int8_t) && !__is_same(Op, Div);
    if constexpr (is_float<T> || is_complex<T> || integral) {
      return binary<Op, T>(t, scalar, stream);
    } else {
      return GPK_ERR_UNSUPPORTED;
    }
  });
}

// Operations on integers. Bool is treated as a byte, except in shifts.
template <class Op>
int bitwise_of(int type, Nest const& t, Scalar const& scalar, uint64_t stream) {
  if (wraps<Op>) type = sign_free(type);
  return by_type(type, [&](auto x) -> int {
    using T = decltype(x);
    if constexpr (is_integer<T> && !shares_kernel<Op, T>) {
      return binary<Op, T>(t, scalar, stream);
    } else {
      return GPK_ERR_UNSUPPORTED;
    }
  });
}

template <class Op>
int ordered_of(int type, Nest const& t, Scalar const& scalar, uint64_t stream) {
  return by_type(type, [&](auto x) -> int {
    using T = decltype(x);
    if constexpr (is_float<T> || is_integer<T>) {
      return binary<Op, T>(t, scalar, stream);
    } else {
      return GPK_ERR_UNSUPPORTED;
    }
  });
}

int power_of(int type, Nest const& t, Scalar const& scalar, uint64_t stream) {
  return by_type(type, [&](auto x) -> int {
    using T = decltype(x);
    if constexpr (__is_same(T, boolean)) {
      return GPK_ERR_UNSUPPORTED;
    } else {
      return binary<Pow, T>(t, scalar, stream);
    }
  });
}

template <class Op>
int compare_of(int type, Nest const& t, Scalar const& scalar, uint64_t stream) {
  constexpr bool equality = __is_same(Op, Eq) || __is_same(Op, Ne);
  if (type == GPK_BOOL || (equality && type == GPK_I8)) type = GPK_U8;
  if (equality) type = sign_free(type);
  return by_type(type, [&](auto x) -> int {
    using T = decltype(x);
    if constexpr (is_float<T> || (is_integer<T> && !shares_kernel<Op, T>) || (is_complex<T> && equality)) {
      return binary<Op, T, boolean>(t, scalar, stream);
    } else {
      return GPK_ERR_UNSUPPORTED;
    }
  });
}

// Returns uint8 for Bool, for operations that treat Bool as a byte.
int as_byte(int type) { return type == GPK_BOOL ? GPK_U8 : type; }

}  // namespace
}  // namespace gpk
