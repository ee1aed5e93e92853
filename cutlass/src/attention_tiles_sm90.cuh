// attention_tiles_sm90.cuh: the mapping from a CTA to its tiles, and their order. A tile is a number of consecutive
// queries of one head of one sequence.
#pragma once
#include <cuda_runtime.h>
#include <stdint.h>

#include "cutlass/fast_math.h"

namespace gpk {
namespace attention90 {

struct Tile {
  int member, head, kv_head;
  int first;          // the sequence's first row in the tensors
  int query;          // the tile's first query in the sequence
  int queries, keys;  // of the sequence; both 0 if there is no tile
  bool causal;

  // The number of keys that query i sees. i is not before the first query, and may be after the last.
  __device__ int seen(int i) const { return causal ? max(0, min(keys, i + 1 + keys - queries)) : keys; }
  __device__ int last_key(int i) const { return seen(i) - 1; }

  // The number of blocks of n keys that a tile of `rows` queries sees, and how many of these, from the first on, all
  // of its queries see entirely.
  __device__ int blocks(int n, int rows) const {
    return queries == 0 ? 0 : (seen(min(query + rows, queries) - 1) + n - 1) / n;
  }
  __device__ int whole_blocks(int n) const { return seen(query) / n; }
};

// All tiles of a problem. CTAs are persistent, and compute one tile per round. For a causal problem every second
// round assigns tiles to CTAs in reverse: tiles are sorted by their work, so that two rounds give every CTA the same
// work.
struct Tiles {
  int32_t const* offsets;  // nullptr unless the batch is ragged
  int sequences;           // ragged batch only
  int shortest, longest;   // range of the lengths of sequences that are computed; ragged batch only
  int queries, keys;       // rows of the tensors
  bool causal;
  int heads, sharing;      // query heads, and query heads per KV head
  int each;                // tiles per head; for a ragged batch an upper bound
  int pairs;               // heads of all batch members
  int section;             // pairs whose tiles are scheduled together, which keeps their keys and values in L2
  int total;
  cutlass::FastDivmod by_section, by_width, by_heads, by_sharing;  // set by prepare

  // Computes the divisors from the other members. A GPU divides integers by a sequence of instructions, and `at`
  // needs four quotients.
  void prepare() {
    by_section = cutlass::FastDivmod(each * section), by_width = cutlass::FastDivmod(section);
    by_heads = cutlass::FastDivmod(heads), by_sharing = cutlass::FastDivmod(sharing);
  }

  __device__ bool ragged() const { return offsets != nullptr; }
  __device__ int rounds() const { return (total - 1) / static_cast<int>(gridDim.x) + 1; }

  // The tile of this CTA in a round, with `rows` queries per tile. Called by whole warps.
  __device__ Tile at(int round, int rows, int lane) const {
    int const ctas = gridDim.x, cta = blockIdx.x;
    int const index = round * ctas + (causal && round % 2 != 0 ? ctas - 1 - cta : cta);
    Tile t{};
    if (index >= total) return t;
    int begin, in, number, pair, unused;
    by_section(begin, in, index);
    begin *= section;
    if (pairs - begin >= section) {
      by_width(number, pair, in);
    } else {  // the last section
      number = in / (pairs - begin), pair = in % (pairs - begin);
    }
    by_heads(t.member, t.head, begin + pair);
    by_sharing(t.kv_head, unused, t.head);
    t.causal = causal;
    if (ragged()) {
      find(t, number, rows, lane);
    } else {
      t.queries = queries, t.keys = keys;
      t.query = (causal ? each - 1 - number : number) * rows;
    }
    return t;
  }

  // Finds the sequence of a ragged batch that contains tile `number`.
  __device__ void find(Tile& t, int number, int rows, int lane) const {
    for (int base = 0, before = 0; base < sequences; base += 32) {
      int begin = 0, length = 0;
      if (base + lane < sequences) {
        begin = max(0, min(offsets[base + lane], queries));
        length = max(0, min(offsets[base + lane + 1], queries) - begin);
        if (length < shortest || length > longest) length = 0;
      }
      int const count = (length + rows - 1) / rows;
      int upto = before + count;
      for (int d = 1; d < 32; d *= 2) {
        int const other = __shfl_up_sync(~0u, upto - before, d);
        if (lane >= d) upto += other;
      }
      unsigned const after = __ballot_sync(~0u, upto > number);
      if (after != 0) {
        int const source = __ffs(after) - 1;
        int const last = __shfl_sync(~0u, upto, source) - 1, own = __shfl_sync(~0u, count, source);
        t.first = __shfl_sync(~0u, begin, source);
        t.queries = t.keys = __shfl_sync(~0u, length, source);
        t.query = (causal ? last - number : number - (last - own + 1)) * rows;
        return;
      }
      before = __shfl_sync(~0u, upto, 31);
    }
  }
};

}  // namespace attention90
}  // namespace gpk
