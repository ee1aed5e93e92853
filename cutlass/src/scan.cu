// scan.cu: cumulative sums of few long lines, with many blocks per line, and cumulative products and extremes.
//
// The first kernel computes the totals of the chunks. The second replaces each by the sum of those to the left. The
// third computes the sums of each chunk from there (scan.cuh). x is read twice.
#include "gpk_scan.h"
#include "scan.cuh"

namespace gpk {
namespace {

constexpr int64_t few_lines = 256;   // from this many on, one block per line occupies the GPU
constexpr int64_t least_chunks = 4;  // with fewer, one block is as fast as three launches

struct Totals {
  char* totals;
  int64_t chunks;  // per line
};

// Replaces the total of each chunk by the sum of all earlier ones. A block processes a line. One thread adds, because
// the order of the additions is that of a single block that computes the line.
template <class P>
__global__ void __launch_bounds__(threads) sum_totals(__grid_constant__ Totals const t) {
  begin();
  using A = typename P::A;
  constexpr int many = 4 * threads;
  __shared__ __align__(16) char bytes[many * sizeof(A)];
  A* const part = reinterpret_cast<A*>(bytes);
  A* const totals = reinterpret_cast<A*>(t.totals) + blockIdx.x * t.chunks;
  A prefix = P::start(nullptr, 0);
  for (int64_t first = 0; first < t.chunks; first += many) {
    int const n = t.chunks - first < many ? static_cast<int>(t.chunks - first) : many;
    for (int i = threadIdx.x; i < n; i += threads) part[i] = totals[first + i];
    __syncthreads();
    if (threadIdx.x == 0) {
#pragma unroll 8
      for (int i = 0; i < n; ++i) {
        A const total = part[i];
        part[i] = prefix;
        prefix = P::merge(prefix, total);
      }
    }
    __syncthreads();
    for (int i = threadIdx.x; i < n; i += threads) totals[first + i] = part[i];
    __syncthreads();
  }
}

int64_t chunks_of(int64_t n) { return (n + scan_chunk - 1) / scan_chunk; }

template <class P, class T>
int scan(gpk_cum_sum_args const& a, Scan s) {
  if (s.totals == nullptr) return scan_whole_lines<P, T>(s, a.stream);
  set_packed<P, T>(&s);
  unsigned const grid = static_cast<unsigned>(s.lines.lines * s.chunks);
  s.only_total = true;
  int code = launch(scan_lines<P, T>, grid, threads, a.stream, s);
  if (code != GPK_OK) return code;
  code = launch(sum_totals<P>, static_cast<unsigned>(s.lines.lines), threads, a.stream, Totals{s.totals, s.chunks});
  if (code != GPK_OK) return code;
  s.only_total = false;
  return launch(scan_lines<P, T>, grid, threads, a.stream, s);
}

}  // namespace
}  // namespace gpk

using namespace gpk;

int64_t gpk_cum_sum_workspace(gpk_cum_sum_args const* a) {
  if (a == nullptr || a->size != sizeof *a || a->ndim < 1 || a->ndim > GPK_MAX_DIMS) return -GPK_ERR_ARGUMENT;
  if (size_of(a->type) == 0) return -GPK_ERR_UNSUPPORTED;
  int64_t lines = 1;
  for (int d = 0; d < a->ndim - 1; ++d) {
    if (a->shape[d] < 0) return -GPK_ERR_ARGUMENT;
    if (a->shape[d] >= few_lines) return 0;
    lines *= a->shape[d];
    if (lines >= few_lines) return 0;
  }
  int64_t const n = a->shape[a->ndim - 1], chunks = n < 0 ? 0 : chunks_of(n);
  if (chunks < least_chunks || lines * chunks > INT32_MAX) return 0;
  return lines * chunks * static_cast<int64_t>(sizeof(c128));  // the widest sum
}

int gpk_cum_sum(gpk_cum_sum_args const* a) {
  int64_t const need = gpk_cum_sum_workspace(a);
  if (need < 0) return static_cast<int>(-need);
  if (a->workspace_bytes < need || a->workspace % 16 != 0) return GPK_ERR_ARGUMENT;
  Scan s = {};
  int code = make_lines(&s.lines, a->ndim, a->shape, a->x, a->x_strides, a->dst, a->dst_strides);
  if (code != GPK_OK || s.lines.lines == 0 || s.lines.n == 0) return code;
  if (s.lines.lines > INT32_MAX) return GPK_ERR_ARGUMENT;
  code = set_device(a->device);
  if (code != GPK_OK) return code;
  if (need > 0) s.totals = reinterpret_cast<char*>(a->workspace), s.chunks = chunks_of(s.lines.n);
  bool const extreme = a->op == GPK_SCAN_LARGEST || a->op == GPK_SCAN_SMALLEST;
  int const type = extreme ? a->type == GPK_BOOL ? GPK_U8 : a->type : a->type == GPK_U64 ? GPK_I64 : a->type;
  return by_type(type, [&](auto v) -> int {
    using T = decltype(v);
    if constexpr (!__is_same(T, uint64_t)) {
      if (a->op == GPK_SCAN_SUM) return scan<Sums<T>, T>(*a, s);
      if (a->op == GPK_SCAN_PRODUCT) return scan<Products<T>, T>(*a, s);
    }
    if constexpr (!is_complex<T> && !__is_same(T, boolean)) {
      if (a->op == GPK_SCAN_LARGEST) return scan<Extremes<T, true>, T>(*a, s);
      if (a->op == GPK_SCAN_SMALLEST) return scan<Extremes<T, false>, T>(*a, s);
    }
    return GPK_ERR_UNSUPPORTED;
  });
}
