// layers_rope.cuh: rotary position embedding.
#pragma once
#include "gpk_layers.h"
#include "ops.cuh"

namespace gpk {
namespace {

struct Rope {
  char const *x, *positions;
  char* out;
  int64_t x_stride[4], out_stride[4], position_batch, position_row;
  int64_t batch, heads, rows, items;  // items per line: its pairs, then the features that are copied
  int64_t shares;                     // threads that share the heads of an item
  int pairs;
  bool interleaved, wide;
  double frequency[GPK_ROPE_PAIRS];
};

template <class T>
__device__ T rounded(double v) {
  if constexpr (is_half<T>) {
    return convert<T>(static_cast<float>(v));
  } else {
    return static_cast<T>(v);
  }
}

// A thread computes one item of a row for some of the heads. The sine and the cosine are computed once for these.
template <class T>
__global__ void __launch_bounds__(threads) rope_items(__grid_constant__ Rope const p) {
  begin();
  int64_t i = static_cast<int64_t>(blockIdx.x) * threads + threadIdx.x;
  int64_t const item = i % p.items;
  i /= p.items;
  int64_t const row = i % p.rows;
  i /= p.rows;
  int64_t const share = i % p.shares, b = i / p.shares;
  if (b >= p.batch) return;
  T const* const x = reinterpret_cast<T const*>(p.x) + b * p.x_stride[0] + row * p.x_stride[2];
  T* const out = reinterpret_cast<T*>(p.out) + b * p.out_stride[0] + row * p.out_stride[2];
  if (item >= p.pairs) {
    int64_t const e = item + p.pairs;
    for (int64_t h = share; h < p.heads; h += p.shares) {
      out[h * p.out_stride[1] + e * p.out_stride[3]] = x[h * p.x_stride[1] + e * p.x_stride[3]];
    }
    return;
  }
  int64_t const first = p.interleaved ? 2 * item : item, second = p.interleaved ? first + 1 : item + p.pairs;
  int64_t position = row;
  if (p.positions != nullptr) {
    int64_t const at = b * p.position_batch + row * p.position_row;
    position = p.wide ? reinterpret_cast<int64_t const*>(p.positions)[at]
                      : static_cast<int64_t>(reinterpret_cast<int32_t const*>(p.positions)[at]);
  }
  double sine, cosine;
  sincos(__dmul_rn(static_cast<double>(position), p.frequency[item]), &sine, &cosine);
  for (int64_t h = share; h < p.heads; h += p.shares) {
    double const x1 = convert<double>(x[h * p.x_stride[1] + first * p.x_stride[3]]);
    double const x2 = convert<double>(x[h * p.x_stride[1] + second * p.x_stride[3]]);
    double const y1 = __dadd_rn(__dmul_rn(x1, cosine), -__dmul_rn(x2, sine));
    double const y2 = __dadd_rn(__dmul_rn(x2, cosine), __dmul_rn(x1, sine));
    out[h * p.out_stride[1] + first * p.out_stride[3]] = rounded<T>(y1);
    out[h * p.out_stride[1] + second * p.out_stride[3]] = rounded<T>(y2);
  }
}

template <class T>
int rope(Rope& p, uint64_t stream) {
  constexpr int64_t wanted = 1 << 17;  // about the number of resident threads of a large device
  int64_t const lines = p.batch * p.rows * p.items;
  p.shares = lines >= wanted ? 1 : (wanted - 1) / lines + 1;
  if (p.shares > p.heads) p.shares = p.heads;
  int64_t const grid = (lines * p.shares - 1) / threads + 1;
  return grid > INT32_MAX ? GPK_ERR_UNSUPPORTED : launch(rope_items<T>, static_cast<unsigned>(grid), threads, stream, p);
}

}  // namespace
}  // namespace gpk
