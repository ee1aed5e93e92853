// pad.cu: aligned copies of operands whose lines begin at any address, see gpk_pad.
//
// One launch copies both operands, each with its own blocks, because a second launch would cost its start again.
// A thread makes aligned granules of 16 bytes of a copy, each from the two granules of the source that overlap
// it. Both of these hold bytes of the line, so that nothing beyond an allocation is read. The thread issues all its
// loads before it stores.
//
// If sources and copies do not fit L2 together, the sources' lines are evicted first: they are read once, while the
// product reads the copies next. A copied line that is still in L2 when the kernel ends has not yet cost memory
// traffic.
#include <atomic>

#include "ops.cuh"
#include "straddle.cuh"

namespace gpk {
namespace {

// Distances are in bytes.
struct Copy {
  char const* src;
  char* dst;
  int64_t src_pitch, src_member, dst_pitch, dst_member;
  uint32_t whole, rest;  // granules that a line of the source fills, and the bytes after them
  uint32_t lines;        // lines per member of the source; the copy's further lines are zeros
  uint32_t granules;     // granules of the whole copy
  Divider line;          // granules per line of the copy
  Divider member;        // lines per member of the copy

  // Distances from the end of a line to the next line, and from the end of a member to the next member.
  int64_t src_line, dst_line, src_turn, dst_turn;
};

struct Pads {
  Copy copy[2];
  uint32_t second;  // index of the first block of copy[1]
  bool once;        // the sources are evicted from L2 first
};

// Granule i of line r of a copy; its source bytes begin at `from`.
struct Place {
  char const* from;
  char* to;
  uint32_t i, r;

  __device__ Place(Copy const& c, uint32_t v) {
    uint32_t const member = c.member.divide(c.line.divide(v, &i), &r);
    int64_t const at = static_cast<int64_t>(i) * granule;
    from = c.src + member * c.src_member + r * c.src_pitch + at;
    to = c.dst + member * c.dst_member + r * c.dst_pitch + at;
  }

  // Advances by n granules; lines have at least n.
  __device__ void step(Copy const& c, uint32_t n) {
    from += n * granule;
    to += n * granule;
    i += n;
    if (i < c.line.d) return;
    i -= c.line.d;
    from += c.src_line;
    to += c.dst_line;
    if (++r < c.member.d) return;
    r = 0;
    from += c.src_turn;
    to += c.dst_turn;
  }

  // The number of its bytes that come from the source; the others are zeros.
  __device__ unsigned valid(Copy const& c) const {
    unsigned const n = i < c.whole ? granule : i == c.whole ? c.rest : 0;
    return r < c.lines ? n : 0;
  }

  // The offset of `from` within its granule of 16 bytes.
  __device__ unsigned shift() const { return reinterpret_cast<uintptr_t>(from) % granule; }
};

// The first n bytes of x, followed by zeros.
__device__ inline uint4 first_bytes(uint4 x, unsigned n) {
  auto const kept = [n](uint32_t w, unsigned at) {
    return n >= at + 4 ? w : n <= at ? 0 : w & ~(~0u << 8 * (n - at));
  };
  return {kept(x.x, 0), kept(x.y, 4), kept(x.z, 8), kept(x.w, 12)};
}

// The L2 eviction policy for load_granule.
__device__ inline uint64_t keep_in_l2(bool once) {
  uint64_t policy;
  if (once) {
    asm volatile("createpolicy.fractional.L2::evict_first.b64 %0, 1.0;" : "=l"(policy));
  } else {
    asm volatile("createpolicy.fractional.L2::evict_normal.b64 %0, 1.0;" : "=l"(policy));
  }
  return policy;
}

__device__ inline uint4 load_granule(char const* p, uint64_t policy) {
  uint4 v;
  asm volatile("ld.global.L2::cache_hint.v4.u32 {%0, %1, %2, %3}, [%4], %5;"
               : "=r"(v.x), "=r"(v.y), "=r"(v.z), "=r"(v.w)
               : "l"(p), "l"(policy));
  return v;
}

// Each: granules per thread, 32 apart; more than one only where lines have as many.
template <int Each>
__global__ void __launch_bounds__(threads, 4) pad(__grid_constant__ Pads const p) {
  begin();
  bool const other = blockIdx.x >= p.second;
  Copy const& c = p.copy[other];
  uint64_t const policy = keep_in_l2(p.once);
  uint32_t const lane = threadIdx.x % 32;
  uint32_t const first = ((blockIdx.x - (other ? p.second : 0)) * threads + threadIdx.x - lane) * Each + lane;
  if (first >= c.granules) return;
  uint4 lo[Each] = {}, hi[Each] = {};
  Place at(c, first);
  Place const start = at;
#pragma unroll
  for (int u = 0; u < Each; ++u) {
    if (u > 0) at.step(c, 32);
    if (first + 32 * u >= c.granules) continue;
    unsigned const valid = at.valid(c), m = at.shift();
    if (valid > 0) lo[u] = load_granule(at.from - m, policy);
    if (valid + m > granule) hi[u] = load_granule(at.from - m + granule, policy);
  }
  at = start;
#pragma unroll
  for (int u = 0; u < Each; ++u) {
    if (u > 0) at.step(c, 32);
    if (first + 32 * u >= c.granules) continue;
    uint4 x = straddle(lo[u], hi[u], at.shift());
    unsigned const valid = at.valid(c);
    if (valid < granule) x = first_bytes(x, valid);
    *reinterpret_cast<uint4*>(at.to) = x;
  }
}

// The size of L2 in bytes; 0 if unknown.
int64_t l2_bytes(int device) {
  static constexpr int most = 64;
  static std::atomic<int> known[most];
  bool const kept = device >= 0 && device < most;
  int n = kept ? known[device].load(std::memory_order_relaxed) : 0;
  if (n == 0 && cudaDeviceGetAttribute(&n, cudaDevAttrL2CacheSize, device) != cudaSuccess) {
    cudaGetLastError();
    return 0;
  }
  if (kept) known[device].store(n, std::memory_order_relaxed);
  return n;
}

// One operand as passed to gpk_pad, its extents in bytes or lines.
struct Given {
  uint64_t src;
  int64_t batch, lines, length, pitch, member;
  uint64_t dst;
  int64_t dst_lines, dst_length, dst_pitch, dst_member;
};

// Fills in c; returns a code.
int make_copy(Given const& g, Copy* c) {
  if (g.src == 0 || g.dst == 0 || g.batch < 1 || g.lines < 1 || g.length < 1 || g.dst_lines < g.lines ||
      g.dst_length < g.length || (g.dst_lines > 1 && g.dst_pitch < g.dst_length) || g.dst % granule != 0 ||
      (g.dst_lines > 1 && g.dst_pitch % granule != 0) || (g.batch > 1 && g.dst_member % granule != 0)) {
    return GPK_ERR_ARGUMENT;
  }
  int64_t const line = (g.dst_length - 1) / granule + 1;
  if (line > INT32_MAX || g.dst_lines > INT32_MAX / line || g.batch > INT32_MAX / (line * g.dst_lines)) {
    return GPK_ERR_ARGUMENT;
  }
  c->src = reinterpret_cast<char const*>(g.src);
  c->dst = reinterpret_cast<char*>(g.dst);
  c->whole = static_cast<uint32_t>(g.length / granule);
  c->rest = static_cast<uint32_t>(g.length % granule);
  c->src_pitch = g.pitch, c->src_member = g.member;
  c->dst_pitch = g.dst_pitch, c->dst_member = g.dst_member;
  c->lines = static_cast<uint32_t>(g.lines);
  c->granules = static_cast<uint32_t>(line * g.dst_lines * g.batch);
  c->line = Divider(static_cast<uint32_t>(line));
  c->member = Divider(static_cast<uint32_t>(g.dst_lines));
  c->src_line = g.pitch - line * granule;
  c->dst_line = g.dst_pitch - line * granule;
  c->src_turn = g.member - g.dst_lines * g.pitch;
  c->dst_turn = g.dst_member - g.dst_lines * g.dst_pitch;
  return GPK_OK;
}

// The number of granules per thread that leaves every multiprocessor a few blocks, and that lines have.
template <int Each>
int start(Pads& p, uint64_t stream) {
  constexpr int64_t block = int64_t{threads} * Each;
  int64_t const granules = int64_t{p.copy[0].granules} + p.copy[1].granules;
  if constexpr (Each > 1) {
    bool const narrow = p.copy[0].line.d < 32 || (p.copy[1].granules > 0 && p.copy[1].line.d < 32);
    if (granules < block * 512 || narrow) return start<Each / 2>(p, stream);
  }
  p.second = blocks_for(p.copy[0].granules, block);
  unsigned const rest = p.copy[1].granules > 0 ? blocks_for(p.copy[1].granules, block) : 0;
  return launch(pad<Each>, p.second + rest, threads, stream, p);
}

}  // namespace
}  // namespace gpk

using namespace gpk;

int gpk_pad(int device, uint64_t stream, int type, uint64_t a, int64_t a_batch, int64_t a_lines, int64_t a_length,
            int64_t a_pitch, int64_t a_member, uint64_t a_copy, int64_t a_copy_lines, int64_t a_copy_length,
            int64_t a_copy_pitch, int64_t a_copy_member, uint64_t b, int64_t b_batch, int64_t b_lines, int64_t b_length,
            int64_t b_pitch, int64_t b_member, uint64_t b_copy, int64_t b_copy_lines, int64_t b_copy_length,
            int64_t b_copy_pitch, int64_t b_copy_member) {
  int64_t const size = size_of(type);
  if (size == 0) return GPK_ERR_UNSUPPORTED;
  Given const given[] = {
      {a, a_batch, a_lines, a_length * size, a_pitch * size, a_member * size, a_copy, a_copy_lines,
       a_copy_length * size, a_copy_pitch * size, a_copy_member * size},
      {b, b_batch, b_lines, b_length * size, b_pitch * size, b_member * size, b_copy, b_copy_lines,
       b_copy_length * size, b_copy_pitch * size, b_copy_member * size},
  };
  Pads p = {};
  int64_t bytes = 0;
  int copies = 0;
  for (Given const& g : given) {
    if (g.lines == 0) continue;
    if (int const code = make_copy(g, &p.copy[copies])) return code;
    bytes += g.batch * g.lines * g.length + int64_t{p.copy[copies++].granules} * granule;
  }
  if (copies == 0) return GPK_OK;
  if (int const code = set_device(device)) return code;
  p.once = bytes > l2_bytes(device);
  return start<4>(p, stream);
}
