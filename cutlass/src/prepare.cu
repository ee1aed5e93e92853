// prepare.cu: operands for scaled and split kernels, see gpk_prepare.
//
// One launch serves both operands; each gets a share of the blocks. A line is read once, kept on the chip until its
// largest element is known, and written once. All sources pass through a ring in shared memory that asynchronous
// copies fill.
//
// Lines along memory (`Along`): a block, or a warp if lines are short, processes a line at a time while the next ones
// are loaded. The copies move the aligned granules of 16 bytes that hold the line. If a line does not begin at a
// granule, four elements are assembled from two granules.
//
// Lines across memory (`Across`): a cluster processes a strip of columns, and each of its blocks some of the rows.
// The blocks exchange the maxima of their columns, and send the counts to the first one. If a cluster cannot hold the
// columns, maxima and counts pass through the workspace, in three launches.
//
// All arithmetic except the rounding to float16 is exact, so that all variants give the same bits. Maxima propagate
// NaN, and are compared as bits, which order infinities and NaN above all numbers. An element is small if |x| < 2^-10
// max in float32, which is exact for maxima in range.
#include <atomic>
#include <cuda_runtime.h>
#include <limits.h>
#include <stdint.h>

#include "dependent.cuh"
#include "gpk.h"
#include "line_scale.cuh"

namespace gpk {
namespace {

constexpr unsigned threads = 256, warps = threads / 32;
constexpr unsigned strip = 32;       // columns per strip, in floats: 128 bytes of a row
constexpr unsigned max_cluster = 16;
constexpr unsigned max_stages = 4;   // lines in flight
constexpr unsigned ring = 66048;     // bytes of shared memory per block, unless a strip needs more
constexpr unsigned resident = 4;     // blocks per multiprocessor, at most

// How a source's floats are converted.
enum Kind { real, complex_a, complex_b };

// The work of a launch for lines across memory.
enum Phase { at_once, find_maxima, convert_lines, collect_counts };

struct Operand {
  float const* x;
  int64_t pitch, member;  // floats between lines (lines across: between rows), and between members
  uint16_t *high, *low;   // low: split operands only
  int64_t plane_pitch, plane_member;
  float* scale;
  uint32_t* guard;  // nullptr if not wanted
  uint32_t lines, members;
  uint32_t reals;         // floats per line
  uint32_t rows, width;   // lines across: rows of the source, and floats per row
  uint32_t units;         // blocks (lines across: clusters) that share the work
  uint32_t flip, flip2;   // masks that flip the signs in a pair of halves: for the first output line or row, for the second
  uint32_t *maxima, *counts;  // in the workspace: [member][chunk][width]
  uint8_t kind;
  bool along;         // lines along memory
  bool wide;          // along: a block per line; otherwise a warp per line
  uint8_t stages;     // lines (strips) in flight
  uint8_t copy;       // the alignment of the source's addresses in bytes, at most 16
  uint32_t granules;  // along: granules per line that the ring holds, at most
};

struct Params {
  Operand operand[2];
  uint32_t second;   // index of the first block of operand[1]
  uint32_t cluster;  // blocks per cluster
  uint32_t chunk;    // lines across: rows per block
  uint32_t stage;    // lines across: floats per stage of the ring
  uint32_t chunks;   // chunks per column, where blocks communicate through the workspace
  int phase;
};

struct Shared {
  uint64_t arrived[warps * max_stages];  // barriers of the ring's stages: those of a warp, or of the block
  uint4 maxima[warps / 4], counts[warps / 4];
  alignas(16) uint32_t part[2][warps][strip];  // of the block: maxima, counts
  // What the cluster's blocks send, for even and odd strips, and the barriers that count it.
  alignas(16) uint32_t cluster_maxima[2][max_cluster][strip];
  uint32_t cluster_counts[2][max_cluster][strip];
  uint64_t maxima_in[2], counts_in[2];
};

template <class T, int N>
struct alignas(N * sizeof(T)) Vec {
  T v[N];
};

// ---- machine

template <int Bytes>
__device__ inline void copy_async(void* to, void const* from) {
  uint32_t const at = static_cast<uint32_t>(__cvta_generic_to_shared(to));
  if constexpr (Bytes == 16) {
    asm volatile("cp.async.cg.shared.global [%0], [%1], 16;" ::"r"(at), "l"(from) : "memory");
  } else {
    asm volatile("cp.async.ca.shared.global [%0], [%1], %2;" ::"r"(at), "l"(from), "n"(Bytes) : "memory");
  }
}

__device__ inline void commit_copies() { asm volatile("cp.async.commit_group;" ::: "memory"); }

// Waits until at most N groups of copies are in flight.
template <int N>
__device__ inline void wait_copies() {
  asm volatile("cp.async.wait_group %0;" ::"n"(N) : "memory");
}

#if __CUDA_ARCH__ >= 900
__device__ inline uint32_t shared_address(void const* p) { return static_cast<uint32_t>(__cvta_generic_to_shared(p)); }

// Initializes barriers that one thread arms with the expected bytes.
__device__ inline void make_barriers(uint64_t* barriers, unsigned n) {
  if (threadIdx.x < n) asm volatile("mbarrier.init.shared.b64 [%0], 1;" ::"r"(shared_address(barriers + threadIdx.x)));
}

__device__ inline void expect(uint64_t* barrier, uint32_t bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared.b64 _, [%0], %1;" ::"r"(shared_address(barrier)), "r"(bytes)
               : "memory");
}

// Waits for the phase with that parity to complete.
__device__ inline void await(uint64_t* barrier, unsigned parity) {
  uint32_t done = 0;
  while (done == 0) {
    asm volatile(
        "{\n\t.reg .pred p;\n\tmbarrier.try_wait.parity.shared.b64 p, [%1], %2;\n\tselp.u32 %0, 1, 0, p;\n\t}"
        : "=r"(done)
        : "r"(shared_address(barrier)), "r"(parity)
        : "memory");
  }
}

// A bulk copy of many granules by one thread; the barrier counts its bytes.
__device__ inline void copy_bulk(void* to, void const* from, uint32_t bytes, uint64_t* barrier) {
  asm volatile("cp.async.bulk.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1], %2, [%3];" ::"r"(
                   shared_address(to)),
               "l"(from), "r"(bytes), "r"(shared_address(barrier))
               : "memory");
}

// Stores into the shared memory of the cluster's block `to`; that block's barrier counts the bytes.
__device__ inline void send(unsigned to, uint32_t* slot, uint32_t value, uint64_t* barrier) {
  uint32_t at, counts;
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(at) : "r"(shared_address(slot)), "r"(to));
  asm("mapa.shared::cluster.u32 %0, %1, %2;" : "=r"(counts) : "r"(shared_address(barrier)), "r"(to));
  asm volatile("st.async.shared::cluster.mbarrier::complete_tx::bytes.u32 [%0], %1, [%2];" ::"r"(at), "r"(value),
               "r"(counts)
               : "memory");
}
#endif

// Initializes the barriers and arrives at the cluster barrier. All threads call it before anything else.
__device__ inline void open(Shared& s) {
#if __CUDA_ARCH__ >= 900
  make_barriers(s.arrived, warps * max_stages);
  make_barriers(s.maxima_in, 2);
  make_barriers(s.counts_in, 2);
  asm volatile("fence.mbarrier_init.release.cluster;\n\tfence.proxy.async.shared::cta;" ::: "memory");
  __syncthreads();
  asm volatile("barrier.cluster.arrive.relaxed.aligned;" ::: "memory");
#endif
}

// Waits until all blocks of the cluster have called open. All threads call it once.
__device__ inline void all_open() {
#if __CUDA_ARCH__ >= 900
  asm volatile("barrier.cluster.wait.acquire.aligned;" ::: "memory");
#endif
}

// ---- elements

// The larger of a and |x|; NaN if either is.
__device__ inline float larger(float a, float x) {
  float r;
  asm("max.NaN.f32 %0, %1, %2;" : "=f"(r) : "f"(a), "f"(fabsf(x)));
  return r;
}

__device__ inline uint4 larger(uint4 a, uint4 b) {
  return {max(a.x, b.x), max(a.y, b.y), max(a.z, b.z), max(a.w, b.w)};
}

__device__ inline uint32_t halves(float first, float second) {
  uint32_t h;
  asm("cvt.rn.f16x2.f32 %0, %1, %2;" : "=r"(h) : "f"(second), "f"(first));
  return h;
}

__device__ inline float2 floats(uint32_t h) {
  float2 f;
  asm("{\n\t.reg .b16 a, b;\n\tmov.b32 {a, b}, %2;\n\tcvt.f32.f16 %0, a;\n\tcvt.f32.f16 %1, b;\n\t}"
      : "=f"(f.x), "=f"(f.y)
      : "r"(h));
  return f;
}

// The low half of a float: the difference to its high half, times 2^11.
__device__ inline float rest(float scaled, float high) { return __fmul_rn(__fsub_rn(scaled, high), 0x1p11f); }

// The halves of four scaled floats.
template <bool Split>
__device__ inline void convert(float4 v, uint2& high, uint2& low) {
  high = {halves(v.x, v.y), halves(v.z, v.w)};
  if constexpr (Split) {
    float2 const ab = floats(high.x), cd = floats(high.y);
    low = {halves(rest(v.x, ab.x), rest(v.y, ab.y)), halves(rest(v.z, cd.x), rest(v.w, cd.y))};
  }
}

__device__ inline float4 times(float4 v, float x, float y, float z, float w) {
  return {__fmul_rn(v.x, x), __fmul_rn(v.y, y), __fmul_rn(v.z, z), __fmul_rn(v.w, w)};
}

__device__ inline uint32_t swapped(uint32_t pair) { return __funnelshift_r(pair, pair, 16); }

// Each unit writes its share of the guard words.
__device__ inline void guard_words(Operand const& o, uint32_t unit, uint32_t worst) {
  if (o.guard == nullptr) return;
  for (uint32_t i = unit + threadIdx.x * o.units; i < GPK_GUARD_WORDS; i += threads * o.units) o.guard[i] = worst;
}

// ---- lines along memory

// Twice: a source line makes two output lines (B, complex). Shift: lines may begin anywhere, otherwise at a granule.
template <bool Split, bool Twice, bool Shift>
struct Along {
  Operand const& o;
  Shared& s;
  float4* ring;                 // the ring of this thread's block or warp
  uint64_t* arrived;
  uint32_t lanes, rank;         // threads that share a line, and this thread's rank
  uint32_t first, total, step;  // the lines of these threads

  __device__ Along(Operand const& operand, Shared& shared, float4* buffer, uint32_t unit) : o(operand), s(shared) {
    uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    lanes = o.wide ? threads : 32;
    rank = o.wide ? threadIdx.x : lane;
    total = o.lines * o.members;
    step = o.wide ? o.units : o.units * warps;
    first = o.wide ? unit : unit * warps + warp;
    ring = buffer + (o.wide ? 0 : warp * o.stages * o.granules);
    arrived = s.arrived + (o.wide ? 0 : warp * max_stages);
  }

  __device__ float const* line(uint32_t item) const {
    uint32_t const member = o.members == 1 ? 0 : item / o.lines;
    return o.x + member * o.member + (item - member * o.lines) * o.pitch;
  }

  __device__ int64_t row(uint32_t item) const {
    uint32_t const member = o.members == 1 ? 0 : item / o.lines;
    uint32_t const index = item - member * o.lines;
    return member * o.plane_member + (Twice ? 2 * static_cast<int64_t>(index) : index) * o.plane_pitch;
  }

  // Floats between the begin of the first granule and the line.
  __device__ static unsigned before(float const* x) {
    return Shift ? reinterpret_cast<uintptr_t>(x) / sizeof(float) % 4 : 0;
  }

  __device__ uint32_t granules(unsigned m) const { return (m + o.reals + 3) / 4; }

  // Starts the copy of a line into the ring.
  __device__ void fetch(uint32_t item, unsigned stage) const {
#if __CUDA_ARCH__ >= 900
    if (rank != 0 || item >= total) return;
    float const* const x = line(item);
    unsigned const m = before(x);
    uint32_t const bytes = 16 * min(granules(m), o.granules);
    expect(&arrived[stage], bytes);
    copy_bulk(ring + stage * o.granules, x - m, bytes, &arrived[stage]);
#else
    if (item < total) {
      float const* const x = line(item);
      unsigned const m = before(x);
      float4 const* const from = reinterpret_cast<float4 const*>(x - m);
      uint32_t const n = min(granules(m), o.granules);
      for (uint32_t g = rank; g < n; g += lanes) copy_async<16>(ring + stage * o.granules + g, from + g);
    }
    commit_copies();
#endif
  }

  __device__ void together() const {
    if (o.wide) {
      __syncthreads();
    } else {
      __syncwarp();
    }
  }

  // Waits for the stage's line. turn: the number of rounds through the ring, modulo 2.
  __device__ void await_line(unsigned stage, unsigned turn) const {
#if __CUDA_ARCH__ >= 900
    await(&arrived[stage], turn);
#else
    switch (o.stages) {
      case 1: wait_copies<0>(); break;
      case 2: wait_copies<1>(); break;
      case 3: wait_copies<2>(); break;
      default: wait_copies<3>();
    }
    together();
#endif
  }

  // Elements 4 i ... 4 i + 3, from granules i and i + 1.
  __device__ static float4 elements(float4 const* g, unsigned m) {
    float4 v = g[0];
    if constexpr (Shift) {
      float4 const w = g[m != 0];  // clamped: memory may end with a line that begins at a granule
      if (m & 2) v = {v.z, v.w, w.x, w.y};
      if (m & 1) v = {v.y, v.z, v.w, m & 2 ? w.z : w.x};
    }
    return v;
  }

  __device__ void put(uint16_t* to, uint32_t i, uint2 v) const {
    *reinterpret_cast<uint2*>(to + 4 * i) = {v.x ^ o.flip, v.y ^ o.flip};
    if constexpr (Twice) {
      *reinterpret_cast<uint2*>(to + o.plane_pitch + 4 * i) = {swapped(v.x) ^ o.flip2, swapped(v.y) ^ o.flip2};
    }
  }

  // Stores one element, for the last ones of a line that do not fill four.
  __device__ void put_one(uint16_t* to, uint32_t i, uint16_t h) const {
    to[i] = h ^ (i % 2 == 0 ? 0 : o.flip >> 16);
    if constexpr (Twice) to[o.plane_pitch + (i ^ 1)] = h ^ (i % 2 == 0 ? 0 : o.flip2);
  }

  // The maximum of `top` and the magnitudes in granules from ... end - 1, which belong to the line entirely.
  __device__ float maximum(float4 const* g, uint32_t from, uint32_t end, float top) const {
    float other = 0;
#pragma unroll 4
    for (uint32_t i = from; i < end; i += lanes) {
      float4 const v = g[i];
      top = larger(larger(top, v.x), v.y);
      other = larger(larger(other, v.z), v.w);
    }
    return larger(top, other);
  }

  // Converts elements 4 from ... 4 end - 1; returns the number of small ones.
  __device__ uint32_t convert_line(float4 const* g, unsigned m, uint32_t from, uint32_t end, Scale const& scale,
                                   uint16_t* high, uint16_t* low) const {
    uint32_t count = 0;
#pragma unroll 4
    for (uint32_t i = from; i < end; i += lanes) {
      float4 const v = elements(g + i, m);
      count_small(count, v.x, scale.small);
      count_small(count, v.y, scale.small);
      count_small(count, v.z, scale.small);
      count_small(count, v.w, scale.small);
      uint2 h, l;
      convert<Split>(times(v, scale.factor, scale.factor, scale.factor, scale.factor), h, l);
      put(high, i, h);
      if constexpr (Split) put(low, i, l);
    }
    return count;
  }

  __device__ void run(uint32_t unit) const {
    uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    unsigned const stages = o.stages;
    for (unsigned i = 0; i < stages; ++i) fetch(first + i * step, i);
    all_open();
    uint32_t const fours = o.reals / 4, left = o.reals % 4;
    uint32_t worst = 0;
    unsigned stage = 0, turn = 0;
    for (uint32_t item = first; item < total; item += step) {
      float const* const x = line(item);
      unsigned const m = before(x);
      float4 const* const kept = ring + stage * o.granules;
      float4 const* const all = reinterpret_cast<float4 const*>(x - m);
      // First the granules that belong to the line entirely, then the line's part of its first and last ones.
      uint32_t const from = Shift ? 1 : 0, end = Shift ? granules(m) - 1 : fours, here = min(end, o.granules);
      await_line(stage, turn);
      float top = maximum(kept, from + rank, here, 0);
      uint32_t const f = Shift && rank < 4 ? rank : 4 * end + rank % 4;
      if (rank < (Shift ? 8 : 4) && f >= m && f < m + o.reals) {
        top = larger(top, end < o.granules ? (&kept->x)[f] : (&all->x)[f]);
      }
      if (here < end) top = maximum(all, here + rank, end, top);
      uint32_t max = __reduce_max_sync(~0u, __float_as_uint(top));
      if (o.wide) {
        if (lane == 0) (&s.maxima[0].x)[warp] = max;
        __syncthreads();
        uint4 const v = larger(s.maxima[0], s.maxima[1]);
        max = ::max(::max(v.x, v.y), ::max(v.z, v.w));
      }
      Scale const scale(max);
      if (rank == 0) {
        if constexpr (Twice) {
          *reinterpret_cast<float2*>(o.scale + 2 * static_cast<int64_t>(item)) = {scale.inverse, scale.inverse};
        } else {
          o.scale[item] = scale.inverse;
        }
      }
      int64_t const to = row(item);
      uint16_t *const high = o.high + to, *const low = Split ? o.low + to : nullptr;
      uint32_t const near = min(fours, o.granules - from);
      uint32_t count = convert_line(kept, m, rank, near, scale, high, low);
      if (near < fours) count += convert_line(all, m, near + rank, fours, scale, high, low);
      if (rank < left) {
        uint32_t const i = 4 * fours + rank;
        float const v = x[i], scaled = __fmul_rn(v, scale.factor);
        count_small(count, v, scale.small);
        uint32_t const h = halves(scaled, 0);
        put_one(high, i, static_cast<uint16_t>(h));
        if constexpr (Split) put_one(low, i, static_cast<uint16_t>(halves(rest(scaled, floats(h).x), 0)));
      }
      count = __reduce_add_sync(~0u, count);
      if (o.wide && lane == 0) (&s.counts[0].x)[warp] = count;
      together();
      fetch(item + stages * step, stage);
      if (o.wide && rank == 0) {
        uint4 const a = s.counts[0], b = s.counts[1];
        count = a.x + a.y + a.z + a.w + b.x + b.y + b.z + b.w;
      }
      worst = ::max(worst, scale.fits ? count : unfit);  // valid in rank 0
      if (++stage == stages) stage = 0, turn ^= 1;
    }
    if (!o.wide) {
      if (lane == 0) (&s.maxima[0].x)[warp] = worst;
      __syncthreads();
      uint4 const v = larger(s.maxima[0], s.maxima[1]);
      worst = ::max(::max(v.x, v.y), ::max(v.z, v.w));
    } else {
      if (rank == 0) s.maxima[0].x = worst;
      __syncthreads();
      worst = s.maxima[0].x;
    }
    guard_words(o, unit, worst);
  }
};

// ---- lines across memory

// A thread has V neighbouring columns, as many as one copy moves.
template <bool Split, int Made, int V>
struct Across {
  static constexpr uint32_t lanes = strip / V, height = threads / lanes;  // threads per row, and rows of all threads

  Operand const& o;
  Params const& p;
  Shared& s;
  float* slots;      // this thread's first element in the ring
  uint32_t rank;     // the block's rank
  uint32_t at, down; // this thread's first column of a strip, and first row of a chunk

  // The position of an item: a strip, or a chunk of one.
  struct Place {
    uint32_t member, column, chunk, row, rows;
  };

  __device__ bool in_chunks() const { return p.phase == find_maxima || p.phase == convert_lines; }

  __device__ Place place(uint32_t item) const {
    uint32_t const strips = (o.width - 1) / strip + 1;
    uint32_t const i = in_chunks() ? item / p.chunks : item;
    Place c;
    c.chunk = in_chunks() ? item - i * p.chunks : rank;
    c.member = o.members == 1 ? 0 : i / strips;
    c.column = (i - c.member * strips) * strip;
    c.row = c.chunk * p.chunk;
    c.rows = c.row < o.rows ? min(p.chunk, o.rows - c.row) : 0;
    return c;
  }

  // This thread's copies of an item: whole vectors that have at least one float of the row.
  struct Source {
    float const* from;
    uint32_t rows;
  };

  __device__ Source source(uint32_t item, uint32_t items) const {
    if (item >= items) return {o.x, 0};
    Place const c = place(item);
    uint32_t const column = c.column + at;
    if (column >= o.width) return {o.x, 0};
    return {o.x + c.member * o.member + static_cast<int64_t>(c.row + down) * o.pitch + column, c.rows};
  }

  __device__ float* stage_at(unsigned stage) const { return slots + stage * p.stage; }

  __device__ void fetch(Source const& c, unsigned stage) const {
    fetch_rows(c, stage);
    commit_copies();
  }

  __device__ void fetch_rows(Source c, unsigned stage) const {
    int64_t const step = height * o.pitch;
    float* to = stage_at(stage);
#pragma unroll 4
    for (uint32_t r = down; r < c.rows; r += height, c.from += step, to += threads * V) {
      copy_async<4 * V>(to, c.from);
    }
  }

  __device__ uint32_t* partial(uint32_t* of, Place const& c, uint32_t chunk) const {
    return of + (static_cast<int64_t>(c.member) * p.chunks + chunk) * o.width + c.column;
  }

  // Reduces the threads' values of a column over the block; returns column `lane`. Calls with part 0 and with part 1
  // must alternate: then the barrier of one keeps the results of the other from being overwritten early.
  template <class F>
  __device__ uint32_t over_block(uint32_t (&part)[warps][strip], Vec<uint32_t, V> v, F const& f) const {
    uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
#pragma unroll
    for (unsigned mask = lanes; mask < 32; mask *= 2) {
#pragma unroll
      for (int e = 0; e < V; ++e) v.v[e] = f(v.v[e], __shfl_xor_sync(~0u, v.v[e], mask));
    }
    if (lane < lanes) *reinterpret_cast<Vec<uint32_t, V>*>(&part[warp][at]) = v;
    __syncthreads();
    uint32_t r = part[0][lane];
#pragma unroll
    for (unsigned w = 1; w < warps; ++w) r = f(r, part[w][lane]);
    return r;
  }

  // The largest magnitude of column `lane` in the block's rows.
  __device__ uint32_t maximum(unsigned stage, uint32_t rows) const {
    float m[V] = {};
    float const* from = stage_at(stage);
#pragma unroll 4
    for (uint32_t r = down; r < rows; r += height, from += threads * V) {
      Vec<float, V> const x = *reinterpret_cast<Vec<float, V> const*>(from);
#pragma unroll
      for (int e = 0; e < V; ++e) m[e] = larger(m[e], x.v[e]);
    }
    Vec<uint32_t, V> bits;
#pragma unroll
    for (int e = 0; e < V; ++e) bits.v[e] = __float_as_uint(Made == real ? m[e] : larger(m[e], m[e ^ 1]));
    return over_block(s.part[0], bits, [](uint32_t a, uint32_t b) { return max(a, b); });
  }

  // Writes n of V neighbouring halves of a row of a plane.
  __device__ static void put_row(uint16_t* to, uint32_t const (&h)[(V + 1) / 2], uint32_t n) {
    if (n == V) {
      if constexpr (V == 4) {
        *reinterpret_cast<uint2*>(to) = {h[0], h[1]};
      } else if constexpr (V == 2) {
        *reinterpret_cast<uint32_t*>(to) = h[0];
      } else {
        *to = static_cast<uint16_t>(h[0]);
      }
      return;
    }
#pragma unroll
    for (int e = 0; e < V - 1; ++e) {
      if (e < static_cast<int>(n)) to[e] = static_cast<uint16_t>(h[e / 2] >> 16 * (e % 2));
    }
  }

  // Writes the results for n of a row's V floats.
  __device__ void put(uint16_t* to, uint32_t const (&h)[(V + 1) / 2], uint32_t n) const {
    if constexpr (Made == real) {
      put_row(to, h, n);
    } else if constexpr (Made == complex_a && V == 4) {
      uint32_t const re = __byte_perm(h[0], h[1], 0x5410), im = __byte_perm(h[0], h[1], 0x7632) ^ o.flip2;
      if (n == 4) {
        *reinterpret_cast<uint32_t*>(to) = re;
        *reinterpret_cast<uint32_t*>(to + o.plane_pitch) = im;
      } else if (n > 0) {
        to[0] = static_cast<uint16_t>(re);
        to[o.plane_pitch] = static_cast<uint16_t>(im);
      }
    } else if constexpr (Made == complex_a) {
      if (n == 0) return;
      to[0] = static_cast<uint16_t>(h[0]);
      to[o.plane_pitch] = static_cast<uint16_t>(h[0] >> 16 ^ o.flip2);
    } else {
      // Rows of (re, im) and of (-im, re); for a conjugate of (re, -im) and of (im, re).
      constexpr uint32_t minus = 0x8000;
      uint32_t first[V / 2], second[V / 2];
#pragma unroll
      for (int e = 0; e < V / 2; ++e) first[e] = h[e] ^ o.flip, second[e] = swapped(first[e]) ^ minus;
      put_row(to, first, n);
      put_row(to + o.plane_pitch, second, n);
    }
  }

  // Converts the block's rows and loads the rows of `next`, if any, into their slots. Returns the number of small
  // elements in column `lane`. m holds the maxima of this thread's columns.
  __device__ uint32_t convert(Place const& c, unsigned stage, Vec<uint32_t, V> const& m, Source const& next) const {
    uint32_t const column = c.column + at, n = column < o.width ? min(static_cast<uint32_t>(V), o.width - column) : 0;
    Vec<uint32_t, V> count{};
    if (n == V) {
      count = next.rows > 0 ? convert<true>(c, stage, m, next.from, V) : convert<false>(c, stage, m, nullptr, V);
    } else if (n > 0) {
      count = next.rows > 0 ? convert<true>(c, stage, m, next.from, n) : convert<false>(c, stage, m, nullptr, n);
    } else {
      fetch_rows(next, stage);
    }
    commit_copies();
    return over_block(s.part[1], count, [](uint32_t a, uint32_t b) { return a + b; });
  }

  template <bool More>
  __device__ __forceinline__ Vec<uint32_t, V> convert(Place const& c, unsigned stage, Vec<uint32_t, V> const& m,
                                                      float const* next, uint32_t n) const {
    float factor[V], small[V];
#pragma unroll
    for (int e = 0; e < V; ++e) {
      Scale const scale(m.v[Made == real ? e : e & ~1]);
      factor[e] = scale.factor, small[e] = scale.small;
    }
    Vec<uint32_t, V> count{};
    constexpr int each = Made == real ? 1 : 2;  // output rows per source row
    int64_t const to = c.member * o.plane_member + static_cast<int64_t>(c.row + down) * each * o.plane_pitch +
                       (c.column + at) / (Made == complex_a ? 2 : 1);
    int64_t const step = height * each * o.plane_pitch, next_step = height * o.pitch;
    uint16_t *high = o.high + to, *low = Split ? o.low + to : nullptr;
    float* from = stage_at(stage);
#pragma unroll 4
    for (uint32_t r = down; r < c.rows; r += height, from += threads * V) {
      Vec<float, V> const x = *reinterpret_cast<Vec<float, V> const*>(from);
      float y[V + V % 2];
      y[V + V % 2 - 1] = 0;
#pragma unroll
      for (int e = 0; e < V; ++e) {
        count_small(count.v[e], x.v[e], small[e]);
        y[e] = __fmul_rn(x.v[e], factor[e]);
      }
      uint32_t h[(V + 1) / 2], l[(V + 1) / 2];
#pragma unroll
      for (int e = 0; e < (V + 1) / 2; ++e) {
        h[e] = halves(y[2 * e], y[2 * e + 1]);
        float2 const f = floats(h[e]);
        if constexpr (Split) l[e] = halves(rest(y[2 * e], f.x), rest(y[2 * e + 1], f.y));
      }
      put(high, h, n);
      high += step;
      if constexpr (Split) {
        put(low, l, n);
        low += step;
      }
      if constexpr (More) {
        copy_async<4 * V>(from, next);
        next += next_step;
      }
    }
    return count;
  }

  // Stores the scale of column `lane`; called by a whole warp.
  __device__ void put_scale(Place const& c, uint32_t max) const {
    uint32_t const column = c.column + threadIdx.x % 32;
    if (column >= o.width) return;
    if constexpr (Made == complex_a) {
      if (column % 2 == 0) o.scale[static_cast<int64_t>(c.member) * o.lines + column / 2] = Scale(max).inverse;
    } else {
      o.scale[static_cast<int64_t>(c.member) * o.width + column] = Scale(max).inverse;
    }
  }

  // The guard word of column `lane`; called by a whole warp.
  __device__ uint32_t word(Place const& c, uint32_t max, uint32_t count) const {
    if constexpr (Made != real) count += __shfl_xor_sync(~0u, count, 1);
    if (c.column + threadIdx.x % 32 >= o.width) return 0;
    return Scale(max).fits ? count : unfit;
  }

  // The whole work in one launch. The cluster's first block adds up the counts that it received for a strip during
  // the next strip.
  __device__ uint32_t at_once(uint32_t unit) const {
    uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32, stages = o.stages;
    uint32_t const strips = (o.width - 1) / strip + 1, items = strips * o.members;
    bool const chief = rank == 0 && warp == 0;
    for (unsigned i = 0; i < stages; ++i) fetch(source(unit + i * o.units, items), i);
    uint32_t worst = 0, top = 0, turn = 0, parity = 0;  // turn: which of two slots; parity: that of its barriers
    unsigned stage = 0;
    Place last{};
    auto const add_up = [&](uint32_t t, uint32_t of) {
#if __CUDA_ARCH__ >= 900
      if (p.cluster > 1) await(&s.counts_in[t], of);
#endif
      __syncwarp();
      uint32_t count = 0;
      for (unsigned from = 0; from < p.cluster; ++from) count += s.cluster_counts[t][from][lane];
      worst = max(worst, word(last, top, count));
    };
    all_open();
    for (uint32_t item = unit; item < items; item += o.units) {
      Place const c = place(item);
      if (stages == 1) {
        wait_copies<0>();
      } else {
        wait_copies<1>();
      }
      uint32_t max = maximum(stage, c.rows);
#if __CUDA_ARCH__ >= 900
      if (p.cluster > 1) {
        if (threadIdx.x == 0) {
          expect(&s.maxima_in[turn], p.cluster * strip * sizeof(uint32_t));
          if (rank == 0) expect(&s.counts_in[turn], p.cluster * strip * sizeof(uint32_t));
        }
        for (unsigned to = warp; to < p.cluster; to += warps) {
          send(to, &s.cluster_maxima[turn][rank][lane], max, &s.maxima_in[turn]);
        }
        await(&s.maxima_in[turn], parity);
      }
#endif
      if (p.cluster == 1) {
        if (warp == 0) s.cluster_maxima[turn][0][lane] = max;
        __syncthreads();
      }
      Vec<uint32_t, V> mine{};
      for (unsigned from = 0; from < p.cluster; ++from) {
        Vec<uint32_t, V> const v = *reinterpret_cast<Vec<uint32_t, V> const*>(&s.cluster_maxima[turn][from][at]);
#pragma unroll
        for (int e = 0; e < V; ++e) mine.v[e] = ::max(mine.v[e], v.v[e]);
      }
      if (chief) {
        if (item != unit) add_up(turn ^ 1, parity ^ turn ^ 1);
        top = 0;
        for (unsigned from = 0; from < p.cluster; ++from) top = ::max(top, s.cluster_maxima[turn][from][lane]);
        put_scale(c, top);
        last = c;
      }
      uint32_t const count = convert(c, stage, mine, source(item + stages * o.units, items));
      if (warp == 0) {
#if __CUDA_ARCH__ >= 900
        if (p.cluster > 1) send(0, &s.cluster_counts[turn][rank][lane], count, &s.counts_in[turn]);
#endif
        if (p.cluster == 1) s.cluster_counts[turn][0][lane] = count;
      }
      if (++stage == stages) stage = 0;
      parity ^= turn;
      turn ^= 1;
    }
    if (chief) add_up(turn ^ 1, parity ^ turn ^ 1);
    return worst;
  }

  // One of the three launches that communicate through the workspace.
  __device__ uint32_t in_phases(uint32_t unit) const {
    all_open();
    uint32_t const lane = threadIdx.x % 32, warp = threadIdx.x / 32;
    uint32_t const items = ((o.width - 1) / strip + 1) * o.members * (in_chunks() ? p.chunks : 1);
    uint32_t worst = 0;
    for (uint32_t item = unit; item < items; item += o.units) {
      Place const c = place(item);
      bool const in = c.column + lane < o.width;
      uint32_t max = 0;
      if (p.phase == find_maxima) {
        fetch(source(item, items), 0);
        wait_copies<0>();
        max = maximum(0, c.rows);
        if (warp == 0 && in) partial(o.maxima, c, c.chunk)[lane] = max;
        __syncthreads();
        continue;
      }
      for (uint32_t i = 0; in && i < p.chunks; ++i) max = ::max(max, partial(o.maxima, c, i)[lane]);
      if (p.phase == convert_lines) {
        fetch(source(item, items), 0);
        wait_copies<0>();
        if (warp == 0 && c.chunk == 0) put_scale(c, max);
        Vec<uint32_t, V> mine;
#pragma unroll
        for (int e = 0; e < V; ++e) mine.v[e] = __shfl_sync(~0u, max, at + e);
        uint32_t const count = convert(c, 0, mine, {o.x, 0});
        if (warp == 0 && in) partial(o.counts, c, c.chunk)[lane] = count;
        __syncthreads();
        continue;
      }
      uint32_t count = 0;
      for (uint32_t i = 0; in && i < p.chunks; ++i) count += partial(o.counts, c, i)[lane];
      worst = ::max(worst, word(c, max, count));
    }
    return worst;
  }

  __device__ void run(uint32_t unit) const {
    uint32_t worst = p.phase == gpk::at_once ? at_once(unit) : in_phases(unit);
    if (rank != 0 || in_chunks()) return;
    if (threadIdx.x < 32) {
      worst = __reduce_max_sync(~0u, worst);
      if (threadIdx.x == 0) s.maxima[0].x = worst;
    }
    __syncthreads();
    guard_words(o, unit, s.maxima[0].x);
  }
};

template <bool Split, int Made, int V>
__device__ void across(Operand const& o, Params const& p, Shared& s, float4* buffer, uint32_t block) {
  using A = Across<Split, Made, V>;
  A{o, p, s, &buffer->x + threadIdx.x * V, block % p.cluster, threadIdx.x % A::lanes * V, threadIdx.x / A::lanes}.run(
      block / p.cluster);
}

template <bool Split>
__global__ void __launch_bounds__(threads, resident) prepare(__grid_constant__ Params const p) {
  extern __shared__ float4 buffer[];
  __shared__ Shared s;
  open(s);
  begin();
  bool const second = blockIdx.x >= p.second;
  uint32_t const block = second ? blockIdx.x - p.second : blockIdx.x;
  Operand const& o = p.operand[second];
  if (!o.along) {
    switch (o.kind * 32 + o.copy) {
      case real * 32 + 16: return across<Split, real, 4>(o, p, s, buffer, block);
      case real * 32 + 8: return across<Split, real, 2>(o, p, s, buffer, block);
      case real * 32 + 4: return across<Split, real, 1>(o, p, s, buffer, block);
      case complex_a * 32 + 16: return across<Split, complex_a, 4>(o, p, s, buffer, block);
      case complex_a * 32 + 8: return across<Split, complex_a, 2>(o, p, s, buffer, block);
      case complex_b * 32 + 16: return across<Split, complex_b, 4>(o, p, s, buffer, block);
      default: return across<Split, complex_b, 2>(o, p, s, buffer, block);
    }
  }
  if (p.phase > find_maxima) return;
  bool const twice = o.kind == complex_b;
  if (o.copy == 16) {
    return twice ? Along<Split, true, false>(o, s, buffer, block).run(block)
                 : Along<Split, false, false>(o, s, buffer, block).run(block);
  }
  return twice ? Along<Split, true, true>(o, s, buffer, block).run(block)
               : Along<Split, false, true>(o, s, buffer, block).run(block);
}

// ---- host

// Properties of the device on which the partition of the work depends.
struct Machine {
  int processors, shared, shared_block, major;  // number of multiprocessors; bytes of shared memory per multiprocessor and per block
  bool hopper;                                  // the code that runs here supports clusters and programmatic dependent launch
  unsigned cluster;                             // blocks of the largest cluster that fits
};

unsigned largest_cluster(Machine const& m);

// Makes the device current and reads its properties.
int enter(int device, Machine* m) {
  if (cudaError_t const e = cudaSetDevice(device)) {
    cudaGetLastError();
    return e;
  }
  constexpr int cached = 64;
  static Machine machines[cached];
  static std::atomic<bool> known[cached];
  bool const cache = device >= 0 && device < cached;
  if (cache && known[device].load(std::memory_order_acquire)) {
    *m = machines[device];
    return GPK_OK;
  }
  struct {
    int* to;
    cudaDeviceAttr attribute;
  } const questions[] = {{&m->processors, cudaDevAttrMultiProcessorCount},
                         {&m->shared, cudaDevAttrMaxSharedMemoryPerMultiprocessor},
                         {&m->shared_block, cudaDevAttrMaxSharedMemoryPerBlockOptin},
                         {&m->major, cudaDevAttrComputeCapabilityMajor}};
  for (auto const& q : questions) {
    if (cudaError_t const e = cudaDeviceGetAttribute(q.to, q.attribute, device)) {
      cudaGetLastError();
      return e;
    }
  }
  static uint64_t known_kernel = 0;
  m->hopper = waits(reinterpret_cast<void const*>(prepare<false>), device, &known_kernel);
  m->cluster = largest_cluster(*m);
  static std::atomic_flag writing = ATOMIC_FLAG_INIT;
  if (cache && !writing.test_and_set(std::memory_order_acquire)) {
    if (!known[device].load(std::memory_order_relaxed)) {
      machines[device] = *m;
      known[device].store(true, std::memory_order_release);
    }
    writing.clear(std::memory_order_release);
  }
  return GPK_OK;
}

int64_t over(int64_t n, int64_t d) { return (n + d - 1) / d; }

// The partition of columns of k rows.
struct Cut {
  unsigned cluster, chunk, chunks;
  bool at_once;

  // Floats per stage: whole rows of all threads, 32 at most.
  unsigned stage() const { return (chunk + 31) / 32 * 32 * strip; }
  unsigned bytes() const { return stage() * sizeof(float); }
};

constexpr unsigned strip_rows = 256;  // per block, if a cluster can be that large: two strips fit into the ring
constexpr unsigned chunk_rows = 512;  // per block, if blocks communicate through the workspace

Cut cut_columns(Machine const& m, int64_t k) {
  unsigned const most = m.cluster;
  Cut c{1, 0, 1, true};
  while (c.cluster < most && over(k, c.cluster) > strip_rows) c.cluster *= 2;
  int64_t const rows = over(k, c.cluster), room = m.shared_block - static_cast<int64_t>(sizeof(Shared));
  if (rows < room) {
    c.chunk = static_cast<unsigned>(rows);
    if (c.bytes() <= room) return c;
  }
  return {1, chunk_rows, static_cast<unsigned>(over(k, chunk_rows)), false};
}

bool fits(int64_t n) { return n > 0 && n <= INT_MAX; }

// Floats of workspace for the maxima of an operand whose lines are across memory; the counts need as many.
int64_t partials(Cut const& c, int64_t width, int64_t members) { return c.at_once ? 0 : members * c.chunks * width; }

constexpr int64_t max_items = int64_t{1} << 31;  // lines, or strips times chunks, per operand

// An operand as passed to gpk_prepare.
struct Given {
  uint64_t x;
  int64_t line, step, stride;
  int conj;
  uint64_t high, low;
  int64_t pitch, member;
  uint64_t scale, guard;
};

// Checks an operand and describes it. Returns a code.
int describe(Given const& g, int type, int form, bool is_b, int64_t lines, int64_t k, int64_t batch, Operand* o) {
  bool const complex = type == GPK_C64, split = form == GPK_FORM_SPLIT;
  int64_t const floats = complex ? 2 : 1, size = 4 * floats;
  int64_t const members = g.stride == 0 ? 1 : batch;
  bool const along = g.step == 1 || k == 1;
  if (!along && g.line != 1 && lines != 1) return GPK_ERR_ARGUMENT;
  if (g.x == 0 || g.x % size != 0 || g.high == 0 || g.high % 16 != 0 || g.scale == 0 || g.scale % 4 != 0 ||
      g.guard % 4 != 0 || (split ? g.low == 0 || g.low % 16 != 0 : g.low != 0)) {
    return GPK_ERR_ARGUMENT;
  }
  // Rows of the planes.
  int64_t const made = complex && is_b ? 2 * lines : lines, reals = floats * k;
  int64_t const width = along ? reals : made, height = along ? made : reals;
  if (g.pitch % 8 != 0 || g.member % 8 != 0 || (height > 1 && g.pitch < width)) return GPK_ERR_ARGUMENT;
  if (reals >= INT_MAX - 16 || floats * lines >= INT_MAX - 32 || lines * members >= max_items) return GPK_ERR_ARGUMENT;

  *o = {};
  o->x = reinterpret_cast<float const*>(g.x);
  o->pitch = (along ? g.line : g.step) * floats;
  o->member = members == 1 ? 0 : g.stride * floats;
  o->high = reinterpret_cast<uint16_t*>(g.high);
  o->low = reinterpret_cast<uint16_t*>(g.low);
  o->plane_pitch = g.pitch;
  o->plane_member = g.member;
  o->scale = reinterpret_cast<float*>(g.scale);
  o->guard = reinterpret_cast<uint32_t*>(g.guard);
  o->lines = static_cast<uint32_t>(lines);
  o->members = static_cast<uint32_t>(members);
  o->reals = static_cast<uint32_t>(reals);
  o->rows = static_cast<uint32_t>(k);
  o->width = static_cast<uint32_t>(lines * floats);
  o->kind = !complex ? real : is_b ? complex_b : complex_a;
  o->along = along;
  uint64_t const align = g.x | static_cast<uint64_t>(4 * o->pitch) | static_cast<uint64_t>(4 * o->member);
  o->copy = align % 16 == 0 ? 16 : align % 8 == 0 ? 8 : 4;
  constexpr uint32_t second = 0x80000000, first = 0x8000;
  switch (o->kind) {
    case complex_a:
      o->flip = g.conj && along ? second : 0;
      o->flip2 = g.conj ? first | second : 0;  // for a row of imaginary parts
      break;
    case complex_b:
      o->flip = along == (g.conj == 0) ? second : 0;
      o->flip2 = along == (g.conj != 0) ? first : 0;
      break;
  }
  return GPK_OK;
}

int64_t lines_of(Operand const& o) { return static_cast<int64_t>(o.lines) * o.members; }

int64_t strips_of(Operand const& o) { return over(o.width, strip) * o.members; }

unsigned at_most(unsigned n, int64_t most) { return most < n ? static_cast<unsigned>(most) : n; }

// Sets how an operand with lines along memory uses blocks and the ring. Returns the size of the ring in bytes.
unsigned cut_lines(Machine const& m, Operand* o) {
  int64_t const lines = lines_of(*o), blocks = int64_t{resident} * m.processors;
  uint32_t const granules = (o->reals + (o->copy == 16 ? 0 : 3) + 3) / 4;
  o->wide = o->reals > 1024 || (o->reals > 128 && lines < blocks);
  unsigned const teams = o->wide ? 1 : warps, most = ring / 16 / teams;
  o->granules = at_most(granules, most);
  unsigned const stages = at_most(most / o->granules, over(2 * lines, blocks * teams));
  o->stages = static_cast<uint8_t>(at_most(stages, max_stages));
  return 16 * teams * o->stages * o->granules;
}

using Kernel = void (*)(Params);

// Sets the kernel's shared memory and cluster attributes, once per device.
cudaError_t allow(Machine const& m, Kernel kernel, bool split, int device) {
  static std::atomic<uint64_t> allowed[2];
  uint64_t const bit = device < 64 ? uint64_t{1} << device : 0;
  if (allowed[split].load(std::memory_order_acquire) & bit) return cudaSuccess;
  int const most = m.shared_block - static_cast<int>(sizeof(Shared));
  cudaError_t e = cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, most);
  if (e == cudaSuccess && m.cluster > 8) {
    e = cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1);
  }
  if (e == cudaSuccess) allowed[split].fetch_or(bit, std::memory_order_release);
  return e;
}

// Launch attributes without the grid.
struct Launch {
  cudaLaunchAttribute attributes[2] = {};
  cudaLaunchConfig_t config{};

  Launch(Machine const& m, unsigned cluster, unsigned shared, uint64_t stream) {
    unsigned n = 0;
    if (m.hopper) {
      attributes[n].id = cudaLaunchAttributeProgrammaticStreamSerialization;
      attributes[n++].val.programmaticStreamSerializationAllowed = 1;
    }
    if (cluster > 1) {
      attributes[n].id = cudaLaunchAttributeClusterDimension;
      attributes[n].val.clusterDim.x = cluster;
      attributes[n].val.clusterDim.y = 1;
      attributes[n++].val.clusterDim.z = 1;
    }
    config.gridDim = dim3(cluster);
    config.blockDim = dim3(threads);
    config.dynamicSmemBytes = shared;
    config.stream = reinterpret_cast<cudaStream_t>(stream);
    config.attrs = attributes;
    config.numAttrs = n;
  }
};

// A cluster of more than 8 blocks with all their shared memory fits only where enough multiprocessors are neighbours:
// not in every part of a device.
unsigned largest_cluster(Machine const& m) {
  if (!m.hopper) return 1;
  if (m.major >= 11) return 8;
  for (Kernel const kernel : {Kernel{prepare<false>}, Kernel{prepare<true>}}) {
    unsigned const most = m.shared_block - static_cast<unsigned>(sizeof(Shared));
    Launch const launch(m, max_cluster, most, 0);
    int clusters = 0;
    if (cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, static_cast<int>(most)) != cudaSuccess ||
        cudaFuncSetAttribute(kernel, cudaFuncAttributeNonPortableClusterSizeAllowed, 1) != cudaSuccess ||
        cudaOccupancyMaxActiveClusters(&clusters, kernel, &launch.config) != cudaSuccess || clusters < 1) {
      cudaGetLastError();
      return 8;
    }
  }
  return max_cluster;
}

// The number of blocks that run at once.
cudaError_t capacity(Machine const& m, Kernel kernel, Launch const& launch, unsigned cluster, int device,
                     int64_t* blocks) {
  if (cluster == 1) {
    int64_t const fit = m.shared / static_cast<int64_t>(launch.config.dynamicSmemBytes + sizeof(Shared) + 1024);
    *blocks = m.processors * (fit > resident ? resident : fit > 1 ? fit : 1);
    return cudaSuccess;
  }
  // The number of clusters depends on how multiprocessors are grouped: the last answer for each size is cached.
  static std::atomic<uint64_t> last[max_cluster + 1];
  uint64_t const shared = launch.config.dynamicSmemBytes;
  uint64_t const key = static_cast<uint64_t>(device) << 48 | shared << 16;
  uint64_t const known = last[cluster].load(std::memory_order_relaxed);
  int clusters = known & 0xffff;
  if (clusters == 0 || known - clusters != key) {
    if (cudaError_t const e = cudaOccupancyMaxActiveClusters(&clusters, kernel, &launch.config)) return e;
    if (clusters < 1) clusters = 1;
    last[cluster].store(key | static_cast<uint64_t>(clusters), std::memory_order_relaxed);
  }
  *blocks = int64_t{clusters} * cluster;
  return cudaSuccess;
}

// Gives each operand blocks in proportion to its size, in multiples of a cluster, so that all run at once. If only
// few strips exceed that number, they start later: this takes less time than a second round of all blocks. Returns
// the grid.
unsigned share_blocks(Params* p, int operands, int64_t blocks) {
  int64_t const room = blocks / p->cluster;  // clusters
  double bytes[2] = {};
  int64_t want[2] = {};
  for (int i = 0; i < operands; ++i) {
    Operand const& o = p->operand[i];
    bytes[i] = static_cast<double>(lines_of(o)) * o.reals;
    int64_t const most = o.along ? GPK_GUARD_WORDS / p->cluster : GPK_GUARD_WORDS;
    want[i] = o.along ? over(over(lines_of(o), o.wide ? 1 : warps), p->cluster) : strips_of(o);
    if (want[i] > most) want[i] = most;
  }
  int64_t give[2] = {want[0], want[1]};
  if (want[0] + want[1] > room) {
    int64_t share = static_cast<int64_t>(static_cast<double>(room) * bytes[0] / (bytes[0] + bytes[1]) + 0.5);
    if (share < room - want[1]) share = room - want[1];
    for (int i = 0; i < operands; ++i, share = room - give[0]) {
      if (share < 1) share = 1;
      if (want[i] > share && (p->operand[i].along || want[i] > 2 * share)) give[i] = share;
    }
  }
  for (int i = 0; i < operands; ++i) {
    Operand& o = p->operand[i];
    o.units = static_cast<uint32_t>(o.along ? give[i] * p->cluster : give[i]);
  }
  p->second = operands == 2 ? static_cast<uint32_t>(give[0] * p->cluster) : UINT_MAX;
  return static_cast<unsigned>((give[0] + give[1]) * p->cluster);
}

// The same where blocks communicate through the workspace.
unsigned share_phase(Params* p, int operands) {
  unsigned grid = 0;
  p->second = UINT_MAX;
  for (int i = 0; i < operands; ++i) {
    Operand& o = p->operand[i];
    if (i == 1) p->second = grid;
    if (o.along) {
      o.units = p->phase == find_maxima ? at_most(GPK_GUARD_WORDS, over(lines_of(o), o.wide ? 1 : warps)) : 0;
    } else if (p->phase == collect_counts) {
      o.units = at_most(GPK_GUARD_WORDS, strips_of(o));
    } else {
      o.units = at_most(1u << 20, strips_of(o) * p->chunks);
    }
    grid += o.units;
  }
  return grid;
}

// Plans and enqueues the preparation of one or two operands.
cudaError_t run(Machine const& m, Params& p, int operands, Cut cut, bool split, int device, uint64_t stream) {
  unsigned shared = 0;
  int64_t strips = 0;
  for (int i = 0; i < operands; ++i) {
    Operand& o = p.operand[i];
    if (!o.along) {
      strips += strips_of(o);
      continue;
    }
    unsigned const bytes = cut_lines(m, &o);
    if (bytes > shared) shared = bytes;
  }
  if (strips == 0) {
    cut = {1, 1, 1, true};
  } else {
    // Few strips are divided among more blocks.
    while (cut.at_once && cut.cluster < 8 && cut.cluster < m.cluster &&
           strips * cut.cluster < int64_t{2} * m.processors && cut.chunk >= 64) {
      cut.cluster *= 2;
      cut.chunk = static_cast<unsigned>(over(p.operand[0].rows, cut.cluster));
    }
    // Two strips in flight pay off where a cluster processes several in turn.
    bool const many = strips * cut.cluster > int64_t{2} * resident * m.processors;
    bool const two = cut.at_once && 2 * cut.bytes() <= ring && many;
    for (int i = 0; i < operands; ++i) {
      if (!p.operand[i].along) p.operand[i].stages = two ? 2 : 1;
    }
    unsigned const bytes = cut.bytes() * (two ? 2 : 1);
    if (bytes > shared) shared = bytes;
  }
  p.cluster = cut.cluster;
  p.chunk = cut.chunk;
  p.chunks = cut.chunks;
  p.stage = cut.stage();

  Kernel const kernel = split ? prepare<true> : prepare<false>;
  cudaError_t e = allow(m, kernel, split, device);
  Launch launch(m, p.cluster, shared, stream);
  if (cut.at_once) {
    int64_t blocks = 0;
    if (e == cudaSuccess) e = capacity(m, kernel, launch, p.cluster, device, &blocks);
    if (e != cudaSuccess) return e;
    p.phase = at_once;
    launch.config.gridDim = dim3(share_blocks(&p, operands, blocks));
    return cudaLaunchKernelEx(&launch.config, kernel, p);
  }
  for (Phase const phase : {find_maxima, convert_lines, collect_counts}) {
    if (e != cudaSuccess) break;
    p.phase = phase;
    launch.config.gridDim = dim3(share_phase(&p, operands));
    e = cudaLaunchKernelEx(&launch.config, kernel, p);
  }
  return e;
}

bool known(int type, int form) {
  return (type == GPK_F32 || type == GPK_C64) && (form == GPK_FORM_SCALED || form == GPK_FORM_SPLIT);
}

}  // namespace
}  // namespace gpk

using namespace gpk;

int64_t gpk_prepare_workspace(int device, int type, int form, int64_t m, int64_t n, int64_t k, int64_t batch) {
  if (!known(type, form)) return -GPK_ERR_UNSUPPORTED;
  if (m < 0 || n < 0 || m > INT_MAX || n > INT_MAX || !fits(k) || !fits(batch)) return -GPK_ERR_ARGUMENT;
  Machine machine;
  if (int const code = enter(device, &machine)) return -code;
  // Assumes that the lines of both operands are across memory.
  Cut const c = cut_columns(machine, k);
  return 2 * static_cast<int64_t>(sizeof(uint32_t)) * partials(c, (m + n) * (type == GPK_C64 ? 2 : 1), batch);
}

int gpk_prepare(int device, uint64_t stream, int type, int form, int64_t m, int64_t n, int64_t k, int64_t batch,
                uint64_t a, int64_t a_line, int64_t a_step, int64_t stride_a, int conj_a, uint64_t a_high,
                uint64_t a_low, int64_t a_pitch, int64_t a_member, uint64_t scale_a, uint64_t guard_a, uint64_t b,
                int64_t b_line, int64_t b_step, int64_t stride_b, int conj_b, uint64_t b_high, uint64_t b_low,
                int64_t b_pitch, int64_t b_member, uint64_t scale_b, uint64_t guard_b, uint64_t workspace,
                int64_t workspace_bytes) {
  if (!known(type, form)) return GPK_ERR_UNSUPPORTED;
  if (m < 0 || n < 0 || m > INT_MAX || n > INT_MAX || !fits(k) || !fits(batch)) return GPK_ERR_ARGUMENT;
  Params p = {};
  int operands = 0;
  if (m > 0) {
    Given const g = {a, a_line, a_step, stride_a, conj_a, a_high, a_low, a_pitch, a_member, scale_a, guard_a};
    if (int const code = describe(g, type, form, false, m, k, batch, &p.operand[operands++])) return code;
  }
  if (n > 0) {
    Given const g = {b, b_line, b_step, stride_b, conj_b, b_high, b_low, b_pitch, b_member, scale_b, guard_b};
    if (int const code = describe(g, type, form, true, n, k, batch, &p.operand[operands++])) return code;
  }
  if (operands == 0) return GPK_OK;
  Machine machine;
  if (int const code = enter(device, &machine)) return code;
  Cut const cut = cut_columns(machine, k);
  uint32_t* at = reinterpret_cast<uint32_t*>(workspace);
  int64_t left = workspace_bytes / static_cast<int64_t>(sizeof(uint32_t));
  for (int i = 0; i < operands; ++i) {
    Operand& o = p.operand[i];
    if (o.along || cut.at_once) continue;
    int64_t const each = partials(cut, o.width, o.members);
    if (workspace == 0 || workspace % sizeof(uint32_t) != 0 || left < 2 * each) return GPK_ERR_WORKSPACE;
    if (strips_of(o) * cut.chunks >= max_items) return GPK_ERR_ARGUMENT;
    o.maxima = at;
    o.counts = at + each;
    at += 2 * each;
    left -= 2 * each;
  }
  bool const split = form == GPK_FORM_SPLIT;
  cudaError_t e = cudaSuccess;
  if (operands == 2 && p.operand[0].along != p.operand[1].along && cut.at_once && cut.bytes() > ring) {
    // With that much shared memory per block, too few blocks would fit for lines along memory.
    for (int i = 0; i < 2 && e == cudaSuccess; ++i) {
      Params one = {};
      one.operand[0] = p.operand[i];
      e = run(machine, one, 1, cut, split, device, stream);
    }
  } else {
    e = run(machine, p, operands, cut, split, device, stream);
  }
  if (e != cudaSuccess) cudaGetLastError();
  return e;
}
