// ops.cu: element-wise operations, fill and arange, and a spin kernel for tests.
//
// An operation has two kernels. `rows` requires an innermost dimension that is dense in the destination and, in each
// source, dense or one repeated element (a broadcast row or column, a scalar). It moves vectors of 16 bytes. `tiles`
// makes no assumption about the layout.
#include "ops.cuh"
#include "ops_reduce.cuh"
#include "splat.cuh"

namespace gpk {

// Reductions other than Sum and Mean, in ops_rows.cu. dense has the dimensions of s and the strides of a dense array
// of that shape. The order of terms follows from these strides.
int64_t other_workspace(int op, int x_type, int dst_type, int64_t folds, int64_t terms);
int other_reduce(uint64_t stream, int op, int x_type, int64_t folds, int64_t terms, Sum const& s, Sum const& dense,
                 uint64_t dst, uint64_t workspace);

// The functions of functions.cuh, in ops_functions.cu.
int unary_function(int op, int x_type, int dst_type, Nest const& t, uint64_t stream);
int binary_function(int op, int type, Nest const& t, Scalar const& scalar, uint64_t stream);

namespace {

// The prologue of a short kernel in a chain. Unlike begin(), it gives launch_dependents before it waits, so that the next
// kernel is launched during the wait. The empty asm statements use the values: the compiler has to load the parameters that
// they depend on before the wait, too.
template <class... V>
__device__ inline void begin_early(V... values) {
  launch_dependents();
  auto const use = [](int64_t v) { asm volatile("" ::"l"(v)); };
  (use(static_cast<int64_t>(values)), ...);
  griddepcontrol_wait();
}

// ---- unary

// Vectors that a thread has in flight. One is enough to reach the memory's bandwidth, and is the fastest (H200: Add
// of half types at 4.38 TB/s, with four 3.94). The smooth operations of float are bound by arithmetic, and are
// fastest with two vectors and a bound on registers.
template <class Op, class T>
constexpr int vectors_each = is_smooth<Op> && !is_half<T> && !__is_same(Op, GELUTanh) ? 2 : 1;

// The minimum number of blocks per multiprocessor for __launch_bounds__; 1 sets no bound.
template <class Op, class T>
constexpr int unary_blocks = !is_smooth<Op> || sizeof(T) == 8 ? 1 : __is_same(Op, GELUTanh) && !is_half<T> ? 8 : 6;

// Op on N elements, with results of type D: T itself, or the real type for a complex T.
template <class Op, class T, class D, int N>
__device__ void apply_to(T (&x)[N], D (&y)[N]) {
  if constexpr (__is_same(T, D)) {
    apply<Op>(x);
#pragma unroll
    for (int e = 0; e < N; ++e) y[e] = x[e];
  } else {
#pragma unroll
    for (int e = 0; e < N; ++e) y[e] = Op::apply(x[e]);
  }
}

template <class Op, class T, class D>
__global__ void __launch_bounds__(threads, unary_blocks<Op, T>) unary_rows(Rows<2> r) {
  constexpr int V = 16 / sizeof(T), each = vectors_each<Op, T>;
  Vec<T, V> x[each];
  int64_t off[each][2] = {};
  uint32_t const first = blockIdx.x * blockDim.x * each + threadIdx.x;
#pragma unroll
  for (int u = 0; u < each; ++u) {
    if (first + u * blockDim.x < r.vectors) place(r, V, first + u * blockDim.x, off[u]);
  }
  begin_early(off[0][0], off[0][1], off[each - 1][0], off[each - 1][1], reinterpret_cast<intptr_t>(r.p[0]), reinterpret_cast<intptr_t>(r.p[1]), r.splat[1], r.tail);
#pragma unroll
  for (int u = 0; u < each; ++u) {
    if (first + u * blockDim.x < r.vectors) x[u] = read<T, V>(r, 1, off[u][1]);
  }
#pragma unroll
  for (int u = 0; u < each; ++u) {
    if (first + u * blockDim.x >= r.vectors) continue;
    Vec<D, V> y;
    apply_to<Op>(x[u].v, y.v);
    *reinterpret_cast<Vec<D, V>*>(reinterpret_cast<D*>(r.p[0]) + off[u][0]) = y;
  }
  if (first < r.tail) {
    uint32_t const i = r.vectors * V + first;
    T one[] = {reinterpret_cast<T const*>(r.p[1])[r.splat[1] ? 0 : i]};
    D y[1];
    apply_to<Op>(one, y);
    reinterpret_cast<D*>(r.p[0])[i] = y[0];
  }
}

struct Pass {
  char const* x;
  char* dst;
  uint32_t vectors, tail;
};

// For unary_pass: threads per block, vectors per thread and the minimum number of blocks per multiprocessor.
template <class T>
constexpr int pass_threads = is_half<T> ? 128 : 64;
template <class T>
constexpr int pass_each = is_half<T> ? 2 : 4;
template <class T>
constexpr int pass_blocks = is_half<T> ? 12 : 20;

// A smooth operation on at least 4 MiB of contiguous elements: less than one wave (the blocks that an H200 holds at
// once have 10 MiB of float, 6 of halves) is enough. The arithmetic takes about as long as the memory traffic, so the
// kernel does nothing else. Blocks are small and short, so that some read while others compute, and so that the
// addresses in use at a time are close together. (H200 at its power limit: GELU of float at 4.16 TB/s, as a loop over
// eight vectors 3.9; of bfloat16 at 4.25.)
template <class Op, class T>
__global__ void __launch_bounds__(pass_threads<T>, pass_blocks<T>) unary_pass(Pass p) {
  begin_early();
  constexpr int V = 16 / sizeof(T), block = pass_threads<T>, each = pass_each<T>;
  uint32_t const first = blockIdx.x * (block * each) + threadIdx.x;
  Vec<T, V> const* const x = reinterpret_cast<Vec<T, V> const*>(p.x) + first;
  Vec<T, V>* const y = reinterpret_cast<Vec<T, V>*>(p.dst) + first;
  if ((blockIdx.x + 1) * (block * each) <= p.vectors) {
    Vec<T, V> v[each];
#pragma unroll
    for (int u = 0; u < each; ++u) v[u] = x[u * block];
#pragma unroll
    for (int u = 0; u < each; ++u) {
      apply<Op>(v[u].v);
      y[u * block] = v[u];
    }
    return;
  }
  // The last block, which is partial.
#pragma unroll 1
  for (int u = 0; u < each && first + u * block < p.vectors; ++u) {
    Vec<T, V> v = x[u * block];
    apply<Op>(v.v);
    y[u * block] = v;
  }
  if (threadIdx.x < p.tail) {
    uint32_t const i = p.vectors * V + threadIdx.x;
    T one[] = {reinterpret_cast<T const*>(p.x)[i]};
    apply<Op>(one);
    reinterpret_cast<T*>(p.dst)[i] = one[0];
  }
}

template <class Op, class T, class D>
__global__ void __launch_bounds__(threads) unary_tiles(Tiles<2> p) {
  begin_early();
  T x[4] = {};
  D y[4];
  in_tile(p, [&](int u, bool in, int64_t const(&off)[2]) {
    if (in) x[u] = reinterpret_cast<T const*>(p.p[1])[off[1]];
  });
  apply_to<Op>(x, y);
  in_tile(p, [&](int u, bool in, int64_t const(&off)[2]) {
    if (in) reinterpret_cast<D*>(p.p[0])[off[0]] = y[u];
  });
}

template <class Op, class T, class D = T>
int unary(Nest const& nest, uint64_t stream) {
  return in_pieces(nest, [&](Nest const& t) {
    Rows<2> r;
    if (make_rows(t, 16 / sizeof(T), 0, &r)) {
      if constexpr (is_smooth<Op> && sizeof(T) <= 4) {
        if (r.outer.dims == 0 && !r.splat[1] && r.vectors >= 1u << 18) {
          constexpr int block = pass_threads<T>;
          Pass const p = {r.p[1], r.p[0], r.vectors, r.tail};
          return launch(unary_pass<Op, T>, r.vectors / (block * pass_each<T>) + 1, block, stream, p);
        }
      }
      return launch_for(unary_rows<Op, T, D>, r.vectors, vectors_each<Op, T>, stream, r);
    }
    Tiles<2> p;
    unsigned const grid = make_tiles(t, &p);
    return launch(unary_tiles<Op, T, D>, grid, threads, stream, p);
  });
}

// ---- binary

struct BinaryRows {
  Rows<3> rows;
  Scalar scalar;
};
struct BinaryTiles {
  Tiles<3> tiles;
  Scalar scalar;
};

template <class T, int V>
__device__ Vec<T, V> read(BinaryRows const& p, int operand, int64_t off) {
  if (p.scalar.operand != operand) return read<T, V>(p.rows, operand, off);
  Vec<T, V> v;
#pragma unroll
  for (int e = 0; e < V; ++e) v.v[e] = p.scalar.as<T>();
  return v;
}

template <class Op, class T, class D>
__global__ void __launch_bounds__(threads) binary_rows(BinaryRows p) {
  constexpr int V = 16 / sizeof(T);
  Rows<3> const& r = p.rows;
  uint32_t const first = blockIdx.x * blockDim.x + threadIdx.x;
  int64_t off[3] = {};
  if (first < r.vectors) place(r, V, first, off);
  begin_early(off[0], off[1], off[2], reinterpret_cast<intptr_t>(r.p[0]), reinterpret_cast<intptr_t>(r.p[1]), reinterpret_cast<intptr_t>(r.p[2]), r.splat[1],
              r.splat[2], p.scalar.operand, p.scalar.lo, r.tail);
  if (first < r.vectors) {
    Vec<T, V> const x = read<T, V>(p, 1, off[1]), y = read<T, V>(p, 2, off[2]);
    Vec<D, V> z;
#pragma unroll
    for (int e = 0; e < V; ++e) z.v[e] = combine<Op, T, D>(x.v[e], y.v[e]);
    *reinterpret_cast<Vec<D, V>*>(reinterpret_cast<D*>(r.p[0]) + off[0]) = z;
  }
  if (first < r.tail) {
    uint32_t const i = r.vectors * V + first;
    T const a = read<T, 1>(p, 1, r.splat[1] ? 0 : i).v[0], b = read<T, 1>(p, 2, r.splat[2] ? 0 : i).v[0];
    reinterpret_cast<D*>(r.p[0])[i] = combine<Op, T, D>(a, b);
  }
}

template <class Op, class T, class D>
__global__ void __launch_bounds__(threads) binary_tiles(BinaryTiles p) {
  begin_early();
  T x[4], y[4];
  in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[3]) {
    if (!in) return;
    x[u] = p.scalar.operand == 1 ? p.scalar.as<T>() : reinterpret_cast<T const*>(p.tiles.p[1])[off[1]];
    y[u] = p.scalar.operand == 2 ? p.scalar.as<T>() : reinterpret_cast<T const*>(p.tiles.p[2])[off[2]];
  });
  in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[3]) {
    if (in) reinterpret_cast<D*>(p.tiles.p[0])[off[0]] = combine<Op, T, D>(x[u], y[u]);
  });
}

template <class Op, class T, class D = T>
int binary(Nest const& nest, Scalar const& scalar, uint64_t stream) {
  return in_pieces(nest, [&](Nest const& t) {
    BinaryRows r;
    r.scalar = scalar;
    if (make_rows(t, 16 / sizeof(T), scalar.operand, &r.rows)) {
      return launch_for(binary_rows<Op, T, D>, r.rows.vectors, 1, stream, r);
    }
    BinaryTiles p;
    p.scalar = scalar;
    unsigned const grid = make_tiles(t, &p.tiles);
    return launch(binary_tiles<Op, T, D>, grid, threads, stream, p);
  });
}

// ---- fill

struct FillTiles {
  Tiles<1> tiles;
  Scalar scalar;
};

template <class T>
__global__ void __launch_bounds__(threads) fill_tiles(FillTiles p) {
  begin_early();
  T const one = p.scalar.as<T>();
  in_tile(p.tiles, [&](int, bool in, int64_t const(&off)[1]) {
    if (in) reinterpret_cast<T*>(p.tiles.p[0])[off[0]] = one;
  });
}

template <int Bytes>
int fill(Nest const& nest, Scalar const& scalar, uint64_t stream) {
  using T = typename Blob<Bytes>::type;
  return in_pieces(nest, [&](Nest const& t) {
    Nest rows = t;
    rows.p[1] = nullptr;
    for (int d = 0; d < t.dims; ++d) rows.stride[1][d] = 0;
    int code;
    if (splat<Bytes>(rows, scalar.lo, scalar.hi, stream, &code)) return code;
    FillTiles p;
    p.scalar = scalar;
    unsigned const grid = make_tiles(t, &p.tiles);
    return launch(fill_tiles<T>, grid, threads, stream, p);
  });
}

// ---- arange

struct Range {
  char* dst;
  int64_t n;
  uint64_t start, step;
};

template <class T>
__global__ void __launch_bounds__(threads) arange(Range p) {
  begin_early();
  int64_t const i = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  if (i >= p.n) return;
  T* const dst = reinterpret_cast<T*>(p.dst) + i;
  if constexpr (is_float<T> || is_complex<T>) {
    *dst = convert<T>(__longlong_as_double(p.start) + static_cast<double>(i) * __longlong_as_double(p.step));
  } else {
    uint64_t const v = p.start + static_cast<uint64_t>(i) * p.step;
    if constexpr (__is_same(T, boolean)) {
      *dst = {static_cast<uint8_t>(v != 0)};
    } else {
      *dst = static_cast<T>(v);
    }
  }
}

// ---- spin

struct Spin {
  int64_t nanoseconds;
};

__global__ void spin(Spin p) {
  begin_early();
  uint64_t start, now;
  asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(start));
  do {
    __nanosleep(200);
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(now));
  } while (static_cast<int64_t>(now - start) < p.nanoseconds);
}

// Operations whose result on complex numbers is real.
template <class Op>
constexpr bool is_to_real = __is_same(Op, Abs) || __is_same(Op, AbsSquare);

// Operations whose kernels serve the types of sign_free.
template <class Op>
constexpr bool wraps = __is_same(Op, Neg) || __is_same(Op, Not) || __is_same(Op, Square) || __is_same(Op, AbsSquare) ||
                       __is_same(Op, Add) || __is_same(Op, Sub) || __is_same(Op, Mul) || __is_same(Op, And) ||
                       __is_same(Op, Or) || __is_same(Op, Xor) || __is_same(Op, Shl) || __is_same(Op, Eq) || __is_same(Op, Ne);

template <class Op, class T>
constexpr bool served = wraps<Op> && !is_sign_free<T>;

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
    if constexpr (served<Op, T>) {
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
    constexpr bool whole = is_integer<T> && is_sign_free<T> && !__is_same(T, int8_t) && !__is_same(Op, Div);
    if constexpr (is_float<T> || is_complex<T> || whole) {
      return binary<Op, T>(t, scalar, stream);
    } else {
      return GPK_ERR_UNSUPPORTED;
    }
  });
}

// Operations on integers only. Bool counts as one of them, as a byte, except for shifts.
template <class Op>
int bitwise_of(int type, Nest const& t, Scalar const& scalar, uint64_t stream) {
  if (wraps<Op>) type = sign_free(type);
  return by_type(type, [&](auto x) -> int {
    using T = decltype(x);
    if constexpr (is_integer<T> && !served<Op, T>) {
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
    if constexpr (is_float<T> || (is_integer<T> && !served<Op, T>) || (is_complex<T> && equality)) {
      return binary<Op, T, boolean>(t, scalar, stream);
    } else {
      return GPK_ERR_UNSUPPORTED;
    }
  });
}

// The byte type for Bool, where an operation treats Bool as a byte.
int as_byte(int type) { return type == GPK_BOOL ? GPK_U8 : type; }

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

// Whether the operation is a function: expr.Op.IsFunction.
bool is_function(int op) { return (op > op_abs_square && op < op_add) || (op > op_shr && op < op_where); }

// The real or imaginary parts of complex numbers are copied as every second element.
int part(int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, int64_t const* shape, uint64_t x,
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
  return dst_type == sum_type(x_type) && !(op == op_mean && is_whole_type(x_type));
}

// The number of sums, and the number of terms of each.
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
    return part(device, stream, op, x_type, dst_type, ndim, shape, x, x_strides, dst, dst_strides);
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
  p.over = op == op_mean ? static_cast<double>(terms) : 0;
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
