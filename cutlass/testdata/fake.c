// A library with gpk's entries and no kernels, for tests of the loader. Each
// entry writes the arguments that it received to the address in `stream`, if
// any, and returns `device` as its code.
#include <string.h>
#include "gpk.h"
#include "gpk_attention.h"
#include "gpk_factor.h"
#include "gpk_scan.h"
#include "gpk_scatter.h"
#include "gpk_search.h"
#include "gpk_layers.h"
#include "gpk_stack.h"

#ifndef FAKE_ABI
#define FAKE_ABI GPK_ABI
#endif
#define RECORD(...) \
  do { int64_t v[] = {__VA_ARGS__}; if (stream) memcpy((void*)stream, v, sizeof v); } while (0)

static int64_t at(const int64_t* p, int ndim) { return ndim > 0 ? p[ndim - 1] : -1; }
static int64_t bits(double d) { int64_t i; memcpy(&i, &d, sizeof i); return i; }

int gpk_abi_version(void) { return FAKE_ABI; }
const char* gpk_kernel_set(void) { return FAKE_SET; }
int gpk_cuda_version(void) { return 13000; }
const char* gpk_error_string(int code) { return code == GPK_ERR_UNSUPPORTED ? "no such kernel" : "some failure"; }
int gpk_gemm_count(void) { return 2; }
const char* gpk_gemm_name(int kernel) { return kernel == 0 ? "first" : "second"; }

int64_t gpk_gemm_workspace(int device, int kernel, int64_t m, int64_t n, int64_t k, int64_t batch) {
  return device ? -device : (((kernel * 100 + m) * 100 + n) * 100 + k) * 100 + batch;
}
int gpk_gemm(int device, uint64_t stream, int kernel, int64_t m, int64_t n, int64_t k, int64_t batch,
             uint64_t a, int64_t lda, int64_t stride_a, uint64_t b, int64_t ldb, int64_t stride_b,
             uint64_t d, int64_t ldd, int64_t stride_d, uint64_t bias, int act,
             double alpha_re, double alpha_im, uint64_t scale_a, uint64_t scale_b, uint64_t low_a, uint64_t low_b,
             int guard, uint64_t guard_a, uint64_t guard_b, int64_t guard_limit, uint64_t workspace,
             int64_t workspace_bytes) {
  RECORD(kernel, m, n, k, batch, a, lda, stride_a, b, ldb, stride_b, d, ldd, stride_d, bias, act,
         bits(alpha_re), bits(alpha_im), scale_a, scale_b, low_a, low_b, guard, guard_a, guard_b, guard_limit,
         workspace, workspace_bytes);
  return device;
}
int gpk_gemm_parts(int device, uint64_t stream, int type, int64_t m, int64_t n, int64_t parts, uint64_t p, int64_t ldp,
                   uint64_t d, int64_t ldd, uint64_t bias, int act, double alpha) {
  RECORD(type, m, n, parts, p, ldp, d, ldd, bias, act, bits(alpha));
  return device;
}
int gpk_pad(int device, uint64_t stream, int type, uint64_t a, int64_t a_batch, int64_t a_lines, int64_t a_length,
            int64_t a_pitch, int64_t a_member, uint64_t a_copy, int64_t a_copy_lines, int64_t a_copy_length,
            int64_t a_copy_pitch, int64_t a_copy_member, uint64_t b, int64_t b_batch, int64_t b_lines, int64_t b_length,
            int64_t b_pitch, int64_t b_member, uint64_t b_copy, int64_t b_copy_lines, int64_t b_copy_length,
            int64_t b_copy_pitch, int64_t b_copy_member) {
  RECORD(type, a, a_batch, a_lines, a_length, a_pitch, a_member, a_copy, a_copy_lines, a_copy_length, a_copy_pitch,
         a_copy_member, b, b_batch, b_lines, b_length, b_pitch, b_member, b_copy, b_copy_lines, b_copy_length,
         b_copy_pitch, b_copy_member);
  return device;
}
int64_t gpk_prepare_workspace(int device, int type, int form, int64_t m, int64_t n, int64_t k, int64_t batch) {
  return device ? -device : ((((type * 100 + form) * 100 + m) * 100 + n) * 100 + k) * 100 + batch;
}
int gpk_prepare(int device, uint64_t stream, int type, int form, int64_t m, int64_t n, int64_t k, int64_t batch,
                uint64_t a, int64_t a_line, int64_t a_step, int64_t stride_a, int conj_a, uint64_t a_high,
                uint64_t a_low, int64_t a_pitch, int64_t a_member, uint64_t scale_a, uint64_t guard_a,
                uint64_t b, int64_t b_line, int64_t b_step, int64_t stride_b, int conj_b, uint64_t b_high,
                uint64_t b_low, int64_t b_pitch, int64_t b_member, uint64_t scale_b, uint64_t guard_b,
                uint64_t workspace, int64_t workspace_bytes) {
  RECORD(type, form, m, n, k, batch, a, a_line, a_step, stride_a, conj_a, a_high, a_low, a_pitch, a_member, scale_a,
         guard_a, b, b_line, b_step, stride_b, conj_b, b_high, b_low, b_pitch, b_member, scale_b, guard_b, workspace,
         workspace_bytes);
  return device;
}
int gpk_unary(int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, const int64_t* shape,
              uint64_t x, const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides) {
  RECORD(op, x_type, dst_type, ndim, at(shape, ndim), x, at(x_strides, ndim), dst, at(dst_strides, ndim));
  return device;
}
int gpk_binary(int device, uint64_t stream, int op, int type, int dst_type, int ndim, const int64_t* shape,
               uint64_t x, const int64_t* x_strides, uint64_t y, const int64_t* y_strides,
               uint64_t lo, uint64_t hi, uint64_t dst, const int64_t* dst_strides) {
  RECORD(op, type, dst_type, ndim, at(shape, ndim), x, at(x_strides, ndim), y, at(y_strides, ndim), lo, hi, dst,
         at(dst_strides, ndim));
  return device;
}
int gpk_ternary(int device, uint64_t stream, int op, int type, int ndim, const int64_t* shape,
                uint64_t x, const int64_t* x_strides, uint64_t y, const int64_t* y_strides, uint64_t z, const int64_t* z_strides,
                uint64_t y_lo, uint64_t y_hi, uint64_t z_lo, uint64_t z_hi, uint64_t dst, const int64_t* dst_strides) {
  RECORD(op, type, ndim, at(shape, ndim), x, at(x_strides, ndim), y, at(y_strides, ndim), z, at(z_strides, ndim),
         y_lo, y_hi, z_lo, z_hi, dst, at(dst_strides, ndim));
  return device;
}
int gpk_line(int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, const int64_t* shape,
             uint64_t x, const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides, uint64_t gamma,
             uint64_t beta, double eps) {
  RECORD(op, x_type, dst_type, ndim, at(shape, ndim), x, at(x_strides, ndim), dst, at(dst_strides, ndim), gamma, beta,
         bits(eps));
  return device;
}
int gpk_cast(int device, uint64_t stream, int x_type, int dst_type, int ndim, const int64_t* shape,
             uint64_t x, const int64_t* x_strides, uint64_t dst, const int64_t* dst_strides) {
  RECORD(x_type, dst_type, ndim, at(shape, ndim), x, at(x_strides, ndim), dst, at(dst_strides, ndim));
  return device;
}
int gpk_fill(int device, uint64_t stream, int type, int ndim, const int64_t* shape,
             uint64_t lo, uint64_t hi, uint64_t dst, const int64_t* dst_strides) {
  RECORD(type, ndim, at(shape, ndim), lo, hi, dst, at(dst_strides, ndim));
  return device;
}
int gpk_arange(int device, uint64_t stream, int type, int64_t n, uint64_t start, uint64_t step, uint64_t dst) {
  RECORD(type, n, start, step, dst);
  return device;
}
int64_t gpk_reduce_workspace(int device, int op, int x_type, int dst_type, int ndim, const int64_t* shape, uint32_t axes) {
  return device ? -device : (((op * 100 + x_type) * 100 + dst_type) * 100 + at(shape, ndim)) * 100 + axes;
}
int gpk_reduce(int device, uint64_t stream, int op, int x_type, int dst_type, int ndim, const int64_t* shape,
               uint32_t axes, uint64_t x, const int64_t* x_strides, uint64_t dst,
               uint64_t workspace, int64_t workspace_bytes) {
  RECORD(op, x_type, dst_type, ndim, at(shape, ndim), axes, x, at(x_strides, ndim), dst, workspace, workspace_bytes);
  return device;
}
int gpk_take(int device, uint64_t stream, int type, int index_type, int ndim, const int64_t* shape, uint64_t x,
             const int64_t* x_strides, int64_t length, int64_t step, uint64_t indices, const int64_t* index_strides,
             uint64_t dst, const int64_t* dst_strides, uint64_t flags) {
  RECORD(type, index_type, ndim, at(shape, ndim), x, at(x_strides, ndim), length, step, indices, at(index_strides, ndim),
         dst, at(dst_strides, ndim), flags);
  return device;
}
int64_t gpk_sort_workspace(int device, int type, int ndim, const int64_t* shape, int64_t k) {
  return device != 0 ? -device : type * 1000000 + ndim * 10000 + at(shape, ndim) * 100 + k;
}
int gpk_sort(int device, uint64_t stream, int type, int ndim, const int64_t* shape, uint64_t x, const int64_t* x_strides,
             uint64_t dst, const int64_t* dst_strides, int descending, uint64_t workspace, int64_t workspace_bytes) {
  RECORD(type, ndim, at(shape, ndim), x, at(x_strides, ndim), dst, at(dst_strides, ndim), descending, workspace, workspace_bytes);
  return device;
}
int gpk_topk(int device, uint64_t stream, int type, int ndim, const int64_t* shape, uint64_t x, const int64_t* x_strides,
             int64_t k, uint64_t values, const int64_t* value_strides, uint64_t places, const int64_t* place_strides,
             uint64_t workspace, int64_t workspace_bytes) {
  RECORD(type, ndim, at(shape, ndim), x, at(x_strides, ndim), k, values, at(value_strides, ndim), places,
         at(place_strides, ndim), workspace, workspace_bytes);
  return device;
}
int gpk_uniform(int device, uint64_t stream, int type, int64_t n, uint64_t seed, uint64_t block, uint64_t p0, uint64_t p1,
                uint64_t p2, uint64_t dst) {
  RECORD(type, n, seed, block, p0, p1, p2, dst);
  return device;
}
int gpk_normal(int device, uint64_t stream, int type, int64_t n, uint64_t seed, uint64_t block, double mean, double std,
               uint64_t dst) {
  RECORD(type, n, seed, block, mean, std, dst);
  return device;
}
#ifdef FAKE_UNDEFINED
int gpk_nowhere(void);
int gpk_spin(int device, uint64_t stream, int64_t us) { return gpk_nowhere(); }
#elif !defined(FAKE_NO_SPIN)
int gpk_spin(int device, uint64_t stream, int64_t microseconds) { RECORD(microseconds); return device; }
#endif

int64_t gpk_attention_workspace(gpk_attention_args const* a) { return a->device ? -a->device : a->queries * 100 + a->keys; }
char const* gpk_attention_kernel(gpk_attention_args const* a) { return a->batch > 0 ? "a kernel" : NULL; }
int gpk_attention(gpk_attention_args const* a) {
  uint64_t const stream = a->stream;
  RECORD(a->size == sizeof *a, a->q.data, a->q.batch, a->q.head, a->q.row, a->k.data, a->k.batch, a->k.head, a->k.row, a->v.data, a->v.batch,
         a->v.head, a->v.row, a->out.data, a->out.batch, a->out.head, a->out.row, a->mask, a->mask_batch, a->mask_head, a->mask_row,
         a->mask_step, a->offsets, a->flags, a->shortest, a->longest, a->batch, a->heads, a->kv_heads, a->queries, a->keys, a->dim,
         a->value_dim, bits(a->scale), a->workspace, a->workspace_bytes, a->type, a->mask_type, a->causal, a->full);
  return a->device;
}

int gpk_stack(int device, uint64_t stream, uint64_t dst, int64_t bytes, int count, const uint64_t* sources) {
  RECORD(dst, bytes, count, sources[0], sources[count - 1]);
  return device;
}

int gpk_triangle(int device, uint64_t stream, int bytes, uint64_t x, uint64_t dst, int64_t batch, int64_t rows, int64_t cols, int64_t diagonal, int upper) {
  RECORD(bytes, x, dst, batch, rows, cols, diagonal, upper);
  return device;
}

int gpk_embed_norm(gpk_embed_norm_args const* a) {
  uint64_t const stream = a->stream;
  RECORD(a->size == sizeof *a, a->table[0], a->ids[0], a->rows[0], a->pitch[0], a->table[1], a->ids[1], a->rows[1], a->pitch[1], a->table[2],
         a->gamma, a->beta, a->dst, a->flags, a->lines, a->n, bits(a->eps), a->type, a->tables, a->wide);
  return a->device;
}
int gpk_pool(gpk_pool_args const* a) {
  uint64_t const stream = a->stream;
  RECORD(a->size == sizeof *a, a->x, a->offsets, a->dst, a->flags, a->pitch, a->rows, a->n, a->batch, a->type, a->first, a->normalize);
  return a->device;
}
int gpk_norm_residual(gpk_norm_residual_args const* a) {
  uint64_t const stream = a->stream;
  RECORD(a->size == sizeof *a, a->x, a->residual, a->gamma, a->sum, a->normed, a->x_pitch, a->residual_pitch, a->lines, a->n, bits(a->eps),
         a->type);
  return a->device;
}
int gpk_rope(gpk_rope_args const* a, double const* frequencies) {
  uint64_t const stream = a->stream;
  RECORD(a->size == sizeof *a, a->x, a->out, a->positions, a->x_stride[0], a->x_stride[1], a->x_stride[2], a->x_stride[3], a->out_stride[0],
         a->out_stride[3], a->position_batch, a->position_row, a->batch, a->heads, a->rows, a->dim, a->pairs, a->type, a->interleaved, a->wide,
         bits(frequencies[0]), bits(frequencies[1]));
  return a->device;
}

int gpk_factor(gpk_factor_args const* a) {
  uint64_t const stream = a->stream;
  RECORD(a->size == sizeof *a, a->a, a->a_row, a->a_col, a->a_member, a->b, a->b_row, a->b_col, a->b_member, a->c, a->c_row, a->c_col,
         a->c_member, a->d, a->d_member, a->flags, a->workspace, a->workspace_bytes, a->rows, a->cols, a->batch, a->first, a->type, a->op, a->bits);
  return a->device;
}

int64_t gpk_scatter_add_workspace(gpk_scatter_add_args const* a) {
  return a->device != 0 ? -a->device : a->size == sizeof *a ? a->n * 10000 + a->count * 1000 + a->width * 100 + a->type : -1;
}

int gpk_scatter_add(gpk_scatter_add_args const* a) {
  uint64_t const stream = a->stream;
  RECORD(a->size == sizeof *a, a->n, a->count, a->width, a->x, a->places, a->values, a->flags, a->dst, a->workspace, a->workspace_bytes, a->type,
         a->index_type, a->splat);
  return a->device;
}

int64_t gpk_cum_sum_workspace(gpk_cum_sum_args const* a) {
  return a->device != 0 ? -a->device : a->size == sizeof *a ? a->ndim * 10000 + a->shape[1] * 100 + a->type : -1;
}

int gpk_cum_sum(gpk_cum_sum_args const* a) {
  uint64_t const stream = a->stream;
  RECORD(a->size == sizeof *a, a->type, a->ndim, at(a->shape, a->ndim), at(a->x_strides, a->ndim), at(a->dst_strides, a->ndim), a->x, a->dst,
         a->workspace, a->workspace_bytes, a->op);
  return a->device;
}

int gpk_search(gpk_search_args const* a) {
  uint64_t const stream = a->stream;
  RECORD(a->size == sizeof *a, a->type, a->list, a->values, a->dst, a->n, a->count, a->right);
  return a->device;
}

int gpk_count(gpk_count_args const* a) {
  uint64_t const stream = a->stream;
  RECORD(a->size == sizeof *a, a->x, a->dst, a->n, a->count);
  return a->device;
}

int gpk_count_trues(gpk_trues_args const* a) {
  uint64_t const stream = a->stream;
  RECORD(a->size == sizeof *a, a->mask, a->offsets, a->total, a->n, a->lead);
  return a->device;
}

int gpk_place_trues(gpk_trues_args const* a) {
  uint64_t const stream = a->stream;
  RECORD(a->size == sizeof *a, a->op, a->type, a->mask, a->offsets, a->total, a->x, a->all, a->firsts, a->n, a->count, a->dst[0], a->dst[1], a->ndim,
         a->shape[0], a->shape[1], a->lead);
  return a->device;
}

int gpk_put_along(gpk_put_along_args const* a) {
  uint64_t const stream = a->stream;
  RECORD(a->size == sizeof *a, a->bytes, a->index_type, a->x, a->indices, a->values, a->dst, a->workspace, a->flags, a->workspace_bytes, a->outer, a->n,
         a->count, a->inner, a->splat);
  return a->device;
}
