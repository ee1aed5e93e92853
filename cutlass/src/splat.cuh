// splat.cuh: rows that repeat one element: fills, and copies of operands that are broadcast along rows.
#pragma once
#include "ops.cuh"
#include "straddle.cuh"

namespace gpk {

// Rows of bytes, as in copy_rows. src has the element of each row. If it is nullptr, all rows repeat the element with
// the bytes lo, hi.
struct Splat {
  char *dst, *src;
  uint64_t lo, hi;
  int64_t bytes;      // bytes per row
  uint32_t granules;  // granules of all rows
  Divider row;        // granules that a row can overlap
  Outer<2> outer;     // strides in bytes
};

// Granules per thread. One granule gives 3.4 TB/s on an H200, because memory idles while blocks start and end; four give
// 4.6 TB/s.
constexpr int splat_each = 4;

template <int Bytes>
__global__ void __launch_bounds__(threads) splat_rows(Splat p) {
  using T = typename Blob<Bytes>::type;
  begin();
  auto granule_of = [](T element) {
    Vec<T, granule / Bytes> x;
#pragma unroll
    for (int e = 0; e < granule / Bytes; ++e) x.v[e] = element;
    uint4 bytes16;
    memcpy(&bytes16, &x, sizeof bytes16);
    return bytes16;
  };
  uint64_t const both[] = {p.lo, p.hi};
  T element;
  memcpy(&element, both, sizeof element);
  uint32_t const first = blockIdx.x * blockDim.x * splat_each + threadIdx.x;
#pragma unroll
  for (int u = 0; u < splat_each; ++u) {
    uint32_t const v = first + u * blockDim.x;
    if (v >= p.granules) return;
    uint32_t i = v;
    int64_t off[2] = {};
    if (p.outer.dims > 0) p.outer.offsets(p.row.divide(v, &i), off);
    if (p.src != nullptr) element = *reinterpret_cast<T const*>(p.src + off[1]);
    char* const dst = p.dst + off[0];
    int const before = static_cast<int>(reinterpret_cast<uintptr_t>(dst) % granule);
    int64_t const at = static_cast<int64_t>(i) * granule - before;
    if (at >= 0 && at + granule <= p.bytes) {
      *reinterpret_cast<uint4*>(dst + at) = granule_of(element);
      continue;
    }
    // A granule that the row covers in part is written element by element.
#pragma unroll
    for (int b = 0; b < granule; b += Bytes) {
      if (at + b >= 0 && at + b < p.bytes) *reinterpret_cast<T*>(dst + at + b) = element;
    }
  }
}

// Writes rows that repeat one element, and returns true, if the nest has this form: operand 0 contiguous and operand 1
// broadcast along the innermost dimension. Otherwise it returns false, also for unaligned rows of a few bytes. *code is
// the code of the launch.
template <int Bytes>
bool splat(Nest const& t, uint64_t lo, uint64_t hi, uint64_t stream, int* code) {
  int const last = t.dims - 1;
  if (t.inner(0) != 1 || (t.inner(1) != 0 && t.n[last] > 1)) return false;
  Splat p;
  p.dst = t.p[0], p.src = t.p[1];
  p.lo = lo, p.hi = hi;
  p.bytes = t.n[last] * Bytes;
  bool const aligned = rows_aligned(t, 0, granule / Bytes);
  if (t.dims > 1 && !(aligned && p.bytes % granule == 0) && p.bytes < 4 * granule) return false;
  int64_t const row = (p.bytes + (aligned ? 0 : granule - 1) + granule - 1) / granule;
  p.row = Divider(static_cast<uint32_t>(row));
  p.granules = static_cast<uint32_t>(row * (t.elements / t.n[last]));
  p.outer = outer_of<2>(t, 1u << last);
  for (int j = 0; j < 2; ++j) {
    for (int d = 0; d < p.outer.dims; ++d) p.outer.stride[j][d] *= Bytes;
  }
  *code = launch_for(splat_rows<Bytes>, p.granules, splat_each, stream, p);
  return true;
}

}  // namespace gpk
