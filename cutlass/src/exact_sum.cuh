// exact_sum.cuh: sums of float32 without rounding, in integers (Neal, "Fast exact summation using small and large
// superaccumulators", 2015, arXiv:1505.05571).
//
// A finite float32 is m 2^(p-149) with |m| < 2^24 and 0 <= p < 254. A sum has 256 / W chunks of 64 bits, W = 8 or 16. Chunk
// k counts units of 2^(Wk-149). A value adds m 2^(p mod W) to chunk p / W, and |m| 2^(p mod W) < 2^(23+W). So most_terms<W>
// values overflow no chunk, and carries are propagated only at the end. Integer addition is associative: the sum does not
// depend on the order.
#pragma once
#include <stdint.h>

namespace gpk {
namespace exact {
namespace {

template <int W>
constexpr int chunks = 256 / W;
template <int W>
constexpr int64_t most_terms = int64_t{1} << (40 - W);

// Flags of a sum's terms: a NaN, an infinity, and a value other than -0.
enum State : uint32_t { not_a_number = 1, infinity = 2, minus_infinity = 4, not_minus_zero = 8 };

struct Term {
  int64_t value;   // m 2^(p mod W); 0 for NaN and infinities
  uint32_t chunk;
  uint32_t state;  // bits of State
};

// The term of the float32 with these bits.
template <int W>
__device__ inline Term term_of(uint32_t bits) {
  uint32_t const exponent = bits >> 23 & 255, fraction = bits & 0x7fffffu;
  bool const negative = bits >> 31 != 0;
  if (exponent == 255) {
    return {0, 0, (fraction != 0 ? not_a_number : negative ? minus_infinity : infinity) | not_minus_zero};
  }
  uint32_t const place = exponent != 0 ? exponent - 1 : 0;
  int64_t const value = static_cast<int64_t>(exponent != 0 ? fraction | 1u << 23 : fraction) << place % W;
  return {negative ? -value : value, place / W, bits == 1u << 31 ? 0u : not_minus_zero};
}

// The bits of the float32 nearest to a sum, ties to even. A sum of 0 gives +0. An overflow gives an infinity.
template <int W>
__device__ inline uint32_t rounded(int64_t const (&chunk)[chunks<W>]) {
  constexpr int words = 8 + 2, in_word = 32 / W;
  uint32_t w[words] = {};
  int64_t carry = 0;
#pragma unroll
  for (int k = 0; k < chunks<W>; ++k) {
    carry += chunk[k];
    w[k / in_word] |= static_cast<uint32_t>(carry & ((1 << W) - 1)) << (k % in_word * W);
    carry >>= W;
  }
  w[words - 2] = static_cast<uint32_t>(carry);
  w[words - 1] = static_cast<uint32_t>(static_cast<uint64_t>(carry) >> 32);
  bool const negative = carry < 0;
  uint32_t one = negative ? 1 : 0;
  int top = -1;
  uint32_t high = 0, low = 0, rest = 0;
#pragma unroll
  for (int j = 0; j < words; ++j) {
    if (negative) w[j] = ~w[j] + one;
    one = one != 0 && w[j] == 0 ? 1 : 0;
    if (w[j] != 0) top = j;
  }
#pragma unroll
  for (int j = 0; j < words; ++j) {
    if (j == top) high = w[j];
    if (j == top - 1) low = w[j];
    if (j < top - 1) rest |= w[j];
  }
  uint32_t const sign = negative ? 1u << 31 : 0u;
  if (top < 0) return 0;
  if (top == 0 && high < 1u << 24) return sign | high;  // exact; the exponent's bits follow from the value
  // window: the two highest words. The result keeps the 24 highest bits; the lowest of these counts 2^shift units.
  uint64_t const window = static_cast<uint64_t>(high) << 32 | low;
  int leading = 0;
  while (high >> (31 - leading) == 0) ++leading;
  int const cut = 40 - leading, shift = cut + 32 * (top - 1);
  uint32_t kept = static_cast<uint32_t>(window >> cut);
  uint64_t const lost = window & ((uint64_t{1} << cut) - 1), half = uint64_t{1} << (cut - 1);
  if (lost > half || (lost == half && (rest != 0 || kept % 2 != 0))) ++kept;
  uint32_t const bits = (static_cast<uint32_t>(shift) << 23) + kept;
  return sign | (bits < 0x7f800000u ? bits : 0x7f800000u);
}

// The bits of x plus a sum, rounded once. chunk and state describe the sum; x is added to chunk.
template <int W>
__device__ inline uint32_t plus(uint32_t x, int64_t (&chunk)[chunks<W>], uint32_t state) {
  Term const t = term_of<W>(x);
  if ((t.state & not_a_number) != 0) return x;
  uint32_t const all = state | t.state;
  if ((all & not_a_number) != 0 || (all & (infinity | minus_infinity)) == (infinity | minus_infinity)) return 0x7fc00000u;
  if ((all & infinity) != 0) return 0x7f800000u;
  if ((all & minus_infinity) != 0) return 0xff800000u;
#pragma unroll
  for (int k = 0; k < chunks<W>; ++k) {
    if (static_cast<uint32_t>(k) == t.chunk) chunk[k] += t.value;
  }
  uint32_t const sum = rounded<W>(chunk);
  return sum == 0 && all == 0 ? 1u << 31 : sum;
}

}  // namespace
}  // namespace exact
}  // namespace gpk
