// attention_mma.cuh: the two products of attention by mma.sync: queries by keys, and weights by values. A warp computes 16
// queries; g is lane / 4 and t is lane % 4. Accumulators have mma's layout: element 2 r + e of tile n is row g + 8 r,
// column 8 n + 2 t + e.
//
// Tiles of keys and values are in shared memory row by row, in granules of 16 bytes. Rows of 16-bit types are swizzled, so
// that ldmatrix has no bank conflicts. Rows of float32 are padded by a granule, so that loads of 4 bytes have none.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <stdint.h>

namespace gpk {
namespace attention {

// x and y rounded to T, x in the lower 16 bits.
template <class T>
__device__ inline uint32_t pack(float x, float y);

template <>
__device__ inline uint32_t pack<__half>(float x, float y) {
  uint32_t v;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(y), "f"(x));
  return v;
}

template <>
__device__ inline uint32_t pack<__nv_bfloat16>(float x, float y) {
  uint32_t v;
  asm("cvt.rn.bf16x2.f32 %0, %1, %2;" : "=r"(v) : "f"(y), "f"(x));
  return v;
}

// c += a b for 16 x 8 x 16.
template <class T>
__device__ inline void mma(float (&c)[4], uint32_t const (&a)[4], uint32_t b0, uint32_t b1);

template <>
__device__ inline void mma<__half>(float (&c)[4], uint32_t const (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.f16.f16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <>
__device__ inline void mma<__nv_bfloat16>(float (&c)[4], uint32_t const (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k16.row.col.f32.bf16.bf16.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// c += a b for 16 x 8 x 8 in TF32.
__device__ inline void mma_tf32(float (&c)[4], uint32_t const (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0, %1, %2, %3}, {%4, %5, %6, %7}, {%8, %9}, {%0, %1, %2, %3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Loads four 8 x 8 matrices of 16-bit elements. Lane l passes the address of row l % 8 of matrix l / 8. asm volatile with
// the clobber "memory" keeps the load between the barriers that order the writes to shared memory.
__device__ inline void ldmatrix(uint32_t (&v)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "r"(address)
               : "memory");
}

__device__ inline void ldmatrix_trans(uint32_t (&v)[4], uint32_t address) {
  asm volatile("ldmatrix.sync.aligned.m8n8.x4.trans.shared.b16 {%0, %1, %2, %3}, [%4];"
               : "=r"(v[0]), "=r"(v[1]), "=r"(v[2]), "=r"(v[3])
               : "r"(address)
               : "memory");
}

__device__ inline uint32_t shared_address(void const* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// The products of float16 and bfloat16. D: the padded head size.
template <class T, int D>
struct Halves {
  using Element = T;
  static constexpr bool exact = false;
  static constexpr int granules = D / 8;  // granules per row
  static constexpr int pitch = granules;  // distance of rows in granules
  static constexpr bool in_registers = D <= 128;  // the queries stay in registers

  // The index of granule c of row r.
  __device__ static int granule_index(int r, int c) { return r * pitch + (c ^ swizzle(r)); }

  // The swizzle of row r. It has a period of 8 rows.
  __device__ static int swizzle(int r) { return granules >= 8 ? r & 7 : r >> 1 & 3; }

  // The warp's queries: the 16 rows from q on.
  struct Queries {
    uint32_t a[in_registers ? D / 16 : 1][4];
    uint32_t row, swizzled;

    __device__ void load(uint4 const* q) {
      int const lane = threadIdx.x % 32, r = lane % 16;
      row = shared_address(q + r * pitch);
      swizzled = lane / 16 ^ swizzle(r);
      if constexpr (in_registers) {
#pragma unroll
        for (int k = 0; k < D / 16; k++) ldmatrix(a[k], row + ((2 * k) ^ swizzled) * 16);
      }
    }
  };

  // s = q k^T for N * 8 keys.
  template <int N>
  __device__ static void scores(float (&s)[N][4], Queries const& q, uint4 const* keys) {
    int const lane = threadIdx.x % 32, r = lane / 16 * 8 + lane % 8;
    uint32_t const row = shared_address(keys + r * pitch);
    uint32_t const swizzled = (lane / 8 & 1) ^ swizzle(r);
#pragma unroll
    for (int n = 0; n < N; n++) s[n][0] = s[n][1] = s[n][2] = s[n][3] = 0;
#pragma unroll
    for (int k = 0; k < D / 16; k++) {
      uint32_t a[4];
      if constexpr (in_registers) {
        for (int i = 0; i < 4; i++) a[i] = q.a[k][i];
      } else {
        ldmatrix(a, q.row + ((2 * k) ^ q.swizzled) * 16);
      }
      uint32_t const at = row + ((2 * k) ^ swizzled) * 16;
#pragma unroll
      for (int n = 0; n < N; n += 2) {
        uint32_t b[4];
        ldmatrix(b, at + n * 8 * pitch * 16);
        mma<T>(s[n], a, b[0], b[1]);
        mma<T>(s[n + 1], a, b[2], b[3]);
      }
    }
  }

  // o += p v for N * 8 keys. p is rounded to T.
  template <int N>
  __device__ static void accumulate(float (&o)[D / 8][4], float const (&p)[N][4], uint4 const* values) {
    int const lane = threadIdx.x % 32, r = lane % 16;
    uint32_t const row = shared_address(values + r * pitch);
    uint32_t const swizzled = lane / 16 ^ swizzle(r);
#pragma unroll
    for (int k = 0; k < N / 2; k++) {
      uint32_t const a[4] = {pack<T>(p[2 * k][0], p[2 * k][1]), pack<T>(p[2 * k][2], p[2 * k][3]),
                             pack<T>(p[2 * k + 1][0], p[2 * k + 1][1]), pack<T>(p[2 * k + 1][2], p[2 * k + 1][3])};
#pragma unroll
      for (int n = 0; n < D / 16; n++) {
        uint32_t b[4];
        ldmatrix_trans(b, row + k * 16 * pitch * 16 + ((2 * n) ^ swizzled) * 16);
        mma<T>(o[2 * n], a, b[0], b[1]);
        mma<T>(o[2 * n + 1], a, b[2], b[3]);
      }
    }
  }

  // Rounds x and y and stores them as columns 8 n + 2 t and 8 n + 2 t + 1 of row r.
  __device__ static void store_pair(uint4* tile, int r, int n, int t, float x, float y) {
    reinterpret_cast<uint32_t*>(tile + granule_index(r, n))[t] = pack<T>(x, y);
  }
};

// The products of float32. Full: each operand is the sum of two TF32 numbers. The smallest of their four products is
// omitted, which is an error of 2^-22 per product. Otherwise operands are rounded to TF32.
template <int D, bool Full>
struct Floats {
  using Element = float;
  static constexpr bool exact = Full;
  static constexpr int granules = D / 4;
  static constexpr int pitch = granules + 1;

  __device__ static int granule_index(int r, int c) { return r * pitch + c; }

  struct Queries {
    float const* row;  // element t of row g
    __device__ void load(uint4 const* q) {
      int const lane = threadIdx.x % 32;
      row = reinterpret_cast<float const*>(q + lane / 4 * pitch) + lane % 4;
    }
  };

  __device__ static uint32_t rounded(float x) {
    uint32_t v;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(v) : "f"(x));
    return v;
  }

  template <int N>
  struct Operand {
    uint32_t high[N], low[Full ? N : 1];
    __device__ void set(int i, float x) {
      high[i] = rounded(x);
      if constexpr (Full) low[i] = rounded(x - __uint_as_float(high[i]));
    }
  };

  __device__ static void product(float (&c)[4], Operand<4> const& a, Operand<2> const& b) {
    if constexpr (Full) {
      // Tensor cores truncate when they add to an accumulator. Over hundreds of terms this is a bias of several units in
      // the last place. So the products of eight terms are summed separately, and their sum is added with rounding.
      float part[4] = {0, 0, 0, 0};
      mma_tf32(part, a.low, b.high[0], b.high[1]);
      mma_tf32(part, a.high, b.low[0], b.low[1]);
      mma_tf32(part, a.high, b.high[0], b.high[1]);
#pragma unroll
      for (int i = 0; i < 4; i++) c[i] += part[i];
    } else {
      mma_tf32(c, a.high, b.high[0], b.high[1]);
    }
  }

  template <int N>
  __device__ static void scores(float (&s)[N][4], Queries const& q, uint4 const* keys) {
    int const lane = threadIdx.x % 32;
    float const* const row = reinterpret_cast<float const*>(keys + lane / 4 * pitch) + lane % 4;
#pragma unroll
    for (int n = 0; n < N; n++) s[n][0] = s[n][1] = s[n][2] = s[n][3] = 0;
#pragma unroll 4
    for (int k = 0; k < D / 8; k++) {
      Operand<4> a;
      a.set(0, q.row[8 * k]);
      a.set(1, q.row[8 * k + 8 * pitch * 4]);
      a.set(2, q.row[8 * k + 4]);
      a.set(3, q.row[8 * k + 8 * pitch * 4 + 4]);
#pragma unroll
      for (int n = 0; n < N; n++) {
        Operand<2> b;
        b.set(0, row[n * 8 * pitch * 4 + 8 * k]);
        b.set(1, row[n * 8 * pitch * 4 + 8 * k + 4]);
        product(s[n], a, b);
      }
    }
  }

  // The keys of a step are permuted so that accumulators are operands without a shuffle: element t of the operand is key
  // 2 t, and element t + 4 is key 2 t + 1.
  template <int N>
  __device__ static void accumulate(float (&o)[D / 8][4], float const (&p)[N][4], uint4 const* values) {
    int const lane = threadIdx.x % 32;
    float const* const row = reinterpret_cast<float const*>(values + 2 * (lane % 4) * pitch) + lane / 4;
#pragma unroll
    for (int k = 0; k < N; k++) {
      Operand<4> a;
      a.set(0, p[k][0]);
      a.set(1, p[k][2]);
      a.set(2, p[k][1]);
      a.set(3, p[k][3]);
#pragma unroll
      for (int n = 0; n < D / 8; n++) {
        Operand<2> b;
        b.set(0, row[k * 8 * pitch * 4 + 8 * n]);
        b.set(1, row[(k * 8 + 1) * pitch * 4 + 8 * n]);
        product(o[n], a, b);
      }
    }
  }

  __device__ static void store_pair(uint4* tile, int r, int n, int t, float x, float y) {
    reinterpret_cast<float2*>(tile + granule_index(r, 2 * n))[t] = make_float2(x, y);
  }
};

}  // namespace attention
}  // namespace gpk
