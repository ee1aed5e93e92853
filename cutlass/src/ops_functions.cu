// ops_functions.cu: the functions of functions.cuh as single operations.
//
// One tile kernel per function and type supports all layouts. An element costs tens of instructions: vectors would
// save little, and would double the number of kernels.
#include "functions.cuh"
#include "functions_gen.cuh"
#include "next_after.cuh"
#include "ops.cuh"

namespace gpk {
namespace {

// NextAfter is no operation of package expr, because it cannot be a step of a chain; package ops knows its number.
constexpr int op_next_after = 149;
constexpr unsigned next_after_types = 1u << GPK_F32 | 1u << GPK_F64 | 1u << GPK_F16 | 1u << GPK_BF16;

// combine, but NextAfter gets halves as they are.
template <class Op, class T>
__device__ inline T combined(T x, T y) {
  if constexpr (__is_same(Op, NextAfter)) {
    return NextAfter::apply(x, y);
  } else {
    return combine<Op, T>(x, y);
  }
}

template <class T>
constexpr int type_of = 0;
#define GPK_TYPE_OF(number, T) \
  template <>                  \
  constexpr int type_of<T> = number;
GPK_TYPES(GPK_TYPE_OF)
#undef GPK_TYPE_OF

template <class Op, class T, class D>
__global__ void __launch_bounds__(threads) unary_function_tiles(Tiles<2> p) {
  begin();
  for_each_in_tile(p, [&](int, bool in, int64_t const(&off)[2]) {
    if (in) reinterpret_cast<D*>(p.p[0])[off[0]] = Op::apply(reinterpret_cast<T const*>(p.p[1])[off[1]]);
  });
}

struct FunctionTiles {
  Tiles<3> tiles;
  Scalar scalar;
};

template <class Op, class T>
__global__ void __launch_bounds__(threads) binary_function_tiles(FunctionTiles p) {
  begin();
  T x[4], y[4];  // loaded before the first store, so that the loads overlap
  for_each_in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[3]) {
    if (!in) return;
    x[u] = p.scalar.operand == 1 ? p.scalar.as<T>() : reinterpret_cast<T const*>(p.tiles.p[1])[off[1]];
    y[u] = p.scalar.operand == 2 ? p.scalar.as<T>() : reinterpret_cast<T const*>(p.tiles.p[2])[off[2]];
  });
  for_each_in_tile(p.tiles, [&](int u, bool in, int64_t const(&off)[3]) {
    if (in) reinterpret_cast<T*>(p.tiles.p[0])[off[0]] = combined<Op>(x[u], y[u]);
  });
}

// types is a bit mask of the element types that Op supports.
template <class Op, unsigned types>
int unary_function_of(int x_type, int dst_type, Nest const& nest, uint64_t stream) {
  return by_type(x_type, [&](auto x) -> int {
    using T = decltype(x);
    if constexpr ((types >> type_of<T> & 1) != 0) {
      using D = decltype(Op::apply(x));
      static_assert(type_of<D> != 0,
                    "the function needs an explicit return type: host code cannot deduce that of a device function");
      if (dst_type != type_of<D>) return GPK_ERR_UNSUPPORTED;
      return for_each_launch(nest, [&](Nest const& t) {
        Tiles<2> p;
        unsigned const grid = make_tiles(t, &p);
        return launch(unary_function_tiles<Op, T, D>, grid, threads, stream, p);
      });
    } else {
      return GPK_ERR_UNSUPPORTED;
    }
  });
}

template <class Op, unsigned types>
int binary_function_of(int type, Nest const& nest, Scalar const& scalar, uint64_t stream) {
  return by_type(type, [&](auto x) -> int {
    using T = decltype(x);
    if constexpr ((types >> type_of<T> & 1) != 0) {
      return for_each_launch(nest, [&](Nest const& t) {
        FunctionTiles p;
        p.scalar = scalar;
        unsigned const grid = make_tiles(t, &p.tiles);
        return launch(binary_function_tiles<Op, T>, grid, threads, stream, p);
      });
    } else {
      return GPK_ERR_UNSUPPORTED;
    }
  });
}

}  // namespace

int unary_function(int op, int x_type, int dst_type, Nest const& t, uint64_t stream) {
  switch (op) {
#define GPK_CASE(number, Name, types) \
  case number: return unary_function_of<Name, types>(x_type, dst_type, t, stream);
    GPK_UNARY_FUNCTIONS(GPK_CASE)
#undef GPK_CASE
  }
  return GPK_ERR_UNSUPPORTED;
}

int binary_function(int op, int type, Nest const& t, Scalar const& scalar, uint64_t stream) {
  switch (op) {
#define GPK_CASE(number, Name, types) \
  case number: return binary_function_of<Name, types>(type, t, scalar, stream);
    GPK_BINARY_FUNCTIONS(GPK_CASE)
#undef GPK_CASE
    case op_next_after: return binary_function_of<NextAfter, next_after_types>(type, t, scalar, stream);
  }
  return GPK_ERR_UNSUPPORTED;
}

}  // namespace gpk
