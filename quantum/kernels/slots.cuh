// slots.cuh: the kernels that compute angles and slots, the values that a sample's gates need.
#pragma once
#include "circuit.cuh"

namespace gpk {
namespace {

// Computes the angles of every sample, [n, angles]. status[0] becomes the least index of an element that is not finite,
// status[1] that of such an angle.
template <class X>
__global__ void angle_kernel(X const* x, int64_t first, int64_t n, int64_t features, int64_t row, int64_t col, int const* code,
                             double const* coefs, int angles, double* out, unsigned long long* status) {
  int64_t const at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at < n * features && !isfinite(x[(first + at / features) * row + at % features * col])) atomicMin(status, static_cast<unsigned long long>(first * features + at));
  if (at >= n * angles) return;
  double const sum = angle_of(x, first + at / angles, row, col, code + code[at % angles], coefs);
  if (!isfinite(sum)) atomicMin(status + 1, static_cast<unsigned long long>(first * angles + at));
  out[at] = sum;
}

// Writes one slot of a sample from its code p: value v of the slot is stored at out[(offset of the slot + v) * stride].
// angle(a) returns the sample's angle with index a.
template <class T, class Angle>
__device__ __forceinline__ void write_slot(int const* p, double const* fixed, Angle angle, T* out, int64_t stride) {
  int const kind = p[0], offset = p[1], parts = p[2];
  p += 3;
  out += offset * stride;
  if (kind == SLOT_PHASE) {
    double s, c;
    sincos(angle(p[0]), &s, &c);
    out[0] = static_cast<T>(c);
    out[stride] = static_cast<T>(s);
    return;
  }
  if (kind == SLOT_BLOCH) {
    bloch_vector(p, parts, fixed, angle, [&](int i, double v) { out[i * stride] = static_cast<T>(v); });
    return;
  }
  Matrix m{{{1, 0}, {0, 0}, {0, 0}, {1, 0}}};
  for (int i = 0; i < parts; ++i, p += 3) {
    m = times(part_matrix(p[0], p[1] >= 0 ? angle(p[1]) : 0, fixed + 8 * p[2]), m);
  }
  int const step = kind == SLOT_VECTOR || kind == SLOT_LONG_VECTOR ? 2 : 1;
  double square = 0;
  for (int i = 0; i < 4; i += step) {
    int64_t const to = 2 * (i / step) * stride;
    T const re = static_cast<T>(m.v[i].re), im = static_cast<T>(m.v[i].im);
    out[to] = re;
    out[to + stride] = im;
    square += static_cast<double>(re) * re + static_cast<double>(im) * im;
  }
  // Rounding to float32 changes the squared length by up to 4e-8, equally on all wires with an equal angle.
  if (kind == SLOT_LONG_VECTOR) out[4 * stride] = static_cast<T>((square - 1) / 2);
}

// Computes the slots of every sample: value v of a slot is stored at out[sample * sample_stride + (offset of the slot + v)
// * value_stride].
template <class T>
__global__ void slot_kernel(int64_t n, int slots, int const* code, double const* fixed, double const* angles, int n_angles,
                            T* out, int64_t sample_stride, int64_t value_stride) {
  int64_t const at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at >= n * slots) return;
  int64_t const sample = at % n;
  double const* angle = angles + sample * n_angles;
  write_slot(code + code[at / n], fixed, [&](int a) { return angle[a]; }, out + sample * sample_stride, value_stride);
}

}  // namespace
}  // namespace gpk
