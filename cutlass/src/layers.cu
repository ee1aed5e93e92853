// layers.cu: the entry points of gpk_layers.h.
#include "layers_norm.cuh"
#include "layers_pool.cuh"
#include "layers_rope.cuh"

namespace gpk {
namespace {

// Calls f with a value of the element type.
template <class F>
int by_float(int type, F const& f) {
  switch (type) {
    case GPK_F32: return f(float{});
    case GPK_F64: return f(double{});
    case GPK_F16: return f(f16{});
    case GPK_BF16: return f(bf16{});
  }
  return GPK_ERR_UNSUPPORTED;
}

template <class P>
P const* pointer(uint64_t address) {
  return reinterpret_cast<P const*>(address);
}

}  // namespace
}  // namespace gpk

using namespace gpk;

int gpk_embed_norm(gpk_embed_norm_args const* a) {
  if (a->size != sizeof *a || a->tables < 1 || a->tables > GPK_EMBED_TABLES || a->lines < 0 || a->n < 0) {
    return GPK_ERR_ARGUMENT;
  }
  if (a->lines == 0 || a->n == 0) return GPK_OK;
  return by_float(a->type, [&](auto v) {
    using T = decltype(v);
    bool even = vectors_at(a->dst) && vectors_at(a->gamma) && vectors_at(a->beta);
    EmbedNorm p = {};
    for (int t = 0; t < a->tables; ++t) {
      if (a->rows[t] < 1 || a->table[t] == 0) return static_cast<int>(GPK_ERR_ARGUMENT);
      even = even && vectors_at(a->table[t]) && a->pitch[t] % vector_width<T> == 0;
      p.table[t] = pointer<char>(a->table[t]);
      p.ids[t] = pointer<char>(a->ids[t]);
      p.rows[t] = a->rows[t];
      p.pitch[t] = a->pitch[t];
    }
    if (!even) return static_cast<int>(GPK_ERR_UNSUPPORTED);
    p.gamma = pointer<char>(a->gamma);
    p.beta = pointer<char>(a->beta);
    p.dst = reinterpret_cast<char*>(a->dst);
    p.flags = reinterpret_cast<long long*>(a->flags);
    p.lines = a->lines;
    p.n = a->n;
    p.eps = a->eps;
    p.tables = a->tables;
    p.wide = a->wide;
    int const code = set_device(a->device);
    return code != GPK_OK ? code : by_length<T>(p.n, StartEmbedNorm<T>{p, a->stream});
  });
}

int gpk_norm_residual(gpk_norm_residual_args const* a) {
  if (a->size != sizeof *a || a->lines < 0 || a->n < 0) return GPK_ERR_ARGUMENT;
  if (a->lines == 0 || a->n == 0) return GPK_OK;
  return by_float(a->type, [&](auto v) {
    using T = decltype(v);
    bool even = vectors_at(a->x) && vectors_at(a->residual) && vectors_at(a->gamma) && vectors_at(a->sum) &&
                vectors_at(a->normed);
    even = even && a->x_pitch % vector_width<T> == 0 && a->residual_pitch % vector_width<T> == 0;
    if (!even) return static_cast<int>(GPK_ERR_UNSUPPORTED);
    NormResidual p = {};
    p.x = pointer<char>(a->x);
    p.residual = pointer<char>(a->residual);
    p.gamma = pointer<char>(a->gamma);
    p.sum = reinterpret_cast<char*>(a->sum);
    p.normed = reinterpret_cast<char*>(a->normed);
    p.x_pitch = a->x_pitch;
    p.residual_pitch = a->residual_pitch;
    p.lines = a->lines;
    p.n = a->n;
    p.eps = a->eps;
    int const code = set_device(a->device);
    return code != GPK_OK ? code : by_length<T>(p.n, StartNormResidual<T>{p, a->stream});
  });
}

int gpk_pool(gpk_pool_args const* a) {
  if (a->size != sizeof *a || a->batch < 0 || a->batch >= 1 << 28 || a->n < 0 || a->rows < 0) return GPK_ERR_ARGUMENT;
  if (a->batch == 0 || a->n == 0) return GPK_OK;
  int const code = set_device(a->device);
  if (code != GPK_OK) return code;
  Pool p = {};
  p.x = pointer<char>(a->x);
  p.offsets = pointer<int32_t>(a->offsets);
  p.dst = reinterpret_cast<char*>(a->dst);
  p.flags = reinterpret_cast<long long*>(a->flags);
  p.pitch = a->pitch;
  p.rows = a->rows;
  p.n = a->n;
  p.batch = a->batch;
  p.first = a->first != 0;
  p.normalize = a->normalize != 0;
  return by_float(a->type, [&](auto v) {
    using T = decltype(v);
    if constexpr (__is_same(T, double)) {
      return pool<T, double>(p, a->stream);
    } else {
      return pool<T, float>(p, a->stream);
    }
  });
}

int gpk_rope(gpk_rope_args const* a, double const* frequencies) {
  if (a->size != sizeof *a) return GPK_ERR_ARGUMENT;
  for (int64_t n : {a->batch, a->heads, a->rows, a->dim, a->pairs}) {
    if (n < 0) return GPK_ERR_ARGUMENT;
  }
  if (a->pairs > GPK_ROPE_PAIRS) return GPK_ERR_UNSUPPORTED;
  if (2 * a->pairs > a->dim) return GPK_ERR_ARGUMENT;
  if (a->batch == 0 || a->heads == 0 || a->rows == 0 || a->dim == 0) return GPK_OK;
  int const code = set_device(a->device);
  if (code != GPK_OK) return code;
  Rope p = {};
  p.x = pointer<char>(a->x);
  p.out = reinterpret_cast<char*>(a->out);
  p.positions = pointer<char>(a->positions);
  memcpy(p.x_stride, a->x_stride, sizeof p.x_stride);
  memcpy(p.out_stride, a->out_stride, sizeof p.out_stride);
  p.position_batch = a->position_batch;
  p.position_row = a->position_row;
  p.batch = a->batch;
  p.heads = a->heads;
  p.rows = a->rows;
  p.items = a->dim - a->pairs;
  p.pairs = static_cast<int>(a->pairs);
  p.interleaved = a->interleaved != 0;
  p.wide = a->wide != 0;
  if (a->pairs > 0) memcpy(p.frequency, frequencies, a->pairs * sizeof *frequencies);
  return by_float(a->type, [&](auto v) { return rope<decltype(v)>(p, a->stream); });
}
