// scan.cuh: cumulative sums, products and extremes along lines. The comments speak of sums.
//
// A line is divided into chunks. The sums of a chunk start at 0. `prefix`, the sum of all chunks to the left, is
// added to each of them. `prefix` is the sum of the totals of the chunks from left to right. The order of the
// additions therefore depends only on the index of an element. It is the same if one block computes a line (scan_lines
// without totals) and if many blocks compute the totals of the chunks first (gpk_cum_sum).
#pragma once
#include "ops.cuh"
#include "ops_reduce.cuh"
#include "reduce.cuh"

namespace gpk {
namespace {

struct Lines {
  char const* x;
  char* dst;
  int64_t lines, n, x_step, dst_step;  // *_step: elements between neighbours of a line
  char const *gamma, *beta;
  double eps;
  int dims;  // the other dimensions, innermost first
  int64_t outer_n[GPK_MAX_DIMS], x_stride[GPK_MAX_DIMS], dst_stride[GPK_MAX_DIMS];

  __device__ int64_t x_at(int64_t line) const {
    return dims == 1 ? line * x_stride[0] : nested_offset(dims, outer_n, x_stride, line);
  }
  __device__ int64_t dst_at(int64_t line) const {
    return dims == 1 ? line * dst_stride[0] : nested_offset(dims, outer_n, dst_stride, line);
  }
};

// Sets the lines along the last dimension of x and dst. Returns a code.
inline int make_lines(Lines* p, int ndim, int64_t const* shape, uint64_t x, int64_t const* x_strides, uint64_t dst,
                      int64_t const* dst_strides) {
  p->x = reinterpret_cast<char const*>(x);
  p->dst = reinterpret_cast<char*>(dst);
  p->n = shape[ndim - 1];
  p->x_step = x_strides[ndim - 1];
  p->dst_step = dst_strides[ndim - 1];
  p->lines = 1;
  for (int d = ndim - 2; d >= 0; --d) {
    if (shape[d] < 0) return GPK_ERR_ARGUMENT;
    p->lines *= shape[d];
    p->outer_n[p->dims] = shape[d];
    p->x_stride[p->dims] = x_strides[d];
    p->dst_stride[p->dims++] = dst_strides[d];
  }
  return p->n < 0 ? GPK_ERR_ARGUMENT : GPK_OK;
}

constexpr int scan_run = 4;  // neighbours that a thread adds at a time
constexpr int64_t scan_chunk = 8 * threads * scan_run;

struct Scan {
  Lines lines;
  char* totals;     // one sum per chunk, of type P::A; null if each block scans a whole line
  int64_t chunks;   // per line, if totals is not null
  bool only_total;  // write the totals of the chunks, but no results
  bool packed_x, packed_dst;  // runs are read, written as vectors
};

// A run of elements, which is loaded or stored at once.
template <class T>
struct alignas(scan_run * sizeof(T) < 16 ? scan_run * sizeof(T) : 16) Run {
  T of[scan_run];
};

// Whether the runs of lines at an address are aligned.
template <class T>
bool packed(void const* p, int64_t step, int dims, int64_t const* strides) {
  uint64_t bits = reinterpret_cast<uint64_t>(p);
  for (int d = 0; d < dims; ++d) bits |= static_cast<uint64_t>(strides[d]) * sizeof(T);
  return step == 1 && bits % alignof(Run<T>) == 0;
}

// Sets packed_x and packed_dst: whether runs of x, whose elements are T, and of the results of P can be read and written as
// vectors.
template <class P, class T>
void set_packed(Scan* s) {
  Lines const& p = s->lines;
  s->packed_x = packed<T>(p.x, p.x_step, p.dims, p.x_stride);
  s->packed_dst = packed<typename P::R>(p.dst, p.dst_step, p.dims, p.dst_stride);
}

// The operations of a scan. They have the members of the reductions in reduce.cuh, and `of`, which converts an element
// to the accumulator's type.
template <class T>
struct Sums {
  using A = typename wide_accumulator<T>::type;
  using R = typename wide_accumulator<T>::result;
  static __device__ A start(double const*, int64_t) { return convert<A>(static_cast<uint8_t>(0)); }
  static __device__ A of(T x) { return convert<A>(x); }
  static __device__ A merge(A a, A b) { return plus(a, b); }
  static __device__ R result(A a, double) { return convert<R>(a); }
};
template <class T>
struct Products : Product<T> {
  using A = typename Product<T>::A;
  static __device__ A of(T x) { return convert<A>(x); }
  // 1 is not neutral for complex numbers: (1 + 0i) (inf + 0i) is inf + NaN i. So the start is a NaN with bits that no
  // operation produces, and a product with it is the other factor.
  static constexpr unsigned long long neutral = 0x7ff8676b70726f64;
  static __device__ A start(double const* p, int64_t n) {
    if constexpr (is_complex<A>) {
      return {__longlong_as_double(static_cast<long long>(neutral)), 0};
    } else {
      return Product<T>::start(p, n);
    }
  }
  static __device__ A merge(A a, A b) {
    if constexpr (is_complex<A>) {
      if (static_cast<unsigned long long>(__double_as_longlong(a.re)) == neutral) return b;
      if (static_cast<unsigned long long>(__double_as_longlong(b.re)) == neutral) return a;
    }
    return Product<T>::merge(a, b);
  }
};
template <class T, bool Largest>
struct Extremes : Extreme<T, Largest> {
  static __device__ typename Extreme<T, Largest>::A of(T x) { return compared<T>::of(x); }
};

template <class A>
__device__ A shuffle_up(A v, int distance) {
  if constexpr (is_complex<A>) {
    return {__shfl_up_sync(~0u, v.re, distance), __shfl_up_sync(~0u, v.im, distance)};
  } else {
    return __shfl_up_sync(~0u, v, distance);
  }
}

// Reads `scan_run` elements of a line, from index `first` on, into v. Elements from index `end` on are read as the start
// value of P, which changes no sum.
template <class P, class T>
__device__ __forceinline__ void read_run(typename P::A (&v)[scan_run], Scan const& s, T const* x, int64_t first, int64_t end) {
  if (s.packed_x && first + scan_run <= end) {
    Run<T> const run = *reinterpret_cast<Run<T> const*>(x + first);
#pragma unroll
    for (int e = 0; e < scan_run; ++e) v[e] = P::of(run.of[e]);
  } else {
    auto const zero = P::start(nullptr, 0);
#pragma unroll
    for (int e = 0; e < scan_run; ++e) v[e] = first + e < end ? P::of(x[(first + e) * s.lines.x_step]) : zero;
  }
}

// Writes the results for the `scan_run` elements from index `first` on. v holds their sums within the run, left the sum of
// the chunk's elements before the run, and prefix the sum of all earlier chunks.
template <class P, class A>
__device__ __forceinline__ void write_run(Scan const& s, typename P::R* dst, int64_t first, int64_t end, A prefix, A left, A const (&v)[scan_run]) {
  using R = typename P::R;
  if (s.packed_dst && first + scan_run <= end) {
    Run<R> run;
#pragma unroll
    for (int e = 0; e < scan_run; ++e) run.of[e] = P::result(P::merge(prefix, P::merge(left, v[e])), 0);
    *reinterpret_cast<Run<R>*>(dst + first) = run;
  } else {
#pragma unroll
    for (int e = 0; e < scan_run; ++e) {
      if (first + e < end) dst[(first + e) * s.lines.dst_step] = P::result(P::merge(prefix, P::merge(left, v[e])), 0);
    }
  }
}

// Replaces the elements of this thread's run by their cumulative sums. Returns the sum of the runs of this lane and of all
// lower lanes of the warp.
template <class P, class A>
__device__ __forceinline__ A add_run(A (&v)[scan_run], int lane) {
#pragma unroll
  for (int e = 1; e < scan_run; ++e) v[e] = P::merge(v[e - 1], v[e]);
  A total = v[scan_run - 1];
#pragma unroll
  for (int d = 1; d < 32; d *= 2) {
    A const below = shuffle_up(total, d);
    if (lane >= d) total = P::merge(below, total);
  }
  return total;
}

// Writes the cumulative sums (or products, extremes: P) of lines. Without totals each block scans one line. With totals
// each block scans one chunk, and starts from the chunk's total, which sum_totals has replaced by the sum of all chunks to
// its left. A thread adds `scan_run` neighbours at a time.
template <class P, class T>
__global__ void __launch_bounds__(threads) scan_lines(__grid_constant__ Scan const s) {
  begin();
  using A = typename P::A;
  __shared__ __align__(16) char bytes[warps * sizeof(A)];
  A* const warp_totals = reinterpret_cast<A*>(bytes);
  Lines const& p = s.lines;
  int64_t const line = s.totals == nullptr ? blockIdx.x : blockIdx.x / s.chunks;
  T const* const x = reinterpret_cast<T const*>(p.x) + p.x_at(line);
  auto* const dst = reinterpret_cast<typename P::R*>(p.dst) + p.dst_at(line);
  int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  A const zero = P::start(nullptr, 0);
  A* const total_of = s.totals == nullptr ? nullptr : reinterpret_cast<A*>(s.totals) + blockIdx.x;
  A prefix = total_of == nullptr || s.only_total ? zero : *total_of, carry = zero;
  int64_t base = 0, end = p.n;
  if (total_of != nullptr) {
    base = (blockIdx.x - line * s.chunks) * scan_chunk;
    if (end - base > scan_chunk) end = base + scan_chunk;
  }
  for (; base < end; base += threads * scan_run) {
    if (base % scan_chunk == 0 && total_of == nullptr) {
      prefix = P::merge(prefix, carry);
      carry = zero;
    }
    int64_t const first = base + threadIdx.x * scan_run;
    A v[scan_run];
    read_run<P>(v, s, x, first, end);
    A const total = add_run<P>(v, lane);
    if (lane == 31) warp_totals[warp] = total;
    __syncthreads();
    A left = carry;
    for (int w = 0; w < warp; ++w) left = P::merge(left, warp_totals[w]);
    A const below = shuffle_up(total, 1);
    if (lane > 0) left = P::merge(left, below);
    if (!s.only_total) write_run<P>(s, dst, first, end, prefix, left, v);
    for (int w = 0; w < warps; ++w) carry = P::merge(carry, warp_totals[w]);
    __syncthreads();
  }
  if (s.only_total && threadIdx.x == 0) *total_of = carry;
}

constexpr int64_t short_line = 32 * scan_run;

// scan_lines for lines of at most short_line elements. A warp computes a line, with the same additions.
template <class P, class T>
__global__ void __launch_bounds__(threads) scan_short_lines(__grid_constant__ Scan const s) {
  begin();
  using A = typename P::A;
  Lines const& p = s.lines;
  int const lane = threadIdx.x % 32;
  int64_t const line = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
  if (line >= p.lines) return;
  A v[scan_run];
  read_run<P>(v, s, reinterpret_cast<T const*>(p.x) + p.x_at(line), lane * scan_run, p.n);
  A const below = shuffle_up(add_run<P>(v, lane), 1), zero = P::start(nullptr, 0);
  write_run<P>(s, reinterpret_cast<typename P::R*>(p.dst) + p.dst_at(line), lane * scan_run, p.n, P::merge(zero, zero),
               lane > 0 ? P::merge(zero, below) : zero, v);
}

// Starts the scan of lines without totals.
template <class P, class T>
int scan_whole_lines(Scan s, uint64_t stream) {
  set_packed<P, T>(&s);
  if (s.lines.n > short_line) return launch(scan_lines<P, T>, static_cast<unsigned>(s.lines.lines), threads, stream, s);
  return launch(scan_short_lines<P, T>, static_cast<unsigned>((s.lines.lines - 1) / warps + 1), threads, stream, s);
}

}  // namespace
}  // namespace gpk
