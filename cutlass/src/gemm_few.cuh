// gemm_few.cuh: products of a few rows of float32 with a prepared matrix, in TF32's precision and in one launch. Their
// time is that of reading B. The scaled float16 plane that gpk_prepare writes has half of B's bytes. A is not prepared.
//
// mma.sync reads TF32 numbers. A's elements are rounded to TF32, so that A needs no scale. The plane's elements are TF32
// numbers already. If the guard misses, the next kernel overwrites D; it reads guard words of both operands. This kernel
// computes A's words, one row per CTA, in its first m CTAs. Its guard argument is only the address of these words: it
// always runs and never waits for them.
//
// Each of the other CTAs computes 8 or 16 rows by 64 columns of D. The instruction's left operand is 16 columns of B, and
// its right one 8 rows of A. Warp w processes the steps w, w + 4, ... of 32 of k. At the end the sums of the warps are
// added in the order of the warps. Within a step k is permuted so that a thread copies vectors of 16 bytes: of four
// threads, thread t has 8t <= k < 8t + 8. A thread copies to shared memory, several steps ahead, only elements that it
// reads itself, so that no barrier is needed.
#pragma once
#include "gemm_epilogue.cuh"
#include "guard.cuh"
#include "line_scale.cuh"

namespace gpk {
namespace few {
namespace {

constexpr int columns = 64, step = 32, warps = 4, threads = 32 * warps;

struct Params {
  int m, n, k;
  float const* a;
  int64_t lda;
  uint16_t const* b;
  int64_t ldb;
  float const* scale_b;
  float* d;
  int64_t ldd;
  float const* bias;
  float alpha;
  Activation act;
  uint32_t* guard_a;
};

__device__ inline uint32_t shared_address(void const* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// Copies `bytes` bytes and fills the rest of the 16 bytes with zeros: through L2 only, or through L1.
__device__ inline void cp_async_l2(uint32_t to, void const* from, int bytes) {
  asm volatile("cp.async.cg.shared.global.L2::256B [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

__device__ inline void cp_async_l1(uint32_t to, void const* from, int bytes) {
  asm volatile("cp.async.ca.shared.global [%0], [%1], 16, %2;" ::"r"(to), "l"(from), "r"(bytes) : "memory");
}

__device__ inline uint4 load(uint32_t at) {
  uint4 v;
  asm volatile("ld.shared.v4.u32 {%0,%1,%2,%3}, [%4];" : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w) : "r"(at) : "memory");
  return v;
}

// TF32's 11 bits, rounded to nearest.
__device__ inline uint32_t round_tf32(uint32_t x) {
  uint32_t r;
  asm("cvt.rna.tf32.f32 %0, %1;" : "=r"(r) : "f"(__uint_as_float(x)));
  return r;
}

// Converts a pair of halves to floats.
__device__ inline void widen(uint32_t pair, uint32_t& first, uint32_t& second) {
  asm("{\n\t.reg .b16 a, b;\n\t.reg .f32 x, y;\n\tmov.b32 {a, b}, %2;\n\tcvt.f32.f16 x, a;\n\tcvt.f32.f16 y, b;\n\t"
      "mov.b32 %0, x;\n\tmov.b32 %1, y;\n\t}"
      : "=r"(first), "=r"(second)
      : "r"(pair));
}

// c += a b for 16 x 8 x 8.
__device__ inline void multiply_add(float (&c)[4], uint32_t const (&a)[4], uint32_t b0, uint32_t b1) {
  asm("mma.sync.aligned.m16n8k8.row.col.f32.tf32.tf32.f32 {%0,%1,%2,%3}, {%4,%5,%6,%7}, {%8,%9}, {%0,%1,%2,%3};"
      : "+f"(c[0]), "+f"(c[1]), "+f"(c[2]), "+f"(c[3])
      : "r"(a[0]), "r"(a[1]), "r"(a[2]), "r"(a[3]), "r"(b0), "r"(b1));
}

template <class F>
__device__ inline uint32_t reduce_block(uint32_t v, uint32_t* scratch, F const& f) {
  for (int mask = 16; mask > 0; mask /= 2) v = f(v, __shfl_xor_sync(~0u, v, mask));
  __syncthreads();
  if (threadIdx.x % 32 == 0) scratch[threadIdx.x / 32] = v;
  __syncthreads();
  for (int w = 0; w < warps; ++w) v = w == 0 ? scratch[0] : f(v, scratch[w]);
  return v;
}

// Computes a row's guard word and stores it to every m-th word from `row` on.
__device__ inline void guard_row(Params const& p, int row, uint32_t* scratch) {
  float const* const a = p.a + row * p.lda;
  int const fours = p.k / 4;
  uint32_t largest = 0;
  auto const each = [&](auto const& f) {
#pragma unroll 8
    for (int i = threadIdx.x; i < fours; i += threads) {
      float4 const v = reinterpret_cast<float4 const*>(a)[i];
      f(v.x), f(v.y), f(v.z), f(v.w);
    }
    int const i = 4 * fours + threadIdx.x;
    if (i < p.k) f(a[i]);
  };
  each([&](float x) { largest = max(largest, __float_as_uint(fabsf(x))); });
  Scale const scale(reduce_block(largest, scratch, [](uint32_t x, uint32_t y) { return max(x, y); }));
  uint32_t count = 0;
  each([&](float x) { count_small(count, x, scale.small); });
  count = reduce_block(count, scratch, [](uint32_t x, uint32_t y) { return x + y; });
  for (int i = row + p.m * threadIdx.x; i < GPK_GUARD_WORDS; i += p.m * threads) {
    p.guard_a[i] = scale.fits ? count : unfit;
  }
}

// Blocks: blocks of 8 rows. Stages: steps of a warp in shared memory.
template <int Blocks, int Stages>
struct Buffers {
  static constexpr int vectors = columns / 8 + 2 * Blocks;  // per thread and stage: of B, and of A
  static constexpr int bytes = Stages * vectors * threads * 16;
  static constexpr int sums = warps * columns * (8 * Blocks + 1) * static_cast<int>(sizeof(float));
  static constexpr int shared = bytes > sums ? bytes : sums;
};

template <int Blocks, int Stages>
__global__ void __launch_bounds__(threads, 2) few(__grid_constant__ Params const p) {
  extern __shared__ float4 memory[];
  using R = Buffers<Blocks, Stages>;
  begin();
  if (static_cast<int>(blockIdx.x) < p.m) return guard_row(p, blockIdx.x, reinterpret_cast<uint32_t*>(memory));
  int const lane = threadIdx.x % 32, warp = threadIdx.x / 32, g = lane / 4, t = lane % 4;
  int const n0 = (blockIdx.x - p.m) * columns;
  uint32_t const thread_base = shared_address(memory) + threadIdx.x * 16;
  int const steps = (p.k + step - 1) / step;

  auto const vector_address = [&](int stage, int vector) { return thread_base + (stage * R::vectors + vector) * threads * 16; };
  int next_step = warp, to = 0;
  auto const copy = [&] {
    if (next_step < steps) {
      int const k = next_step * step + 8 * t;
      int const left = min(8, max(0, p.k - k));
#pragma unroll
      for (int i = 0; i < columns / 8; ++i) {
        int const n = n0 + 8 * i + g;
        bool const in = n < p.n && left > 0;
        cp_async_l2(vector_address(to, i), p.b + (in ? n * p.ldb + k : 0), in ? 2 * left : 0);
      }
#pragma unroll
      for (int i = 0; i < 2 * Blocks; ++i) {
        int const row = 8 * (i / 2) + g, valid = min(4, max(0, left - 4 * (i % 2)));
        bool const in = row < p.m && valid > 0;
        cp_async_l1(vector_address(to, columns / 8 + i), p.a + (in ? row * p.lda + k + 4 * (i % 2) : 0), in ? 4 * valid : 0);
      }
    }
    asm volatile("cp.async.commit_group;" ::: "memory");
    next_step += warps;
    to = to + 1 == Stages ? 0 : to + 1;
  };
#pragma unroll
  for (int i = 0; i < Stages - 1; ++i) copy();

  float c[columns / 16][Blocks][4] = {};
  int at = 0;
  for (int s = warp; s < steps; s += warps, at = at + 1 == Stages ? 0 : at + 1) {
    asm volatile("cp.async.wait_group %0;" ::"n"(Stages - 2) : "memory");
    copy();
    uint32_t x[Blocks][8];
#pragma unroll
    for (int i = 0; i < 2 * Blocks; ++i) {
      uint4 const v = load(vector_address(at, columns / 8 + i));
      uint32_t* const to = x[i / 2] + 4 * (i % 2);
      to[0] = round_tf32(v.x), to[1] = round_tf32(v.y), to[2] = round_tf32(v.z), to[3] = round_tf32(v.w);
    }
#pragma unroll
    for (int i = 0; i < columns / 16; ++i) {
      uint4 const low = load(vector_address(at, 2 * i)), high = load(vector_address(at, 2 * i + 1));
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        uint32_t a[4];
        widen((&low.x)[e], a[0], a[2]);
        widen((&high.x)[e], a[1], a[3]);
#pragma unroll
        for (int j = 0; j < Blocks; ++j) multiply_add(c[i][j], a, x[j][2 * e], x[j][2 * e + 1]);
      }
    }
  }
  asm volatile("cp.async.wait_all;" ::: "memory");
  __syncthreads();

  // The sums of each warp, with the rows of a column contiguous.
  constexpr int pitch = 8 * Blocks + 1;
  float* const sums = reinterpret_cast<float*>(memory);
#pragma unroll
  for (int i = 0; i < columns / 16; ++i) {
#pragma unroll
    for (int j = 0; j < Blocks; ++j) {
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        int const column = 16 * i + g + 8 * (e / 2), row = 8 * j + 2 * t + e % 2;
        sums[(warp * columns + column) * pitch + row] = c[i][j][e];
      }
    }
  }
  __syncthreads();
  for (int i = threadIdx.x; i < 8 * Blocks * columns; i += threads) {
    int const row = i / columns, column = i % columns, n = n0 + column;
    if (row >= p.m || n >= p.n) continue;
    cutlass::Array<float, 1> sum, bias;
    sum[0] = 0;
#pragma unroll
    for (int w = 0; w < warps; ++w) sum[0] += sums[(w * columns + column) * pitch + row];
    sum[0] *= p.scale_b[n];
    bias[0] = p.bias != nullptr ? p.bias[n] : 0.f;
    p.d[row * p.ldd + n] = apply_epilogue<float, true>(sum, bias, p.alpha, p.act)[0];
  }
}

template <int Blocks, int Stages>
int start(Problem const& p) {
  static uint64_t allowed = 0, known = 0;
  constexpr int shared = Buffers<Blocks, Stages>::shared;
  void const* const kernel = reinterpret_cast<void const*>(few<Blocks, Stages>);
  if (int const e = allow_shared(kernel, shared, p.device, &allowed)) return e;
  Params q = {p.m, p.n, p.k, static_cast<float const*>(p.a), p.lda, static_cast<uint16_t const*>(p.b), p.ldb, p.scale_b,
           static_cast<float*>(p.d), p.ldd, static_cast<float const*>(p.bias), static_cast<float>(p.alpha_re),
           Activation(p.act, p.bias != nullptr), const_cast<uint32_t*>(p.guard.a)};
  void* params[] = {&q};
  return launch(kernel, p.m + (p.n - 1) / columns + 1, threads, shared, p.stream, params, 1, 1,
                waits_for_previous(kernel, p.device, &known));
}

inline int run(Problem const& p) {
  if (p.m > 16 || p.batch > 1 || p.guard.when == GPK_GUARD_NONE) return GPK_ERR_ARGUMENT;
  return p.m <= 8 ? start<1, 5>(p) : start<2, 4>(p);
}

constexpr Traits traits = {4, 2, 4, true, false, 16, 16, 4, 1, true, true, true};

}  // namespace
}  // namespace few

extern Entry const entry_any_f16s_f32_rc_16x64x32_few;
Entry const entry_any_f16s_f32_rc_16x64x32_few = {"any_f16s_f32_rc_16x64x32_few", few::traits, few::run};

}  // namespace gpk
