// attention_place.cuh: the parameters of attention.cuh's kernels, and the mapping from a block to its tile and
// sequence.
#pragma once
#include <cuda_runtime.h>
#include <limits.h>
#include <stdint.h>

#include "gpk_attention.h"

namespace gpk {
namespace attention {

struct Rows {
  char* data;
  int64_t batch, head, row;  // strides in elements
  bool granules;             // rows consist of 16-byte granules on 16-byte boundaries
};

struct Params {
  Rows q, k, v, out;
  char const* mask;
  int64_t mask_batch, mask_head, mask_row, mask_step;
  int mask_type;  // 0: none
  int32_t const* offsets;
  long long* flags;
  int shortest, longest;
  int batch, heads, kv_heads, group, queries, keys, dim, value_dim;
  int tiles;       // tiles of all queries; ragged: an upper bound for all sequences
  bool causal;
  float factor;    // factor of scores in the exponent of a power of two
  bool scaled;     // scores are multiplied by the factor before the mask is added; otherwise within the exponent
  int parts, span;  // few: the number of parts, and keys per part
  float* partial;   // [batch, KV heads, parts, rows, value_dim]
  float2* sums;     // [batch, KV heads, parts, rows]: the largest score and the sum
};

constexpr int tile_rows = 64;
constexpr float log2_e = 1.44269504088896340736f;

// A tile of queries: its sequence and head, and where its rows begin.
struct Place {
  int batch, head, tile;
  int start;    // ragged: the sequence's first row
  int n, m;     // the sequence's queries and keys

  __device__ bool find(Params const& p) {
    unsigned const b = blockIdx.x;
    if (p.batch == 0 || p.heads == 0) return false;
    if (p.offsets != nullptr) {
      head = b % p.heads;
      return ragged(p, b / p.heads);
    }
    unsigned const many = p.batch * p.heads;
    unsigned which;
    if (p.causal) { // the longest tiles first
      tile = p.tiles - 1 - b / many;
      which = b % many;
    } else {
      tile = b % p.tiles;
      which = b / p.tiles;
    }
    head = which % p.heads;
    batch = which / p.heads;
    start = 0;
    n = p.queries;
    m = p.keys;
    return true;
  }

  __device__ static int clamped(Params const& p, int i) { return min(max(p.offsets[i], 0), p.queries); }

  // The slots for tiles of sequence i begin at offsets[i] / tile_rows + i. They are as many as it needs or one more,
  // so that no block has to add up lengths.
  __device__ bool ragged(Params const& p, int slot) {
    int const lane = threadIdx.x % 32;
    int low = 0, high = p.batch;
    while (high - low > 1) {
      int const step = (high - low + 31) / 32, at = low + lane * step;
      bool const begun = lane == 0 || (at < high && clamped(p, at) / tile_rows + at <= slot);
      int const last = 31 - __clz(__ballot_sync(~0u, begun));
      low += last * step;
      high = min(high, low + step);
    }
    batch = 0;
    start = clamped(p, low);
    n = m = clamped(p, low + 1) - start;
    tile = slot - (start / tile_rows + low);
    return tile >= 0 && n >= p.shortest && n <= p.longest && tile * tile_rows < n;
  }
};

// Records errors in the offsets. All threads of one block call it.
__device__ inline void check_offsets(Params const& p) {
  __shared__ int fallen;
  if (threadIdx.x == 0) fallen = INT_MAX;
  __syncthreads();
  for (int i = threadIdx.x; i < p.batch; i += blockDim.x) {
    if (p.offsets[i + 1] < p.offsets[i]) atomicMin(&fallen, i + 1);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  int const last = p.batch;
  int kind = GPK_OFFSETS_FINE, at = 0;
  if (p.offsets[0] != 0) {
    kind = GPK_OFFSETS_BEGIN;
  } else if (fallen != INT_MAX) {
    kind = GPK_OFFSETS_FALL, at = fallen;
  } else if (p.offsets[last] != p.queries) {
    kind = GPK_OFFSETS_END, at = last;
  }
  p.flags[0] = kind;
  p.flags[1] = static_cast<long long>(at) << 32 | static_cast<uint32_t>(p.offsets[at]);
}

}  // namespace attention
}  // namespace gpk
