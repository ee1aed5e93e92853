// attention_launch_sm90.cuh: the problems that Hopper's attention kernel supports, and its launch.
#pragma once
#include <string.h>

#include <vector>

#include "attention_sm90.cuh"

namespace gpk {
namespace attention90 {

// Whether addresses and strides are aligned for TMA and for stores of 16 bytes. Strides of dimensions of length 1 are
// ignored.
inline bool aligned(gpk_attention_rows const& r, int64_t batch, int64_t heads, int64_t rows) {
  auto const fits = [](int64_t distance, int64_t extent) {
    return extent == 1 || (distance > 0 && distance % 8 == 0 && distance < int64_t(1) << 38);
  };
  return r.data % 16 == 0 && fits(r.batch, batch) && fits(r.head, heads) && fits(r.row, rows);
}

// Encodes the TMA descriptor of an operand, with boxes of box_rows rows by 64 elements. Returns whether it succeeded.
inline bool encode_rows(CUtensorMap* map, CUtensorMapDataType type, gpk_attention_rows const& r, int64_t dim, int64_t rows,
                     int64_t heads, int64_t batch, int box_rows) {
  cuuint64_t const dims[4] = {cuuint64_t(dim), cuuint64_t(rows), cuuint64_t(heads), cuuint64_t(batch)};
  cuuint64_t const row = cuuint64_t(rows > 1 ? r.row : dim) * 2;
  cuuint64_t const strides[3] = {row, heads > 1 ? cuuint64_t(r.head) * 2 : row, batch > 1 ? cuuint64_t(r.batch) * 2 : row};
  cuuint32_t const box[4] = {64, cuuint32_t(box_rows), 1, 1}, ones[4] = {1, 1, 1, 1};
  CUresult const e = encode_tiled(map, type, 4, reinterpret_cast<void*>(r.data), dims, strides, box, ones,
                                  CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
                                  CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return e == CUDA_SUCCESS && !take_tma_error();
}

// The largest work of a CTA, in blocks of n keys, for a causal problem with sections of `section` heads
// (attention_tiles_sm90.cuh). A tile's prologue and epilogue count as one block.
inline int64_t longest_cta(Tiles t, int section, int ctas, int rows, int n, std::vector<int64_t>& load) {
  load.assign(ctas, 0);
  for (int index = 0, begin = 0, cta = 0, forward = 1; index < t.total; begin += section) {
    int const width = section < t.pairs - begin ? section : t.pairs - begin;
    for (int number = 0; number < t.tiles_per_head; ++number) {
      int const end = (t.tiles_per_head - number) * rows < t.queries ? (t.tiles_per_head - number) * rows : t.queries;
      int const keys_seen = end + t.keys - t.queries, work = (keys_seen > 0 ? (keys_seen - 1) / n + 1 : 0) + 1;
      for (int i = 0; i < width; ++i, ++index) {
        load[forward ? cta : ctas - 1 - cta] += work;
        if (++cta == ctas) cta = 0, forward ^= 1;
      }
    }
  }
  int64_t most = 0;
  for (int64_t const x : load) most = x > most ? x : most;
  return most;
}

// The section size of a causal problem that balances the CTAs best. A bad one costs 15 % of the time.
inline int balanced_section(Tiles const& t, int ctas, int rows, int n) {
  struct Choice {
    int tiles_per_head, pairs, queries, keys, heads_per_kv, ctas, rows, n, section;
  };
  static thread_local Choice last{};
  Choice choice{t.tiles_per_head, t.pairs, t.queries, t.keys, t.heads_per_kv, ctas, rows, n, 0};
  choice.section = last.section;
  if (last.section > 0 && memcmp(&choice, &last, sizeof choice) == 0) return last.section;
  std::vector<int64_t> load;
  int64_t least = INT64_MAX;
  for (int const section : {ctas / 4, 4, 8, 12, 16, 24, 32, 48, ctas / 2}) {
    int const s = section < 1 ? 1 : section < t.pairs ? section : t.pairs;
    int64_t const x = longest_cta(t, s, ctas, rows, n, load);
    if (least == INT64_MAX || x * 128 < least * 127) least = x, choice.section = s;
    if (t.total / ctas >= 40) break;  // with so many rounds every section size balances the CTAs
  }
  last = choice;
  return choice.section;
}

// An upper bound of the tiles per head. Every sequence has at most one partial tile.
inline int64_t tiles_of(gpk_attention_args const& a, int64_t rows) {
  if (a.offsets == 0) return (a.queries - 1) / rows + 1;
  int64_t const most = a.queries / (a.shortest > 1 ? a.shortest : 1);
  return a.queries / rows + (a.batch < most ? a.batch : most);
}

// Whether tiles of three warpgroups take less time than tiles of two. A tile of 192 queries takes 1.25 times the time of one
// of 128. The bits of a row are the same in both.
inline bool prefers_three_groups(gpk_attention_args const& a) {
  int64_t const pairs = (a.offsets != 0 ? 1 : a.batch) * a.heads, sms = sm_count(a.device);
  auto const rounds = [&](int64_t rows) { return (tiles_of(a, rows) * pairs + sms - 1) / sms; };
  return sms > 0 && rounds(192) * 5 < rounds(128) * 4;
}

template <class T, int D, int N, int Groups, int Stages = 2, int Buffers = 1>
cudaError_t launch_kernel(gpk_attention_args const& a, cudaStream_t stream) {
  using K = Kernel<T, D, N, Groups, Stages, Buffers>;
  static uint64_t allowed = 0;
  void const* const kernel = reinterpret_cast<void const*>(attend<K>);
  if (int const e = allow_shared(kernel, K::shared, a.device, &allowed)) return static_cast<cudaError_t>(e);

  typename K::Params p;
  auto const type = cute::is_same_v<T, bf16> ? CU_TENSOR_MAP_DATA_TYPE_BFLOAT16 : CU_TENSOR_MAP_DATA_TYPE_FLOAT16;
  bool const ragged = a.offsets != 0;
  int64_t const members = ragged ? 1 : a.batch;
  if (!encode_rows(&p.q, type, a.q, D, a.queries, a.heads, members, 64) ||
      !encode_rows(&p.k, type, a.k, D, a.keys, a.kv_heads, members, N) ||
      !encode_rows(&p.v, type, a.v, D, a.keys, a.kv_heads, members, N)) {
    return cudaErrorInvalidValue;
  }
  p.out = reinterpret_cast<T*>(a.out.data);
  p.out_batch = a.out.batch, p.out_head = a.out.head, p.out_row = a.out.row;
  p.scale = static_cast<float>(a.scale * 1.4426950408889634);

  Tiles& t = p.tiles;
  t.offsets = reinterpret_cast<int32_t const*>(a.offsets);
  t.sequences = ragged ? static_cast<int>(a.batch) : 0;
  t.shortest = static_cast<int>(a.shortest < 0 ? 0 : a.shortest < INT_MAX ? a.shortest : INT_MAX);
  t.longest = static_cast<int>(a.longest < 0 ? 0 : a.longest < INT_MAX ? a.longest : INT_MAX);
  t.queries = static_cast<int>(a.queries), t.keys = static_cast<int>(a.keys);
  t.causal = a.causal != 0;
  t.heads = static_cast<int>(a.heads), t.heads_per_kv = static_cast<int>(a.heads / a.kv_heads);
  int64_t const tiles_per_head = tiles_of(a, K::tile);
  int64_t const pairs = members * a.heads;
  if (tiles_per_head * pairs > INT_MAX / 2) return cudaErrorInvalidValue;
  t.tiles_per_head = static_cast<int>(tiles_per_head), t.pairs = static_cast<int>(pairs), t.total = static_cast<int>(tiles_per_head * pairs);
  int const sms = sm_count(a.device);
  if (sms == 0) return cudaErrorInvalidDevice;
  int const ctas = t.total < sms ? t.total : sms;
  // Without a causal mask a section is one KV head. The sections of a ragged causal batch take half of L2.
  int64_t const budget = 24 << 20, bytes = a.keys * D * 4;
  int64_t const section_heads = (a.causal && bytes < budget ? budget / bytes : 1) * t.heads_per_kv;
  t.section = static_cast<int>(section_heads < pairs ? section_heads : pairs);
  if (t.causal && !ragged && t.total > ctas) t.section = balanced_section(t, ctas, K::tile, N);
  t.prepare();

  void* pointers[] = {&p};
  return static_cast<cudaError_t>(launch(kernel, dim3(ctas), dim3(K::threads), K::shared,
                                         stream, pointers, 1, 1, true));
}

template <class T>
cudaError_t launch_type(gpk_attention_args const& a, cudaStream_t stream) {
  switch (a.dim) {
    case 64:
      // Not causal: four warpgroups and blocks of 64 keys. Compared with blocks of 128 keys, 512 keys take 0.92 times as
      // long, and 2,048 keys 1.10 times. The choice must not depend on the number of keys, because a ragged batch has
      // sequences of any length.
      if (!a.causal) return launch_kernel<T, 64, 64, 4, 4, 2>(a, stream);
      return prefers_three_groups(a) ? launch_kernel<T, 64, 128, 3, 4, 2>(a, stream) : launch_kernel<T, 64, 128, 2, 4, 2>(a, stream);
    case 96: return launch_kernel<T, 96, 96, 3>(a, stream);
    case 128: return a.causal ? launch_kernel<T, 128, 128, 2>(a, stream) : launch_kernel<T, 128, 176, 2>(a, stream);
    case 256: return launch_kernel<T, 256, 80, 2>(a, stream);
    default: return cudaErrorInvalidValue;
  }
}

}  // namespace attention90

// Whether attention_sm90 supports the problem, on a device of compute capability 9.0.
inline bool attention_sm90_supports(gpk_attention_args const& a) {
  int64_t const limit = 1 << 30, members = a.offsets != 0 ? 1 : a.batch;
  auto const within = [&](int64_t n) { return n > 0 && n < limit; };
  return (a.type == GPK_F16 || a.type == GPK_BF16) && a.mask == 0 && a.dim == a.value_dim &&
         (a.dim == 64 || a.dim == 96 || a.dim == 128 || a.dim == 256) && a.scale > 1e-30 && a.scale < 1e30 &&
         within(a.batch) && within(a.heads) && within(a.kv_heads) && a.heads % a.kv_heads == 0 && within(a.queries) &&
         within(a.keys) && within(members * a.heads) &&
         (a.queries / 64 + 1 + (a.offsets != 0 ? a.batch : 0)) < limit / (members * a.heads) &&
         (a.offsets == 0 || a.queries == a.keys) && attention90::aligned(a.q, members, a.heads, a.queries) &&
         attention90::aligned(a.k, members, a.kv_heads, a.keys) && attention90::aligned(a.v, members, a.kv_heads, a.keys) &&
         attention90::aligned(a.out, members, a.heads, a.queries);
}

// Computes a problem that attention_sm90_supports accepts, without workspace.
inline cudaError_t attention_sm90(gpk_attention_args const& a, cudaStream_t stream) {
  return a.type == GPK_BF16 ? attention90::launch_type<attention90::bf16>(a, stream)
                            : attention90::launch_type<attention90::fp16>(a, stream);
}

}  // namespace gpk
