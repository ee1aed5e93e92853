// factor.cpp: the kernels of gpk_factor on the host, against their definitions in a wider type. Prints what differs.
#include "cuda.h"

#include "factor_run.cuh"

#include <complex>
#include <random>

using gpk::factor::Complex;
using gpk::factor::group;

namespace {

std::mt19937_64 generator;
int failures;

template <class T>
struct Kind;
template <>
struct Kind<float> {
  static constexpr int type = GPK_F32;
  static constexpr double eps = 0x1p-23;
};
template <>
struct Kind<double> {
  static constexpr int type = GPK_F64;
  static constexpr double eps = 0x1p-52;
};
template <>
struct Kind<Complex<float>> {
  static constexpr int type = GPK_C64;
  static constexpr double eps = 0x1p-23;
};
template <>
struct Kind<Complex<double>> {
  static constexpr int type = GPK_C128;
  static constexpr double eps = 0x1p-52;
};

using Wide = std::complex<long double>;
template <class T>
Wide wide(T x) {
  if constexpr (gpk::factor::Number<T>::complex) {
    return {x.re, x.im};
  } else {
    return x;
  }
}
template <class T>
T narrow(Wide x) {
  using R = gpk::factor::Real<T>;
  if constexpr (gpk::factor::Number<T>::complex) {
    return {static_cast<R>(x.real()), static_cast<R>(x.imag())};
  } else {
    return static_cast<R>(x.real());
  }
}

template <class T>
Wide number() {
  std::normal_distribution<double> d;
  double const re = d(generator);
  return {re, gpk::factor::Number<T>::complex ? d(generator) : 0};
}

// A matrix in a larger one of NaN: element (i, j) is at i row + j col from the first.
template <class T>
struct Matrix {
  int rows, cols;
  int64_t row, col, member;
  std::vector<T> data;
  size_t first;

  Matrix(int rows, int cols, int layout, int batch = 1) : rows(rows), cols(cols), member(0) {
    row = layout == 2 ? cols + 3 : cols, col = 1;
    if (layout == 2) row += row % 2;
    if (layout == 1) row = 1, col = rows;
    member = int64_t{rows + 2} * (cols + 4);
    member += member % 4;
    first = 16;
    data.resize(first + static_cast<size_t>(member) * batch + 16);
    memset(static_cast<void*>(data.data()), 0xff, data.size() * sizeof(T));
  }
  T& at(int i, int j, int k = 0) { return data[first + static_cast<size_t>(k * member + i * row + j * col)]; }
  uint64_t address() { return reinterpret_cast<uint64_t>(data.data() + first); }
};

void check(char const* what, int n, int layout, double got, double bound) {
  if (!(got <= bound)) {
    printf("%s, order %d, layout %d: %g, the bound is %g\n", what, n, layout, got, bound);
    ++failures;
  }
}

// Fills members with a positive definite matrix in the lower triangle; what is above stays NaN.
template <class T>
std::vector<Wide> positive(Matrix<T>& a, int n, int k) {
  std::vector<Wide> g(static_cast<size_t>(n) * n), h(g.size());
  for (Wide& v : g) v = number<T>();
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) {
      Wide sum = i == j ? 1 : 0;
      for (int l = 0; l < n; ++l) sum += g[static_cast<size_t>(i * n + l)] * std::conj(g[static_cast<size_t>(j * n + l)]) / static_cast<long double>(n);
      a.at(i, j, k) = narrow<T>(sum);
      h[static_cast<size_t>(i * n + j)] = wide(a.at(i, j, k));
    }
  }
  return h;
}

// |H - L L^H| / |H| over the lower triangle, in the Frobenius norm.
template <class T>
double residual(std::vector<Wide> const& h, int n, int k, Matrix<T>& l, bool zeros) {
  long double num = 0, den = 0;
  for (int i = 0; i < n; ++i) {
    for (int j = 0; j <= i; ++j) {
      Wide sum = h[static_cast<size_t>(i * n + j)];
      den += std::norm(sum);
      for (int m = 0; m <= j; ++m) sum -= wide(l.at(i, m, k)) * std::conj(wide(l.at(j, m, k)));
      num += std::norm(sum);
      if (zeros && j < i && !(std::norm(wide(l.at(j, i, k))) == 0)) num = NAN;
    }
  }
  return static_cast<double>(std::sqrt(num / den));
}

template <class T>
gpk_factor_args arguments(int op, Matrix<T>& a) {
  gpk_factor_args args{};
  args.size = sizeof args;
  args.op = op, args.type = Kind<T>::type, args.batch = 1;
  args.rows = a.rows, args.cols = a.cols;
  args.a = a.address(), args.a_row = a.row, args.a_col = a.col, args.a_member = a.member;
  return args;
}

template <class T>
void to_b(gpk_factor_args& args, Matrix<T>& b) {
  args.b = b.address(), args.b_row = b.row, args.b_col = b.col, args.b_member = b.member;
}

void run(gpk_factor_args const& args, int processors) {
  if (int const code = gpk::factor::run(args, Launcher{processors, 2})) {
    printf("op %d: code %d\n", args.op, code);
    ++failures;
  }
}

template <class T>
void test_cholesky(int n, int rows, int layout, int processors) {
  int const batch = 2;
  Matrix<T> a(rows, n, layout, batch);
  std::vector<int> work(1 + static_cast<size_t>(batch) * ((rows + GPK_FACTOR_BLOCK - 1) / GPK_FACTOR_BLOCK));
  long long flags[2];
  std::vector<std::vector<Wide>> h, below;
  for (int k = 0; k < batch; ++k) {
    h.push_back(positive(a, n, k));
    below.emplace_back();
    for (int i = n; i < rows; ++i) {
      for (int j = 0; j < n; ++j) below[k].push_back(wide(a.at(i, j, k) = narrow<T>(number<T>())));
    }
  }
  gpk_factor_args args = arguments(GPK_FACTOR_CHOLESKY, a);
  args.batch = batch;
  args.flags = reinterpret_cast<uint64_t>(flags);
  args.workspace = reinterpret_cast<uint64_t>(work.data()), args.workspace_bytes = static_cast<int64_t>(work.size() * sizeof(int));
  args.op = GPK_FACTOR_BEGIN;
  run(args, processors);
  args.op = GPK_FACTOR_CHOLESKY;
  run(args, processors);
  for (int k = 0; k < batch; ++k) {
    check("Cholesky", n, layout, residual(h[k], n, k, a, false), 4 * n * Kind<T>::eps);
    for (int i = 0; i < n; ++i) {
      for (int j = i + 1; j < n; ++j) {
        if (wide(a.at(i, j, k)) == wide(a.at(i, j, k))) check("Cholesky writes above the diagonal", n, layout, 1, 0);
      }
    }
    long double num = 0, den = 0;
    for (int i = n; i < rows; ++i) {
      for (int j = 0; j < n; ++j) {
        Wide sum = below[k][static_cast<size_t>((i - n) * n + j)];
        den += std::norm(sum);
        for (int l = 0; l <= j; ++l) sum -= wide(a.at(i, l, k)) * std::conj(wide(a.at(j, l, k)));
        num += std::norm(sum);
      }
    }
    if (rows > n) check("rows below", n, layout, static_cast<double>(std::sqrt(num / den)), 4 * n * Kind<T>::eps);
  }
  check("flags", n, layout, flags[0] == GPK_FACTOR_NONE ? 0 : 1, 0);
}

// The order is that of the first leading minor that is not positive, in the first member that has one.
template <class T>
void test_order(int n, bool small) {
  for (int order : {1, n / 2 + 1, n}) {
    Matrix<T> a(n, n, 0, 3), b(n, n, 0, 3);
    for (int k = 0; k < 3; ++k) positive(a, n, k);
    for (int k = 1; k < 3; ++k) a.at(order - 1, order - 1, k) = narrow<T>(k == 1 ? Wide(NAN) : Wide(-1));
    std::vector<int> work(1 + 3 * static_cast<size_t>((n + GPK_FACTOR_BLOCK - 1) / GPK_FACTOR_BLOCK));
    long long flags[2];
    gpk_factor_args args = arguments(GPK_FACTOR_BEGIN, a);
    args.batch = 3;
    args.first = 100;
    args.flags = reinterpret_cast<uint64_t>(flags);
    args.workspace = reinterpret_cast<uint64_t>(work.data()), args.workspace_bytes = static_cast<int64_t>(work.size() * sizeof(int));
    to_b(args, b);
    run(args, 2);
    args.op = small ? GPK_FACTOR_CHOLESKY_SMALL : GPK_FACTOR_CHOLESKY;
    run(args, 2);
    long long const want = (1LL << 32) + order + (small ? 0 : 100);
    if (flags[0] != want) {
      printf("order %d of %d (small %d): flags %llx, want %llx\n", order, n, small, flags[0], want);
      ++failures;
    }
  }
}

template <class T>
void test_small(int n, int layout, bool conj) {
  int const batch = 5;
  Matrix<T> a(n, n, layout, batch), b(n, n, (layout + 1) % 3, batch);
  std::vector<std::vector<Wide>> h;
  for (int k = 0; k < batch; ++k) h.push_back(positive(a, n, k));
  long long flags[2] = {GPK_FACTOR_NONE, 0};
  gpk_factor_args args = arguments(GPK_FACTOR_CHOLESKY_SMALL, a);
  args.batch = batch;
  args.flags = reinterpret_cast<uint64_t>(flags);
  args.bits = conj ? GPK_FACTOR_CONJ : 0;
  to_b(args, b);
  run(args, 2);
  for (int k = 0; k < batch; ++k) check("small Cholesky", n, layout, residual(h[k], n, k, b, true), 4 * n * Kind<T>::eps);
  check("small flags", n, layout, flags[0] == GPK_FACTOR_NONE ? 0 : 1, 0);
}

// |T X - B| over |T| |X| + |B|.
template <class T>
void test_solve(int n, int cols, int layout, int bits, int processors, int width) {
  int const batch = 2;
  bool const upper = bits & GPK_FACTOR_UPPER, unit = bits & GPK_FACTOR_UNIT, conj = bits & GPK_FACTOR_CONJ;
  Matrix<T> a(n, n, layout, batch), b(n, cols, (layout + 1) % 3, batch), inverses((n + width - 1) / width * width, width, 0, batch);
  std::vector<T> solution(static_cast<size_t>(batch) * n * cols);
  std::vector<Wide> right;
  auto const element = [&](int i, int j, int k) -> Wide {
    if (i == j && unit) return 1;
    if (upper ? j < i : i < j) return 0;
    Wide const v = wide(a.at(i, j, k));
    return conj ? std::conj(v) : v;
  };
  for (int k = 0; k < batch; ++k) {
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) {
        if (upper ? j < i : i < j) continue;
        if (i == j && unit) continue;  // NaN: it is not read
        a.at(i, j, k) = narrow<T>(i == j ? number<T>() + Wide(4) : number<T>() / static_cast<long double>(n));
      }
      for (int j = 0; j < cols; ++j) right.push_back(wide(b.at(i, j, k) = narrow<T>(number<T>())));
    }
  }
  gpk_factor_args args = arguments(GPK_FACTOR_SOLVE, a);
  args.batch = batch;
  args.cols = cols;
  args.bits = bits;
  to_b(args, b);
  if (width > 0 && cols <= 4 && !unit && processors == 2) {
    gpk_factor_args one = args;
    for (int k0 = 0; k0 < n; k0 += width) {
      int const nb = n - k0 < width ? n - k0 : width;
      for (int k = 0; k < batch; ++k) {
        for (int i = 0; i < nb; ++i) {
          for (int j = 0; j < nb; ++j) inverses.at(k0 + i, j, k) = narrow<T>(i == j ? 1 : 0);
        }
      }
      one.a = reinterpret_cast<uint64_t>(&a.at(k0, k0)), one.b = reinterpret_cast<uint64_t>(&inverses.at(k0, 0));
      one.b_row = inverses.row, one.b_col = inverses.col, one.b_member = inverses.member;
      one.rows = one.cols = nb;
      one.bits = bits & ~GPK_FACTOR_CONJ;
      run(one, processors);
    }
    args.op = GPK_FACTOR_SOLVE_INVERSES;
    args.first = width;
    args.c = inverses.address(), args.c_row = inverses.row, args.c_col = inverses.col, args.c_member = inverses.member;
    args.d = reinterpret_cast<uint64_t>(solution.data()), args.d_member = int64_t{n} * cols;
  }
  run(args, processors);
  long double num = 0, size = 0, x2 = 0, b2 = 0;
  for (int k = 0; k < batch; ++k) {
    auto const x = [&](int i, int j) {
      return wide(args.op == GPK_FACTOR_SOLVE ? b.at(i, j, k) : solution[static_cast<size_t>((k * n + i) * cols + j)]);
    };
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) size += std::norm(element(i, j, k));
      for (int j = 0; j < cols; ++j) {
        Wide sum = right[static_cast<size_t>((k * n + i) * cols + j)];
        b2 += std::norm(sum), x2 += std::norm(x(i, j));
        for (int l = 0; l < n; ++l) {
          if (element(i, l, k) != Wide(0)) sum -= element(i, l, k) * x(l, j);
        }
        num += std::norm(sum);
      }
    }
  }
  check(args.op == GPK_FACTOR_SOLVE ? "solve" : "solve by inverses", n, layout + 10 * bits, static_cast<double>(std::sqrt(num) / (std::sqrt(size * x2) + std::sqrt(b2))),
        4 * n * Kind<T>::eps);
}

// P A = L U with |L| <= 1 in |re| + |im| of the pivot's column, the first of equal pivots, and residuals of the order's
// rows.
template <class T>
void test_lu(int rows, int cols, int processors) {
  int const batch = 2, both = rows < cols ? rows : cols;
  Matrix<T> a(rows, cols, 2, batch);
  std::vector<Wide> given;
  for (int k = 0; k < batch; ++k) {
    for (int i = 0; i < rows; ++i) {
      for (int j = 0; j < cols; ++j) {
        Wide v = number<T>();
        if (k == 1) v = Wide(std::round(static_cast<double>(v.real())), 0);  // ties
        given.push_back(wide(a.at(i, j, k) = narrow<T>(v)));
      }
    }
  }
  std::vector<long long> order(static_cast<size_t>(batch) * (rows + 5), -7);
  std::vector<char> work(static_cast<size_t>(batch) * GPK_FACTOR_LU_BYTES);
  gpk_factor_args args = arguments(GPK_FACTOR_LU, a);
  args.batch = batch;
  args.c = reinterpret_cast<uint64_t>(order.data()), args.c_member = rows + 5;
  args.workspace = reinterpret_cast<uint64_t>(work.data()), args.workspace_bytes = static_cast<int64_t>(work.size());
  run(args, processors);
  for (int k = 0; k < batch; ++k) {
    long double num = 0, den = 0;
    std::vector<int> seen(static_cast<size_t>(rows));
    for (int i = 0; i < rows; ++i) {
      long long const from = order[static_cast<size_t>(k * (rows + 5) + i)];
      if (from < 0 || from >= rows || seen[static_cast<size_t>(from)]++ != 0) {
        check("an order of rows", rows, cols, 1, 0);
        return;
      }
      for (int j = 0; j < cols; ++j) {
        Wide sum = given[static_cast<size_t>((k * rows + from) * cols + j)];
        den += std::norm(sum);
        for (int l = 0; l <= j && l <= i && l < both; ++l) sum -= (l == i ? Wide(1) : wide(a.at(i, l, k))) * wide(a.at(l, j, k));
        num += std::norm(sum);
        if (j < i && j < both) {
          Wide const v = wide(a.at(i, j, k));
          check("an element of L", rows, cols, static_cast<double>(std::abs(v)), 1.4143);
        }
      }
    }
    if (den == 0) den = 1;
    check("LU", rows, cols, static_cast<double>(std::sqrt(num / den)), 4 * both * Kind<T>::eps);
    check("what is behind the order", rows, cols, static_cast<double>(order[static_cast<size_t>(k * (rows + 5) + rows)] + 7), 0);
  }
  // The first of equal candidates is the pivot, and a column of zeros is passed over.
  Matrix<T> b(5, 3, 0);
  T const rows3[5][3] = {{narrow<T>(1), narrow<T>(0), narrow<T>(2)}, {narrow<T>(-3), narrow<T>(0), narrow<T>(1)}, {narrow<T>(3), narrow<T>(0), narrow<T>(1)}, {narrow<T>(0), narrow<T>(0), narrow<T>(4)}, {narrow<T>(0), narrow<T>(0), narrow<T>(-4)}};
  for (int i = 0; i < 5; ++i) {
    for (int j = 0; j < 3; ++j) b.at(i, j) = rows3[i][j];
  }
  args = arguments(GPK_FACTOR_LU, b);
  args.c = reinterpret_cast<uint64_t>(order.data()), args.c_member = 5;
  args.workspace = reinterpret_cast<uint64_t>(work.data()), args.workspace_bytes = static_cast<int64_t>(work.size());
  run(args, 2);
  long long const want[5] = {1, 0, 3, 2, 4};
  check("first pivots", 5, 3, memcmp(want, order.data(), sizeof want) == 0 ? 0 : 1, 0);
}

template <class T>
void test_triangle(int n, int layout) {
  Matrix<T> a(n + 3, n, layout), b(n + 3, n, 2);
  for (int i = 0; i < n + 3; ++i) {
    for (int j = 0; j < n && j <= i; ++j) a.at(i, j) = narrow<T>(number<T>());
  }
  gpk_factor_args args = arguments(GPK_FACTOR_LOWER, a);
  args.bits = GPK_FACTOR_CONJ;
  to_b(args, b);
  run(args, 2);
  Matrix<T> c = b;
  args = arguments(GPK_FACTOR_SUBTRACT_LOWER, c);
  to_b(args, b);
  for (int i = 0; i < n + 3; ++i) {
    for (int j = 0; j < n; ++j) {
      if (wide(b.at(i, j)) != (j <= i ? std::conj(wide(a.at(i, j))) : Wide(0))) check("lower", n, layout, 1, 0);
      if (j > i) b.at(i, j) = narrow<T>(7);
    }
  }
  run(args, 2);
  for (int i = 0; i < n + 3; ++i) {
    for (int j = 0; j < n; ++j) {
      if (wide(b.at(i, j)) != Wide(j <= i ? 0 : 7)) check("subtract", n, layout, 1, 0);
    }
  }
}

// The determinants of factored matrices: random ones, some with a zero on the diagonal (mode 1), or whose determinant is beyond
// T's range (mode 2).
template <class T>
void test_det(int n, int mode) {
  using R = gpk::factor::Real<T>;
  int const batch = 3, member = n + 5;
  Matrix<T> a(n, n, 2, batch);
  std::vector<long long> order(static_cast<size_t>(batch * member), -7);
  std::vector<Wide> sign(batch, 1);
  std::vector<long double> size(batch, 1);
  for (int k = 0; k < batch; ++k) {
    long long* const rows = &order[static_cast<size_t>(k * member)];
    for (int i = 0; i < n; ++i) {
      for (int j = 0; j < n; ++j) a.at(i, j, k) = narrow<T>(number<T>() * Wide(mode == 2 ? 1e30L : 1));
      if (mode == 1 && i == n / 2) a.at(i, i, k) = narrow<T>(0);
      Wide const v = wide(a.at(i, i, k));
      size[k] *= std::abs(v);
      sign[k] *= v == Wide(0) ? v : v / std::abs(v);
      int const j = static_cast<int>(generator() % static_cast<unsigned>(i + 1));  // a random permutation, one exchange at a time
      rows[i] = rows[j], rows[j] = i;
      if (j != i) sign[k] = -sign[k];
    }
  }
  std::vector<T> det(batch + 1, narrow<T>(55)), unit = det;
  std::vector<R> log(batch + 1, 55);
  gpk_factor_args args = arguments(GPK_FACTOR_DET, a);
  args.batch = batch, args.c = reinterpret_cast<uint64_t>(order.data()), args.c_member = member;
  args.b = reinterpret_cast<uint64_t>(det.data());
  run(args, 2);
  args.b = reinterpret_cast<uint64_t>(unit.data()), args.d = reinterpret_cast<uint64_t>(log.data());
  run(args, 2);
  double const bound = 8 * (n + 1) * Kind<T>::eps;
  for (int k = 0; k < batch; ++k) {
    long double const want = std::log(size[k]);
    check("a sign", n, mode, static_cast<double>(std::abs(wide(unit[k]) - sign[k])), bound);
    check("a logarithm", n, mode, want == log[k] ? 0 : static_cast<double>(std::abs(want - log[k]) / (1 + std::abs(want))), bound);
    if (size[k] < std::numeric_limits<R>::max() / 2) {
      check("a determinant", n, mode, size[k] == 0 && wide(det[k]) == Wide(0) ? 0 : static_cast<double>(std::abs(wide(det[k]) - size[k] * sign[k]) / size[k]), bound);
    } else if (!gpk::factor::Number<T>::complex) {
      check("an infinite determinant", n, mode, wide(det[k]).real() == sign[k].real() * INFINITY ? 0 : 1, 0);
    }
  }
  check("what is behind the results", n, mode, wide(det[batch]) == Wide(55) && wide(unit[batch]) == Wide(55) && log[batch] == 55 ? 0 : 1, 0);
}

template <class T>
void test() {
  for (int n : {1, 7, 33, 64, 65, 150}) {
    int const layout = n % 2 == 0 ? 0 : 2;
    test_cholesky<T>(n, n, layout, 2);
    test_cholesky<T>(n, n + 33, 2 - layout, 1000);
    if (n < 100) test_order<T>(n, false);
  }
  // Tasks below and on the diagonal put down sums; with rows below, the last diagonal block has nothing to its left.
  int const large = (gpk::factor::tiles_columns + 3) * gpk::factor::block<T> + 6;
  test_cholesky<T>(large, large, 0, 2);
  test_cholesky<T>(large, large + 33, 0, 2);
  for (int n : {1, 2, 8, 9, 17, 32, 33, 50, 64}) {
    for (int layout = 0; layout < 3; ++layout) test_small<T>(n, layout, layout == 1);
    test_order<T>(n, true);
  }
  for (int n : {1, 31, 65, 110}) {
    for (int bits = 0; bits < 8; ++bits) {
      test_solve<T>(n, 1 + bits % 3, bits % 3, bits, 2, n > 100 ? 48 : 32);
      test_solve<T>(n, 40, (bits + 1) % 3, bits, bits < 4 ? 2 : 1000, 1);
    }
  }
  for (int n : {1, 2, 31, 32, 33, 64}) {
    for (int mode = 0; mode < 3; ++mode) test_det<T>(n, mode);
  }
  for (int n : {1, 5, 40}) {
    test_lu<T>(n, n, 2);
    test_lu<T>(n, n + 37, 2);
    test_lu<T>(n + 150, n, 1000);
  }
  test_lu<T>(gpk::factor::panel_ctas * gpk::factor::panel_threads + 88, 20, 2);  // a thread has two rows
  if (Kind<T>::eps > 1e-10) test_lu<T>(group<T> + 20, group<T> + 50, 2);
  for (int n : {1, 33, 70}) {
    for (int layout = 0; layout < 3; ++layout) test_triangle<T>(n, layout);
  }
}

}  // namespace

int main(int argc, char** argv) {
  uint64_t const seed = argc > 1 ? strtoull(argv[1], nullptr, 10) : 1;
  generator.seed(seed);
  int const only = argc > 2 ? atoi(argv[2]) : 0;  // a type
  setvbuf(stdout, nullptr, _IOLBF, 0);
  for (bool backwards : {false, true}) {
    emulate::backwards = backwards;
    if (only == 0 || only == GPK_F32) test<float>();
    if (only == 0 || only == GPK_F64) test<double>();
    if (only == 0 || only == GPK_C64) test<Complex<float>>();
    if (only == 0 || only == GPK_C128) test<Complex<double>>();
  }
  printf("%d failures, seed %llu\n", failures, static_cast<unsigned long long>(seed));
  return failures != 0;
}
