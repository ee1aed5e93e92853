// ops.cu: the entry points of element-wise operations, fill, arange and reductions, and a spin kernel for tests.
//
// An operation has two kernels. `rows` requires an innermost dimension that is dense in the destination and, in each
// source, dense or one repeated element (a broadcast row or column, or a scalar). It moves vectors of 16 bytes.
// `tiles` makes no assumption about the layout.
#include "ops.cuh"
#include "ops_dispatch.cuh"
#include "ops_fill.cuh"
#include "ops_reduce.cuh"

namespace gpk {

// Reductions other than Sum and Mean (ops_rows.cu). dense has the dimensions of s and the strides of a dense array of
// that shape, which determine the order of terms.
int64_t other_workspace(int op, int x_type, int dst_type, int64_t folds, int64_t terms);
int other_reduce(uint64_t stream, int op, int x_type, int64_t folds, int64_t terms, Sum const& s, Sum const& dense,
                 uint64_t dst, uint64_t workspace);

// The functions of functions.cuh (ops_functions.cu).
int unary_function(int op, int x_type, int dst_type, Nest const& t, uint64_t stream);
int binary_function(int op, int type, Nest const& t, Scalar const& scalar, uint64_t stream);

namespace {

// The operations, by their numbers in package expr.
enum {
  op_neg = 1, op_conj, op_relu, op_gelu, op_gelu_tanh, op_silu,
  op_not, op_abs, op_sign, op_square, op_sqrt, op_rsqrt, op_exp, op_expm1, op_log, op_log1p, op_sin, op_cos, op_tanh,
  op_erf, op_sigmoid, op_floor, op_ceil, op_round, op_real, op_imag, op_abs_square,
  op_add = 100, op_sub, op_mul, op_div,
  op_pow, op_maximum, op_minimum, op_eq, op_ne, op_lt, op_le, op_gt, op_ge, op_and, op_or, op_xor, op_shl, op_shr,
  op_where = 150,
  op_sum = 200, op_mean
};

int real_of(int type) { return type == GPK_C64 ? GPK_F32 : type == GPK_C128 ? GPK_F64 : type; }

// As expr.Op.IsFunction.
bool is_function(int op) { return (op > op_abs_square && op < op_add) || (op > op_shr && op < op_where); }

// Copies the real or imaginary parts of complex numbers, which are every second element.
int copy_part(int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, int64_t const* shape, uint64_t x,
         int64_t const* x_strides, uint64_t dst, int64_t const* dst_strides) {
  if (dst_type != real_of(x_type)) return GPK_ERR_UNSUPPORTED;
  if (x_type == dst_type) {
    if (op == op_imag) return gpk_fill(device, stream, dst_type, ndim, shape, 0, 0, dst, dst_strides);
    return gpk_cast(device, stream, x_type, dst_type, ndim, shape, x, x_strides, dst, dst_strides);
  }
  if (ndim < 0 || ndim > GPK_MAX_DIMS) return GPK_ERR_ARGUMENT;
  int64_t twice[GPK_MAX_DIMS];
  for (int d = 0; d < ndim; ++d) twice[d] = 2 * x_strides[d];
  return gpk_cast(device, stream, dst_type, dst_type, ndim, shape, op == op_imag ? x + size_of(dst_type) : x, twice,
                  dst, dst_strides);
}

bool is_sum(int op) { return op == op_sum || op == op_mean; }

bool sums_to(int op, int x_type, int dst_type) {
  return dst_type == sum_type(x_type) && !(op == op_mean && is_integral_type(x_type));
}

// Computes the number of sums, and the number of terms of each.
int sum_size(int ndim, int64_t const* shape, uint32_t axes, int64_t* sums, int64_t* terms) {
  if (ndim < 0 || ndim > GPK_MAX_DIMS) return GPK_ERR_ARGUMENT;
  *sums = *terms = 1;
  for (int d = 0; d < ndim; ++d) {
    if (shape[d] < 0) return GPK_ERR_ARGUMENT;
    *(axes >> d & 1 ? terms : sums) *= shape[d];
  }
  return GPK_OK;
}

}  // namespace

}  // namespace gpk

using namespace gpk;

int gpk_unary(int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, int64_t const* shape, uint64_t x,
              int64_t const* x_strides, uint64_t dst, int64_t const* dst_strides) {
  if (size_of(x_type) == 0) return GPK_ERR_UNSUPPORTED;
  if (op == op_real || op == op_imag) {
    return copy_part(device, stream, op, x_type, dst_type, ndim, shape, x, x_strides, dst, dst_strides);
  }
  if (!is_function(op) && dst_type != (op == op_abs || op == op_abs_square ? real_of(x_type) : x_type)) {
    return GPK_ERR_UNSUPPORTED;
  }
  if (size_of(dst_type) == 0) return GPK_ERR_UNSUPPORTED;
  bool const rounds = op == op_floor || op == op_ceil || op == op_round;
  bool const positive = op == op_abs && (x_type == GPK_U16 || x_type == GPK_U32 || x_type == GPK_U64);
  if (positive || (op == op_conj && real_of(x_type) == x_type) || (rounds && is_integer_type(x_type))) {
    return gpk_cast(device, stream, x_type, dst_type, ndim, shape, x, x_strides, dst, dst_strides);
  }
  Nest t;
  Operand const ops[] = {{dst, dst_strides, size_of(dst_type)}, {x, x_strides, size_of(x_type)}};
  int code = make_nest(&t, ndim, shape, 2, ops);
  if (code == GPK_OK && t.elements > 0) code = set_device(device);
  if (code != GPK_OK) return code;
  if (is_function(op)) return unary_function(op, x_type, dst_type, t, stream);
  switch (op) {
    case op_neg: return unary_of<Neg>(x_type, t, stream);
    case op_conj: return unary_of<Conj>(x_type, t, stream);
    case op_relu: return unary_of<ReLU>(x_type, t, stream);
    case op_gelu: return unary_of<GELU>(x_type, t, stream);
    case op_gelu_tanh: return unary_of<GELUTanh>(x_type, t, stream);
    case op_silu: return unary_of<SiLU>(x_type, t, stream);
    case op_not: return unary_of<Not>(x_type, t, stream);
    case op_abs: return unary_of<Abs>(x_type, t, stream);
    case op_sign: return unary_of<Sign>(x_type, t, stream);
    case op_square: return unary_of<Square>(x_type, t, stream);
    case op_sqrt: return unary_of<Sqrt>(x_type, t, stream);
    case op_rsqrt: return unary_of<Rsqrt>(x_type, t, stream);
    case op_exp: return unary_of<Exp>(x_type, t, stream);
    case op_expm1: return unary_of<Expm1>(x_type, t, stream);
    case op_log: return unary_of<Log>(x_type, t, stream);
    case op_log1p: return unary_of<Log1p>(x_type, t, stream);
    case op_sin: return unary_of<Sin>(x_type, t, stream);
    case op_cos: return unary_of<Cos>(x_type, t, stream);
    case op_tanh: return unary_of<Tanh>(x_type, t, stream);
    case op_erf: return unary_of<Erf>(x_type, t, stream);
    case op_sigmoid: return unary_of<Sigmoid>(x_type, t, stream);
    case op_floor: return unary_of<Floor>(x_type, t, stream);
    case op_ceil: return unary_of<Ceil>(x_type, t, stream);
    case op_round: return unary_of<Round>(x_type, t, stream);
    case op_abs_square: return unary_of<AbsSquare>(x_type, t, stream);
  }
  return GPK_ERR_UNSUPPORTED;
}

int gpk_binary(int device, uint64_t stream, int op, int type, int dst_type, int ndim, int64_t const* shape, uint64_t x,
               int64_t const* x_strides, uint64_t y, int64_t const* y_strides, uint64_t scalar_lo, uint64_t scalar_hi,
               uint64_t dst, int64_t const* dst_strides) {
  bool const compares = op >= op_eq && op <= op_ge;
  if (dst_type != (compares ? GPK_BOOL : type) || size_of(type) == 0) return GPK_ERR_UNSUPPORTED;
  Nest t;
  int64_t const none[GPK_MAX_DIMS] = {};
  int const size = size_of(type);
  Operand const ops[] = {
      {dst, dst_strides, size_of(dst_type)}, {x, x == 0 ? none : x_strides, size}, {y, y == 0 ? none : y_strides, size}};
  int code = make_nest(&t, ndim, shape, 3, ops);
  if (code != GPK_OK) return code;
  Scalar const scalar = {scalar_lo, scalar_hi, t.elements == 0 ? 0 : x == 0 ? 1 : y == 0 ? 2 : 0};
  if (scalar.operand == 1 && y == 0) return GPK_ERR_ARGUMENT;
  if (t.elements > 0) code = set_device(device);
  if (code != GPK_OK) return code;
  if (is_function(op)) return binary_function(op, type, t, scalar, stream);
  switch (op) {
    case op_add: return binary_of<Add>(type, t, scalar, stream);
    case op_sub: return binary_of<Sub>(type, t, scalar, stream);
    case op_mul: return binary_of<Mul>(type, t, scalar, stream);
    case op_div: return binary_of<Div>(type, t, scalar, stream);
    case op_pow: return power_of(type, t, scalar, stream);
    case op_maximum: return ordered_of<Maximum>(as_byte(type), t, scalar, stream);
    case op_minimum: return ordered_of<Minimum>(as_byte(type), t, scalar, stream);
    case op_eq: return compare_of<Eq>(type, t, scalar, stream);
    case op_ne: return compare_of<Ne>(type, t, scalar, stream);
    case op_lt: return compare_of<Lt>(type, t, scalar, stream);
    case op_le: return compare_of<Le>(type, t, scalar, stream);
    case op_gt: return compare_of<Gt>(type, t, scalar, stream);
    case op_ge: return compare_of<Ge>(type, t, scalar, stream);
    case op_and: return bitwise_of<And>(as_byte(type), t, scalar, stream);
    case op_or: return bitwise_of<Or>(as_byte(type), t, scalar, stream);
    case op_xor: return bitwise_of<Xor>(as_byte(type), t, scalar, stream);
    case op_shl: return bitwise_of<Shl>(type, t, scalar, stream);
    case op_shr: return bitwise_of<Shr>(type, t, scalar, stream);
  }
  return GPK_ERR_UNSUPPORTED;
}

int gpk_fill(int device, uint64_t stream, int type, int ndim, int64_t const* shape, uint64_t lo, uint64_t hi,
             uint64_t dst, int64_t const* dst_strides) {
  int const size = size_of(type);
  if (size == 0) return GPK_ERR_UNSUPPORTED;
  Nest t;
  Operand const ops[] = {{dst, dst_strides, size}};
  int code = make_nest(&t, ndim, shape, 1, ops);
  if (code != GPK_OK || t.elements == 0) return code;
  code = set_device(device);
  if (code != GPK_OK) return code;
  Scalar const scalar = {lo, hi, 0};
  switch (size) {
    case 1: return fill<1>(t, scalar, stream);
    case 2: return fill<2>(t, scalar, stream);
    case 4: return fill<4>(t, scalar, stream);
    case 8: return fill<8>(t, scalar, stream);
    default: return fill<16>(t, scalar, stream);
  }
}

int gpk_arange(int device, uint64_t stream, int type, int64_t n, uint64_t start_bits, uint64_t step_bits,
               uint64_t dst) {
  if (n < 0 || n > (int64_t{1} << 31) * (threads / 2)) return GPK_ERR_ARGUMENT;
  if (size_of(type) == 0) return GPK_ERR_UNSUPPORTED;
  if (n == 0) return GPK_OK;
  int const code = set_device(device);
  if (code != GPK_OK) return code;
  Range const p = {reinterpret_cast<char*>(dst), n, start_bits, step_bits};
  return by_type(sign_free(type), [&](auto x) -> int {
    if constexpr (is_sign_free<decltype(x)>) {
      return launch(arange<decltype(x)>, blocks_for(n, threads), threads, stream, p);
    } else {
      return GPK_ERR_UNSUPPORTED;
    }
  });
}

int64_t gpk_reduce_workspace(int, int op, int x_type, int dst_type, int ndim, int64_t const* shape, uint32_t axes) {
  if (size_of(x_type) == 0) return -GPK_ERR_UNSUPPORTED;
  int64_t sums, terms;
  int const code = sum_size(ndim, shape, axes, &sums, &terms);
  if (code != GPK_OK) return -code;
  if (!is_sum(op)) return other_workspace(op, x_type, dst_type, sums, terms);
  if (!sums_to(op, x_type, dst_type)) return -GPK_ERR_UNSUPPORTED;
  int64_t bytes = 0;
  by_type(x_type == GPK_U64 ? GPK_I64 : x_type, [&](auto x) {
    bytes = sum_workspace<decltype(x)>(sums, terms);
    return GPK_OK;
  });
  return bytes;
}

int gpk_reduce(int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, int64_t const* shape,
               uint32_t axes, uint64_t x, int64_t const* x_strides, uint64_t dst, uint64_t workspace,
               int64_t workspace_bytes) {
  if (size_of(x_type) == 0 || (is_sum(op) && !sums_to(op, x_type, dst_type))) return GPK_ERR_UNSUPPORTED;
  int64_t sums, terms;
  int code = sum_size(ndim, shape, axes, &sums, &terms);
  if (code != GPK_OK || sums == 0) return code;
  if (terms == 0) {
    if (op != op_sum) return GPK_ERR_ARGUMENT;
    int64_t const one = 1;
    return gpk_fill(device, stream, dst_type, 1, &sums, 0, 0, dst, &one);
  }
  auto place = [&](Sum& p, int d, int64_t stride) {
    if (axes >> d & 1) {
      prepend(&p.summed_dims, p.summed_n, p.summed_stride, shape[d], stride);
    } else {
      prepend(&p.kept_dims, p.kept_n, p.kept_stride, shape[d], stride);
    }
  };
  Sum p = {};
  p.x = reinterpret_cast<char const*>(x);
  for (int d = ndim - 1; d >= 0; --d) place(p, d, x_strides[d]);
  code = set_device(device);
  if (code != GPK_OK) return code;
  if (!is_sum(op)) {
    Sum dense = {};
    int64_t stride = 1;
    for (int d = ndim - 1; d >= 0; stride *= shape[d--]) place(dense, d, stride);
    int64_t const need = other_workspace(op, x_type, dst_type, sums, terms);
    if (need < 0) return static_cast<int>(-need);
    if (need > workspace_bytes) return GPK_ERR_WORKSPACE;
    return other_reduce(stream, op, x_type, sums, terms, p, dense, dst, workspace);
  }
  p.divisor = op == op_mean ? static_cast<double>(terms) : 0;
  return by_type(x_type == GPK_U64 ? GPK_I64 : x_type, [&](auto v) -> int {
    if constexpr (__is_same(decltype(v), uint64_t)) {
      return GPK_ERR_UNSUPPORTED;
    } else {
      return gpk::sum<decltype(v)>(sums, terms, p, stream, dst, workspace, workspace_bytes);
    }
  });
}

int gpk_spin(int device, uint64_t stream, int64_t microseconds) {
  if (microseconds < 0 || microseconds > 60 * 1000 * 1000) return GPK_ERR_ARGUMENT;
  int const code = set_device(device);
  return code != GPK_OK ? code : launch(spin, 1, 1, stream, Spin{microseconds * 1000});
}
