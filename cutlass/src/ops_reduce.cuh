// ops_reduce.cuh: sums over any axes of any layout.
//
// The tree of additions is that of internal/cpu's Reduce, and depends only on the number of terms and their type.
// With L = 32*16/size lanes, the terms of a sum are cut into chunks of 8 rows of L. Within a chunk the rows are
// added, then the L sums. Then the chunks are added. Each time neighbours are added in pairs, the pairs' sums in
// pairs, and so on. A missing member of a pair counts as -0, which changes nothing.
//
// Three kernels follow this tree. In `sum_rows` a warp reads a chunk: its lanes are the L/V vectors of a row, 8 of
// them in flight per thread, and the lanes' sums are combined by shuffles. In `sum_short`, for sums of half a chunk
// or less, a warp reads as many terms of several sums. In `sum_columns` a thread owns V neighbouring sums (or one)
// and walks down the rows, and loads those of the next lane while it adds those of one. If a block does not see all
// of a sum, there is one partial sum for each branch of the tree, and a last kernel adds these.
#pragma once
#include "ops.cuh"
#include "reduce.cuh"

namespace gpk {

static_assert(threads == 32 * warps);

struct Sum {
  char const* x;
  double over;        // the divisor for Mean; 0: none
  char* out;          // results, or partial sums
  int64_t sums;       // number of sums
  int64_t terms;      // terms per sum
  int64_t groups;     // branches per sum; 1: no partial sums
  int64_t per_group;  // chunks per branch, a power of two
  int64_t per_warp;   // rows: chunks per warp of a branch
  int slices;         // rows: warps that share a branch; columns: threads that share a sum
  int per_slice;      // columns: lanes of a chunk per thread
  int width;          // columns: neighbouring threads with neighbouring sums
  int share;          // short: lanes of a warp that share a sum
  bool vectors;       // read 16 bytes at a time
  int kept_dims, summed_dims;  // innermost first
  int64_t kept_n[GPK_MAX_DIMS], kept_stride[GPK_MAX_DIMS];
  int64_t summed_n[GPK_MAX_DIMS], summed_stride[GPK_MAX_DIMS];
};

// The offset of element i of a nest of dimensions, innermost first. Not inlined: otherwise its divisions would be
// duplicated for every term that a thread reads.
static __device__ __noinline__ int64_t far_offset(int dims, int64_t const* n, int64_t const* stride, int64_t i) {
  int64_t off = 0;
  for (int d = 0; d < dims; ++d) {
    if (((i | n[d]) >> 32) == 0) {
      uint32_t const a = static_cast<uint32_t>(i), b = static_cast<uint32_t>(n[d]);
      off += a % b * stride[d];
      i = a / b;
    } else {
      off += i % n[d] * stride[d];
      i /= n[d];
    }
  }
  return off;
}

__device__ inline int64_t kept_offset(Sum const& p, int64_t sum) {
  return p.kept_dims == 1 ? sum * p.kept_stride[0] : far_offset(p.kept_dims, p.kept_n, p.kept_stride, sum);
}

__device__ inline int64_t term_offset(Sum const& p, int64_t i) {
  return p.summed_dims == 1 ? i * p.summed_stride[0] : far_offset(p.summed_dims, p.summed_n, p.summed_stride, i);
}

template <class T, class A>
__device__ inline void store(Sum const& p, int64_t i, A v) {
  using R = typename accumulator<T>::result;
  if (p.groups > 1) {
    reinterpret_cast<A*>(p.out)[i] = v;
  } else {
    reinterpret_cast<R*>(p.out)[i] = rounded<R>(v, p.over);
  }
}

// ---- the terms of a sum are contiguous: a chunk per warp

// A vector of neutral terms.
template <class T, int V>
__device__ inline void clear(Vec<T, V>& v) {
#pragma unroll
  for (int e = 0; e < V; ++e) v.v[e] = no_term<T>();
}

// Terms i ... i+present-1 of a sum over several dimensions.
template <class T>
__device__ __noinline__ Vec<T, vector_width<T>> far_terms(Sum const& p, T const* x, int64_t i, int present) {
  Vec<T, vector_width<T>> v;
  gpk::clear(v);
#pragma unroll
  for (int e = 0; e < vector_width<T>; ++e) {
    if (e < present) v.v[e] = x[far_offset(p.summed_dims, p.summed_n, p.summed_stride, i + e)];
  }
  return v;
}

// Loads 16 bytes that are read once, without allocating them in L1: sums of columns are 3 to 6 % faster for it.
__device__ inline uint4 read_once(void const* x) {
  uint4 v;
  asm volatile("ld.global.L1::no_allocate.v4.b32 {%0, %1, %2, %3}, [%4];"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(x));
  return v;
}

// W neighbouring elements. Halves are kept as words: the compiler gives every half of a Vec that may not have been
// loaded its own register.
template <class T, int W>
struct Loaded {
  Vec<T, W> v;
  __device__ void clear() { gpk::clear(v); }
  __device__ void load(T const* x) {
    if constexpr (sizeof v == 16) {
      uint4 const w = read_once(x);
      memcpy(&v, &w, sizeof v);
    } else {
      v = *reinterpret_cast<Vec<T, W> const*>(x);
    }
  }
  template <class A>
  __device__ A get(int e) const {
    return term<A>(v.v[e]);
  }
};
template <class T>
struct LoadedHalves {
  uint4 v;
  __device__ void clear() { v = {0x80008000, 0x80008000, 0x80008000, 0x80008000}; }
  __device__ void load(T const* x) { v = read_once(x); }
  template <class A>
  __device__ A get(int e) const {
    uint32_t const w[] = {v.x, v.y, v.z, v.w};
    return term<A>(T{static_cast<uint16_t>(w[e / 2] >> e % 2 * 16)});
  }
};
template <>
struct Loaded<f16, 8> : LoadedHalves<f16> {};
template <>
struct Loaded<bf16, 8> : LoadedHalves<bf16> {};

template <class A, class T, int W>
__device__ inline A term_at(Vec<T, W> const& v, int e) {
  return term<A>(v.v[e]);
}
template <class A, class T, int W>
__device__ inline A term_at(Loaded<T, W> const& v, int e) {
  return v.template get<A>(e);
}

// Loads terms i ... i+V-1, as far as they exist.
template <class T>
__device__ inline void load_terms(Sum const& p, T const* x, int64_t i, Vec<T, vector_width<T>>& v) {
  constexpr int V = vector_width<T>;
  int64_t const left = p.terms - i;
  clear(v);
  if (p.vectors && left >= V) {
    v = *reinterpret_cast<Vec<T, V> const*>(x + term_offset(p, i));
  } else if (p.summed_dims == 1) {
    T const* const at = x + i * p.summed_stride[0];
#pragma unroll
    for (int e = 0; e < V; ++e) {
      if (e < left) v.v[e] = at[e * p.summed_stride[0]];
    }
  } else if (left > 0) {
    v = far_terms(p, x, i, left < V ? static_cast<int>(left) : V);
  }
}

template <bool, class X, class Y>
struct either_of {
  using type = X;
};
template <class X, class Y>
struct either_of<false, X, Y> {
  using type = Y;
};
template <bool First, class X, class Y>
using Either = typename either_of<First, X, Y>::type;

// The sum of R rows of vectors.
template <int R, class A, class T, class L>
__device__ inline A sum_vectors(L const* v) {
  constexpr int V = vector_width<T>;
  if constexpr (is_integer<T> || __is_same(T, boolean)) {
    // The order does not matter for integers. Sums of single bytes fit an int here.
    using Part = decltype(sizeof(T) == 1 ? int{} : 0ull);
    Part sum = 0;
#pragma unroll
    for (int k = 0; k < R; ++k) {
#pragma unroll
      for (int e = 0; e < V; ++e) sum += static_cast<Part>(term_at<A>(v[k], e));
    }
    return static_cast<A>(sum);
  } else {
    A lane_sum[V];
#pragma unroll
    for (int e = 0; e < V; ++e) {
      A row[R];
#pragma unroll
      for (int k = 0; k < R; ++k) row[k] = term_at<A>(v[k], e);
      pairs<R>(row);
      lane_sum[e] = row[0];
    }
    pairs<V>(lane_sum);
    return lane_sum[0];
  }
}

// A lane's part of a chunk of contiguous terms: whole vectors, with `left` terms from x on.
template <class A, class T>
__device__ inline A sum_dense(T const* x, int64_t left) {
  Loaded<T, vector_width<T>> v[chunk_rows];
#pragma unroll
  for (int k = 0; k < chunk_rows; ++k) {
    v[k].clear();
    if (k * lanes<T> < left) v[k].load(x + k * lanes<T>);
  }
  return sum_vectors<chunk_rows, A, T>(v);
}

// The same for a chunk without missing terms.
template <class A, class T>
__device__ inline A sum_whole(T const* x) {
  Loaded<T, vector_width<T>> v[chunk_rows];
#pragma unroll
  for (int k = 0; k < chunk_rows; ++k) v[k].load(x + k * lanes<T>);
  return sum_vectors<chunk_rows, A, T>(v);
}

// A lane's part of any chunk.
template <class A, class T>
__device__ inline A sum_any(Sum const& p, T const* x, int64_t first) {
  Vec<T, vector_width<T>> v[chunk_rows];
#pragma unroll
  for (int k = 0; k < chunk_rows; ++k) load_terms(p, x, first + k * lanes<T>, v[k]);
  return sum_vectors<chunk_rows, A, T>(v);
}

// Chunks (rows) or lanes (columns) that a thread adds in registers before it pushes their sum onto the pile.
constexpr int batch = 4;

// Grid: sums * groups branches, warps / slices of them per block. Dense: the terms of a sum are contiguous and whole
// vectors.
template <class T, bool Dense>
__global__ void __launch_bounds__(threads, Dense ? 4 : 2) sum_rows(__grid_constant__ Sum const p) {
  begin();
  using A = typename accumulator<T>::type;
  constexpr int V = vector_width<T>;
  __shared__ A shared[warps];
  int const warp = threadIdx.x / 32, lane = threadIdx.x % 32;
  int64_t const branch = static_cast<int64_t>(blockIdx.x) * (warps / p.slices) + warp / p.slices;
  bool const mine = branch < p.sums * p.groups;
  int64_t sum = mine ? branch : 0, group = 0;
  if (p.groups > 1) group = sum % p.groups, sum /= p.groups;
  T const* const x = reinterpret_cast<T const*>(p.x) + kept_offset(p, sum);
  int64_t const per_warp = p.per_warp;
  int64_t const c0 = group * p.per_group + warp % p.slices * per_warp;

  // Chunks whose lanes' sums are combined together.
  constexpr int many = Dense ? batch : 1;
  int64_t const end = c0 + per_warp;
  Pile<A, 1, levels> pile;
  A total[1] = {nothing<A>()};
  for (int64_t c = c0; mine && c < end && c * chunk<T> < p.terms; c += many) {
    A part[many];
    if (Dense && c + many <= end && (c + many) * chunk<T> <= p.terms) {
#pragma unroll
      for (int m = 0; m < many; ++m) part[m] = sum_whole<A>(x + (c + m) * chunk<T> + lane * V);
    } else {
#pragma unroll
      for (int m = 0; m < many; ++m) {
        int64_t const first = (c + m) * chunk<T> + lane * V;
        part[m] = nothing<A>();
        if (c + m >= end) continue;
        if constexpr (Dense) {
          part[m] = sum_dense<A>(x + first, p.terms - first);
        } else {
          part[m] = sum_any<A>(p, x, first);
        }
      }
    }
#pragma unroll
    for (int mask = 1; mask < 32; mask *= 2) {
#pragma unroll
      for (int m = 0; m < many; ++m) part[m] = plus(part[m], from_lane(part[m], mask));
    }
    pairs<many>(part);
    total[0] = part[0];
    if (per_warp > many) pile.push(total);
  }
  if (per_warp > many) pile.close(total);
  if (p.slices == 1) {
    if (mine && lane == 0) store<T>(p, branch, total[0]);
    return;
  }
  if (lane == 0) shared[warp] = total[0];
  __syncthreads();
  if (!mine || lane != 0 || warp % p.slices != 0) return;
  for (int step = 1; step < p.slices; step *= 2) {
    for (int w = warp; w < warp + p.slices; w += 2 * step) shared[w] = plus(shared[w], shared[w + step]);
  }
  store<T>(p, branch, shared[warp]);
}

// Sums of up to R rows, R < 8. If a sum's only row is short enough, half a warp, a quarter and so on computes a sum:
// `share` lanes. A warp computes 32/share * 8/R sums.
template <class T, int R, bool Dense>
__global__ void __launch_bounds__(threads, Dense ? 3 : 2) sum_short(__grid_constant__ Sum const p) {
  begin();
  using A = typename accumulator<T>::type;
  constexpr int V = vector_width<T>, many = chunk_rows / R;
  int const lane = threadIdx.x % 32, at = lane % p.share, at_once = 32 / p.share;
  int64_t const warp = static_cast<int64_t>(blockIdx.x) * warps + threadIdx.x / 32;
  int64_t const first = warp * (many * at_once) + lane / p.share;
  Either<Dense, Loaded<T, V>, Vec<T, V>> v[chunk_rows];
#pragma unroll
  for (int m = 0; m < many; ++m) {
    int64_t const sum = first + m * at_once;
    if (sum >= p.sums) continue;
    T const* const x = reinterpret_cast<T const*>(p.x) + kept_offset(p, sum);
#pragma unroll
    for (int k = 0; k < R; ++k) {
      int const i = k * lanes<T> + at * V;
      if constexpr (Dense) {
        v[m * R + k].clear();
        if (i < p.terms) v[m * R + k].load(x + i);
      } else {
        load_terms(p, x, i, v[m * R + k]);
      }
    }
  }
#pragma unroll
  for (int m = 0; m < many; ++m) {
    int64_t const sum = first + m * at_once;
    A total = nothing<A>();
    if (sum < p.sums) total = sum_vectors<R, A, T>(v + m * R);
    for (int mask = 1; mask < p.share; mask *= 2) total = plus(total, from_lane(total, mask));
    if (sum < p.sums && at == 0) store<T>(p, sum, total);
  }
}

// ---- neighbouring sums are contiguous in memory: W sums per thread

// Reads the rows of lane i for W neighbouring sums; missing terms are -0. Even: the distance between terms is
// constant.
template <class T, int W, bool Even>
__device__ inline void load_rows(Sum const& p, T const* x, int64_t i, int64_t end, Loaded<T, W> (&v)[chunk_rows]) {
  if (Even && i < end && i + (chunk_rows - 1) * lanes<T> < p.terms) {
    T const* const at = x + i * p.summed_stride[0];
    int64_t const step = lanes<T> * p.summed_stride[0];
#pragma unroll
    for (int k = 0; k < chunk_rows; ++k) v[k].load(at + k * step);
    return;
  }
#pragma unroll
  for (int k = 0; k < chunk_rows; ++k) {
    int64_t const j = i + k * lanes<T>;
    v[k].clear();
    if (i < end && j < p.terms) v[k].load(x + (Even ? j * p.summed_stride[0] : term_offset(p, j)));
  }
}

template <class T, int W, class A>
__device__ inline void add_rows(Loaded<T, W> const (&v)[chunk_rows], A (&out)[W]) {
#pragma unroll
  for (int e = 0; e < W; ++e) {
    A row[chunk_rows];
#pragma unroll
    for (int k = 0; k < chunk_rows; ++k) row[k] = v[k].template get<A>(e);
    pairs<chunk_rows>(row);
    out[e] = row[0];
  }
}

// `width` neighbouring threads own W sums each, neighbours along the innermost kept dimension; each slice of as many
// threads has the next lanes of a chunk. A block has threads / width / slices such strips. Grid: all strips, times
// groups. Partial sums are stored group by group.
template <class T, int W, bool Even>
__global__ void __launch_bounds__(threads, 2) sum_columns(__grid_constant__ Sum const p) {
  begin();
  using A = typename accumulator<T>::type;
  __shared__ A shared[threads][W];
  int const team = threadIdx.x / p.width, slice = team % p.slices, per_block = threads / p.width / p.slices;
  int64_t const blocks = (p.sums - 1) / (p.width * W * per_block) + 1;
  int64_t const group = blockIdx.x / blocks, strip = blockIdx.x % blocks * per_block + team / p.slices;
  int64_t const sum = (strip * p.width + threadIdx.x % p.width) * W;
  bool const mine = sum < p.sums;
  T const* const x = reinterpret_cast<T const*>(p.x) + kept_offset(p, mine ? sum : 0);

  Pile<A, W, levels> chunks;
  for (int64_t c = group * p.per_group; c < (group + 1) * p.per_group && c * chunk<T> < p.terms; ++c) {
    A total[W];
    Pile<A, W, 10> pile;
    int64_t const i0 = c * chunk<T> + slice * p.per_slice;
    int64_t const end = i0 + p.per_slice;
    // Even: the rows of the next lane are loaded while those of one are added.
    Loaded<T, W> rows[Even ? 2 : 1][chunk_rows];
    if (Even && mine) load_rows<T, W, Even>(p, x, i0, end, rows[0]);
    for (int64_t j = i0; mine && j < end && j < p.terms; j += batch) {
      A v[batch][W];
#pragma unroll
      for (int b = 0; b < batch; ++b) {
        load_rows<T, W, Even>(p, x, j + b + Even, end, rows[Even ? (b + 1) % 2 : 0]);
        if constexpr (Even) asm volatile("" ::: "memory");  // keeps loads from being moved down
        add_rows(rows[Even ? b % 2 : 0], v[b]);
#pragma unroll
        for (int step = 1; (b + 1) % (2 * step) == 0; step *= 2) {
#pragma unroll
          for (int e = 0; e < W; ++e) v[b + 1 - 2 * step][e] = plus(v[b + 1 - 2 * step][e], v[b + 1 - step][e]);
        }
      }
      pile.push(v[0]);
    }
    pile.close(total);
    for (int step = 1; step < p.slices; step *= 2) {
      if (slice % (2 * step) == step) {
#pragma unroll
        for (int e = 0; e < W; ++e) shared[threadIdx.x][e] = total[e];
      }
      __syncthreads();
      if (slice % (2 * step) == 0) {
#pragma unroll
        for (int e = 0; e < W; ++e) total[e] = plus(total[e], shared[threadIdx.x + step * p.width][e]);
      }
    }
    if (p.slices > 1) __syncthreads();
    if (slice == 0) chunks.push(total);
  }
  if (!mine || slice != 0) return;
  A total[W];
  chunks.close(total);
#pragma unroll
  for (int e = 0; e < W; ++e) store<T>(p, group * p.sums + sum + e, total[e]);
}

// ---- the last pass: adds the partial sums

template <class T>
__global__ void __launch_bounds__(fold_threads) fold_long(Fold p) {
  begin();
  add_long<T>(p);
}

template <class T>
__global__ void __launch_bounds__(threads) fold_wide(Fold p) {
  begin();
  add_wide<T>(p);
}

// ---- host

// How many branches a sum may be cut into: enough to occupy the multiprocessors, but a function of shape and type
// alone, because the workspace is one.
struct Cut {
  int64_t groups, per_group;
};

inline Cut cut(int64_t chunks, int64_t branches, int64_t least) {
  Cut c = {1, least};
  int64_t const wanted = branches < 1 ? 1 : branches;
  while ((chunks - 1) / c.per_group + 1 > wanted) c.per_group *= 2;
  c.groups = (chunks - 1) / c.per_group + 1;
  return c;
}

constexpr int64_t busy = 4096;  // blocks that keep any device busy

// Branches per sum in sum_columns, for its narrowest strips.
template <class T>
Cut cut_columns(int64_t sums, int64_t terms) {
  return cut((terms - 1) / chunk<T> + 1, 2 * busy / ((sums - 1) / 32 + 1), 1);
}

// In sum_rows a branch of 32 chunks is one batch for each warp. That is long enough, so that there are more branches
// if a sum is long.
template <class T>
Cut cut_rows(int64_t sums, int64_t terms) {
  int64_t const chunks = (terms - 1) / chunk<T> + 1, blocks = busy / ((sums - 1) / 8 + 1);
  Cut const few = cut(chunks, blocks / 2, warps);
  return few.per_group <= batch * warps ? few : cut(chunks, blocks * 2, batch * warps);
}

template <class T>
int64_t sum_workspace(int64_t sums, int64_t terms) {
  if (sums == 0 || terms == 0) return 0;
  int64_t const columns = cut_columns<T>(sums, terms).groups, rows = cut_rows<T>(sums, terms).groups;
  int64_t const groups = columns > rows ? columns : rows;
  return groups == 1 ? 0 : groups * sums * static_cast<int64_t>(sizeof(typename accumulator<T>::type));
}

// Appends a dimension to a list that is innermost first, and merges it with the last one if their strides match.
inline void prepend(int* dims, int64_t* n, int64_t* stride, int64_t length, int64_t step) {
  if (length == 1) return;
  int const last = *dims - 1;
  if (last >= 0 && step == stride[last] * n[last]) {
    n[last] *= length;
    return;
  }
  n[*dims] = length;
  stride[(*dims)++] = step;
}

template <class T>
int sum(int64_t sums, int64_t terms, Sum p, uint64_t stream, uint64_t dst, uint64_t workspace,
        int64_t workspace_bytes) {
  constexpr int V = vector_width<T>;
  if (sum_workspace<T>(sums, terms) > workspace_bytes) return GPK_ERR_WORKSPACE;
  auto magnitude = [](int64_t v) { return v < 0 ? -v : v; };
  bool const aligned = reinterpret_cast<uintptr_t>(p.x) % 16 == 0;
  auto even = [](int width, int dims, int64_t const* stride, int from) {
    bool yes = true;
    for (int d = from; d < dims; ++d) yes = yes && stride[d] % width == 0;
    return yes;
  };
  p.sums = sums;
  p.terms = terms;
  int64_t const kept = p.kept_stride[0], summed = p.summed_stride[0];
  int64_t const chunks = (terms - 1) / chunk<T> + 1;
  bool const columns = sums > 1 && (terms < 8 || magnitude(kept) < magnitude(summed));
  Cut const c = columns ? cut_columns<T>(sums, terms) : cut_rows<T>(sums, terms);
  p.groups = c.groups;
  p.per_group = c.per_group;
  p.out = reinterpret_cast<char*>(c.groups > 1 ? workspace : dst);
  int code;
  Fold fold = {reinterpret_cast<char const*>(workspace), reinterpret_cast<char*>(dst), sums, c.groups, 1, c.groups, p.over};
  if (columns) {
    constexpr int W = V <= 8 ? V : 4;
    p.vectors = W > 1 && aligned && kept == 1 && p.kept_n[0] % W == 0 && even(W, p.kept_dims, p.kept_stride, 1) &&
                even(W, p.summed_dims, p.summed_stride, 0);
    int64_t const each = p.vectors ? W : 1;
    p.width = 32;
    while (p.width > 1 && p.width / 2 * each >= sums) p.width /= 2;
    // The lanes of a chunk that exist, in slices of at least 2.
    int present = 1;
    while (present < lanes<T> && present < terms) present *= 2;
    p.slices = present < 2 * batch ? 1 : present / batch < threads / p.width ? present / batch : threads / p.width;
    p.per_slice = present / p.slices;
    int64_t const grid = ((sums - 1) / (each * (threads / p.slices)) + 1) * c.groups;
    if (grid > INT32_MAX) return GPK_ERR_ARGUMENT;
    constexpr bool real = is_float<T>;  // columns of real numbers are summed often
    auto const kernel = !p.vectors                   ? sum_columns<T, 1, false>
                        : real && p.summed_dims == 1 ? sum_columns<T, W, real>
                                                     : sum_columns<T, W, false>;
    code = launch(kernel, static_cast<unsigned>(grid), threads, stream, p);
    fold.step = sums;
    fold.pitch = 1;
  } else {
    p.vectors = aligned && summed == 1 && (p.summed_dims == 1 || p.summed_n[0] % V == 0) &&
                even(V, p.summed_dims, p.summed_stride, 1) && even(V, p.kept_dims, p.kept_stride, 0);
    bool const dense = p.vectors && p.summed_dims == 1 && terms % V == 0;
    if (2 * terms <= chunk<T>) {
      int64_t const rows = (terms - 1) / lanes<T> + 1;
      p.share = 1;
      while (p.share < 32 && p.share * V < terms) p.share *= 2;
      auto const kernel = dense ? rows == 1   ? sum_short<T, 1, true>
                                  : rows == 2 ? sum_short<T, 2, true>
                                              : sum_short<T, 4, true>
                          : rows == 1 ? sum_short<T, 1, false>
                          : rows == 2 ? sum_short<T, 2, false>
                                      : sum_short<T, 4, false>;
      int64_t const per_block = 32 / p.share * (chunk_rows / (rows == 3 ? 4 : rows)) * warps;
      if ((sums - 1) / per_block >= INT32_MAX) return GPK_ERR_ARGUMENT;
      return launch(kernel, blocks_for(sums, per_block), threads, stream, p);
    }
    p.slices = 1;
    while (p.slices < warps && p.slices < chunks) p.slices *= 2;
    if (chunks < warps) p.per_group = p.slices;
    p.per_warp = p.per_group / p.slices;
    // If there are enough sums, fewer warps share one, so that each has batches of chunks.
    while (p.slices > 1 && p.per_warp < batch && sums * c.groups >= busy) p.slices /= 2, p.per_warp *= 2;
    int64_t const grid = (sums * c.groups - 1) / (warps / p.slices) + 1;
    if (grid > INT32_MAX) return GPK_ERR_ARGUMENT;
    code = launch(dense ? sum_rows<T, true> : sum_rows<T, false>, static_cast<unsigned>(grid), threads, stream, p);
  }
  if (code != GPK_OK || c.groups == 1) return code;
  if (sums >= 4096) return launch(fold_wide<T>, blocks_for(sums, 32), threads, stream, fold);
  unsigned block = threads;
  while (block < fold_threads && block * 8 < c.groups) block *= 2;
  return launch(fold_long<T>, static_cast<unsigned>(sums), block, stream, fold);
}

}  // namespace gpk
