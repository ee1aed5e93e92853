// attention_run.cuh: the choice of attention.cuh's kernel for a problem, and its launch.
#pragma once
#include "attention_few.cuh"

namespace gpk {
namespace attention {

// The head size of the kernel: the next of 32, 64, 128 and 256; 0 if there is none.
inline int padded_dim(gpk_attention_args const& a) {
  int64_t const d = a.dim > a.value_dim ? a.dim : a.value_dim;
  return d <= 32 ? 32 : d <= 64 ? 64 : d <= 128 ? 128 : d <= 256 ? 256 : 0;
}

inline bool supports(gpk_attention_args const& a) {
  constexpr int64_t limit = INT_MAX / 2;  // so that the sum of two fits an int
  bool const small = a.batch <= limit && a.heads <= limit && a.queries <= limit && a.keys <= limit;
  bool const supported_type = a.type == GPK_F32 || a.type == GPK_F16 || a.type == GPK_BF16;
  bool const masked = a.mask == 0 || ((a.mask_type == GPK_BOOL || a.mask_type == GPK_F32) && a.offsets == 0);
  if (!small || !supported_type || !masked || padded_dim(a) == 0) return false;
  double const blocks = double(a.queries / tile_rows + (a.offsets != 0 ? a.batch : 1)) * double(a.heads) * double(a.offsets != 0 ? 1 : a.batch);
  return blocks <= INT_MAX && double(a.batch) * double(a.heads) * max_parts <= UINT_MAX;
}

// Whether kernel `few` computes the problem.
inline bool is_few(gpk_attention_args const& a) {
  return a.offsets == 0 && a.type != GPK_F32 && a.kv_heads > 0 && a.heads / a.kv_heads * a.queries <= few_rows && a.keys >= few_min_keys;
}

// Keys per part, a function of the number of keys only.
inline int span_of(int64_t keys) {
  int64_t const multiple = (keys + few_span * max_parts - 1) / (few_span * max_parts);
  return static_cast<int>(few_span * multiple);
}

inline int parts_of(int64_t keys) { return static_cast<int>((keys + span_of(keys) - 1) / span_of(keys)); }

// The bytes of all parts' results, rounded up to a multiple of 256. Their maxima and sums follow in the workspace.
inline int64_t partial_bytes(gpk_attention_args const& a) {
  return (a.batch * a.heads * a.queries * parts_of(a.keys) * a.value_dim * 4 + 255) / 256 * 256;
}

inline int64_t workspace(gpk_attention_args const& a) {
  if (!is_few(a)) return 0;
  return partial_bytes(a) + a.batch * a.heads * a.queries * parts_of(a.keys) * 8;
}

constexpr int static_shared = 1024;  // an upper bound of the kernels' static shared memory in bytes

// The bytes of shared memory per block, dynamic and static.
inline int64_t shared_bytes(gpk_attention_args const& a) {
  int64_t const d = padded_dim(a), keys = d > 128 ? 32 : 64;
  int64_t const pitch = a.type == GPK_F32 ? d * 4 + 16 : d * 2;
  if (is_few(a)) return (few_rows + 2 * few_stages * few_warps * few_step) * pitch + static_shared;
  return (tile_rows + 2 * keys) * pitch + static_shared;
}

inline char const* name(gpk_attention_args const& a) { return is_few(a) ? "attention_few" : "attention_tiles"; }

inline Rows rows_of(gpk_attention_rows const& r, gpk_attention_args const& a, int64_t heads, int64_t rows, int64_t length) {
  int64_t const size = a.type == GPK_F32 ? 4 : 2;
  Rows v{reinterpret_cast<char*>(r.data), a.offsets == 0 && a.batch > 1 ? r.batch : 0, heads > 1 ? r.head : 0, rows > 1 ? r.row : 0, false};
  v.granules = (r.data | (v.batch * size) | (v.head * size) | (v.row * size) | (length * size)) % 16 == 0;
  return v;
}

inline Params params_of(gpk_attention_args const& a) {
  auto const number = [](int64_t n) { return static_cast<int>(n < 0 ? 0 : n > INT_MAX ? INT_MAX : n); };
  Params p{};
  p.q = rows_of(a.q, a, a.heads, a.queries, a.dim);
  p.k = rows_of(a.k, a, a.kv_heads, a.keys, a.dim);
  p.v = rows_of(a.v, a, a.kv_heads, a.keys, a.value_dim);
  p.out = rows_of(a.out, a, a.heads, a.queries, a.value_dim);
  p.mask = reinterpret_cast<char const*>(a.mask);
  p.mask_batch = a.mask_batch, p.mask_head = a.mask_head, p.mask_row = a.mask_row, p.mask_step = a.mask_step;
  p.mask_type = a.mask == 0 ? 0 : a.mask_type;
  p.offsets = reinterpret_cast<int32_t const*>(a.offsets);
  p.flags = reinterpret_cast<long long*>(a.flags);
  p.shortest = number(a.shortest), p.longest = number(a.longest);
  p.batch = number(a.batch), p.heads = number(a.heads), p.kv_heads = number(a.kv_heads);
  p.group = a.kv_heads > 0 ? number(a.heads / a.kv_heads) : 1;
  p.queries = number(a.queries), p.keys = number(a.keys), p.dim = number(a.dim), p.value_dim = number(a.value_dim);
  p.tiles = p.offsets != nullptr ? p.queries / tile_rows + p.batch : (p.queries + tile_rows - 1) / tile_rows;
  p.causal = a.causal != 0;
  p.factor = static_cast<float>(a.scale * 1.4426950408889634);
  p.scaled = p.mask_type == GPK_F32 || !(p.factor > 0);
  if (is_few(a)) {
    p.span = span_of(a.keys), p.parts = parts_of(a.keys);
    p.partial = reinterpret_cast<float*>(a.workspace);
    p.sums = reinterpret_cast<float2*>(a.workspace + partial_bytes(a));
  }
  return p;
}

// Launches a kernel, whose prologue is begin(), and returns the error of this launch. Once per device it raises the
// kernel's limit of dynamic shared memory to `bytes`.
inline cudaError_t launch(void (*kernel)(Params), unsigned grid, unsigned block, int bytes, int device, cudaStream_t stream, Params const& p,
                          uint64_t* known, uint64_t* allowed) {
  cudaError_t e = cudaSuccess;
  bool const counted = device >= 0 && device < 64;
  if (bytes + static_shared > 48 * 1024 && !(counted && __atomic_load_n(allowed, __ATOMIC_RELAXED) >> device & 1)) {
    e = cudaFuncSetAttribute(reinterpret_cast<void const*>(kernel), cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
    if (e == cudaSuccess && counted) __atomic_fetch_or(allowed, uint64_t(1) << device, __ATOMIC_RELAXED);
  }
  if (e == cudaSuccess) {
    cudaLaunchAttribute attribute{};
    attribute.id = cudaLaunchAttributeProgrammaticStreamSerialization;
    attribute.val.programmaticStreamSerializationAllowed = 1;
    cudaLaunchConfig_t config{};
    config.gridDim = dim3(grid);
    config.blockDim = dim3(block);
    config.dynamicSmemBytes = bytes;
    config.stream = stream;
    config.attrs = &attribute;
    config.numAttrs = waits_for_previous(reinterpret_cast<void const*>(kernel), device, known);
    e = cudaLaunchKernelEx(&config, kernel, p);
  }
  if (e != cudaSuccess) cudaGetLastError();
  return e;
}

template <class M, int D, int Keys, bool Masked>
cudaError_t launch_tiles(Params const& p, int device, cudaStream_t stream) {
  static uint64_t known = 0, allowed = 0;
  int64_t const blocks = int64_t(p.tiles) * p.heads * (p.offsets != nullptr ? 1 : p.batch);
  return launch(tiles<M, D, Keys, Masked>, static_cast<unsigned>(blocks > 0 ? blocks : 1), 2 * tile_rows, tiles_bytes<M, D, Keys>, device,
                stream, p, &known, &allowed);
}

inline bool masked(Params const& p) { return p.mask_type != 0 || p.scaled; }

template <class M, int D, int Keys>
cudaError_t run_tiles(Params const& p, int device, cudaStream_t stream) {
  if (masked(p)) return launch_tiles<M, D, Keys, true>(p, device, stream);
  return launch_tiles<M, D, Keys, false>(p, device, stream);
}

template <class M, int D, bool Masked>
cudaError_t launch_few(Params const& p, int device, cudaStream_t stream) {
  static uint64_t known = 0, allowed = 0;
  unsigned const blocks = static_cast<unsigned>(p.batch) * p.kv_heads * p.parts;
  return launch(few<M, D, Masked>, blocks, 32 * few_warps, Few<M, D>::bytes, device, stream, p, &known, &allowed);
}

template <class T, int D>
cudaError_t run_few(Params const& p, int device, cudaStream_t stream) {
  static uint64_t known = 0, allowed = 0;
  using M = Halves<T, D>;
  cudaError_t const e = masked(p) ? launch_few<M, D, true>(p, device, stream) : launch_few<M, D, false>(p, device, stream);
  if (e != cudaSuccess) return e;
  return launch(combine<T>, static_cast<unsigned>(p.batch) * p.heads * p.queries, 128, 0, device, stream, p, &known, &allowed);
}

template <class T, int D>
cudaError_t run_halves(Params const& p, int device, cudaStream_t stream) {
  if (p.parts > 0) return run_few<T, D>(p, device, stream);
  return run_tiles<Halves<T, D>, D, (D > 128 ? 32 : 64)>(p, device, stream);
}

template <int D>
cudaError_t run_type(gpk_attention_args const& a, Params const& p, cudaStream_t stream) {
  constexpr int keys = D > 128 ? 32 : 64;
  if (a.type == GPK_F16) return run_halves<__half, D>(p, a.device, stream);
  if (a.type == GPK_BF16) return run_halves<__nv_bfloat16, D>(p, a.device, stream);
  if (a.full != 0) return run_tiles<Floats<D, true>, D, keys>(p, a.device, stream);
  return run_tiles<Floats<D, false>, D, keys>(p, a.device, stream);
}

// Computes a problem that supports() accepts, on the current device. A problem without rows still checks the offsets.
inline cudaError_t run(gpk_attention_args const& a, cudaStream_t stream) {
  bool const empty = a.batch == 0 || a.heads == 0 || a.queries == 0 || a.value_dim == 0;
  if (empty && a.flags == 0) return cudaSuccess;
  Params p = params_of(a);
  if (empty) p.parts = p.tiles = p.value_dim = 0;
  switch (padded_dim(a)) {
    case 32: return run_type<32>(a, p, stream);
    case 64: return run_type<64>(a, p, stream);
    case 128: return run_type<128>(a, p, stream);
    case 256: return run_type<256>(a, p, stream);
  }
  return cudaErrorInvalidValue;
}

}  // namespace attention
}  // namespace gpk
