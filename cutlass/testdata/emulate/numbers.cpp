// numbers.cpp: division.cuh and next_after.cuh on the host. Its argument is the seed. Compares random numbers, those about
// integer quotients and special ones with the functions of the C library.
#include "cuda.h"

#include <random>

namespace gpk {
struct f16 {
  uint16_t bits;
};
struct bf16 {
  uint16_t bits;
};
}  // namespace gpk

#include "division.cuh"
#include "next_after.cuh"

namespace {

int bad;

template <class T>
bool same(T a, T b) {
  return memcmp(&a, &b, sizeof a) == 0 || (a != a && b != b);
}

template <class T>
void check_next(T x, T y, T want) {
  T const got = gpk::NextAfter::apply(x, y);
  if (!same(got, want) && bad++ < 10) printf("NextAfter(%a, %a) = %a, want %a\n", double(x), double(y), double(got), double(want));
}

void check(double x, double y) {
  check_next(x, y, nextafter(x, y));
  check_next(static_cast<float>(x), static_cast<float>(y), nextafterf(static_cast<float>(x), static_cast<float>(y)));
  double n, rest;
  bool const divided = gpk::divide_with_rest(x, y, &n, &rest);
  bool const small = fabs(x / y) < 0x1p50;
  if (divided != small && bad++ < 10) printf("%a / %a: divided is %d\n", x, y, divided);
  if (!divided) return;
  // The remainder is unique: it has the sign of x and is below |y|. n has the exact quotient's parity and size.
  double const want = fmod(x, y), q = nearbyint((x - want) / y);
  if ((rest != want || n != q) && bad++ < 10) printf("%a / %a = %a, rest %a; want %a, rest %a\n", x, y, n, rest, q, want);
}

}  // namespace

int main(int, char** args) {
  std::mt19937_64 draw(strtoull(args[1], nullptr, 10));
  double const special[] = {0.0, -0.0, INFINITY, -INFINITY, NAN, 1, -1, 3, 5e-324, -5e-324, 0x1p-149, -0x1p-149, 0x1p-126, 0x1p-1022,
                            0x1.fffffep127, 0x1.fffffffffffffp1023, 0x1p50, 0x1p49};
  for (double x : special) {
    for (double y : special) check(x, y);
  }
  for (int i = 0; i < 400000; ++i) {
    uint64_t const u = draw(), v = draw();
    double x, y;
    memcpy(&x, &u, sizeof x);
    if (i % 2 == 0) {  // exponents at most 60 apart
      uint64_t const w = (v & 0x800fffffffffffff) | ((((u >> 52) & 0x7ff) - (v >> 52) % 60) & 0x7ff) << 52;
      memcpy(&y, &w, sizeof y);
    } else {  // about integer quotients
      y = ldexp(static_cast<double>(static_cast<int64_t>(v >> 11)), -40) * (u % 2 == 0 ? 1 : -1);
      x = static_cast<double>(static_cast<int64_t>(u) >> (14 + v % 40)) * y;
      if (u % 3 > 0) x = nextafter(x, u % 3 == 1 ? INFINITY : -INFINITY);
    }
    check(x, y);
  }
  if (bad > 0) printf("%d differ\n", bad);
  return bad > 0;
}
