// amplitudes.cuh: the kernel that applies one pass of a program to the states of many samples.
//
// A block holds 2^a amplitudes of one sample, or all amplitudes of several samples, in shared memory. A pass is a list of
// stages:
//
//  CHUNK  Each thread loads the amplitudes that differ in the highest c = min(a, 4) local bits into registers. They come
//         from the product of 2-vectors, a constant state, global memory or shared memory. The thread multiplies them by
//         phases. It stores them to shared memory, with permuted indices or not, or to global memory. Pairs are rotated
//         before they are stored to global memory if an inner product follows.
//  GATES  Each thread loads the amplitudes that differ in up to three local bits, and applies any number of matrices to
//         them.
//
// If a state is larger than a block's shared memory, only some positions are local to a block, the other bits are fixed in
// it, and a program has several passes. An index b into a state has 64 bits; a position is the number of a bit of b.
#pragma once
#include "circuit.cuh"

namespace gpk {
namespace {

constexpr int chunk_bits = 4, max_local = 13, group_bits = 3, max_qubits = 48;

enum { STAGE_END, STAGE_CHUNK, STAGE_GATES };
enum { FROM_PRODUCT, FROM_CONSTANT, FROM_STATE, FROM_SHARED, FROM_ONES, FROM_LONG_PRODUCT };
enum { TO_SHARED, TO_PERMUTED, TO_STATE, TO_ROTATED };
enum { PHASE_TABLE, PHASE_SUM, PHASE_PARITY };

// An amplitude. The amplitudes of a real program have no imaginary part, and the compiler removes the arithmetic on it.
template <class T, bool Real>
struct Amplitude {
  T re, im;
  __device__ Amplitude() : re(0), im(0) {}
  __device__ Amplitude(T r, T i) : re(r), im(Real ? T(0) : i) {}
  __device__ Amplitude operator*(Amplitude o) const {
    if constexpr (Real) return {re * o.re, 0};
    else return {re * o.re - im * o.im, re * o.im + im * o.re};
  }
  __device__ Amplitude operator+(Amplitude o) const { return {re + o.re, im + o.im}; }
};

template <class T>
struct Pass {
  int64_t n;             // samples
  int qubits, local;     // all positions, and those that are local to a block
  int samples;           // states per block; 1 if local < qubits
  T* state;              // [n, 2^qubits], interleaved complex, or real
  int const* code;
  T const* slots;        // [n, slot_stride]
  int64_t slot_stride;
  double const* angles;  // [n, n_angles]
  int n_angles;
  T const* tables;
  uint8_t position[64];  // of each local bit, then of each fixed bit
};

template <class T, bool Real>
struct Block {
  using A = Amplitude<T, Real>;
  Pass<T> const& p;
  T* re;
  T* im;
  uint64_t fixed;   // the bits of b that are constant in the block
  int64_t first;    // the block's first sample
  int c;            // bits per chunk

  // One of 33 words is padding, so that strides that are powers of two have no bank conflicts.
  __device__ static uint32_t padded(uint32_t i) { return i + (i >> 5); }
  __device__ A get(uint32_t i) const { return A(re[padded(i)], Real ? T(0) : im[padded(i)]); }
  __device__ void put(uint32_t i, A a) const {
    re[padded(i)] = a.re;
    if constexpr (!Real) im[padded(i)] = a.im;
  }
  __device__ uint64_t state_index(uint32_t i) const {  // the index b of a local index
    if (p.local == p.qubits) return i;
    uint64_t b = fixed;
    for (int l = 0; l < p.local; ++l) b |= uint64_t(i >> l & 1) << p.position[l];
    return b;
  }
  __device__ A factor(T const* s, int slot) const { return A(s[slot], s[slot + 1]); }
  __device__ static int pair(int a, int b) { return a > b ? a * (a - 1) / 2 + b : b * (b - 1) / 2 + a; }

  // The product of the 2-vectors of all positions. With `lengths` it is divided by their lengths, to first order.
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
        int const slot = vectors[p.position[p.local - c + r]];
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

  // Multiplies by phases whose angles are polynomials of the bits of b. code has the index of the constant angle, the index
  // of the angle of each b_g, a flag for pairs, the indices of the angles of each b_g b_h, and the slots of the pairs of a
  // chunk's bits. -1: no such angle.
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
      int const id = r < c ? linear[p.position[p.local - c + r]] : -1;
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
          int const id = pairs[pair(g, p.position[p.local - c + r])];
          if (id >= 0) e[r] += angle[id];
        }
      }
    }
    A f[1 << chunk_bits];
    f[0] = unit(base);
#pragma unroll
    for (int r = 0; r < chunk_bits; ++r) {
      if (r < c) {
        A const by = unit(e[r]);
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

  __device__ static A unit(double angle) {
    if (angle == 0) return A(1, 0);
    double s, co;
    sincos(angle, &s, &co);
    return A(static_cast<T>(co), static_cast<T>(s));
  }

  // Rotates a pair of amplitudes, the first of which has index x in the state. b is multiplied by i or not. Then both are
  // rotated by an angle f with a pseudo-random t = tan(f/2):
  //
  //  a cos f - b sin f      a sin f + b cos f
  //
  // The same unitary map applies to all states, so it changes no inner product. It keeps rounding errors from adding up:
  // if all amplitudes are equal, the terms of an inner product are equal too, all of its additions are rounded in the same
  // direction, and the error grows with their number. After the rotation the terms of the two halves differ for every
  // phase between a and b, and errors have both signs.
  __device__ __forceinline__ static void rotate_pair(A& a, A& b, uint64_t x) {
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

  // Runs a CHUNK stage and returns the code of the next stage.
  __device__ __forceinline__ int const* chunk(int const* code) const {
    int const from = code[1], to = code[2], phases = code[3];
    code += 4;
    uint32_t const low = uint32_t(1) << (p.local - c);  // threads per sample
    uint32_t const t = threadIdx.x;
    uint32_t const member = t / low, at = t % low;
    int64_t const sample = first + member;
    bool const in = sample < p.n;
    uint64_t const b = in ? state_index(at) : 0;
    uint32_t const own = (member << p.local) | at;
    T const* s = p.slots + (in ? sample : 0) * p.slot_stride;
    double const* angle = p.angles + (in ? sample : 0) * p.n_angles;
    uint64_t free = 0;
    for (int r = 0; r < c; ++r) free |= uint64_t{1} << p.position[p.local - c + r];
    uint64_t step[chunk_bits];
#pragma unroll
    for (int r = 0; r < chunk_bits; ++r) step[r] = r < c ? uint64_t{1} << p.position[p.local - c + r] : 0;
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
        if (from == FROM_SHARED) v[j] = get(own + j * low);
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
      // The new index is the exclusive or of the images of the local bits and of the fixed bits.
      uint32_t base = member << p.local;
      for (int l = 0; l < p.local - c; ++l)
        if (at >> l & 1) base ^= uint32_t(code[l]);
      for (int l = p.local; l < p.qubits; ++l)
        if (fixed >> p.position[l] & 1) base ^= uint32_t(code[l]);
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
        if (j >> c == 0) put(own + j * low, v[j]);
    } else if (in) {
      if (to == TO_ROTATED) {  // here c is chunk_bits
#pragma unroll
        for (int j = 0; j < 1 << (chunk_bits - 1); ++j) rotate_pair(v[j], v[j | 1 << (chunk_bits - 1)], index(j));
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

  // Runs a GATES stage on groups of 2^G amplitudes that differ in the local bits `bits`.
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
  extern __shared__ __align__(16) unsigned char smem[];
  uint32_t const amplitudes = uint32_t(p.samples) << p.local;
  Block<T, Real> block{p, reinterpret_cast<T*>(smem), nullptr, 0, 0, p.local < chunk_bits ? p.local : chunk_bits};
  block.im = block.re + Block<T, Real>::padded(amplitudes) + 1;
  if (p.local == p.qubits) {
    block.first = int64_t(blockIdx.x) * p.samples;
  } else {
    int const outer = p.qubits - p.local;
    block.first = int64_t(blockIdx.x) >> outer;
    uint64_t const rest = uint64_t(blockIdx.x) & ((uint64_t{1} << outer) - 1);
    for (int l = 0; l < outer; ++l) block.fixed |= (rest >> l & 1) << p.position[p.local + l];
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

}  // namespace
}  // namespace gpk
