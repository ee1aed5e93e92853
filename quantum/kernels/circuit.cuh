// circuit.cuh: the codes of circuits, and the arithmetic on angles, matrices and Bloch vectors.
//
// The host passes a circuit to the device as data. There are three kinds of code, all of int32 words:
//
// Angles. For each angle: the number of terms. For each term: the index of its coefficient, the number of its features,
// and the features.
//
// Slots. A slot holds values that a sample's gates need. They are computed once per sample in float64 and stored in the
// states' type. For each slot: its kind, the offset of its values, and the number of its parts. For each part: its kind,
// its angle and the index of a constant matrix.
//
// Passes. amplitudes.cuh describes them.
#pragma once
#include <math.h>

#include "registry.cuh"

namespace gpk {

// Kinds of slots.
enum { SLOT_VECTOR, SLOT_MATRIX, SLOT_PHASE, SLOT_BLOCH, SLOT_LONG_VECTOR };

// Kinds of parts. PART_TURN multiplies by e^(i angle).
enum { PART_CONST, PART_RX, PART_RY, PART_P, PART_TURN };

struct Complex {
  double re, im;
};
__device__ inline Complex operator*(Complex a, Complex b) { return {a.re * b.re - a.im * b.im, a.re * b.im + a.im * b.re}; }
__device__ inline Complex operator+(Complex a, Complex b) { return {a.re + b.re, a.im + b.im}; }

// A 2 x 2 matrix in row order.
struct Matrix {
  Complex v[4];
};

__device__ inline Matrix part_matrix(int kind, double angle, double const* fixed) {
  Matrix m{};
  double s, c;
  switch (kind) {
    case PART_CONST:
      for (int i = 0; i < 4; ++i) m.v[i] = {fixed[2 * i], fixed[2 * i + 1]};
      break;
    case PART_RX:
      sincos(angle / 2, &s, &c);
      m.v[0] = m.v[3] = {c, 0};
      m.v[1] = m.v[2] = {0, -s};
      break;
    case PART_RY:
      sincos(angle / 2, &s, &c);
      m.v[0] = m.v[3] = {c, 0};
      m.v[1] = {-s, 0};
      m.v[2] = {s, 0};
      break;
    case PART_P:
      sincos(angle, &s, &c);
      m.v[0] = {1, 0};
      m.v[3] = {c, s};
      break;
    default:
      sincos(angle, &s, &c);
      m.v[0] = m.v[3] = {c, s};
  }
  return m;
}

__device__ inline Matrix times(Matrix const& a, Matrix const& b) {
  Matrix m;
  for (int i = 0; i < 2; ++i)
    for (int j = 0; j < 2; ++j) m.v[2 * i + j] = a.v[2 * i] * b.v[j] + a.v[2 * i + 1] * b.v[2 + j];
  return m;
}

// The Bloch coordinates of the state that a slot's parts make of |0>. The code after the parts selects the coordinates to
// store: the index of the scale, then the offsets of x, y and z, -1 for none.
template <class Angle, class Put>
__device__ __forceinline__ void bloch_vector(int const* p, int parts, double const* fixed, Angle angle, Put put) {
  Complex a{1, 0}, b{0, 0};
  for (int i = 0; i < parts; ++i, p += 3) {
    Matrix const m = part_matrix(p[0], p[1] >= 0 ? angle(p[1]) : 0, fixed + 8 * p[2]);
    Complex const first = m.v[0] * a + m.v[1] * b;
    b = m.v[2] * a + m.v[3] * b;
    a = first;
  }
  double const r[3] = {2 * (a.re * b.re + a.im * b.im), 2 * (a.re * b.im - a.im * b.re),
                       a.re * a.re + a.im * a.im - b.re * b.re - b.im * b.im};
  double const scale = p[0] != 0 ? 0.70710678118654752440 : 0.5;
  for (int c = 0; c < 3; ++c)
    if (p[1 + c] >= 0) put(p[1 + c], scale * r[c]);
}

// The angle with code p for a sample. Every product and every sum is rounded separately, as on the CPU.
template <class X>
__device__ inline double angle_of(X const* x, int64_t sample, int64_t row, int64_t col, int const* p, double const* coefs) {
  double sum = 0;
  for (int terms = *p++; terms > 0; --terms) {
    double v = coefs[*p++];
    for (int k = *p++; k > 0; --k) v = __dmul_rn(v, static_cast<double>(x[sample * row + *p++ * col]));
    sum = __dadd_rn(sum, v);
  }
  return sum;
}

}  // namespace gpk
