// reduction.cuh: the choice of the kernel, and the launch, of the reductions other than Sum and Mean.
#pragma once
#include "reduction_kernels.cuh"

namespace gpk {
namespace {

// The operations, by their numbers in package expr.
enum { op_max = 202, op_min, op_prod, op_var, op_any, op_all, op_arg_max, op_arg_min };

// Returns the number of branches of a fold. It depends only on the shape, because the size of the workspace does. A
// branch has at least `least` terms. There are no more branches than occupy any device.
int64_t branches(int64_t folds, int64_t terms) {
  constexpr int64_t least = 1024;
  int64_t const wanted = saturating_blocks / ((folds - 1) / 8 + 1), max_branches = (terms - 1) / least + 1;
  int64_t const n = wanted < 1 ? 1 : wanted < max_branches ? wanted : max_branches;
  return n > 1024 ? 1024 : n;
}

template <class P>
int64_t fold_workspace(int64_t folds, int64_t terms) {
  if (folds == 0 || terms == 0) return 0;
  int64_t const n = branches(folds, terms);
  return n == 1 ? 0 : (n * folds * static_cast<int64_t>(sizeof(typename P::A)) + 15) / 16 * 16;
}

// The layout of a reduction's elements. columns: neighbouring folds are closer in memory than neighbouring terms.
// vectors: W folds (columns) or V terms (rows) are 16 contiguous, aligned bytes.
struct AccessPattern {
  bool columns, vectors;
};

template <int W, int V>
AccessPattern access_pattern(Reduction const& p, bool aligned) {
  auto magnitude = [](int64_t v) { return v < 0 ? -v : v; };
  auto all_multiples = [](int width, int dims, int64_t const* stride, int from) {
    bool yes = true;
    for (int d = from; d < dims; ++d) yes = yes && stride[d] % width == 0;
    return yes;
  };
  int64_t const kept = p.kept_stride[0], folded = p.folded_stride[0];
  bool const columns = p.folds > 1 && (p.terms < 8 || magnitude(kept) < magnitude(folded));
  return {columns, columns ? W > 1 && aligned && kept == 1 && p.kept_n[0] % W == 0 &&
                                 all_multiples(W, p.kept_dims, p.kept_stride, 1) &&
                                 all_multiples(W, p.folded_dims, p.folded_stride, 0)
                           : aligned && folded == 1 && (p.folded_dims == 1 || p.folded_n[0] % V == 0) &&
                                 all_multiples(V, p.folded_dims, p.folded_stride, 1) &&
                                 all_multiples(V, p.kept_dims, p.kept_stride, 0)};
}

// Launches the kernels of a reduction. dense is p with the strides of a dense array. If the order of terms affects
// the result, dense determines the tree, and the layout of p determines only how the terms are read.
template <class P, class T>
int fold(Reduction p, Reduction const& dense, uint64_t stream, uint64_t dst, uint64_t workspace) {
  constexpr int V = vector_width<T>;
  constexpr int max_folds = sizeof(typename P::A) > 16 ? 4 : 8, W = V < max_folds ? V : max_folds;  // folds per thread
  AccessPattern const layout = access_pattern<W, V>(p, reinterpret_cast<uintptr_t>(p.x) % 16 == 0);
  AccessPattern const tree = ordered<P> ? access_pattern<W, V>(dense, true) : layout;
  p.vectors = tree.vectors;
  p.groups = branches(p.folds, p.terms);
  p.per_group = ((p.terms - 1) / p.groups + V) / V * V;  // a multiple of V
  p.groups = (p.terms - 1) / p.per_group + 1;
  p.out = reinterpret_cast<char*>(p.groups > 1 ? workspace : dst);
  if (tree.columns) {
    int64_t const folds_per_thread = tree.vectors ? W : 1;
    p.team = 32;
    while (p.team > 1 && p.team / 2 * folds_per_thread >= p.folds) p.team /= 2;
    // Each team of a block should have enough terms for the loads in flight.
    while (p.team < threads && p.team * folds_per_thread < p.folds && threads / p.team * 8 > p.per_group) p.team *= 2;
    if constexpr (!ordered<P>) {
      // If there are few blocks, more teams of a block share its terms, as long as a team reads whole sectors of 32 bytes.
      auto const blocks = [&] { return ((p.folds - 1) / (p.team * folds_per_thread) + 1) * p.groups; };
      while (p.team > 1 && p.team / 2 * folds_per_thread * static_cast<int64_t>(sizeof(T)) >= 32 && blocks() < 128 &&
             threads / p.team * 8 < p.per_group) {
        p.team /= 2;
      }
    }
  } else {
    // At most 16 vectors per thread, or 32 if merging is expensive, and at least 128 contiguous bytes per team.
    constexpr int max_vectors = locates_later<P, T> ? 32 : 16;
    p.team = 1;
    while (p.team < threads && p.team * V < p.per_group && (p.team < 8 || p.team * max_vectors * V < p.per_group)) p.team *= 2;
  }
  // Neighbouring threads compute `folds` folds (launch_columns) or a branch (launch_branches).
  auto launch_columns = [&](auto kernel, int64_t folds) {
    int64_t const grid = ((p.folds - 1) / folds + 1) * p.groups;
    return grid > INT32_MAX ? GPK_ERR_ARGUMENT : launch(kernel, static_cast<unsigned>(grid), threads, stream, p);
  };
  auto launch_branches = [&](auto kernel) {
    int64_t const grid = (p.folds * p.groups - 1) / (threads / p.team) + 1;
    return grid > INT32_MAX ? GPK_ERR_ARGUMENT : launch(kernel, static_cast<unsigned>(grid), threads, stream, p);
  };
  int code = GPK_ERR_UNSUPPORTED;
  if (tree.columns && layout.columns) {
    code = launch_columns(layout.vectors ? fold_columns<P, T, W> : fold_columns<P, T, 1>,
                          p.team * (layout.vectors ? W : 1));
  } else if (!tree.columns && !layout.columns) {
    bool const dense_vectors = p.vectors && layout.vectors && p.folded_dims == 1 && p.per_group < 1 << 30;
    auto kernel = dense_vectors ? fold_rows<P, T, true> : fold_rows<P, T, false>;
    if constexpr (ordered<P>) {
      if (p.vectors && !layout.vectors) kernel = fold_rows<P, T, false, true>;
    }
    code = launch_branches(kernel);
  } else if constexpr (ordered<P>) {
    if (tree.columns) {
      p.vectors = false;
      p.team = threads / p.team;  // as many as fold_columns has teams
      bool const slices = layout.vectors && p.team >= V;
      if (slices) p.team /= V;
      code = launch_branches(slices ? fold_columns_transposed<P, T> : fold_rows<P, T, false, true>);
    } else {
      int const folds_per_thread = layout.vectors ? W : 1;
      int width = 32;
      while (width > 1 && width / 2 * folds_per_thread >= p.folds) width /= 2;
      p.parts = threads / width < p.team ? threads / width : p.team;
      code = launch_columns(layout.vectors ? fold_rows_transposed<P, T, W> : fold_rows_transposed<P, T, 1>,
                            threads / p.parts * folds_per_thread);
    }
  }
  if (code != GPK_OK || p.groups == 1) return code;
  PartialResults last = {reinterpret_cast<char const*>(workspace), reinterpret_cast<char*>(dst), p.folds, p.terms,
                         p.groups, 1};
  while (last.team < threads && last.team * 2 <= p.groups) last.team *= 2;
  int64_t const grid = (p.folds - 1) / (threads / last.team) + 1;
  if (grid > INT32_MAX) return GPK_ERR_ARGUMENT;
  return launch(fold_partials<P>, static_cast<unsigned>(grid), threads, stream, last);
}

// Calls f with the reduction that op is for elements of type `type`, and with a value of that type.
template <class F>
int by_reduction(int op, int type, F const& f) {
  if (type == GPK_BOOL && op != op_prod) type = GPK_U8;  // a byte, 0 or 1
  if (op == op_any || op == op_all) type = sign_free(type);
  if (op == op_prod && type == GPK_U64) type = GPK_I64;
  return by_type(type, [&](auto x) -> int {
    using T = decltype(x);
    constexpr bool real = is_float<T> || is_integer<T>;
    if constexpr (real) {
      switch (op) {
        case op_max: return f(Extreme<T, true>{}, x);
        case op_min: return f(Extreme<T, false>{}, x);
        case op_arg_max: return f(ArgExtreme<T, true>{}, x);
        case op_arg_min: return f(ArgExtreme<T, false>{}, x);
      }
    }
    if constexpr ((real && is_sign_free<T>) || is_complex<T>) {
      switch (op) {
        case op_any: return f(Truth<T, false>{}, x);
        case op_all: return f(Truth<T, true>{}, x);
      }
    }
    if constexpr (is_float<T> || is_complex<T>) {
      if (op == op_var) return f(Variance<T>{}, x);
    }
    if constexpr (!__is_same(T, uint64_t)) {
      if (op == op_prod) return f(Product<T>{}, x);
    }
    return GPK_ERR_UNSUPPORTED;
  });
}

int result_type(int op, int type) {
  switch (op) {
    case op_arg_max:
    case op_arg_min: return GPK_I64;
    case op_any:
    case op_all: return GPK_BOOL;
    case op_prod: return sum_type(type);
    case op_var: return type == GPK_C64 ? GPK_F32 : type == GPK_C128 ? GPK_F64 : type;
  }
  return type;
}

}  // namespace
}  // namespace gpk
