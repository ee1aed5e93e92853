// attention_params.cuh: the parameters of attention.cuh's kernels, the mapping from a block to its tile, and the check of a
// ragged batch's offsets.
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
  bool granules;             // addresses and lengths of rows are multiples of 16 bytes
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
  int tiles;       // tiles of queries per head and sequence; ragged: an upper bound per head, of all sequences
  bool causal;
  float factor;    // scale log2(e): a weight is 2^(factor (score - maximum))
  bool scaled;     // scores are multiplied by the factor before the mask is added; otherwise in the exponent
  int parts, span;  // kernel few: the number of parts, and keys per part
  float* partial;   // [batch, KV heads, parts, rows, value_dim]
  float2* sums;     // [batch, KV heads, parts, rows]: the largest score and the sum
};

constexpr int tile_rows = 64;
constexpr float log2_e = 1.44269504088896340736f;

// A tile of queries: its sequence, its head and its number.
struct TileCoord {
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
    unsigned const pairs = p.batch * p.heads;
    unsigned pair;
    if (p.causal) { // the tiles with the most keys first
      tile = p.tiles - 1 - b / pairs;
      pair = b % pairs;
    } else {
      tile = b % p.tiles;
      pair = b / p.tiles;
    }
    head = pair % p.heads;
    batch = pair / p.heads;
    start = 0;
    n = p.queries;
    m = p.keys;
    return true;
  }

  __device__ static int clamped(Params const& p, int i) { return min(max(p.offsets[i], 0), p.queries); }

  // Finds the tile of a ragged batch with number `slot`. The tiles of sequence i have the numbers from offsets[i] /
  // tile_rows + i on. This leaves at most one unused number per sequence, and no block has to sum lengths. Returns whether
  // the number has a tile that this kernel computes.
  __device__ bool ragged(Params const& p, int slot) {
    int const lane = threadIdx.x % 32;
    int low = 0, high = p.batch;
    while (high - low > 1) {
      int const step = (high - low + 31) / 32, at = low + lane * step;
      bool const starts = lane == 0 || (at < high && clamped(p, at) / tile_rows + at <= slot);
      int const last = 31 - __clz(__ballot_sync(~0u, starts));
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

// Writes the first error of the offsets to the flags. All threads of one block call it.
__device__ inline void check_offsets(Params const& p) {
  __shared__ int first_decrease;
  if (threadIdx.x == 0) first_decrease = INT_MAX;
  __syncthreads();
  for (int i = threadIdx.x; i < p.batch; i += blockDim.x) {
    if (p.offsets[i + 1] < p.offsets[i]) atomicMin(&first_decrease, i + 1);
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  int const last = p.batch;
  int kind = GPK_OFFSETS_FINE, at = 0;
  if (p.offsets[0] != 0) {
    kind = GPK_OFFSETS_BEGIN;
  } else if (first_decrease != INT_MAX) {
    kind = GPK_OFFSETS_FALL, at = first_decrease;
  } else if (p.offsets[last] != p.queries) {
    kind = GPK_OFFSETS_END, at = last;
  }
  p.flags[0] = kind;
  p.flags[1] = static_cast<long long>(at) << 32 | static_cast<uint32_t>(p.offsets[at]);
}

}  // namespace attention
}  // namespace gpk
