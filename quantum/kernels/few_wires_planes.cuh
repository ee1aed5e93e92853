// few_wires_planes.cuh: the planes of the kernels of few_wires.cuh, from the points of wires or from the samples.
//
// Groups of wires and their numbers are those of wire_groups.cuh. The planes of rows are stored in the order in which wgmma
// reads them from registers. The planes of columns are stored in the order in which it reads them from shared memory, so
// that one bulk copy loads the planes of a tile.
#pragma once
#include "arguments.h"
#include "circuit.cuh"
#include "dependent.cuh"
#include "wire_groups.cuh"

namespace gpk {
namespace few_wires {
namespace {

using namespace sm90;

constexpr int lines = 64, consumers = 2;            // rows per consumer warpgroup, and the number of these warpgroups
constexpr int side = consumers * lines, half = 64;  // rows and columns of a tile; columns that are computed together

// The counters of a launch. They follow the planes in the workspace.
struct Counters {
  unsigned next, done;                 // the next tile, and the number of blocks that have ended
  unsigned long long sums[2][2], off;  // sums of entries and of their squares, each in a coarse and a fine unit; the largest deviation of the diagonal
};

// n rounded up to a multiple of a tile's side.
__host__ __device__ inline int64_t padded(int64_t n) { return (n + side - 1) / side * side; }

// Bytes of the planes of n rows or columns.
inline int64_t planes_bytes(int64_t n, int groups) { return 64 * groups * padded(n); }

// The layout of a plane of a tile's columns: 128 lines of 64 bytes for each two groups, in TMA's swizzle.
template <int Groups>
struct Columns {
  static constexpr int line = 64, panel = side * line, plane = Groups / 2 * panel;
  // The offset of 16-byte vector `piece` of line `at`.
  __device__ static int swizzled(int at, int piece) { return piece / 4 * panel + at * line + (piece % 4 ^ at / 2 % 4) * 16; }
};

// The position of a sample within its group of sixteen. wgmma gives a thread the rows l and l + 8, which this order makes
// neighbouring samples.
__device__ inline int interleaved(int sample) { return sample % 2 * 8 + sample / 2; }

// Computes four numbers of a group of planar wires: those with index 2 lane, 2 lane + 1, 2 lane + 8 and 2 lane + 9. x, y: the
// point of this lane's wire, if it exists.
__device__ inline void planar_group(double x, double y, bool exists, int lane, float (&v)[4]) {
  double a = 1, b = 0;
  if (exists) {
    double const r = rsqrt(x * x + y * y);
    x *= r, y *= r;
    a = sqrt(0.5 + 0.5 * fabs(x)), b = 0.5 * y / a;  // cosine and sine of half the angle, or of half its complement
    if (x < 0) {
      double const c = a;
      a = b, b = c;
    }
  }
#pragma unroll
  for (int k = 0; k < 4; ++k) {
    double const c = __shfl_sync(~0u, a, k, 4), s = __shfl_sync(~0u, b, k, 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int const bit = k == 0 ? i % 2 : k == 3 ? i / 2 : lane >> (k - 1) & 1;
      v[i] = static_cast<float>(v[i] * (bit != 0 ? s : c));
    }
  }
}

// The same for a group of two full wires, those of lanes 0 and 1.
__device__ inline void full_group(float const (&point)[3], bool exists, int lane, float (&v)[4]) {
  constexpr double half = 0.70710678118654752440;
  double c[4] = {1, 0, 0, 0};
  if (exists) {
    for (int i = 0; i < 3; ++i) c[1 + i] = point[i];
    double const r = half * rsqrt(c[1] * c[1] + c[2] * c[2] + c[3] * c[3]);
    for (int i = 0; i < 3; ++i) c[1 + i] *= r;
    c[0] = half;
  }
#pragma unroll
  for (int k = 0; k < 2; ++k) {
    double other[4];
#pragma unroll
    for (int i = 0; i < 4; ++i) other[i] = __shfl_sync(~0u, c[i], k, 4);
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      int const j = k == 0 ? lane % 2 * 2 + i % 2 : lane / 2 + i / 2 * 2;
      v[i] = static_cast<float>(v[i] * (j == 0 ? other[0] : j == 1 ? other[1] : j == 2 ? other[2] : other[3]));
    }
  }
}

// The part of a sample's planes that a thread computes. Four threads compute the 16 numbers of a group.
template <int Groups>
struct Piece {
  int64_t sample;
  int lane, group;  // group is at least Groups if the whole warp has no work
  bool planar, exists;  // of this lane's wire
  int wire;  // index among the wires of its kind
  __device__ Piece(int64_t at, int64_t n, wires::Groups of) {
    int64_t const all = few_wires::padded(n);
    sample = at / 4 % all;
    lane = static_cast<int>(at % 4), group = static_cast<int>(at / 4 / all);
    int const first = 2 * of.planar_steps();
    planar = group < first;
    wire = planar ? 4 * group + lane : 2 * (group - first) + lane % 2;
    exists = sample < n && wire < (planar ? of.planar : of.full);
  }
  // Stores the numbers as planes. The planes of rows are [n / 16][2][groups][32 lanes] of 16 bytes. Those of columns are
  // tiles of 128 columns with two planes each. Numbers of samples from n on are 0. nan: the numbers are NaN.
  __device__ void write(float const (&point)[3], bool nan, int64_t n, uint32_t* rows, unsigned char* cols) const {
    float v[4] = {1, 1, 1, 1};
    if (planar) planar_group(point[0], point[1], exists, lane, v);
    else full_group(point, exists, lane, v);
    union {
      __half h[4];
      uint32_t word[2];
    } top, low;
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      float const x = nan ? __int_as_float(0x7fffffff) : sample < n ? v[i] * 128 : 0;
      top.h[i] = __float2half_rn(x);
      low.h[i] = __float2half_rn(x - __half2float(top.h[i]));
    }
    int const position = interleaved(static_cast<int>(sample % 16));
    if (rows != nullptr) {
      uint32_t* const to = rows + ((sample / 16 * 2 * Groups + group) * 32 + 4 * (position % 8) + lane) * 4 + position / 8;
      to[0] = top.word[0], to[2] = top.word[1];
      to[128 * Groups] = low.word[0], to[128 * Groups + 2] = low.word[1];
    }
    if (cols != nullptr) {
      int const line = static_cast<int>(sample % side / 16 * 16) + position;
      unsigned char* const to = cols + sample / side * (2 * Columns<Groups>::plane) + 4 * lane;
      for (int k = 0; k < 2; ++k) {
        unsigned char* const piece = to + Columns<Groups>::swizzled(line, 2 * group + k);
        *reinterpret_cast<uint32_t*>(piece) = top.word[k];
        *reinterpret_cast<uint32_t*>(piece + Columns<Groups>::plane) = low.word[k];
      }
    }
  }
};

// Computes the planes of all samples from points, which are Bloch vectors divided by the square root of 2.
template <int Groups>
__global__ void __launch_bounds__(256)
    planes_kernel(float const* points, int64_t ld, int64_t n, wires::Groups of, uint32_t* rows, unsigned char* cols, Counters* counters) {
  griddepcontrol_wait();
  launch_dependents();
  int64_t const at = int64_t(blockIdx.x) * 256 + threadIdx.x;
  if (at == 0) *counters = Counters{};
  Piece<Groups> const p(at, n, of);
  if (p.group >= Groups) return;
  float point[3] = {};
  if (p.exists) {
    float const* from = points + (p.planar ? 2 * p.wire : 2 * of.planar + 3 * p.wire) * ld + p.sample;
    for (int i = 0; i < (p.planar ? 2 : 3); ++i) point[i] = from[i * ld];
  }
  p.write(point, false, n, rows, cols);
}

// The notes of quantum_sample_gram.
struct Notes {
  unsigned long long* words;
  int found, all;
};

// Computes the planes of all samples from the samples. If an element of a sample is not finite, its planes are NaN.
template <class X, int Groups>
__global__ void __launch_bounds__(256) samples_kernel(X const* x, int64_t n, int64_t features, int64_t row, int64_t col, wires::Groups of,
                                                      quantum_code const __grid_constant__ code, uint32_t* rows, unsigned char* cols, Counters* counters, Notes notes) {
  griddepcontrol_wait();
  launch_dependents();
  int64_t const at = int64_t(blockIdx.x) * 256 + threadIdx.x;
  if (at == 0) *counters = Counters{};
  if (at < notes.all) notes.words[at] = at < notes.found ? ~0ull : 0;
  Piece<Groups> const p(at, n, of);
  if (p.group >= Groups) return;
  bool nan = false;
  if (p.sample < n)
    for (int64_t f = 4 * p.group + p.lane; f < features; f += 4 * Groups) nan |= !isfinite(x[p.sample * row + f * col]);
  float point[3] = {};
  if (p.exists) {
    auto const words = [&](int at) { return reinterpret_cast<int const*>(code.bytes + at); };
    auto const numbers = [&](int at) { return reinterpret_cast<double const*>(code.bytes + at); };
    int const* slot = words(code.slots) + words(code.slots)[p.planar ? p.wire : of.planar + p.wire];
    auto const angle = [&](int a) { return angle_of(x, p.sample, row, col, words(code.angles) + words(code.angles)[a], numbers(code.coefs)); };
    bloch_vector(slot + 3, slot[2], numbers(code.fixed), angle, [&](int i, double v) {
      float const f = static_cast<float>(v);
      i == 0 ? point[0] = f : i == 1 ? point[1] = f : point[2] = f;
    });
  }
  p.write(point, nan, n, rows, cols);
}

}  // namespace
}  // namespace few_wires
}  // namespace gpk
