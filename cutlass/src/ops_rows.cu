// ops_rows.cu: operations on three operands, reductions other than Sum and Mean, and operations along one axis.
//
// The order in which Var and Prod combine terms depends only on the shape. Operands that are not dense have kernels
// that read the same terms from other addresses.
#include "ops_line.cuh"
#include "ops_ternary.cuh"
#include "reduction.cuh"
#include "scan.cuh"

namespace gpk {

template <class T>
int64_t means_bytes(int64_t folds) {
  return (folds * static_cast<int64_t>(sizeof(typename Average<T>::A)) + 15) / 16 * 16;
}

// gpk_reduce and gpk_reduce_workspace in ops.cu call these.
int64_t other_workspace(int op, int x_type, int dst_type, int64_t folds, int64_t terms) {
  if (dst_type != result_type(op, x_type)) return -GPK_ERR_UNSUPPORTED;
  int64_t bytes = 0;
  int const code = by_reduction(op, x_type, [&](auto reduction, auto x) {
    using P = decltype(reduction);
    using T = decltype(x);
    bytes = fold_workspace<P>(folds, terms);
    if constexpr (__is_same(P, Variance<T>)) {
      int64_t const first = fold_workspace<Average<T>>(folds, terms);
      bytes = (bytes > first ? bytes : first) + means_bytes<T>(folds);
    }
    return GPK_OK;
  });
  return code == GPK_OK ? bytes : -code;
}

int other_reduce(uint64_t stream, int op, int x_type, int64_t folds, int64_t terms, Sum const& s, Sum const& dense,
                 uint64_t dst, uint64_t workspace) {
  auto reduction_of = [&](Sum const& s) {
    Reduction p = {};
    p.x = s.x;
    p.folds = folds;
    p.terms = terms;
    p.kept_dims = s.kept_dims;
    p.folded_dims = s.summed_dims;
    memcpy(p.kept_n, s.kept_n, sizeof p.kept_n);
    memcpy(p.kept_stride, s.kept_stride, sizeof p.kept_stride);
    memcpy(p.folded_n, s.summed_n, sizeof p.folded_n);
    memcpy(p.folded_stride, s.summed_stride, sizeof p.folded_stride);
    return p;
  };
  Reduction p = reduction_of(s);
  Reduction const d = reduction_of(dense);
  return by_reduction(op, x_type, [&](auto reduction, auto x) -> int {
    using P = decltype(reduction);
    using T = decltype(x);
    if constexpr (__is_same(P, Variance<T>)) {
      // The workspace has the means first, and after them the partial results of both kernels.
      uint64_t const rest = workspace + means_bytes<T>(folds);
      int const code = fold<Average<T>, T>(p, d, stream, workspace, rest);
      if (code != GPK_OK) return code;
      p.means = reinterpret_cast<double const*>(workspace);
      return fold<P, T>(p, d, stream, dst, rest);
    } else {
      return fold<P, T>(p, d, stream, dst, workspace);
    }
  });
}

}  // namespace gpk

using namespace gpk;

int gpk_ternary(int device, uint64_t stream, int op, int type, int ndim, int64_t const* shape, uint64_t x,
                int64_t const* x_strides, uint64_t y, int64_t const* y_strides, uint64_t z, int64_t const* z_strides,
                uint64_t y_lo, uint64_t y_hi, uint64_t z_lo, uint64_t z_hi, uint64_t dst, int64_t const* dst_strides) {
  int const size = size_of(type);
  if ((op != op_where && op != op_clamp) || size == 0) return GPK_ERR_UNSUPPORTED;
  int64_t const none[GPK_MAX_DIMS] = {};
  Triple triple = {};
  triple.scalar[2][0] = y_lo, triple.scalar[2][1] = y_hi;
  triple.scalar[3][0] = z_lo, triple.scalar[3][1] = z_hi;
  triple.scalars = (y == 0 ? 4 : 0) | (z == 0 ? 8 : 0);
  Nest t;
  Operand const ops[] = {{dst, dst_strides, size},
                         {x, x_strides, op == op_where ? 1 : size},
                         {y, y == 0 ? none : y_strides, size},
                         {z, z == 0 ? none : z_strides, size}};
  int code = make_nest(&t, ndim, shape, 4, ops);
  if (code != GPK_OK || t.elements == 0) return code;
  code = set_device(device);
  if (code != GPK_OK) return code;
  if (op == op_where) {
    switch (size) {
      case 1: return ternary<Where, uint8_t, uint8_t>(t, triple, stream);
      case 2: return ternary<Where, uint8_t, uint16_t>(t, triple, stream);
      case 4: return ternary<Where, uint8_t, uint32_t>(t, triple, stream);
      case 8: return ternary<Where, uint8_t, uint64_t>(t, triple, stream);
      default: return ternary<Where, uint8_t, ulonglong2>(t, triple, stream);
    }
  }
  return by_type(type, [&](auto v) -> int {
    using T = decltype(v);
    if constexpr (is_float<T> || is_integer<T>) {
      return ternary<Clamp, T, T>(t, triple, stream);
    } else {
      return GPK_ERR_UNSUPPORTED;
    }
  });
}

int gpk_line(int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, int64_t const* shape, uint64_t x,
             int64_t const* x_strides, uint64_t dst, int64_t const* dst_strides, uint64_t gamma, uint64_t beta,
             double eps) {
  if (size_of(x_type) == 0) return GPK_ERR_UNSUPPORTED;
  if (ndim < 1 || ndim > GPK_MAX_DIMS) return GPK_ERR_ARGUMENT;
  if (dst_type != (op == op_cum_sum ? sum_type(x_type) : x_type)) return GPK_ERR_UNSUPPORTED;
  Lines p = {};
  int code = make_lines(&p, ndim, shape, x, x_strides, dst, dst_strides);
  p.gamma = reinterpret_cast<char const*>(gamma);
  p.beta = reinterpret_cast<char const*>(beta);
  p.eps = eps;
  if (code != GPK_OK || p.n == 0 || p.lines == 0) return code;
  code = set_device(device);
  if (code != GPK_OK) return code;
  if (op == op_cum_sum) {
    if (p.lines > INT32_MAX) return GPK_ERR_ARGUMENT;
    return by_type(x_type == GPK_U64 ? GPK_I64 : x_type, [&](auto v) -> int {
      if constexpr (__is_same(decltype(v), uint64_t)) {
        return GPK_ERR_UNSUPPORTED;
      } else {
        return scan_whole_lines<Sums<decltype(v)>, decltype(v)>(Scan{p}, stream);
      }
    });
  }
  return by_type(x_type, [&](auto v) -> int {
    using T = decltype(v);
    if constexpr (is_float<T>) {
      switch (op) {
        case op_softmax: return line<op_softmax, T>(p, stream);
        case op_log_softmax: return line<op_log_softmax, T>(p, stream);
        case op_layer_norm: return line<op_layer_norm, T>(p, stream);
        case op_rms_norm: return line<op_rms_norm, T>(p, stream);
      }
    }
    return GPK_ERR_UNSUPPORTED;
  });
}
