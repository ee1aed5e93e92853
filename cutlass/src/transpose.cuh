// transpose.cuh: copies of arrays whose rows are the columns of the destination.
#pragma once
#include "ops.cuh"

namespace gpk {
namespace {

// Element (r, c) is read at src + r*sr + c and written at dst + c*dc + r.
struct Transpose {
  char *dst, *src;
  uint32_t rows, columns;
  int64_t sr, dc;  // in elements
  bool vectors_in, vectors_out;
  Divider down, across;  // tiles along the rows, which vary fastest, and along the columns
  Outer<2> batch;
};

// A tile in shared memory consists of words. A word is an element or, if elements have fewer than 4 bytes, the
// elements of one column in `pack` rows. Therefore reads and writes both move vectors of 16 bytes. A read along a row
// packs `pack` vectors into 16/Bytes words. A write stores the words of a column, which are neighbours in the
// destination.
template <int Bytes>
struct TransposeTile {
  using Element = typename Blob<Bytes>::type;
  using Word = typename Blob<(Bytes < 4 ? 4 : Bytes)>::type;
  static constexpr int pack = Bytes < 4 ? 4 / Bytes : 1;
  static constexpr int width = 16 / Bytes;                           // elements per vector
  static constexpr int words = 16 / static_cast<int>(sizeof(Word));  // words per vector
  static constexpr int rows = Bytes == 4 ? 64 : 32 * pack;
  static constexpr int columns = Bytes == 16 ? 32 : Bytes == 2 || Bytes == 1 ? 128 : 64;
};

// Packs vectors from `pack` rows into one word per column.
__device__ inline void pack_words(uint4 const (&v)[1], uint32_t (&w)[4]) {
  w[0] = v[0].x, w[1] = v[0].y, w[2] = v[0].z, w[3] = v[0].w;
}
__device__ inline void pack_words(uint4 const (&v)[1], uint64_t (&w)[2]) {
  w[0] = v[0].x | static_cast<uint64_t>(v[0].y) << 32;
  w[1] = v[0].z | static_cast<uint64_t>(v[0].w) << 32;
}
__device__ inline void pack_words(uint4 const (&v)[1], ulonglong2 (&w)[1]) {
  uint64_t two[2];
  pack_words(v, two);
  w[0] = {two[0], two[1]};
}
__device__ inline void pack_words(uint4 const (&v)[2], uint32_t (&w)[8]) {
  uint32_t const a[] = {v[0].x, v[0].y, v[0].z, v[0].w}, b[] = {v[1].x, v[1].y, v[1].z, v[1].w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    w[2 * i] = __byte_perm(a[i], b[i], 0x5410);
    w[2 * i + 1] = __byte_perm(a[i], b[i], 0x7632);
  }
}
__device__ inline void pack_words(uint4 const (&v)[4], uint32_t (&w)[16]) {
  uint32_t const a[] = {v[0].x, v[0].y, v[0].z, v[0].w}, b[] = {v[1].x, v[1].y, v[1].z, v[1].w};
  uint32_t const c[] = {v[2].x, v[2].y, v[2].z, v[2].w}, d[] = {v[3].x, v[3].y, v[3].z, v[3].w};
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    uint32_t const ab = __byte_perm(a[i], b[i], 0x5140), cd = __byte_perm(c[i], d[i], 0x5140);
    uint32_t const ef = __byte_perm(a[i], b[i], 0x7362), gh = __byte_perm(c[i], d[i], 0x7362);
    w[4 * i] = __byte_perm(ab, cd, 0x5410);
    w[4 * i + 1] = __byte_perm(ab, cd, 0x7632);
    w[4 * i + 2] = __byte_perm(ef, gh, 0x5410);
    w[4 * i + 3] = __byte_perm(ef, gh, 0x7632);
  }
}

template <int Bytes>
__global__ void __launch_bounds__(threads) transpose(Transpose p) {
  begin();
  using T = TransposeTile<Bytes>;
  using Element = typename T::Element;
  using Word = typename T::Word;
  constexpr int tall = T::rows / T::pack, pitch = T::columns + 1;
  __shared__ Word tile[tall * pitch];

  uint32_t tc, tr;
  int64_t off[2] = {};
  p.batch.offsets(p.across.divide(p.down.divide(blockIdx.x, &tr), &tc), off);
  uint32_t const r0 = tr * T::rows, c0 = tc * T::columns;
  Element const* const src = reinterpret_cast<Element const*>(p.src) + off[1] + r0 * p.sr + c0;
  Element* const dst = reinterpret_cast<Element*>(p.dst) + off[0] + c0 * p.dc + r0;
  int const rows = min(p.rows - r0, static_cast<uint32_t>(T::rows));
  int const columns = min(p.columns - c0, static_cast<uint32_t>(T::columns));
  int const id = threadIdx.x;

  if (p.vectors_in && columns == T::columns) {
    // Eight lanes read 128 bytes of a row.
    constexpr int across = T::columns / T::width, units = tall * across / threads;
    uint4 v[units][T::pack];
#pragma unroll
    for (int u = 0; u < units; ++u) {
      int const unit = id + u * threads, q = unit / across, c = unit % across * T::width;
#pragma unroll
      for (int k = 0; k < T::pack; ++k) {
        int const r = q * T::pack + k;
        v[u][k] = r < rows ? *reinterpret_cast<uint4 const*>(src + r * p.sr + c) : uint4{};
      }
    }
#pragma unroll
    for (int u = 0; u < units; ++u) {
      int const unit = id + u * threads, q = unit / across, c = unit % across * T::width;
      Word w[T::width];
      pack_words(v[u], w);
#pragma unroll
      for (int e = 0; e < T::width; ++e) tile[q * pitch + c + e] = w[e];
    }
  } else {
    constexpr int total = T::rows * T::columns;
#pragma unroll 8
    for (int i = id; i < total; i += threads) {
      int const r = i / T::columns, c = i % T::columns;
      if (r < rows && c < columns) {
        reinterpret_cast<Element*>(&tile[r / T::pack * pitch + c])[r % T::pack] = src[r * p.sr + c];
      }
    }
  }
  __syncthreads();
  if (p.vectors_out && rows == T::rows) {
    constexpr int across = tall / T::words, units = T::columns * across / threads;
#pragma unroll
    for (int u = 0; u < units; ++u) {
      int const unit = id + u * threads, c = unit / across, q = unit % across * T::words;
      if (c >= columns) continue;
      Vec<Word, T::words> v;
#pragma unroll
      for (int e = 0; e < T::words; ++e) v.v[e] = tile[(q + e) * pitch + c];
      *reinterpret_cast<Vec<Word, T::words>*>(dst + c * p.dc + q * T::pack) = v;
    }
  } else {
    constexpr int total = T::rows * T::columns;
#pragma unroll 8
    for (int i = id; i < total; i += threads) {
      int const c = i / T::rows, r = i % T::rows;
      if (r < rows && c < columns) {
        dst[c * p.dc + r] = reinterpret_cast<Element const*>(&tile[r / T::pack * pitch + c])[r % T::pack];
      }
    }
  }
}

}  // namespace
}  // namespace gpk
