// nest.cuh: loop nests over strided operands, and division by constants.
#pragma once
#include "gpk.h"

namespace gpk {

constexpr int max_operands = 4;            // destination first
constexpr int64_t max_elements = 1 << 30;  // per launch, so that 32-bit indices suffice

// n / d and n % d for n < 2^31, by a multiplication (Granlund and Montgomery, 1994).
struct Divider {
  uint32_t d, m, s;
  Divider() = default;
  explicit Divider(uint32_t divisor) : d(divisor), m(0), s(0) {
    while (s < 32 && (uint64_t{1} << s) < d) ++s;
    m = static_cast<uint32_t>((((uint64_t{1} << s) - d) << 32) / d + 1);
  }
  __device__ uint32_t divide(uint32_t n, uint32_t* rest) const {
    uint32_t const q = (__umulhi(n, m) + n) >> s;
    *rest = n - q * d;
    return q;
  }
};

// The loop nest over the elements of operands of one shape, outermost dimension first. Strides count elements.
struct Nest {
  int dims = 0, operands = 0;
  int64_t elements = 1;
  int64_t n[GPK_MAX_DIMS];
  int64_t stride[max_operands][GPK_MAX_DIMS];
  int size[max_operands];  // bytes per element
  char* p[max_operands];   // address of element (0, 0, ...)

  int64_t inner(int operand) const { return stride[operand][dims - 1]; }
};

struct Operand {
  uint64_t address;
  int64_t const* strides;
  int size;
};

// Builds the nest. It drops dimensions of length 1, reverses those with a negative stride in the destination, sorts
// by the stride of the destination, and merges adjacent dimensions whose strides match in all operands. Returns a
// code.
inline int make_nest(Nest* t, int ndim, int64_t const* shape, int operands, Operand const* ops) {
  if (ndim < 0 || ndim > GPK_MAX_DIMS) return GPK_ERR_ARGUMENT;
  t->operands = operands;
  for (int j = 0; j < operands; ++j) {
    t->p[j] = reinterpret_cast<char*>(ops[j].address);
    t->size[j] = ops[j].size;
  }
  for (int d = 0; d < ndim; ++d) {
    if (shape[d] < 0) return GPK_ERR_ARGUMENT;
    if (shape[d] == 0) t->elements = 0;
  }
  if (t->elements == 0) return GPK_OK;
  int dims = 0;
  for (int d = 0; d < ndim; ++d) {
    if (shape[d] == 1) continue;
    t->elements *= shape[d];
    bool const reversed = ops[0].strides[d] < 0;
    int64_t const step = reversed ? -ops[0].strides[d] : ops[0].strides[d];
    int at = dims++;
    for (; at > 0 && t->stride[0][at - 1] < step; --at) {
      t->n[at] = t->n[at - 1];
      for (int j = 0; j < operands; ++j) t->stride[j][at] = t->stride[j][at - 1];
    }
    t->n[at] = shape[d];
    for (int j = 0; j < operands; ++j) {
      int64_t const s = ops[j].strides[d];
      if (reversed) t->p[j] += (shape[d] - 1) * s * ops[j].size;
      t->stride[j][at] = reversed ? -s : s;
    }
  }
  for (int d = 0; d < dims; ++d) {
    bool even = t->dims > 0;
    for (int j = 0; j < operands && even; ++j) even = t->stride[j][t->dims - 1] == t->stride[j][d] * t->n[d];
    int const to = even ? t->dims - 1 : t->dims++;
    t->n[to] = even ? t->n[to] * t->n[d] : t->n[d];
    for (int j = 0; j < operands; ++j) t->stride[j][to] = t->stride[j][d];
  }
  if (t->dims == 0) {
    t->dims = 1;
    t->n[0] = 1;
    for (int j = 0; j < operands; ++j) t->stride[j][0] = 1;
  }
  return GPK_OK;
}

// Splits the nest into parts of at most `max_elements` elements, and calls f with each.
template <class F>
int for_each_launch(Nest const& t, F const& f) {
  if (t.elements == 0) return GPK_OK;
  if (t.elements <= max_elements) return f(t);
  int64_t const row = t.elements / t.n[0], step = row >= max_elements ? 1 : max_elements / row;
  for (int64_t i = 0; i < t.n[0]; i += step) {
    Nest part = t;
    part.n[0] = t.n[0] - i < step ? t.n[0] - i : step;
    part.elements = row * part.n[0];
    for (int j = 0; j < t.operands; ++j) part.p[j] += i * t.stride[j][0] * t.size[j];
    if (part.n[0] == 1 && part.dims > 1) {
      --part.dims;
      for (int d = 0; d < part.dims; ++d) {
        part.n[d] = part.n[d + 1];
        for (int j = 0; j < t.operands; ++j) part.stride[j][d] = part.stride[j][d + 1];
      }
    }
    int const code = for_each_launch(part, f);
    if (code != GPK_OK) return code;
  }
  return GPK_OK;
}

// The outer dimensions of a nest for a kernel, innermost first.
template <int Operands>
struct Outer {
  int dims;
  Divider n[GPK_MAX_DIMS];
  int64_t stride[Operands][GPK_MAX_DIMS];

  // Adds the offsets of row number `row` to off.
  __device__ void offsets(uint32_t row, int64_t (&off)[Operands]) const {
    for (int d = 0; d < dims; ++d) {
      uint32_t i;
      row = n[d].divide(row, &i);
#pragma unroll
      for (int j = 0; j < Operands; ++j) off[j] += i * stride[j][d];
    }
  }
};

// Returns all dimensions except those in the bit set `skip`.
template <int Operands>
Outer<Operands> outer_of(Nest const& t, unsigned skip) {
  Outer<Operands> o;
  o.dims = 0;
  for (int d = t.dims - 1; d >= 0; --d) {
    if (skip >> d & 1) continue;
    o.n[o.dims] = Divider(static_cast<uint32_t>(t.n[d]));
    for (int j = 0; j < Operands; ++j) o.stride[j][o.dims] = t.stride[j][d];
    ++o.dims;
  }
  return o;
}

}  // namespace gpk
