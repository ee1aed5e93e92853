// random.cuh: random numbers, with the same arithmetic as internal/cpu/random.go. Units that include this file are
// compiled with -fmad=false.
//
// Philox4x32-10 (Salmon, Moraes, Dror and Shaw, 2011) maps the counter of a block to four words. A thread computes a
// few blocks. It converts the words of a block to one vector: four elements of float32 or of a half type, or two of
// float64 or of integers.
#pragma once
#include <string.h>

#include "normal_table.cuh"
#include "ops.cuh"

namespace gpk {
namespace {

constexpr int random_blocks_per_thread = 8;

struct Random {
  char* dst;
  int64_t n;            // elements
  uint64_t block;       // number of the first block
  uint32_t key0, key1;  // the seed
  bool vectors;         // dst is aligned to the elements of a block
  union {
    double real[3];        // lo, width, below; mean, std
    uint64_t integers[2];  // lo, the range
  };
};

struct Words {
  uint32_t w[4];
  __device__ uint64_t pair(int i) const { return w[2 * i] | static_cast<uint64_t>(w[2 * i + 1]) << 32; }
};

__device__ inline Words philox(uint64_t block, uint32_t k0, uint32_t k1) {
  uint32_t c0 = static_cast<uint32_t>(block), c1 = static_cast<uint32_t>(block >> 32), c2 = 0, c3 = 0;
#pragma unroll
  for (int round = 0; round < 10; ++round) {
    uint64_t const p = uint64_t{0xD2511F53} * c0, q = uint64_t{0xCD9E8D57} * c2;
    c0 = static_cast<uint32_t>(q >> 32) ^ c1 ^ k0;
    c1 = static_cast<uint32_t>(q);
    c2 = static_cast<uint32_t>(p >> 32) ^ c3 ^ k1;
    c3 = static_cast<uint32_t>(p);
    k0 += 0x9E3779B9;
    k1 += 0xBB67AE85;
  }
  return {{c0, c1, c2, c3}};
}

// Writes the vector of elements of block number i.
template <class T, int V>
__device__ inline void write(Random const& p, int64_t i, Vec<T, V> const& x) {
  T* const dst = reinterpret_cast<T*>(p.dst) + i * V;
  if (p.vectors && (i + 1) * V <= p.n) {
    *reinterpret_cast<Vec<T, V>*>(dst) = x;
    return;
  }
#pragma unroll
  for (int e = 0; e < V; ++e) {
    if (i * V + e < p.n) dst[e] = x.v[e];
  }
}

// Calls f(number, words) for each block of this thread that has elements below n.
template <int V, class F>
__device__ inline void each_block(Random const& p, F const& f) {
  int64_t const first = static_cast<int64_t>(blockIdx.x) * blockDim.x * random_blocks_per_thread + threadIdx.x;
#pragma unroll 2
  for (int k = 0; k < random_blocks_per_thread; ++k) {
    int64_t const i = first + k * blockDim.x;
    if (i * V >= p.n) return;
    f(i, philox(p.block + i, p.key0, p.key1));
  }
}

template <class T>
__global__ void __launch_bounds__(threads) uniform_reals(Random p) {
  begin();
  if constexpr (__is_same(T, double)) {
    each_block<2>(p, [&](int64_t i, Words const& words) {
      Vec<double, 2> x;
#pragma unroll
      for (int e = 0; e < 2; ++e) {
        double const u = static_cast<double>(words.pair(e) >> 11) * 0x1p-53;
        double const y = p.real[0] + u * p.real[1];
        x.v[e] = y > p.real[2] ? p.real[2] : y;
      }
      write(p, i, x);
    });
  } else {
    float const lo = static_cast<float>(p.real[0]), width = static_cast<float>(p.real[1]);
    float const below = static_cast<float>(p.real[2]);
    each_block<4>(p, [&](int64_t i, Words const& words) {
      Vec<T, 4> x;
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        float const u = static_cast<float>(words.w[e] >> 8) * 0x1p-24f;
        float const y = lo + u * width;
        x.v[e] = convert<T>(y > below ? below : y);
      }
      write(p, i, x);
    });
  }
}

template <class T>
__global__ void __launch_bounds__(threads) uniform_integers(Random p) {
  begin();
  each_block<2>(p, [&](int64_t i, Words const& words) {
    Vec<T, 2> x;
#pragma unroll
    for (int e = 0; e < 2; ++e) {
      uint64_t const k = words.pair(e);
      x.v[e] = static_cast<T>(p.integers[0] + (p.integers[1] == 0 ? k : __umul64hi(k, p.integers[1])));
    }
    write(p, i, x);
  });
}

template <class T>
__global__ void __launch_bounds__(threads) normal_table_reals(Random p) {
  __shared__ float4 table[normal_segments];
  for (int i = threadIdx.x; i < normal_segments; i += blockDim.x) {
    table[i] = {normal_table[i][0], normal_table[i][1], normal_table[i][2], normal_table[i][3]};
  }
  begin();
  __syncthreads();
  float const mean = static_cast<float>(p.real[0]), std = static_cast<float>(p.real[1]);
  each_block<4>(p, [&](int64_t i, Words const& words) {
    Vec<T, 4> x;
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      uint32_t const w = words.w[e], b = __float_as_uint(static_cast<float>(w << 1 | 1));
      float4 const c = table[(b >> 20) - (127 << 3)];
      float const t = __uint_as_float((b & 0xfffff) << 3 | 0x3f800000) - 1.5f;
      float const z = ((c.w * t + c.z) * t + c.y) * t + c.x;
      x.v[e] = convert<T>(mean + std * __uint_as_float(__float_as_uint(z) | (w & 0x80000000)));
    }
    write(p, i, x);
  });
}

// The natural logarithm of u in (0, 1].
__device__ inline double log_unit(double u) {
  int64_t bits = __double_as_longlong(u) + (0x3ff0000000000000 - 0x3fe6a09e667f3bcd);
  double const k = static_cast<double>((bits >> 52) - 1023);
  double const f = __longlong_as_double((bits & ((int64_t{1} << 52) - 1)) + 0x3fe6a09e667f3bcd) - 1;
  double const s = f / (2 + f), z = s * s;
  double p = z * 1.479819860511658591e-01 + 1.531383769920937332e-01;
  p = z * p + 1.818357216161805012e-01;
  p = z * p + 2.222219843214978396e-01;
  p = z * p + 2.857142874366239149e-01;
  p = z * p + 3.999999999940941908e-01;
  p = z * p + 6.666666666666735130e-01;
  p = p * z;
  double const h = 0.5 * f * f;
  double const x = s * (h + p) + k * 1.90821492927058770002e-10;
  return k * 6.93147180369123816490e-01 - ((h - x) - f);
}

// The sine and the cosine of t in [-pi/4, pi/4].
__device__ inline void sin_cos_quarter(double t, double* sin, double* cos) {
  double const z = t * t;
  double p = z * 1.58969099521155010221e-10 + -2.50507602534068634195e-08;
  p = z * p + 2.75573137070700676789e-06;
  p = z * p + -1.98412698298579493134e-04;
  p = z * p + 8.33333333332248946124e-03;
  p = z * p + -1.66666666666666324348e-01;
  *sin = t + t * z * p;
  double q = z * -1.13596475577881948265e-11 + 2.08757232129817482790e-09;
  q = z * q + -2.75573143513906633035e-07;
  q = z * q + 2.48015872894767294178e-05;
  q = z * q + -1.38888888888741095749e-03;
  q = z * q + 4.16666666666666019037e-02;
  *cos = (1 - 0.5 * z) + z * z * q;
}

__global__ void __launch_bounds__(threads) normal_doubles(Random p) {
  begin();
  each_block<2>(p, [&](int64_t i, Words const& words) {
    uint64_t const v = words.pair(0), w = words.pair(1);
    double const r = sqrt(-2 * log_unit(static_cast<double>((v >> 11) + 1) * 0x1p-53));
    constexpr double half_pi = 1.57079632679489661923;
    double s, c;
    sin_cos_quarter((static_cast<double>(w << 2 >> 11) * 0x1p-53 - 0.5) * half_pi, &s, &c);
    bool const odd = w >> 62 & 1, minus_c = (w >> 62) == 1 || (w >> 62) == 2, minus_s = w >> 63;
    // The quarters of the circle: (c, s), (-s, c), (-c, -s), (s, -c).
    double const a = odd ? s : c, b = odd ? c : s;
    Vec<double, 2> x;
    x.v[0] = p.real[0] + p.real[1] * (r * (minus_c ? -a : a));
    x.v[1] = p.real[0] + p.real[1] * (r * (minus_s ? -b : b));
    write(p, i, x);
  });
}

// Launches a kernel whose blocks produce `per` elements of `size` bytes.
int launch_random(void (*kernel)(Random), Random p, int per, int size, int device, uint64_t stream) {
  if (p.n == 0) return GPK_OK;
  int const code = set_device(device);
  if (code != GPK_OK) return code;
  p.vectors = reinterpret_cast<uintptr_t>(p.dst) % (per * size) == 0;
  return launch_for(kernel, (p.n - 1) / per + 1, random_blocks_per_thread, stream, p);
}

Random random_of(int64_t n, uint64_t seed, uint64_t block, uint64_t dst) {
  Random p{};
  p.dst = reinterpret_cast<char*>(dst);
  p.n = n;
  p.block = block;
  p.key0 = static_cast<uint32_t>(seed);
  p.key1 = static_cast<uint32_t>(seed >> 32);
  return p;
}

}  // namespace
}  // namespace gpk

int gpk_uniform(int device, uint64_t stream, int type, int64_t n, uint64_t seed, uint64_t block, uint64_t p0,
                uint64_t p1, uint64_t p2, uint64_t dst) {
  using namespace gpk;
  Random p = random_of(n, seed, block, dst);
  p.integers[0] = p0;
  p.integers[1] = p1;
  auto const reals = [&](auto kernel, int per, int size) {
    uint64_t const bits[] = {p0, p1, p2};
    memcpy(p.real, bits, sizeof bits);
    return launch_random(kernel, p, per, size, device, stream);
  };
  switch (sign_free(type)) {
    case GPK_F32: return reals(uniform_reals<float>, 4, 4);
    case GPK_F16: return reals(uniform_reals<f16>, 4, 2);
    case GPK_BF16: return reals(uniform_reals<bf16>, 4, 2);
    case GPK_F64: return reals(uniform_reals<double>, 2, 8);
    case GPK_I8: return launch_random(uniform_integers<int8_t>, p, 2, 1, device, stream);
    case GPK_U8: return launch_random(uniform_integers<uint8_t>, p, 2, 1, device, stream);
    case GPK_U16: return launch_random(uniform_integers<uint16_t>, p, 2, 2, device, stream);
    case GPK_I32: return launch_random(uniform_integers<int32_t>, p, 2, 4, device, stream);
    case GPK_I64: return launch_random(uniform_integers<int64_t>, p, 2, 8, device, stream);
    default: return GPK_ERR_UNSUPPORTED;
  }
}

int gpk_normal(int device, uint64_t stream, int type, int64_t n, uint64_t seed, uint64_t block, double mean,
               double std, uint64_t dst) {
  using namespace gpk;
  Random p = random_of(n, seed, block, dst);
  p.real[0] = mean;
  p.real[1] = std;
  switch (type) {
    case GPK_F32: return launch_random(normal_table_reals<float>, p, 4, 4, device, stream);
    case GPK_F16: return launch_random(normal_table_reals<f16>, p, 4, 2, device, stream);
    case GPK_BF16: return launch_random(normal_table_reals<bf16>, p, 4, 2, device, stream);
    case GPK_F64: return launch_random(normal_doubles, p, 2, 8, device, stream);
    default: return GPK_ERR_UNSUPPORTED;
  }
}
