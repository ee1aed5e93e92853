// attention_tiles_sm90.cuh: the tiles of Hopper's attention kernel, their order, and their mapping to CTAs. A tile has
// consecutive queries of one head of one sequence.
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
  int queries, keys;  // of the sequence; 0 if there is no tile
  bool causal;

  // The number of keys that query i >= 0 sees. i may exceed the number of queries.
  __device__ int keys_seen(int i) const { return causal ? max(0, min(keys, i + 1 + keys - queries)) : keys; }
  __device__ int last_key(int i) const { return keys_seen(i) - 1; }

  // blocks: the number of blocks of n keys with a key that a query of the tile sees. unmasked_blocks: the number of blocks,
  // from the first on, of which every query sees all keys.
  __device__ int blocks(int n, int rows) const {
    return queries == 0 ? 0 : (keys_seen(min(query + rows, queries) - 1) + n - 1) / n;
  }
  __device__ int unmasked_blocks(int n) const { return keys_seen(query) / n; }
};

// All tiles of a problem. CTAs are persistent and compute one tile per round. The tiles of a causal problem are sorted by
// their work. Every second round assigns them to the CTAs in reverse order, so that two rounds give every CTA the same
// work.
struct Tiles {
  int32_t const* offsets;  // nullptr unless the batch is ragged
  int sequences;           // ragged batch only
  int shortest, longest;   // range of the lengths of sequences that are computed; ragged batch only
  int queries, keys;       // rows of the tensors
  bool causal;
  int heads, heads_per_kv;      // query heads, and query heads per KV head
  int tiles_per_head;                // tiles per head; for a ragged batch an upper bound
  int pairs;               // query heads of all members of the batch
  int section;             // pairs whose tiles are scheduled together, so that their keys and values stay in L2
  int total;
  cutlass::FastDivmod by_section_tiles, by_section_size, by_heads, by_heads_per_kv;  // set by prepare

  // Computes the divisors from the other members. A GPU has no instruction for integer division, and `at` needs four
  // quotients.
  void prepare() {
    by_section_tiles = cutlass::FastDivmod(tiles_per_head * section), by_section_size = cutlass::FastDivmod(section);
    by_heads = cutlass::FastDivmod(heads), by_heads_per_kv = cutlass::FastDivmod(heads_per_kv);
  }

  __device__ bool ragged() const { return offsets != nullptr; }
  __device__ int rounds() const { return (total - 1) / static_cast<int>(gridDim.x) + 1; }

  // The tile of this CTA in a round, with `rows` queries per tile. All lanes of a warp call it.
  __device__ Tile at(int round, int rows, int lane) const {
    int const ctas = gridDim.x, cta = blockIdx.x;
    int const index = round * ctas + (causal && round % 2 != 0 ? ctas - 1 - cta : cta);
    Tile t{};
    if (index >= total) return t;
    int begin, in, number, pair, remainder;
    by_section_tiles(begin, in, index);
    begin *= section;
    if (pairs - begin >= section) {
      by_section_size(number, pair, in);
    } else {  // the last section
      number = in / (pairs - begin), pair = in % (pairs - begin);
    }
    by_heads(t.member, t.head, begin + pair);
    by_heads_per_kv(t.kv_head, remainder, t.head);
    t.causal = causal;
    if (ragged()) {
      find(t, number, rows, lane);
    } else {
      t.queries = queries, t.keys = keys;
      t.query = (causal ? tiles_per_head - 1 - number : number) * rows;
    }
    return t;
  }

  // Finds the sequence of a ragged batch with the head's tile `number`, by a prefix sum of the sequences' tiles.
  __device__ void find(Tile& t, int number, int rows, int lane) const {
    for (int base = 0, tiles_before = 0; base < sequences; base += 32) {
      int begin = 0, length = 0;
      if (base + lane < sequences) {
        begin = max(0, min(offsets[base + lane], queries));
        length = max(0, min(offsets[base + lane + 1], queries) - begin);
        if (length < shortest || length > longest) length = 0;
      }
      int const count = (length + rows - 1) / rows;
      int tiles_through = tiles_before + count;
      for (int d = 1; d < 32; d *= 2) {
        int const other = __shfl_up_sync(~0u, tiles_through - tiles_before, d);
        if (lane >= d) tiles_through += other;
      }
      unsigned const after = __ballot_sync(~0u, tiles_through > number);
      if (after != 0) {
        int const source = __ffs(after) - 1;
        int const last = __shfl_sync(~0u, tiles_through, source) - 1, source_tiles = __shfl_sync(~0u, count, source);
        t.first = __shfl_sync(~0u, begin, source);
        t.queries = t.keys = __shfl_sync(~0u, length, source);
        t.query = (causal ? last - number : number - (last - source_tiles + 1)) * rows;
        return;
      }
      tiles_before = __shfl_sync(~0u, tiles_through, 31);
    }
  }
};

}  // namespace attention90
}  // namespace gpk
