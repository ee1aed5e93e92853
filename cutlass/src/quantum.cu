// quantum.cu: states of quantum circuits for many samples at once, the closed form of circuits that do not entangle,
// and the epilogue of a Gram product.
//
// States. A block holds 2^a amplitudes of one sample, or all amplitudes of several samples, in shared memory, and
// runs one pass over them: a list of stages.
//
//  CHUNK  Each thread loads into registers the amplitudes that differ in the highest
//         c = min(a, 4) local bits, from the product of 2-vectors, a constant state,
//         memory or shared memory. It multiplies them by phases and stores them to
//         shared memory, with permuted indices, or to memory, with pairs rotated if a
//         product follows.
//  GATES  Each thread loads the amplitudes that differ in up to three local bits, and
//         applies any number of matrices to them.
//
// If a state is larger than a block's shared memory, the local bits are some of its positions, the others are fixed
// for a block, and there are several passes. An index b into a whole state is 64 bits wide; positions count the bits
// of b.
#include <string.h>

#include <atomic>

#include "gpk.h"
#include "quantum.cuh"
#include "quantum_closed.cuh"
#include "quantum_direct.cuh"
#include "quantum_gram.cuh"

namespace gpk {
namespace {

constexpr int chunk_bits = 4, max_local = 13, group_bits = 3;

enum { STAGE_END, STAGE_CHUNK, STAGE_GATES };
enum { FROM_PRODUCT, FROM_CONSTANT, FROM_STATE, FROM_SHARED, FROM_ONES, FROM_LONG_PRODUCT };
enum { TO_SHARED, TO_PERMUTED, TO_STATE, TO_TURNED };
enum { PHASE_TABLE, PHASE_SUM, PHASE_PARITY };

int set_device(int device) {
  cudaError_t const e = cudaSetDevice(device);
  if (e != cudaSuccess) cudaGetLastError();
  return e;
}

// ---- slots: the values that a sample's gates need

__device__ inline void first_of(unsigned long long* word, unsigned long long at) { atomicMin(word, at); }

// Computes the angles of every sample, [n, angles]. status[0]: the first element that is not finite; status[1]: the
// first angle that is not.
template <class X>
__global__ void angle_kernel(X const* x, int64_t first, int64_t n, int64_t features, int64_t row, int64_t col, int const* code,
                             double const* coefs, int angles, double* out, unsigned long long* status) {
  int64_t const at = int64_t(blockIdx.x) * blockDim.x + threadIdx.x;
  if (at < n * features && !isfinite(x[(first + at / features) * row + at % features * col])) first_of(status, first * features + at);
  if (at >= n * angles) return;
  double const sum = angle_of(x, first + at / angles, row, col, code + code[at % angles], coefs);
  if (!isfinite(sum)) first_of(status + 1, first * angles + at);
  out[at] = sum;
}

// Writes one slot of a sample from its code p: value v of the slot goes to out[(offset of the slot + v) * stride].
// angle(a) is the sample's angle with index a.
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
  // The excess length due to rounding to float32: up to 4e-8, and the same again on every wire with an equal angle.
  if (kind == SLOT_LONG_VECTOR) out[4 * stride] = static_cast<T>((square - 1) / 2);
}

// Computes the slots of every sample: value v of a slot goes to out[sample * sample_stride + (offset of the slot + v)
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

// ---- states

template <class T>
struct Pass {
  int64_t n;             // samples
  int qubits, local;     // positions in all, and those that are local to a block
  int samples;           // whole states per block; 1 if local < qubits
  T* state;              // [n, 2^qubits], interleaved complex, or real
  int const* code;
  T const* slots;        // [n, slot_stride]
  int64_t slot_stride;
  double const* angles;  // [n, n_angles]
  int n_angles;
  T const* tables;
  uint8_t at[64];        // position of each local bit, then of each fixed one
};

template <class T, bool Real>
struct Block {
  using A = Amp<T, Real>;
  Pass<T> const& p;
  T* re;
  T* im;
  uint64_t fixed;   // the bits of b that are constant in the block
  int64_t first;    // the block's first sample
  int c;            // bits per chunk

  // One of 33 words is padding, so that strides that are powers of two have no bank conflicts.
  __device__ static uint32_t place(uint32_t i) { return i + (i >> 5); }
  __device__ A get(uint32_t i) const { return A(re[place(i)], Real ? T(0) : im[place(i)]); }
  __device__ void put(uint32_t i, A a) const {
    re[place(i)] = a.re;
    if constexpr (!Real) im[place(i)] = a.im;
  }
  __device__ uint64_t whole(uint32_t i) const {  // the index b of a local index
    if (p.local == p.qubits) return i;
    uint64_t b = fixed;
    for (int l = 0; l < p.local; ++l) b |= uint64_t(i >> l & 1) << p.at[l];
    return b;
  }
  __device__ A factor(T const* s, int slot) const { return A(s[slot], s[slot + 1]); }
  __device__ static int pair(int a, int b) { return a > b ? a * (a - 1) / 2 + b : b * (b - 1) / 2 + a; }

  // The product of the 2-vectors of all positions, corrected for the excess length of long vectors.
  __device__ __forceinline__ void product(A (&v)[1 << chunk_bits], int const* vectors, T const* s, uint64_t b, uint64_t free, bool lengths) const {
    A base(1, 0);
    if constexpr (sizeof(T) == 4) {
      if (lengths) {
        T more = 0;
        for (int g = 0; g < p.qubits; ++g) more += s[vectors[g] + 4];
        base.re -= more;
      }
    }
    for (int g = 0; g < p.qubits; ++g) {
      if (free >> g & 1) continue;
      base = base * factor(s, vectors[g] + 2 * int(b >> g & 1));
    }
    v[0] = base;
#pragma unroll
    for (int r = 0; r < chunk_bits; ++r) {
      if (r < c) {
        int const slot = vectors[p.at[p.local - c + r]];
        A const lo = factor(s, slot), hi = factor(s, slot + 2);
#pragma unroll
        for (int j = 0; j < 1 << (chunk_bits - 1); ++j) {
          if (j >> r != 0) continue;
          v[j | 1 << r] = v[j] * hi;
          v[j] = v[j] * lo;
        }
      }
    }
  }

  // Multiplies by phases whose angles are sums. code has the indices of the angles of 1, of each b_g and of each b_g
  // b_h, -1 if there is none; then whether there are pairs; then the slots of the pairs of a chunk's bits.
  __device__ __forceinline__ void sums(A (&v)[1 << chunk_bits], int const* code, double const* angle, T const* s, uint64_t b) const {
    int const q = p.qubits;
    int const* linear = code + 1;
    int const* pairs = linear + q;
    bool const paired = pairs[0] != 0;
    ++pairs;
    int const* near = pairs + (paired ? q * (q - 1) / 2 : 0);
    double base = code[0] >= 0 ? angle[code[0]] : 0;
    double e[chunk_bits];
#pragma unroll
    for (int r = 0; r < chunk_bits; ++r) {
      int const id = r < c ? linear[p.at[p.local - c + r]] : -1;
      e[r] = id >= 0 ? angle[id] : 0;
    }
    for (uint64_t m = b; m != 0; m &= m - 1) {
      int const g = __ffsll(static_cast<long long>(m)) - 1;
      if (linear[g] >= 0) base += angle[linear[g]];
      if (!paired) continue;
      for (uint64_t k = b & ((uint64_t{1} << g) - 1); k != 0; k &= k - 1) {
        int const id = pairs[pair(g, __ffsll(static_cast<long long>(k)) - 1)];
        if (id >= 0) base += angle[id];
      }
#pragma unroll
      for (int r = 0; r < chunk_bits; ++r) {
        if (r < c) {
          int const id = pairs[pair(g, p.at[p.local - c + r])];
          if (id >= 0) e[r] += angle[id];
        }
      }
    }
    A f[1 << chunk_bits];
    f[0] = turn(base);
#pragma unroll
    for (int r = 0; r < chunk_bits; ++r) {
      if (r < c) {
        A const by = turn(e[r]);
#pragma unroll
        for (int j = 0; j < 1 << (chunk_bits - 1); ++j) {
          if (j >> r != 0) continue;
          A w = f[j] * by;
          if (paired) {
#pragma unroll
            for (int k = 0; k < chunk_bits - 1; ++k) {
              if (k >= r || !(j >> k & 1)) continue;
              int const slot = near[r * (r - 1) / 2 + k];
              if (slot >= 0) w = w * factor(s, slot);
            }
          }
          f[j | 1 << r] = w;
        }
      }
    }
#pragma unroll
    for (int j = 0; j < 1 << chunk_bits; ++j)
      if (j >> c == 0) v[j] = v[j] * f[j];
  }

  __device__ static A turn(double angle) {
    if (angle == 0) return A(1, 0);
    double s, co;
    sincos(angle, &s, &co);
    return A(static_cast<T>(co), static_cast<T>(s));
  }

  // Rotates a pair of amplitudes, the first of which has index x in the state: b by a quarter turn or not, then both
  // by an angle f with a pseudo-random t = tan(f/2):
  //
  //  a cos f - b sin f      a sin f + b cos f
  //
  // The same unitary map applies to all states, and changes no inner product. Sums of products need it if amplitudes
  // are equal: the terms of a sum are then equal, each of its additions is rounded in the same direction, and the
  // error grows with their number. After the rotation the terms of the two halves differ, whatever the phase between
  // a and b, and errors have either sign.
  __device__ __forceinline__ static void turn_pair(A& a, A& b, uint64_t x) {
    uint32_t h = static_cast<uint32_t>(x) * 0x9e3779b1u;
    h = (h ^ h >> 15) * 0x2c1b3c6du;
    T const t = static_cast<int>(h) * T(0x1p-31), d = 1 + t * t;
    float f;
    asm("rcp.approx.ftz.f32 %0, %1;" : "=f"(f) : "f"(static_cast<float>(d)));
    T r = f;
    r += r * (1 - d * r);
    if constexpr (sizeof(T) == 8) r += r * (1 - d * r);
    T const c = r - t * t * r, s = (t + t) * r;
    A const p = a, q = Real || (h & 32) == 0 ? b : A(-b.im, b.re);
    a = A(c * p.re - s * q.re, c * p.im - s * q.im);
    b = A(c * q.re + s * p.re, c * q.im + s * p.im);
  }

  // Runs a chunk stage; returns the code of the next stage.
  __device__ __forceinline__ int const* chunk(int const* code) const {
    int const from = code[1], to = code[2], phases = code[3];
    code += 4;
    uint32_t const low = uint32_t(1) << (p.local - c);  // threads per sample
    uint32_t const t = threadIdx.x;
    uint32_t const member = t / low, at = t % low;
    int64_t const sample = first + member;
    bool const in = sample < p.n;
    uint64_t const b = in ? whole(at) : 0;
    uint32_t const mine = (member << p.local) | at;
    T const* s = p.slots + (in ? sample : 0) * p.slot_stride;
    double const* angle = p.angles + (in ? sample : 0) * p.n_angles;
    uint64_t free = 0;
    for (int r = 0; r < c; ++r) free |= uint64_t{1} << p.at[p.local - c + r];
    uint64_t step[chunk_bits];
#pragma unroll
    for (int r = 0; r < chunk_bits; ++r) step[r] = r < c ? uint64_t{1} << p.at[p.local - c + r] : 0;
    auto index = [&](int j) {  // index b
      uint64_t x = b;
#pragma unroll
      for (int r = 0; r < chunk_bits; ++r)
        if (j >> r & 1) x |= step[r];
      return x;
    };
    T* row = p.state + (sample << p.qubits) * (Real ? 1 : 2);

    A v[1 << chunk_bits];
    if (from == FROM_PRODUCT || from == FROM_LONG_PRODUCT) {
      if (in) product(v, code, s, b, free, from == FROM_LONG_PRODUCT);
      code += p.qubits;
    } else {
#pragma unroll
      for (int j = 0; j < 1 << chunk_bits; ++j) {
        if (j >> c != 0 || !in) continue;
        if (from == FROM_SHARED) v[j] = get(mine + j * low);
        else if (from == FROM_ONES) v[j] = A(1, 0);
        else {
          T const* source = from == FROM_CONSTANT ? p.tables + code[0] : row;
          uint64_t const x = index(j);
          if constexpr (Real) v[j] = A(source[x], 0);
          else v[j] = A(source[2 * x], source[2 * x + 1]);
        }
      }
      if (from == FROM_CONSTANT) ++code;
    }
    for (int i = 0; i < phases; ++i) {
      int const kind = code[0], words = code[1];
      if (in && kind == PHASE_TABLE) {
        T const* table = p.tables + code[2];
#pragma unroll
        for (int j = 0; j < 1 << chunk_bits; ++j) {
          if (j >> c != 0) continue;
          uint64_t const x = index(j);
          if constexpr (Real) v[j].re *= table[x];
          else v[j] = v[j] * A(table[2 * x], table[2 * x + 1]);
        }
      } else if (in && kind == PHASE_SUM) {
        sums(v, code + 2, angle, s, b);
      } else if (in) {
        uint64_t const m1 = uint32_t(code[2]) | uint64_t(uint32_t(code[3])) << 32;
        uint64_t const m2 = uint32_t(code[4]) | uint64_t(uint32_t(code[5])) << 32;
        A const f = factor(s, code[6]);
#pragma unroll
        for (int j = 0; j < 1 << chunk_bits; ++j) {
          if (j >> c != 0) continue;
          uint64_t const x = index(j);
          if ((__popcll(x & m1) & 1) && (m2 == 0 || (__popcll(x & m2) & 1))) v[j] = v[j] * f;
        }
      }
      code += words;
    }
    if (to == TO_PERMUTED) {
      // The new index is the exclusive or of the images of the bits: those of the local bits, and those of the fixed
      // ones.
      uint32_t base = member << p.local;
      for (int l = 0; l < p.local - c; ++l)
        if (at >> l & 1) base ^= uint32_t(code[l]);
      for (int l = p.local; l < p.qubits; ++l)
        if (fixed >> p.at[l] & 1) base ^= uint32_t(code[l]);
      uint32_t image[chunk_bits];
#pragma unroll
      for (int r = 0; r < chunk_bits; ++r) image[r] = r < c ? uint32_t(code[p.local - c + r]) : 0;
      code += p.qubits;
      __syncthreads();  // all values have been read
#pragma unroll
      for (int j = 0; j < 1 << chunk_bits; ++j) {
        if (j >> c != 0) continue;
        uint32_t x = base;
#pragma unroll
        for (int r = 0; r < chunk_bits; ++r)
          if (j >> r & 1) x ^= image[r];
        put(x, v[j]);
      }
    } else if (to == TO_SHARED) {
#pragma unroll
      for (int j = 0; j < 1 << chunk_bits; ++j)
        if (j >> c == 0) put(mine + j * low, v[j]);
    } else if (in) {
      if (to == TO_TURNED) {  // here c is chunk_bits
#pragma unroll
        for (int j = 0; j < 1 << (chunk_bits - 1); ++j) turn_pair(v[j], v[j | 1 << (chunk_bits - 1)], index(j));
      }
#pragma unroll
      for (int j = 0; j < 1 << chunk_bits; ++j) {
        if (j >> c != 0) continue;
        uint64_t const x = index(j);
        if constexpr (Real) row[x] = v[j].re;
        else if constexpr (sizeof(T) == 4) *reinterpret_cast<float2*>(row + 2 * x) = make_float2(v[j].re, v[j].im);
        else *reinterpret_cast<double2*>(row + 2 * x) = make_double2(v[j].re, v[j].im);
      }
    }
    __syncthreads();
    return code;
  }

  template <int G>
  __device__ __forceinline__ void gates(int const* code, int count, int const* bits) const {
    uint32_t const groups = (uint32_t(p.samples) << p.local) >> G;
    for (uint32_t t = threadIdx.x; t < groups; t += blockDim.x) {
      uint32_t i = t;
#pragma unroll
      for (int g = 0; g < G; ++g) {
        uint32_t const low = (1u << bits[g]) - 1;
        i = (i & ~low) << 1 | (i & low);
      }
      int64_t const sample = first + (i >> p.local);
      if (sample >= p.n) continue;
      T const* s = p.slots + sample * p.slot_stride;
      A v[1 << G];
      uint32_t at[1 << G];
#pragma unroll
      for (int j = 0; j < 1 << G; ++j) {
        at[j] = i;
#pragma unroll
        for (int g = 0; g < G; ++g)
          if (j >> g & 1) at[j] |= 1u << bits[g];
        v[j] = get(at[j]);
      }
      int const* gate = code;
      for (int k = 0; k < count; ++k, gate += 5) {
        uint32_t const mask = uint32_t(gate[2]);
        uint64_t const outer = uint32_t(gate[3]) | uint64_t(uint32_t(gate[4])) << 32;
        if ((fixed & outer) != outer) continue;
        T const* u = s + gate[1];
        A const a(u[0], u[1]), b(u[2], u[3]), d(u[4], u[5]), e(u[6], u[7]);
#pragma unroll
        for (int g = 0; g < G; ++g) {
          if (gate[0] != g) continue;
#pragma unroll
          for (int j = 0; j < 1 << G; ++j) {
            if (j >> g & 1) continue;
            if ((at[j] & mask) != mask) continue;
            A const x = v[j], y = v[j | 1 << g];
            v[j] = a * x + b * y;
            v[j | 1 << g] = d * x + e * y;
          }
        }
      }
#pragma unroll
      for (int j = 0; j < 1 << G; ++j) put(at[j], v[j]);
    }
    __syncthreads();
  }
};

template <class T, bool Real>
__global__ void __launch_bounds__(512) pass_kernel(Pass<T> const __grid_constant__ p) {
  extern __shared__ __align__(16) unsigned char room[];
  uint32_t const amps = uint32_t(p.samples) << p.local;
  Block<T, Real> block{p, reinterpret_cast<T*>(room), nullptr, 0, 0, p.local < chunk_bits ? p.local : chunk_bits};
  block.im = block.re + Block<T, Real>::place(amps) + 1;
  if (p.local == p.qubits) {
    block.first = int64_t(blockIdx.x) * p.samples;
  } else {
    int const outer = p.qubits - p.local;
    block.first = int64_t(blockIdx.x) >> outer;
    uint64_t const rest = uint64_t(blockIdx.x) & ((uint64_t{1} << outer) - 1);
    for (int l = 0; l < outer; ++l) block.fixed |= (rest >> l & 1) << p.at[p.local + l];
  }
  int const* code = p.code;
  while (*code != STAGE_END) {
    if (*code == STAGE_CHUNK) {
      code = block.chunk(code);
      continue;
    }
    int const size = code[1], count = code[2];
    int const* bits = code + 3;
    int const* gates = bits + group_bits;
    if (size == 3) block.template gates<3>(gates, count, bits);
    else if (size == 2) block.template gates<2>(gates, count, bits);
    else block.template gates<1>(gates, count, bits);
    code = gates + 5 * count;
  }
}

template <class T, bool Real>
int run_pass(int device, uint64_t stream, Pass<T> const& p) {
  static uint64_t done = 0;
  int const c = p.local < chunk_bits ? p.local : chunk_bits;
  int64_t const amps = int64_t(p.samples) << p.local;
  int const threads = static_cast<int>(amps >> c);
  if (threads > 512 || threads < 1) return GPK_ERR_ARGUMENT;
  int const shared = static_cast<int>((amps + amps / 32 + 2) * sizeof(T) * (Real ? 1 : 2));
  void const* kernel = reinterpret_cast<void const*>(&pass_kernel<T, Real>);
  constexpr int most = static_cast<int>(((1 << max_local) * 33 / 32 + 2) * sizeof(T) * (Real ? 1 : 2));
  if (int const e = allow_shared(kernel, most, device, &done)) return e;
  int64_t const blocks = p.local == p.qubits ? (p.n + p.samples - 1) / p.samples : p.n << (p.qubits - p.local);
  if (blocks > INT32_MAX) return GPK_ERR_ARGUMENT;
  void* params[] = {const_cast<Pass<T>*>(&p)};
  return launch(kernel, dim3(static_cast<unsigned>(blocks)), dim3(threads), shared, reinterpret_cast<cudaStream_t>(stream), params);
}

template <class T>
int states(int device, uint64_t stream, bool real, int64_t n, int qubits, int local, int samples, uint64_t state,
           uint64_t code, uint64_t slots, int64_t slot_stride, uint64_t angles, int n_angles, uint64_t tables, int const* at) {
  Pass<T> p{n, qubits, local, samples, reinterpret_cast<T*>(state), reinterpret_cast<int const*>(code),
            reinterpret_cast<T const*>(slots), slot_stride, reinterpret_cast<double const*>(angles), n_angles,
            reinterpret_cast<T const*>(tables), {}};
  for (int i = 0; i < qubits; ++i) p.at[i] = static_cast<uint8_t>(at[i]);
  return real ? run_pass<T, true>(device, stream, p) : run_pass<T, false>(device, stream, p);
}

// <psi|psi>^2 of every state, multiplied by the previous value unless first.
template <class T>
__global__ void norm_kernel(T const* state, int64_t width, double* out, bool first) {
  __shared__ double sums[8];
  T const* row = state + blockIdx.x * width;
  double sum = 0;
  for (int64_t i = threadIdx.x; i < width; i += blockDim.x) sum += static_cast<double>(row[i]) * row[i];
  for (int d = 16; d > 0; d /= 2) sum += __shfl_down_sync(~0u, sum, d);
  if (threadIdx.x % 32 == 0) sums[threadIdx.x / 32] = sum;
  __syncthreads();
  if (threadIdx.x != 0) return;
  sum = 0;
  for (unsigned w = 0; w < blockDim.x / 32; ++w) sum += sums[w];
  out[blockIdx.x] = (first ? 1 : out[blockIdx.x]) * sum * sum;
}

// ---- the closed form

constexpr int side = 128, depth = 8;

template <class T>
struct Closed {
  int64_t rows, cols;
  T const* x;  // coordinates of the rows, [wires * axes, ld_x]
  T const* y;
  int64_t ld_x, ld_y;
  int planar, full;  // number of wires with two coordinates, and with three
  bool dot;          // the factor is 1/2 + r.s, otherwise 1 - |r - s|^2
  bool upper;        // only tiles on and above the diagonal
  bool times;        // multiply the previous values of k
  T* k;
  int64_t ld;
};

// The factor of a wire with Axes coordinates, for the thread's 8 x 8 entries.
template <class T, int Axes, bool Dot>
__device__ void wires(T (&v)[8][8], Closed<T> const& p, int64_t at, int count, int64_t i0, int64_t j0, T* room) {
  int const tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  constexpr int lines = depth / 2 * Axes;  // lines of four wires
  for (int w = 0; w < count; w += depth / 2) {
    int const now = (count - w < depth / 2 ? count - w : depth / 2) * Axes;
    __syncthreads();
    for (int e = threadIdx.x; e < now * side; e += 256) {
      int const line = e / side, c = e % side;
      int64_t const from = at + w * Axes + line;
      room[line * side + c] = i0 + c < p.rows ? p.x[from * p.ld_x + i0 + c] : T(0);
      room[(lines + line) * side + c] = j0 + c < p.cols ? p.y[from * p.ld_y + j0 + c] : T(0);
    }
    __syncthreads();
    for (int k = 0; k < now; k += Axes) {
      T a[Axes][8], b[Axes][8];
#pragma unroll
      for (int c = 0; c < Axes; ++c)
#pragma unroll
        for (int i = 0; i < 8; ++i) {
          a[c][i] = room[(k + c) * side + ty * 8 + i];
          b[c][i] = room[(lines + k + c) * side + (i / 4) * 64 + tx * 4 + i % 4];
        }
#pragma unroll
      for (int i = 0; i < 8; ++i)
#pragma unroll
        for (int j = 0; j < 8; ++j) {
          T f = Dot ? T(0.5) : T(1);
#pragma unroll
          for (int c = 0; c < Axes; ++c) {
            if constexpr (Dot) {
              f += a[c][i] * b[c][j];
            } else {
              T const d = a[c][i] - b[c][j];
              f -= d * d;
            }
          }
          v[i][j] *= f;
        }
    }
  }
}

template <class T>
__global__ void __launch_bounds__(256) closed_kernel(Closed<T> const __grid_constant__ p) {
  __shared__ __align__(16) T room[2 * depth / 2 * 3 * side];
  if (p.upper && blockIdx.x < blockIdx.y) return;
  int64_t const i0 = int64_t(blockIdx.y) * side, j0 = int64_t(blockIdx.x) * side;
  T v[8][8];
#pragma unroll
  for (int i = 0; i < 8; ++i)
#pragma unroll
    for (int j = 0; j < 8; ++j) v[i][j] = 1;
  if (p.dot) {
    wires<T, 2, true>(v, p, 0, p.planar, i0, j0, room);
    wires<T, 3, true>(v, p, 2 * p.planar, p.full, i0, j0, room);
  } else {
    wires<T, 2, false>(v, p, 0, p.planar, i0, j0, room);
    wires<T, 3, false>(v, p, 2 * p.planar, p.full, i0, j0, room);
  }
  int const tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  bool const whole = i0 + side <= p.rows && j0 + side <= p.cols && p.ld % 4 == 0 && reinterpret_cast<uint64_t>(p.k) % 16 == 0;
#pragma unroll
  for (int i = 0; i < 8; ++i) {
    T* row = p.k + (i0 + ty * 8 + i) * p.ld + j0;
#pragma unroll
    for (int h = 0; h < 2; ++h) {
      int const c = h * 64 + tx * 4;
      if constexpr (sizeof(T) == 4) {
        if (whole && !p.times) {
          *reinterpret_cast<float4*>(row + c) = make_float4(v[i][4 * h], v[i][4 * h + 1], v[i][4 * h + 2], v[i][4 * h + 3]);
          continue;
        }
      }
#pragma unroll
      for (int j = 0; j < 4; ++j) {
        if (i0 + ty * 8 + i >= p.rows || j0 + c + j >= p.cols) continue;
        row[c + j] = p.times ? row[c + j] * v[i][4 * h + j] : v[i][4 * h + j];
      }
    }
  }
}

// ---- the epilogue of a Gram product

constexpr int patch = 64;

template <class T>
struct GramEpilogue {
  int64_t rows, cols;
  T* k;
  int64_t ld;
  T* mirror;       // the transpose; nullptr: none. If it is k itself, k is a triangle with rows = cols
  int64_t ld_mirror;
  bool triangle;
  bool square;     // entries are amplitudes, and are squared
  T one;           // the value of the diagonal
  double const* norm_x;  // nullptr if states are not normalized
  double const* norm_y;
  double jitter;
  double* partial;  // per block: sum, sum of squares, largest |diagonal - 1|
};

__device__ inline double inverse(double v, double jitter) { return 1 / sqrt(fmax(v + jitter, 1e-30)); }

// Stores a whole tile off the diagonal, four by four entries per thread, with vectors of 16 bytes on both sides. The
// vectors of a mirror line in shared memory are permuted by the line's number, which spreads them over the banks.
__device__ inline void finish_whole(GramEpilogue<float> const& p, int64_t i0, int64_t j0, float4* room, double& sum, double& squares) {
  int const tx = threadIdx.x % 16, ty = threadIdx.x / 16;
  bool const changes = p.square || p.norm_x != nullptr;
  float v[4][4];
  float* at[4];
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    at[i] = p.k + (i0 + 4 * ty + i) * p.ld + j0 + 4 * tx;
    float4 const x = *reinterpret_cast<float4 const*>(at[i]);
    v[i][0] = x.x, v[i][1] = x.y, v[i][2] = x.z, v[i][3] = x.w;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i) {
#pragma unroll
    for (int j = 0; j < 4; ++j) {
      float x = v[i][j];
      if (p.square) x *= x;
      if (p.norm_x != nullptr) {
        x *= static_cast<float>(inverse(p.norm_x[i0 + 4 * ty + i], p.jitter) * inverse(p.norm_y[j0 + 4 * tx + j], p.jitter));
      }
      v[i][j] = x;
      double const d = x;
      sum += d;
      squares += d * d;
    }
    if (changes) *reinterpret_cast<float4*>(at[i]) = make_float4(v[i][0], v[i][1], v[i][2], v[i][3]);
  }
  if (p.mirror == nullptr) return;
#pragma unroll
  for (int j = 0; j < 4; ++j) room[(4 * tx + j) * 16 + (ty ^ tx)] = make_float4(v[0][j], v[1][j], v[2][j], v[3][j]);
  __syncthreads();
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    *reinterpret_cast<float4*>(p.mirror + (j0 + 4 * ty + i) * p.ld_mirror + i0 + 4 * tx) = room[(4 * ty + i) * 16 + (tx ^ ty)];
  }
}

template <class T>
__device__ bool in_vectors(GramEpilogue<T> const& p) {
  return sizeof(T) == 4 && p.ld % 4 == 0 && reinterpret_cast<uint64_t>(p.k) % 16 == 0 &&
         (p.mirror == nullptr || (p.ld_mirror % 4 == 0 && reinterpret_cast<uint64_t>(p.mirror) % 16 == 0));
}

template <class T>
__global__ void __launch_bounds__(256) finish_kernel(GramEpilogue<T> const __grid_constant__ p) {
  __shared__ __align__(16) T tile[patch][patch + 1];
  __shared__ double sums[3][8];
  int64_t bi = blockIdx.y, bj = blockIdx.x;
  int64_t const block = bi * gridDim.x + bj;
  double sum = 0, squares = 0, off = 0;
  bool whole = (!p.triangle || bi < bj) && (bi + 1) * patch <= p.rows && (bj + 1) * patch <= p.cols && in_vectors(p);
  if constexpr (sizeof(T) == 4) {
    if (whole) finish_whole(p, bi * patch, bj * patch, reinterpret_cast<float4*>(&tile[0][0]), sum, squares);
  } else {
    whole = false;
  }
  if (!whole && (!p.triangle || bi <= bj)) {
    bool const diagonal = p.triangle && bi == bj;
    int64_t const i0 = bi * patch, j0 = bj * patch;
    int const tx = threadIdx.x % 64, ty = threadIdx.x / 64;
    bool const changes = p.square || p.norm_x != nullptr;
    T v[patch / 4];
#pragma unroll
    for (int i = 0; i < patch / 4; ++i) {
      int64_t const r = i0 + ty + 4 * i, c = j0 + tx;
      bool const in = r < p.rows && c < p.cols && (!diagonal || r <= c);
      v[i] = in ? p.k[r * p.ld + c] : T(0);
    }
#pragma unroll
    for (int i = 0; i < patch / 4; ++i) {
      int64_t const r = i0 + ty + 4 * i, c = j0 + tx;
      if (r >= p.rows || c >= p.cols || (diagonal && r > c)) continue;
      T x = v[i];
      if (p.square) x *= x;
      if (diagonal && r == c) {
        double const d = fabs(static_cast<double>(x) - 1);
        off = d <= off ? off : d;  // keeps NaN
        x = p.one;
      } else if (p.norm_x != nullptr) {
        x *= static_cast<T>(inverse(p.norm_x[r], p.jitter) * inverse(p.norm_y[c], p.jitter));
      }
      if (changes || (diagonal && r == c)) p.k[r * p.ld + c] = x;
      tile[ty + 4 * i][tx] = x;
      if (!diagonal || r != c) {
        sum += x;
        squares += static_cast<double>(x) * x;
      }
    }
    if (p.mirror != nullptr) {
      __syncthreads();
#pragma unroll
      for (int i = 0; i < patch / 4; ++i) {
        int64_t const r = j0 + ty + 4 * i, c = i0 + tx;  // position in the mirror
        if (r >= p.cols || c >= p.rows || (diagonal && c >= r)) continue;
        p.mirror[r * p.ld_mirror + c] = tile[tx][ty + 4 * i];
      }
    }
  }
  for (int d = 16; d > 0; d /= 2) {
    sum += __shfl_down_sync(~0u, sum, d);
    squares += __shfl_down_sync(~0u, squares, d);
    double const o = __shfl_down_sync(~0u, off, d);
    off = o <= off ? off : o;
  }
  int const w = threadIdx.x / 32;
  if (threadIdx.x % 32 == 0) {
    sums[0][w] = sum;
    sums[1][w] = squares;
    sums[2][w] = off;
  }
  __syncthreads();
  if (threadIdx.x != 0) return;
  for (int i = 1; i < 8; ++i) {
    sum += sums[0][i];
    squares += sums[1][i];
    off = sums[2][i] <= off ? off : sums[2][i];
  }
  p.partial[3 * block] = sum;
  p.partial[3 * block + 1] = squares;
  p.partial[3 * block + 2] = off;
}

// Adds the partial sums to total, in a fixed order.
__global__ void __launch_bounds__(1024) total_kernel(double const* partial, int64_t n, double* total) {
  __shared__ double sums[3][1024];
  double sum = 0, squares = 0, off = 0;
  for (int64_t i = threadIdx.x; i < n; i += 8 * 1024) {
    double v[3][8];
#pragma unroll
    for (int k = 0; k < 8; ++k)  // issues all loads before the first addition
#pragma unroll
      for (int c = 0; c < 3; ++c) v[c][k] = i + 1024 * k < n ? partial[3 * (i + 1024 * k) + c] : 0;
#pragma unroll
    for (int k = 0; k < 8; ++k) {
      sum += v[0][k];
      squares += v[1][k];
      off = v[2][k] <= off ? off : v[2][k];
    }
  }
  sums[0][threadIdx.x] = sum;
  sums[1][threadIdx.x] = squares;
  sums[2][threadIdx.x] = off;
  for (int h = 512; h > 0; h /= 2) {
    __syncthreads();
    if (threadIdx.x >= h) continue;
    for (int k = 0; k < 2; ++k) sums[k][threadIdx.x] += sums[k][threadIdx.x + h];
    double const o = sums[2][threadIdx.x + h];
    if (!(o <= sums[2][threadIdx.x])) sums[2][threadIdx.x] = o;
  }
  if (threadIdx.x == 0) {
    total[0] += sums[0][0];
    total[1] += sums[1][0];
    if (!(sums[2][0] <= total[2])) total[2] = sums[2][0];
  }
}

template <class T>
int finish(uint64_t stream, GramEpilogue<T> const& p, double* total) {
  dim3 const grid(static_cast<unsigned>((p.cols + patch - 1) / patch), static_cast<unsigned>((p.rows + patch - 1) / patch));
  if (grid.y > 65535) return GPK_ERR_ARGUMENT;
  cudaStream_t const s = reinterpret_cast<cudaStream_t>(stream);
  void* params[] = {const_cast<GramEpilogue<T>*>(&p)};
  int e = launch(reinterpret_cast<void const*>(&finish_kernel<T>), grid, dim3(256), 0, s, params);
  if (e != 0) return e;
  double const* partial = p.partial;
  int64_t n = int64_t(grid.x) * grid.y;
  void* more[] = {&partial, &n, &total};
  return launch(reinterpret_cast<void const*>(&total_kernel), dim3(1), dim3(1024), 0, s, more);
}

// Describes the matrix whose tiles of `side` a kernel writes, with their mirror: tiles off the diagonal of K, or a
// triangle.
gram::Target target(int64_t rows, int64_t cols, uint64_t k, int64_t ld, uint64_t mirror, int64_t ld_mirror, bool triangle, double one, uint64_t partial) {
  auto down = [](int64_t n) { return static_cast<int>((n + side - 1) / side); };
  auto aligned = [](uint64_t at, int64_t pitch) { return at % 16 == 0 && pitch % 4 == 0; };
  bool const boxes = aligned(k, ld) && aligned(mirror, mirror != 0 ? ld_mirror : 0) && cols % 4 == 0 && (mirror == 0 || rows % 4 == 0);
  return {rows, cols, down(rows), down(cols), triangle, boxes, reinterpret_cast<float*>(k), ld, reinterpret_cast<float*>(mirror), ld_mirror,
          static_cast<float>(one), nullptr, 0, 0x1p-56f, reinterpret_cast<double*>(partial), nullptr};
}

int add_up(cudaStream_t s, gram::Target const& to, int64_t n, uint64_t total) {
  void* params[] = {const_cast<double**>(&to.partial), &n, &total};
  return launch(reinterpret_cast<void const*>(&total_kernel), dim3(1), dim3(1024), 0, s, params);
}

// Whether this device runs the kernels with Hopper's own instructions: not if the library was built for other
// targets.
bool has_hopper(int device) {
  static std::atomic<uint64_t> known{0};
  uint64_t const shift = device >= 0 && device < 32 ? 2 * device : 64;
  if (shift < 64) {
    uint64_t const k = known.load(std::memory_order_relaxed) >> shift & 3;
    if (k != 0) return k == 3;
  }
  cudaFuncAttributes a{};
  if (cudaFuncGetAttributes(&a, &gram::kernel<gram::Form<false, true>>) != cudaSuccess) {
    cudaGetLastError();
    return false;
  }
  bool const yes = a.binaryVersion == 90 && a.ptxVersion == 90;
  if (shift < 64) known.fetch_or(uint64_t(yes ? 3 : 1) << shift, std::memory_order_relaxed);
  return yes;
}

template <class F>
int64_t pitch_of(int64_t width) {
  return (width + F::depth - 1) / F::depth * F::depth;
}

// Persistent blocks that loop over the tiles.
int walkers(gram::Target const& to, int device) {
  int const tiles = gram::tiles_of(to.triangle, to.down, to.across), sms = sm_count(device);
  return sms > 0 && sms < tiles ? sms : tiles;
}

// The workspace of a product: planes of x and of y, the sums of each tile's two parts, and the accumulators of long
// sums.
template <class F>
struct Workspace {
  int64_t x, y, partial, folded;
  Workspace(gram::Target const& to, int64_t width, int device) {
    int64_t const line = 2 * F::planes * pitch_of<F>(width);
    x = line * to.rows;
    y = to.triangle ? 0 : line * to.cols;
    partial = 48 * int64_t(gram::tiles_of(to.triangle, to.down, to.across));
    folded = width <= F::depth * F::fold ? 0 : int64_t(walkers(to, device)) * F::results * 256 * 4;
  }
  int64_t bytes() const { return x + y + folded + partial; }
};

// The planes and partial sums of a product of few wires, as in gpk.h.
struct FewWires {
  int64_t x, y, partial;
  FewWires(gram::Target const& to, closed::Groups of)
      : x(128 * of.steps() * (side * int64_t(to.down))), y(128 * of.steps() * (side * int64_t(to.across))), partial(48 * int64_t(to.down) * to.across) {}
  int64_t bytes() const { return x + y + partial; }
};

int run_few_wires(int device, cudaStream_t s, gram::Target to, closed::Groups of, uint64_t x, int64_t ld_x, uint64_t y, int64_t ld_y, uint64_t room, uint64_t total) {
  using F = gram::Form<true, true, true>;
  static uint64_t allowed = 0;
  void const* kernel = reinterpret_cast<void const*>(&gram::kernel<F>);
  if (int const e = allow_shared(kernel, F::shared, device, &allowed)) return e;
  FewWires const parts(to, of);
  uint64_t const planes_y = to.triangle ? room : room + parts.x;
  to.partial = reinterpret_cast<double*>(room + parts.x + parts.y);
  auto split = [&](uint64_t points, int64_t ld, int64_t n, uint64_t out) -> int {
    int64_t const blocks = (2 * of.steps() * n + 255) / 256;
    if (blocks > INT32_MAX) return GPK_ERR_ARGUMENT;
    void* params[] = {&points, &ld, &n, &of, &out};
    return launch(reinterpret_cast<void const*>(&closed::planes_kernel), dim3(static_cast<unsigned>(blocks)), dim3(256), 0, s, params);
  };
  int e = split(x, ld_x, to.rows, room);
  if (e == 0 && !to.triangle) e = split(y, ld_y, to.cols, planes_y);
  if (e != 0) return e;
  int steps = of.steps(), squared = of.planar_steps();
  CUtensorMap map_x, map_y, map_k, map_mirror;
  if (!gram::encode_planes<F>(&map_x, room, to.rows, 32 * steps) || !gram::encode_planes<F>(&map_y, planes_y, to.cols, 32 * steps) ||
      !gram::encode_target(to, &map_k, &map_mirror))
    return GPK_ERR_KERNEL;
  void* params[] = {&map_x, &map_y, &map_k, &map_mirror, &to, &steps, &squared};
  e = launch(kernel, dim3(walkers(to, device)), dim3(gram::threads), F::shared, s, params);
  return e != 0 ? e : add_up(s, to, 2 * walkers(to, device), total);
}

template <class F>
int run_gram(int device, cudaStream_t s, gram::Target to, int64_t width, uint64_t x, uint64_t y, double const* norms_y, uint64_t room, uint64_t total) {
  static uint64_t allowed = 0;
  void const* kernel = reinterpret_cast<void const*>(&gram::kernel<F>);
  if (int const e = allow_shared(kernel, F::shared, device, &allowed)) return e;
  Workspace<F> const parts(to, width, device);
  uint64_t const planes_y = to.triangle ? room : room + parts.x;
  to.folded = reinterpret_cast<float*>(room + parts.x + parts.y);
  to.partial = reinterpret_cast<double*>(room + parts.x + parts.y + parts.folded);
  int64_t pitch = pitch_of<F>(width);
  auto split = [&](uint64_t state, int64_t n, double const* norms, uint64_t out) -> int {
    int64_t const blocks = (n * (pitch / 8) + 255) / 256;
    if (blocks > INT32_MAX) return GPK_ERR_ARGUMENT;
    void* params[] = {&state, &n, &width, &pitch, &norms, &to.jitter, &out};
    return launch(reinterpret_cast<void const*>(&gram::planes_kernel<F>), dim3(static_cast<unsigned>(blocks)), dim3(256), 0, s, params);
  };
  int e = split(x, to.rows, to.norms, room);
  if (e == 0 && !to.triangle) e = split(y, to.cols, norms_y, planes_y);
  if (e != 0) return e;
  CUtensorMap map_x, map_y, map_k, map_mirror;
  if (!gram::encode_planes<F>(&map_x, room, to.rows, pitch) || !gram::encode_planes<F>(&map_y, planes_y, to.cols, pitch) ||
      !gram::encode_target(to, &map_k, &map_mirror))
    return GPK_ERR_KERNEL;
  int steps = static_cast<int>(pitch / F::depth);
  int squared = 0;
  void* params[] = {&map_x, &map_y, &map_k, &map_mirror, &to, &steps, &squared};
  e = launch(kernel, dim3(walkers(to, device)), dim3(gram::threads), F::shared, s, params);
  return e != 0 || total == 0 ? e : add_up(s, to, 2 * walkers(to, device), total);
}

// A factor keeps its diagonal, and its scale corrects the average truncation error of the tensor cores: K loses about
// 2^-23 with each instruction of a step that adds products of high planes.
template <class F>
void as_factor(gram::Target& to, int64_t width) {
  int64_t const in_step = width < F::depth ? width : F::depth;
  to.one = 0;
  to.scale = static_cast<float>(0x1p-56 * (1 + 0x1p-23 * ((F::real ? 1 : 2) * ((in_step + 15) / 16))));
}

// Calls f with the form of the planes.
template <class Call>
auto with_form(bool real, bool split, bool factor, Call f) {
  if (split && factor) return real ? f(gram::Form<true, true, false, true>{}) : f(gram::Form<false, true, false, true>{});
  if (real) return split ? f(gram::Form<true, true>{}) : f(gram::Form<true, false>{});
  return split ? f(gram::Form<false, true>{}) : f(gram::Form<false, false>{});
}

bool too_many(int64_t rows, int64_t cols) { return (rows + side - 1) / side * ((cols + side - 1) / side) > INT32_MAX / 4; }

template <class F>
int over(int64_t n, uint64_t stream, F kernel, void** params) {
  if (n == 0) return 0;
  return launch(reinterpret_cast<void const*>(kernel), dim3(static_cast<unsigned>((n + 127) / 128)), dim3(128), 0,
                reinterpret_cast<cudaStream_t>(stream), params);
}

}  // namespace
}  // namespace gpk

using namespace gpk;

extern "C" {

GPK_API int gpk_quantum_angles(int device, uint64_t stream, int x_type, int64_t first, int64_t n, int64_t features, uint64_t x, int64_t row,
                               int64_t col, int angles, uint64_t code, uint64_t coefs, uint64_t out, uint64_t status) {
  if (x_type != GPK_F32 && x_type != GPK_F64) return GPK_ERR_UNSUPPORTED;
  int64_t const threads = n * (features > angles ? features : angles);
  if (threads > INT64_C(128) * INT32_MAX) return GPK_ERR_ARGUMENT;
  if (int const e = set_device(device)) return e;
  void* params[] = {&x, &first, &n, &features, &row, &col, &code, &coefs, &angles, &out, &status};
  return x_type == GPK_F32 ? over(threads, stream, &angle_kernel<float>, params) : over(threads, stream, &angle_kernel<double>, params);
}

GPK_API int gpk_quantum_slots(int device, uint64_t stream, int type, int64_t n, int slots, uint64_t code, uint64_t fixed,
                              uint64_t angles, int n_angles, uint64_t out, int64_t sample_stride, int64_t value_stride) {
  if (type != GPK_F32 && type != GPK_F64) return GPK_ERR_UNSUPPORTED;
  if (n * slots > INT64_C(128) * INT32_MAX) return GPK_ERR_ARGUMENT;
  if (int const e = set_device(device)) return e;
  void* all[] = {&n, &slots, &code, &fixed, &angles, &n_angles, &out, &sample_stride, &value_stride};
  return type == GPK_F32 ? over(n * slots, stream, &slot_kernel<float>, all) : over(n * slots, stream, &slot_kernel<double>, all);
}

GPK_API int gpk_quantum_pass(int device, uint64_t stream, int type, int64_t n, int qubits, int local, int samples,
                             uint64_t state, uint64_t code, uint64_t slots, int64_t slot_stride, uint64_t angles,
                             int n_angles, uint64_t tables, const int32_t* at) {
  if (n == 0) return 0;
  if (qubits < 1 || qubits > 48 || local < 1 || local > max_local || local > qubits || samples < 1 || (local < qubits && samples != 1)) return GPK_ERR_ARGUMENT;
  if (int const e = set_device(device)) return e;
  switch (type) {
    case GPK_F32: return states<float>(device, stream, true, n, qubits, local, samples, state, code, slots, slot_stride, angles, n_angles, tables, at);
    case GPK_C64: return states<float>(device, stream, false, n, qubits, local, samples, state, code, slots, slot_stride, angles, n_angles, tables, at);
    case GPK_F64: return states<double>(device, stream, true, n, qubits, local, samples, state, code, slots, slot_stride, angles, n_angles, tables, at);
    case GPK_C128: return states<double>(device, stream, false, n, qubits, local, samples, state, code, slots, slot_stride, angles, n_angles, tables, at);
  }
  return GPK_ERR_UNSUPPORTED;
}

GPK_API int gpk_quantum_norms(int device, uint64_t stream, int type, int64_t n, int64_t width, uint64_t state, uint64_t out, int first) {
  if (n == 0) return 0;
  if (n > INT32_MAX) return GPK_ERR_ARGUMENT;
  if (int const e = set_device(device)) return e;
  bool fresh = first != 0;
  void* params[] = {&state, &width, &out, &fresh};
  void const* kernel = type == GPK_F32 ? reinterpret_cast<void const*>(&norm_kernel<float>) : reinterpret_cast<void const*>(&norm_kernel<double>);
  if (type != GPK_F32 && type != GPK_F64) return GPK_ERR_UNSUPPORTED;
  return launch(kernel, dim3(static_cast<unsigned>(n)), dim3(256), 0, reinterpret_cast<cudaStream_t>(stream), params);
}

GPK_API int gpk_quantum_closed(int device, uint64_t stream, int type, int64_t rows, int64_t cols, uint64_t x, int64_t ld_x,
                               uint64_t y, int64_t ld_y, int planar, int full, int dot, int upper, int times, uint64_t k, int64_t ld) {
  if (rows == 0 || cols == 0) return 0;
  dim3 const grid(static_cast<unsigned>((cols + side - 1) / side), static_cast<unsigned>((rows + side - 1) / side));
  if (grid.y > 65535) return GPK_ERR_ARGUMENT;
  if (int const e = set_device(device)) return e;
  auto start = [&](auto zero) {
    using T = decltype(zero);
    Closed<T> p{rows, cols, reinterpret_cast<T const*>(x), reinterpret_cast<T const*>(y), ld_x, ld_y,
                planar, full, dot != 0, upper != 0, times != 0, reinterpret_cast<T*>(k), ld};
    void* params[] = {&p};
    return launch(reinterpret_cast<void const*>(&closed_kernel<T>), grid, dim3(256), 0, reinterpret_cast<cudaStream_t>(stream), params);
  };
  switch (type) {
    case GPK_F32: return start(float{});
    case GPK_F64: return start(double{});
  }
  return GPK_ERR_UNSUPPORTED;
}

GPK_API int64_t gpk_quantum_finish_workspace(int64_t rows, int64_t cols) {
  return 24 * ((rows + patch - 1) / patch) * ((cols + patch - 1) / patch);
}

GPK_API int gpk_quantum_finish(int device, uint64_t stream, int type, int64_t rows, int64_t cols, uint64_t k, int64_t ld,
                               uint64_t mirror, int64_t ld_mirror, int triangle, int square, double one, uint64_t norm_x,
                               uint64_t norm_y, double jitter, uint64_t total, uint64_t workspace, int64_t workspace_bytes) {
  if (rows == 0 || cols == 0) return 0;
  if (workspace_bytes < gpk_quantum_finish_workspace(rows, cols)) return GPK_ERR_WORKSPACE;
  if (int const e = set_device(device)) return e;
  auto start = [&](auto zero) {
    using T = decltype(zero);
    return finish<T>(stream, GramEpilogue<T>{rows, cols, reinterpret_cast<T*>(k), ld, reinterpret_cast<T*>(mirror), ld_mirror,
                                       triangle != 0, square != 0, static_cast<T>(one), reinterpret_cast<double const*>(norm_x),
                                       reinterpret_cast<double const*>(norm_y), jitter, reinterpret_cast<double*>(workspace)},
                     reinterpret_cast<double*>(total));
  };
  switch (type) {
    case GPK_F32: return start(float{});
    case GPK_F64: return start(double{});
  }
  return GPK_ERR_UNSUPPORTED;
}

GPK_API int gpk_quantum_closed_gram(int device, uint64_t stream, int64_t rows, int64_t cols, uint64_t x, int64_t ld_x, uint64_t y,
                                    int64_t ld_y, int planar, int full, int dot, uint64_t k, int64_t ld, uint64_t mirror, int64_t ld_mirror,
                                    int triangle, double one, uint64_t total, uint64_t workspace, int64_t workspace_bytes) {
  if (rows == 0 || cols == 0) return 0;
  if (too_many(rows, cols) || planar + full == 0) return GPK_ERR_ARGUMENT;
  if (dot == 0 && (x % 16 != 0 || y % 16 != 0 || ld_x % 4 != 0 || ld_y % 4 != 0)) return GPK_ERR_ARGUMENT;
  if (int const e = set_device(device)) return e;
  if (!has_hopper(device)) return GPK_ERR_UNSUPPORTED;
  gram::Target const to = target(rows, cols, k, ld, mirror, ld_mirror, triangle != 0, one, workspace);
  cudaStream_t const s = reinterpret_cast<cudaStream_t>(stream);
  if (dot != 0) {
    closed::Groups const of{planar, full};
    if (workspace_bytes < FewWires(to, of).bytes() || workspace % 128 != 0) return GPK_ERR_WORKSPACE;
    if (direct::serves(to, of)) return direct::run(device, s, to, of, x, ld_x, y, ld_y, workspace, total);
    return run_few_wires(device, s, to, of, x, ld_x, y, ld_y, workspace, total);
  }
  int64_t const parts = closed::blocks(to, device);
  if (workspace_bytes < 24 * parts) return GPK_ERR_WORKSPACE;
  int const e = closed::run(device, s, to, x, ld_x, y, ld_y, planar, full);
  return e != 0 ? e : add_up(s, to, parts, total);
}

GPK_API int gpk_quantum_closed_whole(int device, uint64_t stream, int x_type, int64_t n, int64_t features, uint64_t x, int64_t row, int64_t col,
                                     int planar, int full, void const* code, int64_t code_bytes, int64_t coefs, int64_t fixed, int64_t angles,
                                     int64_t slots, uint64_t k, int64_t ld, double one, uint64_t notes, int found, int words, uint64_t workspace,
                                     int64_t workspace_bytes) {
  if (n == 0) return 0;
  if ((x_type != GPK_F32 && x_type != GPK_F64) || code_bytes > direct::max_code) return GPK_ERR_UNSUPPORTED;
  if (too_many(n, n) || planar + full == 0) return GPK_ERR_ARGUMENT;
  if (int const e = set_device(device)) return e;
  gram::Target const to = target(n, n, k, ld, k, ld, true, one, workspace);
  closed::Groups const of{planar, full};
  if (!has_hopper(device) || !direct::serves(to, of)) return GPK_ERR_UNSUPPORTED;
  if (workspace_bytes < FewWires(to, of).bytes() || workspace % 128 != 0) return GPK_ERR_WORKSPACE;
  direct::Code pass{};
  pass.coefs = static_cast<int>(coefs), pass.fixed = static_cast<int>(fixed), pass.angles = static_cast<int>(angles), pass.slots = static_cast<int>(slots);
  memcpy(pass.bytes, code, static_cast<size_t>(code_bytes));
  direct::Notes const all{reinterpret_cast<unsigned long long*>(notes), found, words};
  cudaStream_t const s = reinterpret_cast<cudaStream_t>(stream);
  return x_type == GPK_F32 ? direct::run_samples<float>(device, s, to, of, x, features, row, col, pass, all, workspace)
                           : direct::run_samples<double>(device, s, to, of, x, features, row, col, pass, all, workspace);
}

GPK_API int64_t gpk_quantum_gram_workspace(int device, int real, int split, int factor, int64_t rows, int64_t cols, int64_t width,
                                           int triangle) {
  if (rows < 1 || cols < 1 || width < 1 || too_many(rows, cols)) return -GPK_ERR_ARGUMENT;
  if (int const e = set_device(device)) return -e;
  if (!has_hopper(device)) return 0;
  gram::Target const to = target(rows, cols, 0, 0, 0, 0, triangle != 0, 1, 0);
  return with_form(real != 0, split != 0, factor != 0, [&](auto form) { return Workspace<decltype(form)>(to, width, device).bytes(); });
}

GPK_API int gpk_quantum_gram(int device, uint64_t stream, int real, int split, int factor, int64_t rows, int64_t cols, int64_t width,
                             int triangle, uint64_t x, uint64_t y, uint64_t k, int64_t ld, uint64_t mirror, int64_t ld_mirror,
                             double one, uint64_t norm_x, uint64_t norm_y, double jitter, uint64_t total, uint64_t workspace,
                             int64_t workspace_bytes) {
  if (rows == 0 || cols == 0) return 0;
  int64_t const need = gpk_quantum_gram_workspace(device, real, split, factor, rows, cols, width, triangle);
  if (need < 0) return static_cast<int>(-need);
  if (need == 0) return GPK_ERR_UNSUPPORTED;
  if (workspace_bytes < need || workspace % 128 != 0) return GPK_ERR_WORKSPACE;
  bool const vectors = x % 16 == 0 && y % 16 == 0 && width * (real != 0 ? 1 : 2) % 4 == 0;
  if ((width >= 8 && !vectors) || width > INT64_C(1) << 31) return GPK_ERR_ARGUMENT;  // TMA's coordinates are below 2^31
  gram::Target to = target(rows, cols, k, ld, mirror, ld_mirror, triangle != 0, one, 0);
  to.norms = reinterpret_cast<double const*>(norm_x), to.jitter = jitter;
  return with_form(real != 0, split != 0, factor != 0, [&](auto form) {
    if (factor != 0) as_factor<decltype(form)>(to, width);
    return run_gram<decltype(form)>(device, reinterpret_cast<cudaStream_t>(stream), to, width, x, y, reinterpret_cast<double const*>(norm_y),
                                    workspace, total);
  });
}
}
