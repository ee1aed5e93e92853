// factor_run.cuh: the launches of gpk_factor. L is a Launcher, which launches kernels: that of factor.cu, or that of
// testdata/emulate, which runs them on the host.
#pragma once
#include "factor_det.cuh"
#include "factor_lu.cuh"
#include "factor_lu_small.cuh"
#include "factor_solve.cuh"
#include "factor_tiles.cuh"
#include "factor_update.cuh"
#include "gpk_factor.h"

namespace gpk {
namespace factor {
namespace {

constexpr int64_t max_members = 32768;  // per launch: a grid has at most 65535 blocks along y and z

template <class T>
constexpr int large_rows = Number<T>::complex ? 64 : 128;
template <class T>
constexpr int large_columns = sizeof(T) == 4 ? 128 : 64;
template <class T>
using LargeTile = Tile<T, large_rows<T>, large_columns<T>, tile_depth<T>, sizeof(T) == 4 ? 64 : 32, sizeof(T) == 16 ? 16 : 32, 3>;
template <class T>
using SmallTile = Tile<T, 64, 64, tile_depth<T>, 32, sizeof(T) == 16 ? 16 : 32, 3>;

inline int64_t ceil_div(int64_t n, int64_t of) { return (n + of - 1) / of; }

template <class G, class L>
int start_update(L const& l, Update const& p, int64_t batch) {
  using T = typename G::T;
  dim3 const grid(static_cast<unsigned>(ceil_div(p.n, G::N)), static_cast<unsigned>(ceil_div(p.m, G::M)), static_cast<unsigned>(batch));
  if (grid.y > 65535) return GPK_ERR_UNSUPPORTED;
  int64_t const size = sizeof(T);
  auto const aligned = [size](uint64_t address, int64_t line, int64_t member) { return (address | (line * size) | (member * size)) % 16 == 0; };
  if (p.a_col == 1 && aligned(p.a, p.a_row, p.a_member)) {
    if (p.b_col == 1 && aligned(p.b, p.b_row, p.b_member)) return l.template start<update<G, Vectors::AlongK>>(grid, G::threads, G::bytes, p);
    if (p.b_row == 1 && aligned(p.b, p.b_col, p.b_member)) return l.template start<update<G, Vectors::AlongN>>(grid, G::threads, G::bytes, p);
  }
  return l.template start<update<G, Vectors::None>>(grid, G::threads, G::bytes, p);
}

// C -= A op(B), by large tiles if they fill the device.
template <class T, class L>
int subtract_product(L const& l, Update const& p, int64_t batch) {
  if (p.m <= 0 || p.n <= 0 || p.k <= 0) return GPK_OK;
  int64_t tiles = ceil_div(p.m, LargeTile<T>::M) * ceil_div(p.n, LargeTile<T>::N) * batch;
  if (p.lower && p.n > p.m / 2) tiles /= 2;
  if (tiles >= l.processors()) return start_update<LargeTile<T>>(l, p, batch);
  return start_update<SmallTile<T>>(l, p, batch);
}

template <class T>
uint64_t at(uint64_t p, int64_t elements) { return p + elements * static_cast<int64_t>(sizeof(T)); }

template <class T, int CTAS, class L>
int start_tiles(L const& l, Tiles const& p, int64_t tasks) {
  int64_t const resident = CTAS * l.processors(), size = sizeof(T);
  dim3 const grid(static_cast<unsigned>(tasks < resident ? tasks : resident));
  bool const aligned = (p.a | (p.pitch * size) | (p.a_member * size)) % 16 == 0;
  if (aligned) return l.template start<factor_tiles<T, Vectors::AlongK, CTAS>>(grid, column_threads, tiles_bytes<T>, p);
  return l.template start<factor_tiles<T, Vectors::None, CTAS>>(grid, column_threads, tiles_bytes<T>, p);
}

template <class T, class L>
int cholesky(gpk_factor_args const& a, L const& l, int64_t member0, int64_t batch) {
  int64_t const blocks = ceil_div(a.rows, block<T>), words = 1 + batch * blocks;
  if (a.workspace_bytes < 4 * words) return GPK_ERR_WORKSPACE;
  int64_t tasks = 0;
  int const rows = static_cast<int>(a.rows), cols = static_cast<int>(a.cols);
  for (int col = 0; col < cols; col += block<T>) tasks += 1 + ceil_div(rows - first_off_diagonal<T>(col, cols, rows), FactorTile<T>::M);
  if (tasks * batch > INT32_MAX / 2) return GPK_ERR_UNSUPPORTED;
  if (int const code = l.fill(a.workspace, 4 * words, 0)) return code;
  Tiles const p{at<T>(a.a, member0 * a.a_member), a.a_row, a.a_member, reinterpret_cast<long long*>(a.flags), reinterpret_cast<int*>(a.workspace),
                rows, cols, static_cast<int>(batch), static_cast<int>(blocks), static_cast<int>(a.first), static_cast<int>(member0)};
  // If a block column has few tiles, the time is that of the diagonal blocks, which are faster with one CTA per
  // multiprocessor. On an H200 the limit is 33 tiles. In float32, order 4,096 takes 1.21 ms with one CTA per multiprocessor
  // and 1.48 ms with two; order 6,144 takes 3.1 ms and 2.8 ms.
  if constexpr (tiles_ctas<T> > 1) {
    if (ceil_div(rows, FactorTile<T>::M) * batch > l.processors() / 4) return start_tiles<T, tiles_ctas<T>>(l, p, tasks * batch);
  }
  return start_tiles<T, 1>(l, p, tasks * batch);
}

template <class T, class L>
int cholesky_small(gpk_factor_args const& a, L const& l) {
  if (a.rows > GPK_FACTOR_SMALL) return GPK_ERR_UNSUPPORTED;
  Small const p{a.a, a.b, a.a_row, a.a_col, a.a_member, a.b_row, a.b_col, a.b_member, reinterpret_cast<long long*>(a.flags),
                static_cast<int>(a.rows), static_cast<int>(a.batch), (a.bits & GPK_FACTOR_CONJ) != 0};
  dim3 const warps(static_cast<unsigned>(ceil_div(a.batch, small_threads / 32)));
  if (a.rows <= 8) return l.template start<factor_small<T, 8>>(warps, small_threads, small_bytes<T>, p);
  if (a.rows <= 16) return l.template start<factor_small<T, 16>>(warps, small_threads, small_bytes<T>, p);
  if (a.rows <= 32) return l.template start<factor_small<T, 32>>(warps, small_threads, small_bytes<T>, p);
  return l.template start<factor_medium<T>>(dim3(static_cast<unsigned>(a.batch)), column_threads, block_bytes<T, 64>, p);
}

// A triangular system as a lower triangular one: an upper triangular matrix is read backwards, with negative strides.
struct Forward {
  uint64_t t, x;
  int64_t t_row, t_col, x_row;
};

template <class T>
Forward forward(gpk_factor_args const& a, int64_t member0) {
  Forward f{at<T>(a.a, member0 * a.a_member), at<T>(a.b, member0 * a.b_member), a.a_row, a.a_col, a.b_row};
  if (a.bits & GPK_FACTOR_UPPER) {
    f.t = at<T>(f.t, (a.rows - 1) * (a.a_row + a.a_col));
    f.x = at<T>(f.x, (a.rows - 1) * a.b_row);
    f.t_row = -f.t_row, f.t_col = -f.t_col, f.x_row = -f.x_row;
  }
  return f;
}

template <class T, class L>
int apply(L const& l, Apply p, int64_t batch) {
  dim3 const grid(static_cast<unsigned>(ceil_div(p.m, apply_rows)), static_cast<unsigned>(batch));
  int const cols = p.cols;
  for (int c = 0; c < cols; c += apply_cols) {
    p.cols = cols - c < apply_cols ? cols - c : apply_cols;
    if (int const code = l.template start<apply_few<T>>(grid, 256, apply_bytes<T>, p)) return code;
    p.x = at<T>(p.x, apply_cols * p.x_col), p.y = at<T>(p.y, apply_cols * p.y_col);
  }
  return GPK_OK;
}

constexpr int few_columns = 16;  // the most columns of x that apply_few updates

template <class T, class L>
int solve(gpk_factor_args const& a, L const& l, int64_t member0, int64_t batch) {
  Forward const f = forward<T>(a, member0);
  bool const conj = (a.bits & GPK_FACTOR_CONJ) != 0;
  int const rows = static_cast<int>(a.rows), cols = static_cast<int>(a.cols);
  for (int k = 0; k < rows; k += block<T>) {
    int const nb = rows - k < block<T> ? rows - k : block<T>, next = k + nb;
    Solve const s{at<T>(f.t, k * (f.t_row + f.t_col)), at<T>(f.x, k * f.x_row), f.t_row, f.t_col, a.a_member,
                  f.x_row, a.b_col, a.b_member, nb, cols, conj, (a.bits & GPK_FACTOR_UNIT) != 0};
    dim3 const grid(static_cast<unsigned>(ceil_div(cols, column_rows)), static_cast<unsigned>(batch));
    if (int const code = l.template start<solve_block<T>>(grid, column_threads, solve_bytes<T>, s)) return code;
    if (next == rows) break;
    uint64_t const below = at<T>(f.t, next * f.t_row + k * f.t_col), x = at<T>(f.x, next * f.x_row);
    int code;
    if (cols <= few_columns) {
      code = apply<T>(l, {below, s.x, x, f.t_row, f.t_col, a.a_member, f.x_row, a.b_col, a.b_member, f.x_row, a.b_col, a.b_member,
                          rows - next, nb, cols, true, conj}, batch);
    } else {
      code = subtract_product<T>(l, {below, s.x, x, f.t_row, f.t_col, a.a_member, a.b_col, f.x_row, a.b_member, f.x_row, a.b_col, a.b_member,
                                     rows - next, cols, nb, false, conj, false}, batch);
    }
    if (code != GPK_OK) return code;
  }
  return GPK_OK;
}

template <class T, class L>
int solve_inverses(gpk_factor_args const& a, L const& l, int64_t member0, int64_t batch) {
  bool const conj = (a.bits & GPK_FACTOR_CONJ) != 0, upper = (a.bits & GPK_FACTOR_UPPER) != 0;
  int const rows = static_cast<int>(a.rows), cols = static_cast<int>(a.cols), width = static_cast<int>(a.first);
  if (width < 1 || cols > apply_cols) return GPK_ERR_ARGUMENT;
  int const count = static_cast<int>(ceil_div(rows, width));
  for (int i = 0; i < count; ++i) {
    int const index = upper ? count - 1 - i : i, k = index * width;  // rows k to k + nb of the matrix
    int const nb = rows - k < width ? rows - k : width;
    uint64_t const x = at<T>(a.b, member0 * a.b_member + k * a.b_row), y = at<T>(a.d, member0 * a.d_member + int64_t{k} * cols);
    uint64_t const inverse = at<T>(a.c, member0 * a.c_member + int64_t{k} * width);
    int code = apply<T>(l, {inverse, x, y, a.c_row, a.c_col, a.c_member, a.b_row, a.b_col, a.b_member, cols, 1, a.d_member,
                            nb, nb, cols, false, conj}, batch);
    int const from = upper ? 0 : k + nb, to = upper ? k : rows;
    if (code == GPK_OK && from < to) {
      code = apply<T>(l, {at<T>(a.a, member0 * a.a_member + from * a.a_row + k * a.a_col), y, at<T>(a.b, member0 * a.b_member + from * a.b_row),
                          a.a_row, a.a_col, a.a_member, cols, 1, a.d_member, a.b_row, a.b_col, a.b_member, to - from, nb, cols, true, conj}, batch);
    }
    if (code != GPK_OK) return code;
  }
  return GPK_OK;
}

// LU of a.a, rows x cols, in place; the order of the rows goes to a.c. The columns of a group are updated after each panel,
// and the columns after the group once per group.
template <class T, class L>
int lu(gpk_factor_args const& a, L const& l, int64_t member0, int64_t batch) {
  constexpr int N = panel_columns<T>;
  constexpr int64_t moves_member = 2 * group<T>;
  static_assert(moves_member * 4 <= GPK_FACTOR_LU_BYTES);
  int const rows = static_cast<int>(a.rows), cols = static_cast<int>(a.cols), min_dim = rows < cols ? rows : cols;
  int64_t const pitch = a.a_row;
  uint64_t const matrix = at<T>(a.a, member0 * a.a_member), order = a.c + static_cast<uint64_t>(member0 * a.c_member) * 8;
  unsigned const members = static_cast<unsigned>(batch);
  if (rows <= small_lu_side && cols <= small_lu_side) {
    SmallLU const small{matrix, order, pitch, a.a_member, a.c_member, rows, cols};
    return l.template start<factor_lu_small<T>>(dim3(members), small_lu_threads, small_lu_bytes<T>, small);
  }
  if (rows > panel_rows_per_thread * panel_ctas * panel_threads || !l.clusters()) return GPK_ERR_UNSUPPORTED;
  if (a.workspace_bytes < batch * moves_member * 4) return GPK_ERR_WORKSPACE;
  auto const element = [&](int i, int j) { return at<T>(matrix, i * pitch + j); };
  auto const update_columns = [&](int row, int col, int from, int to, int end) {  // subtracts the product of L's columns [from, to) and U from the columns [col, end)
    return subtract_product<T>(l, {element(row, from), element(from, col), element(row, col), pitch, 1, a.a_member, 1, pitch, a.a_member, pitch, 1, a.a_member,
                                   rows - row, end - col, to - from, false, false, false}, batch);
  };
  Order const first{order, a.c_member, rows};
  if (int const code = l.template start<init_order>(dim3(static_cast<unsigned>(ceil_div(rows, 256)), members), 256, 0, first)) return code;
  for (int j0 = 0; j0 < min_dim; j0 += group<T>) {
    int const j1 = min_dim - j0 < group<T> ? min_dim : j0 + group<T>;
    for (int j = j0; j < j1; j += N) {
      int const nb = j1 - j < N ? j1 - j : N, each = static_cast<int>(ceil_div(rows - j, panel_ctas * 32)) * 32;  // rows per CTA, if a thread has one
      Panel const p{element(j, 0), a.workspace + static_cast<uint64_t>(j - j0) * 8, pitch, a.a_member, moves_member, j, rows - j, nb, j0, j1};
      dim3 const cluster(panel_ctas, members);
      int code = each <= panel_threads ? l.template start<factor_panel<T, 1>>(cluster, each, panel_bytes<T, 1>, p, panel_ctas)
                                       : l.template start<factor_panel<T, panel_rows_per_thread>>(cluster, panel_threads, panel_bytes<T, panel_rows_per_thread>, p, panel_ctas);
      if (code == GPK_OK) code = update_columns(j + nb, j + nb, j, j + nb, j1);
      if (code != GPK_OK) return code;
    }
    OutsideUpdate const f{element(j0, 0), a.workspace, order + static_cast<uint64_t>(j0) * 8, pitch, a.a_member, moves_member, a.c_member, j0, rows - j0, j1 - j0, cols};
    dim3 const grid(static_cast<unsigned>(ceil_div(cols, outside_columns)) + 1, members);
    int code = l.template start<update_outside_group<T>>(grid, outside_threads, static_cast<int>(sizeof(OutsideShared<T>)), f);
    if (code == GPK_OK) code = update_columns(j1, j1, j0, j1, cols);
    if (code != GPK_OK) return code;
  }
  return GPK_OK;
}

template <class T, class L>
int det(gpk_factor_args const& a, L const& l, int64_t member0, int64_t batch) {
  if (a.rows > small_lu_side || a.rows != a.cols) return GPK_ERR_UNSUPPORTED;
  Det const p{at<T>(a.a, member0 * a.a_member), a.c + static_cast<uint64_t>(member0 * a.c_member) * 8, at<T>(a.b, member0),
              a.d == 0 ? 0 : at<Real<T>>(a.d, member0), a.a_row, a.a_member, a.c_member, static_cast<int>(a.rows)};
  return l.template start<factor_det<T>>(dim3(static_cast<unsigned>(batch)), small_lu_side, static_cast<int>(sizeof(DetShared<T>)), p);
}

template <class T, class L>
int lower(gpk_factor_args const& a, L const& l, int64_t member0, int64_t batch) {
  Triangle const p{at<T>(a.a, member0 * a.a_member), at<T>(a.b, member0 * a.b_member), a.a_row, a.a_col, a.a_member, a.b_row, a.b_member,
                   static_cast<int>(a.rows), static_cast<int>(a.cols), (a.bits & GPK_FACTOR_CONJ) != 0};
  unsigned const z = static_cast<unsigned>(batch);
  if (a.op == GPK_FACTOR_LOWER) {
    dim3 const grid(static_cast<unsigned>(ceil_div(a.cols, 32)), static_cast<unsigned>(ceil_div(a.rows, 32)), z);
    if (grid.y > 65535) return GPK_ERR_UNSUPPORTED;
    return l.template start<copy_lower<T>>(grid, 256, 32 * 33 * static_cast<int>(sizeof(T)), p);
  }
  dim3 const grid(static_cast<unsigned>(ceil_div(a.cols, 256)), static_cast<unsigned>(ceil_div(a.rows, 8)), z);
  if (grid.y > 65535) return GPK_ERR_UNSUPPORTED;
  return l.template start<subtract_lower<T>>(grid, 256, 0, p);
}

template <class T, class L>
int run_of(gpk_factor_args const& a, L const& l) {
  if (a.rows == 0 || a.cols == 0 || a.batch == 0) return GPK_OK;
  if (a.op == GPK_FACTOR_CHOLESKY_SMALL) return cholesky_small<T>(a, l);
  for (int64_t i = 0; i < a.batch; i += max_members) {
    int64_t const batch = a.batch - i < max_members ? a.batch - i : max_members;
    int code = GPK_ERR_UNSUPPORTED;
    switch (a.op) {
      case GPK_FACTOR_LOWER:
      case GPK_FACTOR_SUBTRACT_LOWER: code = lower<T>(a, l, i, batch); break;
      case GPK_FACTOR_CHOLESKY:
        if (a.a_col != 1 || a.rows < a.cols) return GPK_ERR_ARGUMENT;
        code = cholesky<T>(a, l, i, batch);
        break;
      case GPK_FACTOR_LU:
        if (a.a_col != 1) return GPK_ERR_ARGUMENT;
        code = lu<T>(a, l, i, batch);
        break;
      case GPK_FACTOR_DET: code = det<T>(a, l, i, batch); break;
      case GPK_FACTOR_SOLVE: code = solve<T>(a, l, i, batch); break;
      case GPK_FACTOR_SOLVE_INVERSES: code = solve_inverses<T>(a, l, i, batch); break;
    }
    if (code != GPK_OK) return code;
  }
  return GPK_OK;
}

template <class L>
int run(gpk_factor_args const& a, L const& l) {
  if (a.op == GPK_FACTOR_BEGIN) return l.fill(a.flags, 16, 0x7f);  // GPK_FACTOR_NONE
  switch (a.type) {
    case GPK_F32: return run_of<float>(a, l);
    case GPK_F64: return run_of<double>(a, l);
    case GPK_C64: return run_of<Complex<float>>(a, l);
    case GPK_C128: return run_of<Complex<double>>(a, l);
  }
  return GPK_ERR_UNSUPPORTED;
}

}  // namespace
}  // namespace factor
}  // namespace gpk
