// gemm_skinny.cuh: products of a few rows with a large row-major matrix of float32, in TF32's precision. Their time is
// that of reading B. So B is loaded from global memory into the registers that mma.sync reads, without shared memory.
//
// A CTA computes 16 or 32 rows by 64 columns of D. Its warps process steps of 16 of k alternately. At the end the sums of
// the warps are added in the order of the warps. Within a step the instruction's k and n are permuted so that a thread
// loads vectors of 16 bytes: of four threads, thread t has 4t <= k < 4t + 4.
#pragma once
#include "gemm_epilogue.cuh"
#include "guard.cuh"

namespace gpk {
namespace skinny {
namespace {

constexpr int columns = 64, step = 16;

struct Params {
  int m, n, k;
  float const* a;
  int64_t lda, stride_a;
  float const* b;
  int64_t ldb, stride_b;
  float* d;
  int64_t ldd, stride_d;
  float const* bias;
  float alpha;
  Activation act;
  Guard guard;
};

// TF32's 11 bits, rounded to nearest.
__device__ inline uint32_t round_tf32(float x) {
  uint32_t r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(x));
  return r;
}

// c += a b for 16 x 8 x 8.
__device__ inline void multiply_add(float (&c)[4], uint32_t const (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

// Loads the first `present` of four neighbouring elements, at most four, and zeros for the others.
__device__ inline float4 load_partial(float const* p, int present) {
  float4 v = {0, 0, 0, 0};
  if (present > 0) v.x = p[0];
  if (present > 1) v.y = p[1];
  if (present > 2) v.z = p[2];
  if (present > 3) v.w = p[3];
  return v;
}

// A load that allocates no line of L1, because B is read once.
__device__ inline float4 load_no_allocate(float const* p) {
  float4 v;
  asm volatile("ld.global.L1::no_allocate.L2::256B.v4.f32 {%0,%1,%2,%3}, [%4];"
               : "=f"(v.x), "=f"(v.y), "=f"(v.z), "=f"(v.w)
               : "l"(p));
  return v;
}

// A thread's operands of one step: 4 of k of rows g and g + 8 of each block of 16 rows of A, and rows 4t ... 4t+3 of B,
// each with two vectors of columns.
template <int Blocks>
struct StepData {
  float4 a[2 * Blocks], b[4][2];
};

// A thread's read positions in A and B. Rows beyond m read the last row; their results are not stored.
template <int Blocks>
struct Reader {
  float const* a;
  float const* b;
  int64_t lda, ldb;
  int rows[2 * Blocks];

  __device__ Reader(Params const& p, int m0, int n0, int k0) : lda(p.lda), ldb(p.ldb) {
    int const lane = threadIdx.x % 32, g = lane / 4, k = k0 + 4 * (lane % 4);
    a = p.a + blockIdx.z * p.stride_a + k;
    b = p.b + blockIdx.z * p.stride_b + k * p.ldb + n0 + 4 * g;
#pragma unroll
    for (int i = 0; i < 2 * Blocks; ++i) rows[i] = min(m0 + 8 * i + g, p.m - 1);
  }

  __device__ void advance(int steps) {
    a += steps * step;
    b += steps * step * ldb;
  }

  // Loads a step that is entirely inside B.
  __device__ void load(StepData<Blocks>& v) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      v.b[i][0] = load_no_allocate(b + i * ldb);
      v.b[i][1] = load_no_allocate(b + i * ldb + 32);
    }
#pragma unroll
    for (int i = 0; i < 2 * Blocks; ++i) v.a[i] = *reinterpret_cast<float4 const*>(a + rows[i] * lda);
  }

  // Loads a step that may extend beyond the end of k or n; elements beyond an end are 0. k and n are the numbers of elements
  // from this thread's position to the ends.
  __device__ void load_edge(StepData<Blocks>& v, int k, int n) const {
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      v.b[i][0] = load_partial(b + i * ldb, i < k ? n : 0);
      v.b[i][1] = load_partial(b + i * ldb + 32, i < k ? n - 32 : 0);
    }
#pragma unroll
    for (int i = 0; i < 2 * Blocks; ++i) v.a[i] = load_partial(a + rows[i] * lda, k);
  }
};

template <int Blocks>
__device__ inline void multiply(float (&c)[Blocks][8][4], StepData<Blocks> const& v) {
#pragma unroll
  for (int s = 0; s < 2; ++s) {
    uint32_t a[Blocks][4];
#pragma unroll
    for (int i = 0; i < Blocks; ++i) {
      float const* const low = &v.a[2 * i].x;
      float const* const high = &v.a[2 * i + 1].x;
      a[i][0] = round_tf32(low[2 * s]), a[i][1] = round_tf32(high[2 * s]);
      a[i][2] = round_tf32(low[2 * s + 1]), a[i][3] = round_tf32(high[2 * s + 1]);
    }
#pragma unroll
    for (int j = 0; j < 8; ++j) {
      uint32_t const b0 = round_tf32((&v.b[2 * s][j / 4].x)[j % 4]), b1 = round_tf32((&v.b[2 * s + 1][j / 4].x)[j % 4]);
#pragma unroll
      for (int i = 0; i < Blocks; ++i) multiply_add(c[i][j], a[i], b0, b1);
    }
  }
}

// Depth: steps in registers; Depth - 1 of them are being loaded while one is multiplied.
template <int Blocks, int Warps, int Depth>
__global__ void __launch_bounds__(32 * Warps, 1) skinny(__grid_constant__ Params const p) {
  extern __shared__ float sums[];  // [Warps][16 * Blocks][columns]
  begin();
  if (!runs(p.guard, reinterpret_cast<uint32_t*>(sums))) return;
  int const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
  int const n0 = blockIdx.x * columns, m0 = blockIdx.y * (16 * Blocks);
  float* const d = p.d + blockIdx.z * p.stride_d;

  float c[Blocks][8][4] = {};
  Reader<Blocks> reader(p, m0, n0, warp * step);
  int const full_steps = n0 + columns <= p.n ? p.k / step : 0;  // steps without bounds checks
  int at = warp;
  if (at < full_steps) {
    StepData<Blocks> ring[Depth];
#pragma unroll
    for (int i = 0; i < Depth - 1; ++i) {
      if (at + i * Warps < full_steps) reader.load(ring[i]), reader.advance(Warps);
    }
    while (at < full_steps) {
#pragma unroll
      for (int i = 0; i < Depth; ++i, at += Warps) {
        if (at >= full_steps) break;
        if (at + (Depth - 1) * Warps < full_steps) reader.load(ring[(i + Depth - 1) % Depth]), reader.advance(Warps);
        multiply(c, ring[i]);
      }
    }
  }
  for (; at * step < p.k; at += Warps, reader.advance(Warps)) {
    StepData<Blocks> v;
    reader.load_edge(v, p.k - at * step - 4 * (lane % 4), p.n - n0 - 4 * (lane / 4));
    multiply(c, v);
  }

#pragma unroll
  for (int i = 0; i < Blocks; ++i) {
#pragma unroll
    for (int j = 0; j < 8; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        int const row = 16 * i + lane / 4 + 8 * (e / 2), column = 32 * (j / 4) + 4 * (2 * (lane % 4) + e % 2) + j % 4;
        sums[(warp * 16 * Blocks + row) * columns + column] = c[i][j][e];
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 16 * Blocks * columns; i += 32 * Warps) {
    int const row = m0 + i / columns, column = n0 + i % columns;
    if (row >= p.m || column >= p.n) continue;
    float sum = sums[i];
    for (int w = 1; w < Warps; ++w) sum += sums[w * 16 * Blocks * columns + i];
    cutlass::Array<float, 1> x, bias;
    x[0] = sum;
    bias[0] = p.bias != nullptr ? p.bias[column] : 0.f;
    d[row * p.ldd + column] = apply_epilogue<float, true>(x, bias, p.alpha, p.act)[0];
  }
}

template <int Blocks, int Warps, int Depth>
int run(Problem const& p) {
  static uint64_t allowed = 0, known = 0;
  constexpr int shared = Warps * 16 * Blocks * columns * static_cast<int>(sizeof(float)), max_layers = 65535;
  void const* const kernel = reinterpret_cast<void const*>(skinny<Blocks, Warps, Depth>);
  if (int const e = allow_shared(kernel, shared, p.device, &allowed)) return e;
  int const blocks_m = (p.m - 1) / (16 * Blocks) + 1;
  if (blocks_m > max_layers) return GPK_ERR_ARGUMENT;
  for (int done = 0; done < p.batch; done += max_layers) {
    int const batch = p.batch - done < max_layers ? p.batch - done : max_layers;
    Params q = {p.m, p.n, p.k, static_cast<float const*>(p.a) + done * p.stride_a, p.lda, p.stride_a,
                static_cast<float const*>(p.b) + done * p.stride_b, p.ldb, p.stride_b,
                static_cast<float*>(p.d) + done * p.stride_d, p.ldd, p.stride_d, static_cast<float const*>(p.bias),
                static_cast<float>(p.alpha_re), Activation(p.act, p.bias != nullptr), p.guard};
    void* params[] = {&q};
    dim3 const grid((p.n - 1) / columns + 1, blocks_m, batch);
    if (int const e = launch(kernel, grid, 32 * Warps, shared, p.stream, params, 1, 1, waits_for_previous(kernel, p.device, &known)))
      return e;
  }
  return GPK_OK;
}

constexpr Traits traits = {4, 4, 4, true, true, 16, 16, 4, 1, true, true};

}  // namespace
}  // namespace skinny

extern Entry const entry_any_tf32_f32_rr_16x64x16_skinny;
Entry const entry_any_tf32_f32_rr_16x64x16_skinny = {"any_tf32_f32_rr_16x64x16_skinny", skinny::traits, skinny::run<1, 8, 4>};
extern Entry const entry_any_tf32_f32_rr_32x64x16_skinny;
Entry const entry_any_tf32_f32_rr_32x64x16_skinny = {"any_tf32_f32_rr_32x64x16_skinny", skinny::traits, skinny::run<2, 8, 3>};

}  // namespace gpk
