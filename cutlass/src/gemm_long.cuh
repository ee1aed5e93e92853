// gemm_long.cuh: products of a few rows with a few columns, over a part of a long k, without tensor cores. Their time is
// that of reading A and B.
//
// A CTA computes a tile of D. Its threads share k: each multiplies `vector` neighbours at a time. At the end the sums of a
// warp are added in a tree, and those of the warps in their order. So the order of the additions depends only on k.
#pragma once
#include <cuda_bf16.h>
#include <cuda_fp16.h>

#include "dependent.cuh"
#include "registry.cuh"

namespace gpk {
namespace long_k {
namespace {

constexpr int threads = 256, warps = threads / 32;

// A sum of products: one real number, or the parts of a complex one.
template <class T, int Parts>
struct Sum {
  T of[Parts];
};

// The arithmetic of an element type: widen converts an element, and add adds a product.
template <class T, class S>
struct Real {
  using Element = T;
  using Total = Sum<S, 1>;
  static __device__ S widen(T x) { return static_cast<S>(x); }
  static __device__ void add(Total& sum, S a, S b) { sum.of[0] = fma(a, b, sum.of[0]); }
};

struct Tf32 : Real<float, float> {
  static __device__ float widen(float x) {
    uint32_t r;
    asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
    return __uint_as_float(r);
  }
};

template <class T, class S>
struct Complex {
  using Element = T;
  using Total = Sum<S, 2>;
  static __device__ T widen(T x) { return x; }
  static __device__ void add(Total& sum, T a, T b) {
    sum.of[0] = fma(-a.y, b.y, fma(a.x, b.x, sum.of[0]));
    sum.of[1] = fma(a.y, b.x, fma(a.x, b.y, sum.of[1]));
  }
};

struct ComplexTf32 : Complex<float2, float> {
  static __device__ float2 widen(float2 x) { return {Tf32::widen(x.x), Tf32::widen(x.y)}; }
};

struct Params {
  int m, n, k;
  void const* a;
  int64_t lda, stride_a;
  void const* b;
  int64_t ldb, stride_b;
  void* d;
  int64_t ldd, stride_d;
};

// The number of neighbours of k in a load of 16 bytes.
template <class T>
constexpr int vector = 16 / static_cast<int>(sizeof(T));

// Reads `vector` neighbours of k, from k on, for each of Lines rows of A or columns of B. Along: these neighbours are
// adjacent. Elements beyond the end are 0. Lines beyond `lines` read the last one; their results are not stored.
template <class Math, bool Along, int Lines, class T, class U>
__device__ __forceinline__ void read(U (&x)[Lines][vector<T>], T const* from, int64_t ld, int k, int end, int lines, bool vectors) {
  constexpr int V = vector<T>;
#pragma unroll
  for (int i = 0; i < Lines; ++i) {
    int64_t const line = min(i, lines - 1);
    if (Along && vectors && k + V <= end) {
      union {
        uint4 bits;
        T of[V];
      } loaded;
      loaded.bits = *reinterpret_cast<uint4 const*>(from + line * ld + k);
#pragma unroll
      for (int v = 0; v < V; ++v) x[i][v] = Math::widen(loaded.of[v]);
    } else {
#pragma unroll
      for (int v = 0; v < V; ++v) x[i][v] = k + v < end ? Math::widen(from[Along ? line * ld + k + v : (k + v) * ld + line]) : U{};
    }
  }
}

// Whether the lines of k at p, ld elements apart, may be read in vectors.
template <class T>
__device__ __forceinline__ bool aligned(T const* p, int64_t ld, int lines) {
  return reinterpret_cast<uint64_t>(p) % 16 == 0 && (lines == 1 || ld % vector<T> == 0);
}

template <class Math, bool RowA, bool RowB, int Rows, int Columns>
__global__ void __launch_bounds__(threads) multiply(__grid_constant__ Params const p) {
  begin();
  using T = typename Math::Element;
  using U = decltype(Math::widen(T{}));
  using Total = typename Math::Total;
  constexpr int V = vector<T>, parts = sizeof(Total) / sizeof(Total{}.of[0]), count = Rows * Columns;
  __shared__ Total warp_sums[warps][count];
  int const m0 = blockIdx.y * Rows, n0 = blockIdx.x * Columns;
  int const rows = min(Rows, p.m - m0), columns = min(Columns, p.n - n0);
  T const* const a = static_cast<T const*>(p.a) + blockIdx.z * p.stride_a + (RowA ? m0 * p.lda : m0);
  T const* const b = static_cast<T const*>(p.b) + blockIdx.z * p.stride_b + (RowB ? n0 : n0 * p.ldb);
  bool const vectors_a = RowA && aligned(a, p.lda, rows), vectors_b = !RowB && aligned(b, p.ldb, columns);

  Total sum[Rows][Columns] = {};
#pragma unroll(count == 1 ? 4 : 1)
  for (int k = threadIdx.x * V; k < p.k; k += threads * V) {
    U x[Rows][V], y[Columns][V];
    read<Math, RowA, Rows>(x, a, p.lda, k, p.k, rows, vectors_a);
    read<Math, !RowB, Columns>(y, b, p.ldb, k, p.k, columns, vectors_b);
#pragma unroll
    for (int v = 0; v < V; ++v)
#pragma unroll
      for (int i = 0; i < Rows; ++i)
#pragma unroll
        for (int j = 0; j < Columns; ++j) Math::add(sum[i][j], x[i][v], y[j][v]);
  }

#pragma unroll
  for (int e = 0; e < count; ++e) {
    Total& s = sum[e / Columns][e % Columns];
#pragma unroll
    for (int c = 0; c < parts; ++c)
#pragma unroll
      for (int d = 16; d > 0; d /= 2) s.of[c] += __shfl_xor_sync(~0u, s.of[c], d);
    if (threadIdx.x % 32 == 0) warp_sums[threadIdx.x / 32][e] = s;
  }
  __syncthreads();
  int const e = threadIdx.x, row = e / Columns, column = e % Columns;
  if (e >= count || row >= rows || column >= columns) return;
  Total total = warp_sums[0][e];
  for (int w = 1; w < warps; ++w)
    for (int c = 0; c < parts; ++c) total.of[c] += warp_sums[w][e].of[c];
  static_cast<Total*>(p.d)[blockIdx.z * p.stride_d + (m0 + row) * p.ldd + n0 + column] = total;
}

template <class Math, bool RowA, bool RowB, int Rows, int Columns>
int run(Problem const& p) {
  constexpr int most = 65535;
  int const down = (p.m - 1) / Rows + 1, across = (p.n - 1) / Columns + 1;
  if (p.alpha_re != 1 || p.alpha_im != 0 || down > most || p.batch > most) return GPK_ERR_ARGUMENT;
  Params q = {p.m, p.n, p.k, p.a, p.lda, p.stride_a, p.b, p.ldb, p.stride_b, p.d, p.ldd, p.stride_d};
  void* params[] = {&q};
  static uint64_t known = 0;
  void const* const kernel = reinterpret_cast<void const*>(multiply<Math, RowA, RowB, Rows, Columns>);
  return launch(kernel, dim3(across, down, p.batch), dim3(threads), 0, p.stream, params, 1, 1, waits_for_previous(kernel, p.device, &known));
}

template <class Math, bool RowA, bool RowB>
constexpr Traits traits = {sizeof(typename Math::Element), sizeof(typename Math::Element), sizeof(typename Math::Total), RowA, RowB,
                           sizeof(typename Math::Element), sizeof(typename Math::Element), sizeof(typename Math::Total), 1, false};

}  // namespace
}  // namespace long_k

#define GPK_LONG1(types, majors, RowA, RowB, side, Math)                        \
  extern Entry const entry_any_##types##_##majors##_##side##x##side##x256_long; \
  Entry const entry_any_##types##_##majors##_##side##x##side##x256_long = {     \
      "any_" #types "_" #majors "_" #side "x" #side "x256_long", long_k::traits<Math, RowA, RowB>, long_k::run<Math, RowA, RowB, side, side>};

#define GPK_LONG(types, side, Math)                  \
  GPK_LONG1(types, rr, true, true, side, Math)   \
  GPK_LONG1(types, rc, true, false, side, Math)  \
  GPK_LONG1(types, cr, false, true, side, Math)  \
  GPK_LONG1(types, cc, false, false, side, Math)

}  // namespace gpk
