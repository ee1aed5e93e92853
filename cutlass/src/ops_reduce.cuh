// ops_reduce.cuh: sums over any axes of any layout.
//
// The tree of additions is that of internal/cpu's Reduce. It depends only on the number of terms and their type. With
// L = 32*16/size lanes, the terms of a sum are divided into chunks of 8 rows of L terms. First the rows of a chunk
// are added, then the L sums, and last the sums of the chunks. Each of these additions combines neighbours in pairs,
// then the sums of pairs in pairs, and so on. A missing member of a pair counts as -0, which changes nothing.
#pragma once
#include "sum_kernels.cuh"

namespace gpk {

// The branches of a sum: enough to occupy the multiprocessors. They depend only on shape and type, because the size
// of the workspace does.
struct Partition {
  int64_t groups, per_group;
};

inline Partition partition(int64_t chunks, int64_t branches, int64_t least) {
  Partition c = {1, least};
  int64_t const wanted = branches < 1 ? 1 : branches;
  while ((chunks - 1) / c.per_group + 1 > wanted) c.per_group *= 2;
  c.groups = (chunks - 1) / c.per_group + 1;
  return c;
}

constexpr int64_t saturating_blocks = 4096;  // blocks that occupy any device

// The branches in sum_columns, for its narrowest column tiles.
template <class T>
Partition partition_columns(int64_t sums, int64_t terms) {
  return partition((terms - 1) / chunk<T> + 1, 2 * saturating_blocks / ((sums - 1) / 32 + 1), 1);
}

// The branches in sum_rows. A branch of 32 chunks is one batch per warp, which is long enough: a long sum has more
// branches rather than longer ones.
template <class T>
Partition partition_rows(int64_t sums, int64_t terms) {
  int64_t const chunks = (terms - 1) / chunk<T> + 1, blocks = saturating_blocks / ((sums - 1) / 8 + 1);
  Partition const few = partition(chunks, blocks / 2, warps);
  return few.per_group <= batch * warps ? few : partition(chunks, blocks * 2, batch * warps);
}

template <class T>
int64_t sum_workspace(int64_t sums, int64_t terms) {
  if (sums == 0 || terms == 0) return 0;
  int64_t const columns = partition_columns<T>(sums, terms).groups, rows = partition_rows<T>(sums, terms).groups;
  int64_t const groups = columns > rows ? columns : rows;
  return groups == 1 ? 0 : groups * sums * static_cast<int64_t>(sizeof(typename accumulator<T>::type));
}

// Appends a dimension to a list that is innermost first. Merges it with the last one if their strides match.
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
  auto all_multiples = [](int width, int dims, int64_t const* stride, int from) {
    bool yes = true;
    for (int d = from; d < dims; ++d) yes = yes && stride[d] % width == 0;
    return yes;
  };
  p.sums = sums;
  p.terms = terms;
  int64_t const kept = p.kept_stride[0], summed = p.summed_stride[0];
  int64_t const chunks = (terms - 1) / chunk<T> + 1;
  bool const columns = sums > 1 && (terms < 8 || magnitude(kept) < magnitude(summed));
  Partition const c = columns ? partition_columns<T>(sums, terms) : partition_rows<T>(sums, terms);
  p.groups = c.groups;
  p.per_group = c.per_group;
  p.out = reinterpret_cast<char*>(c.groups > 1 ? workspace : dst);
  int code;
  PartialSums partial = {reinterpret_cast<char const*>(workspace), reinterpret_cast<char*>(dst), sums, c.groups, 1,
                         c.groups, p.divisor};
  if (columns) {
    constexpr int W = V <= 8 ? V : 4;
    p.vectors = W > 1 && aligned && kept == 1 && p.kept_n[0] % W == 0 &&
                all_multiples(W, p.kept_dims, p.kept_stride, 1) &&
                all_multiples(W, p.summed_dims, p.summed_stride, 0);
    int64_t const sums_per_thread = p.vectors ? W : 1;
    p.width = 32;
    while (p.width > 1 && p.width / 2 * sums_per_thread >= sums) p.width /= 2;
    // Slices share the lanes of a chunk that exist. A slice has at least 2.
    int present = 1;
    while (present < lanes<T> && present < terms) present *= 2;
    p.slices = present < 2 * batch ? 1 : present / batch < threads / p.width ? present / batch : threads / p.width;
    p.per_slice = present / p.slices;
    int64_t const grid = ((sums - 1) / (sums_per_thread * (threads / p.slices)) + 1) * c.groups;
    if (grid > INT32_MAX) return GPK_ERR_ARGUMENT;
    constexpr bool real = is_float<T>;  // columns of real numbers are summed often
    auto const kernel = !p.vectors                   ? sum_columns<T, 1, false>
                        : real && p.summed_dims == 1 ? sum_columns<T, W, real>
                                                     : sum_columns<T, W, false>;
    code = launch(kernel, static_cast<unsigned>(grid), threads, stream, p);
    partial.step = sums;
    partial.pitch = 1;
  } else {
    p.vectors = aligned && summed == 1 && (p.summed_dims == 1 || p.summed_n[0] % V == 0) &&
                all_multiples(V, p.summed_dims, p.summed_stride, 1) && all_multiples(V, p.kept_dims, p.kept_stride, 0);
    bool const dense = p.vectors && p.summed_dims == 1 && terms % V == 0;
    if (2 * terms <= chunk<T>) {
      int64_t const rows = (terms - 1) / lanes<T> + 1;
      p.lanes_per_sum = 1;
      while (p.lanes_per_sum < 32 && p.lanes_per_sum * V < terms) p.lanes_per_sum *= 2;
      auto const kernel = dense ? rows == 1   ? sum_short<T, 1, true>
                                  : rows == 2 ? sum_short<T, 2, true>
                                              : sum_short<T, 4, true>
                          : rows == 1 ? sum_short<T, 1, false>
                          : rows == 2 ? sum_short<T, 2, false>
                                      : sum_short<T, 4, false>;
      int64_t const per_block = 32 / p.lanes_per_sum * (chunk_rows / (rows == 3 ? 4 : rows)) * warps;
      if ((sums - 1) / per_block >= INT32_MAX) return GPK_ERR_ARGUMENT;
      return launch(kernel, blocks_for(sums, per_block), threads, stream, p);
    }
    p.slices = 1;
    while (p.slices < warps && p.slices < chunks) p.slices *= 2;
    if (chunks < warps) p.per_group = p.slices;
    p.per_warp = p.per_group / p.slices;
    // If there are enough sums, fewer warps share one, so that each adds batches of chunks.
    while (p.slices > 1 && p.per_warp < batch && sums * c.groups >= saturating_blocks) p.slices /= 2, p.per_warp *= 2;
    int64_t const grid = (sums * c.groups - 1) / (warps / p.slices) + 1;
    if (grid > INT32_MAX) return GPK_ERR_ARGUMENT;
    code = launch(dense ? sum_rows<T, true> : sum_rows<T, false>, static_cast<unsigned>(grid), threads, stream, p);
  }
  if (code != GPK_OK || c.groups == 1) return code;
  if (sums >= 4096) return launch(sum_partials_by_eight<T>, blocks_for(sums, 32), threads, stream, partial);
  unsigned block = threads;
  while (block < max_partial_threads && block * 8 < c.groups) block *= 2;
  return launch(sum_partials_by_block<T>, static_cast<unsigned>(sums), block, stream, partial);
}

}  // namespace gpk
